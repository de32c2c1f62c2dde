-- oncedrop schema, version 12: accounts whose login an IMAP server refused.

CREATE TABLE @schema@.refusal (
    id         text PRIMARY KEY,
    server     text NOT NULL,
    account    text NOT NULL,
    refusals   bigint NOT NULL,
    refused_at timestamptz NOT NULL,
    wait_ms    bigint NOT NULL,
    reason     text NOT NULL
);
COMMENT ON TABLE @schema@.refusal IS 'Accounts whose login an IMAP server refused, so that they are not tried with each message; purge deletes rows after a day';
COMMENT ON COLUMN @schema@.refusal.id IS 'A hash of server and account';
COMMENT ON COLUMN @schema@.refusal.server IS 'Host and port, or path, the user that logs in, and when imap.password_file was written';
COMMENT ON COLUMN @schema@.refusal.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.refusal.refusals IS 'How many in a row; 0: a login has succeeded since';
COMMENT ON COLUMN @schema@.refusal.refused_at IS 'When the last one was';
COMMENT ON COLUMN @schema@.refusal.wait_ms IS 'For how long after that the account is not tried, in milliseconds';
COMMENT ON COLUMN @schema@.refusal.reason IS 'What the server said';

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE ON @schema@.refusal TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT DELETE ON @schema@.refusal TO @operator@;
    END IF;
END $$;
