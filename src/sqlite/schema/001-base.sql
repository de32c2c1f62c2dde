-- oncedrop's ledger in SQLite, version 1. Moments are microseconds since 1970 (UTC), truths are 0 and 1, lists are JSON.
--
-- AUTOINCREMENT: the number of a deleted row is not reused: the counters say up to which number rows are counted.

CREATE TABLE @schema@.schema_version (
    version      INTEGER PRIMARY KEY,
    installed_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000000)
) STRICT;

CREATE TABLE @schema@.message (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    identity     BLOB NOT NULL CHECK (length(identity) = 32),
    digest       BLOB NOT NULL CHECK (length(digest) = 32),
    lock_key     INTEGER NOT NULL,
    message_id   TEXT,
    sender       TEXT NOT NULL,
    "from"       TEXT,
    subject      TEXT,
    date         INTEGER,
    size         INTEGER NOT NULL,
    in_reply_to  TEXT,
    "references" TEXT NOT NULL DEFAULT '[]',
    received_at  INTEGER NOT NULL,
    UNIQUE (identity, digest)
) STRICT;

CREATE TABLE @schema@.address (
    message  INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    role     TEXT NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    position INTEGER NOT NULL,
    "group"  TEXT,
    name     TEXT,
    address  TEXT NOT NULL,
    PRIMARY KEY (message, role, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE @schema@.part (
    message     INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    path        TEXT NOT NULL,
    type        TEXT NOT NULL,
    charset     TEXT,
    disposition TEXT,
    filename    TEXT,
    size        INTEGER NOT NULL,
    sha256      BLOB NOT NULL,
    text        TEXT,
    PRIMARY KEY (message, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE @schema@.raw (
    message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    chunk   INTEGER NOT NULL,
    data    BLOB NOT NULL,
    PRIMARY KEY (message, chunk)
) STRICT;

CREATE TABLE @schema@.delivery (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,
    message            INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    recipient          TEXT NOT NULL,
    original_recipient TEXT,
    account            TEXT NOT NULL,
    mailbox            TEXT NOT NULL,
    queue_id           TEXT,
    host               TEXT NOT NULL,
    outcome            TEXT NOT NULL,
    reason             TEXT,
    attempts           INTEGER NOT NULL DEFAULT 1,
    first_at           INTEGER NOT NULL,
    last_at            INTEGER NOT NULL,
    finished_at        INTEGER,
    complete           INTEGER NOT NULL DEFAULT 0,
    UNIQUE (message, recipient)
) STRICT;
CREATE INDEX @schema@.delivery_unfinished ON delivery (message) WHERE finished_at IS NULL;
CREATE INDEX @schema@.delivery_duplicate ON delivery (id) WHERE outcome = 'duplicate';
CREATE INDEX @schema@.delivery_recipient ON delivery (recipient, message);

CREATE TABLE @schema@.attempt (
    delivery    INTEGER NOT NULL REFERENCES delivery ON DELETE CASCADE,
    claim       INTEGER NOT NULL,
    started_at  INTEGER NOT NULL,
    ended_at    INTEGER,
    queue_id    TEXT,
    queued_at   INTEGER,
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    outcome     TEXT NOT NULL,
    reason      TEXT,
    read_ms     INTEGER NOT NULL,
    lock_ms     INTEGER NOT NULL,
    database_ms INTEGER NOT NULL,
    imap_ms     INTEGER NOT NULL,
    trace_id    BLOB,
    span_id     BLOB,
    PRIMARY KEY (delivery, claim)
) STRICT, WITHOUT ROWID;
CREATE INDEX @schema@.attempt_queue_id ON attempt (queue_id);

CREATE TABLE @schema@.copy (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    message     INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    account     TEXT NOT NULL,
    mailbox     TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('inbox', 'sent')),
    state       TEXT NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'expired')),
    doubt       INTEGER NOT NULL DEFAULT 0,
    generation  INTEGER NOT NULL DEFAULT 1,
    claimed_at  INTEGER NOT NULL,
    claim       INTEGER NOT NULL,
    claimed_by  INTEGER NOT NULL, -- a delivery of the message, with which both go
    host        TEXT NOT NULL,
    pid         INTEGER NOT NULL,
    first_at    INTEGER NOT NULL,
    stored_at   INTEGER,
    uidvalidity INTEGER,
    uid         INTEGER,
    error       TEXT,
    repeated    INTEGER NOT NULL DEFAULT 0,
    feeds       TEXT, -- the feeds that got it, as ,NAME,NAME,
    boot        INTEGER, -- number of that run of the machine, from its boot_id; NULL: unknown
    boot_us     INTEGER, -- by how many microseconds the ledger's clock was ahead of CLOCK_BOOTTIME at the claim
    host_us     INTEGER, -- by how many it was ahead of the wall clock
    UNIQUE (message, account, mailbox)
) STRICT;
CREATE INDEX @schema@.copy_not_stored ON copy (state, id) WHERE state <> 'stored';
CREATE INDEX @schema@.copy_account ON copy (account, message);

-- What waits for an application: a row for each copy that a feed takes, from when it was stored until it is taken out.
CREATE TABLE @schema@.feed (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    feed       TEXT NOT NULL,
    copy       INTEGER NOT NULL, -- no foreign key, whose index each delivery would have to write
    message    INTEGER NOT NULL,
    added_at   INTEGER NOT NULL,
    not_before INTEGER NOT NULL, -- it is not tried until then: it is being tried, or has failed
    tries      INTEGER NOT NULL DEFAULT 0,
    dead       INTEGER NOT NULL DEFAULT 0, -- not tried any more
    owner      INTEGER NOT NULL DEFAULT 0, -- random number of the last try
    error      TEXT
) STRICT;
CREATE INDEX @schema@.feed_next ON feed (feed, dead, id);

-- Which IMAP servers were found to honour the account that a login names.
CREATE TABLE @schema@.server (
    server     TEXT PRIMARY KEY,
    verified   INTEGER NOT NULL,
    checked_at INTEGER NOT NULL,
    tried_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Accounts whose login an IMAP server refused. id is a hash of server and account, of any length.
CREATE TABLE @schema@.refusal (
    id         TEXT PRIMARY KEY,
    server     TEXT NOT NULL,
    account    TEXT NOT NULL,
    refusals   INTEGER NOT NULL,
    refused_at INTEGER NOT NULL,
    wait_ms    INTEGER NOT NULL,
    reason     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour.
CREATE TABLE @schema@.event (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    name  TEXT NOT NULL CHECK (name IN ('busy', 'search')),
    host  TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;

CREATE TABLE @schema@.counter_bucket (
    name  TEXT NOT NULL,
    label TEXT NOT NULL,
    le    INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (name, label, le)
) STRICT, WITHOUT ROWID;

-- One row: what was counted so far, and up to which message and copy.
CREATE TABLE @schema@.counter (
    last_message INTEGER NOT NULL,
    messages     INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    last_copy    INTEGER NOT NULL,
    copies       INTEGER NOT NULL
) STRICT;
INSERT INTO @schema@.counter VALUES (0, 0, 0, 0, 0);

-- Any deletion subtracts what was counted.
CREATE TRIGGER @schema@.forget_message AFTER DELETE ON message BEGIN
    UPDATE counter SET messages = messages - 1, bytes = bytes - OLD.size WHERE OLD.id <= last_message;
END;
CREATE TRIGGER @schema@.forget_copy AFTER DELETE ON copy BEGIN
    UPDATE counter SET copies = copies - 1 WHERE OLD.id <= last_copy;
END;

-- One row: by what deliveries exclude each other.
CREATE TABLE @schema@.setting (
    lock_method TEXT NOT NULL CHECK (lock_method IN ('session'))
) STRICT;
INSERT INTO @schema@.setting VALUES ('session');

-- The views for applications have the columns that they have in the other engines. Times are texts in UTC, such as
-- 2026-11-27 09:30:00.000000, which date functions accept, and which compare correctly as text. Lists are JSON.

-- Deliveries to the sender itself, apart from extensions of the addresses; a local recipient has no domain.
CREATE VIEW @schema@.delivery_to_sender AS
    WITH address AS (
        SELECT d.id, lower(d.recipient) AS recipient, lower(m.sender) AS sender,
               instr(lower(d.recipient) || '+', '+') AS recipient_plus, instr(m.sender || '+', '+') AS sender_plus
          FROM delivery d JOIN message m ON m.id = d.message
    ), plain AS (
        SELECT id, substr(recipient, 1, recipient_plus - 1)
                   || substr(recipient, recipient_plus + instr(substr(recipient, recipient_plus) || '@', '@') - 1) AS recipient,
               substr(sender, 1, sender_plus - 1)
                   || substr(sender, sender_plus + instr(substr(sender, sender_plus) || '@', '@') - 1) AS sender
          FROM address
    )
    SELECT id FROM plain WHERE recipient IN (sender, substr(sender, 1, instr(sender || '@', '@') - 1));

-- What both views show. is_sent: a Sent copy, made by oncedrop or by sender_bcc_maps.
CREATE VIEW @schema@.stored_copy AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(json_extract(m."references", '$[0]'), m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject,
           strftime('%Y-%m-%d %H:%M:%S', m.date / 1000000 - (m.date % 1000000 < 0), 'unixepoch')
               || printf('.%06d', (m.date % 1000000 + 1000000) % 1000000) AS date,
           strftime('%Y-%m-%d %H:%M:%S', m.received_at / 1000000 - (m.received_at % 1000000 < 0), 'unixepoch')
               || printf('.%06d', (m.received_at % 1000000 + 1000000) % 1000000) AS received_at,
           m.size,
           strftime('%Y-%m-%d %H:%M:%S', c.stored_at / 1000000, 'unixepoch') || printf('.%06d', c.stored_at % 1000000) AS stored_at,
           c.role = 'sent' OR (c.mailbox = 'Sent' AND EXISTS (
               SELECT 1 FROM delivery_to_sender d WHERE d.id = c.claimed_by)) AS is_sent
      FROM copy c JOIN message m ON m.id = c.message
     WHERE c.state = 'stored';

-- Messages delivered to recipients: one row for each copy that is stored. Columns are only ever added.
CREATE VIEW @schema@.inbox AS
    SELECT account, mailbox, uidvalidity, uid, message, message_id, thread, in_reply_to, "references", sender, "from", subject,
           date, received_at, size, stored_at
      FROM stored_copy WHERE NOT is_sent;

-- Messages filed for their senders: one row for each Sent copy that is stored. Columns are only ever added.
CREATE VIEW @schema@.outbox AS
    SELECT account, mailbox, uidvalidity, uid, message, message_id, thread, in_reply_to, "references", sender, "from", subject,
           date, received_at, size, stored_at,
           (SELECT json_group_array(recipient) FROM (
               SELECT d.recipient FROM delivery d
                WHERE d.message = s.message
                  AND NOT (d.mailbox = 'Sent' AND EXISTS (SELECT 1 FROM delivery_to_sender o WHERE o.id = d.id))
                ORDER BY d.id)) AS recipients
      FROM stored_copy s WHERE is_sent;
