-- A copy of the ledger (ledger_transfer.c): rows with their ids, by their keys, which are the first columns.

-- word moment: a time from microseconds since 1970
(timestamptz 'epoch' + {}::bigint * interval '1 microsecond')

-- dump_message: the next messages
-- takes: id most
-- gives: id:number identity:bytes digest:bytes lock_key:number message_id sender from subject date:number size:number
-- gives: in_reply_to references received_at:number
SELECT id, identity, digest, lock_key, message_id, sender, "from", subject, @us(date)@, size, in_reply_to,
pg_catalog.to_json("references")::text, @us(received_at)@
FROM @schema@.message WHERE id > :id::bigint
ORDER BY id LIMIT :most::bigint

-- load_message: inserts a message
-- takes: id identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO @schema@.message (id, identity, digest, lock_key, message_id, sender, "from", subject, date, size,
in_reply_to, "references", received_at)
OVERRIDING SYSTEM VALUE
VALUES (:id, :identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @moment(:date)@, :size,
:in_reply_to, ARRAY(SELECT pg_catalog.json_array_elements_text(:references::json)), @moment(:received_at)@)

-- dump_address: the next addresses
-- takes: message role position most
-- gives: message:number role position:number group name address
SELECT message, role, position, "group", name, address
FROM @schema@.address WHERE (message, role, position) > (:message::bigint, :role::text, :position::bigint)
ORDER BY message, role, position LIMIT :most::bigint

-- load_address: inserts an address
-- takes: message role position group:content name:content address
INSERT INTO @schema@.address (message, role, position, "group", name, address)
VALUES (:message, :role, :position, :group, :name, :address)

-- dump_part: the next parts
-- takes: message path most
-- gives: message:number path type charset disposition filename size:number sha256:bytes text
SELECT message, path, type, charset, disposition, filename, size, sha256, text
FROM @schema@.part WHERE (message, path COLLATE "C") > (:message::bigint, :path::text)
ORDER BY message, path COLLATE "C" LIMIT :most::bigint

-- load_part: inserts a part
-- takes: message path type charset disposition filename:content size sha256 text:content
INSERT INTO @schema@.part (message, path, type, charset, disposition, filename, size, sha256, text)
VALUES (:message, :path, :type, :charset, :disposition, :filename, :size, :sha256, :text)

-- dump_raw: the next recorded bytes
-- takes: message chunk most
-- gives: message:number chunk:number data:bytes
SELECT message, chunk, data
FROM @schema@.raw WHERE (message, chunk) > (:message::bigint, :chunk::bigint)
ORDER BY message, chunk LIMIT :most::bigint

-- load_raw: inserts recorded bytes
-- takes: message chunk data
INSERT INTO @schema@.raw (message, chunk, data)
VALUES (:message, :chunk, :data)

-- dump_delivery: the next deliveries
-- takes: id most
-- gives: id:number message:number recipient original_recipient account mailbox queue_id host outcome reason
-- gives: tries:number first_at:number last_at:number finished_at:number whole:truth
SELECT id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome, reason, tries,
@us(first_at)@, @us(last_at)@, @us(finished_at)@, whole
FROM @schema@.delivery WHERE id > :id::bigint
ORDER BY id LIMIT :most::bigint

-- load_delivery: inserts a delivery
-- takes: id message recipient original_recipient account mailbox queue_id host outcome reason tries first_at last_at
-- takes: finished_at whole
INSERT INTO @schema@.delivery (id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome,
reason, tries, first_at, last_at, finished_at, whole)
OVERRIDING SYSTEM VALUE
VALUES (:id, :message, :recipient, :original_recipient, :account, :mailbox, :queue_id, :host, :outcome, :reason,
:tries, @moment(:first_at)@, @moment(:last_at)@, @moment(:finished_at)@, :whole)

-- dump_try: the next attempts
-- takes: delivery claim most
-- gives: delivery:number claim:number started_at:number ended_at:number queue_id queued_at:number host pid:number
-- gives: outcome reason read_ms:number lock_ms:number database_ms:number imap_ms:number trace_id:bytes span_id:bytes
SELECT delivery, claim, @us(started_at)@, @us(ended_at)@, queue_id, @us(queued_at)@, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id
FROM @schema@.try WHERE (delivery, claim) > (:delivery::bigint, :claim::bigint)
ORDER BY delivery, claim LIMIT :most::bigint

-- load_try: inserts an attempt
-- takes: delivery claim started_at ended_at queue_id queued_at host pid outcome reason read_ms lock_ms database_ms
-- takes: imap_ms trace_id span_id
INSERT INTO @schema@.try (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
VALUES (:delivery, :claim, @moment(:started_at)@, @moment(:ended_at)@, :queue_id, @moment(:queued_at)@, :host, :pid,
:outcome, :reason, :read_ms, :lock_ms, :database_ms, :imap_ms, :trace_id, :span_id)

-- dump_copy: the next copies
-- takes: id most
-- gives: id:number message:number account mailbox role state doubt:truth attempt:number attempt_at:number
-- gives: claim:number claimed_by:number host pid:number first_at:number stored_at:number uidvalidity:number
-- gives: uid:number error repeated:number boot:number boot_us:number host_us:number
SELECT id, message, account, mailbox, role, state, doubt, attempt, @us(attempt_at)@, claim, claimed_by, host, pid,
@us(first_at)@, @us(stored_at)@, uidvalidity, uid, error, repeated, boot, boot_us, host_us
FROM @schema@.copy WHERE id > :id::bigint
ORDER BY id LIMIT :most::bigint

-- load_copy: inserts a copy
-- takes: id message account mailbox role state doubt attempt attempt_at claim claimed_by host pid first_at stored_at
-- takes: uidvalidity uid error repeated boot boot_us host_us
INSERT INTO @schema@.copy (id, message, account, mailbox, role, state, doubt, attempt, attempt_at, claim, claimed_by,
host, pid, first_at, stored_at, uidvalidity, uid, error, repeated,
boot, boot_us, host_us)
OVERRIDING SYSTEM VALUE
VALUES (:id, :message, :account, :mailbox, :role, :state, :doubt, :attempt, @moment(:attempt_at)@, :claim,
:claimed_by, :host, :pid, @moment(:first_at)@, @moment(:stored_at)@, :uidvalidity, :uid, :error, :repeated,
:boot, :boot_us, :host_us)

-- dump_event: the next events
-- takes: id most
-- gives: id:number at:number name host count:number
SELECT id, @us(at)@, name, host, count
FROM @schema@.event WHERE id > :id::bigint
ORDER BY id LIMIT :most::bigint

-- load_event: inserts an event
-- takes: id at name host count
INSERT INTO @schema@.event (id, at, name, host, count)
OVERRIDING SYSTEM VALUE
VALUES (:id, @moment(:at)@, :name, :host, :count)

-- dump_total: the next totals
-- takes: name label le most
-- gives: name label le:number value:number
SELECT name, label, le, value
FROM @schema@.total WHERE (name COLLATE "C", label COLLATE "C", le) > (:name::text, :label::text, :le::bigint)
ORDER BY name COLLATE "C", label COLLATE "C", le LIMIT :most::bigint

-- load_total: inserts a total
-- takes: name label le value
INSERT INTO @schema@.total (name, label, le, value)
VALUES (:name, :label, :le, :value)

-- dump_server: the next servers
-- takes: server most
-- gives: server honoured:truth checked_at:number tried_at:number
SELECT server, honoured, @us(checked_at)@, @us(tried_at)@
FROM @schema@.server WHERE server COLLATE "C" > :server::text
ORDER BY server COLLATE "C" LIMIT :most::bigint

-- load_server: inserts a server
-- takes: server honoured checked_at tried_at
INSERT INTO @schema@.server (server, honoured, checked_at, tried_at)
VALUES (:server, :honoured, @moment(:checked_at)@, @moment(:tried_at)@)

-- dump_tally: the counters
-- gives: last_message:number messages:number bytes:number last_copy:number copies:number
SELECT last_message, messages, bytes, last_copy, copies FROM @schema@.tally

-- load_tally: sets the counters
-- takes: last_message messages bytes last_copy copies
UPDATE @schema@.tally SET last_message = :last_message, messages = :messages, bytes = :bytes, last_copy = :last_copy,
copies = :copies

-- word last: the highest id that a table has assigned, as far as this user may know it
greatest((SELECT max(id) FROM @schema@.{}), (SELECT CASE WHEN pg_catalog.has_sequence_privilege(s, 'USAGE, SELECT')
THEN pg_catalog.pg_sequence_last_value(s::regclass) END
FROM pg_catalog.pg_get_serial_sequence('@schema@.{}', 'id') s), 0)

-- dump_numbers: the highest ids assigned so far, also to rows that were deleted
-- gives: message:number delivery:number copy:number
SELECT @last(message)@, @last(delivery)@, @last(copy)@

-- load_numbers: new rows get higher ids
-- takes: message delivery copy
SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence('@schema@.' || t.name, 'id'), t.last) FROM (VALUES
('message', :message::bigint), ('delivery', :delivery::bigint), ('copy', :copy::bigint),
('event', (SELECT max(id) FROM @schema@.event))) t (name, last) WHERE t.last > 0

-- begin_hold: begins a transaction that only reads, and in which no other session may write
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY

-- hold_patience: the timeout of hold_writers; like that, before the transaction has its snapshot
SET LOCAL lock_timeout = '10s'

-- hold_writers: locks the table with which every delivery begins
LOCK TABLE @schema@.message IN ACCESS EXCLUSIVE MODE

-- under_way: who is storing copies, or was until less than the hold-off ago
-- takes: hold_off_ms
-- gives: host pid
SELECT host, pid FROM @schema@.copy WHERE state = 'appending' AND @hold_off_ends(attempt_at)@ > @now@
ORDER BY attempt_at DESC LIMIT 1
