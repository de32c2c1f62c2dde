-- oncedrop schema, version 1. The names of the schema (setting database.schema) and of its roles (that name with _delivery,
-- _operator and _feed) are filled in by `oncedrop ledger install`, which runs all of this in one transaction. Comments behind
-- tables and columns go into the database, too (src/sql/comments.awk).

DO $$ BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        RAISE EXCEPTION 'PostgreSQL % is too old: install version 15 or newer', current_setting('server_version');
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS @schema@;
COMMENT ON SCHEMA @schema@ IS 'oncedrop: messages delivered, and the claims that keep each copy from being made twice';

CREATE TABLE @schema@.schema_version ( -- One row for each version of this schema that was installed; the highest is in force
    version      integer PRIMARY KEY, -- Number of the schema version
    installed_at timestamptz NOT NULL DEFAULT now() -- When it was installed
);

CREATE TABLE @schema@.message ( -- One row for each message, that is, for each pair of Message-ID and content
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the message; also the payload of NOTIFY
    identity     bytea NOT NULL CHECK (octet_length(identity) = 32), -- SHA-256 over lock.namespace, NUL, Message-ID (without one:
        -- the digest in hexadecimal)
    digest       bytea NOT NULL CHECK (octet_length(digest) = 32), -- SHA-256 over the message as appended, without the fields that
        -- transport adds
    lock_key     bigint NOT NULL, -- First 8 bytes of identity, big-endian, signed: the key of the advisory lock
    message_id   text, -- Message-ID without <>; bytes that are no UTF-8 are replaced; NULL when missing or damaged
    sender       text NOT NULL, -- Envelope sender (RFC 5321 reverse-path); empty for a bounce
    "from"       text, -- Address of the first mailbox in From
    subject      text, -- Subject, decoded (RFC 2047)
    date         timestamptz, -- Date field; NULL when missing or unreadable
    size         bigint NOT NULL, -- Bytes as appended to the recipient's mailbox at the first delivery
    in_reply_to  text, -- First id in In-Reply-To, without <>
    "references" text[] NOT NULL DEFAULT '{}', -- Ids in References in their order, without <>
    received_at  timestamptz NOT NULL, -- When the message arrived: its first delivery, or, replayed, what its header says; its
        -- INTERNALDATE in every mailbox
    UNIQUE (identity, digest)
);
CREATE INDEX message_digest ON @schema@.message (digest);
CREATE INDEX message_received_at ON @schema@.message (received_at);
-- For `list` and the views; ids may have any length, so only their hash is indexed.
CREATE INDEX message_message_id ON @schema@.message USING hash (message_id);
CREATE INDEX message_thread ON @schema@.message USING hash ((coalesce("references"[1], in_reply_to, message_id)));

CREATE TABLE @schema@.address ( -- Addresses in the header (record.level headers and above)
    message  bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE, -- The message
    role     text NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')), -- Field in which it stands
    position integer NOT NULL, -- Place in that field, from 1
    "group"  text, -- Name of the RFC 5322 group it belongs to
    name     text, -- Display name, decoded
    address  text NOT NULL, -- The address itself, its domain in lower case
    PRIMARY KEY (message, role, position)
);

CREATE TABLE @schema@.part ( -- MIME parts that are not containers (record.level text and above)
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE, -- The message
    path        text NOT NULL, -- Section number as in IMAP (RFC 3501, 6.4.5)
    type        text NOT NULL, -- Media type, lower case
    charset     text, -- Character set as declared, lower case
    disposition text, -- Content-Disposition: inline, attachment, ...
    filename    text, -- File name, decoded
    size        bigint NOT NULL, -- Bytes of the decoded content
    sha256      bytea NOT NULL, -- SHA-256 of the decoded content
    text        text, -- Content of a text part, converted to UTF-8, at most 1 MiB
    PRIMARY KEY (message, path)
);

CREATE TABLE @schema@.raw ( -- The message as appended, in pieces of 1 MiB (record.level raw)
    message bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE, -- The message
    chunk   integer NOT NULL, -- Place of the piece, from 0
    data    bytea NOT NULL, -- The bytes
    PRIMARY KEY (message, chunk)
);
ALTER TABLE @schema@.raw ALTER COLUMN data SET STORAGE EXTERNAL;

-- Each delivery leaves a dead row here and in table copy. The default lets a fifth of a table die before a VACUUM.
CREATE TABLE @schema@.delivery ( -- One row for each message and recipient that Postfix handed over and that got as far as a claim
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the delivery
    message            bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE, -- The message
    recipient          text NOT NULL, -- Envelope recipient, lower case
    original_recipient text, -- Recipient before Postfix rewrote it
    account            text NOT NULL, -- IMAP account to which the recipient leads
    mailbox            text NOT NULL, -- Mailbox to which the recipient leads
    queue_id           text, -- Postfix queue id of the last attempt, if known
    host               text NOT NULL, -- Host of the last attempt
    outcome            text NOT NULL, -- What the last attempt answered (stored, duplicate, busy, ...); claimed while it is under
        -- way; expired when there was no other for record.expire_after. Done is what has finished_at
    reason             text, -- The text of that answer
    attempts           integer NOT NULL DEFAULT 1, -- How often it was tried; an attempt that met a held lock does not count
    first_at           timestamptz NOT NULL DEFAULT clock_timestamp(), -- First attempt
    last_at            timestamptz NOT NULL DEFAULT clock_timestamp(), -- Last attempt, or its end
    finished_at        timestamptz, -- When it was stored, found stored, refused for good, or expired; NULL while Postfix is
        -- expected to try again
    complete           boolean NOT NULL DEFAULT false, -- The message is known to have been read to its end: a pipe from Postfix
        -- may be cut without a mark. Only such a message is resumed
    UNIQUE (message, recipient)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX delivery_recipient ON @schema@.delivery (recipient, message);
CREATE INDEX delivery_duplicate ON @schema@.delivery (id) WHERE outcome = 'duplicate';
-- `resume` reads unfinished deliveries in the order of their messages.
CREATE INDEX delivery_unfinished_message ON @schema@.delivery (message) WHERE finished_at IS NULL;

CREATE TABLE @schema@.copy ( -- One row for each message and mailbox it belongs in: the fence against a second copy
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the copy
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE, -- The message
    account     text NOT NULL, -- IMAP account
    mailbox     text NOT NULL, -- Mailbox name as configured or routed, UTF-8 (\Sent: the mailbox with that SPECIAL-USE)
    role        text NOT NULL CHECK (role IN ('inbox', 'sent')), -- inbox: the delivery itself; sent: the sender's own copy
    state       text NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'expired')), -- pending: not stored, to
        -- be tried again; appending: an APPEND may be under way; stored; failed: not tried again; expired: not tried since
        -- record.expire_after, or expired by an administrator; should the message be delivered again, as pending
    doubt       boolean NOT NULL DEFAULT false, -- An earlier attempt may have stored it: the mailbox is searched before the next
        -- APPEND
    generation  integer NOT NULL DEFAULT 1, -- Number of the last claim; only its owner may settle it
    claimed_at  timestamptz NOT NULL DEFAULT clock_timestamp(), -- When that claim was made, by the database's clock;
        -- delivery.hold_off counts from here
    claim       bigint NOT NULL, -- Random number of that claim: distinguishes two claims of one generation when a COMMIT was lost
    claimed_by  bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE, -- The delivery that answers for it: not successful
        -- before this copy is settled
    host        text NOT NULL, -- Host of that attempt
    pid         integer NOT NULL, -- Process of that attempt
    first_at    timestamptz NOT NULL DEFAULT clock_timestamp(), -- First attempt; delivery.sent_expire_after and
        -- delivery.refuse_after count from here
    stored_at   timestamptz, -- When it was known to be stored
    uidvalidity bigint, -- UIDVALIDITY of the mailbox, if the server reported it (RFC 4315)
    uid         bigint, -- UID in the mailbox, if the server reported it
    error       text, -- Why the last attempt did not store it
    repeated    integer NOT NULL DEFAULT 0, -- How often it was claimed again on purpose although it was stored (replay --force,
        -- --verify)
    feeds       text, -- The feeds that got it, as ,NAME,NAME,
    boot        bigint, -- Number of that run of the machine that claimed it, from its boot_id; NULL: unknown
    boot_us     bigint, -- By how many microseconds the database's clock was ahead of CLOCK_BOOTTIME of that machine at the claim
    host_us     bigint, -- By how many microseconds the database's clock was ahead of the wall clock of that host at the claim
    UNIQUE (message, account, mailbox)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX copy_claimed_by ON @schema@.copy (claimed_by);
CREATE INDEX copy_account ON @schema@.copy (account, message);
CREATE INDEX copy_first_at ON @schema@.copy USING brin (first_at);
-- One index for all copies that are not stored, which are few.
CREATE INDEX copy_not_stored ON @schema@.copy (state, id) WHERE state <> 'stored';

-- The history of a message. A try is updated once, at its end, and no index knows of that: with room on its page the update writes
-- no index (of 50 recipients' tries, 86 of 100 instead of 28). The state of a copy and the end of a delivery are what indexes are
-- for.
CREATE TABLE @schema@.attempt ( -- One row for each attempt to deliver a message to a recipient that got as far as a claim; goes
        -- with its message. Attempts that found the lock held, or no database, are in the log only
    delivery    bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE, -- The message and its recipient
    claim       bigint NOT NULL, -- Random number of its claim; copies that this attempt made have the same (copy.claim)
    started_at  timestamptz NOT NULL, -- When the program began to read the message, by the database's clock
    ended_at    timestamptz, -- When its outcome was recorded; NULL: it is under way, or its process died
    queue_id    text, -- Postfix queue id, when it was known
    queued_at   timestamptz, -- When Postfix received the message under that queue id, by its Received field; NULL when there is
        -- none of that form
    host        text NOT NULL, -- Host of the process
    pid         integer NOT NULL, -- Number of the process
    outcome     text NOT NULL, -- What it answered (stored, duplicate, busy, ...); claimed: nothing yet
    reason      text, -- The text of that answer
    read_ms     integer NOT NULL, -- Milliseconds it took to read and decode the message
    lock_ms     integer NOT NULL, -- Milliseconds until the lock was granted (lock.wait)
    database_ms integer NOT NULL, -- Milliseconds of everything else in the database, except the COMMIT that recorded this
    imap_ms     integer NOT NULL, -- Milliseconds of IMAP: connecting, login, searching, appending
    trace_id    bytea CHECK (octet_length(trace_id) = 16), -- Trace of the message, as W3C Trace Context has it; NULL unless
        -- record.trace was on
    span_id     bytea CHECK (octet_length(span_id) = 8), -- Span of this attempt in it
    PRIMARY KEY (delivery, claim)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX attempt_queue_id ON @schema@.attempt (queue_id);
CREATE INDEX attempt_started_at ON @schema@.attempt USING brin (started_at) WITH (pages_per_range = 16);

-- An application takes rows in its own transaction, and deletes them.
CREATE TABLE @schema@.feed ( -- What waits for an application: a row for each copy that a feed takes, from when it was stored until
        -- it is taken out
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the row; of a feed's rows the lowest is next
    feed       text NOT NULL, -- Name of the feed
    copy       bigint NOT NULL, -- The copy; no foreign key, whose index each delivery would have to write
    message    bigint NOT NULL, -- Its message
    added_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- When it was stored
    not_before timestamptz NOT NULL DEFAULT clock_timestamp(), -- It is not tried until then: it is being tried, or has failed
    tries      integer NOT NULL DEFAULT 0, -- How often it was tried
    dead       boolean NOT NULL DEFAULT false, -- It is not tried again until: oncedrop feed retry
    owner      bigint NOT NULL DEFAULT 0, -- Random number of the last try by oncedrop feed run
    error      text -- Why the last try failed
) WITH (autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX feed_next ON @schema@.feed (feed, dead, id);

CREATE TABLE @schema@.feed_reader ( -- Which feeds the members of SCHEMA_feed may take; filled by the owner of the schema
    reader text NOT NULL, -- Database user of the application
    feed   text NOT NULL, -- Name of the feed
    PRIMARY KEY (reader, feed)
);
ALTER TABLE @schema@.feed_reader ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON @schema@.feed_reader FOR SELECT USING (reader = current_user);

CREATE TABLE @schema@.server ( -- One row for each IMAP server and user whose password (imap.master_user) or token opens every
        -- account
    server     text PRIMARY KEY, -- Host and port, or path, and that user; with the host of the delivery when the server is on that
    verified   boolean NOT NULL, -- The account that a login names counts. If not, nothing is delivered: all mail would go into one
        -- mailbox
    checked_at timestamptz NOT NULL, -- When that was found out
    tried_at   timestamptz NOT NULL -- When a delivery last set out to find it out
);

CREATE TABLE @schema@.refusal ( -- Accounts whose login an IMAP server refused, so that they are not tried with each message; purge
        -- deletes rows after a day
    id         text PRIMARY KEY, -- A hash of server and account
    server     text NOT NULL, -- Host and port, or path, the user that logs in, and when imap.password_file was written
    account    text NOT NULL, -- IMAP account
    refusals   bigint NOT NULL, -- How many in a row; 0: a login has succeeded since
    refused_at timestamptz NOT NULL, -- When the last one was
    wait_ms    bigint NOT NULL, -- For how long after that the account is not tried, in milliseconds
    reason     text NOT NULL -- What the server said
);

-- Each delivery only adds its own rows here: if all of them updated one row, they would wait for each other.
CREATE TABLE @schema@.event ( -- What is counted and leaves no other trace; purge and stats add up in table total what is older than
        -- an hour, and remove it
    id    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- Number of the row
    at    timestamptz NOT NULL DEFAULT clock_timestamp(), -- When that was
    name  text NOT NULL CHECK (name IN ('busy', 'search')), -- held: recipients were deferred because another delivery had the
        -- message; search: mailboxes were searched for a copy in doubt
    host  text NOT NULL, -- Host of the process
    count integer NOT NULL -- How many
);

CREATE TABLE @schema@.counter_bucket ( -- Counts of what is not in the other tables any more, or is older than an hour: purge and
        -- stats add it up here. See oncedrop stats --prometheus for the sums
    name  text NOT NULL, -- deliveries, deferrals, searches; phase, phase_ms, delay, delay_ms: times; counted_until: attempts begun
        -- before are counted here
    label text NOT NULL, -- Outcome, reason or phase
    le    bigint NOT NULL, -- Of phase and delay: how many milliseconds these took at most, and more than the le before; 0: more
        -- than any
    value bigint NOT NULL, -- How many; milliseconds; of counted_until: microseconds since 1970
    PRIMARY KEY (name, label, le)
);

-- One row. Purge and stats add up here what is over an hour old; the rest is counted when it is queried.
CREATE TABLE @schema@.counter ( -- How many rows there are of those that were counted before; one row
    last_message bigint NOT NULL, -- Messages up to this number are counted
    messages     bigint NOT NULL, -- How many of these there are
    bytes        bigint NOT NULL, -- Sum of their sizes
    last_copy    bigint NOT NULL, -- Copies up to this number are counted
    copies       bigint NOT NULL -- How many of these there are
);
-- Logical replication of all tables: what is updated or deleted needs an identity.
ALTER TABLE @schema@.counter REPLICA IDENTITY FULL;
INSERT INTO @schema@.counter VALUES (0, 0, 0, 0, 0);

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
CREATE TABLE @schema@.slot ( -- What a delivery locks with lock.method = row; nothing is written here
    slot   integer PRIMARY KEY, -- lock_key & 16383 of the messages that share this row
    unused boolean -- Deliveries have the right to update this column, and so may lock the row
);
INSERT INTO @schema@.slot (slot) SELECT generate_series(0, 16383);

-- Method lease: a row for each message under way. Each of its transactions ends at once. These rows are all that the
-- role of deliveries may delete.
CREATE TABLE @schema@.lease ( -- Who delivers which message with lock.method = lease; a row goes when its delivery ends, and counts
        -- for nothing from expires_at on
    key        bigint PRIMARY KEY, -- lock_key of the message, or of one account's copies of it
    owner      bigint NOT NULL, -- Random number of this delivery; needed to hold or end the lease
    taken_at   timestamptz NOT NULL DEFAULT clock_timestamp(), -- When it was taken, or renewed, by the database's clock
    expires_at timestamptz NOT NULL, -- When others may take it, by the database's clock
    host       text NOT NULL, -- Host of the process
    pid        integer NOT NULL, -- Number of the process
    session    text NOT NULL, -- As in pg_stat_activity.application_name
    "user"     text NOT NULL DEFAULT session_user -- Database user of the session
) WITH (fillfactor = 50);

-- Hosts with different methods would not exclude each other: a delivery that has another method is refused.
CREATE TABLE @schema@.setting ( -- What all hosts must agree on; one row
    lock_method text NOT NULL CHECK (lock_method IN ('advisory', 'row', 'lease')) -- lock.method of all hosts; changed by: oncedrop
        -- ledger method
);
ALTER TABLE @schema@.setting REPLICA IDENTITY FULL;
INSERT INTO @schema@.setting VALUES ('advisory');

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

-- Without a barrier, which would sort all rows to lock one: the policy of table feed limits it.
CREATE VIEW @schema@.waiting WITH (security_invoker) AS
    SELECT id, feed, copy, message, added_at, not_before, not_before <= statement_timestamp() AS due, tries, dead, error FROM @schema@.feed;
COMMENT ON VIEW @schema@.waiting IS 'What waits in the feeds of table feed_reader. Columns are only ever added';

CREATE VIEW @schema@.waiting_message WITH (security_barrier) AS
    SELECT f.id, f.feed, f.copy, f.message, m.message_id, coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread,
           m.in_reply_to, m."references", m.sender, ARRAY(SELECT d.recipient FROM @schema@.delivery d WHERE d.message = m.id
               AND (c.role = 'sent' OR d.account = c.account AND d.mailbox = c.mailbox) ORDER BY d.id) AS recipients,
           m."from", m.subject, m.date, m.received_at, m.size, c.account, c.mailbox, c.uidvalidity, c.uid
      FROM @schema@.feed f JOIN @schema@.copy c ON c.id = f.copy JOIN @schema@.message m ON m.id = f.message
     WHERE f.feed IN (SELECT r.feed FROM @schema@.feed_reader r WHERE r.reader = current_user);
COMMENT ON VIEW @schema@.waiting_message IS 'The messages of view waiting. Columns are only ever added';

CREATE VIEW @schema@.waiting_address WITH (security_barrier) AS
    SELECT * FROM @schema@.address WHERE message IN (SELECT f.message FROM @schema@.feed f JOIN @schema@.feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW @schema@.waiting_address IS 'Their addresses, as in table address';

CREATE VIEW @schema@.waiting_part WITH (security_barrier) AS
    SELECT * FROM @schema@.part WHERE message IN (SELECT f.message FROM @schema@.feed f JOIN @schema@.feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW @schema@.waiting_part IS 'Their parts, as in table part';

CREATE VIEW @schema@.waiting_raw WITH (security_barrier) AS
    SELECT * FROM @schema@.raw WHERE message IN (SELECT f.message FROM @schema@.feed f JOIN @schema@.feed_reader r
        ON r.feed = f.feed AND r.reader = current_user);
COMMENT ON VIEW @schema@.waiting_raw IS 'Their bytes, as in table raw';

-- SCHEMA_delivery, for deliveries and replay, reads what distinguishes messages and copies, but no subject, address or text.
-- It writes the columns that a delivery writes, and reads those that it updates. It deletes only leases, and locks no table.
-- SCHEMA_operator, for show, list, stats, locks, resume and purge, also reads everything and deletes old messages.
-- SCHEMA_feed, for applications, takes what waits in the feeds that table feed_reader allows, and reads these messages.
-- Grant these to the roles in conninfo. Without the right to create roles, the schema is installed without them.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[@role_text@, @operator_text@, @feed_text@] LOOP
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
            ' claim, claimed_by, host, pid, first_at, uidvalidity, uid, repeated, boot, boot_us, host_us, feeds), INSERT (message,'
            ' account, mailbox, role, state, doubt, claim, claimed_by, host, pid, boot, boot_us, host_us), UPDATE (state,'
            ' doubt, generation, claimed_at, claim, claimed_by, host, pid, first_at, stored_at, uidvalidity, uid, error,'
            ' repeated, boot, boot_us, host_us, feeds) ON @schema@.copy TO %I', grantee);
        EXECUTE pg_catalog.format('GRANT INSERT (feed, copy, message) ON @schema@.feed TO %I', grantee);
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
        GRANT UPDATE, DELETE ON @schema@.feed TO @operator@;
        GRANT INSERT, UPDATE ON @schema@.counter_bucket TO @operator@;
        GRANT UPDATE ON @schema@.counter TO @operator@;
    END IF;
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @feed_text@) THEN
        GRANT USAGE ON SCHEMA @schema@ TO @feed@;
        GRANT SELECT, UPDATE (not_before, tries, dead, error), DELETE ON @schema@.feed, @schema@.waiting TO @feed@;
        GRANT SELECT ON @schema@.feed_reader, @schema@.waiting_message, @schema@.waiting_address, @schema@.waiting_part,
            @schema@.waiting_raw TO @feed@;
        -- For all others nothing changes.
        ALTER TABLE @schema@.feed ENABLE ROW LEVEL SECURITY;
        CREATE POLICY others ON @schema@.feed USING (true);
        CREATE POLICY readers ON @schema@.feed AS RESTRICTIVE TO @feed@
            USING (feed IN (SELECT r.feed FROM @schema@.feed_reader r WHERE r.reader = current_user)
                OR EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname IN (@role_text@, @operator_text@)
                    AND pg_catalog.pg_has_role(r.oid, 'USAGE')));
    END IF;
END $$;
