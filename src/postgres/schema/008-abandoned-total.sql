-- oncedrop schema, version 8: messages that Postfix gave up, or that were removed from its queue, do not stay unfinished for
-- ever; and counters that do not decrease when old messages are purged.

ALTER TABLE @schema@.copy DROP CONSTRAINT copy_state_check;
ALTER TABLE @schema@.copy ADD CONSTRAINT copy_state_check
    CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'abandoned'));
CREATE INDEX copy_abandoned ON @schema@.copy (id) WHERE state = 'abandoned';
COMMENT ON COLUMN @schema@.copy.state IS 'pending: not stored, to be tried again; appending: an APPEND may be under way; stored; failed: given up; abandoned: not tried since record.abandon_after, or abandoned by an administrator; should the message be delivered again, as pending';
COMMENT ON COLUMN @schema@.delivery.outcome IS 'What the last try answered (stored, duplicate, held, ...); claimed while it is under way; abandoned when there was no other for record.abandon_after. Done is what has finished_at';
COMMENT ON COLUMN @schema@.delivery.finished_at IS 'When it was stored, found stored, refused for good, or abandoned; NULL while Postfix is expected to try again';

-- Each delivery only adds rows of its own here: if all of them updated one row, they would wait for each other.
CREATE TABLE @schema@.event (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    name  text NOT NULL CHECK (name IN ('held', 'search')),
    host  text NOT NULL,
    count integer NOT NULL
);
COMMENT ON TABLE @schema@.event IS 'What is counted and leaves no other trace; purge adds up in table total what is older than a day, and removes it';
COMMENT ON COLUMN @schema@.event.id IS 'Number of the row';
COMMENT ON COLUMN @schema@.event.at IS 'When that was';
COMMENT ON COLUMN @schema@.event.name IS 'held: recipients were deferred because another delivery had the message; search: mailboxes were searched for a copy in doubt';
COMMENT ON COLUMN @schema@.event.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.event.count IS 'How many';

CREATE TABLE @schema@.total (
    name  text NOT NULL,
    label text NOT NULL,
    le    bigint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (name, label, le)
);
CREATE INDEX try_started_at ON @schema@.try USING brin (started_at) WITH (pages_per_range = 16);
COMMENT ON TABLE @schema@.total IS 'Counts of what is not in the other tables any more: purge adds up here what is older than a day. See oncedrop stats --prometheus for the sums';
COMMENT ON COLUMN @schema@.total.name IS 'deliveries, deferrals, searches; phase, phase_ms, delay, delay_ms: times; counted_until: tries begun before are counted here';
COMMENT ON COLUMN @schema@.total.label IS 'Outcome, reason or phase';
COMMENT ON COLUMN @schema@.total.le IS 'Of phase and delay: how many milliseconds these took at most, and more than the le before; 0: more than any';
COMMENT ON COLUMN @schema@.total.value IS 'How many; milliseconds; of counted_until: microseconds since 1970';

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT INSERT (name, host, count) ON @schema@.event TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT SELECT, DELETE ON @schema@.event TO @operator@;
        GRANT SELECT, INSERT, UPDATE ON @schema@.total TO @operator@;
    END IF;
END $$;
