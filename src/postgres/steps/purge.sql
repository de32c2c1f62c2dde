-- macro expired: messages m to expire. :older_ms: minimum milliseconds since the last attempt;
-- no copy is in its hold-off. :upto: the last message
m.id <= :upto::bigint AND m.id IN (SELECT message FROM @schema@.delivery WHERE finished_at IS NULL
UNION SELECT message FROM @schema@.copy WHERE state IN ('pending', 'appending'))
AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL
AND d.last_at >= @ago(:older_ms)@)
AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND (c.claimed_at >= @ago(:older_ms)@ OR c.state = 'appending' AND @hold_off_ends(c.claimed_at)@ > @now@))

-- macro expired_report: requires `due`, the messages, and `open`, their unfinished deliveries
SELECT coalesce(max(@utc(o.last_at)@), max((SELECT @utc(max(c.claimed_at))@
FROM @schema@.copy c WHERE c.message = m.id))) AS last_at,
string_agg(DISTINCT o.queue_id, ', ') AS queue_id, string_agg(o.recipient, ', ' ORDER BY o.id) AS recipients,
m.message_id, string_agg(DISTINCT o.reason, '; ') AS reason
FROM due m LEFT JOIN open o ON o.message = m.id GROUP BY m.id, m.message_id ORDER BY m.id

-- macro old: messages m that arrived long enough ago, and have nothing unfinished. Checks last_at, too: replayed
-- messages arrived long ago, but may have been recorded today
m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL))
AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending'))

-- macro old_or_expired: what `old` will select once unfinished messages have expired
m.received_at < @ago(:older_ms)@
AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = m.id
AND (d.last_at >= @ago(:older_ms)@ OR d.finished_at IS NULL AND d.last_at >= @ago(:expire_ms)@))
AND NOT EXISTS (SELECT FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending')
AND c.claimed_at >= @ago(:expire_ms)@)

-- read_setting: the hosts' lock method
-- columns: lock_method
SELECT lock_method FROM @schema@.setting

-- find_expired: the next messages to expire, not locked yet
-- params: older_ms hold_off_ms upto after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > :after::bigint AND @expired@
ORDER BY m.id LIMIT :max::bigint

-- find_old: the next messages to delete, not locked yet
-- params: older_ms after max
-- columns: id lock_key
SELECT m.id, m.lock_key FROM @schema@.message m WHERE m.id > :after::bigint AND @old@
ORDER BY m.id LIMIT :max::bigint

-- macro of_address: whether an address is in what is recorded of a message m, or is an account. Not EXISTS: a plan could
-- then read all of a table each time
(:address::text IN (pg_catalog.lower(m.sender), pg_catalog.lower(m."from"))
OR (SELECT true FROM @schema@.address a WHERE a.message = m.id AND pg_catalog.lower(a.address) = :address::text LIMIT 1)
OR (SELECT true FROM @schema@.delivery d WHERE d.message = m.id
AND :address::text IN (pg_catalog.lower(d.recipient), pg_catalog.lower(d.original_recipient), pg_catalog.lower(d.account)) LIMIT 1)
OR (SELECT true FROM @schema@.copy c WHERE c.message = m.id AND pg_catalog.lower(c.account) = :address::text LIMIT 1))

-- macro is_open: whether anything of a message m is unfinished
coalesce((SELECT true FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL LIMIT 1),
(SELECT true FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending') LIMIT 1), false)

-- macro old_at: when a message m will be old, if nothing happens to it until then
greatest(m.received_at, (SELECT max(last_at) FROM @schema@.delivery WHERE message = m.id))
+ :older_ms::bigint * interval '1 millisecond'

-- find_address_messages: which of the next messages have to do with an address, and which of these may be deleted. No index has
-- all columns that are compared; with a limit, a statement takes no longer in a larger ledger
-- params: address older_ms after max
-- columns: id lock_key theirs:bool old:bool open:bool old_at
SELECT m.id, m.lock_key, m.theirs, m.theirs AND NOT @is_open@ AND @old_at@ < @now@, m.theirs AND @is_open@,
CASE WHEN m.theirs THEN @utc(@old_at@)@ END
FROM (SELECT m.id, m.lock_key, m.received_at, @of_address@ AS theirs FROM @schema@.message m
WHERE m.id > :after::bigint ORDER BY m.id LIMIT :max::bigint) m ORDER BY m.id

-- lock_messages: locks the rows of these messages, except those that another session has locked
-- params: ids
-- columns: id
SELECT id FROM @schema@.message WHERE id = ANY (:ids::bigint[]) FOR UPDATE SKIP LOCKED

-- preview_expired: what expire_claims would expire, for people
-- params: older_ms hold_off_ms upto after
-- columns: last_at queue_id recipients message_id reason
WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id > :after::bigint AND @expired@),
open AS (SELECT d.* FROM @schema@.delivery d JOIN due ON due.id = d.message WHERE d.finished_at IS NULL)
@expired_report@

-- expire_claims: expires those of these messages that are still due, and lists them for people
-- params: older_ms hold_off_ms upto ids
-- columns: last_at queue_id recipients message_id reason
WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id = ANY (:ids::bigint[]) AND @expired@),
open AS (UPDATE @schema@.delivery d SET outcome = 'expired', finished_at = @now@
FROM due WHERE due.id = d.message AND d.finished_at IS NULL RETURNING d.*),
copies AS (UPDATE @schema@.copy c SET state = 'expired', doubt = c.doubt OR c.state = 'appending'
FROM due WHERE due.id = c.message AND c.state IN ('pending', 'appending'))
@expired_report@

-- message_is_open: whether anything of a message is unfinished
-- params: message
-- columns: open:bool
SELECT EXISTS (SELECT FROM @schema@.delivery WHERE message = :message::bigint AND finished_at IS NULL)
OR EXISTS (SELECT FROM @schema@.copy WHERE message = :message::bigint AND state IN ('pending', 'appending'))

-- count_old: how many messages would be deleted once unfinished ones have expired
-- params: older_ms expire_ms
-- columns: messages
SELECT count(*) FROM @schema@.message m WHERE @old_or_expired@

-- delete_leases: deletes leases of deliveries that died, if no other delivery of the message has followed
DELETE FROM @schema@.lease WHERE expires_at < @now@ - interval '1 day'

-- delete_old: deletes those of these messages that are still due, and subtracts them from the counters. This statement
-- still sees the copies: their foreign key deletes them at its end
-- params: older_ms ids
-- columns: deleted
WITH gone AS (DELETE FROM @schema@.message m WHERE m.id = ANY (:ids::bigint[]) AND @old@ RETURNING m.id, m.size),
less AS (UPDATE @schema@.counter t SET messages = t.messages - m.messages,
bytes = t.bytes - m.bytes, copies = t.copies - c.copies FROM @schema@.counter k,
LATERAL (SELECT count(*) AS messages, coalesce(sum(g.size), 0) AS bytes FROM gone g WHERE g.id <= k.last_message) m,
LATERAL (SELECT count(*) AS copies FROM gone g JOIN @schema@.copy o ON o.message = g.id WHERE o.id <= k.last_copy) c)
SELECT count(*) FROM gone
