-- schema_installed: whether the schema has a table of versions
-- params: schema
-- columns: tables
SELECT count(*) FROM @schema@.sqlite_schema WHERE type = 'table' AND name = 'schema_version'

-- schema_version: the newest installed version
-- columns: version
SELECT max(version) FROM @schema@.schema_version

-- schema_unfit: reports that this database cannot have the schema, and what to do; no row: it can
-- columns: reason
SELECT 'the encoding of this file is ' || encoding || ', but must be UTF-8: create another one' FROM pragma_encoding
WHERE encoding <> 'UTF-8'

-- schema_agree: records the lock method of all hosts, and returns the previous one
-- params: method
-- columns: previous
UPDATE @schema@.setting SET lock_method = :method RETURNING lock_method
