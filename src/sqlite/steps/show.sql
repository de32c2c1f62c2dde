-- macro seconds: milliseconds as seconds, with three decimals
printf('%.3f', ({}) / 1000.0)

-- find_messages: messages by identity, digest, or a queue id of any attempt; each may be NULL. A digest requires
-- reading all of an index, in which it follows the identity
-- params: identity digest queue_id
-- columns: id message_id digest lock_key sender from subject date size in_reply_to references:json received_at
SELECT id, message_id, lower(hex(digest)) AS digest, lock_key, sender, "from", subject,
@utc(date)@ AS date, size, in_reply_to, "references",
@utc(received_at)@ AS received_at FROM @schema@.message WHERE id IN (
SELECT id FROM @schema@.message WHERE identity = :identity UNION
SELECT id FROM @schema@.message WHERE digest = :digest UNION -- if digest
SELECT d.message FROM @schema@.attempt t CROSS JOIN @schema@.delivery d ON d.id = t.delivery
WHERE t.queue_id = :queue_id) ORDER BY id

-- find_digest: a row if a message with this digest is recorded
-- params: digest
-- columns: id
SELECT id FROM @schema@.message WHERE digest = :digest LIMIT 1

-- near: the newest messages, few enough to compare one by one. No index has their ids: they are found by their hash
-- params: message_id
-- columns: message_id
SELECT DISTINCT message_id FROM (SELECT message_id FROM @schema@.message ORDER BY id DESC LIMIT 2000)
WHERE message_id IS NOT NULL AND :message_id IS NOT NULL

-- oldest: when the oldest message was received
-- columns: received_at
SELECT @utc(min(received_at))@ AS received_at FROM @schema@.message HAVING count(*) > 0

-- show_addresses: a message's addresses
-- params: message
-- columns: role position group name address
SELECT role, position, "group", name, address FROM @schema@.address WHERE message = :message
ORDER BY instr('from, sender, reply-to, to, cc, bcc', role || ','), position

-- show_deliveries: a message's deliveries
-- params: message
-- columns: recipient original_recipient account mailbox outcome reason attempts queue_id host first_at last_at finished_at complete:bool
SELECT recipient, original_recipient, account, mailbox, outcome, reason, attempts, queue_id, host,
@utc(first_at)@ AS first_at, @utc(last_at)@ AS last_at, @utc(finished_at)@ AS finished_at, complete
FROM @schema@.delivery WHERE message = :message ORDER BY id

-- show_attempts: a message's attempts
-- params: message
-- columns: at outcome recipient queue_id reason queued read:number lock:number database:number imap:number host pid ended_at
SELECT @utc(t.started_at)@ AS at, t.outcome, d.recipient, t.queue_id, t.reason,
CAST(round((t.started_at - t.queued_at) / 1000000.0) AS INTEGER) AS queued,
@seconds(t.read_ms)@ AS read, @seconds(t.lock_ms)@ AS lock, @seconds(t.database_ms)@ AS database,
@seconds(t.imap_ms)@ AS imap, t.host, t.pid, @utc(t.ended_at)@ AS ended_at
FROM @schema@.delivery d CROSS JOIN @schema@.attempt t ON t.delivery = d.id
WHERE d.message = :message ORDER BY t.started_at, d.id, t.claim

-- show_spans: a message's attempts with record.trace
-- params: message
-- columns: trace_id span_id start_time_unix_nano end_time_unix_nano message_id queue_id host pid recipient outcome reason
-- columns: account mailbox uidvalidity uid read_ms lock_ms database_ms imap_ms
SELECT lower(hex(t.trace_id)) AS trace_id, lower(hex(t.span_id)) AS span_id,
t.started_at * 1000 AS start_time_unix_nano, t.ended_at * 1000 AS end_time_unix_nano,
m.message_id, t.queue_id, t.host, t.pid, d.recipient, t.outcome, t.reason, d.account, d.mailbox,
c.uidvalidity, c.uid, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms
FROM @schema@.message m CROSS JOIN @schema@.delivery d ON d.message = m.id CROSS JOIN @schema@.attempt t ON t.delivery = d.id
LEFT JOIN @schema@.copy c ON c.message = d.message
AND c.account = d.account AND c.mailbox = d.mailbox AND t.outcome IN (@good_outcomes@)
WHERE m.id = :message AND t.span_id IS NOT NULL ORDER BY t.started_at, d.id, t.claim

-- show_copies: a message's copies
-- params: message
-- columns: account mailbox role state doubt:bool uid uidvalidity generation repeated first_at claimed_at stored_at host pid
-- columns: claimed_by error
SELECT c.account, c.mailbox, c.role, c.state, c.doubt, c.uid, c.uidvalidity, c.generation, c.repeated,
@utc(c.first_at)@ AS first_at, @utc(c.claimed_at)@ AS claimed_at,
@utc(c.stored_at)@ AS stored_at, c.host, c.pid, d.recipient AS claimed_by, c.error
FROM @schema@.copy c CROSS JOIN @schema@.delivery d ON d.id = c.claimed_by
WHERE c.message = :message ORDER BY c.id

-- macro path_key: a part's path, with each number in five digits, so that it sorts by number
(WITH RECURSIVE numbers(key, rest) AS (SELECT '', path || '.' UNION ALL
SELECT key || substr('0000' || substr(rest, 1, instr(rest, '.') - 1), -5), substr(rest, instr(rest, '.') + 1)
FROM numbers WHERE rest <> '') SELECT key FROM numbers WHERE rest = '')

-- show_parts: a message's parts
-- params: message
-- columns: path type charset disposition filename size sha256
SELECT path, type, charset, disposition, filename, size, lower(hex(sha256)) AS sha256
FROM @schema@.part WHERE message = :message ORDER BY @path_key@

-- export_message: what is known of the message itself
-- params: message
-- columns: id message_id identity digest sender from subject date size in_reply_to references:json received_at
SELECT id, message_id, lower(hex(identity)) AS identity, lower(hex(digest)) AS digest, sender, "from", subject,
@utc(date)@ AS date, size, in_reply_to, "references",
@utc(received_at)@ AS received_at FROM @schema@.message WHERE id = :message

-- export_parts: like show_parts, with their text
-- params: message
-- columns: path type charset disposition filename size sha256 text
SELECT path, type, charset, disposition, filename, size, lower(hex(sha256)) AS sha256, text
FROM @schema@.part WHERE message = :message ORDER BY @path_key@

-- export_raw: whether its bytes are recorded
-- params: message
-- columns: there:bool
SELECT EXISTS (SELECT 1 FROM @schema@.raw WHERE message = :message)
