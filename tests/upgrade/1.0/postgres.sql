-- SPDX-License-Identifier: ISC
-- A ledger that version 1.0 wrote: tests/upgrade/write-fixture.

BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;
SET LOCAL search_path = pg_catalog, pg_temp;
-- oncedrop schema, version 1. The names of the schema (setting database.schema) and of its roles (that name with _delivery,
-- _operator and _feed) are filled in by `oncedrop ledger install`, which runs all of this in one transaction. Comments behind
-- tables and columns go into the database, too (src/sql/comments.awk).

DO $$ BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'PostgreSQL % is too old: install version 15 or newer', current_setting('server_version');
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS "oncedrop";
COMMENT ON SCHEMA "oncedrop" IS 'oncedrop: messages delivered, and the claims that keep each copy from being made twice';

CREATE TABLE "oncedrop".schema_version (
    version      integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE "oncedrop".schema_version IS 'One row for each version of this schema that was installed; the highest is in force';
COMMENT ON COLUMN "oncedrop".schema_version.version IS 'Number of the schema version';
COMMENT ON COLUMN "oncedrop".schema_version.installed_at IS 'When it was installed';

CREATE TABLE "oncedrop".message (
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
COMMENT ON TABLE "oncedrop".message IS 'One row for each message, that is, for each pair of Message-ID and content';
COMMENT ON COLUMN "oncedrop".message.id IS 'Number of the message; also the payload of NOTIFY';
COMMENT ON COLUMN "oncedrop".message.identity IS 'SHA-256 over lock.namespace, NUL, Message-ID (without one: the digest in hexadecimal)';
COMMENT ON COLUMN "oncedrop".message.digest IS 'SHA-256 over the message as appended, without the fields that transport adds';
COMMENT ON COLUMN "oncedrop".message.lock_key IS 'First 8 bytes of identity, big-endian, signed: the key of the advisory lock';
COMMENT ON COLUMN "oncedrop".message.message_id IS 'Message-ID without <>; bytes that are no UTF-8 are replaced; NULL when missing or damaged';
COMMENT ON COLUMN "oncedrop".message.sender IS 'Envelope sender (RFC 5321 reverse-path); empty for a bounce';
COMMENT ON COLUMN "oncedrop".message."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN "oncedrop".message.subject IS 'Subject, decoded (RFC 2047)';
COMMENT ON COLUMN "oncedrop".message.date IS 'Date field; NULL when missing or unreadable';
COMMENT ON COLUMN "oncedrop".message.size IS 'Bytes as appended to the recipient''s mailbox at the first delivery';
COMMENT ON COLUMN "oncedrop".message.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN "oncedrop".message."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN "oncedrop".message.received_at IS 'When the message arrived: its first delivery, or, replayed, what its header says; its INTERNALDATE in every mailbox';
CREATE INDEX message_digest ON "oncedrop".message (digest);
CREATE INDEX message_received_at ON "oncedrop".message (received_at);
-- For `list` and the views; ids may have any length, so only their hash is indexed.
CREATE INDEX message_message_id ON "oncedrop".message USING hash (message_id);
CREATE INDEX message_thread ON "oncedrop".message USING hash ((coalesce("references"[1], in_reply_to, message_id)));

CREATE TABLE "oncedrop".address (
    message  bigint NOT NULL REFERENCES "oncedrop".message ON DELETE CASCADE,
    role     text NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    position integer NOT NULL,
    "group"  text,
    name     text,
    address  text NOT NULL,
    PRIMARY KEY (message, role, position)
);
COMMENT ON TABLE "oncedrop".address IS 'Addresses in the header (record.level headers and above)';
COMMENT ON COLUMN "oncedrop".address.message IS 'The message';
COMMENT ON COLUMN "oncedrop".address.role IS 'Field in which it stands';
COMMENT ON COLUMN "oncedrop".address.position IS 'Place in that field, from 1';
COMMENT ON COLUMN "oncedrop".address."group" IS 'Name of the RFC 5322 group it belongs to';
COMMENT ON COLUMN "oncedrop".address.name IS 'Display name, decoded';
COMMENT ON COLUMN "oncedrop".address.address IS 'The address itself, its domain in lower case';

CREATE TABLE "oncedrop".part (
    message     bigint NOT NULL REFERENCES "oncedrop".message ON DELETE CASCADE,
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
COMMENT ON TABLE "oncedrop".part IS 'MIME parts that are not containers (record.level text and above)';
COMMENT ON COLUMN "oncedrop".part.message IS 'The message';
COMMENT ON COLUMN "oncedrop".part.path IS 'Section number as in IMAP (RFC 3501, 6.4.5)';
COMMENT ON COLUMN "oncedrop".part.type IS 'Media type, lower case';
COMMENT ON COLUMN "oncedrop".part.charset IS 'Character set as declared, lower case';
COMMENT ON COLUMN "oncedrop".part.disposition IS 'Content-Disposition: inline, attachment, ...';
COMMENT ON COLUMN "oncedrop".part.filename IS 'File name, decoded';
COMMENT ON COLUMN "oncedrop".part.size IS 'Bytes of the decoded content';
COMMENT ON COLUMN "oncedrop".part.sha256 IS 'SHA-256 of the decoded content';
COMMENT ON COLUMN "oncedrop".part.text IS 'Content of a text part, converted to UTF-8, at most 1 MiB';

CREATE TABLE "oncedrop".raw (
    message bigint NOT NULL REFERENCES "oncedrop".message ON DELETE CASCADE,
    chunk   integer NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (message, chunk)
);
COMMENT ON TABLE "oncedrop".raw IS 'The message as appended, in pieces of 1 MiB (record.level raw)';
COMMENT ON COLUMN "oncedrop".raw.message IS 'The message';
COMMENT ON COLUMN "oncedrop".raw.chunk IS 'Place of the piece, from 0';
COMMENT ON COLUMN "oncedrop".raw.data IS 'The bytes';
ALTER TABLE "oncedrop".raw ALTER COLUMN data SET STORAGE EXTERNAL;

-- Each delivery leaves a dead row here and in table copy. The default lets a fifth of a table die before a VACUUM.
CREATE TABLE "oncedrop".delivery (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message            bigint NOT NULL REFERENCES "oncedrop".message ON DELETE CASCADE,
    recipient          text NOT NULL,
    original_recipient text,
    account            text NOT NULL,
    mailbox            text NOT NULL,
    queue_id           text,
    host               text NOT NULL,
    outcome            text NOT NULL,
    reason             text,
    attempts           integer NOT NULL DEFAULT 1,
    first_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at        timestamptz,
    complete           boolean NOT NULL DEFAULT false,
    UNIQUE (message, recipient)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE "oncedrop".delivery IS 'One row for each message and recipient that Postfix handed over and that got as far as a claim';
COMMENT ON COLUMN "oncedrop".delivery.id IS 'Number of the delivery';
COMMENT ON COLUMN "oncedrop".delivery.message IS 'The message';
COMMENT ON COLUMN "oncedrop".delivery.recipient IS 'Envelope recipient, lower case';
COMMENT ON COLUMN "oncedrop".delivery.original_recipient IS 'Recipient before Postfix rewrote it';
COMMENT ON COLUMN "oncedrop".delivery.account IS 'IMAP account to which the recipient leads';
COMMENT ON COLUMN "oncedrop".delivery.mailbox IS 'Mailbox to which the recipient leads';
COMMENT ON COLUMN "oncedrop".delivery.queue_id IS 'Postfix queue id of the last attempt, if known';
COMMENT ON COLUMN "oncedrop".delivery.host IS 'Host of the last attempt';
COMMENT ON COLUMN "oncedrop".delivery.outcome IS 'What the last attempt answered (stored, duplicate, busy, ...); claimed while it is under way; expired when there was no other for record.expire_after. Done is what has finished_at';
COMMENT ON COLUMN "oncedrop".delivery.reason IS 'The text of that answer';
COMMENT ON COLUMN "oncedrop".delivery.attempts IS 'How often it was tried; an attempt that met a held lock does not count';
COMMENT ON COLUMN "oncedrop".delivery.first_at IS 'First attempt';
COMMENT ON COLUMN "oncedrop".delivery.last_at IS 'Last attempt, or its end';
COMMENT ON COLUMN "oncedrop".delivery.finished_at IS 'When it was stored, found stored, refused for good, or expired; NULL while Postfix is expected to try again';
COMMENT ON COLUMN "oncedrop".delivery.complete IS 'The message is known to have been read to its end: a pipe from Postfix may be cut without a mark. Only such a message is resumed';
CREATE INDEX delivery_recipient ON "oncedrop".delivery (recipient, message);
CREATE INDEX delivery_duplicate ON "oncedrop".delivery (id) WHERE outcome = 'duplicate';
-- `resume` reads unfinished deliveries in the order of their messages.
CREATE INDEX delivery_unfinished_message ON "oncedrop".delivery (message) WHERE finished_at IS NULL;

CREATE TABLE "oncedrop".copy (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message     bigint NOT NULL REFERENCES "oncedrop".message ON DELETE CASCADE,
    account     text NOT NULL,
    mailbox     text NOT NULL,
    role        text NOT NULL CHECK (role IN ('inbox', 'sent')),
    state       text NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'expired')),
    doubt       boolean NOT NULL DEFAULT false,
    generation  integer NOT NULL DEFAULT 1,
    claimed_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim       bigint NOT NULL,
    claimed_by  bigint NOT NULL REFERENCES "oncedrop".delivery ON DELETE CASCADE,
    host        text NOT NULL,
    pid         integer NOT NULL,
    first_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    stored_at   timestamptz,
    uidvalidity bigint,
    uid         bigint,
    error       text,
    repeated    integer NOT NULL DEFAULT 0,
    feeds       text,
    boot        bigint,
    boot_us     bigint,
    host_us     bigint,
    UNIQUE (message, account, mailbox)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE "oncedrop".copy IS 'One row for each message and mailbox it belongs in: the fence against a second copy';
COMMENT ON COLUMN "oncedrop".copy.id IS 'Number of the copy';
COMMENT ON COLUMN "oncedrop".copy.message IS 'The message';
COMMENT ON COLUMN "oncedrop".copy.account IS 'IMAP account';
COMMENT ON COLUMN "oncedrop".copy.mailbox IS 'Mailbox name as configured or routed, UTF-8 (\Sent: the mailbox with that SPECIAL-USE)';
COMMENT ON COLUMN "oncedrop".copy.role IS 'inbox: the delivery itself; sent: the sender''s own copy';
COMMENT ON COLUMN "oncedrop".copy.state IS 'pending: not stored, to be tried again; appending: an APPEND may be under way; stored; failed: not tried again; expired: not tried since record.expire_after, or expired by an administrator; should the message be delivered again, as pending';
COMMENT ON COLUMN "oncedrop".copy.doubt IS 'An earlier attempt may have stored it: the mailbox is searched before the next APPEND';
COMMENT ON COLUMN "oncedrop".copy.generation IS 'Number of the last claim; only its owner may settle it';
COMMENT ON COLUMN "oncedrop".copy.claimed_at IS 'When that claim was made, by the database''s clock; delivery.hold_off counts from here';
COMMENT ON COLUMN "oncedrop".copy.claim IS 'Random number of that claim: distinguishes two claims of one generation when a COMMIT was lost';
COMMENT ON COLUMN "oncedrop".copy.claimed_by IS 'The delivery that answers for it: not successful before this copy is settled';
COMMENT ON COLUMN "oncedrop".copy.host IS 'Host of that attempt';
COMMENT ON COLUMN "oncedrop".copy.pid IS 'Process of that attempt';
COMMENT ON COLUMN "oncedrop".copy.first_at IS 'First attempt; delivery.sent_expire_after and delivery.refuse_after count from here';
COMMENT ON COLUMN "oncedrop".copy.stored_at IS 'When it was known to be stored';
COMMENT ON COLUMN "oncedrop".copy.uidvalidity IS 'UIDVALIDITY of the mailbox, if the server reported it (RFC 4315)';
COMMENT ON COLUMN "oncedrop".copy.uid IS 'UID in the mailbox, if the server reported it';
COMMENT ON COLUMN "oncedrop".copy.error IS 'Why the last attempt did not store it';
COMMENT ON COLUMN "oncedrop".copy.repeated IS 'How often it was claimed again on purpose although it was stored (replay --force, --verify)';
COMMENT ON COLUMN "oncedrop".copy.feeds IS 'The feeds that got it, as ,NAME,NAME,';
COMMENT ON COLUMN "oncedrop".copy.boot IS 'Number of that run of the machine that claimed it, from its boot_id; NULL: unknown';
COMMENT ON COLUMN "oncedrop".copy.boot_us IS 'By how many microseconds the database''s clock was ahead of CLOCK_BOOTTIME of that machine at the claim';
COMMENT ON COLUMN "oncedrop".copy.host_us IS 'By how many microseconds the database''s clock was ahead of the wall clock of that host at the claim';
CREATE INDEX copy_claimed_by ON "oncedrop".copy (claimed_by);
CREATE INDEX copy_account ON "oncedrop".copy (account, message);
CREATE INDEX copy_first_at ON "oncedrop".copy USING brin (first_at);
-- One index for all copies that are not stored, which are few.
CREATE INDEX copy_not_stored ON "oncedrop".copy (state, id) WHERE state <> 'stored';

-- The history of a message. A try is updated once, at its end, and no index knows of that: with room on its page the update writes
-- no index (of 50 recipients' tries, 86 of 100 instead of 28). The state of a copy and the end of a delivery are what indexes are
-- for.
CREATE TABLE "oncedrop".attempt (
    delivery    bigint NOT NULL REFERENCES "oncedrop".delivery ON DELETE CASCADE,
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
COMMENT ON TABLE "oncedrop".attempt IS 'One row for each attempt to deliver a message to a recipient that got as far as a claim; goes with its message. Attempts that found the lock held, or no database, are in the log only';
COMMENT ON COLUMN "oncedrop".attempt.delivery IS 'The message and its recipient';
COMMENT ON COLUMN "oncedrop".attempt.claim IS 'Random number of its claim; copies that this attempt made have the same (copy.claim)';
COMMENT ON COLUMN "oncedrop".attempt.started_at IS 'When the program began to read the message, by the database''s clock';
COMMENT ON COLUMN "oncedrop".attempt.ended_at IS 'When its outcome was recorded; NULL: it is under way, or its process died';
COMMENT ON COLUMN "oncedrop".attempt.queue_id IS 'Postfix queue id, when it was known';
COMMENT ON COLUMN "oncedrop".attempt.queued_at IS 'When Postfix received the message under that queue id, by its Received field; NULL when there is none of that form';
COMMENT ON COLUMN "oncedrop".attempt.host IS 'Host of the process';
COMMENT ON COLUMN "oncedrop".attempt.pid IS 'Number of the process';
COMMENT ON COLUMN "oncedrop".attempt.outcome IS 'What it answered (stored, duplicate, busy, ...); claimed: nothing yet';
COMMENT ON COLUMN "oncedrop".attempt.reason IS 'The text of that answer';
COMMENT ON COLUMN "oncedrop".attempt.read_ms IS 'Milliseconds it took to read and decode the message';
COMMENT ON COLUMN "oncedrop".attempt.lock_ms IS 'Milliseconds until the lock was granted (lock.wait)';
COMMENT ON COLUMN "oncedrop".attempt.database_ms IS 'Milliseconds of everything else in the database, except the COMMIT that recorded this';
COMMENT ON COLUMN "oncedrop".attempt.imap_ms IS 'Milliseconds of IMAP: connecting, login, searching, appending';
COMMENT ON COLUMN "oncedrop".attempt.trace_id IS 'Trace of the message, as W3C Trace Context has it; NULL unless record.trace was on';
COMMENT ON COLUMN "oncedrop".attempt.span_id IS 'Span of this attempt in it';
CREATE INDEX attempt_queue_id ON "oncedrop".attempt (queue_id);
CREATE INDEX attempt_started_at ON "oncedrop".attempt USING brin (started_at) WITH (pages_per_range = 16);

-- An application takes rows in its own transaction, and deletes them.
CREATE TABLE "oncedrop".feed (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    feed       text NOT NULL,
    copy       bigint NOT NULL,
    message    bigint NOT NULL,
    added_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    not_before timestamptz NOT NULL DEFAULT clock_timestamp(),
    tries      integer NOT NULL DEFAULT 0,
    dead       boolean NOT NULL DEFAULT false,
    owner      bigint NOT NULL DEFAULT 0,
    error      text
) WITH (autovacuum_vacuum_scale_factor = 0.05);
COMMENT ON TABLE "oncedrop".feed IS 'What waits for an application: a row for each copy that a feed takes, from when it was stored until it is taken out';
COMMENT ON COLUMN "oncedrop".feed.id IS 'Number of the row; of a feed''s rows the lowest is next';
COMMENT ON COLUMN "oncedrop".feed.feed IS 'Name of the feed';
COMMENT ON COLUMN "oncedrop".feed.copy IS 'The copy; no foreign key, whose index each delivery would have to write';
COMMENT ON COLUMN "oncedrop".feed.message IS 'Its message';
COMMENT ON COLUMN "oncedrop".feed.added_at IS 'When it was stored';
COMMENT ON COLUMN "oncedrop".feed.not_before IS 'It is not tried until then: it is being tried, or has failed';
COMMENT ON COLUMN "oncedrop".feed.tries IS 'How often it was tried';
COMMENT ON COLUMN "oncedrop".feed.dead IS 'It is not tried again until: oncedrop feed retry';
COMMENT ON COLUMN "oncedrop".feed.owner IS 'Random number of the last try by oncedrop feed run';
COMMENT ON COLUMN "oncedrop".feed.error IS 'Why the last try failed';
CREATE INDEX feed_next ON "oncedrop".feed (feed, dead, id);

CREATE TABLE "oncedrop".feed_reader (
    reader text NOT NULL,
    feed   text NOT NULL,
    PRIMARY KEY (reader, feed)
);
COMMENT ON TABLE "oncedrop".feed_reader IS 'Which feeds the members of SCHEMA_feed may take; filled by the owner of the schema';
COMMENT ON COLUMN "oncedrop".feed_reader.reader IS 'Database user of the application';
COMMENT ON COLUMN "oncedrop".feed_reader.feed IS 'Name of the feed';
ALTER TABLE "oncedrop".feed_reader ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON "oncedrop".feed_reader FOR SELECT USING (reader = current_user);

CREATE TABLE "oncedrop".server (
    server     text PRIMARY KEY,
    verified   boolean NOT NULL,
    checked_at timestamptz NOT NULL,
    tried_at   timestamptz NOT NULL
);
COMMENT ON TABLE "oncedrop".server IS 'One row for each IMAP server and user whose password (imap.master_user) or token opens every account';
COMMENT ON COLUMN "oncedrop".server.server IS 'Host and port, or path, and that user; with the host of the delivery when the server is on that';
COMMENT ON COLUMN "oncedrop".server.verified IS 'The account that a login names counts. If not, nothing is delivered: all mail would go into one mailbox';
COMMENT ON COLUMN "oncedrop".server.checked_at IS 'When that was found out';
COMMENT ON COLUMN "oncedrop".server.tried_at IS 'When a delivery last set out to find it out';

CREATE TABLE "oncedrop".refusal (
    id         text PRIMARY KEY,
    server     text NOT NULL,
    account    text NOT NULL,
    refusals   bigint NOT NULL,
    refused_at timestamptz NOT NULL,
    wait_ms    bigint NOT NULL,
    reason     text NOT NULL
);
COMMENT ON TABLE "oncedrop".refusal IS 'Accounts whose login an IMAP server refused, so that they are not tried with each message; purge deletes rows after a day';
COMMENT ON COLUMN "oncedrop".refusal.id IS 'A hash of server and account';
COMMENT ON COLUMN "oncedrop".refusal.server IS 'Host and port, or path, the user that logs in, and when imap.password_file was written';
COMMENT ON COLUMN "oncedrop".refusal.account IS 'IMAP account';
COMMENT ON COLUMN "oncedrop".refusal.refusals IS 'How many in a row; 0: a login has succeeded since';
COMMENT ON COLUMN "oncedrop".refusal.refused_at IS 'When the last one was';
COMMENT ON COLUMN "oncedrop".refusal.wait_ms IS 'For how long after that the account is not tried, in milliseconds';
COMMENT ON COLUMN "oncedrop".refusal.reason IS 'What the server said';

-- Each delivery only adds its own rows here: if all of them updated one row, they would wait for each other.
CREATE TABLE "oncedrop".event (
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    name  text NOT NULL CHECK (name IN ('busy', 'search')),
    host  text NOT NULL,
    count integer NOT NULL
);
COMMENT ON TABLE "oncedrop".event IS 'What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour, and remove it';
COMMENT ON COLUMN "oncedrop".event.id IS 'Number of the row';
COMMENT ON COLUMN "oncedrop".event.at IS 'When that was';
COMMENT ON COLUMN "oncedrop".event.name IS 'held: recipients were deferred because another delivery had the message; search: mailboxes were searched for a copy in doubt';
COMMENT ON COLUMN "oncedrop".event.host IS 'Host of the process';
COMMENT ON COLUMN "oncedrop".event.count IS 'How many';

CREATE TABLE "oncedrop".counter_bucket (
    name  text NOT NULL,
    label text NOT NULL,
    le    bigint NOT NULL,
    value bigint NOT NULL,
    PRIMARY KEY (name, label, le)
);
COMMENT ON TABLE "oncedrop".counter_bucket IS 'Counts of what is not in the other tables any more, or is older than an hour: purge and stats add it up here. See oncedrop stats --prometheus for the sums';
COMMENT ON COLUMN "oncedrop".counter_bucket.name IS 'deliveries, deferrals, searches; phase, phase_ms, delay, delay_ms: times; counted_until: attempts begun before are counted here';
COMMENT ON COLUMN "oncedrop".counter_bucket.label IS 'Outcome, reason or phase';
COMMENT ON COLUMN "oncedrop".counter_bucket.le IS 'Of phase and delay: how many milliseconds these took at most, and more than the le before; 0: more than any';
COMMENT ON COLUMN "oncedrop".counter_bucket.value IS 'How many; milliseconds; of counted_until: microseconds since 1970';

-- One row. Purge and stats add up here what is over an hour old; the rest is counted when it is queried.
CREATE TABLE "oncedrop".counter (
    last_message bigint NOT NULL,
    messages     bigint NOT NULL,
    bytes        bigint NOT NULL,
    last_copy    bigint NOT NULL,
    copies       bigint NOT NULL
);
COMMENT ON TABLE "oncedrop".counter IS 'How many rows there are of those that were counted before; one row';
COMMENT ON COLUMN "oncedrop".counter.last_message IS 'Messages up to this number are counted';
COMMENT ON COLUMN "oncedrop".counter.messages IS 'How many of these there are';
COMMENT ON COLUMN "oncedrop".counter.bytes IS 'Sum of their sizes';
COMMENT ON COLUMN "oncedrop".counter.last_copy IS 'Copies up to this number are counted';
COMMENT ON COLUMN "oncedrop".counter.copies IS 'How many of these there are';
-- Logical replication of all tables: what is updated or deleted needs an identity.
ALTER TABLE "oncedrop".counter REPLICA IDENTITY FULL;
INSERT INTO "oncedrop".counter VALUES (0, 0, 0, 0, 0);

-- Purge subtracts what it deletes, and says so by this setting. What is deleted by other means is not known: all is
-- counted again.
CREATE FUNCTION "oncedrop".forget_counter() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_catalog.current_setting('oncedrop.subtracts', true) IS DISTINCT FROM 'yes' THEN
        UPDATE "oncedrop".counter SET last_message = 0, messages = 0, bytes = 0, last_copy = 0, copies = 0;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION "oncedrop".forget_counter() IS 'After messages were deleted: table counter is not valid any more';
CREATE TRIGGER forget_counter AFTER DELETE OR TRUNCATE ON "oncedrop".message
    FOR EACH STATEMENT EXECUTE FUNCTION "oncedrop".forget_counter();

-- Two more methods by which deliveries of one message exclude each other (lock.method).
--
-- Method row: a delivery locks the row of its key (lock_key & 16383), and never changes or adds one. The number was
-- measured: locking all of these writes 73 pages to the log after a checkpoint, and of two messages under way at a time one
-- pair in 16,384 waits for each other without need. To lock a row takes the right to update some column: `unused`.
CREATE TABLE "oncedrop".slot (
    slot   integer PRIMARY KEY,
    unused boolean
);
COMMENT ON TABLE "oncedrop".slot IS 'What a delivery locks with lock.method = row; nothing is written here';
COMMENT ON COLUMN "oncedrop".slot.slot IS 'lock_key & 16383 of the messages that share this row';
COMMENT ON COLUMN "oncedrop".slot.unused IS 'Deliveries have the right to update this column, and so may lock the row';
INSERT INTO "oncedrop".slot (slot) SELECT generate_series(0, 16383);

-- Method lease: a row for each message under way. Each of its transactions ends at once. These rows are all that the
-- role of deliveries may delete.
CREATE TABLE "oncedrop".lease (
    key        bigint PRIMARY KEY,
    owner      bigint NOT NULL,
    taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
    expires_at timestamptz NOT NULL,
    host       text NOT NULL,
    pid        integer NOT NULL,
    session    text NOT NULL,
    "user"     text NOT NULL DEFAULT session_user
) WITH (fillfactor = 50);
COMMENT ON TABLE "oncedrop".lease IS 'Who delivers which message with lock.method = lease; a row goes when its delivery ends, and counts for nothing from expires_at on';
COMMENT ON COLUMN "oncedrop".lease.key IS 'lock_key of the message, or of one account''s copies of it';
COMMENT ON COLUMN "oncedrop".lease.owner IS 'Random number of this delivery; needed to hold or end the lease';
COMMENT ON COLUMN "oncedrop".lease.taken_at IS 'When it was taken, or renewed, by the database''s clock';
COMMENT ON COLUMN "oncedrop".lease.expires_at IS 'When others may take it, by the database''s clock';
COMMENT ON COLUMN "oncedrop".lease.host IS 'Host of the process';
COMMENT ON COLUMN "oncedrop".lease.pid IS 'Number of the process';
COMMENT ON COLUMN "oncedrop".lease.session IS 'As in pg_stat_activity.application_name';
COMMENT ON COLUMN "oncedrop".lease."user" IS 'Database user of the session';

-- Hosts with different methods would not exclude each other: a delivery that has another method is refused.
CREATE TABLE "oncedrop".setting (
    lock_method text NOT NULL CHECK (lock_method IN ('advisory', 'row', 'lease'))
);
COMMENT ON TABLE "oncedrop".setting IS 'What all hosts must agree on; one row';
COMMENT ON COLUMN "oncedrop".setting.lock_method IS 'lock.method of all hosts; changed by: oncedrop ledger method';
ALTER TABLE "oncedrop".setting REPLICA IDENTITY FULL;
INSERT INTO "oncedrop".setting VALUES ('advisory');

-- For applications. Without security_barrier, a role that may read only the view could see what is not in it, by a function that is
-- called before the view's own conditions.
--
-- With sender_bcc_maps a sender's own copy comes as mail for user+Sent, and so has the role inbox. It is in the mailbox Sent,
-- for the address of its envelope sender, or the user of that address, extensions left out.
CREATE VIEW "oncedrop".inbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at
      FROM "oncedrop".copy c JOIN "oncedrop".message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored'
       AND NOT (c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM "oncedrop".delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW "oncedrop".inbox IS 'Messages delivered to recipients: one row for each copy that is stored, except those in outbox. Columns are only ever added';
COMMENT ON COLUMN "oncedrop".inbox.account IS 'IMAP account';
COMMENT ON COLUMN "oncedrop".inbox.mailbox IS 'Mailbox, UTF-8';
COMMENT ON COLUMN "oncedrop".inbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL if the server did not report it';
COMMENT ON COLUMN "oncedrop".inbox.uid IS 'UID there; NULL if the server did not report it. The user may have moved it since';
COMMENT ON COLUMN "oncedrop".inbox.message IS 'Number of the message: message.id, address.message, part.message';
COMMENT ON COLUMN "oncedrop".inbox.message_id IS 'Message-ID without <>; NULL when missing or damaged';
COMMENT ON COLUMN "oncedrop".inbox.thread IS 'Message-ID with which the conversation began: the first of References, else In-Reply-To, else its own';
COMMENT ON COLUMN "oncedrop".inbox.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN "oncedrop".inbox."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN "oncedrop".inbox.sender IS 'Envelope sender; empty for a bounce';
COMMENT ON COLUMN "oncedrop".inbox."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN "oncedrop".inbox.subject IS 'Subject, decoded';
COMMENT ON COLUMN "oncedrop".inbox.date IS 'Date field';
COMMENT ON COLUMN "oncedrop".inbox.received_at IS 'When it arrived; its INTERNALDATE';
COMMENT ON COLUMN "oncedrop".inbox.size IS 'Bytes';
COMMENT ON COLUMN "oncedrop".inbox.stored_at IS 'When it was known to be stored';

CREATE VIEW "oncedrop".outbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at,
           ARRAY(SELECT d.recipient FROM "oncedrop".delivery d WHERE d.message = m.id
                 AND NOT (d.mailbox = 'Sent' AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
                     IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*')))
                 ORDER BY d.id) AS recipients
      FROM "oncedrop".copy c JOIN "oncedrop".message m ON m.id = c.message
     WHERE c.state = 'stored'
       AND (c.role = 'sent' OR c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM "oncedrop".delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW "oncedrop".outbox IS 'Messages filed for their senders: one row for each Sent copy that is stored, also one made by sender_bcc_maps, in the mailbox Sent. Columns are only ever added';
COMMENT ON COLUMN "oncedrop".outbox.account IS 'IMAP account of the sender';
COMMENT ON COLUMN "oncedrop".outbox.mailbox IS 'The Sent mailbox, UTF-8, or \Sent: the one with that SPECIAL-USE';
COMMENT ON COLUMN "oncedrop".outbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL if the server did not report it';
COMMENT ON COLUMN "oncedrop".outbox.uid IS 'UID there; NULL if the server did not report it. The user may have moved it since';
COMMENT ON COLUMN "oncedrop".outbox.message IS 'Number of the message: message.id, address.message, part.message';
COMMENT ON COLUMN "oncedrop".outbox.message_id IS 'Message-ID without <>; NULL when missing or damaged';
COMMENT ON COLUMN "oncedrop".outbox.thread IS 'Message-ID with which the conversation began: the first of References, else In-Reply-To, else its own';
COMMENT ON COLUMN "oncedrop".outbox.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN "oncedrop".outbox."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN "oncedrop".outbox.sender IS 'Envelope sender';
COMMENT ON COLUMN "oncedrop".outbox."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN "oncedrop".outbox.subject IS 'Subject, decoded';
COMMENT ON COLUMN "oncedrop".outbox.date IS 'Date field';
COMMENT ON COLUMN "oncedrop".outbox.received_at IS 'When it arrived here; its INTERNALDATE';
COMMENT ON COLUMN "oncedrop".outbox.size IS 'Bytes';
COMMENT ON COLUMN "oncedrop".outbox.stored_at IS 'When it was known to be stored';
COMMENT ON COLUMN "oncedrop".outbox.recipients IS 'Envelope recipients that it was delivered to here; those elsewhere are not known';

-- Without a barrier, which would sort all rows to lock one: the policy of table feed limits it.
CREATE VIEW "oncedrop".waiting WITH (security_invoker) AS
    SELECT id, feed, copy, message, added_at, not_before, not_before <= statement_timestamp() AS due, tries, dead, error FROM "oncedrop".feed;
COMMENT ON VIEW "oncedrop".waiting IS 'What waits in the feeds of table feed_reader. Columns are only ever added';

CREATE VIEW "oncedrop".waiting_message WITH (security_barrier) AS
    SELECT f.id, f.feed, f.copy, f.message, m.message_id, coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread,
           m.in_reply_to, m."references", m.sender, ARRAY(SELECT d.recipient FROM "oncedrop".delivery d WHERE d.message = m.id
               AND (c.role = 'sent' OR d.account = c.account AND d.mailbox = c.mailbox) ORDER BY d.id) AS recipients,
           m."from", m.subject, m.date, m.received_at, m.size, c.account, c.mailbox, c.uidvalidity, c.uid
      FROM "oncedrop".feed f JOIN "oncedrop".copy c ON c.id = f.copy JOIN "oncedrop".message m ON m.id = f.message
     WHERE f.feed IN (SELECT r.feed FROM "oncedrop".feed_reader r WHERE r.reader = current_user);
COMMENT ON VIEW "oncedrop".waiting_message IS 'The messages of view waiting. Columns are only ever added';

CREATE VIEW "oncedrop".waiting_address WITH (security_barrier) AS
    SELECT * FROM "oncedrop".address WHERE message IN (SELECT f.message FROM "oncedrop".feed f JOIN "oncedrop".feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW "oncedrop".waiting_address IS 'Their addresses, as in table address';

CREATE VIEW "oncedrop".waiting_part WITH (security_barrier) AS
    SELECT * FROM "oncedrop".part WHERE message IN (SELECT f.message FROM "oncedrop".feed f JOIN "oncedrop".feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW "oncedrop".waiting_part IS 'Their parts, as in table part';

CREATE VIEW "oncedrop".waiting_raw WITH (security_barrier) AS
    SELECT * FROM "oncedrop".raw WHERE message IN (SELECT f.message FROM "oncedrop".feed f JOIN "oncedrop".feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW "oncedrop".waiting_raw IS 'Their bytes, as in table raw';

-- SCHEMA_delivery, for deliveries and replay, reads what distinguishes messages and copies, but no subject, address or text.
-- It writes the columns that a delivery writes, and reads those that it updates. It deletes only leases, and locks no table.
-- SCHEMA_operator, for show, list, stats, locks, resume and purge, also reads everything and deletes old messages.
-- SCHEMA_feed, for applications, takes what waits in the feeds that table feed_reader allows, and reads these messages.
-- Grant these to the roles in conninfo. Without the right to create roles, the schema is installed without them.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['oncedrop_delivery', 'oncedrop_operator', 'oncedrop_feed'] LOOP
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = name) THEN
            BEGIN
                EXECUTE pg_catalog.format('CREATE ROLE %I NOLOGIN', name);
            EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
                NULL;
            END;
        END IF;
    END LOOP;
END $$;

DO $$
DECLARE
    grantee text;
BEGIN
    FOR grantee IN SELECT rolname FROM pg_catalog.pg_roles WHERE rolname IN ('oncedrop_delivery', 'oncedrop_operator') LOOP
        EXECUTE pg_catalog.format('GRANT USAGE ON SCHEMA "oncedrop" TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT ON "oncedrop".schema_version, "oncedrop".setting TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, identity, digest, received_at),'
            ' INSERT (identity, digest, lock_key, message_id, sender, "from", subject, date, size, in_reply_to,'
            ' "references", received_at) ON "oncedrop".message TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, role, position, "group", name, address)'
            ' ON "oncedrop".address TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, path, type, charset, disposition, filename, size, sha256, text)'
            ' ON "oncedrop".part TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (message, chunk, data) ON "oncedrop".raw TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, recipient, original_recipient, account, mailbox, queue_id,'
            ' host, outcome, reason, attempts, finished_at, complete), INSERT (message, recipient, original_recipient, account,'
            ' mailbox, queue_id, host, outcome, reason, finished_at, complete), UPDATE (original_recipient, account, mailbox,'
            ' queue_id, host, outcome, reason, attempts, last_at, finished_at, complete) ON "oncedrop".delivery TO %I', grantee);
        -- UPDATE of first_at: for step end_ahead, if it is in the future.
        EXECUTE pg_catalog.format('GRANT SELECT (id, message, account, mailbox, role, state, doubt, generation, claimed_at,'
            ' claim, claimed_by, host, pid, first_at, uidvalidity, uid, repeated, boot, boot_us, host_us, feeds), INSERT (message,'
            ' account, mailbox, role, state, doubt, claim, claimed_by, host, pid, boot, boot_us, host_us), UPDATE (state,'
            ' doubt, generation, claimed_at, claim, claimed_by, host, pid, first_at, stored_at, uidvalidity, uid, error,'
            ' repeated, boot, boot_us, host_us, feeds) ON "oncedrop".copy TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (feed, copy, message) ON "oncedrop".feed TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT (delivery, claim), INSERT (delivery, claim, started_at, ended_at,'
            ' queue_id, queued_at, host, pid, outcome, reason, read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id),'
            ' UPDATE (ended_at, outcome, reason, read_ms, lock_ms, database_ms, imap_ms) ON "oncedrop".attempt TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, INSERT, UPDATE ON "oncedrop".server, "oncedrop".refusal TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (name, host, count) ON "oncedrop".event TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, UPDATE (unused) ON "oncedrop".slot TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT SELECT, DELETE, INSERT (key, owner, expires_at, host, pid, session),'
            ' UPDATE (owner, taken_at, expires_at, host, pid, session, "user") ON "oncedrop".lease TO %I', grantee);
    END LOOP;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'oncedrop_operator') THEN
        GRANT SELECT ON ALL TABLES IN SCHEMA "oncedrop" TO "oncedrop_operator";
        -- purge locks the rows that it deletes, which requires the right to update some column.
        GRANT DELETE, UPDATE (lock_key) ON "oncedrop".message TO "oncedrop_operator";
        GRANT DELETE ON "oncedrop".event, "oncedrop".refusal TO "oncedrop_operator";
        GRANT UPDATE, DELETE ON "oncedrop".feed TO "oncedrop_operator";
        GRANT INSERT, UPDATE ON "oncedrop".counter_bucket TO "oncedrop_operator";
        GRANT UPDATE ON "oncedrop".counter TO "oncedrop_operator";
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'oncedrop_feed') THEN
        GRANT USAGE ON SCHEMA "oncedrop" TO "oncedrop_feed";
        GRANT SELECT, UPDATE (not_before, tries, dead, error), DELETE ON "oncedrop".feed, "oncedrop".waiting TO "oncedrop_feed";
        GRANT SELECT ON "oncedrop".feed_reader, "oncedrop".waiting_message, "oncedrop".waiting_address, "oncedrop".waiting_part,
            "oncedrop".waiting_raw TO "oncedrop_feed";
        -- For all others nothing changes.
        ALTER TABLE "oncedrop".feed ENABLE ROW LEVEL SECURITY;
        CREATE POLICY others ON "oncedrop".feed USING (true);
        CREATE POLICY readers ON "oncedrop".feed AS RESTRICTIVE TO "oncedrop_feed"
            USING (feed IN (SELECT r.feed FROM "oncedrop".feed_reader r WHERE r.reader = current_user)
                OR EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname IN ('oncedrop_delivery', 'oncedrop_operator')
                    AND pg_catalog.pg_has_role(r.oid, 'USAGE')));
    END IF;
END $$;

INSERT INTO "oncedrop".schema_version (version) VALUES (1);
COMMIT;

DELETE FROM oncedrop.schema_version;
INSERT INTO oncedrop.schema_version ("version", "installed_at") OVERRIDING SYSTEM VALUE VALUES
(1, '2026-01-06 07:59:59.149505+00');
INSERT INTO oncedrop.message ("id", "identity", "digest", "lock_key", "message_id", "sender", "from", "subject", "date", "size", "in_reply_to", "references", "received_at") OVERRIDING SYSTEM VALUE VALUES
(1, '\xb4eb1c7610ccbced49d724aa25556695952fb83e8cb766c723bb615ad0b99ea0', '\xf82620733e55c3c017cc5c084906a1b32d82273bad0153895a49be13f024fb10', -5410199233941947155, 'stored@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'Grüße, Ж, 😀', '2025-08-01 08:00:00.000000+00', 731, 'second@elsewhere.example', ARRAY['first@elsewhere.example', 'second@elsewhere.example']::text[], '2026-01-05 08:00:00.000000+00'),
(2, '\xa9cdde5317200ecf39456de2b3dd93ffbe5516e5d26ed7ce6dce9ace2744b87d', '\x393aeb95f43f525f0a3f8794d179e57e46a7dbafad838ddba6a574069fc7a7f5', -6211063862622417201, NULL, 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'without-id', '2025-08-01 08:00:00.000000+00', 142, NULL, ARRAY[]::text[], '2026-01-05 08:00:00.000000+00'),
(3, '\x254d246a0bfede928f98d833cad0b00d32fc03a29900105255c3db61e4a9be2a', '\xe5069ba3e414ea912e05ea01fd55e546a4c37bdcf5967960e0fee259e65ae6cb', 2687844590496439954, 'envelope@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'envelope', '2025-08-01 08:00:00.000000+00', 179, NULL, ARRAY[]::text[], '2026-01-05 08:00:01.000000+00'),
(4, '\xe17951c90d5ae5a17c2e3e4fad187004071633df402a75f179c7c1287f37af5e', '\xadf0f03c31ce05965fecc5e36657cd258aa5c8699b71bd077abce9b9e49e24fb', -2199637019039439455, 'expired@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'expired', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:01.000000+00'),
(5, '\x0814b6aa667a5f75435759835c6fc4c011497e48a9e3ab7de8e72061425f048f', '\x82ebfd2d10962a5f14aa8a0e67dc021485f591984f15682628131899fcf21235', 582291094817628021, 'pending@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'pending', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:01.000000+00'),
(6, '\x8b931793b204385972cb8b53c013fb7b813945471cd156c694092f00b2a9b934', '\x3a56660e1480b66e0170e72ab76f075197a432ce62f7326be30bee0aa15d1331', -8389335757746849703, 'bounced@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'bounced', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(7, '\x19d8e029e29a592c24b51e0a6a7f4c951e06cb5a50c90535359f30753fb34b93', '\x87e422893149b9fc16f10e82ca12fbcd97fcfd3accb1c77ea1ece26d440988e7', 1862484916417747244, 'sent-failed@upgrade.example', 'full@upgrade.example', 'full@upgrade.example', 'sent-failed', '2025-08-01 08:00:00.000000+00', 181, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(8, '\x902a697ae102a8f82b1e72a4a4fa37fc7e5df59baaf89c4b8697dcc8d428994a', '\x7cf6fa8fc5d4fffde70b7b23463c012ac5afb2b967807a7b118013c2251e4e04', -8058512606744106760, 'refused@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'refused', '2025-08-01 08:00:00.000000+00', 177, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(9, '\xd63bfba7dd73ddd8e89e287a0493966234561cb53eb992e85252fa8a0bcf7b65', '\x2a04892415cde03e050cbe3363aa46c25e538e4ac2ef8c9b01546150efc1838f', -3009535227573576232, 'found@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'found', '2025-08-01 08:00:00.000000+00', 169, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(10, '\xbbacd03c765dca49a34f7725c3579d07865406b1bf6af6deaf291b4794f405f8', '\x637187d3c838e3aaca98a6f4c0439b8259cc5a52d118b9401a7d9c81b210f1de', -4923331334520321463, 'absent@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'absent', '2025-08-01 08:00:00.000000+00', 172, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(11, '\x7f91ce821f24933ef36e2bf20ffdabf32eecc436f83a406e30c7c826fc375c84', '\xed74626eb2564a352907597d9c195fd9c17d752cf0897e7758deb5e8ea46d5b5', 9192355372703454014, 'sent-absent@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'sent-absent', '2025-08-01 08:00:00.000000+00', 182, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(12, '\x7ddae61c0715a82dd4db217801f292f7f151717e434352ea272e8e6e2732a1e1', '\x55a3f6b0022a102071b529edc967971c49dce682ffc868db42cf630b6e55ea22', 9068813807716247597, 'support-taken@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-taken', '2025-08-01 08:00:00.000000+00', 196, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(13, '\x2ab0782b71972e9a3bb5a79ec8f95cea30a45fafca79c726e46f14b5c973c3ca', '\xde35d9f448ce1b6ea4ee7afec3e22e0f50587a662a46e5343e7d52ada069545f', 3076090673478708890, 'support-tried@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-tried', '2025-08-01 08:00:00.000000+00', 196, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(14, '\x9b86645ee845f17d777f9dd624150aac4850c6ecc4439d2e5faab2034f91315d', '\xbf7a18f9b2cb5364c076e76cf4fae3335f377ace31a795cbe824dba5ec42b877', -7239988992164892291, 'support-dead@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-dead', '2025-08-01 08:00:00.000000+00', 193, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(15, '\x95e5634137a8d048d340a2b463520d170a0f8042252a094e82b196c8ed2756d1', '\x6e1349f7d42a1c1ba428bd3aec7e56615054f0fab037acc83a1c96142ac23742', -7645595660633714616, 'support-waiting@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-waiting', '2025-08-01 08:00:00.000000+00', 202, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00');
INSERT INTO oncedrop.address ("message", "role", "position", "group", "name", "address") OVERRIDING SYSTEM VALUE VALUES
(1, 'cc', 1, 'Group', E'Doug \\ D.', 'doug@upgrade.example'),
(1, 'from', 1, NULL, NULL, 'lisa@upgrade.example'),
(1, 'to', 1, NULL, NULL, 'doug@upgrade.example'),
(2, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(2, 'to', 1, NULL, NULL, 'doug@upgrade.example'),
(4, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(4, 'to', 1, NULL, NULL, 'full@upgrade.example'),
(5, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(5, 'to', 1, NULL, NULL, 'full@upgrade.example'),
(6, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(6, 'to', 1, NULL, NULL, 'full@upgrade.example'),
(7, 'from', 1, NULL, NULL, 'full@upgrade.example'),
(7, 'to', 1, NULL, NULL, 'doug@upgrade.example'),
(8, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(8, 'to', 1, NULL, NULL, 'locked@upgrade.example'),
(9, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(9, 'to', 1, NULL, NULL, 'doug@upgrade.example'),
(10, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(10, 'to', 1, NULL, NULL, 'doug@upgrade.example'),
(11, 'from', 1, NULL, NULL, 'lisa@upgrade.example'),
(11, 'to', 1, NULL, NULL, 'scuba@upgrade.example'),
(12, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(12, 'to', 1, NULL, NULL, 'support@upgrade.example'),
(13, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(13, 'to', 1, NULL, NULL, 'support@upgrade.example'),
(14, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(14, 'to', 1, NULL, NULL, 'support@upgrade.example'),
(15, 'from', 1, NULL, NULL, 'stranger@elsewhere.example'),
(15, 'to', 1, NULL, NULL, 'support@upgrade.example');
INSERT INTO oncedrop.part ("message", "path", "type", "charset", "disposition", "filename", "size", "sha256", "text") OVERRIDING SYSTEM VALUE VALUES
(1, '1', 'text/plain', 'utf-8', NULL, NULL, 51, '\xd4c072b9153ca71984be25a3b25ba3a3a03890dace2406fcc617a12e90d2f77e', E'Grüße, Ж, €, 😀, it''s "quoted" \\ and more.\r\n'),
(1, '2', 'application/octet-stream', NULL, 'attachment', 'Bär.bin', 10, '\x1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3', NULL),
(2, '1', 'text/plain', NULL, NULL, NULL, 21, '\xc4636ffbeaba8cf22980d86fbde3d941b124caa88518c295b6ab9f9fdede8bda', E'This is without-id.\r\n'),
(4, '1', 'text/plain', NULL, NULL, NULL, 18, '\x40d108cf2d0408232a30730a7f9953a6131176d6c58007fde674eae04eaebeec', E'This is expired.\r\n'),
(5, '1', 'text/plain', NULL, NULL, NULL, 18, '\xca3998717ddc1cffaf69d3d4a906e910ea3944e4e066df145eae026ac45e4b3f', E'This is pending.\r\n'),
(6, '1', 'text/plain', NULL, NULL, NULL, 18, '\xaf5471cd577493f038e6112085881fdd4ae06f492a64ba77ef113711d267f0ee', E'This is bounced.\r\n'),
(7, '1', 'text/plain', NULL, NULL, NULL, 22, '\x231ba4bb704adb075775598773b28b7835f688f9281a9ef789182b7c492b9662', E'This is sent-failed.\r\n'),
(8, '1', 'text/plain', NULL, NULL, NULL, 18, '\x3b6a69174847223d65b29612199b8ac1a3824f21743f76c31061460b1079c2ea', E'This is refused.\r\n'),
(9, '1', 'text/plain', NULL, NULL, NULL, 16, '\xb65a67850257a3092a8f9a97df852dd10ae55af9d702fd58452fc758d8c47c6b', E'This is found.\r\n'),
(10, '1', 'text/plain', NULL, NULL, NULL, 17, '\x10799be364bb4d8f0cdba88735ff344b496b4e9840b4307aae8dcdf300105e4c', E'This is absent.\r\n'),
(11, '1', 'text/plain', NULL, NULL, NULL, 22, '\x143bb015a7e28b1e99f413a138a2fb7412012b4130d3c0165d98f1f21b966e33', E'This is sent-absent.\r\n'),
(12, '1', 'text/plain', NULL, NULL, NULL, 24, '\x50fe5cdb685b9ebaa2678be4b6df0fa80544991d14395cd5884dfaf1d91f07dd', E'This is support-taken.\r\n'),
(13, '1', 'text/plain', NULL, NULL, NULL, 24, '\xebdd69387d6b0e72c48828c45eb519d99e0431545d03bbd6073c91b9749526a5', E'This is support-tried.\r\n'),
(14, '1', 'text/plain', NULL, NULL, NULL, 23, '\x9bfaa075f0a00b348660815fc6a60a51e57ff0beab3e08b67e74672b87180660', E'This is support-dead.\r\n'),
(15, '1', 'text/plain', NULL, NULL, NULL, 26, '\x2ff0f3a550611ad8d0cb835013edc40d3d67e56540ad641c5b9858ee7a5a0981', E'This is support-waiting.\r\n');
INSERT INTO oncedrop.raw ("message", "chunk", "data") OVERRIDING SYSTEM VALUE VALUES
(1, 0, convert_to(E'From: lisa@upgrade.example\r\nTo: doug@upgrade.example\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe=2C_=D0=96=2C?= =?utf-8?b?IPCfmIA=?=\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <stored@upgrade.example>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\nReferences: <first@elsewhere.example> <second@elsewhere.example>\r\nIn-Reply-To: <second@elsewhere.example>\r\nCc: Group: "Doug \\\\ D." <doug@upgrade.example>;\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGrüße, Ж, €, 😀, it''s "quoted" \\ and more.\r\n\r\n--b\r\nContent-Type: application/octet-stream; name="=?utf-8?q?B=C3=A4r.bin?="\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\nAAECAwQFBgcICQ==\r\n\r\n--b--\r\n', 'UTF8')),
(2, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: without-id\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\n\r\nThis is without-id.\r\n', 'UTF8')),
(4, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: expired\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <expired@upgrade.example>\r\n\r\nThis is expired.\r\n', 'UTF8')),
(5, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: pending\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <pending@upgrade.example>\r\n\r\nThis is pending.\r\n', 'UTF8')),
(6, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: bounced\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <bounced@upgrade.example>\r\n\r\nThis is bounced.\r\n', 'UTF8')),
(7, 0, convert_to(E'From: full@upgrade.example\r\nTo: doug@upgrade.example\r\nSubject: sent-failed\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <sent-failed@upgrade.example>\r\n\r\nThis is sent-failed.\r\n', 'UTF8')),
(8, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: locked@upgrade.example\r\nSubject: refused\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <refused@upgrade.example>\r\n\r\nThis is refused.\r\n', 'UTF8')),
(9, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: found\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <found@upgrade.example>\r\n\r\nThis is found.\r\n', 'UTF8')),
(10, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: absent\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <absent@upgrade.example>\r\n\r\nThis is absent.\r\n', 'UTF8')),
(11, 0, convert_to(E'From: lisa@upgrade.example\r\nTo: scuba@upgrade.example\r\nSubject: sent-absent\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <sent-absent@upgrade.example>\r\n\r\nThis is sent-absent.\r\n', 'UTF8')),
(12, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-taken\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-taken@upgrade.example>\r\n\r\nThis is support-taken.\r\n', 'UTF8')),
(13, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-tried\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-tried@upgrade.example>\r\n\r\nThis is support-tried.\r\n', 'UTF8')),
(14, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-dead\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-dead@upgrade.example>\r\n\r\nThis is support-dead.\r\n', 'UTF8')),
(15, 0, convert_to(E'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-waiting\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-waiting@upgrade.example>\r\n\r\nThis is support-waiting.\r\n', 'UTF8'));
INSERT INTO oncedrop.delivery ("id", "message", "recipient", "original_recipient", "account", "mailbox", "queue_id", "host", "outcome", "reason", "attempts", "first_at", "last_at", "finished_at", "complete") OVERRIDING SYSTEM VALUE VALUES
(1, 1, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'duplicate', 'duplicate uid=1 mailbox=INBOX', 2, '2026-01-05 08:00:00.505611+00', '2026-01-05 08:00:00.881268+00', '2026-01-05 08:00:00.613870+00', true),
(2, 1, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-05 08:00:00.723262+00', '2026-01-05 08:00:00.767601+00', '2026-01-05 08:00:00.767601+00', true),
(4, 2, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q1', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-05 08:00:00.966283+00', '2026-01-05 08:00:00.995436+00', '2026-01-05 08:00:00.995436+00', true),
(5, 3, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q2', 'mail.example.org', 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 2, '2026-01-05 08:00:01.059177+00', '2026-01-05 08:00:01.400360+00', '2026-01-05 08:00:01.099888+00', true),
(7, 4, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q9', 'mail.example.org', 'expired', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.015 + 0.000 + 0.014 secs).', 1, '2026-01-06 08:00:01.777926+00', '2026-01-06 08:00:01.811203+00', '2026-01-06 08:00:01.892779+00', true),
(8, 5, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q7', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, '2026-01-06 08:00:01.973613+00', '2026-01-06 08:00:02.115554+00', NULL, true),
(10, 6, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q8', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, '2026-01-06 08:00:02.189322+00', '2026-01-06 08:00:02.204666+00', '2026-01-06 08:00:02.204666+00', true),
(11, 7, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q6', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:02.285567+00', '2026-01-06 08:00:02.327720+00', '2026-01-06 08:00:02.327720+00', true),
(12, 8, 'locked@upgrade.example', NULL, 'locked@upgrade.example', 'INBOX', 'Q10', 'mail.example.org', 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, '2026-01-06 08:00:02.400667+00', '2026-01-06 08:00:02.895554+00', NULL, true),
(13, 9, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 2, '2026-01-06 08:00:03.056689+00', '2026-01-06 08:00:03.169207+00', NULL, false),
(15, 10, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 1, '2026-01-06 08:00:03.295939+00', '2026-01-06 08:00:03.295939+00', NULL, false),
(16, 11, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:03.417683+00', '2026-01-06 08:00:03.435397+00', NULL, true),
(17, 12, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q11', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-06 08:00:03.497939+00', '2026-01-06 08:00:03.532037+00', '2026-01-06 08:00:03.532037+00', true),
(18, 13, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q13', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-06 08:00:03.569556+00', '2026-01-06 08:00:03.595848+00', '2026-01-06 08:00:03.595848+00', true),
(19, 14, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q14', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:03.689882+00', '2026-01-06 08:00:03.717546+00', '2026-01-06 08:00:03.717546+00', true),
(20, 15, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q12', 'mail.example.org', 'stored', 'stored uid=4 mailbox=INBOX', 1, '2026-01-06 08:00:03.989180+00', '2026-01-06 08:00:04.028151+00', '2026-01-06 08:00:04.028151+00', true);
INSERT INTO oncedrop.attempt ("delivery", "claim", "started_at", "ended_at", "queue_id", "queued_at", "host", "pid", "outcome", "reason", "read_ms", "lock_ms", "database_ms", "imap_ms", "trace_id", "span_id") OVERRIDING SYSTEM VALUE VALUES
(1, -6140695683871002058, '2026-01-05 08:00:00.327791+00', '2026-01-05 08:00:00.613897+00', 'Q0', NULL, 'mail.example.org', 7716, 'stored', 'stored uid=1 mailbox=INBOX', 2, 32, 153, 108, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\xf649926e1fdead91'),
(1, -1918489637076092860, '2026-01-05 08:00:00.790452+00', '2026-01-05 08:00:00.881453+00', 'Q0', NULL, 'mail.example.org', 7740, 'duplicate', 'duplicate uid=1 mailbox=INBOX', 9, 30, 52, 0, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\x891aa95d1ab440aa'),
(2, -1663496947532311249, '2026-01-05 08:00:00.641331+00', '2026-01-05 08:00:00.767647+00', 'Q0', NULL, 'mail.example.org', 7734, 'stored', 'stored uid=1 mailbox=INBOX', 1, 31, 50, 50, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\x17a58030f48c9725'),
(4, -8184019266134639410, '2026-01-05 08:00:00.929643+00', '2026-01-05 08:00:00.995479+00', 'Q1', NULL, 'mail.example.org', 7745, 'stored', 'stored uid=2 mailbox=INBOX', 6, 19, 49, 23, '\x4d1da0028b3f55b5db110e8aba7263ba', '\x1b71a96c65570f44'),
(5, -5503053613966395000, '2026-01-05 08:00:01.368688+00', '2026-01-05 08:00:01.400400+00', NULL, NULL, 'mail.example.org', 7772, 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 0, 14, 1, 16, '\xf08666677d1e6c48e30ebd4dabf11814', '\xef75d639cb46d282'),
(5, 6759516520769466166, '2026-01-05 08:00:01.028266+00', '2026-01-05 08:00:01.099934+00', 'Q2', NULL, 'mail.example.org', 7750, 'stored', 'stored uid=2 mailbox=INBOX', 6, 18, 25, 37, NULL, NULL),
(7, 4794167899039872212, '2026-01-06 08:00:01.721989+00', '2026-01-06 08:00:01.811247+00', 'Q9', NULL, 'mail.example.org', 7804, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.015 + 0.000 + 0.014 secs).', 18, 7, 58, 16, '\xbf8a61f163bd58e28c2bcd85752a10ca', '\x1ac248459f74515c'),
(8, 1204324242229407726, '2026-01-06 08:00:02.014734+00', '2026-01-06 08:00:02.115587+00', 'Q7', NULL, 'mail.example.org', 7832, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, 41, 49, 6, '\xd110cfa94060929da692fcfc57254dd6', '\xe9522544da1af248'),
(8, 2403270145678618511, '2026-01-06 08:00:01.938679+00', '2026-01-06 08:00:01.990687+00', 'Q7', NULL, 'mail.example.org', 7823, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 5, 60, 8, '\xd110cfa94060929da692fcfc57254dd6', '\x9510d8e828fe9c49'),
(10, 5798801193786161604, '2026-01-06 08:00:02.157384+00', '2026-01-06 08:00:02.204705+00', 'Q8', NULL, 'mail.example.org', 7844, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, 9, 50, 7, '\xc560df493a76ce692a76cbcd373f0fa3', '\xb36d9e2ada33ba4b'),
(11, -1509817249167552264, '2026-01-06 08:00:02.237630+00', '2026-01-06 08:00:02.327748+00', 'Q6', NULL, 'mail.example.org', 7858, 'stored', 'stored uid=3 mailbox=INBOX', 8, 5, 67, 27, '\x5941b22002adf9c020b87999eac36898', '\x6a23f5c4eeea2c84'),
(12, -8572031656309901198, '2026-01-06 08:00:02.354738+00', '2026-01-06 08:00:02.895600+00', 'Q10', NULL, 'mail.example.org', 7873, 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 14, 6, 32, 505, '\xc2d539b7960e195387ff31e85870f09e', '\xb4441c27f09e4a11'),
(13, 3881805764233294622, '2026-01-06 08:00:02.916725+00', NULL, 'QDIED', NULL, 'mail.example.org', 7915, 'claimed', NULL, 4, 41, 95, 0, '\x1fd3238e51428894f39ee07f12fd8468', '\x8c952147c51e0b10'),
(13, 8218211311709777763, '2026-01-06 08:00:03.096249+00', NULL, 'QDIED', NULL, 'mail.example.org', 7975, 'claimed', NULL, 0, 29, 44, 0, '\x1fd3238e51428894f39ee07f12fd8468', '\x84772d56cbeff076'),
(15, -6737281839404405021, '2026-01-06 08:00:03.211009+00', NULL, 'QDIED', NULL, 'mail.example.org', 7997, 'claimed', NULL, 0, 10, 75, 0, '\xc9a5ca083e25556271fb6b1a8afb979a', '\x071f5cfc008090f9'),
(16, 5347749170602629624, '2026-01-06 08:00:03.333720+00', '2026-01-06 08:00:03.435439+00', 'QDIED', NULL, 'mail.example.org', 8019, 'stored', 'stored uid=3 mailbox=INBOX', 0, 48, 38, 13, '\xb740c703e753b8fd84fb4a243aa8a6e4', '\x8d1a3216727344e5'),
(17, -178404894326132793, '2026-01-06 08:00:03.484005+00', '2026-01-06 08:00:03.532089+00', 'Q11', NULL, 'mail.example.org', 8040, 'stored', 'stored uid=1 mailbox=INBOX', 1, 23, 13, 19, '\x6304e3780022fb6f79e37367b1fef74f', '\xf5b4210a0a815051'),
(18, 4580549601800786340, '2026-01-06 08:00:03.555620+00', '2026-01-06 08:00:03.595888+00', 'Q13', NULL, 'mail.example.org', 8046, 'stored', 'stored uid=2 mailbox=INBOX', 2, 12, 24, 16, '\x1466d8940164830b2eb9b4634daf8af0', '\x62cd1bc3da7a1799'),
(19, 6022979370544857079, '2026-01-06 08:00:03.636949+00', '2026-01-06 08:00:03.717587+00', 'Q14', NULL, 'mail.example.org', 8051, 'stored', 'stored uid=3 mailbox=INBOX', 8, 23, 56, 14, '\x6fe90c4689c55828d431e28d172d889a', '\x24a1a5dfaabaaae3'),
(20, 8255362075564547106, '2026-01-06 08:00:03.896246+00', '2026-01-06 08:00:04.028193+00', 'Q12', NULL, 'mail.example.org', 8075, 'stored', 'stored uid=4 mailbox=INBOX', 0, 6, 113, 22, '\x2dd8ef28b2528a2136bbdafd39015729', '\xedd6d948bd5d201f');
INSERT INTO oncedrop.copy ("id", "message", "account", "mailbox", "role", "state", "doubt", "generation", "claimed_at", "claim", "claimed_by", "host", "pid", "first_at", "stored_at", "uidvalidity", "uid", "error", "repeated", "feeds", "boot", "boot_us", "host_us") OVERRIDING SYSTEM VALUE VALUES
(1, 1, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:00.525916+00', -6140695683871002058, 1, 'mail.example.org', 7716, '2026-01-05 08:00:00.525916+00', '2026-01-05 08:00:00.550985+00', 1796067697, 1, NULL, 0, NULL, 7685298789696752262, 1767668554217821, 31372),
(2, 1, 'lisa@upgrade.example', 'Sent', 'sent', 'stored', false, 1, '2026-01-05 08:00:00.526797+00', -6140695683871002058, 1, 'mail.example.org', 7716, '2026-01-05 08:00:00.526797+00', '2026-01-05 08:00:00.613258+00', 1796067698, 1, NULL, 0, ',sent,', 7685298789696752262, 1767668554218791, 32303),
(3, 1, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:00.724483+00', -1663496947532311249, 2, 'mail.example.org', 7734, '2026-01-05 08:00:00.724484+00', '2026-01-05 08:00:00.766995+00', 1796067697, 1, NULL, 0, NULL, 7685298789696752262, 1767668554198438, 11437),
(4, 2, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:00.986236+00', -8184019266134639410, 4, 'mail.example.org', 7745, '2026-01-05 08:00:00.986236+00', '2026-01-05 08:00:00.994930+00', 1796067697, 2, NULL, 0, NULL, 7685298789696752262, 1767668554221178, 34093),
(5, 3, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 2, '2026-01-05 08:00:01.384564+00', -5503053613966395000, 5, 'mail.example.org', 7772, '2026-01-05 08:00:01.060826+00', '2026-01-05 08:00:01.399848+00', 1796067697, 2, NULL, 1, NULL, 7685298789696752262, 1767668554188542, 2055),
(7, 4, 'full@upgrade.example', 'INBOX', 'inbox', 'expired', false, 1, '2026-01-06 08:00:01.803689+00', 4794167899039872212, 7, 'mail.example.org', 7804, '2026-01-06 08:00:01.803689+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.015 + 0.000 + 0.014 secs).', 0, NULL, 7685298789696752262, 1767668554226623, 39517),
(8, 5, 'full@upgrade.example', 'INBOX', 'inbox', 'pending', false, 2, '2026-01-06 08:00:02.101496+00', 1204324242229407726, 8, 'mail.example.org', 7832, '2026-01-06 08:00:01.984436+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668554194472, 7994),
(10, 6, 'full@upgrade.example', 'INBOX', 'inbox', 'failed', false, 1, '2026-01-06 08:00:02.199943+00', 5798801193786161604, 10, 'mail.example.org', 7844, '2026-01-06 08:00:02.199943+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668554219882, 33304),
(11, 7, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:02.299082+00', -1509817249167552264, 11, 'mail.example.org', 7858, '2026-01-06 08:00:02.299082+00', '2026-01-06 08:00:02.307054+00', 1796067697, 3, NULL, 0, NULL, 7685298789696752262, 1767668554218023, 30938),
(12, 7, 'full@upgrade.example', 'Sent', 'sent', 'failed', false, 1, '2026-01-06 08:00:02.299761+00', -1509817249167552264, 11, 'mail.example.org', 7858, '2026-01-06 08:00:02.299762+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox Sent refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.008 + 0.000 + 0.007 secs).', 0, NULL, 7685298789696752262, 1767668554218757, 31631),
(13, 8, 'locked@upgrade.example', 'INBOX', 'inbox', 'pending', false, 1, '2026-01-06 08:00:02.410630+00', -8572031656309901198, 12, 'mail.example.org', 7873, '2026-01-06 08:00:02.410630+00', NULL, NULL, NULL, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 0, NULL, 7685298789696752262, 1767668554218549, 31940),
(14, 9, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', true, 2, '2026-01-06 08:00:03.170096+00', 8218211311709777763, 13, 'mail.example.org', 7975, '2026-01-06 08:00:03.057541+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668554189067, 2204),
(16, 10, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', false, 1, '2026-01-06 08:00:03.303726+00', -6737281839404405021, 15, 'mail.example.org', 7997, '2026-01-06 08:00:03.303726+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668554203661, 17179),
(17, 11, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:03.426740+00', 5347749170602629624, 16, 'mail.example.org', 8019, '2026-01-06 08:00:03.426741+00', '2026-01-06 08:00:03.434913+00', 1796067697, 3, NULL, 0, NULL, 7685298789696752262, 1767668554198644, 11758),
(18, 11, 'lisa@upgrade.example', 'Sent', 'sent', 'appending', false, 1, '2026-01-06 08:00:03.427356+00', 5347749170602629624, 16, 'mail.example.org', 8019, '2026-01-06 08:00:03.427357+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668554199352, 12421),
(19, 12, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:03.511803+00', -178404894326132793, 17, 'mail.example.org', 8040, '2026-01-06 08:00:03.511803+00', '2026-01-06 08:00:03.531544+00', 1796067700, 1, NULL, 0, ',support,', 7685298789696752262, 1767668554214727, 27975),
(20, 13, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:03.587098+00', 4580549601800786340, 18, 'mail.example.org', 8046, '2026-01-06 08:00:03.587098+00', '2026-01-06 08:00:03.595395+00', 1796067700, 2, NULL, 0, ',support,', 7685298789696752262, 1767668554223032, 36479),
(21, 14, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:03.698955+00', 6022979370544857079, 19, 'mail.example.org', 8051, '2026-01-06 08:00:03.698955+00', '2026-01-06 08:00:03.717080+00', 1796067700, 3, NULL, 0, ',support,', 7685298789696752262, 1767668554217895, 30942),
(22, 15, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:04.001714+00', 8255362075564547106, 20, 'mail.example.org', 8075, '2026-01-06 08:00:04.001714+00', '2026-01-06 08:00:04.027672+00', 1796067700, 4, NULL, 0, ',support,', 7685298789696752262, 1767668554221645, 35031);
INSERT INTO oncedrop.feed ("id", "feed", "copy", "message", "added_at", "not_before", "tries", "dead", "owner", "error") OVERRIDING SYSTEM VALUE VALUES
(1, 'sent', 2, 1, '2026-01-06 08:00:00.612700+00', '2026-01-06 08:00:00.612700+00', 0, false, 0, NULL),
(3, 'support', 20, 13, '2026-01-06 08:00:03.594965+00', '2026-01-06 08:00:13.830124+00', 1, false, 3030825035326750794, 'the command exited with status 75'),
(4, 'support', 21, 14, '2026-01-06 08:00:03.716653+00', '2026-01-06 08:00:13.854730+00', 1, true, 5236843311942410995, 'the command exited with status 1'),
(5, 'support', 22, 15, '2026-01-06 08:00:04.027161+00', '2026-01-06 08:00:04.027161+00', 0, false, 0, NULL);
INSERT INTO oncedrop.feed_reader ("reader", "feed") OVERRIDING SYSTEM VALUE VALUES
('helpdesk', 'support');
INSERT INTO oncedrop.server ("server", "verified", "checked_at", "tried_at") OVERRIDING SYSTEM VALUE VALUES
('127.0.0.1 port 993 on mail.example.org as oncedrop', true, '2026-01-06 08:00:00.491149+00', '2026-01-06 08:00:00.491149+00'),
('127.0.0.1 port 994 on mail.example.org as oncedrop', true, '2026-01-06 08:00:03.166116+00', '2026-01-06 08:00:03.166116+00'),
('127.0.0.1 port 995 on mail.example.org as oncedrop', true, '2026-01-06 08:00:03.050853+00', '2026-01-06 08:00:03.050853+00'),
('127.0.0.1 port 996 on mail.example.org as oncedrop', true, '2026-01-06 08:00:03.274893+00', '2026-01-06 08:00:03.274893+00'),
('127.0.0.1 port 997 on mail.example.org as oncedrop', true, '2026-01-06 08:00:03.404108+00', '2026-01-06 08:00:03.404109+00');
INSERT INTO oncedrop.refusal ("id", "server", "account", "refusals", "refused_at", "wait_ms", "reason") OVERRIDING SYSTEM VALUE VALUES
('645fb1b6a1cd23e472138d4f1764765cacf20e796618605fe92b329ff858fc09', '127.0.0.1 port 993 on mail.example.org as each account, password of 1796067699330130846', 'locked@upgrade.example', 1, '2026-01-06 08:00:02.898634+00', 60000, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)');
INSERT INTO oncedrop.event ("id", "at", "name", "host", "count") OVERRIDING SYSTEM VALUE VALUES
(3, '2026-01-06 08:00:01.684027+00', 'busy', 'mail.example.org', 1),
(4, '2026-01-06 08:00:03.178357+00', 'search', 'mail.example.org', 1);
INSERT INTO oncedrop.counter_bucket ("name", "label", "le", "value") OVERRIDING SYSTEM VALUE VALUES
('counted_until', '', 0, 1767682801000000),
('deferrals', 'busy', 0, 1),
('deliveries', 'deferred', 0, 1),
('deliveries', 'duplicate', 0, 2),
('deliveries', 'stored', 0, 4),
('phase', 'database', 5, 1),
('phase', 'database', 25, 1),
('phase', 'database', 50, 2),
('phase', 'database', 100, 1),
('phase', 'database', 250, 1),
('phase', 'imap', 5, 1),
('phase', 'imap', 25, 2),
('phase', 'imap', 50, 2),
('phase', 'imap', 250, 1),
('phase', 'lock', 25, 3),
('phase', 'lock', 50, 3),
('phase', 'read', 5, 3),
('phase', 'read', 10, 3),
('phase_ms', 'database', 0, 330),
('phase_ms', 'imap', 0, 234),
('phase_ms', 'lock', 0, 144),
('phase_ms', 'read', 0, 24),
('searches', '', 0, 1);
DELETE FROM oncedrop.counter;
INSERT INTO oncedrop.counter ("last_message", "messages", "bytes", "last_copy", "copies") OVERRIDING SYSTEM VALUE VALUES
(3, 3, 1052, 5, 5);
DELETE FROM oncedrop.setting;
INSERT INTO oncedrop.setting ("lock_method") OVERRIDING SYSTEM VALUE VALUES
('advisory');
INSERT INTO oncedrop.lease ("key", "owner", "taken_at", "expires_at", "host", "pid", "session", "user") OVERRIDING SYSTEM VALUE VALUES
(-4923331334520321463, 5730113741344372936, '2026-01-06 08:00:03.304344+00', '2026-01-06 08:01:03.304344+00', 'mail.example.org', 7997, 'oncedrop mail.example.org[7997] QDIED', 'mailer');
SELECT setval('oncedrop.message_id_seq', 15, true);
SELECT setval('oncedrop.delivery_id_seq', 20, true);
SELECT setval('oncedrop.copy_id_seq', 22, true);
SELECT setval('oncedrop.feed_id_seq', 5, true);
SELECT setval('oncedrop.event_id_seq', 4, true);
