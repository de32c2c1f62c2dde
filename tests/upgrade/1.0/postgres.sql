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
(1, '2026-01-06 07:59:59.556041+00');
INSERT INTO oncedrop.message ("id", "identity", "digest", "lock_key", "message_id", "sender", "from", "subject", "date", "size", "in_reply_to", "references", "received_at") OVERRIDING SYSTEM VALUE VALUES
(1, '\xb4eb1c7610ccbced49d724aa25556695952fb83e8cb766c723bb615ad0b99ea0', '\xf82620733e55c3c017cc5c084906a1b32d82273bad0153895a49be13f024fb10', -5410199233941947155, 'stored@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'Grüße, Ж, 😀', '2025-08-01 08:00:00.000000+00', 731, 'second@elsewhere.example', ARRAY['first@elsewhere.example', 'second@elsewhere.example']::text[], '2026-01-05 08:00:00.000000+00'),
(2, '\xa9cdde5317200ecf39456de2b3dd93ffbe5516e5d26ed7ce6dce9ace2744b87d', '\x393aeb95f43f525f0a3f8794d179e57e46a7dbafad838ddba6a574069fc7a7f5', -6211063862622417201, NULL, 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'without-id', '2025-08-01 08:00:00.000000+00', 142, NULL, ARRAY[]::text[], '2026-01-05 08:00:01.000000+00'),
(3, '\x254d246a0bfede928f98d833cad0b00d32fc03a29900105255c3db61e4a9be2a', '\xe5069ba3e414ea912e05ea01fd55e546a4c37bdcf5967960e0fee259e65ae6cb', 2687844590496439954, 'envelope@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'envelope', '2025-08-01 08:00:00.000000+00', 179, NULL, ARRAY[]::text[], '2026-01-05 08:00:01.000000+00'),
(4, '\xe17951c90d5ae5a17c2e3e4fad187004071633df402a75f179c7c1287f37af5e', '\xadf0f03c31ce05965fecc5e36657cd258aa5c8699b71bd077abce9b9e49e24fb', -2199637019039439455, 'expired@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'expired', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(5, '\x0814b6aa667a5f75435759835c6fc4c011497e48a9e3ab7de8e72061425f048f', '\x82ebfd2d10962a5f14aa8a0e67dc021485f591984f15682628131899fcf21235', 582291094817628021, 'pending@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'pending', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:02.000000+00'),
(6, '\x8b931793b204385972cb8b53c013fb7b813945471cd156c694092f00b2a9b934', '\x3a56660e1480b66e0170e72ab76f075197a432ce62f7326be30bee0aa15d1331', -8389335757746849703, 'bounced@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'bounced', '2025-08-01 08:00:00.000000+00', 175, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(7, '\x19d8e029e29a592c24b51e0a6a7f4c951e06cb5a50c90535359f30753fb34b93', '\x87e422893149b9fc16f10e82ca12fbcd97fcfd3accb1c77ea1ece26d440988e7', 1862484916417747244, 'sent-failed@upgrade.example', 'full@upgrade.example', 'full@upgrade.example', 'sent-failed', '2025-08-01 08:00:00.000000+00', 181, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(8, '\x902a697ae102a8f82b1e72a4a4fa37fc7e5df59baaf89c4b8697dcc8d428994a', '\x7cf6fa8fc5d4fffde70b7b23463c012ac5afb2b967807a7b118013c2251e4e04', -8058512606744106760, 'refused@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'refused', '2025-08-01 08:00:00.000000+00', 177, NULL, ARRAY[]::text[], '2026-01-06 08:00:03.000000+00'),
(9, '\xd63bfba7dd73ddd8e89e287a0493966234561cb53eb992e85252fa8a0bcf7b65', '\x2a04892415cde03e050cbe3363aa46c25e538e4ac2ef8c9b01546150efc1838f', -3009535227573576232, 'found@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'found', '2025-08-01 08:00:00.000000+00', 169, NULL, ARRAY[]::text[], '2026-01-06 08:00:04.000000+00'),
(10, '\xbbacd03c765dca49a34f7725c3579d07865406b1bf6af6deaf291b4794f405f8', '\x637187d3c838e3aaca98a6f4c0439b8259cc5a52d118b9401a7d9c81b210f1de', -4923331334520321463, 'absent@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'absent', '2025-08-01 08:00:00.000000+00', 172, NULL, ARRAY[]::text[], '2026-01-06 08:00:04.000000+00'),
(11, '\x7f91ce821f24933ef36e2bf20ffdabf32eecc436f83a406e30c7c826fc375c84', '\xed74626eb2564a352907597d9c195fd9c17d752cf0897e7758deb5e8ea46d5b5', 9192355372703454014, 'sent-absent@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'sent-absent', '2025-08-01 08:00:00.000000+00', 182, NULL, ARRAY[]::text[], '2026-01-06 08:00:04.000000+00'),
(12, '\x7ddae61c0715a82dd4db217801f292f7f151717e434352ea272e8e6e2732a1e1', '\x55a3f6b0022a102071b529edc967971c49dce682ffc868db42cf630b6e55ea22', 9068813807716247597, 'support-taken@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-taken', '2025-08-01 08:00:00.000000+00', 196, NULL, ARRAY[]::text[], '2026-01-06 08:00:05.000000+00'),
(13, '\x2ab0782b71972e9a3bb5a79ec8f95cea30a45fafca79c726e46f14b5c973c3ca', '\xde35d9f448ce1b6ea4ee7afec3e22e0f50587a662a46e5343e7d52ada069545f', 3076090673478708890, 'support-tried@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-tried', '2025-08-01 08:00:00.000000+00', 196, NULL, ARRAY[]::text[], '2026-01-06 08:00:05.000000+00'),
(14, '\x9b86645ee845f17d777f9dd624150aac4850c6ecc4439d2e5faab2034f91315d', '\xbf7a18f9b2cb5364c076e76cf4fae3335f377ace31a795cbe824dba5ec42b877', -7239988992164892291, 'support-dead@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-dead', '2025-08-01 08:00:00.000000+00', 193, NULL, ARRAY[]::text[], '2026-01-06 08:00:05.000000+00'),
(15, '\x95e5634137a8d048d340a2b463520d170a0f8042252a094e82b196c8ed2756d1', '\x6e1349f7d42a1c1ba428bd3aec7e56615054f0fab037acc83a1c96142ac23742', -7645595660633714616, 'support-waiting@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-waiting', '2025-08-01 08:00:00.000000+00', 202, NULL, ARRAY[]::text[], '2026-01-06 08:00:05.000000+00');
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
(1, 1, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'duplicate', 'duplicate uid=1 mailbox=INBOX', 2, '2026-01-05 08:00:01.009884+00', '2026-01-05 08:00:01.254238+00', '2026-01-05 08:00:01.054175+00', true),
(2, 1, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-05 08:00:01.139030+00', '2026-01-05 08:00:01.171350+00', '2026-01-05 08:00:01.171350+00', true),
(4, 2, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q1', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-05 08:00:01.313626+00', '2026-01-05 08:00:01.338645+00', '2026-01-05 08:00:01.338645+00', true),
(5, 3, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q2', 'mail.example.org', 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 2, '2026-01-05 08:00:01.441094+00', '2026-01-05 08:00:01.894507+00', '2026-01-05 08:00:01.477451+00', true),
(7, 4, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q9', 'mail.example.org', 'expired', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.041 + 0.000 + 0.041 secs).', 1, '2026-01-06 08:00:02.584930+00', '2026-01-06 08:00:02.630557+00', '2026-01-06 08:00:02.816277+00', true),
(8, 5, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q7', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, '2026-01-06 08:00:02.958827+00', '2026-01-06 08:00:03.239637+00', NULL, true),
(10, 6, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q8', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, '2026-01-06 08:00:03.305531+00', '2026-01-06 08:00:03.352124+00', '2026-01-06 08:00:03.352124+00', true),
(11, 7, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q6', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:03.510122+00', '2026-01-06 08:00:03.567369+00', '2026-01-06 08:00:03.567369+00', true),
(12, 8, 'locked@upgrade.example', NULL, 'locked@upgrade.example', 'INBOX', 'Q10', 'mail.example.org', 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, '2026-01-06 08:00:03.659036+00', '2026-01-06 08:00:04.155705+00', NULL, true),
(13, 9, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 2, '2026-01-06 08:00:04.387089+00', '2026-01-06 08:00:04.643226+00', NULL, false),
(15, 10, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 1, '2026-01-06 08:00:04.827274+00', '2026-01-06 08:00:04.827274+00', NULL, false),
(16, 11, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:04.983648+00', '2026-01-06 08:00:05.011618+00', NULL, true),
(17, 12, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q11', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-06 08:00:05.092229+00', '2026-01-06 08:00:05.122049+00', '2026-01-06 08:00:05.122049+00', true),
(18, 13, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q13', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-06 08:00:05.208846+00', '2026-01-06 08:00:05.263056+00', '2026-01-06 08:00:05.263057+00', true),
(19, 14, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q14', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:05.361925+00', '2026-01-06 08:00:05.410617+00', '2026-01-06 08:00:05.410617+00', true),
(20, 15, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q12', 'mail.example.org', 'stored', 'stored uid=4 mailbox=INBOX', 1, '2026-01-06 08:00:05.719690+00', '2026-01-06 08:00:05.754288+00', '2026-01-06 08:00:05.754288+00', true);
INSERT INTO oncedrop.attempt ("delivery", "claim", "started_at", "ended_at", "queue_id", "queued_at", "host", "pid", "outcome", "reason", "read_ms", "lock_ms", "database_ms", "imap_ms", "trace_id", "span_id") OVERRIDING SYSTEM VALUE VALUES
(1, 1297791055127450205, '2026-01-05 08:00:01.192440+00', '2026-01-05 08:00:01.254440+00', 'Q0', NULL, 'mail.example.org', 9410, 'duplicate', 'duplicate uid=1 mailbox=INBOX', 1, 29, 32, 0, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\x621083d4ea8d0239'),
(1, 4369857461370719270, '2026-01-05 08:00:00.877066+00', '2026-01-05 08:00:01.054201+00', 'Q0', NULL, 'mail.example.org', 9371, 'stored', 'stored uid=1 mailbox=INBOX', 1, 13, 152, 24, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\xb4299202b401ca23'),
(2, -4923029866979024691, '2026-01-05 08:00:01.078088+00', '2026-01-05 08:00:01.171394+00', 'Q0', NULL, 'mail.example.org', 9401, 'stored', 'stored uid=1 mailbox=INBOX', 0, 16, 45, 41, '\x4e32184cf34a8b285d7142f81aa2e2b4', '\xc3be2498f0a8de68'),
(4, 5618684201091310306, '2026-01-05 08:00:01.281693+00', '2026-01-05 08:00:01.338692+00', 'Q1', NULL, 'mail.example.org', 9414, 'stored', 'stored uid=2 mailbox=INBOX', 0, 8, 32, 29, '\x4d1da0028b3f55b5db110e8aba7263ba', '\x4807bf665c1f20b1'),
(5, -7271439256377784104, '2026-01-05 08:00:01.839640+00', '2026-01-05 08:00:01.894557+00', NULL, NULL, 'mail.example.org', 9498, 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 0, 20, 5, 38, '\xf08666677d1e6c48e30ebd4dabf11814', '\xf7e471b7003e8e6d'),
(5, -1720868371788297793, '2026-01-05 08:00:01.372174+00', '2026-01-05 08:00:01.477498+00', 'Q2', NULL, 'mail.example.org', 9421, 'stored', 'stored uid=2 mailbox=INBOX', 2, 21, 67, 33, NULL, NULL),
(7, 993409686353006332, '2026-01-06 08:00:02.526006+00', '2026-01-06 08:00:02.630608+00', 'Q9', NULL, 'mail.example.org', 9585, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.041 + 0.000 + 0.041 secs).', 1, 12, 64, 52, '\xbf8a61f163bd58e28c2bcd85752a10ca', '\xc6edf02c29682878'),
(8, -1072227709934656102, '2026-01-06 08:00:02.883983+00', '2026-01-06 08:00:02.976051+00', 'Q7', NULL, 'mail.example.org', 9615, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, 29, 75, 28, '\xd110cfa94060929da692fcfc57254dd6', '\x76227d02f0c8ebd1'),
(8, 7202353591320858217, '2026-01-06 08:00:03.018371+00', '2026-01-06 08:00:03.239682+00', 'Q7', NULL, 'mail.example.org', 9628, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 15, 89, 97, 18, '\xd110cfa94060929da692fcfc57254dd6', '\x9a1e7e948234a785'),
(10, 7130996207815803513, '2026-01-06 08:00:03.284603+00', '2026-01-06 08:00:03.352168+00', 'Q8', NULL, 'mail.example.org', 9647, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, 15, 41, 15, '\xc560df493a76ce692a76cbcd373f0fa3', '\xbbeea2a08816fe58'),
(11, 1365806639117420459, '2026-01-06 08:00:03.405185+00', '2026-01-06 08:00:03.567397+00', 'Q6', NULL, 'mail.example.org', 9657, 'stored', 'stored uid=3 mailbox=INBOX', 30, 29, 100, 31, '\x5941b22002adf9c020b87999eac36898', '\xe14af6900a529a84'),
(12, 6753440062721790734, '2026-01-06 08:00:03.605122+00', '2026-01-06 08:00:04.155758+00', 'Q10', NULL, 'mail.example.org', 9671, 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 3, 12, 51, 508, '\xc2d539b7960e195387ff31e85870f09e', '\xc66afd08f8cdce04'),
(13, -8982819358481752701, '2026-01-06 08:00:04.192144+00', NULL, 'QDIED', NULL, 'mail.example.org', 9717, 'claimed', NULL, 15, 44, 136, 0, '\x1fd3238e51428894f39ee07f12fd8468', '\x279313597b434166'),
(13, 4004311684071100156, '2026-01-06 08:00:04.482280+00', NULL, 'QDIED', NULL, 'mail.example.org', 9744, 'claimed', NULL, 1, 43, 117, 0, '\x1fd3238e51428894f39ee07f12fd8468', '\xec8fc03a1e9295e2'),
(15, 8780746471598145755, '2026-01-06 08:00:04.723348+00', NULL, 'QDIED', NULL, 'mail.example.org', 9788, 'claimed', NULL, 0, 2, 102, 0, '\xc9a5ca083e25556271fb6b1a8afb979a', '\x50fb89b99c52b830'),
(16, -1623624453807817377, '2026-01-06 08:00:04.876692+00', '2026-01-06 08:00:05.011667+00', 'QDIED', NULL, 'mail.example.org', 9811, 'stored', 'stored uid=3 mailbox=INBOX', 2, 30, 79, 10, '\xb740c703e753b8fd84fb4a243aa8a6e4', '\xad6744b1095db0e1'),
(17, 364976759281298643, '2026-01-06 08:00:05.057304+00', '2026-01-06 08:00:05.122094+00', 'Q11', NULL, 'mail.example.org', 9835, 'stored', 'stored uid=1 mailbox=INBOX', 0, 11, 62, 17, '\x6304e3780022fb6f79e37367b1fef74f', '\x33296d418bedcb93'),
(18, -8652436361854656163, '2026-01-06 08:00:05.165934+00', '2026-01-06 08:00:05.263110+00', 'Q13', NULL, 'mail.example.org', 9846, 'stored', 'stored uid=2 mailbox=INBOX', 0, 24, 43, 58, '\x1466d8940164830b2eb9b4634daf8af0', '\x1f5dc02e6549c097'),
(19, -4583644989024422380, '2026-01-06 08:00:05.303004+00', '2026-01-06 08:00:05.410678+00', 'Q14', NULL, 'mail.example.org', 9859, 'stored', 'stored uid=3 mailbox=INBOX', 0, 14, 92, 18, '\x6fe90c4689c55828d431e28d172d889a', '\xb1e9be05b43a6b0a'),
(20, 1799955735914717261, '2026-01-06 08:00:05.647778+00', '2026-01-06 08:00:05.762505+00', 'Q12', NULL, 'mail.example.org', 9899, 'stored', 'stored uid=4 mailbox=INBOX', 0, 21, 87, 28, '\x2dd8ef28b2528a2136bbdafd39015729', '\x9dbb0046f263364f');
INSERT INTO oncedrop.copy ("id", "message", "account", "mailbox", "role", "state", "doubt", "generation", "claimed_at", "claim", "claimed_by", "host", "pid", "first_at", "stored_at", "uidvalidity", "uid", "error", "repeated", "feeds", "boot", "boot_us", "host_us") OVERRIDING SYSTEM VALUE VALUES
(1, 1, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:01.019157+00', 4369857461370719270, 1, 'mail.example.org', 9371, '2026-01-05 08:00:01.019157+00', '2026-01-05 08:00:01.031169+00', 1796066729, 1, NULL, 0, NULL, 7685298789696752262, 1767669523211082, 24617),
(2, 1, 'lisa@upgrade.example', 'Sent', 'sent', 'stored', false, 1, '2026-01-05 08:00:01.019854+00', 4369857461370719270, 1, 'mail.example.org', 9371, '2026-01-05 08:00:01.019854+00', '2026-01-05 08:00:01.053572+00', 1796066729, 1, NULL, 0, ',sent,', 7685298789696752262, 1767669523211849, 25352),
(3, 1, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:01.140068+00', -4923029866979024691, 2, 'mail.example.org', 9401, '2026-01-05 08:00:01.140068+00', '2026-01-05 08:00:01.170768+00', 1796066729, 1, NULL, 0, NULL, 7685298789696752262, 1767669523198033, 11021),
(4, 2, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-05 08:00:01.327949+00', 5618684201091310306, 4, 'mail.example.org', 9414, '2026-01-05 08:00:01.327949+00', '2026-01-05 08:00:01.338056+00', 1796066729, 2, NULL, 0, NULL, 7685298789696752262, 1767669523213890, 27618),
(5, 3, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 2, '2026-01-05 08:00:01.864539+00', -7271439256377784104, 5, 'mail.example.org', 9498, '2026-01-05 08:00:01.456954+00', '2026-01-05 08:00:01.889808+00', 1796066729, 2, NULL, 1, NULL, 7685298789696752262, 1767669523203514, 16263),
(7, 4, 'full@upgrade.example', 'INBOX', 'inbox', 'expired', false, 1, '2026-01-06 08:00:02.592564+00', 993409686353006332, 7, 'mail.example.org', 9585, '2026-01-06 08:00:02.592564+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.041 + 0.000 + 0.041 secs).', 0, NULL, 7685298789696752262, 1767669523220507, 33736),
(8, 5, 'full@upgrade.example', 'INBOX', 'inbox', 'pending', false, 2, '2026-01-06 08:00:03.220252+00', 7202353591320858217, 8, 'mail.example.org', 9628, '2026-01-06 08:00:02.960664+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767669523190219, 3689),
(10, 6, 'full@upgrade.example', 'INBOX', 'inbox', 'failed', false, 1, '2026-01-06 08:00:03.331290+00', 7130996207815803513, 10, 'mail.example.org', 9647, '2026-01-06 08:00:03.331290+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767669523235233, 48662),
(11, 7, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:03.526253+00', 1365806639117420459, 11, 'mail.example.org', 9657, '2026-01-06 08:00:03.526253+00', '2026-01-06 08:00:03.546982+00', 1796066729, 3, NULL, 0, NULL, 7685298789696752262, 1767669523231203, 44666),
(12, 7, 'full@upgrade.example', 'Sent', 'sent', 'failed', false, 1, '2026-01-06 08:00:03.535082+00', 1365806639117420459, 11, 'mail.example.org', 9657, '2026-01-06 08:00:03.535082+00', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox Sent refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.002 + 0.000 + 0.001 secs).', 0, NULL, 7685298789696752262, 1767669523240074, 53508),
(13, 8, 'locked@upgrade.example', 'INBOX', 'inbox', 'pending', false, 1, '2026-01-06 08:00:03.660740+00', 6753440062721790734, 12, 'mail.example.org', 9671, '2026-01-06 08:00:03.660740+00', NULL, NULL, NULL, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 0, NULL, 7685298789696752262, 1767669523216693, 30105),
(14, 9, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', true, 2, '2026-01-06 08:00:04.644227+00', 4004311684071100156, 13, 'mail.example.org', 9744, '2026-01-06 08:00:04.388105+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669523223192, 35990),
(16, 10, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', false, 1, '2026-01-06 08:00:04.828593+00', 8780746471598145755, 15, 'mail.example.org', 9788, '2026-01-06 08:00:04.828593+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669523211544, 24752),
(17, 11, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:04.984567+00', -1623624453807817377, 16, 'mail.example.org', 9811, '2026-01-06 08:00:04.984567+00', '2026-01-06 08:00:05.011043+00', 1796066729, 3, NULL, 0, NULL, 7685298789696752262, 1767669523197503, 10996),
(18, 11, 'lisa@upgrade.example', 'Sent', 'sent', 'appending', false, 1, '2026-01-06 08:00:04.985061+00', -1623624453807817377, 16, 'mail.example.org', 9811, '2026-01-06 08:00:04.985061+00', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669523198056, 11517),
(19, 12, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:05.093610+00', 364976759281298643, 17, 'mail.example.org', 9835, '2026-01-06 08:00:05.093610+00', '2026-01-06 08:00:05.121516+00', 1796066733, 1, NULL, 0, ',support,', 7685298789696752262, 1767669523217559, 30897),
(20, 13, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:05.222664+00', -8652436361854656163, 18, 'mail.example.org', 9846, '2026-01-06 08:00:05.222664+00', '2026-01-06 08:00:05.254243+00', 1796066733, 2, NULL, 0, ',support,', 7685298789696752262, 1767669523238588, 51973),
(21, 14, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:05.398506+00', -4583644989024422380, 19, 'mail.example.org', 9859, '2026-01-06 08:00:05.398506+00', '2026-01-06 08:00:05.402810+00', 1796066733, 3, NULL, 0, ',support,', 7685298789696752262, 1767669523248401, 61566),
(22, 15, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', false, 1, '2026-01-06 08:00:05.721255+00', 1799955735914717261, 20, 'mail.example.org', 9899, '2026-01-06 08:00:05.721255+00', '2026-01-06 08:00:05.753786+00', 1796066733, 4, NULL, 0, ',support,', 7685298789696752262, 1767669523220203, 33288);
INSERT INTO oncedrop.feed ("id", "feed", "copy", "message", "added_at", "not_before", "tries", "dead", "owner", "error") OVERRIDING SYSTEM VALUE VALUES
(1, 'sent', 2, 1, '2026-01-06 08:00:01.053103+00', '2026-01-06 08:00:01.053103+00', 0, false, 0, NULL),
(3, 'support', 20, 13, '2026-01-06 08:00:05.253705+00', '2026-01-06 08:00:15.570443+00', 1, false, -404032367552173625, 'the command exited with status 75'),
(4, 'support', 21, 14, '2026-01-06 08:00:05.402264+00', '2026-01-06 08:00:15.592468+00', 1, true, 4993803222865771045, 'the command exited with status 1'),
(5, 'support', 22, 15, '2026-01-06 08:00:05.753273+00', '2026-01-06 08:00:05.753273+00', 0, false, 0, NULL);
INSERT INTO oncedrop.feed_reader ("reader", "feed") OVERRIDING SYSTEM VALUE VALUES
('helpdesk', 'support');
INSERT INTO oncedrop.server ("server", "verified", "checked_at", "tried_at") OVERRIDING SYSTEM VALUE VALUES
('127.0.0.1 port 993 on mail.example.org as oncedrop', true, '2026-01-06 08:00:00.991636+00', '2026-01-06 08:00:00.991636+00'),
('127.0.0.1 port 994 on mail.example.org as oncedrop', true, '2026-01-06 08:00:04.370282+00', '2026-01-06 08:00:04.370282+00'),
('127.0.0.1 port 995 on mail.example.org as oncedrop', true, '2026-01-06 08:00:04.606434+00', '2026-01-06 08:00:04.606434+00'),
('127.0.0.1 port 996 on mail.example.org as oncedrop', true, '2026-01-06 08:00:04.967860+00', '2026-01-06 08:00:04.967860+00'),
('127.0.0.1 port 997 on mail.example.org as oncedrop', true, '2026-01-06 08:00:04.801225+00', '2026-01-06 08:00:04.801225+00');
INSERT INTO oncedrop.refusal ("id", "server", "account", "refusals", "refused_at", "wait_ms", "reason") OVERRIDING SYSTEM VALUE VALUES
('2316446edeb9dd94b7f58e104b06b90b51d5b761a468e6649e9d2f5dc5470e65', '127.0.0.1 port 993 on mail.example.org as each account, password of 1796066731573947731', 'locked@upgrade.example', 1, '2026-01-06 08:00:04.158594+00', 60000, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)');
INSERT INTO oncedrop.event ("id", "at", "name", "host", "count") OVERRIDING SYSTEM VALUE VALUES
(3, '2026-01-06 08:00:02.441742+00', 'busy', 'mail.example.org', 1),
(4, '2026-01-06 08:00:04.644441+00', 'search', 'mail.example.org', 1);
INSERT INTO oncedrop.counter_bucket ("name", "label", "le", "value") OVERRIDING SYSTEM VALUE VALUES
('counted_until', '', 0, 1767682802000000),
('deferrals', 'busy', 0, 1),
('deliveries', 'deferred', 0, 1),
('deliveries', 'duplicate', 0, 2),
('deliveries', 'stored', 0, 4),
('phase', 'database', 5, 1),
('phase', 'database', 50, 3),
('phase', 'database', 100, 1),
('phase', 'database', 250, 1),
('phase', 'imap', 5, 1),
('phase', 'imap', 25, 1),
('phase', 'imap', 50, 4),
('phase', 'lock', 10, 1),
('phase', 'lock', 25, 4),
('phase', 'lock', 50, 1),
('phase', 'read', 5, 6),
('phase_ms', 'database', 0, 333),
('phase_ms', 'imap', 0, 165),
('phase_ms', 'lock', 0, 107),
('phase_ms', 'read', 0, 4),
('searches', '', 0, 1);
DELETE FROM oncedrop.counter;
INSERT INTO oncedrop.counter ("last_message", "messages", "bytes", "last_copy", "copies") OVERRIDING SYSTEM VALUE VALUES
(3, 3, 1052, 5, 5);
DELETE FROM oncedrop.setting;
INSERT INTO oncedrop.setting ("lock_method") OVERRIDING SYSTEM VALUE VALUES
('advisory');
INSERT INTO oncedrop.lease ("key", "owner", "taken_at", "expires_at", "host", "pid", "session", "user") OVERRIDING SYSTEM VALUE VALUES
(-4923331334520321463, 8345328855247372329, '2026-01-06 08:00:04.829126+00', '2026-01-06 08:01:04.829127+00', 'mail.example.org', 9788, 'oncedrop mail.example.org[9788] QDIED', 'mailer');
SELECT setval('oncedrop.message_id_seq', 15, true);
SELECT setval('oncedrop.delivery_id_seq', 20, true);
SELECT setval('oncedrop.copy_id_seq', 22, true);
SELECT setval('oncedrop.feed_id_seq', 5, true);
SELECT setval('oncedrop.event_id_seq', 4, true);
