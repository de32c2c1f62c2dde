-- begin: under the writer's lock (lite_lock.c), so it waits for no other
BEGIN IMMEDIATE

-- begin_read:
BEGIN

-- begin_snapshot:
BEGIN

-- server_version:
SELECT 'SQLite ' || sqlite_version()
