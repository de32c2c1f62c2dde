-- find_messages: messages by identity, digest, or a queue id of any attempt; each may be NULL
-- params: identity digest queue_id
-- columns: id message_id digest lock_key sender from subject date size in_reply_to references:json received_at
SELECT id, message_id, encode(digest, 'hex') AS digest, lock_key, sender, "from", subject,
@utc(date)@ AS date, size, in_reply_to, to_jsonb("references") AS "references",
@utc(received_at)@ AS received_at FROM @schema@.message WHERE id IN (
SELECT id FROM @schema@.message WHERE identity = :identity::bytea UNION
SELECT id FROM @schema@.message WHERE digest = :digest::bytea UNION
SELECT d.message FROM @schema@.attempt t JOIN @schema@.delivery d ON d.id = t.delivery
WHERE t.queue_id = :queue_id::text) ORDER BY id

-- find_digest: a row if a message with this digest is recorded
-- params: digest
-- columns: id
SELECT id FROM @schema@.message WHERE digest = :digest::bytea LIMIT 1

-- near: ids with the longest common beginning are neighbours in sort order. With the newest, these are few enough to
-- compare one by one, however large the ledger is
-- params: message_id
-- columns: message_id
(SELECT message_id FROM @schema@.message WHERE "left"(message_id, 200) COLLATE "C" >= "left"(:message_id, 200)
ORDER BY "left"(message_id, 200) COLLATE "C" LIMIT 20) UNION
(SELECT message_id FROM @schema@.message WHERE "left"(message_id, 200) COLLATE "C" < "left"(:message_id, 200)
ORDER BY "left"(message_id, 200) COLLATE "C" DESC LIMIT 20) UNION
(SELECT message_id FROM (SELECT message_id FROM @schema@.message ORDER BY id DESC LIMIT 2000) AS newest
WHERE message_id IS NOT NULL)

-- oldest: when the oldest message was received
-- columns: received_at
SELECT @utc(received_at)@ AS received_at FROM @schema@.message
ORDER BY message.received_at LIMIT 1

-- show_addresses: a message's addresses
-- params: message
-- columns: role position group name address
SELECT role, position, "group", name, address FROM @schema@.address WHERE message = :message::bigint
ORDER BY array_position(ARRAY['from', 'sender', 'reply-to', 'to', 'cc', 'bcc'], role), position

-- show_deliveries: a message's deliveries
-- params: message
-- columns: recipient original_recipient account mailbox outcome reason attempts queue_id host first_at last_at finished_at complete:bool
SELECT recipient, original_recipient, account, mailbox, outcome, reason, attempts, queue_id, host,
@utc(first_at)@ AS first_at, @utc(last_at)@ AS last_at,
@utc(finished_at)@ AS finished_at, complete
FROM @schema@.delivery WHERE message = :message::bigint ORDER BY id

-- show_attempts: a message's attempts
-- params: message
-- columns: at outcome recipient queue_id reason queued read:number lock:number database:number imap:number host pid ended_at
SELECT @utc(t.started_at)@ AS at, t.outcome, d.recipient, t.queue_id, t.reason,
round(extract(epoch FROM t.started_at - t.queued_at)::numeric) AS queued,
round(t.read_ms / 1000.0, 3) AS read, round(t.lock_ms / 1000.0, 3) AS lock,
round(t.database_ms / 1000.0, 3) AS database, round(t.imap_ms / 1000.0, 3) AS imap,
t.host, t.pid, @utc(t.ended_at)@ AS ended_at
FROM @schema@.attempt t JOIN @schema@.delivery d ON d.id = t.delivery
WHERE d.message = :message::bigint ORDER BY t.started_at, d.id, t.claim

-- show_spans: a message's attempts with record.trace
-- params: message
-- columns: trace_id span_id start_time_unix_nano end_time_unix_nano message_id queue_id host pid recipient outcome reason
-- columns: account mailbox uidvalidity uid read_ms lock_ms database_ms imap_ms
SELECT encode(t.trace_id, 'hex') AS trace_id, encode(t.span_id, 'hex') AS span_id,
(extract(epoch FROM t.started_at) * 1000000000)::bigint AS start_time_unix_nano,
(extract(epoch FROM t.ended_at) * 1000000000)::bigint AS end_time_unix_nano,
m.message_id, t.queue_id, t.host, t.pid, d.recipient, t.outcome, t.reason, d.account, d.mailbox,
c.uidvalidity, c.uid, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms
FROM @schema@.attempt t JOIN @schema@.delivery d ON d.id = t.delivery
JOIN @schema@.message m ON m.id = d.message LEFT JOIN @schema@.copy c ON c.message = d.message
AND c.account = d.account AND c.mailbox = d.mailbox AND t.outcome IN (@good_outcomes@)
WHERE d.message = :message::bigint AND t.span_id IS NOT NULL ORDER BY t.started_at, d.id, t.claim

-- show_copies: a message's copies
-- params: message
-- columns: account mailbox role state doubt:bool uid uidvalidity generation repeated first_at claimed_at stored_at host pid
-- columns: claimed_by error
SELECT c.account, c.mailbox, c.role, c.state, c.doubt, c.uid, c.uidvalidity, c.generation, c.repeated,
@utc(c.first_at)@ AS first_at, @utc(c.claimed_at)@ AS claimed_at,
@utc(c.stored_at)@ AS stored_at, c.host, c.pid, d.recipient AS claimed_by, c.error
FROM @schema@.copy c JOIN @schema@.delivery d ON d.id = c.claimed_by
WHERE c.message = :message::bigint ORDER BY c.id

-- show_parts: a message's parts
-- params: message
-- columns: path type charset disposition filename size sha256
SELECT path, type, charset, disposition, filename, size, encode(sha256, 'hex') AS sha256
FROM @schema@.part WHERE message = :message::bigint ORDER BY string_to_array(path, '.')::int[]

-- export_message: what is known of the message itself
-- params: message
-- columns: id message_id identity digest sender from subject date size in_reply_to references:json received_at
SELECT id, message_id, encode(identity, 'hex') AS identity, encode(digest, 'hex') AS digest, sender, "from", subject,
@utc(date)@ AS date, size, in_reply_to, to_jsonb("references") AS "references",
@utc(received_at)@ AS received_at FROM @schema@.message WHERE id = :message::bigint

-- export_parts: like show_parts, with their text
-- params: message
-- columns: path type charset disposition filename size sha256 text
SELECT path, type, charset, disposition, filename, size, encode(sha256, 'hex') AS sha256, text
FROM @schema@.part WHERE message = :message::bigint ORDER BY string_to_array(path, '.')::int[]

-- export_raw: whether its bytes are recorded
-- params: message
-- columns: there:bool
SELECT EXISTS (SELECT FROM @schema@.raw WHERE message = :message::bigint)
