-- macro expired: messages m to expire. :older_ms: minimum milliseconds since the last attempt;
-- no copy is in its hold-off. :upto: the last message
m.id <= :upto AND m.id IN (SELECT message FROM @schema@.delivery WHERE finished_at IS NULL
UNION SELECT message FROM @schema@.copy WHERE state <> 'stored' AND state IN ('pending', 'appending'))
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL
AND d.last_at >= @ago(:older_ms)@)
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND (c.claimed_at >= @ago(:older_ms)@ OR c.state = 'appending' AND @hold_off_ends(c.claimed_at)@ > @now@))

-- macro old: messages m that arrived long enough ago, and have nothing unfinished. Checks last_at, too: replayed
-- messages arrived long ago, but may have been recorded today
m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL))
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))

-- macro open: a column of the unfinished deliveries of a message m, each text once
(SELECT group_concat({}, ', ') FROM (SELECT DISTINCT {} FROM @schema@.delivery
WHERE message = m.id AND finished_at IS NULL ORDER BY {}))

-- macro report: what is reported of the messages m that are due
SELECT m.id, coalesce((SELECT @utc(max(last_at))@ FROM @schema@.delivery WHERE message = m.id AND finished_at IS NULL),
(SELECT @utc(max(claimed_at))@ FROM @schema@.copy WHERE message = m.id)) AS last_at, @open(queue_id)@ AS queue_id,
(SELECT group_concat(recipient, ', ') FROM (SELECT recipient FROM @schema@.delivery
WHERE message = m.id AND finished_at IS NULL ORDER BY id)) AS recipients, m.message_id,
(SELECT group_concat(reason, '; ') FROM (SELECT DISTINCT reason FROM @schema@.delivery
WHERE message = m.id AND finished_at IS NULL ORDER BY reason)) AS reason FROM @schema@.message m

-- read_setting: the hosts' lock method
-- columns: lock_method
SELECT lock_method FROM @schema@.setting

-- find_expired: the next messages to expire, not locked yet
-- params: older_ms hold_off_ms upto after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > :after AND @expired@
ORDER BY m.id LIMIT :max

-- find_old: the next messages to delete, not locked yet
-- params: older_ms after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > :after AND @old@
ORDER BY m.id LIMIT :max

-- macro of_address: whether an address is in what is recorded of a message m, or is an account
(:address IN (lower(m.sender), lower(m."from"))
OR EXISTS (SELECT 1 FROM @schema@.address a WHERE a.message = m.id AND lower(a.address) = :address)
OR EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND :address IN (lower(d.recipient), lower(d.original_recipient), lower(d.account)))
OR EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND lower(c.account) = :address))

-- macro is_open: whether anything of a message m is unfinished
(EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL)
OR EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')))

-- macro old_at: when a message m will be old, if nothing happens to it until then
max(m.received_at, coalesce((SELECT max(last_at) FROM @schema@.delivery WHERE message = m.id), 0)) + :older_ms * 1000

-- find_address_messages: which of the next messages have to do with an address, and which of these may be deleted. No index has
-- all columns that are compared; with a limit, a statement takes no longer in a larger ledger
-- params: address older_ms after max
-- columns: id lock_key theirs:bool old:bool open:bool old_at
SELECT m.id, m.lock_key, m.theirs, m.theirs AND @old@, m.theirs AND @is_open@,
CASE WHEN m.theirs THEN @utc(@old_at@)@ END
FROM (SELECT m.id, m.lock_key, m.received_at, @of_address@ AS theirs FROM @schema@.message m
WHERE m.id > :after ORDER BY m.id LIMIT :max) m ORDER BY m.id

-- lock_messages: which of these messages exist; no other session writes
-- params: ids
-- columns: id
SELECT id FROM @schema@.message WHERE id IN (SELECT value FROM json_each(:ids))

-- preview_expired: what expire_claims would expire, for people
-- params: older_ms hold_off_ms upto after
-- columns: last_at queue_id recipients message_id reason
SELECT last_at, queue_id, recipients, message_id, reason FROM (@report@ WHERE m.id > :after AND @expired@) ORDER BY id

-- expire_claims: expires those of these messages that are still due, and lists them for people
-- params: older_ms hold_off_ms upto ids
-- columns: last_at queue_id recipients message_id reason
CREATE TEMPORARY TABLE IF NOT EXISTS due (id INTEGER PRIMARY KEY, last_at, queue_id, recipients, message_id, reason)
-- then
DELETE FROM temp.due
-- then
INSERT INTO temp.due @report@ WHERE m.id IN (SELECT value FROM json_each(:ids)) AND @expired@
-- then
UPDATE @schema@.delivery SET outcome = 'expired', finished_at = @now@
WHERE finished_at IS NULL AND message IN (SELECT id FROM temp.due)
-- then
UPDATE @schema@.copy SET doubt = doubt OR state = 'appending', state = 'expired'
WHERE state IN ('pending', 'appending') AND message IN (SELECT id FROM temp.due)
-- then
SELECT last_at, queue_id, recipients, message_id, reason FROM temp.due ORDER BY id

-- message_is_open: whether anything of a message is unfinished
-- params: message
-- columns: open:bool
SELECT EXISTS (SELECT 1 FROM @schema@.delivery WHERE message = :message AND finished_at IS NULL)
OR EXISTS (SELECT 1 FROM @schema@.copy WHERE message = :message AND state IN ('pending', 'appending'))

-- count_old: how many messages would be deleted once unfinished ones have expired
-- params: older_ms expire_ms
-- columns: messages
SELECT count(*) FROM @schema@.message m WHERE m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL AND d.last_at >= @ago(:expire_ms)@))
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND c.claimed_at >= @ago(:expire_ms)@)

-- delete_leases: no-op: there are no leases
SELECT 0

-- delete_old: deletes those of these messages that are still due, with their rows in other tables. Triggers subtract
-- them from the counters
-- params: older_ms ids
-- columns: deleted
DELETE FROM @schema@.message AS m WHERE m.id IN (SELECT value FROM json_each(:ids)) AND @old@
-- then
SELECT changes()
