-- begin: begins a transaction; READ COMMITTED by the session's set-up
START TRANSACTION READ WRITE

-- begin_read: begins a transaction; not sent with locks of the session, since a replica would refuse it. Without it, a
-- delivery may read from a replica, correctly, that a copy is stored; a claim fails there
START TRANSACTION READ WRITE

-- begin_snapshot: begins a transaction that only reads, with one snapshot for all its steps
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
-- then
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY

-- macro settings: in whole seconds, except max_statement_time. The server ends a session that is idle in a transaction
-- for that long, and so releases the rows that a stopped process has locked
idle_transaction_timeout = ceil(:idle_ms / 1000.0),
max_statement_time = :statement_ms / 1000.0, innodb_lock_wait_timeout = ceil(:lock_ms / 1000.0),
lock_wait_timeout = ceil(:lock_ms / 1000.0)

-- settings: of the transaction, and then of the session
-- params: idle_ms statement_ms lock_ms
SET SESSION @settings@

-- settings_as_is: as settings; the site's own statement is always in a transaction
-- params: idle_ms statement_ms lock_ms
START TRANSACTION READ WRITE
-- then
SET SESSION @settings@

-- settings_idle: no-op: the server's own setting says whether to wait for the disk
DO 0

-- path: no-op: all names are of one database
DO 0

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts what only the statistics count: held, search
-- params: name host count
INSERT INTO event (at, name, host, "count") VALUES (@now@, :name, :host, :count)

-- for_people: before a query for people: no-op
DO 0

-- server_version: such as MariaDB 10.11.6
-- columns: version
SELECT 'MariaDB ' || version()
