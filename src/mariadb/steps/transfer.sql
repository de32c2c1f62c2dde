-- macro last: the highest id that a table has assigned
(SELECT coalesce(AUTO_INCREMENT, 1) - 1 FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{}')

-- load_numbers:
EXECUTE IMMEDIATE concat('ALTER TABLE message AUTO_INCREMENT = ', :message + 1)
-- then
EXECUTE IMMEDIATE concat('ALTER TABLE delivery AUTO_INCREMENT = ', :delivery + 1)
-- then
EXECUTE IMMEDIATE concat('ALTER TABLE copy AUTO_INCREMENT = ', :copy + 1)
-- then
EXECUTE IMMEDIATE concat('ALTER TABLE feed AUTO_INCREMENT = ', :feed + 1)

-- hold_timeout: in seconds
SET SESSION lock_wait_timeout = 10

-- hold_writers: until the session ends, no other session of this server may write, and this one sees only these tables.
-- Refuses a cluster, whose other nodes may write
SET @refuse = CASE WHEN @cluster AND (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME
= 'WSREP_CLUSTER_SIZE') > 1 THEN 'SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''other nodes of the Galera cluster could go'
' on writing meanwhile: stop them first, all but this one''' ELSE 'DO 0' END
-- then
EXECUTE IMMEDIATE @refuse
-- then
LOCK TABLES message READ, address READ, part READ, raw READ, delivery READ, attempt READ, copy READ, event READ, counter_bucket READ,
server READ, counter READ, feed READ
