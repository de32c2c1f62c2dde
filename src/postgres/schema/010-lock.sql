-- oncedrop schema, version 10: two more methods by which deliveries of one message exclude each other (lock.method).

-- Method row: a delivery locks the row of its key (lock_key & 16383), and never changes or adds one. The number was
-- measured: locking all of these writes 73 pages to the log after a checkpoint, and of two messages under way at a time one
-- pair in 16,384 waits for each other without need. To lock a row takes the right to update some column: `unused`.
CREATE TABLE @schema@.slot (
    slot   integer PRIMARY KEY,
    unused boolean
);
INSERT INTO @schema@.slot (slot) SELECT generate_series(0, 16383);
COMMENT ON TABLE @schema@.slot IS 'What a delivery locks with lock.method = row; nothing is written here';
COMMENT ON COLUMN @schema@.slot.slot IS 'lock_key & 16383 of the messages that share this row';
COMMENT ON COLUMN @schema@.slot.unused IS 'Deliveries have the right to update this column, and so may lock the row';

-- Method lease: a row for each message under way. Each of its transactions ends at once. These rows are all that the
-- role of deliveries may delete.
CREATE TABLE @schema@.lease (
    key        bigint PRIMARY KEY,
    owner      bigint NOT NULL,
    taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    session    text NOT NULL,
    "user"     text NOT NULL DEFAULT session_user
) WITH (fillfactor = 50);
COMMENT ON TABLE @schema@.lease IS 'Who delivers which message with lock.method = lease; a row goes when its delivery ends, and counts for nothing from expires_at on';
COMMENT ON COLUMN @schema@.lease.key IS 'lock_key of the message, or of one account''s copies of it';
COMMENT ON COLUMN @schema@.lease.owner IS 'Random number of this delivery; whoever holds or ends the lease must know it';
COMMENT ON COLUMN @schema@.lease.taken_at IS 'Since when, by the database''s clock';
COMMENT ON COLUMN @schema@.lease.expires_at IS 'When others may take it, by the database''s clock';
COMMENT ON COLUMN @schema@.lease.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.lease.pid IS 'Number of the process';
COMMENT ON COLUMN @schema@.lease.session IS 'As in pg_stat_activity.application_name';
COMMENT ON COLUMN @schema@.lease."user" IS 'Database user of the session';

-- Hosts with different methods would not exclude each other: a delivery that has another method is refused.
CREATE TABLE @schema@.agreed (
    lock_method text NOT NULL CHECK (lock_method IN ('advisory', 'row', 'lease'))
);
INSERT INTO @schema@.agreed VALUES ('advisory');
COMMENT ON TABLE @schema@.agreed IS 'What all hosts must agree on; one row';
COMMENT ON COLUMN @schema@.agreed.lock_method IS 'lock.method of all hosts; changed by: oncedrop schema method';

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT SELECT, UPDATE (unused) ON @schema@.slot TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, DELETE, INSERT (key, owner, expires_at, host, pid, session),'
            ' UPDATE (owner, taken_at, expires_at, host, pid, session, "user") ON @schema@.lease TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT ON @schema@.agreed TO %I', grantee);
    END LOOP;
END $$;
