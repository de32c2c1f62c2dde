-- macro bounds: upper bounds of the histogram buckets, in milliseconds
'[5,10,25,50,100,250,500,1000,2500,5000,10000,30000,60000,300000,1800000,7200000,0]'

-- macro phase: one of the attempts' times
UNION ALL SELECT 'phase', '{}', @le({}_ms)@, count(*) FROM attempts WHERE status <> 'died' GROUP BY 3
UNION ALL SELECT 'phase_ms', '{}', 0, sum({}_ms) FROM attempts WHERE status <> 'died' HAVING count(*) > 0

-- macro counts: counts attempts
SELECT 'deliveries' AS name, status AS label, 0 AS le, count(*) AS value FROM attempts GROUP BY status
UNION ALL SELECT 'deferrals', outcome, 0, count(*) FROM attempts WHERE status = 'deferred' GROUP BY outcome
@phase(read)@ @phase(lock)@ @phase(database)@ @phase(imap)@
UNION ALL SELECT 'delay', '', @le(delay_ms)@, count(*) FROM attempts WHERE status <> 'died' AND delay_ms IS NOT NULL GROUP BY 3
UNION ALL SELECT 'delay_ms', '', 0, sum(delay_ms) FROM attempts WHERE status <> 'died' HAVING count(delay_ms) > 0

-- macro events: counts a table of events
UNION ALL SELECT k.column2, k.column3, 0, sum(e.count) FROM {} CROSS JOIN (VALUES @kinds@) AS k ON k.column1 = e.name GROUP BY 1, 2

-- macro counting_until: the moment until which count_tries adds up
(SELECT value FROM temp.sum WHERE name = 'counting_until')

-- counters:
WITH attempts AS (@counted_tries@ WHERE t.started_at >= @counted_until@ AND @is_over@)
SELECT name, label, le, sum(value) AS value FROM (@counts@ @events(@schema@.event e)@
UNION ALL SELECT column1, column2, 0, 0 FROM (VALUES @zeros@)
UNION ALL SELECT k.column1, k.column2, b.value, 0 FROM (VALUES @histograms@) AS k CROSS JOIN json_each(@bounds@) AS b
UNION ALL SELECT name, label, le, value FROM @schema@.counter_bucket WHERE name <> 'counted_until'
) AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le

-- count_rows:
UPDATE @schema@.counter AS t SET last_message = s.message, last_copy = s.copy,
messages = t.messages + (SELECT count(*) FROM @schema@.message WHERE id > t.last_message AND id <= s.message),
bytes = t.bytes + (SELECT coalesce(sum(size), 0) FROM @schema@.message WHERE id > t.last_message AND id <= s.message),
copies = t.copies + (SELECT count(*) FROM @schema@.copy WHERE id > t.last_copy AND id <= s.copy)
FROM (SELECT o.copy, max(o.last_message, coalesce((SELECT max(message) FROM @schema@.copy
WHERE id > o.copy - 1000 AND id <= o.copy), 0)) AS message FROM (SELECT t.last_message, coalesce((SELECT id FROM @schema@.copy
WHERE id > t.last_copy AND first_at < @now@ - 3600000000 ORDER BY id DESC LIMIT 1), t.last_copy) AS copy
FROM @schema@.counter t) AS o) AS s

-- read_tries: adds up attempts older than an hour in a table of this connection, for count_tries. This reads all
-- attempts, but makes no session wait. If they are counted until a moment in the future, since the clock was ahead,
-- counting goes on from now
CREATE TEMPORARY TABLE IF NOT EXISTS sum (name, label, le, value)
-- then
DELETE FROM temp.sum
-- then
INSERT INTO temp.sum SELECT 'counted_until', '', 0, @counted_until@
UNION ALL SELECT 'counting_until', '', 0, min(max((@now@ - 3600000000) / 1000000 * 1000000, @counted_until@), @now@)
-- then
INSERT INTO temp.sum
WITH attempts AS (@counted_tries@ WHERE t.started_at >= (SELECT value FROM temp.sum WHERE name = 'counted_until')
AND t.started_at < @counting_until@) SELECT * FROM (@counts@)

-- count_tries: adds these sums, unless another process has done so since: what is older than an hour has not changed
DELETE FROM temp.sum WHERE @counted_until@ <> (SELECT value FROM temp.sum WHERE name = 'counted_until')
-- then
INSERT INTO @schema@.counter_bucket AS o (name, label, le, value)
WITH old AS (SELECT name, count FROM @schema@.event WHERE at < @counting_until@)
SELECT name, label, le, sum(value) FROM (SELECT name, label, le, value FROM temp.sum
WHERE name NOT IN ('counted_until', 'counting_until') @events(old e)@) AS counts WHERE true GROUP BY name, label, le
ON CONFLICT (name, label, le) DO UPDATE SET value = o.value + excluded.value
-- then
DELETE FROM @schema@.event WHERE at < @counting_until@
-- then
UPDATE @schema@.counter_bucket SET value = coalesce(@counting_until@, value) WHERE name = 'counted_until'
