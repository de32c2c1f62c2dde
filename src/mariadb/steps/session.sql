-- begin: READ COMMITTED by the session's set-up
START TRANSACTION READ WRITE

-- begin_read: not sent with locks of the session, since a replica would refuse it. Without it, a delivery may read from
-- a replica, correctly, that a copy is stored; a claim fails there
START TRANSACTION READ WRITE

-- begin_snapshot:
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ
-- then
START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY

-- macro settings: in whole seconds, except max_statement_time. The server ends a session that is idle in a transaction
-- for that long, and so releases the rows that a stopped process has locked
idle_transaction_timeout = ceil(:idle_ms / 1000.0),
max_statement_time = :statement_ms / 1000.0, innodb_lock_wait_timeout = ceil(:lock_ms / 1000.0),
lock_wait_timeout = ceil(:lock_ms / 1000.0)

-- settings: of the transaction, and then of the session
SET SESSION @settings@

-- settings_as_is: as settings; the site's own statement is always in a transaction
START TRANSACTION READ WRITE
-- then
SET SESSION @settings@

-- server_version:
SELECT 'MariaDB ' || version()
