-- begin:
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- begin_read:
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- macro settings: all SET LOCAL in one statement, in which every name is qualified. If a site has lowered
-- synchronous_commit, mail could be lost after a reply that was not yet durable, here or on a synchronous standby. A
-- WARNING says that the wait for the standby was cancelled (pg_connect.c). idle_in_transaction_session_timeout lets the
-- server release the lock of a stopped process
pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit')
OPERATOR(pg_catalog.=) 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
pg_catalog.set_config('client_min_messages', 'warning', true),
pg_catalog.set_config('idle_in_transaction_session_timeout', :idle_ms, true),
pg_catalog.set_config('statement_timeout', :statement_ms, true),
pg_catalog.set_config('lock_timeout', :lock_ms, true), pg_catalog.pg_backend_pid()

-- begin_snapshot:
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- settings: the engine reads the last column
SELECT @safe_path@, @settings@

-- settings_as_is:
SELECT @settings@

-- settings_idle: does not wait for the disk
SELECT @safe_path@, pg_catalog.set_config('synchronous_commit', 'off', true)

-- path:
SELECT @safe_path@

-- event:
INSERT INTO @schema@.event (name, host, count) VALUES (:name::text, :host::text, :count::integer)

-- for_people: turns off jit, which takes a tenth of a second, longer than the query
SELECT pg_catalog.set_config('jit', 'off', true)

-- server_version:
SELECT 'PostgreSQL ' || pg_catalog.current_setting('server_version')
