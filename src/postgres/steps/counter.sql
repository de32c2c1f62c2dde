-- macro bounds: upper bounds of the histogram buckets, in milliseconds
'{5,10,25,50,100,250,500,1000,2500,5000,10000,30000,60000,300000,1800000,7200000}'::bigint[]

-- macro bucket: the bucket of a time in milliseconds
pg_catalog.width_bucket({}::bigint - 1, @bounds@)

-- macro groups: reads each attempt once, and aggregates it into a few groups
groups AS (SELECT outcome, status, @bucket(read_ms)@ AS read, @bucket(lock_ms)@ AS lock,
@bucket(database_ms)@ AS database, @bucket(imap_ms)@ AS imap, @bucket(delay_ms)@ AS delay,
count(*) AS count, sum(read_ms) AS read_ms, sum(lock_ms) AS lock_ms, sum(database_ms) AS database_ms,
sum(imap_ms) AS imap_ms, sum(delay_ms) AS delay_ms FROM attempts GROUP BY 1, 2, 3, 4, 5, 6, 7)

-- macro of_phases: the groups' times
groups g, LATERAL (VALUES ('phase', 'read', g.read, g.read_ms), ('phase', 'lock', g.lock, g.lock_ms),
('phase', 'database', g.database, g.database_ms), ('phase', 'imap', g.imap, g.imap_ms),
('delay', '', g.delay, g.delay_ms)) AS p(name, label, bucket, ms)
WHERE g.status <> 'died' AND p.bucket IS NOT NULL GROUP BY 1, 2, 3

-- macro counts: counts the groups
SELECT 'deliveries' AS name, status AS label, 0::bigint AS le, sum(count) AS value FROM groups GROUP BY status
UNION ALL SELECT 'deferrals', outcome, 0, sum(count) FROM groups WHERE status = 'deferred' GROUP BY outcome
UNION ALL SELECT p.name, p.label, coalesce((@bounds@)[p.bucket + 1], 0), sum(g.count) FROM @of_phases@
UNION ALL SELECT p.name || '_ms', p.label, 0, sum(p.ms) FROM @of_phases@

-- macro events: counts a table of events
UNION ALL SELECT k.name, k.label, 0, sum(e.count) FROM {} e JOIN (VALUES @kinds@) AS k(event, name, label) ON k.event = e.name
GROUP BY 1, 2

-- counters:
WITH attempts AS (@counted_tries@ WHERE t.started_at >= @counted_until@ AND @is_over@), @groups@
SELECT name, label, le, sum(value)::bigint AS value FROM (@counts@ @events(@schema@.event)@
UNION ALL SELECT *, 0, 0 FROM (VALUES @zeros@) AS z
UNION ALL SELECT *, 0 FROM (VALUES @histograms@) AS h, unnest(@bounds@ || 0::bigint)
UNION ALL SELECT name, label, le, value FROM @schema@.counter_bucket WHERE name <> 'counted_until'
) AS counts GROUP BY name, label, le ORDER BY name, label, le = 0, le

-- lock_counter: its trigger then trusts this transaction to subtract what it deletes
SELECT pg_catalog.set_config('oncedrop.subtracts', 'yes', true) FROM @schema@.counter FOR UPDATE

-- count_rows:
WITH old AS MATERIALIZED (SELECT t.last_message, t.last_copy, coalesce((SELECT id FROM @schema@.copy
WHERE id > t.last_copy AND first_at < pg_catalog.clock_timestamp() - interval '1 hour'
ORDER BY id DESC LIMIT 1), t.last_copy) AS copy FROM @schema@.counter t),
span AS MATERIALIZED (SELECT o.*, greatest(o.last_message, (SELECT max(message) FROM @schema@.copy
WHERE id > o.copy - 1000 AND id <= o.copy)) AS message FROM old o)
UPDATE @schema@.counter t SET last_message = s.message, messages = t.messages + m.messages,
bytes = t.bytes + m.bytes, last_copy = s.copy, copies = t.copies + c.copies FROM span s,
LATERAL (SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM @schema@.message
WHERE id > s.last_message AND id <= s.message) m,
LATERAL (SELECT count(*) AS copies FROM @schema@.copy WHERE id > s.last_copy AND id <= s.copy) c

-- count_tries:
WITH span AS MATERIALIZED (SELECT @counted_until@ AS since,
least(greatest(date_trunc('second', pg_catalog.clock_timestamp() - interval '1 hour'), @counted_until@),
date_trunc('second', pg_catalog.clock_timestamp())) AS until),
attempts AS (@counted_tries@ WHERE t.started_at >= (SELECT since FROM span)
AND t.started_at < (SELECT until FROM span)), @groups@,
old AS (DELETE FROM @schema@.event WHERE at < (SELECT until FROM span) RETURNING name, count),
moved AS (UPDATE @schema@.counter_bucket SET value = (SELECT extract(epoch FROM until) * 1000000 FROM span)
WHERE name = 'counted_until')
INSERT INTO @schema@.counter_bucket AS t (name, label, le, value) SELECT name, label, le, sum(value) FROM (
@counts@ @events(old)@) AS counts GROUP BY name, label, le
ON CONFLICT (name, label, le) DO UPDATE SET value = t.value + EXCLUDED.value
