-- schema_installed: this schema is the database
SELECT count(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = 'schema_version'
AND :schema IS NOT NULL

-- schema_unfit: that is, this server
SELECT 'its binary log has the format STATEMENT, with which a transaction cannot be READ COMMITTED: set binlog_format'
|| ' = MIXED or ROW' AS reason FROM DUAL WHERE @@log_bin AND @@binlog_format = 'STATEMENT'

-- schema_agree:
SET @previous = (SELECT lock_method FROM setting FOR UPDATE)
-- then
UPDATE setting SET lock_method = :method
-- then
SELECT @previous FROM DUAL WHERE @previous IS NOT NULL
