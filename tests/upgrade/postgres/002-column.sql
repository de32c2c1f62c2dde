-- oncedrop schema, version 2, in tests: the column that base.sed has removed.

ALTER TABLE @schema@.copy ADD COLUMN host_us bigint;
COMMENT ON COLUMN @schema@.copy.host_us IS 'By how many microseconds the database''s clock was ahead of the wall clock of that host at the claim';

-- As an upgrade may change rows: by a function and an operator, whose names others may have given to their own.
UPDATE @schema@.message SET sender = lower(sender) WHERE sender <> lower(sender);

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT (host_us), INSERT (host_us), UPDATE (host_us) ON @schema@.copy TO %I', grantee);
    END LOOP;
END $$;
