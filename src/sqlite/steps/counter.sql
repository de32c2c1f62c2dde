-- macro le: the upper bound of the histogram bucket for a time in milliseconds; 0: it is above all
CASE WHEN {} IS NULL THEN NULL WHEN {} <= 5 THEN 5 WHEN {} <= 10 THEN 10 WHEN {} <= 25 THEN 25 WHEN {} <= 50 THEN 50
WHEN {} <= 100 THEN 100 WHEN {} <= 250 THEN 250 WHEN {} <= 500 THEN 500 WHEN {} <= 1000 THEN 1000 WHEN {} <= 2500 THEN 2500
WHEN {} <= 5000 THEN 5000 WHEN {} <= 10000 THEN 10000 WHEN {} <= 30000 THEN 30000 WHEN {} <= 60000 THEN 60000
WHEN {} <= 300000 THEN 300000 WHEN {} <= 1800000 THEN 1800000 WHEN {} <= 7200000 THEN 7200000 ELSE 0 END

-- macro bounds: upper bounds of the histogram buckets, in milliseconds
'[5,10,25,50,100,250,500,1000,2500,5000,10000,30000,60000,300000,1800000,7200000,0]'

-- macro counted_until: the moment that separates attempts counted from their rows from those added up before
coalesce((SELECT value FROM @schema@.counter_bucket WHERE name = 'counted_until'), 0)

-- macro counted_tries: attempts t of deliveries d, as counted (outcomes.awk). If an outcome can mean both deferral and bounce, it
-- counts as a bounce in the attempt that finished the delivery
SELECT t.outcome, CASE WHEN t.outcome = 'claimed' THEN 'died'
WHEN t.outcome IN (@good_outcomes@) THEN t.outcome WHEN t.outcome IN (@bounced_outcomes@)
OR t.outcome IN (@maybe_bounced_outcomes@) AND t.ended_at >= d.finished_at THEN 'bounced'
ELSE 'deferred' END AS status, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms, CASE WHEN t.outcome IN (@stored_outcomes@)
AND t.queued_at IS NOT NULL THEN max(coalesce((t.ended_at - t.queued_at + 500) / 1000, 0), 0) END
AS delay_ms
FROM @schema@.attempt t CROSS JOIN @schema@.delivery d ON d.id = t.delivery

-- macro is_over: whether an attempt cannot change: its process has settled all its claims, or has certainly died
(t.outcome <> 'claimed' AND t.claim NOT IN (SELECT claim FROM @schema@.copy WHERE state <> 'stored' AND state = 'appending')
OR t.outcome = 'claimed' AND t.started_at < @now@ - 3600000000)

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
UNION ALL SELECT k.column1, k.column2, 0, sum(e.count) FROM {} CROSS JOIN (VALUES ('deliveries', 'deferred', 'busy'),
('deferrals', 'busy', 'busy'), ('searches', '', 'search')) AS k ON k.column3 = e.name GROUP BY 1, 2

-- macro zeros: counters that are present even if zero
UNION ALL SELECT column1, column2, 0, 0 FROM (VALUES ('deliveries', 'stored'), ('deliveries', 'quarantined'),
('deliveries', 'duplicate'), ('deliveries', 'deferred'), ('deliveries', 'bounced'), ('deliveries', 'died'),
('deferrals', 'busy'), ('deferrals', 'database'), ('deferrals', 'mailbox'), ('deferrals', 'overquota'),
('deferrals', 'refused'), ('deferrals', 'tempfail'), ('searches', ''), ('phase_ms', 'read'), ('phase_ms', 'lock'),
('phase_ms', 'database'), ('phase_ms', 'imap'), ('delay_ms', ''))
UNION ALL SELECT k.column1, k.column2, b.value, 0 FROM (VALUES ('phase', 'read'), ('phase', 'lock'),
('phase', 'database'), ('phase', 'imap'), ('delay', '')) AS k CROSS JOIN json_each(@bounds@) AS b

-- macro counting_until: the moment until which count_tries adds up
(SELECT value FROM temp.sum WHERE name = 'counting_until')

-- counters: counters that never decrease
-- columns: name label le value
WITH attempts AS (@counted_tries@ WHERE t.started_at >= @counted_until@ AND @is_over@)
SELECT name, label, le, sum(value) AS value FROM (@counts@ @events(@schema@.event e)@ @zeros@
UNION ALL SELECT name, label, le, value FROM @schema@.counter_bucket WHERE name <> 'counted_until'
) AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le

-- lock_counter_buckets: ensures that the moment has a row; no other session writes
INSERT INTO @schema@.counter_bucket AS t (name, label, le, value) VALUES ('counted_until', '', 0, 0)
ON CONFLICT (name, label, le) DO UPDATE SET value = t.value

-- lock_counter: no-op: no other session writes
SELECT 0

-- count_rows: counts messages and copies. No transaction lasts an hour: rows with ids before that of a row an hour old
-- exist by now, or never will
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

-- counter_is_due: a row if there is much to add up, and that was not done lately
SELECT 1 FROM @schema@.counter t WHERE (SELECT max(id) FROM @schema@.message) > t.last_message + 20000
AND @counted_until@ NOT BETWEEN @now@ - 7200000000 AND @now@
