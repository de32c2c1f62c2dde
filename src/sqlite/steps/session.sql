-- begin: begins a transaction that may write; under the writer's lock (lite_lock.c), so it waits for no other
BEGIN IMMEDIATE

-- begin_read: begins a transaction that only reads
BEGIN

-- begin_snapshot: begins a transaction that only reads, with one snapshot for all its steps
BEGIN

-- settings: no-op: the transaction has no settings
-- params: idle_ms statement_ms lock_ms
SELECT 0

-- settings_as_is: no-op, as settings
-- params: idle_ms statement_ms lock_ms
SELECT 0

-- settings_idle: no-op, as settings
SELECT 0

-- path: no-op, as settings
SELECT 0

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts what only the statistics count: held, search
-- params: name host count
INSERT INTO @schema@.event (at, name, host, count) VALUES (@now@, :name, :host, :count)

-- for_people: before a query for people: no-op
SELECT 0

-- server_version: such as SQLite 3.40.1
-- columns: version
SELECT 'SQLite ' || sqlite_version()
