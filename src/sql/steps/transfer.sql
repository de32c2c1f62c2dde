-- A copy of the ledger (ledger_transfer.c): the steps dump_TABLE and load_TABLE of each table here, made by steps.awk.

-- table message: by id
-- columns: id:number identity:bytes digest:bytes lock_key:number message_id sender from subject:content date:moment size:number
-- columns: in_reply_to references:list received_at:moment

-- table address: by message role position
-- columns: message:number role position:number group:content name:content address

-- table part: by message path
-- columns: message:number path type charset disposition filename:content size:number sha256:bytes text:content

-- table raw: by message chunk
-- columns: message:number chunk:number data:bytes

-- table delivery: by id
-- columns: id:number message:number recipient original_recipient account mailbox queue_id host outcome reason
-- columns: attempts:number first_at:moment last_at:moment finished_at:moment complete:bool

-- table attempt: by delivery claim
-- columns: delivery:number claim:number started_at:moment ended_at:moment queue_id queued_at:moment host pid:number
-- columns: outcome reason read_ms:number lock_ms:number database_ms:number imap_ms:number trace_id:bytes span_id:bytes

-- table copy: by id
-- columns: id:number message:number account mailbox role state doubt:bool generation:number claimed_at:moment
-- columns: claim:number claimed_by:number host pid:number first_at:moment stored_at:moment uidvalidity:number
-- columns: uid:number error repeated:number boot:number boot_us:number host_us:number feeds

-- table feed: by id
-- columns: id:number feed copy:number message:number added_at:moment not_before:moment tries:number dead:bool owner:number error

-- table event: by id
-- columns: id:number at:moment name host count:number

-- table counter_bucket: by name label le
-- columns: name label le:number value:number

-- table server: by server
-- columns: server verified:bool checked_at:moment tried_at:moment

-- dump_counter: the counters
-- columns: last_message:number messages:number bytes:number last_copy:number copies:number
SELECT last_message, messages, bytes, last_copy, copies FROM @schema@.counter

-- load_counter: sets the counters
-- params: last_message messages bytes last_copy copies
UPDATE @schema@.counter SET last_message = :last_message, messages = :messages, bytes = :bytes, last_copy = :last_copy,
copies = :copies

-- dump_numbers: the highest ids assigned so far, also to rows that were deleted
-- columns: message:number delivery:number copy:number feed:number
SELECT @last(message)@, @last(delivery)@, @last(copy)@, @last(feed)@

-- load_numbers: new rows get higher ids
-- params: message delivery copy feed

-- begin_hold: begins a transaction that only reads, and in which no other session may write
@nothing@

-- hold_timeout: the timeout of hold_writers
@nothing@

-- hold_writers: keeps other sessions from writing
@nothing@

-- under_way: who is storing copies, or was until less than the hold-off ago. No alias: MariaDB's LOCK TABLES does not cover one
-- params: hold_off_ms
-- columns: host pid
SELECT host, pid FROM @schema@.copy WHERE @not_stored@ state = 'appending' AND @hold_off_ends(claimed_at)@ > @now@
ORDER BY claimed_at DESC LIMIT 1
