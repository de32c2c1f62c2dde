-- macro first_try: when the delivery of a copy c received the message (Postfix's receipt) or, if that is unknown, the
-- first attempt began
min(c.first_at, coalesce((SELECT min(q.queued_at) FROM @schema@.attempt q
WHERE q.delivery = c.claimed_by AND q.queued_at < c.first_at - 1000000), c.first_at))

-- macro delay: microseconds until it was stored or expired, or until now. Includes Postfix's retries before an attempt
-- got the lock and a database
(CASE WHEN c.state IN ('pending', 'appending') THEN @now@ ELSE coalesce(c.stored_at, c.claimed_at) END - @first_try@)

-- macro before: a copy that began before a moment, as did all earlier copies. No index has these times, but ids are
-- assigned in their order: a binary search finds it. Allows for a clock that was wrong by up to a day
(WITH RECURSIVE half(low, high, moment) AS (SELECT 0, (SELECT max(id) FROM @schema@.copy), {} - 86400000000
UNION ALL SELECT iif(k.first_at < moment, k.id, low), iif(k.first_at < moment, high, (low + high) / 2), moment
FROM half CROSS JOIN @schema@.copy k ON k.id = (SELECT min(id) FROM @schema@.copy WHERE id >= (low + high) / 2)
WHERE high - low > 1) SELECT max(low) FROM half)

-- macro not_after: a copy after which all began later than a moment
(@before({} + 172800000000)@ + 1)

-- macro has_part: compares with a pattern of ledger_show.c. In GLOB only brackets, * and ? are special
GLOB ('*' || replace({}, '\^', '^') || '*')

-- list: reads columns only of copies that are shown. The partial index of copies that are not stored is used only if a
-- condition repeats its words
SELECT @utc(@first_try@)@ AS at, c.state, coalesce(t.queue_id, o.queue_id) AS queue_id, c.account,
printf('%.3f', @delay@ / 1000000.0) AS delay, c.mailbox, m.subject, m."from", m.sender, m.message_id, c.uid,
c.role, (SELECT group_concat(recipient, ', ') FROM (SELECT d.recipient FROM @schema@.delivery d
WHERE d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox ORDER BY d.id)) AS recipients,
c.generation, c.error
FROM (SELECT c.id FROM (
SELECT * FROM @schema@.copy WHERE state = :state AND state <> 'stored' UNION ALL -- if state
SELECT * FROM @schema@.copy WHERE true
AND :state = 'stored' AND state = 'stored' -- if state
) c
CROSS JOIN @schema@.message m ON m.id = c.message -- if sender
WHERE true
AND c.state <> 'stored' AND c.state IN ('pending', 'appending') -- if unfinished
AND c.id > @before(@ago(:since_ms)@)@ AND c.first_at >= @ago(:since_ms)@ -- if since_ms
AND c.id > @before(@seconds_at(:since)@)@ AND c.first_at >= @seconds_at(:since)@ -- if since
AND c.id <= @not_after(@ago(:until_ms)@)@ AND c.first_at < @ago(:until_ms)@ -- if until_ms
AND c.id <= @not_after(@seconds_at(:until)@)@ AND c.first_at < @seconds_at(:until)@ -- if until
AND c.id IN (SELECT id FROM @schema@.copy WHERE account = :recipient UNION SELECT o.id FROM @schema@.delivery d -- if recipient
CROSS JOIN @schema@.copy o ON o.message = d.message AND o.account = d.account AND o.mailbox = d.mailbox -- if recipient
WHERE d.recipient = :recipient) -- if recipient
AND lower(:sender) IN (lower(m.sender), lower(m."from")) -- if sender
AND c.mailbox = :mailbox -- if mailbox
AND (SELECT subject FROM @schema@.message WHERE id = c.message) @has_part(:subject)@ -- if subject
AND (SELECT message_id FROM @schema@.message WHERE id = c.message) @has_part(:message_id)@ -- if message_id
AND c.message IN (SELECT d.message -- if queue_id
FROM @schema@.attempt t CROSS JOIN @schema@.delivery d ON d.id = t.delivery WHERE t.queue_id = :queue_id) -- if queue_id
AND @delay@ >= :delay_ms * 1000 -- if delay_ms
ORDER BY c.id DESC LIMIT :limit) f
CROSS JOIN @schema@.copy c ON c.id = f.id CROSS JOIN @schema@.message m ON m.id = c.message
CROSS JOIN @schema@.delivery o ON o.id = c.claimed_by
LEFT JOIN @schema@.attempt t ON t.delivery = c.claimed_by AND t.claim = c.claim ORDER BY c.id DESC

-- totals:
WITH c AS (SELECT count(*) FILTER (WHERE state = 'pending') AS pending,
count(*) FILTER (WHERE state = 'appending') AS appending, count(*) FILTER (WHERE state = 'failed') AS failed,
count(*) FILTER (WHERE state = 'expired') AS expired, count(*) AS every
FROM @schema@.copy WHERE state <> 'stored')
SELECT t.messages + (SELECT count(*) FROM @schema@.message WHERE id > t.last_message) AS messages,
t.bytes + (SELECT coalesce(sum(size), 0) FROM @schema@.message WHERE id > t.last_message) AS bytes,
t.copies + (SELECT count(*) FROM @schema@.copy WHERE id > t.last_copy) - c.every AS stored,
c.pending, c.appending, c.failed, c.expired,
(SELECT count(*) FROM @schema@.delivery WHERE finished_at IS NULL) AS unfinished,
(SELECT max(coalesce(CAST(round((@now@ - min(first_at)) / 1000000.0) AS INTEGER), 0), 0) FROM @schema@.delivery
WHERE finished_at IS NULL) AS oldest_unfinished,
(SELECT count(*) FROM @schema@.delivery WHERE outcome = 'duplicate') AS duplicates
FROM @schema@.counter t CROSS JOIN c

-- macro percentile: of the seconds in an hour, interpolated between the two nearest
printf('%.3f', max(CASE WHEN place = CAST(1 + {} * (stored - 1) AS INTEGER) THEN seconds END) + ({} * (stored - 1) -
CAST({} * (stored - 1) AS INTEGER)) * (coalesce(max(CASE WHEN place = CAST(1 + {} * (stored - 1) AS INTEGER) + 1
THEN seconds END), 0) - max(CASE WHEN place = CAST(1 + {} * (stored - 1) AS INTEGER) THEN seconds END)))

-- hours:
WITH copies AS (SELECT c.stored_at / 3600000000 AS hour, m.size, c.generation > 1 AS retried,
(c.stored_at - c.first_at) / 1000000.0 AS seconds
FROM @schema@.copy c CROSS JOIN @schema@.message m ON m.id = c.message
WHERE c.state = 'stored' AND c.role = 'inbox' AND c.first_at >= @ago(:hours * 3600000)@
AND c.id > @before(@ago(:hours * 3600000)@)@),
places AS (SELECT *, row_number() OVER (PARTITION BY hour ORDER BY seconds) AS place,
count(*) OVER (PARTITION BY hour) AS stored FROM copies)
SELECT @utc(hour * 3600000000)@ AS hour, stored, sum(size) AS bytes, sum(retried) AS retried,
@percentile(0.5)@ AS p50, @percentile(0.95)@ AS p95, @percentile(0.99)@ AS p99
FROM places GROUP BY hour ORDER BY hour
