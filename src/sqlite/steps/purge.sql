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

-- lock_messages: no other session writes
SELECT id FROM @schema@.message WHERE id IN (SELECT value FROM json_each(:ids))

-- preview_expired:
SELECT last_at, queue_id, recipients, message_id, reason FROM (@report@ WHERE m.id > :after AND @expired@) ORDER BY id

-- expire_messages:
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

-- delete_leases: there are none
SELECT 0

-- delete_old: triggers subtract them from the counters
DELETE FROM @schema@.message AS m WHERE m.id IN (SELECT value FROM json_each(:ids)) AND @old@
-- then
SELECT changes()
