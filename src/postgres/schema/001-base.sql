-- oncedrop schema, version 1. The names of the schema (setting database.schema) and of its two roles (that name with _delivery
-- and _operator) are filled in by `oncedrop schema install`, which runs all of this in one transaction.

CREATE SCHEMA IF NOT EXISTS @schema@;
COMMENT ON SCHEMA @schema@ IS 'oncedrop: messages delivered, and the claims that keep each copy from being made twice';

CREATE TABLE @schema@.schema_version (
    version      integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE @schema@.schema_version IS 'One row for each version of this schema that was installed; the highest is in force';
COMMENT ON COLUMN @schema@.schema_version.version IS 'Number of the schema version';
COMMENT ON COLUMN @schema@.schema_version.installed_at IS 'When it was installed';

CREATE TABLE @schema@.message (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    identity     bytea NOT NULL CHECK (octet_length(identity) = 32),
    digest       bytea NOT NULL CHECK (octet_length(digest) = 32),
    lock_key     bigint NOT NULL,
    message_id   text,
    sender       text NOT NULL,
    "from"       text,
    subject      text,
    date         timestamptz,
    size         bigint NOT NULL,
    in_reply_to  text,
    "references" text[] NOT NULL DEFAULT '{}',
    received_at  timestamptz NOT NULL,
    UNIQUE (identity, digest)
);
CREATE INDEX message_digest ON @schema@.message (digest);
CREATE INDEX message_received_at ON @schema@.message (received_at);
-- For `show` (nearest ids), `list` and the views; ids may have any length, so only their hash or their beginning is indexed.
CREATE INDEX message_message_id ON @schema@.message USING hash (message_id);
CREATE INDEX message_message_id_start ON @schema@.message (("left"(message_id, 200) COLLATE "C"));
CREATE INDEX message_thread ON @schema@.message USING hash ((coalesce("references"[1], in_reply_to, message_id)));
COMMENT ON TABLE @schema@.message IS 'One row for each message, that is, for each pair of Message-ID and content';
COMMENT ON COLUMN @schema@.message.id IS 'Number of the message; also the payload of NOTIFY';
COMMENT ON COLUMN @schema@.message.identity IS 'SHA-256 over lock.namespace, NUL, Message-ID (without one: the digest in hexadecimal)';
COMMENT ON COLUMN @schema@.message.digest IS 'SHA-256 over the message as appended, without the fields that transport adds';
COMMENT ON COLUMN @schema@.message.lock_key IS 'First 8 bytes of identity, big-endian, signed: the key of the advisory lock';
COMMENT ON COLUMN @schema@.message.message_id IS 'Message-ID without <>; bytes that are no UTF-8 are replaced; NULL when missing or damaged';
COMMENT ON COLUMN @schema@.message.sender IS 'Envelope sender (RFC 5321 reverse-path); empty for a bounce';
COMMENT ON COLUMN @schema@.message."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN @schema@.message.subject IS 'Subject, decoded (RFC 2047)';
COMMENT ON COLUMN @schema@.message.date IS 'Date field; NULL when missing or unreadable';
COMMENT ON COLUMN @schema@.message.size IS 'Bytes as appended to the recipient''s mailbox at the first delivery';
COMMENT ON COLUMN @schema@.message.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN @schema@.message."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN @schema@.message.received_at IS 'When the message arrived: its first delivery, or, replayed, what its header says; its INTERNALDATE in every mailbox';

CREATE TABLE @schema@.address (
    message  bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    role     text NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    position integer NOT NULL,
    "group"  text,
    name     text,
    address  text NOT NULL,
    PRIMARY KEY (message, role, position)
);
COMMENT ON TABLE @schema@.address IS 'Addresses in the header (record.level headers and above)';
COMMENT ON COLUMN @schema@.address.message IS 'The message';
COMMENT ON COLUMN @schema@.address.role IS 'Field in which it stands';
COMMENT ON COLUMN @schema@.address.position IS 'Place in that field, from 1';
COMMENT ON COLUMN @schema@.address."group" IS 'Name of the RFC 5322 group it belongs to';
COMMENT ON COLUMN @schema@.address.name IS 'Display name, decoded';
COMMENT ON COLUMN @schema@.address.address IS 'The address itself, its domain in lower case';

CREATE TABLE @schema@.part (
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    path        text NOT NULL,
    type        text NOT NULL,
    charset     text,
    disposition text,
    filename    text,
    size        bigint NOT NULL,
    sha256      bytea NOT NULL,
    text        text,
    PRIMARY KEY (message, path)
);
COMMENT ON TABLE @schema@.part IS 'MIME parts that are not containers (record.level text and above)';
COMMENT ON COLUMN @schema@.part.message IS 'The message';
COMMENT ON COLUMN @schema@.part.path IS 'Section number as in IMAP (RFC 3501, 6.4.5)';
COMMENT ON COLUMN @schema@.part.type IS 'Media type, lower case';
COMMENT ON COLUMN @schema@.part.charset IS 'Character set as declared, lower case';
COMMENT ON COLUMN @schema@.part.disposition IS 'Content-Disposition: inline, attachment, ...';
COMMENT ON COLUMN @schema@.part.filename IS 'File name, decoded';
COMMENT ON COLUMN @schema@.part.size IS 'Bytes of the decoded content';
COMMENT ON COLUMN @schema@.part.sha256 IS 'SHA-256 of the decoded content';
COMMENT ON COLUMN @schema@.part.text IS 'Content of a text part, converted to UTF-8, at most 1 MiB';

CREATE TABLE @schema@.raw (
    message bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    chunk   integer NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (message, chunk)
);
ALTER TABLE @schema@.raw ALTER COLUMN data SET STORAGE EXTERNAL;
COMMENT ON TABLE @schema@.raw IS 'The message as appended, in pieces of 1 MiB (record.level raw)';
COMMENT ON COLUMN @schema@.raw.message IS 'The message';
COMMENT ON COLUMN @schema@.raw.chunk IS 'Place of the piece, from 0';
COMMENT ON COLUMN @schema@.raw.data IS 'The bytes';

-- Each delivery leaves a dead row here and in table copy. The default lets a fifth of a table die before a VACUUM.
CREATE TABLE @schema@.delivery (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message            bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    recipient          text NOT NULL,
    original_recipient text,
    account            text NOT NULL,
    mailbox            text NOT NULL,
    queue_id           text,
    host               text NOT NULL,
    outcome            text NOT NULL,
    reason             text,
    attempts              integer NOT NULL DEFAULT 1,
    first_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at        timestamptz,
    complete              boolean NOT NULL DEFAULT false,
    UNIQUE (message, recipient)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delivery_recipient ON @schema@.delivery (recipient, message);
CREATE INDEX delivery_duplicate ON @schema@.delivery (id) WHERE outcome = 'duplicate';
-- `resume` reads unfinished deliveries in the order of their messages.
CREATE INDEX delivery_unfinished_message ON @schema@.delivery (message) WHERE finished_at IS NULL;
COMMENT ON TABLE @schema@.delivery IS 'One row for each message and recipient that Postfix handed over and that got as far as a claim';
COMMENT ON COLUMN @schema@.delivery.id IS 'Number of the delivery';
COMMENT ON COLUMN @schema@.delivery.message IS 'The message';
COMMENT ON COLUMN @schema@.delivery.recipient IS 'Envelope recipient, lower case';
COMMENT ON COLUMN @schema@.delivery.original_recipient IS 'Recipient before Postfix rewrote it';
COMMENT ON COLUMN @schema@.delivery.account IS 'IMAP account to which the recipient leads';
COMMENT ON COLUMN @schema@.delivery.mailbox IS 'Mailbox to which the recipient leads';
COMMENT ON COLUMN @schema@.delivery.queue_id IS 'Postfix queue id of the last attempt, if known';
COMMENT ON COLUMN @schema@.delivery.host IS 'Host of the last attempt';
COMMENT ON COLUMN @schema@.delivery.outcome IS 'What the last attempt answered (stored, duplicate, busy, ...); claimed while it is under way; expired when there was no other for record.expire_after. Done is what has finished_at';
COMMENT ON COLUMN @schema@.delivery.reason IS 'The text of that answer';
COMMENT ON COLUMN @schema@.delivery.attempts IS 'How often it was tried; an attempt that met a held lock does not count';
COMMENT ON COLUMN @schema@.delivery.first_at IS 'First attempt';
COMMENT ON COLUMN @schema@.delivery.last_at IS 'Last attempt, or its end';
COMMENT ON COLUMN @schema@.delivery.finished_at IS 'When it was stored, found stored, refused for good, or expired; NULL while Postfix is expected to try again';
COMMENT ON COLUMN @schema@.delivery.complete IS 'The message is known to have been read to its end: a pipe from Postfix may be cut without a mark. Only such a message is resumed';

CREATE TABLE @schema@.copy (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    account     text NOT NULL,
    mailbox     text NOT NULL,
    role        text NOT NULL CHECK (role IN ('inbox', 'sent')),
    state       text NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'expired')),
    doubt       boolean NOT NULL DEFAULT false,
    generation     integer NOT NULL DEFAULT 1,
    claimed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim       bigint NOT NULL,
    claimed_by  bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE,
    host        text NOT NULL,
    pid         integer NOT NULL,
    first_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    stored_at   timestamptz,
    uidvalidity bigint,
    uid         bigint,
    error       text,
    repeated    integer NOT NULL DEFAULT 0,
    boot        bigint,
    boot_us     bigint,
    host_us     bigint,
    UNIQUE (message, account, mailbox)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX copy_claimed_by ON @schema@.copy (claimed_by);
CREATE INDEX copy_account ON @schema@.copy (account, message);
CREATE INDEX copy_first_at ON @schema@.copy USING brin (first_at);
-- One index for all copies that are not stored, which are few.
CREATE INDEX copy_not_stored ON @schema@.copy (state, id) WHERE state <> 'stored';
COMMENT ON TABLE @schema@.copy IS 'One row for each message and mailbox it belongs in: the fence against a second copy';
COMMENT ON COLUMN @schema@.copy.id IS 'Number of the copy';
COMMENT ON COLUMN @schema@.copy.message IS 'The message';
COMMENT ON COLUMN @schema@.copy.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.copy.mailbox IS 'Mailbox name as configured or routed, UTF-8 (\Sent: the mailbox with that SPECIAL-USE)';
COMMENT ON COLUMN @schema@.copy.role IS 'inbox: the delivery itself; sent: the sender''s own copy';
COMMENT ON COLUMN @schema@.copy.state IS 'pending: not stored, to be tried again; appending: an APPEND may be under way; stored; failed: not tried again; expired: not tried since record.expire_after, or expired by an administrator; should the message be delivered again, as pending';
COMMENT ON COLUMN @schema@.copy.doubt IS 'An earlier attempt may have stored it: the mailbox is searched before the next APPEND';
COMMENT ON COLUMN @schema@.copy.generation IS 'Number of the last claim; only its owner may settle it';
COMMENT ON COLUMN @schema@.copy.claimed_at IS 'When that claim was made, by the database''s clock; delivery.hold_off counts from here';
COMMENT ON COLUMN @schema@.copy.claim IS 'Random number of that claim: distinguishes two claims of one generation when a COMMIT was lost';
COMMENT ON COLUMN @schema@.copy.claimed_by IS 'The delivery that answers for it: not successful before this copy is settled';
COMMENT ON COLUMN @schema@.copy.host IS 'Host of that attempt';
COMMENT ON COLUMN @schema@.copy.pid IS 'Process of that attempt';
COMMENT ON COLUMN @schema@.copy.first_at IS 'First attempt; delivery.sent_expire_after and delivery.refuse_after count from here';
COMMENT ON COLUMN @schema@.copy.stored_at IS 'When it was known to be stored';
COMMENT ON COLUMN @schema@.copy.uidvalidity IS 'UIDVALIDITY of the mailbox, if the server reported it (RFC 4315)';
COMMENT ON COLUMN @schema@.copy.uid IS 'UID in the mailbox, if the server reported it';
COMMENT ON COLUMN @schema@.copy.error IS 'Why the last attempt did not store it';
COMMENT ON COLUMN @schema@.copy.repeated IS 'How often it was claimed again on purpose although it was stored (replay --force, --verify)';
COMMENT ON COLUMN @schema@.copy.boot IS 'Number of that run of the machine that claimed it, from its boot_id; NULL: unknown';
COMMENT ON COLUMN @schema@.copy.boot_us IS 'By how many microseconds the database''s clock was ahead of CLOCK_BOOTTIME of that machine at the claim';
COMMENT ON COLUMN @schema@.copy.host_us IS 'By how many microseconds the database''s clock was ahead of the wall clock of that host at the claim';

-- The history of a message. A try is updated once, at its end, and no index knows of that: with room on its page the update writes
-- no index (of 50 recipients' tries, 86 of 100 instead of 28). The state of a copy and the end of a delivery are what indexes are
-- for.
CREATE TABLE @schema@.attempt (
    delivery    bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE,
    claim       bigint NOT NULL,
    started_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    queue_id    text,
    queued_at   timestamptz,
    host        text NOT NULL,
    pid         integer NOT NULL,
    outcome     text NOT NULL,
    reason      text,
    read_ms     integer NOT NULL,
    lock_ms     integer NOT NULL,
    database_ms integer NOT NULL,
    imap_ms     integer NOT NULL,
    trace_id    bytea CHECK (octet_length(trace_id) = 16),
    span_id     bytea CHECK (octet_length(span_id) = 8),
    PRIMARY KEY (delivery, claim)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX attempt_queue_id ON @schema@.attempt (queue_id);
CREATE INDEX attempt_started_at ON @schema@.attempt USING brin (started_at) WITH (pages_per_range = 16);
COMMENT ON TABLE @schema@.attempt IS 'One row for each attempt to deliver a message to a recipient that got as far as a claim; goes with its message. Attempts that found the lock held, or no database, are in the log only';
COMMENT ON COLUMN @schema@.attempt.delivery IS 'The message and its recipient';
COMMENT ON COLUMN @schema@.attempt.claim IS 'Random number of its claim; copies that this attempt made have the same (copy.claim)';
COMMENT ON COLUMN @schema@.attempt.started_at IS 'When the program began to read the message, by the database''s clock';
COMMENT ON COLUMN @schema@.attempt.ended_at IS 'When its outcome was recorded; NULL: it is under way, or its process died';
COMMENT ON COLUMN @schema@.attempt.queue_id IS 'Postfix queue id, when it was known';
COMMENT ON COLUMN @schema@.attempt.queued_at IS 'When Postfix received the message under that queue id, by its Received field; NULL when there is none of that form';
COMMENT ON COLUMN @schema@.attempt.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.attempt.pid IS 'Number of the process';
COMMENT ON COLUMN @schema@.attempt.outcome IS 'What it answered (stored, duplicate, busy, ...); claimed: nothing yet';
COMMENT ON COLUMN @schema@.attempt.reason IS 'The text of that answer';
COMMENT ON COLUMN @schema@.attempt.read_ms IS 'Milliseconds it took to read and decode the message';
COMMENT ON COLUMN @schema@.attempt.lock_ms IS 'Milliseconds until the lock was granted (lock.wait)';
COMMENT ON COLUMN @schema@.attempt.database_ms IS 'Milliseconds of everything else in the database, except the COMMIT that recorded this';
COMMENT ON COLUMN @schema@.attempt.imap_ms IS 'Milliseconds of IMAP: connecting, login, searching, appending';
COMMENT ON COLUMN @schema@.attempt.trace_id IS 'Trace of the message, as W3C Trace Context has it; NULL unless record.trace was on';
COMMENT ON COLUMN @schema@.attempt.span_id IS 'Span of this attempt in it';

CREATE TABLE @schema@.server (
    server     text PRIMARY KEY,
    verified   boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    tried_at   timestamptz NOT NULL
);
COMMENT ON TABLE @schema@.server IS 'One row for each IMAP server and user whose password (imap.master_user) or token opens every account';
COMMENT ON COLUMN @schema@.server.server IS 'Host and port, or path, and that user; with the host of the delivery when the server is on that';
COMMENT ON COLUMN @schema@.server.verified IS 'The account that a login names counts. If not, nothing is delivered: all mail would go into one mailbox';
COMMENT ON COLUMN @schema@.server.checked_at IS 'When that was found out';
COMMENT ON COLUMN @schema@.server.tried_at IS 'When a delivery last set out to find it out';

CREATE TABLE @schema@.refusal (
    id         text PRIMARY KEY,
    server     text NOT NULL,
    account    text NOT NULL,
    refusals   bigint NOT NULL,
    refused_at timestamptz NOT NULL,
    wait_ms    bigint NOT NULL,
    reason     text NOT NULL
);
COMMENT ON TABLE @schema@.refusal IS 'Accounts whose login an IMAP server refused, so that they are not tried with each message; purge deletes rows after a day';
COMMENT ON COLUMN @schema@.refusal.id IS 'A hash of server and account';
COMMENT ON COLUMN @schema@.refusal.server IS 'Host and port, or path, the user that logs in, and when imap.password_file was written';
COMMENT ON COLUMN @schema@.refusal.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.refusal.refusals IS 'How many in a row; 0: a login has succeeded since';
COMMENT ON COLUMN @schema@.refusal.refused_at IS 'When the last one was';
COMMENT ON COLUMN @schema@.refusal.wait_ms IS 'For how long after that the account is not tried, in milliseconds';
COMMENT ON COLUMN @schema@.refusal.reason IS 'What the server said';

-- Each delivery only adds its own rows here: if all of them updated one row, they would wait for each other.
CREATE TABLE @schema@.event (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    name  text NOT NULL CHECK (name IN ('busy', 'search')),
    host  text NOT NULL,
    count integer NOT NULL
);
COMMENT ON TABLE @schema@.event IS 'What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour, and remove it';
COMMENT ON COLUMN @schema@.event.id IS 'Number of the row';
COMMENT ON COLUMN @schema@.event.at IS 'When that was';
COMMENT ON COLUMN @schema@.event.name IS 'held: recipients were deferred because another delivery had the message; search: mailboxes were searched for a copy in doubt';
COMMENT ON COLUMN @schema@.event.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.event.count IS 'How many';

CREATE TABLE @schema@.counter_bucket (
    name  text NOT NULL,
    label text NOT NULL,
    le    bigint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (name, label, le)
);
COMMENT ON TABLE @schema@.counter_bucket IS 'Counts of what is not in the other tables any more, or is older than an hour: purge and stats add it up here. See oncedrop stats --prometheus for the sums';
COMMENT ON COLUMN @schema@.counter_bucket.name IS 'deliveries, deferrals, searches; phase, phase_ms, delay, delay_ms: times; counted_until: attempts begun before are counted here';
COMMENT ON COLUMN @schema@.counter_bucket.label IS 'Outcome, reason or phase';
COMMENT ON COLUMN @schema@.counter_bucket.le IS 'Of phase and delay: how many milliseconds these took at most, and more than the le before; 0: more than any';
COMMENT ON COLUMN @schema@.counter_bucket.value IS 'How many; milliseconds; of counted_until: microseconds since 1970';

-- One row. Purge and stats add up here what is over an hour old; the rest is counted when it is queried.
CREATE TABLE @schema@.counter (
    last_message bigint NOT NULL,
    messages     bigint NOT NULL,
    bytes        bigint NOT NULL,
    last_copy    bigint NOT NULL,
    copies       bigint NOT NULL
);
-- Logical replication of all tables: what is updated or deleted needs an identity.
ALTER TABLE @schema@.counter REPLICA IDENTITY FULL;
INSERT INTO @schema@.counter VALUES (0, 0, 0, 0, 0);
COMMENT ON TABLE @schema@.counter IS 'How many rows there are of those that were counted before; one row';
COMMENT ON COLUMN @schema@.counter.last_message IS 'Messages up to this number are counted';
COMMENT ON COLUMN @schema@.counter.messages IS 'How many of these there are';
COMMENT ON COLUMN @schema@.counter.bytes IS 'Sum of their sizes';
COMMENT ON COLUMN @schema@.counter.last_copy IS 'Copies up to this number are counted';
COMMENT ON COLUMN @schema@.counter.copies IS 'How many of these there are';

-- Purge subtracts what it deletes, and says so by this setting. What is deleted by other means is not known: all is
-- counted again.
CREATE FUNCTION @schema@.forget_counter() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_catalog.current_setting('oncedrop.subtracts', true) IS DISTINCT FROM 'yes' THEN
        UPDATE @schema@.counter SET last_message = 0, messages = 0, bytes = 0, last_copy = 0, copies = 0;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @schema@.forget_counter() IS 'After messages were deleted: table counter is not valid any more';
CREATE TRIGGER forget_counter AFTER DELETE OR TRUNCATE ON @schema@.message
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.forget_counter();

-- Two more methods by which deliveries of one message exclude each other (lock.method).
--
-- Method row: a delivery locks the row of its key (lock_key & 16383), and never changes or adds one. The number was
-- measured: locking all of these writes 73 pages to the log after a checkpoint, and of two messages under way at a time one
-- pair in 16,384 waits for each other without need. To lock a row takes the right to update some column: `unused`.
CREATE TABLE @schema@.slot (
    slot   integer PRIMARY KEY,
    unused boolean
);
INSERT INTO @schema@.slot (slot) SELECT generate_series(0, 16383);
COMMENT ON TABLE @schema@.slot IS 'What a delivery locks with lock.method = row; nothing is written here';
COMMENT ON COLUMN @schema@.slot.slot IS 'lock_key & 16383 of the messages that share this row';
COMMENT ON COLUMN @schema@.slot.unused IS 'Deliveries have the right to update this column, and so may lock the row';

-- Method lease: a row for each message under way. Each of its transactions ends at once. These rows are all that the
-- role of deliveries may delete.
CREATE TABLE @schema@.lease (
    key        bigint PRIMARY KEY,
    owner      bigint NOT NULL,
    taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    session    text NOT NULL,
    "user"     text NOT NULL DEFAULT session_user
) WITH (fillfactor = 50);
COMMENT ON TABLE @schema@.lease IS 'Who delivers which message with lock.method = lease; a row goes when its delivery ends, and counts for nothing from expires_at on';
COMMENT ON COLUMN @schema@.lease.key IS 'lock_key of the message, or of one account''s copies of it';
COMMENT ON COLUMN @schema@.lease.owner IS 'Random number of this delivery; needed to hold or end the lease';
COMMENT ON COLUMN @schema@.lease.taken_at IS 'When it was taken, or prolonged, by the database''s clock';
COMMENT ON COLUMN @schema@.lease.expires_at IS 'When others may take it, by the database''s clock';
COMMENT ON COLUMN @schema@.lease.host IS 'Host of the process';
COMMENT ON COLUMN @schema@.lease.pid IS 'Number of the process';
COMMENT ON COLUMN @schema@.lease.session IS 'As in pg_stat_activity.application_name';
COMMENT ON COLUMN @schema@.lease."user" IS 'Database user of the session';

-- Hosts with different methods would not exclude each other: a delivery that has another method is refused.
CREATE TABLE @schema@.setting (
    lock_method text NOT NULL CHECK (lock_method IN ('advisory', 'row', 'lease'))
);
ALTER TABLE @schema@.setting REPLICA IDENTITY FULL;
INSERT INTO @schema@.setting VALUES ('advisory');
COMMENT ON TABLE @schema@.setting IS 'What all hosts must agree on; one row';
COMMENT ON COLUMN @schema@.setting.lock_method IS 'lock.method of all hosts; changed by: oncedrop schema method';

-- For applications. Without security_barrier, a role that may read only the view could see what is not in it, by a function that is
-- called before the view's own conditions.
--
-- With sender_bcc_maps a sender's own copy comes as mail for user+Sent, and so has the role inbox. It is in the mailbox Sent,
-- for the address of its envelope sender, or the user of that address, extensions left out.
CREATE VIEW @schema@.inbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored'
       AND NOT (c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM @schema@.delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW @schema@.inbox IS 'Messages delivered to recipients: one row for each copy that is stored, except those in outbox. Columns are only ever added';
COMMENT ON COLUMN @schema@.inbox.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.inbox.mailbox IS 'Mailbox, UTF-8';
COMMENT ON COLUMN @schema@.inbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL if the server did not report it';
COMMENT ON COLUMN @schema@.inbox.uid IS 'UID there; NULL if the server did not report it. The user may have moved it since';
COMMENT ON COLUMN @schema@.inbox.message IS 'Number of the message: message.id, address.message, part.message';
COMMENT ON COLUMN @schema@.inbox.message_id IS 'Message-ID without <>; NULL when missing or damaged';
COMMENT ON COLUMN @schema@.inbox.thread IS 'Message-ID with which the conversation began: the first of References, else In-Reply-To, else its own';
COMMENT ON COLUMN @schema@.inbox.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN @schema@.inbox."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN @schema@.inbox.sender IS 'Envelope sender; empty for a bounce';
COMMENT ON COLUMN @schema@.inbox."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN @schema@.inbox.subject IS 'Subject, decoded';
COMMENT ON COLUMN @schema@.inbox.date IS 'Date field';
COMMENT ON COLUMN @schema@.inbox.received_at IS 'When it arrived; its INTERNALDATE';
COMMENT ON COLUMN @schema@.inbox.size IS 'Bytes';
COMMENT ON COLUMN @schema@.inbox.stored_at IS 'When it was known to be stored';

CREATE VIEW @schema@.outbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at,
           ARRAY(SELECT d.recipient FROM @schema@.delivery d WHERE d.message = m.id
                 AND NOT (d.mailbox = 'Sent' AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
                     IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*')))
                 ORDER BY d.id) AS recipients
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.state = 'stored'
       AND (c.role = 'sent' OR c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM @schema@.delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW @schema@.outbox IS 'Messages filed for their senders: one row for each Sent copy that is stored, also one made by sender_bcc_maps, in the mailbox Sent. Columns are only ever added';
COMMENT ON COLUMN @schema@.outbox.account IS 'IMAP account of the sender';
COMMENT ON COLUMN @schema@.outbox.mailbox IS 'The Sent mailbox, UTF-8, or \Sent: the one with that SPECIAL-USE';
COMMENT ON COLUMN @schema@.outbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL if the server did not report it';
COMMENT ON COLUMN @schema@.outbox.uid IS 'UID there; NULL if the server did not report it. The user may have moved it since';
COMMENT ON COLUMN @schema@.outbox.message IS 'Number of the message: message.id, address.message, part.message';
COMMENT ON COLUMN @schema@.outbox.message_id IS 'Message-ID without <>; NULL when missing or damaged';
COMMENT ON COLUMN @schema@.outbox.thread IS 'Message-ID with which the conversation began: the first of References, else In-Reply-To, else its own';
COMMENT ON COLUMN @schema@.outbox.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN @schema@.outbox."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN @schema@.outbox.sender IS 'Envelope sender';
COMMENT ON COLUMN @schema@.outbox."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN @schema@.outbox.subject IS 'Subject, decoded';
COMMENT ON COLUMN @schema@.outbox.date IS 'Date field';
COMMENT ON COLUMN @schema@.outbox.received_at IS 'When it arrived here; its INTERNALDATE';
COMMENT ON COLUMN @schema@.outbox.size IS 'Bytes';
COMMENT ON COLUMN @schema@.outbox.stored_at IS 'When it was known to be stored';
COMMENT ON COLUMN @schema@.outbox.recipients IS 'Envelope recipients that it was delivered to here; those elsewhere are not known';

-- SCHEMA_delivery, for deliveries and replay, reads what distinguishes messages and copies, but no subject, address or text.
-- It writes the columns that a delivery writes, and reads those that it updates. It deletes only leases, and locks no table. SCHEMA_operator, for show, list, stats, locks, resume and purge, also reads everything and deletes old messages.
-- Grant these to the roles in conninfo. Without the right to create roles, the schema is installed without them.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @role_text@) THEN
        CREATE ROLE @role@ NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        CREATE ROLE @operator@ NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN (@role_text@, @operator_text@) LOOP
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA @schema@ TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT ON @schema@.schema_version, @schema@.setting TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, identity, digest, received_at),'
            ' INSERT (identity, digest, lock_key, message_id, sender, "from", subject, date, size, in_reply_to,'
            ' "references", received_at) ON @schema@.message TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, role, position, "group", name, address)'
            ' ON @schema@.address TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, path, type, charset, disposition, filename, size, sha256, text)'
            ' ON @schema@.part TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, chunk, data) ON @schema@.raw TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, recipient, original_recipient, account, mailbox, queue_id,'
            ' host, outcome, reason, attempts, finished_at, complete), INSERT (message, recipient, original_recipient, account,'
            ' mailbox, queue_id, host, outcome, reason, finished_at, complete), UPDATE (original_recipient, account, mailbox,'
            ' queue_id, host, outcome, reason, attempts, last_at, finished_at, complete) ON @schema@.delivery TO %I', grantee);
        -- UPDATE of first_at: for step end_ahead, if it is in the future.
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, account, mailbox, role, state, doubt, generation, claimed_at,'
            ' claim, claimed_by, host, pid, first_at, uidvalidity, uid, repeated, boot, boot_us, host_us), INSERT (message,'
            ' account, mailbox, role, state, doubt, claim, claimed_by, host, pid, boot, boot_us, host_us), UPDATE (state,'
            ' doubt, generation, claimed_at, claim, claimed_by, host, pid, first_at, stored_at, uidvalidity, uid, error,'
            ' repeated, boot, boot_us, host_us) ON @schema@.copy TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (delivery, claim), INSERT (delivery, claim, started_at, ended_at,'
            ' queue_id, queued_at, host, pid, outcome, reason, read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id),'
            ' UPDATE (ended_at, outcome, reason, read_ms, lock_ms, database_ms, imap_ms) ON @schema@.attempt TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE ON @schema@.server, @schema@.refusal TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (name, host, count) ON @schema@.event TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, UPDATE (unused) ON @schema@.slot TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, DELETE, INSERT (key, owner, expires_at, host, pid, session),'
            ' UPDATE (owner, taken_at, expires_at, host, pid, session, "user") ON @schema@.lease TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA @schema@ TO @operator@;
        -- purge locks the rows that it deletes, which requires the right to update some column.
        GRANT DELETE, UPDATE (lock_key) ON @schema@.message TO @operator@;
        GRANT DELETE ON @schema@.event, @schema@.refusal TO @operator@;
        GRANT INSERT, UPDATE ON @schema@.counter_bucket TO @operator@;
        GRANT UPDATE ON @schema@.counter TO @operator@;
    END IF;
END $$;
