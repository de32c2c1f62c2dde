-- begin: begins a transaction
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- begin_look: begins one in which the lock is tried and what is known is read, and nothing else
BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE

-- word settings: all SET LOCAL in one statement, in which every name is qualified. If a site has lowered
-- synchronous_commit, mail could be lost after an answer that was not yet durable, here and on a synchronous standby; that
-- the wait for that was given up is said by a WARNING (pg_connect.c). idle_in_transaction_session_timeout lets the server
-- release the lock of a process that was stopped
pg_catalog.set_config('synchronous_commit', CASE WHEN pg_catalog.current_setting('synchronous_commit')
OPERATOR(pg_catalog.=) 'remote_apply' THEN 'remote_apply' ELSE 'on' END, true),
pg_catalog.set_config('client_min_messages', 'warning', true),
pg_catalog.set_config('idle_in_transaction_session_timeout', :idle_ms, true),
pg_catalog.set_config('statement_timeout', :statement_ms, true),
pg_catalog.set_config('lock_timeout', :lock_ms, true), pg_catalog.pg_backend_pid()

-- begin_snapshot: begins one that only reads, all of its steps in the same state
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- settings: of the transaction; the engine reads the last column
-- takes: idle_ms statement_ms lock_ms
SELECT @safe_path@, @settings@

-- settings_as_is: of one in which the site's own statement may rely on the search_path of its role
-- takes: idle_ms statement_ms lock_ms
SELECT @settings@

-- settings_idle: of one that may be lost in a crash of the database: nobody waits for the disk
SELECT @safe_path@, pg_catalog.set_config('synchronous_commit', 'off', true)

-- path: for the batch that only reads, outside of any transaction
SELECT @safe_path@

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts something that only the statistics count: held, search
-- takes: name host count
INSERT INTO @schema@.event (name, host, count) VALUES (:name::text, :host::text, :count::integer)

-- for_people: before a query for people: compiling it (jit) takes a tenth of a second, longer than running it
SELECT pg_catalog.set_config('jit', 'off', true)

-- server_version: PostgreSQL 15.4 ...
-- gives: version
SELECT 'PostgreSQL ' || pg_catalog.current_setting('server_version')
