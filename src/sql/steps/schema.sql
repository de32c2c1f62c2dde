-- schema_installed: whether the schema has a table of versions
-- params: schema
-- columns: tables

-- schema_version: the newest installed version
-- columns: version
SELECT max(version) FROM @schema@.schema_version

-- schema_unfit: reports that this database cannot have the schema, and what to do; no row: it can
-- columns: reason

-- schema_agree: records the lock method of all hosts, and returns the previous one
-- params: method
-- columns: previous
