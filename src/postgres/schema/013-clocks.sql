-- oncedrop schema, version 13: the clocks by which a claim was made, so that no jump of one of them ends its hold-off early.

ALTER TABLE @schema@.copy ADD COLUMN boot bigint, ADD COLUMN boot_us bigint, ADD COLUMN host_us bigint;
COMMENT ON COLUMN @schema@.copy.boot IS 'Number of that run of the machine that claimed it, from its boot_id; NULL: unknown';
COMMENT ON COLUMN @schema@.copy.boot_us IS 'By how many microseconds the database''s clock was ahead of CLOCK_BOOTTIME of that machine at the claim';
COMMENT ON COLUMN @schema@.copy.host_us IS 'By how many microseconds the database''s clock was ahead of the wall clock of that host at the claim';
COMMENT ON COLUMN @schema@.lease.taken_at IS 'When it was taken, or prolonged, by the database''s clock';

-- UPDATE of first_at: for step end_ahead, if it is in the future.
DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT (boot, boot_us, host_us), INSERT (boot, boot_us, host_us),'
            ' UPDATE (boot, boot_us, host_us, first_at) ON @schema@.copy TO %I', grantee);
    END LOOP;
END $$;
