-- schema_installed: whether the database has a table of versions
-- params: schema
-- columns: tables
SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'schema_version'
AND :schema IS NOT NULL

-- schema_version: the newest installed version
-- columns: version
SELECT max(version) FROM schema_version

-- schema_unfit: reports that this server cannot have the schema, and what to do; no row: it can
-- columns: reason
SELECT 'its binary log has the format STATEMENT, with which a transaction cannot be READ COMMITTED: set binlog_format'
|| ' = MIXED or ROW' AS reason FROM DUAL WHERE @@log_bin AND @@binlog_format = 'STATEMENT'

-- schema_agree: records the lock method of all hosts, and returns the previous one
-- params: method
-- columns: previous
SET @previous = (SELECT lock_method FROM setting FOR UPDATE)
-- then
UPDATE setting SET lock_method = :method
-- then
SELECT @previous FROM DUAL WHERE @previous IS NOT NULL
