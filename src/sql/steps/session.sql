-- begin: begins a transaction

-- begin_read: begins a transaction that only tries the lock and reads the state

-- begin_snapshot: begins a transaction that only reads, with one snapshot for all its steps

-- settings: of the transaction, or of the session
-- params: idle_ms statement_ms lock_ms
@nothing@

-- settings_as_is: of a transaction in which the site's own statement may rely on the search_path of its role
-- params: idle_ms statement_ms lock_ms
@nothing@

-- settings_idle: of a transaction that a crash of the database may lose
@nothing@

-- path: sets the search path, for a batch that only reads, outside of any transaction
@nothing@

-- commit: commits
COMMIT

-- rollback: rolls back
ROLLBACK

-- event: counts what only the statistics count: busy, search
-- params: name host count
INSERT INTO @schema@.event (at, name, host, "count") VALUES (@now@, :name, :host, :count)

-- for_people: settings for a query that a person waits for
@nothing@

-- server_version: such as SQLite 3.40.1, PostgreSQL 15.4, MariaDB 10.11.6
-- columns: version
