-- macro first_try: when the delivery of a copy c received the message (Postfix's receipt) or, if that is unknown, the
-- first attempt began
least(c.first_at, coalesce((SELECT min(q.queued_at) FROM attempt q
WHERE q.delivery = c.claimed_by AND q.queued_at < c.first_at - INTERVAL 1 SECOND), c.first_at))

-- macro end: when it was stored or expired, or now
CASE WHEN c.state IN ('pending', 'appending') THEN @now@ ELSE coalesce(c.stored_at, c.claimed_at) END

-- macro delay: in microseconds. Includes Postfix's retries before an attempt got the lock and a database
TIMESTAMPDIFF(MICROSECOND, @first_try@, @end@)

-- macro delayed: whether the delay was at least this long; reads Postfix's receipt only if needed
(TIMESTAMPDIFF(MICROSECOND, c.first_at, @end@) >= {} OR EXISTS (SELECT 1 FROM attempt q
WHERE q.delivery = c.claimed_by AND q.queued_at < c.first_at - INTERVAL 1 SECOND
AND TIMESTAMPDIFF(MICROSECOND, q.queued_at, @end@) >= {}))

-- macro find_before: sets @before_X to a copy that began before the moment in @X, as did all earlier copies; 0: there is
-- none. No index has these times, but ids are assigned in their order: a binary search finds it. Allows for a clock
-- that was wrong by up to a day
BEGIN NOT ATOMIC
DECLARE low, middle BIGINT DEFAULT 0;
DECLARE high BIGINT DEFAULT (SELECT coalesce(max(id), 0) FROM copy);
DECLARE at DATETIME(6);
WHILE high - low > 1 DO
SET middle = (low + high) DIV 2;
SELECT id, first_at INTO middle, at FROM copy WHERE id >= middle ORDER BY id LIMIT 1;
IF at < CAST(@{} AS DATETIME(6)) - INTERVAL 1 DAY THEN SET low = middle;
ELSE SET high = (low + high) DIV 2; END IF;
END WHILE;
SET @before_{} = low;
END

-- list: reads columns only of copies that are shown
SET @since = coalesce(@ago(:since_ms)@, @seconds_at(:since)@), @until = coalesce(@ago(:until_ms)@, @seconds_at(:until)@)
-- then
SET @until_later = @until + INTERVAL 2 DAY
-- then
@find_before(since)@
-- then
@find_before(until_later)@
-- then
SELECT @utc(@first_try@)@ AS at, c.state, coalesce(t.queue_id, o.queue_id) AS queue_id, c.account,
round(@delay@ / 1000000, 3) AS delay, c.mailbox, m.subject, m."from", m.sender, m.message_id, c.uid,
c.role, (SELECT group_concat(d.recipient ORDER BY d.id SEPARATOR ', ') FROM delivery d
WHERE d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox) AS recipients, c.generation, c.error
FROM (SELECT c.id FROM copy c
JOIN message m ON m.id = c.message -- if sender
JOIN (SELECT id FROM copy WHERE account = :recipient UNION SELECT k.id FROM delivery d -- if recipient
JOIN copy k ON k.message = d.message AND k.account = d.account AND k.mailbox = d.mailbox -- if recipient
WHERE d.recipient = :recipient) r ON r.id = c.id -- if recipient
JOIN (SELECT DISTINCT d.message FROM attempt t JOIN delivery d ON d.id = t.delivery -- if queue_id
WHERE t.queue_id = :queue_id) q ON q.message = c.message -- if queue_id
WHERE TRUE
AND c.state = :state -- if state
AND c.state IN ('pending', 'appending') -- if unfinished
AND c.id > @before_since AND c.first_at >= CAST(@since AS DATETIME(6)) -- if since_ms
AND c.id > @before_since AND c.first_at >= CAST(@since AS DATETIME(6)) -- if since
AND c.id <= @before_until_later + 1 AND c.first_at < CAST(@until AS DATETIME(6)) -- if until_ms
AND c.id <= @before_until_later + 1 AND c.first_at < CAST(@until AS DATETIME(6)) -- if until
AND lower(:sender) IN (lower(m.sender), lower(m."from")) -- if sender
AND c.mailbox = :mailbox -- if mailbox
AND (SELECT subject FROM message WHERE id = c.message) REGEXP :subject -- if subject
AND (SELECT message_id FROM message WHERE id = c.message) REGEXP :message_id -- if message_id
AND @delayed(:delay_ms * 1000)@ -- if delay_ms
ORDER BY c.id DESC LIMIT :limit) f
JOIN copy c ON c.id = f.id JOIN message m ON m.id = c.message JOIN delivery o ON o.id = c.claimed_by
LEFT JOIN attempt t ON t.delivery = c.claimed_by AND t.claim = c.claim ORDER BY c.id DESC

-- totals: the server reads a row by its complete key first, and then only the rows after it
SELECT t.messages + (SELECT count(*) FROM message WHERE id > t.last_message) AS messages,
t.bytes + (SELECT coalesce(sum(size), 0) FROM message WHERE id > t.last_message) AS bytes,
t.copies + (SELECT count(*) FROM copy WHERE id > t.last_copy) - c."every" AS stored,
c.pending, c.appending, c.failed, c.expired,
(SELECT count(*) FROM delivery WHERE finished_at IS NULL) AS unfinished,
(SELECT greatest(coalesce(round(@age_us(min(first_at))@ / 1000000), 0), 0) FROM delivery
WHERE finished_at IS NULL) AS oldest_unfinished,
(SELECT count(*) FROM delivery WHERE duplicate = TRUE) AS duplicates
FROM counter t CROSS JOIN (SELECT coalesce(sum(state = 'pending'), 0) AS pending,
coalesce(sum(state = 'appending'), 0) AS appending, coalesce(sum(state = 'failed'), 0) AS failed,
coalesce(sum(state = 'expired'), 0) AS expired, count(*) AS "every"
FROM copy WHERE state IN ('pending', 'appending', 'failed', 'expired')) c WHERE t.one = 1

-- macro utc_of_hour: the beginning of an hour, which is a number
@utc(TIMESTAMPADD(HOUR, hour, '1970-01-01'))@

-- macro percentile: of the seconds in an hour
round(max({}), 3)

-- hours:
SET @since = @ago(:hours * 3600000)@
-- then
@find_before(since)@
-- then
WITH copies AS (SELECT @us(c.stored_at)@ DIV 3600000000 AS hour, m.size, c.generation > 1 AS retried,
TIMESTAMPDIFF(MICROSECOND, c.first_at, c.stored_at) / 1000000.0 AS seconds
FROM copy c JOIN message m ON m.id = c.message
WHERE c.state = 'stored' AND c.role = 'inbox' AND c.id > @before_since AND c.first_at >= CAST(@since AS DATETIME(6))),
ranked AS (SELECT hour, size, retried, percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) OVER (PARTITION BY hour) AS p50,
percentile_cont(0.95) WITHIN GROUP (ORDER BY seconds) OVER (PARTITION BY hour) AS p95,
percentile_cont(0.99) WITHIN GROUP (ORDER BY seconds) OVER (PARTITION BY hour) AS p99 FROM copies)
SELECT @utc_of_hour@ AS hour, count(*) AS stored, sum(size) AS bytes, sum(retried) AS retried,
@percentile(p50)@ AS p50, @percentile(p95)@ AS p95, @percentile(p99)@ AS p99
FROM ranked GROUP BY ranked.hour ORDER BY ranked.hour
