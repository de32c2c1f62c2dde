-- macro may_be_open: the union would be made for each message
@is_open@

-- macro messages: those with anything unfinished, by indexes
(SELECT message AS id FROM delivery WHERE finished_at IS NULL
UNION SELECT message FROM copy WHERE state IN ('pending', 'appending')) u JOIN message m ON m.id = u.id

-- macro report: what is reported of messages m; a condition for their deliveries o follows
SELECT coalesce(max(@utc(o.last_at)@), max((SELECT @utc(max(c.claimed_at))@ FROM copy c WHERE c.message = m.id))) AS last_at,
group_concat(DISTINCT o.queue_id ORDER BY o.queue_id SEPARATOR ', ') AS queue_id,
group_concat(o.recipient ORDER BY o.id SEPARATOR ', ') AS recipients, m.message_id,
group_concat(DISTINCT o.reason ORDER BY o.reason SEPARATOR '; ') AS reason
FROM message m LEFT JOIN delivery o ON o.message = m.id AND

-- preview_expired:
@report@ o.finished_at IS NULL WHERE m.id IN (SELECT id FROM (SELECT m.id FROM @messages@
WHERE m.id > :after AND @expired@) due) GROUP BY m.id, m.message_id ORDER BY m.id

-- expire_messages: the moment of expiry identifies their deliveries
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

-- delete_old: foreign keys delete the rows in other tables; @subtracts keeps the schema's trigger from subtracting them
-- again
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
