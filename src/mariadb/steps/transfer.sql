-- A copy of the ledger (ledger_transfer.c): rows with their ids, by their keys, which are the first columns.

-- dump_message: the next messages
-- params: id max
-- columns: id:number identity:bytes digest:bytes lock_key:number message_id sender from subject date:number size:number
-- columns: in_reply_to references received_at:number
SELECT id, identity, digest, lock_key, message_id, sender, "from", subject, @us(date)@, size, in_reply_to,
JSON_COMPACT("references"), @us(received_at)@
FROM message WHERE id > :id
ORDER BY id LIMIT :max

-- load_message: inserts a message
-- params: id identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO message (id, identity, digest, lock_key, message_id, sender, "from", subject, date, size,
in_reply_to, "references", received_at)
VALUES (:id, :identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @moment(:date)@, :size, :in_reply_to,
:references, @moment(:received_at)@)

-- dump_address: the next addresses
-- params: message role position max
-- columns: message:number role position:number group name address
SELECT message, role, "position", "group", name, address
FROM address WHERE message >= :message AND (message, role, "position") > (:message, :role, :position)
ORDER BY message, role, "position" LIMIT :max

-- load_address: inserts an address
-- params: message role position group:content name:content address
INSERT INTO address (message, role, "position", "group", name, address)
VALUES (:message, :role, :position, :group, :name, :address)

-- dump_part: the next parts
-- params: message path max
-- columns: message:number path type charset disposition filename size:number sha256:bytes text
SELECT message, path, type, charset, disposition, filename, size, sha256, text
FROM part WHERE message >= :message AND (message, path) > (:message, :path)
ORDER BY message, path LIMIT :max

-- load_part: inserts a part
-- params: message path type charset disposition filename:content size sha256 text:content
INSERT INTO part (message, path, type, charset, disposition, filename, size, sha256, text)
VALUES (:message, :path, :type, :charset, :disposition, :filename, :size, :sha256, :text)

-- dump_raw: the next recorded bytes
-- params: message chunk max
-- columns: message:number chunk:number data:bytes
SELECT message, chunk, data
FROM raw WHERE message >= :message AND (message, chunk) > (:message, :chunk)
ORDER BY message, chunk LIMIT :max

-- load_raw: inserts recorded bytes
-- params: message chunk data
INSERT INTO raw (message, chunk, data)
VALUES (:message, :chunk, :data)

-- dump_delivery: the next deliveries
-- params: id max
-- columns: id:number message:number recipient original_recipient account mailbox queue_id host outcome reason
-- columns: attempts:number first_at:number last_at:number finished_at:number complete:bool
SELECT id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome, reason, attempts,
@us(first_at)@, @us(last_at)@, @us(finished_at)@, complete
FROM delivery WHERE id > :id
ORDER BY id LIMIT :max

-- load_delivery: inserts a delivery
-- params: id message recipient original_recipient account mailbox queue_id host outcome reason attempts first_at last_at
-- params: finished_at complete
INSERT INTO delivery (id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome,
reason, attempts, first_at, last_at, finished_at, complete)
VALUES (:id, :message, :recipient, :original_recipient, :account, :mailbox, :queue_id, :host, :outcome, :reason,
:attempts, @moment(:first_at)@, @moment(:last_at)@, @moment(:finished_at)@, :complete)

-- dump_attempt: the next attempts
-- params: delivery claim max
-- columns: delivery:number claim:number started_at:number ended_at:number queue_id queued_at:number host pid:number
-- columns: outcome reason read_ms:number lock_ms:number database_ms:number imap_ms:number trace_id:bytes span_id:bytes
SELECT delivery, claim, @us(started_at)@, @us(ended_at)@, queue_id, @us(queued_at)@, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id
FROM attempt WHERE delivery >= :delivery AND (delivery, claim) > (:delivery, :claim)
ORDER BY delivery, claim LIMIT :max

-- load_attempt: inserts an attempt
-- params: delivery claim started_at ended_at queue_id queued_at host pid outcome reason read_ms lock_ms database_ms
-- params: imap_ms trace_id span_id
INSERT INTO attempt (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
VALUES (:delivery, :claim, @moment(:started_at)@, @moment(:ended_at)@, :queue_id, @moment(:queued_at)@, :host, :pid, :outcome, :reason, :read_ms,
:lock_ms, :database_ms, :imap_ms, :trace_id, :span_id)

-- dump_copy: the next copies
-- params: id max
-- columns: id:number message:number account mailbox role state doubt:bool generation:number claimed_at:number
-- columns: claim:number claimed_by:number host pid:number first_at:number stored_at:number uidvalidity:number
-- columns: uid:number error repeated:number boot:number boot_us:number host_us:number
SELECT id, message, account, mailbox, role, state, doubt, generation, @us(claimed_at)@, claim, claimed_by, host, pid,
@us(first_at)@, @us(stored_at)@, uidvalidity, uid, error, repeated, boot, boot_us, host_us
FROM copy WHERE id > :id
ORDER BY id LIMIT :max

-- load_copy: inserts a copy
-- params: id message account mailbox role state doubt generation claimed_at claim claimed_by host pid first_at stored_at
-- params: uidvalidity uid error repeated boot boot_us host_us
INSERT INTO copy (id, message, account, mailbox, role, state, doubt, generation, claimed_at, claim, claimed_by,
host, pid, first_at, stored_at, uidvalidity, uid, error, repeated, boot,
boot_us, host_us)
VALUES (:id, :message, :account, :mailbox, :role, :state, :doubt, :generation, @moment(:claimed_at)@, :claim, :claimed_by, :host,
:pid, @moment(:first_at)@, @moment(:stored_at)@, :uidvalidity, :uid, :error, :repeated, :boot, :boot_us, :host_us)

-- dump_event: the next events
-- params: id max
-- columns: id:number at:number name host count:number
SELECT id, @us(at)@, name, host, "count"
FROM event WHERE id > :id
ORDER BY id LIMIT :max

-- load_event: inserts an event
-- params: id at name host count
INSERT INTO event (id, at, name, host, "count")
VALUES (:id, @moment(:at)@, :name, :host, :count)

-- dump_counter_bucket: the next totals
-- params: name label le max
-- columns: name label le:number value:number
SELECT name, label, le, value
FROM counter_bucket WHERE (name, label, le) > (:name, :label, :le)
ORDER BY name, label, le LIMIT :max

-- load_counter_bucket: inserts a total
-- params: name label le value
INSERT INTO counter_bucket (name, label, le, value)
VALUES (:name, :label, :le, :value)

-- dump_server: the next servers
-- params: server max
-- columns: server verified:bool checked_at:number tried_at:number
SELECT server, verified, @us(checked_at)@, @us(tried_at)@
FROM server WHERE server > :server
ORDER BY server LIMIT :max

-- load_server: inserts a server
-- params: server verified checked_at tried_at
INSERT INTO server (server, verified, checked_at, tried_at)
VALUES (:server, :verified, @moment(:checked_at)@, @moment(:tried_at)@)

-- dump_counter: the counters
-- columns: last_message:number messages:number bytes:number last_copy:number copies:number
SELECT last_message, messages, bytes, last_copy, copies FROM counter

-- load_counter: sets the counters
-- params: last_message messages bytes last_copy copies
UPDATE counter SET last_message = :last_message, messages = :messages, bytes = :bytes, last_copy = :last_copy,
copies = :copies

-- macro last: the highest id that a table has assigned
(SELECT coalesce(AUTO_INCREMENT, 1) - 1 FROM information_schema.TABLES
WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = '{}')

-- dump_numbers: the highest ids assigned so far, also to rows that were deleted
-- columns: message:number delivery:number copy:number
SELECT @last(message)@, @last(delivery)@, @last(copy)@

-- load_numbers: new rows get higher ids
-- params: message delivery copy
EXECUTE IMMEDIATE concat('ALTER TABLE message AUTO_INCREMENT = ', :message + 1)
-- then
EXECUTE IMMEDIATE concat('ALTER TABLE delivery AUTO_INCREMENT = ', :delivery + 1)
-- then
EXECUTE IMMEDIATE concat('ALTER TABLE copy AUTO_INCREMENT = ', :copy + 1)

-- begin_hold: no-op: table locks and transactions exclude each other
DO 0

-- hold_timeout: the timeout of hold_writers, in seconds
SET SESSION lock_wait_timeout = 10

-- hold_writers: until the session ends, no other session of this server may write, and this one sees only these tables.
-- Refuses a cluster, whose other nodes may write
SET @refuse = CASE WHEN @cluster AND (SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME
= 'WSREP_CLUSTER_SIZE') > 1 THEN 'SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''other nodes of the Galera cluster could go'
' on writing meanwhile: stop them first, all but this one''' ELSE 'DO 0' END
-- then
EXECUTE IMMEDIATE @refuse
-- then
LOCK TABLES message READ, address READ, part READ, raw READ, delivery READ, attempt READ, copy READ, event READ, counter_bucket READ,
server READ, counter READ

-- under_way: who is storing copies, or was until less than the hold-off ago. No alias: LOCK TABLES does not cover one
-- params: hold_off_ms
-- columns: host pid
SELECT host, pid FROM copy WHERE state = 'appending' AND @hold_off_ends(claimed_at)@ > @now@
ORDER BY claimed_at DESC LIMIT 1
