-- oncedrop's ledger in SQLite, version 1. Moments are microseconds since 1970 (UTC), truths are 0 and 1, lists are JSON.
--
-- AUTOINCREMENT: the number of a row that was deleted is not given again, for what was counted is told by it.

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
    tries              INTEGER NOT NULL DEFAULT 1,
    first_at           INTEGER NOT NULL,
    last_at            INTEGER NOT NULL,
    finished_at        INTEGER,
    whole              INTEGER NOT NULL DEFAULT 0,
    UNIQUE (message, recipient)
) STRICT;
CREATE INDEX @schema@.delivery_unfinished ON delivery (message) WHERE finished_at IS NULL;
CREATE INDEX @schema@.delivery_duplicate ON delivery (id) WHERE outcome = 'duplicate';
CREATE INDEX @schema@.delivery_recipient ON delivery (recipient, message);

CREATE TABLE @schema@.try (
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
CREATE INDEX @schema@.try_queue_id ON try (queue_id);

CREATE TABLE @schema@.copy (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    message     INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    account     TEXT NOT NULL,
    mailbox     TEXT NOT NULL,
    role        TEXT NOT NULL CHECK (role IN ('inbox', 'sent')),
    state       TEXT NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'abandoned')),
    doubt       INTEGER NOT NULL DEFAULT 0,
    attempt     INTEGER NOT NULL DEFAULT 1,
    attempt_at  INTEGER NOT NULL,
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
    UNIQUE (message, account, mailbox)
) STRICT;
CREATE INDEX @schema@.copy_not_stored ON copy (state, id) WHERE state <> 'stored';
CREATE INDEX @schema@.copy_account ON copy (account, message);

-- Which IMAP servers were found to honour the account that a login names.
CREATE TABLE @schema@.server (
    server     TEXT PRIMARY KEY,
    honoured   INTEGER NOT NULL,
    checked_at INTEGER NOT NULL,
    tried_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour.
CREATE TABLE @schema@.event (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    name  TEXT NOT NULL CHECK (name IN ('held', 'search')),
    host  TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;

CREATE TABLE @schema@.total (
    name  TEXT NOT NULL,
    label TEXT NOT NULL,
    le    INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (name, label, le)
) STRICT, WITHOUT ROWID;

-- One row: what was counted so far, and up to which message and copy.
CREATE TABLE @schema@.tally (
    last_message INTEGER NOT NULL,
    messages     INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    last_copy    INTEGER NOT NULL,
    copies       INTEGER NOT NULL
) STRICT;
INSERT INTO @schema@.tally VALUES (0, 0, 0, 0, 0);

-- Whatever deletes, what was counted is subtracted.
CREATE TRIGGER @schema@.forget_message AFTER DELETE ON message BEGIN
    UPDATE tally SET messages = messages - 1, bytes = bytes - OLD.size WHERE OLD.id <= last_message;
END;
CREATE TRIGGER @schema@.forget_copy AFTER DELETE ON copy BEGIN
    UPDATE tally SET copies = copies - 1 WHERE OLD.id <= last_copy;
END;

-- One row: by what deliveries exclude each other.
CREATE TABLE @schema@.agreed (
    lock_method TEXT NOT NULL CHECK (lock_method IN ('session'))
) STRICT;
INSERT INTO @schema@.agreed VALUES ('session');
