-- begin: begins a transaction that may write; under the writer's lock (lite_lock.c), so it waits for no other
BEGIN IMMEDIATE

-- begin_look: begins one that only reads
BEGIN

-- begin_snapshot: begins one that only reads, all of its steps in the same state
BEGIN

-- settings: of the transaction: none
-- takes: idle_ms statement_ms lock_ms
SELECT 0

-- settings_as_is: likewise
-- takes: idle_ms statement_ms lock_ms
SELECT 0

-- settings_idle: likewise
SELECT 0

-- path: likewise
SELECT 0

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts something that only the statistics count: held, search
-- takes: name host count
INSERT INTO @schema@.event (at, name, host, count) VALUES (@now@, :name, :host, :count)

-- for_people: before a query for people: nothing
SELECT 0

-- server_version: SQLite 3.40.1 ...
-- gives: version
SELECT 'SQLite ' || sqlite_version()
