-- oncedrop schema, version 4: what a delivery may do, and what an operator may.
--
-- SCHEMA_delivery, for deliveries and replay, reads what distinguishes messages and copies, but no subject, address or text;
-- it writes the columns that a delivery writes (those that it updates it must be able to read), deletes nothing and locks no
-- table. SCHEMA_operator, for show, list, stats, locks, resume and purge, also reads everything and deletes old messages.

DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        CREATE ROLE @operator@ NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA @schema@ TO %I', grantee);
        EXECUTE pg_catalog.format('REVOKE ALL ON @schema@.message, @schema@.address, @schema@.part, @schema@.raw,'
            ' @schema@.delivery, @schema@.copy, @schema@.inbox, @schema@.outbox, @schema@.schema_version FROM %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT ON @schema@.schema_version TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, identity, digest, received_at),'
            ' INSERT (identity, digest, lock_key, message_id, sender, "from", subject, date, size, in_reply_to,'
            ' "references", received_at) ON @schema@.message TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, role, position, "group", name, address)'
            ' ON @schema@.address TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, path, type, charset, disposition, filename, size, sha256, text)'
            ' ON @schema@.part TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, chunk, data) ON @schema@.raw TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, recipient, original_recipient, account, mailbox, queue_id,'
            ' host, outcome, reason, tries, finished_at, whole), INSERT (message, recipient, original_recipient, account, mailbox, queue_id, host, outcome, reason,'
            ' finished_at, whole), UPDATE (original_recipient, account, mailbox, queue_id, host, outcome, reason, tries,'
            ' last_at, finished_at, whole) ON @schema@.delivery TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, account, mailbox, role, state, doubt, attempt, attempt_at,'
            ' claim, claimed_by, host, pid, first_at, uidvalidity, uid, repeated), INSERT (message, account, mailbox, role, state,'
            ' doubt, claim, claimed_by, host, pid), UPDATE (state, doubt, attempt, attempt_at, claim, claimed_by, host, pid,'
            ' stored_at, uidvalidity, uid, error, repeated) ON @schema@.copy TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA @schema@ TO @operator@;
        GRANT DELETE ON @schema@.message TO @operator@;
    END IF;
END $$;
