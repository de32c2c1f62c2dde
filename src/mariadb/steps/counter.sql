-- macro le: the upper bound of the histogram bucket for a time in milliseconds; 0: it is above all
CASE WHEN {} IS NULL THEN NULL WHEN {} <= 5 THEN 5 WHEN {} <= 10 THEN 10 WHEN {} <= 25 THEN 25 WHEN {} <= 50 THEN 50
WHEN {} <= 100 THEN 100 WHEN {} <= 250 THEN 250 WHEN {} <= 500 THEN 500 WHEN {} <= 1000 THEN 1000 WHEN {} <= 2500 THEN 2500
WHEN {} <= 5000 THEN 5000 WHEN {} <= 10000 THEN 10000 WHEN {} <= 30000 THEN 30000 WHEN {} <= 60000 THEN 60000
WHEN {} <= 300000 THEN 300000 WHEN {} <= 1800000 THEN 1800000 WHEN {} <= 7200000 THEN 7200000 ELSE 0 END

-- macro bounds: upper bounds of the histogram buckets, in milliseconds
(VALUES (5), (10), (25), (50), (100), (250), (500), (1000), (2500), (5000), (10000), (30000), (60000), (300000), (1800000),
(7200000), (0))

-- macro counted_until: the moment that separates attempts counted from their rows from those added up before
coalesce((SELECT @moment(value)@ FROM counter_bucket WHERE name = 'counted_until'), '1970-01-01 00:00:00')

-- macro counted_tries: attempts t of deliveries d, as counted (outcomes.awk). If an outcome can mean both deferral and bounce, it
-- counts as a bounce in the attempt that finished the delivery
SELECT t.outcome, CASE WHEN t.outcome = 'claimed' THEN 'died'
WHEN t.outcome IN (@good_outcomes@) THEN t.outcome WHEN t.outcome IN (@bounced_outcomes@)
OR t.outcome IN (@maybe_bounced_outcomes@) AND t.ended_at >= d.finished_at THEN 'bounced'
ELSE 'deferred' END AS status, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms, CASE WHEN t.outcome IN (@stored_outcomes@)
AND t.queued_at IS NOT NULL THEN greatest((TIMESTAMPDIFF(MICROSECOND, t.queued_at, t.ended_at) + 500) DIV 1000, 0) END
AS delay_ms
FROM attempt t JOIN delivery d ON d.id = t.delivery

-- macro is_over: whether an attempt cannot change: its process has settled all its claims, or has certainly died
(t.outcome <> 'claimed' AND t.claim NOT IN (SELECT claim FROM copy WHERE state = 'appending')
OR t.outcome = 'claimed' AND t.started_at < @now@ - INTERVAL 1 HOUR)

-- macro counts: counts attempts. A table WITH a name is read again wherever the name stands, so all is counted at once
SELECT name, coalesce(part, CASE name WHEN 'deliveries' THEN status ELSE outcome END) AS label,
CASE WHEN name IN ('phase', 'delay') THEN @le(ms)@ ELSE 0 END AS le,
sum(CASE WHEN name IN ('phase_ms', 'delay_ms') THEN ms ELSE 1 END) AS value
FROM (SELECT s.name, s.part, t.status, t.outcome, CASE s.part WHEN 'read' THEN t.read_ms WHEN 'lock' THEN t.lock_ms
WHEN 'database' THEN t.database_ms WHEN 'imap' THEN t.imap_ms WHEN '' THEN t.delay_ms END AS ms
FROM attempts t CROSS JOIN (SELECT 'deliveries' AS name, NULL AS part UNION ALL VALUES ('deferrals', NULL),
('phase', 'read'), ('phase', 'lock'), ('phase', 'database'), ('phase', 'imap'), ('phase_ms', 'read'), ('phase_ms', 'lock'),
('phase_ms', 'database'), ('phase_ms', 'imap'), ('delay', ''), ('delay_ms', '')) s) u
WHERE CASE name WHEN 'deliveries' THEN TRUE WHEN 'deferrals' THEN status = 'deferred'
ELSE status <> 'died' AND ms IS NOT NULL END GROUP BY name, label, le

-- macro kinds: kinds of events, and what they count as
kinds (event, name, label) AS (VALUES ('busy', 'deliveries', 'deferred'), ('busy', 'deferrals', 'busy'),
('search', 'searches', ''))

-- macro events: counts a table of events
UNION ALL SELECT k.name, k.label, 0, sum(e."count") FROM {} e JOIN kinds k ON k.event = e.name
GROUP BY k.name, k.label

-- macro zero: counters that are present even if zero
zero (name, label) AS (VALUES ('deliveries', 'stored'), ('deliveries', 'quarantined'),
('deliveries', 'duplicate'), ('deliveries', 'deferred'), ('deliveries', 'bounced'), ('deliveries', 'died'),
('deferrals', 'busy'), ('deferrals', 'database'), ('deferrals', 'mailbox'), ('deferrals', 'overquota'),
('deferrals', 'refused'), ('deferrals', 'tempfail'), ('searches', ''), ('phase_ms', 'read'), ('phase_ms', 'lock'),
('phase_ms', 'database'), ('phase_ms', 'imap'), ('delay_ms', '')), bound (le) AS @bounds@,
phase (name, label) AS (VALUES ('phase', 'read'), ('phase', 'lock'), ('phase', 'database'), ('phase', 'imap'), ('delay', ''))

-- counters: counters that never decrease
-- columns: name label le value
SET @since = @counted_until@
-- then
WITH attempts AS (@counted_tries@ WHERE t.started_at >= CAST(@since AS DATETIME(6)) AND @is_over@), @kinds@, @zero@
SELECT name, label, le, sum(value) AS value FROM (@counts@ @events(event)@
UNION ALL SELECT name, label, 0, 0 FROM zero
UNION ALL SELECT p.name, p.label, b.le, 0 FROM phase p CROSS JOIN bound b
UNION ALL SELECT name, label, le, value FROM counter_bucket WHERE name <> 'counted_until'
) AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le

-- lock_counter_buckets: locks a row, so that only one process at a time adds up
INSERT INTO counter_bucket (name, label, le, value) VALUES ('counted_until', '', 0, 0)
ON DUPLICATE KEY UPDATE value = counter_bucket.value

-- lock_counter: keeps counting and deleting from overlapping
SELECT one FROM counter FOR UPDATE

-- count_rows: counts messages and copies. No transaction lasts an hour: rows with ids before that of a row an hour old
-- exist by now, or never will
SET @copy = (SELECT coalesce((SELECT id FROM copy WHERE id > t.last_copy AND first_at < @now@ - INTERVAL 1 HOUR
ORDER BY id DESC LIMIT 1), t.last_copy) FROM counter t WHERE t.one = 1)
-- then
SET @message = (SELECT greatest(t.last_message, coalesce((SELECT max(message) FROM copy
WHERE id > @copy - 1000 AND id <= @copy), 0)) FROM counter t)
-- then
SELECT last_message, last_copy INTO @last_message, @last_copy FROM counter
-- then
UPDATE counter SET
messages = messages + (SELECT count(*) FROM message WHERE id > @last_message AND id <= @message),
bytes = bytes + (SELECT coalesce(sum(size), 0) FROM message WHERE id > @last_message AND id <= @message),
copies = copies + (SELECT count(*) FROM copy WHERE id > @last_copy AND id <= @copy),
last_message = @message, last_copy = @copy

-- read_tries: no-op: count_tries makes no session wait
DO 0

-- count_tries: adds up attempts older than an hour. If they are counted until a moment in the future, since the clock
-- was ahead, counting goes on from now
SET @since = @counted_until@
-- then
SET @until = least(greatest(CAST(@now@ - INTERVAL 1 HOUR AS DATETIME), CAST(@since AS DATETIME(6))), @now@)
-- then
INSERT INTO counter_bucket (name, label, le, value)
WITH attempts AS (@counted_tries@ WHERE t.started_at >= CAST(@since AS DATETIME(6))
AND t.started_at < CAST(@until AS DATETIME(6))), @kinds@,
past AS (SELECT name, "count" FROM event WHERE at < @until)
SELECT name, label, le, sum(value) FROM (@counts@ @events(past)@) AS counts GROUP BY name, label, le
ON DUPLICATE KEY UPDATE value = counter_bucket.value + VALUES(value)
-- then
DELETE FROM event WHERE at < @until
-- then
UPDATE counter_bucket SET value = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', CAST(@until AS DATETIME(6))) WHERE name = 'counted_until'

-- counter_is_due: a row if there is much to add up, and that was not done lately
SELECT 1 FROM counter t WHERE (SELECT max(id) FROM message) > t.last_message + 20000
AND @counted_until@ NOT BETWEEN @now@ - INTERVAL 2 HOUR AND @now@
