-- oncedrop schema, version 7: the history of a message: one row for each try to deliver it to a recipient.

CREATE TABLE @schema@.try (
    delivery    bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE,
    claim       bigint NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    queue_id    text,
    queued_at   timestamptz,
    host        text NOT NULL,
    pid         integer NOT NULL,
    outcome     text NOT NULL,
    reason      text,
    read_ms     integer NOT NULL,
    lock_ms     integer NOT NULL,
    database_ms integer NOT NULL,
    imap_ms     integer NOT NULL,
    trace_id    bytea CHECK (octet_length(trace_id) = 16),
    span_id     bytea CHECK (octet_length(span_id) = 8),
    PRIMARY KEY (delivery, claim)
);
CREATE INDEX try_queue_id ON @schema@.try (queue_id);
COMMENT ON TABLE @schema@.try IS 'One row for each try to deliver a message to a recipient that got as far as a claim; goes with its message. Tries that found the lock held, or no database, are in the log only';
COMMENT ON COLUMN @schema@.try.delivery IS 'The message and its recipient';
COMMENT ON COLUMN @schema@.try.claim IS 'Random number of its claim; copies that this try made have the same (copy.claim)';
COMMENT ON COLUMN @schema@.try.started_at IS 'When the program began to read the message, by the database''s clock';
COMMENT ON COLUMN @schema@.try.ended_at IS 'When its outcome was recorded; NULL: it is under way, or its process died';
COMMENT ON COLUMN @schema@.try.queue_id IS 'Postfix queue id, when it was known';
COMMENT ON COLUMN @schema@.try.queued_at IS 'When Postfix received the message under that queue id, by its Received field; NULL when there is none of that form';
COMMENT ON COLUMN @schema@.try.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.try.pid IS 'Number of the process';
COMMENT ON COLUMN @schema@.try.outcome IS 'What it answered (stored, duplicate, held, ...); claimed: nothing yet';
COMMENT ON COLUMN @schema@.try.reason IS 'The text of that answer';
COMMENT ON COLUMN @schema@.try.read_ms IS 'Milliseconds it took to read and decode the message';
COMMENT ON COLUMN @schema@.try.lock_ms IS 'Milliseconds until the lock was granted (lock.wait)';
COMMENT ON COLUMN @schema@.try.database_ms IS 'Milliseconds of everything else in the database, but for the COMMIT that recorded this';
COMMENT ON COLUMN @schema@.try.imap_ms IS 'Milliseconds of IMAP: connecting, login, searching, appending';
COMMENT ON COLUMN @schema@.try.trace_id IS 'Trace of the message, as W3C Trace Context has it; NULL unless record.trace was on';
COMMENT ON COLUMN @schema@.try.span_id IS 'Span of this try in it';

-- Deliveries add rows and finish those of their own claim; operators read them.
DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT (delivery, claim), INSERT (delivery, claim, started_at, ended_at,'
            ' queue_id, queued_at, host, pid, outcome, reason, read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id),'
            ' UPDATE (ended_at, outcome, reason, read_ms, lock_ms, database_ms, imap_ms) ON @schema@.try TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT SELECT ON @schema@.try TO @operator@;
    END IF;
END $$;
