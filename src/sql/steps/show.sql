-- find_messages: messages by identity, digest, or a queue id of any attempt; each may be NULL. A digest may require
-- reading all of an index in which it follows the identity
-- params: identity digest queue_id
-- columns: id message_id digest lock_key sender from subject date size in_reply_to references:json received_at
SELECT m.id, m.message_id, @hex(m.digest)@ AS digest, m.lock_key, m.sender, m."from", m.subject,
@utc(m.date)@ AS date, m.size, m.in_reply_to, @list(m."references")@ AS "references", @utc(m.received_at)@ AS received_at
FROM (SELECT id FROM @schema@.message WHERE identity = :identity::bytea UNION
SELECT id FROM @schema@.message WHERE digest = :digest::bytea UNION -- if digest
SELECT d.message FROM @schema@.attempt t @join@ @schema@.delivery d ON d.id = t.delivery
WHERE t.queue_id = :queue_id::text) f @join@ @schema@.message m ON m.id = f.id ORDER BY m.id

-- find_digest: a row if a message with this digest is recorded
-- params: digest
-- columns: id
SELECT id FROM @schema@.message WHERE digest = :digest::bytea LIMIT 1

-- oldest: when the first message was received of those that are recorded. No index that all engines have leads to the least time
-- columns: received_at
SELECT @utc(received_at)@ AS received_at FROM @schema@.message ORDER BY id LIMIT 1

-- show_addresses: a message's addresses
-- params: message
-- columns: role position group name address
SELECT role, "position", "group", name, address FROM @schema@.address WHERE message = :message::bigint
ORDER BY CASE role WHEN 'from' THEN 1 WHEN 'sender' THEN 2 WHEN 'reply-to' THEN 3 WHEN 'to' THEN 4 WHEN 'cc' THEN 5 ELSE 6 END,
"position"

-- show_deliveries: a message's deliveries
-- params: message
-- columns: recipient original_recipient account mailbox outcome reason attempts queue_id host first_at last_at finished_at complete:bool
SELECT recipient, original_recipient, account, mailbox, outcome, reason, attempts, queue_id, host,
@utc(first_at)@ AS first_at, @utc(last_at)@ AS last_at, @utc(finished_at)@ AS finished_at, complete
FROM @schema@.delivery WHERE message = :message::bigint ORDER BY id

-- show_attempts: a message's attempts
-- params: message
-- columns: at outcome recipient queue_id reason queued read:number lock:number database:number imap:number host pid ended_at
SELECT @utc(t.started_at)@ AS at, t.outcome, d.recipient, t.queue_id, t.reason,
@round((@us(t.started_at)@ - @us(t.queued_at)@) / 1000000.0)@ AS queued,
@seconds(t.read_ms)@ AS "read", @seconds(t.lock_ms)@ AS "lock", @seconds(t.database_ms)@ AS "database",
@seconds(t.imap_ms)@ AS imap, t.host, t.pid, @utc(t.ended_at)@ AS ended_at
FROM @schema@.delivery d @join@ @schema@.attempt t ON t.delivery = d.id
WHERE d.message = :message::bigint ORDER BY t.started_at, d.id, t.claim

-- show_spans: a message's attempts with record.trace
-- params: message
-- columns: trace_id span_id start_time_unix_nano end_time_unix_nano message_id queue_id host pid recipient outcome reason
-- columns: account mailbox uidvalidity uid read_ms lock_ms database_ms imap_ms
SELECT @hex(t.trace_id)@ AS trace_id, @hex(t.span_id)@ AS span_id,
@us(t.started_at)@ * 1000 AS start_time_unix_nano, @us(t.ended_at)@ * 1000 AS end_time_unix_nano,
m.message_id, t.queue_id, t.host, t.pid, d.recipient, t.outcome, t.reason, d.account, d.mailbox,
c.uidvalidity, c.uid, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms
FROM @schema@.message m @join@ @schema@.delivery d ON d.message = m.id @join@ @schema@.attempt t ON t.delivery = d.id
LEFT JOIN @schema@.copy c ON c.message = d.message
AND c.account = d.account AND c.mailbox = d.mailbox AND t.outcome IN (@good_outcomes@)
WHERE m.id = :message::bigint AND t.span_id IS NOT NULL ORDER BY t.started_at, d.id, t.claim

-- show_copies: a message's copies
-- params: message
-- columns: account mailbox role state doubt:bool uid uidvalidity generation repeated first_at claimed_at stored_at host pid
-- columns: claimed_by error
SELECT c.account, c.mailbox, c.role, c.state, c.doubt, c.uid, c.uidvalidity, c.generation, c.repeated,
@utc(c.first_at)@ AS first_at, @utc(c.claimed_at)@ AS claimed_at,
@utc(c.stored_at)@ AS stored_at, c.host, c.pid, d.recipient AS claimed_by, c.error
FROM @schema@.copy c @join@ @schema@.delivery d ON d.id = c.claimed_by
WHERE c.message = :message::bigint ORDER BY c.id

-- macro part: what is known of a part, and not its text
path, type, charset, disposition, filename, size, @hex(sha256)@ AS sha256

-- show_parts: a message's parts
-- params: message
-- columns: path type charset disposition filename size sha256
SELECT @part@ FROM @schema@.part WHERE message = :message::bigint ORDER BY @path_key@

-- export_message: what is known of the message itself
-- params: message
-- columns: id message_id identity digest sender from subject date size in_reply_to references:json received_at
SELECT id, message_id, @hex(identity)@ AS identity, @hex(digest)@ AS digest, sender, "from", subject,
@utc(date)@ AS date, size, in_reply_to, @list("references")@ AS "references",
@utc(received_at)@ AS received_at FROM @schema@.message WHERE id = :message::bigint

-- export_parts: like show_parts, with their text
-- params: message
-- columns: path type charset disposition filename size sha256 text
SELECT @part@, text FROM @schema@.part WHERE message = :message::bigint ORDER BY @path_key@

-- export_raw: whether its bytes are recorded
-- params: message
-- columns: there:bool
SELECT EXISTS (SELECT 1 FROM @schema@.raw WHERE message = :message::bigint)
