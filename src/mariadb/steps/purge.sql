-- macro expired: messages m to expire. :older_ms: minimum milliseconds since the last attempt;
-- no copy is in its hold-off. :upto: the last message
m.id <= :upto AND (EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.finished_at IS NULL)
OR EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')))
AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.finished_at IS NULL
AND d.last_at >= @ago(:older_ms)@)
AND NOT EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND (c.claimed_at >= @ago(:older_ms)@ OR c.state = 'appending' AND @hold_off_ends(c.claimed_at)@ > @now@))

-- macro unfinished: the messages with anything unfinished, by indexes
(SELECT message AS id FROM delivery WHERE finished_at IS NULL
UNION SELECT message FROM copy WHERE state IN ('pending', 'appending')) u JOIN message m ON m.id = u.id

-- macro old: messages m that arrived long enough ago, and have nothing unfinished. Checks last_at, too: replayed
-- messages arrived long ago, but may have been recorded today
m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL))
AND NOT EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))

-- macro report: what is reported of messages m; a condition for their deliveries o follows
SELECT coalesce(max(@utc(o.last_at)@), max((SELECT @utc(max(c.claimed_at))@ FROM copy c WHERE c.message = m.id))) AS last_at,
group_concat(DISTINCT o.queue_id ORDER BY o.queue_id SEPARATOR ', ') AS queue_id,
group_concat(o.recipient ORDER BY o.id SEPARATOR ', ') AS recipients, m.message_id,
group_concat(DISTINCT o.reason ORDER BY o.reason SEPARATOR '; ') AS reason
FROM message m LEFT JOIN delivery o ON o.message = m.id AND

-- read_setting: the hosts' lock method
-- columns: lock_method
SELECT lock_method FROM setting

-- find_expired: the next messages to expire, not locked yet
-- params: older_ms hold_off_ms upto after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @unfinished@ WHERE m.id > :after AND @expired@
ORDER BY m.id LIMIT :max

-- find_old: the next messages to delete, not locked yet
-- params: older_ms after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM message m WHERE m.id > :after AND @old@
ORDER BY m.id LIMIT :max

-- macro of_address: whether an address is in what is recorded of a message m, or is an account
(:address IN (lower(m.sender), lower(m."from"))
OR EXISTS (SELECT 1 FROM address a WHERE a.message = m.id AND lower(a.address) = :address)
OR EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id
AND :address IN (lower(d.recipient), lower(d.original_recipient),
lower(CONVERT(d.account USING utf8mb4)) COLLATE utf8mb4_nopad_bin))
OR EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id
AND lower(CONVERT(c.account USING utf8mb4)) COLLATE utf8mb4_nopad_bin = :address))

-- macro is_open: whether anything of a message m is unfinished
(EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id AND d.finished_at IS NULL)
OR EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')))

-- macro old_at: when a message m will be old, if nothing happens to it until then
greatest(m.received_at, coalesce((SELECT max(last_at) FROM delivery WHERE message = m.id), m.received_at))
+ INTERVAL :older_ms * 1000 MICROSECOND

-- find_address_messages: which of the next messages have to do with an address, and which of these may be deleted. No index has
-- all columns that are compared; with a limit, a statement takes no longer in a larger ledger
-- params: address older_ms after max
-- columns: id lock_key theirs:bool old:bool open:bool old_at
SELECT m.id, m.lock_key, m.theirs, m.theirs AND @old@, m.theirs AND @is_open@,
CASE WHEN m.theirs THEN @utc(@old_at@)@ END
FROM (SELECT m.id, m.lock_key, m.received_at, @of_address@ AS theirs FROM message m
WHERE m.id > :after ORDER BY m.id LIMIT :max) m ORDER BY m.id

-- lock_messages: locks the rows of these messages, except those that another session has locked
-- params: ids
-- columns: id
SELECT id FROM message WHERE id IN (:ids) FOR UPDATE SKIP LOCKED

-- preview_expired: what expire_claims would expire, for people
-- params: older_ms hold_off_ms upto after
-- columns: last_at queue_id recipients message_id reason
@report@ o.finished_at IS NULL WHERE m.id IN (SELECT id FROM (SELECT m.id FROM @unfinished@
WHERE m.id > :after AND @expired@) due) GROUP BY m.id, m.message_id ORDER BY m.id

-- expire_claims: expires those of these messages that are still due, and lists them for people. The moment of expiry
-- identifies their deliveries
-- params: older_ms hold_off_ms upto ids
-- columns: last_at queue_id recipients message_id reason
SET @due = (SELECT group_concat(m.id) FROM message m WHERE m.id IN (:ids) AND @expired@), @expired_at = @now@
-- then
UPDATE delivery SET outcome = 'expired', finished_at = @expired_at
WHERE message IN (:ids) AND find_in_set(message, @due) AND finished_at IS NULL
-- then
UPDATE copy SET doubt = doubt OR state = 'appending', state = 'expired'
WHERE message IN (:ids) AND find_in_set(message, @due) AND state IN ('pending', 'appending')
-- then
@report@ o.outcome = 'expired' AND o.finished_at = @expired_at
WHERE m.id IN (:ids) AND find_in_set(m.id, @due) GROUP BY m.id, m.message_id ORDER BY m.id

-- message_is_open: whether anything of a message is unfinished
-- params: message
-- columns: open:bool
SELECT EXISTS (SELECT 1 FROM delivery WHERE message = :message AND finished_at IS NULL)
OR EXISTS (SELECT 1 FROM copy WHERE message = :message AND state IN ('pending', 'appending'))

-- count_old: how many messages would be deleted once unfinished ones have expired
-- params: older_ms expire_ms
-- columns: messages
SELECT count(*) FROM message m WHERE m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL AND d.last_at >= @ago(:expire_ms)@))
AND NOT EXISTS (SELECT 1 FROM copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND c.claimed_at >= @ago(:expire_ms)@)

-- delete_leases: deletes leases of deliveries that died, if no other delivery of the message has followed
DELETE FROM lease WHERE expires_at < @now@ - INTERVAL 1 DAY

-- delete_old: deletes those of these messages that are still due, and subtracts them from the counters. Foreign keys
-- delete their rows in other tables; @subtracts keeps the schema's trigger from subtracting them again
-- params: older_ms ids
-- columns: deleted
SET @gone = (SELECT group_concat(m.id) FROM message m WHERE m.id IN (:ids) AND @old@), @subtracts = TRUE
-- then
UPDATE counter t SET t.messages = t.messages
- (SELECT count(*) FROM message WHERE id IN (:ids) AND find_in_set(id, @gone) AND id <= t.last_message),
t.bytes = t.bytes
- (SELECT coalesce(sum(size), 0) FROM message WHERE id IN (:ids) AND find_in_set(id, @gone) AND id <= t.last_message),
t.copies = t.copies
- (SELECT count(*) FROM copy WHERE message IN (:ids) AND find_in_set(message, @gone) AND id <= t.last_copy)
-- then
DELETE FROM message WHERE id IN (:ids) AND find_in_set(id, @gone)
-- then
SET @deleted = ROW_COUNT(), @subtracts = NULL
-- then
SELECT @deleted
