-- oncedrop schema, version 5: which IMAP servers were found to honour the account that a login names.

CREATE TABLE @schema@.server (
    server     text PRIMARY KEY,
    honoured   boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    tried_at   timestamptz NOT NULL
);
COMMENT ON TABLE @schema@.server IS 'One row for each IMAP server and user whose password (imap.master_user) or token opens every account';
COMMENT ON COLUMN @schema@.server.server IS 'Host and port, or path, and that user; with the host of the delivery when the server is on that';
COMMENT ON COLUMN @schema@.server.honoured IS 'The account that a login names counts. If not, nothing is delivered: all mail would go into one mailbox';
COMMENT ON COLUMN @schema@.server.checked_at IS 'When that was found out';
COMMENT ON COLUMN @schema@.server.tried_at IS 'When a delivery last set out to find it out';

-- Deliveries record this, and so does resume.
DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE ON @schema@.server TO %I', grantee);
    END LOOP;
    -- purge locks the rows that it deletes, which requires the right to update some column.
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT UPDATE (lock_key) ON @schema@.message TO @operator@;
    END IF;
END $$;
