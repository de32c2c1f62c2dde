-- A copy of the ledger (ledger_transfer.c): rows with their ids, by their keys, which are the first columns.

-- macro moment: a time from microseconds since 1970
(timestamptz 'epoch' + {}::bigint * interval '1 microsecond')

-- dump_message: the next messages
-- params: id max
-- columns: id:number identity:bytes digest:bytes lock_key:number message_id sender from subject date:number size:number
-- columns: in_reply_to references received_at:number
SELECT id, identity, digest, lock_key, message_id, sender, "from", subject, @us(date)@, size, in_reply_to,
pg_catalog.to_json("references")::text, @us(received_at)@
FROM @schema@.message WHERE id > :id::bigint
ORDER BY id LIMIT :max::bigint

-- load_message: inserts a message
-- params: id identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO @schema@.message (id, identity, digest, lock_key, message_id, sender, "from", subject, date, size,
in_reply_to, "references", received_at)
OVERRIDING SYSTEM VALUE
VALUES (:id, :identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @moment(:date)@, :size,
:in_reply_to, ARRAY(SELECT pg_catalog.json_array_elements_text(:references::json)), @moment(:received_at)@)

-- dump_address: the next addresses
-- params: message role position max
-- columns: message:number role position:number group name address
SELECT message, role, position, "group", name, address
FROM @schema@.address WHERE (message, role, position) > (:message::bigint, :role::text, :position::bigint)
ORDER BY message, role, position LIMIT :max::bigint

-- load_address: inserts an address
-- params: message role position group:content name:content address
INSERT INTO @schema@.address (message, role, position, "group", name, address)
VALUES (:message, :role, :position, :group, :name, :address)

-- dump_part: the next parts
-- params: message path max
-- columns: message:number path type charset disposition filename size:number sha256:bytes text
SELECT message, path, type, charset, disposition, filename, size, sha256, text
FROM @schema@.part WHERE (message, path COLLATE "C") > (:message::bigint, :path::text)
ORDER BY message, path COLLATE "C" LIMIT :max::bigint

-- load_part: inserts a part
-- params: message path type charset disposition filename:content size sha256 text:content
INSERT INTO @schema@.part (message, path, type, charset, disposition, filename, size, sha256, text)
VALUES (:message, :path, :type, :charset, :disposition, :filename, :size, :sha256, :text)

-- dump_raw: the next recorded bytes
-- params: message chunk max
-- columns: message:number chunk:number data:bytes
SELECT message, chunk, data
FROM @schema@.raw WHERE (message, chunk) > (:message::bigint, :chunk::bigint)
ORDER BY message, chunk LIMIT :max::bigint

-- load_raw: inserts recorded bytes
-- params: message chunk data
INSERT INTO @schema@.raw (message, chunk, data)
VALUES (:message, :chunk, :data)

-- dump_delivery: the next deliveries
-- params: id max
-- columns: id:number message:number recipient original_recipient account mailbox queue_id host outcome reason
-- columns: attempts:number first_at:number last_at:number finished_at:number complete:bool
SELECT id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome, reason, attempts,
@us(first_at)@, @us(last_at)@, @us(finished_at)@, complete
FROM @schema@.delivery WHERE id > :id::bigint
ORDER BY id LIMIT :max::bigint

-- load_delivery: inserts a delivery
-- params: id message recipient original_recipient account mailbox queue_id host outcome reason attempts first_at last_at
-- params: finished_at complete
INSERT INTO @schema@.delivery (id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome,
reason, attempts, first_at, last_at, finished_at, complete)
OVERRIDING SYSTEM VALUE
VALUES (:id, :message, :recipient, :original_recipient, :account, :mailbox, :queue_id, :host, :outcome, :reason,
:attempts, @moment(:first_at)@, @moment(:last_at)@, @moment(:finished_at)@, :complete)

-- dump_attempt: the next attempts
-- params: delivery claim max
-- columns: delivery:number claim:number started_at:number ended_at:number queue_id queued_at:number host pid:number
-- columns: outcome reason read_ms:number lock_ms:number database_ms:number imap_ms:number trace_id:bytes span_id:bytes
SELECT delivery, claim, @us(started_at)@, @us(ended_at)@, queue_id, @us(queued_at)@, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id
FROM @schema@.attempt WHERE (delivery, claim) > (:delivery::bigint, :claim::bigint)
ORDER BY delivery, claim LIMIT :max::bigint

-- load_attempt: inserts an attempt
-- params: delivery claim started_at ended_at queue_id queued_at host pid outcome reason read_ms lock_ms database_ms
-- params: imap_ms trace_id span_id
INSERT INTO @schema@.attempt (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
VALUES (:delivery, :claim, @moment(:started_at)@, @moment(:ended_at)@, :queue_id, @moment(:queued_at)@, :host, :pid,
:outcome, :reason, :read_ms, :lock_ms, :database_ms, :imap_ms, :trace_id, :span_id)

-- dump_copy: the next copies
-- params: id max
-- columns: id:number message:number account mailbox role state doubt:bool generation:number claimed_at:number
-- columns: claim:number claimed_by:number host pid:number first_at:number stored_at:number uidvalidity:number
-- columns: uid:number error repeated:number boot:number boot_us:number host_us:number
SELECT id, message, account, mailbox, role, state, doubt, generation, @us(claimed_at)@, claim, claimed_by, host, pid,
@us(first_at)@, @us(stored_at)@, uidvalidity, uid, error, repeated, boot, boot_us, host_us
FROM @schema@.copy WHERE id > :id::bigint
ORDER BY id LIMIT :max::bigint

-- load_copy: inserts a copy
-- params: id message account mailbox role state doubt generation claimed_at claim claimed_by host pid first_at stored_at
-- params: uidvalidity uid error repeated boot boot_us host_us
INSERT INTO @schema@.copy (id, message, account, mailbox, role, state, doubt, generation, claimed_at, claim, claimed_by,
host, pid, first_at, stored_at, uidvalidity, uid, error, repeated,
boot, boot_us, host_us)
OVERRIDING SYSTEM VALUE
VALUES (:id, :message, :account, :mailbox, :role, :state, :doubt, :generation, @moment(:claimed_at)@, :claim,
:claimed_by, :host, :pid, @moment(:first_at)@, @moment(:stored_at)@, :uidvalidity, :uid, :error, :repeated,
:boot, :boot_us, :host_us)

-- dump_event: the next events
-- params: id max
-- columns: id:number at:number name host count:number
SELECT id, @us(at)@, name, host, count
FROM @schema@.event WHERE id > :id::bigint
ORDER BY id LIMIT :max::bigint

-- load_event: inserts an event
-- params: id at name host count
INSERT INTO @schema@.event (id, at, name, host, count)
OVERRIDING SYSTEM VALUE
VALUES (:id, @moment(:at)@, :name, :host, :count)

-- dump_counter_bucket: the next totals
-- params: name label le max
-- columns: name label le:number value:number
SELECT name, label, le, value
FROM @schema@.counter_bucket WHERE (name COLLATE "C", label COLLATE "C", le) > (:name::text, :label::text, :le::bigint)
ORDER BY name COLLATE "C", label COLLATE "C", le LIMIT :max::bigint

-- load_counter_bucket: inserts a total
-- params: name label le value
INSERT INTO @schema@.counter_bucket (name, label, le, value)
VALUES (:name, :label, :le, :value)

-- dump_server: the next servers
-- params: server max
-- columns: server verified:bool checked_at:number tried_at:number
SELECT server, verified, @us(checked_at)@, @us(tried_at)@
FROM @schema@.server WHERE server COLLATE "C" > :server::text
ORDER BY server COLLATE "C" LIMIT :max::bigint

-- load_server: inserts a server
-- params: server verified checked_at tried_at
INSERT INTO @schema@.server (server, verified, checked_at, tried_at)
VALUES (:server, :verified, @moment(:checked_at)@, @moment(:tried_at)@)

-- dump_counter: the counters
-- columns: last_message:number messages:number bytes:number last_copy:number copies:number
SELECT last_message, messages, bytes, last_copy, copies FROM @schema@.counter

-- load_counter: sets the counters
-- params: last_message messages bytes last_copy copies
UPDATE @schema@.counter SET last_message = :last_message, messages = :messages, bytes = :bytes, last_copy = :last_copy,
copies = :copies

-- macro last: the highest id that a table has assigned, as far as this user may know it
greatest((SELECT max(id) FROM @schema@.{}), (SELECT CASE WHEN pg_catalog.has_sequence_privilege(s, 'USAGE, SELECT')
THEN pg_catalog.pg_sequence_last_value(s::regclass) END
FROM pg_catalog.pg_get_serial_sequence('@schema@.{}', 'id') s), 0)

-- dump_numbers: the highest ids assigned so far, also to rows that were deleted
-- columns: message:number delivery:number copy:number
SELECT @last(message)@, @last(delivery)@, @last(copy)@

-- load_numbers: new rows get higher ids
-- params: message delivery copy
SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence('@schema@.' || t.name, 'id'), t.last) FROM (VALUES
('message', :message::bigint), ('delivery', :delivery::bigint), ('copy', :copy::bigint),
('event', (SELECT max(id) FROM @schema@.event))) t (name, last) WHERE t.last > 0

-- begin_hold: begins a transaction that only reads, and in which no other session may write
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- hold_timeout: the timeout of hold_writers; like that, before the transaction has its snapshot
SET LOCAL lock_timeout = '10s'

-- hold_writers: locks the table with which every delivery begins
LOCK TABLE @schema@.message IN ACCESS EXCLUSIVE MODE

-- under_way: who is storing copies, or was until less than the hold-off ago
-- params: hold_off_ms
-- columns: host pid
SELECT host, pid FROM @schema@.copy WHERE state = 'appending' AND @hold_off_ends(claimed_at)@ > @now@
ORDER BY claimed_at DESC LIMIT 1
