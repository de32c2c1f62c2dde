-- macro bounds: upper bounds of the histogram buckets, in milliseconds
(VALUES (5), (10), (25), (50), (100), (250), (500), (1000), (2500), (5000), (10000), (30000), (60000), (300000), (1800000),
(7200000), (0))

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

-- macro events: counts a table of events
UNION ALL SELECT k.name, k.label, 0, sum(e."count") FROM {} e JOIN kinds k ON k.event = e.name GROUP BY k.name, k.label

-- counters:
SET @since = @counted_until@
-- then
WITH attempts AS (@counted_tries@ WHERE t.started_at >= CAST(@since AS DATETIME(6)) AND @is_over@),
kinds (event, name, label) AS (VALUES @kinds@), zero (name, label) AS (VALUES @zeros@), bound (le) AS @bounds@,
histogram (name, label) AS (VALUES @histograms@)
SELECT name, label, le, sum(value) AS value FROM (@counts@ @events(event)@
UNION ALL SELECT name, label, 0, 0 FROM zero
UNION ALL SELECT p.name, p.label, b.le, 0 FROM histogram p CROSS JOIN bound b
UNION ALL SELECT name, label, le, value FROM counter_bucket WHERE name <> 'counted_until'
) AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le

-- lock_counter:
SELECT one FROM counter FOR UPDATE

-- count_rows:
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

-- count_tries:
SET @since = @counted_until@
-- then
SET @until = least(greatest(CAST(@now@ - INTERVAL 1 HOUR AS DATETIME), CAST(@since AS DATETIME(6))), @now@)
-- then
INSERT INTO counter_bucket (name, label, le, value)
WITH attempts AS (@counted_tries@ WHERE t.started_at >= CAST(@since AS DATETIME(6))
AND t.started_at < CAST(@until AS DATETIME(6))), kinds (event, name, label) AS (VALUES @kinds@),
past AS (SELECT name, "count" FROM event WHERE at < @until)
SELECT name, label, le, sum(value) FROM (@counts@ @events(past)@) AS counts GROUP BY name, label, le
ON DUPLICATE KEY UPDATE value = counter_bucket.value + VALUES(value)
-- then
DELETE FROM event WHERE at < @until
-- then
UPDATE counter_bucket SET value = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', CAST(@until AS DATETIME(6))) WHERE name = 'counted_until'
