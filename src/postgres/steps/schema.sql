-- schema_installed: not to_regclass: after waiting for a lock, it may use a cache that is older than the lock
SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = :schema AND c.relname = 'schema_version'

-- schema_unfit:
SELECT 'the database''s encoding is ' || encoding || ', which cannot be changed, but must be UTF8: create another ' ||
'database with createdb --template=template0 --encoding=UTF8'
FROM pg_catalog.current_setting('server_encoding') AS encoding WHERE encoding <> 'UTF8'

-- schema_agree:
UPDATE @schema@.setting n SET lock_method = :method FROM @schema@.setting o RETURNING o.lock_method
