-- macro delay: from Postfix's receipt or, if that is unknown, the first attempt, until it was stored or expired, or
-- until now. Includes Postfix's retries before an attempt got the lock and a database
(CASE WHEN c.state IN ('pending', 'appending') THEN @now@ ELSE coalesce(c.stored_at, c.claimed_at) END - r.at)

-- list:
SELECT @utc(r.at)@ AS at, c.state, coalesce(t.queue_id, o.queue_id) AS queue_id, c.account,
round(extract(epoch FROM @delay@)::numeric, 3) AS delay, c.mailbox, m.subject, m."from", m.sender, m.message_id, c.uid,
c.role, (SELECT string_agg(d.recipient, ', ' ORDER BY d.id) FROM @schema@.delivery d
WHERE d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox) AS recipients, c.generation, c.error
FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
JOIN @schema@.delivery o ON o.id = c.claimed_by
LEFT JOIN @schema@.attempt t ON t.delivery = c.claimed_by AND t.claim = c.claim
CROSS JOIN LATERAL (SELECT least(c.first_at, min(q.queued_at)) AS at FROM @schema@.attempt q
WHERE q.delivery = c.claimed_by AND q.queued_at < c.first_at - interval '1 second') r WHERE true
AND c.state = :state -- if state
AND c.state IN ('pending', 'appending') -- if unfinished
AND c.first_at >= @ago(:since_ms)@ -- if since_ms
AND c.first_at >= @seconds_at(:since)@ -- if since
AND c.first_at < @ago(:until_ms)@ -- if until_ms
AND c.first_at < @seconds_at(:until)@ -- if until
AND c.id IN (SELECT id FROM @schema@.copy WHERE account = :recipient UNION SELECT o.id FROM @schema@.delivery d -- if recipient
JOIN @schema@.copy o ON o.message = d.message AND o.account = d.account AND o.mailbox = d.mailbox -- if recipient
WHERE d.recipient = :recipient) -- if recipient
AND pg_catalog.lower(:sender) IN (pg_catalog.lower(m.sender), pg_catalog.lower(m."from")) -- if sender
AND c.mailbox = :mailbox::text -- if mailbox
AND m.subject ~ :subject::text -- if subject
AND m.message_id ~ :message_id::text -- if message_id
AND c.message IN (SELECT d.message FROM @schema@.attempt t JOIN @schema@.delivery d ON d.id = t.delivery -- if queue_id
WHERE t.queue_id = :queue_id) -- if queue_id
AND @delay@ >= :delay_ms::bigint * interval '1 millisecond' -- if delay_ms
ORDER BY c.id DESC LIMIT :limit::bigint

-- totals:
WITH c AS (SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
count(*) FILTER (WHERE state = 'appending') AS appending, count(*) FILTER (WHERE state = 'failed') AS failed,
count(*) FILTER (WHERE state = 'expired') AS expired, count(*) AS all
FROM @schema@.copy WHERE state <> 'stored')
SELECT t.messages + m.messages AS messages, t.bytes + m.bytes AS bytes, t.copies + n.copies - c.all AS stored,
c.pending, c.appending, c.failed, c.expired, d.unfinished, d.oldest_unfinished, r.duplicates FROM
@schema@.counter t, c,
LATERAL (SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM @schema@.message
WHERE id > t.last_message) m,
LATERAL (SELECT count(*) AS copies FROM @schema@.copy WHERE id > t.last_copy) n,
(SELECT count(*) AS unfinished, greatest(round(extract(epoch FROM clock_timestamp() - min(first_at))::numeric), 0)
AS oldest_unfinished FROM @schema@.delivery WHERE finished_at IS NULL) d,
(SELECT count(*) AS duplicates FROM @schema@.delivery WHERE outcome = 'duplicate') r

-- hours:
SELECT @utc(hour)@ AS hour, stored, bytes, retried, round(p[1]::numeric, 3) AS p50,
round(p[2]::numeric, 3) AS p95, round(p[3]::numeric, 3) AS p99 FROM (
SELECT date_trunc('hour', c.stored_at, 'UTC') AS hour, count(*) AS stored, sum(m.size) AS bytes,
count(*) FILTER (WHERE c.generation > 1) AS retried, percentile_cont(ARRAY[0.5, 0.95, 0.99]) WITHIN GROUP
(ORDER BY extract(epoch FROM c.stored_at - c.first_at)) AS p
FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
WHERE c.state = 'stored' AND c.role = 'inbox' AND c.first_at >= now() - :hours::bigint * interval '1 hour'
GROUP BY 1) AS hours ORDER BY hour
