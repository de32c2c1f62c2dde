-- schema_installed: whether the schema has a table of versions. Not to_regclass: after waiting for a lock, it may use a
-- cache that is older than the lock
-- params: schema
-- columns: tables
SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND c.relname = 'schema_version'

-- schema_version: the newest installed version
-- columns: version
SELECT max(version) FROM @schema@.schema_version

-- schema_unfit: reports that this database cannot have the schema, and what to do; no row: it can
-- columns: reason
SELECT 'the database''s encoding is ' || encoding || ', which cannot be changed, but must be UTF8: create another ' ||
'database with createdb --template=template0 --encoding=UTF8'
FROM pg_catalog.current_setting('server_encoding') AS encoding WHERE encoding <> 'UTF8'

-- schema_agree: records the lock method of all hosts, and returns the previous one
-- params: method
-- columns: previous
UPDATE @schema@.setting n SET lock_method = :method FROM @schema@.setting o RETURNING o.lock_method
