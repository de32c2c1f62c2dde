-- macro last: the highest id that a table has assigned, as far as this user may know it
greatest((SELECT max(id) FROM @schema@.{}), (SELECT CASE WHEN pg_catalog.has_sequence_privilege(s, 'USAGE, SELECT')
THEN pg_catalog.pg_sequence_last_value(s::regclass) END
FROM pg_catalog.pg_get_serial_sequence('@schema@.{}', 'id') s), 0)

-- load_numbers:
SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence('@schema@.' || t.name, 'id'), t.last) FROM (VALUES
('message', :message::bigint), ('delivery', :delivery::bigint), ('copy', :copy::bigint), ('feed', :feed::bigint),
('event', (SELECT max(id) FROM @schema@.event))) t (name, last) WHERE t.last > 0

-- begin_hold:
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- hold_timeout: before the transaction has its snapshot, like hold_writers
SET LOCAL lock_timeout = '10s'

-- hold_writers: locks the table with which every delivery begins
LOCK TABLE @schema@.message IN ACCESS EXCLUSIVE MODE
