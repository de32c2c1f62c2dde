-- macro may_be_open: messages m that have anything unfinished, by indexes
m.id IN (SELECT message FROM @schema@.delivery WHERE finished_at IS NULL
UNION SELECT message FROM @schema@.copy WHERE @not_stored@ state IN ('pending', 'appending'))

-- macro expired: messages m to expire. :older_ms: minimum milliseconds since the last attempt;
-- no copy is in its hold-off. :upto: the last message
m.id <= :upto::bigint AND @may_be_open@
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL
AND d.last_at >= @ago(:older_ms)@)
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND (c.claimed_at >= @ago(:older_ms)@ OR c.state = 'appending' AND @hold_off_ends(c.claimed_at)@ > @now@))

-- macro waits: whether a message m waits in a feed
m.id IN (SELECT f.message FROM @schema@.feed f)

-- macro old: messages m that arrived long enough ago, have nothing unfinished, and wait in no feed. Checks last_at, too: replayed
-- messages arrived long ago, but may have been recorded today
m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL))
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))
AND NOT @waits@

-- read_setting: the hosts' lock method
-- columns: lock_method
SELECT lock_method FROM @schema@.setting

-- macro messages: where find_expired looks for messages m
@schema@.message m

-- find_expired: the next messages to expire, not locked yet
-- params: older_ms hold_off_ms upto after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @messages@ WHERE m.id > :after::bigint AND @expired@
ORDER BY m.id LIMIT :max::bigint

-- find_old: the next messages to delete, not locked yet
-- params: older_ms after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > :after::bigint AND @old@
ORDER BY m.id LIMIT :max::bigint

-- macro of_address: whether an address is in what is recorded of a message m, or is an account
(:address IN (lower(m.sender), lower(m."from"))
OR EXISTS (SELECT 1 FROM @schema@.address a WHERE a.message = m.id AND lower(a.address) = :address)
OR EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND :address IN (lower(d.recipient), lower(d.original_recipient), @lower_account(d.account)@))
OR EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND @lower_account(c.account)@ = :address))

-- macro is_open: whether anything of a message m is unfinished
(EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL)
OR EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')))

-- macro old_at: when a message m will be old, if nothing happens to it until then
(@greatest@(m.received_at, coalesce((SELECT max(last_at) FROM @schema@.delivery WHERE message = m.id), m.received_at))
+ @ms(:older_ms)@)

-- find_address_messages: which of the next messages have to do with an address, and which of these may be deleted. No index has
-- all columns that are compared; with a limit, a statement takes no longer in a larger ledger
-- params: address older_ms after max
-- columns: id lock_key theirs:bool old:bool open:bool old_at
SELECT m.id, m.lock_key, m.theirs, m.theirs AND NOT @is_open@ AND NOT @waits@ AND @old_at@ < @now@,
m.theirs AND (@is_open@ OR @waits@),
CASE WHEN m.theirs THEN @utc(@old_at@)@ END
FROM (SELECT m.id, m.lock_key, m.received_at, @of_address@ AS theirs FROM @schema@.message m
WHERE m.id > :after::bigint ORDER BY m.id LIMIT :max::bigint) m ORDER BY m.id

-- lock_messages: which of these messages exist. Locks their rows, except those that another session has locked
-- params: ids
-- columns: id
SELECT id FROM @schema@.message WHERE id @in(:ids::bigint)@ FOR UPDATE SKIP LOCKED

-- preview_expired: what expire_messages would expire, for people
-- params: older_ms hold_off_ms upto after
-- columns: last_at queue_id recipients message_id reason

-- expire_messages: expires those of these messages that are still due, and lists them for people
-- params: older_ms hold_off_ms upto ids
-- columns: last_at queue_id recipients message_id reason

-- message_is_open: whether anything of a message is unfinished
-- params: message
-- columns: open:bool
SELECT EXISTS (SELECT 1 FROM @schema@.delivery WHERE message = :message::bigint AND finished_at IS NULL)
OR EXISTS (SELECT 1 FROM @schema@.copy WHERE message = :message::bigint AND state IN ('pending', 'appending'))

-- count_old: how many messages would be deleted once unfinished ones have expired
-- params: older_ms expire_ms
-- columns: messages
SELECT count(*) FROM @schema@.message m WHERE m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT 1 FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL AND d.last_at >= @ago(:expire_ms)@))
AND NOT EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND c.claimed_at >= @ago(:expire_ms)@)
AND NOT @waits@

-- delete_leases: deletes leases of deliveries that died, if no other delivery of the message has followed
DELETE FROM @schema@.lease WHERE expires_at < @ago(86400000)@

-- delete_old: deletes those of these messages that are still due, with their rows in other tables, and subtracts them
-- from the counters
-- params: older_ms ids
-- columns: deleted
