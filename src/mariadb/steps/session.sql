-- begin: begins a transaction; READ COMMITTED, as the session is set up
START TRANSACTION READ WRITE

-- begin_look: the same; not sent if no transaction has a lock. A replica would refuse it: without, a look may find there what
-- is true, that a copy is stored, but a claim finds nothing to write to
START TRANSACTION READ WRITE

-- begin_snapshot: begins one that only reads, all of its steps in the same state
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
-- then
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY

-- word settings: in whole seconds, but for max_statement_time. The server ends a session that says nothing for so long in a
-- transaction, and so frees the rows that a process has locked that was stopped
idle_transaction_timeout = ceil(:idle_ms / 1000.0),
max_statement_time = :statement_ms / 1000.0, innodb_lock_wait_timeout = ceil(:lock_ms / 1000.0),
lock_wait_timeout = ceil(:lock_ms / 1000.0)

-- settings: of the transaction, and then of the session
-- takes: idle_ms statement_ms lock_ms
SET SESSION @settings@

-- settings_as_is: likewise; the site's own statement is in a transaction in any case
-- takes: idle_ms statement_ms lock_ms
START TRANSACTION READ WRITE
-- then
SET SESSION @settings@

-- settings_idle: nothing: whether the disk is waited for is the server's own setting
DO 0

-- path: nothing: all names are of one database
DO 0

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts something that only the statistics count: held, search
-- takes: name host count
INSERT INTO event (at, name, host, "count") VALUES (@now@, :name, :host, :count)

-- for_people: before a query for people: nothing
DO 0

-- server_version: MariaDB 10.11.6 ...
-- gives: version
SELECT 'MariaDB ' || version()
