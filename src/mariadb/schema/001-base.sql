-- oncedrop's ledger in MariaDB, version 1. Moments are in UTC, truths are 0 and 1, lists are JSON.
--
-- Every statement can be executed again: each one commits, and an installation may break off between two of them.
--
-- Names of accounts and mailboxes are bytes; other texts have a collation in which only equal ones are equal.

CREATE TABLE IF NOT EXISTS schema_version (
    version      INTEGER PRIMARY KEY,
    installed_at DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row for each version of this schema that was installed; the highest is in force';

CREATE TABLE IF NOT EXISTS message (
    id           BIGINT AUTO_INCREMENT PRIMARY KEY,
    identity     BINARY(32) NOT NULL COMMENT 'SHA-256 over lock.namespace, NUL, Message-ID (without one: the digest in hexadecimal)',
    digest       BINARY(32) NOT NULL COMMENT 'SHA-256 over the message as appended, without the fields that transport adds',
    lock_key     BIGINT NOT NULL COMMENT 'First 8 bytes of identity, big-endian, signed: the key of the lock',
    message_id   TEXT COMMENT 'Message-ID without <>; NULL when missing or damaged',
    sender       TEXT NOT NULL COMMENT 'Envelope sender; empty for a bounce',
    "from"       TEXT COMMENT 'Address of the first mailbox in From',
    subject      TEXT COMMENT 'Subject, decoded',
    date         DATETIME(6) COMMENT 'Date field; NULL when missing or unreadable',
    size         BIGINT NOT NULL COMMENT 'Bytes as appended at the first delivery',
    in_reply_to  TEXT COMMENT 'First id in In-Reply-To, without <>',
    "references" MEDIUMTEXT NOT NULL DEFAULT ('[]') COMMENT 'Ids in References in their order, without <>; a JSON array',
    received_at  DATETIME(6) NOT NULL COMMENT 'When the message arrived; its INTERNALDATE in every mailbox',
    UNIQUE KEY message_identity (identity, digest),
    KEY message_digest (digest)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row for each message, that is, for each pair of Message-ID and content';

CREATE TABLE IF NOT EXISTS address (
    message    BIGINT NOT NULL,
    role       VARCHAR(8) NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    "position" INTEGER NOT NULL,
    "group"    TEXT,
    name       TEXT,
    address    TEXT NOT NULL,
    PRIMARY KEY (message, role, "position"),
    FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Addresses in the header (record.level headers and above)';

CREATE TABLE IF NOT EXISTS part (
    message     BIGINT NOT NULL,
    path        VARCHAR(512) NOT NULL COMMENT 'Section number as in IMAP',
    type        TEXT NOT NULL,
    charset     TEXT,
    disposition TEXT,
    filename    TEXT,
    size        BIGINT NOT NULL,
    sha256      VARBINARY(32) NOT NULL,
    text        MEDIUMTEXT COMMENT 'Content of a text part, converted to UTF-8, at most 1 MiB',
    PRIMARY KEY (message, path),
    FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'MIME parts that are not containers (record.level text and above)';

CREATE TABLE IF NOT EXISTS raw (
    message BIGINT NOT NULL,
    chunk   INTEGER NOT NULL,
    data    MEDIUMBLOB NOT NULL,
    PRIMARY KEY (message, chunk),
    FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'The message as appended, in pieces of 1 MiB (record.level raw)';

CREATE TABLE IF NOT EXISTS delivery (
    id                 BIGINT AUTO_INCREMENT PRIMARY KEY,
    message            BIGINT NOT NULL,
    recipient          VARCHAR(512) NOT NULL COMMENT 'Envelope recipient, lower case',
    original_recipient TEXT COMMENT 'Recipient before Postfix rewrote it',
    account            VARBINARY(512) NOT NULL,
    mailbox            VARBINARY(2000) NOT NULL,
    queue_id           VARCHAR(200) COMMENT 'Postfix queue id of the last attempt, if known',
    host               VARCHAR(255) NOT NULL,
    outcome            VARCHAR(40) NOT NULL COMMENT 'What the last attempt answered; claimed while it is under way. Done is what has finished_at',
    reason             TEXT,
    attempts           INTEGER NOT NULL DEFAULT 1,
    first_at           DATETIME(6) NOT NULL,
    last_at            DATETIME(6) NOT NULL,
    finished_at        DATETIME(6) COMMENT 'NULL while Postfix is expected to try again',
    complete           BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'The message is known to have been read to its end',
    duplicate          BOOLEAN AS (CASE WHEN outcome = 'duplicate' THEN TRUE END) STORED INVISIBLE COMMENT 'NULL: it is none',
    UNIQUE KEY delivery_message (message, recipient),
    KEY delivery_finished (finished_at, message),
    KEY delivery_recipient (recipient, message),
    KEY delivery_duplicate (duplicate),
    FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row for each message and recipient that Postfix handed over and that got as far as a claim';

CREATE TABLE IF NOT EXISTS attempt (
    delivery    BIGINT NOT NULL,
    claim       BIGINT NOT NULL,
    started_at  DATETIME(6) NOT NULL,
    ended_at    DATETIME(6),
    queue_id    VARCHAR(200),
    queued_at   DATETIME(6),
    host        VARCHAR(255) NOT NULL,
    pid         INTEGER NOT NULL,
    outcome     VARCHAR(40) NOT NULL,
    reason      TEXT,
    read_ms     BIGINT NOT NULL,
    lock_ms     BIGINT NOT NULL,
    database_ms BIGINT NOT NULL,
    imap_ms     BIGINT NOT NULL,
    trace_id    BINARY(16),
    span_id     BINARY(8),
    PRIMARY KEY (delivery, claim),
    KEY attempt_queue_id (queue_id),
    KEY attempt_started (started_at),
    FOREIGN KEY (delivery) REFERENCES delivery (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row for each attempt to deliver a message to a recipient that got as far as a claim';

CREATE TABLE IF NOT EXISTS copy (
    id          BIGINT AUTO_INCREMENT PRIMARY KEY,
    message     BIGINT NOT NULL,
    account     VARBINARY(512) NOT NULL COMMENT 'IMAP account',
    mailbox     VARBINARY(2000) NOT NULL COMMENT 'Mailbox as configured or routed, UTF-8',
    role        ENUM('inbox', 'sent') NOT NULL,
    state       ENUM('pending', 'appending', 'stored', 'failed', 'expired') NOT NULL,
    doubt       BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'An earlier attempt may have stored it: the mailbox is searched before the next APPEND',
    generation  INTEGER NOT NULL DEFAULT 1 COMMENT 'Number of the last claim; only its owner may settle it',
    claimed_at  DATETIME(6) NOT NULL COMMENT 'When that claim was made, by the clock of the database; delivery.hold_off counts from here',
    claim       BIGINT NOT NULL COMMENT 'Random number of that claim',
    claimed_by  BIGINT NOT NULL COMMENT 'The delivery that answers for it, of this message, with which both go',
    host        VARCHAR(255) NOT NULL,
    pid         INTEGER NOT NULL,
    first_at    DATETIME(6) NOT NULL COMMENT 'First attempt',
    stored_at   DATETIME(6) COMMENT 'When it was known to be stored',
    uidvalidity BIGINT,
    uid         BIGINT,
    error       TEXT COMMENT 'Why the last attempt did not store it',
    repeated    INTEGER NOT NULL DEFAULT 0,
    feeds       TEXT COMMENT 'The feeds that got it, as ,NAME,NAME,',
    boot        BIGINT COMMENT 'Number of that run of the machine that claimed it, from its boot_id; NULL: unknown',
    boot_us     BIGINT COMMENT 'By how many microseconds the clock of the database was ahead of CLOCK_BOOTTIME of that machine at the claim',
    host_us     BIGINT COMMENT 'By how many microseconds the clock of the database was ahead of the wall clock of that host at the claim',
    UNIQUE KEY copy_place (message, account, mailbox),
    KEY copy_state (state, id),
    KEY copy_account (account, message),
    FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row for each message and mailbox it belongs in: the fence against a second copy';

CREATE TABLE IF NOT EXISTS feed (
    id         BIGINT AUTO_INCREMENT PRIMARY KEY COMMENT 'Number of the row; of the rows of a feed the lowest is next',
    feed       VARCHAR(255) NOT NULL COMMENT 'Name of the feed',
    copy       BIGINT NOT NULL,
    message    BIGINT NOT NULL,
    added_at   DATETIME(6) NOT NULL COMMENT 'When it was stored',
    not_before DATETIME(6) NOT NULL COMMENT 'It is not tried until then: it is being tried, or has failed',
    tries      INTEGER NOT NULL DEFAULT 0 COMMENT 'How often it was tried',
    dead       BOOLEAN NOT NULL DEFAULT FALSE COMMENT 'It is not tried again until: oncedrop feed retry',
    owner      BIGINT NOT NULL DEFAULT 0 COMMENT 'Random number of the last try by oncedrop feed run',
    error      TEXT COMMENT 'Why the last try failed',
    KEY feed_next (feed, dead, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'What waits for an application: a row for each copy that a feed takes, from when it was stored until it is taken out';

CREATE TABLE IF NOT EXISTS feed_reader (
    reader VARCHAR(128) NOT NULL COMMENT 'Database user of the application, without @ and its host',
    feed   VARCHAR(255) NOT NULL COMMENT 'Name of the feed',
    PRIMARY KEY (reader, feed)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Which feeds the users with oncedrop_feed may take; filled by the owner of the schema';

CREATE TABLE IF NOT EXISTS server (
    server     VARCHAR(700) PRIMARY KEY,
    verified   BOOLEAN NOT NULL,
    checked_at DATETIME(6) NOT NULL,
    tried_at   DATETIME(6) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Which IMAP servers were found to honour the account that a login names';

CREATE TABLE IF NOT EXISTS refusal (
    id         CHAR(64) CHARACTER SET ascii COLLATE ascii_bin PRIMARY KEY COMMENT 'A hash of server and account',
    server     VARCHAR(700) NOT NULL COMMENT 'Host and port, or path, the user that logs in, and when imap.password_file was written',
    account    VARBINARY(512) NOT NULL COMMENT 'IMAP account',
    refusals   BIGINT NOT NULL COMMENT 'How many in a row; 0: a login has succeeded since',
    refused_at DATETIME(6) NOT NULL COMMENT 'When the last one was',
    wait_ms    BIGINT NOT NULL COMMENT 'For how long after that the account is not tried, in milliseconds',
    reason     VARCHAR(1000) NOT NULL COMMENT 'What the server said'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Accounts whose login an IMAP server refused, so that they are not tried with each message';

CREATE TABLE IF NOT EXISTS event (
    id      BIGINT AUTO_INCREMENT PRIMARY KEY,
    at      DATETIME(6) NOT NULL,
    name    ENUM('busy', 'search') NOT NULL,
    host    VARCHAR(255) NOT NULL,
    "count" INTEGER NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour, and remove it';

CREATE TABLE IF NOT EXISTS counter_bucket (
    name  VARCHAR(40) NOT NULL,
    label VARCHAR(40) NOT NULL,
    le    BIGINT NOT NULL,
    value BIGINT NOT NULL,
    PRIMARY KEY (name, label, le)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Counts of what is not in the other tables any more, or is older than an hour';

CREATE TABLE IF NOT EXISTS counter (
    one          TINYINT PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    last_message BIGINT NOT NULL,
    messages     BIGINT NOT NULL,
    bytes        BIGINT NOT NULL,
    last_copy    BIGINT NOT NULL,
    copies       BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row: what was counted so far, and up to which message and copy; purge subtracts what it deletes';
INSERT IGNORE INTO counter VALUES (1, 0, 0, 0, 0, 0);

-- Purge subtracts what it deletes, and says so by this variable. What is deleted by other means is not known: all is counted
-- again. Where a server allows triggers only to its administrator (error 1419: a binary log, Galera), `stats` would be wrong after
-- that.
SET @trigger = 'CREATE TRIGGER IF NOT EXISTS forget_counter AFTER DELETE ON message FOR EACH ROW
    UPDATE counter SET last_message = 0, messages = 0, bytes = 0, last_copy = 0, copies = 0 WHERE @subtracts IS NULL';
EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR 1419 BEGIN END;
    EXECUTE IMMEDIATE @trigger;
END';

-- Method row: a delivery locks the row of its key (lock_key & 16383), and never changes or adds one.
CREATE TABLE IF NOT EXISTS slot (
    slot   INTEGER PRIMARY KEY,
    unused BOOLEAN COMMENT 'Deliveries have the right to update this column, and so may lock the row'
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'What a delivery locks with lock.method = row; nothing is written here';
INSERT IGNORE INTO slot (slot) WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 127)
    SELECT a.i * 128 + b.i FROM n a CROSS JOIN n b;

-- Method lease: a row for each message under way. Each of its transactions ends at once.
CREATE TABLE IF NOT EXISTS lease (
    "key"      BIGINT PRIMARY KEY,
    owner      BIGINT NOT NULL COMMENT 'Random number of this delivery; needed to hold or end the lease',
    taken_at   DATETIME(6) NOT NULL DEFAULT (UTC_TIMESTAMP(6)),
    expires_at DATETIME(6) NOT NULL COMMENT 'When others may take it, by the clock of the database',
    host       VARCHAR(255) NOT NULL,
    pid        INTEGER NOT NULL,
    session    VARCHAR(255) NOT NULL,
    "user"     VARCHAR(400) NOT NULL DEFAULT (substring_index(SESSION_USER(), '@', 1)),
    KEY lease_owner (owner)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'Who delivers which message with lock.method = lease; a row goes when its delivery ends';

CREATE TABLE IF NOT EXISTS setting (
    one         TINYINT PRIMARY KEY DEFAULT 1 CHECK (one = 1),
    lock_method VARCHAR(8) NOT NULL CHECK (lock_method IN ('session', 'row', 'lease'))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_nopad_bin
  COMMENT 'One row: by what deliveries exclude each other, on which all hosts must agree; changed by: oncedrop ledger method';
-- The nodes of a Galera cluster exclude each other by nothing but a lease.
INSERT IGNORE INTO setting SELECT 1, CASE WHEN (SELECT count(*) FROM information_schema.SESSION_VARIABLES
    WHERE VARIABLE_NAME = 'WSREP_ON' AND VARIABLE_VALUE = 'ON' OR VARIABLE_NAME = 'WSREP_PROVIDER' AND VARIABLE_VALUE <> 'none')
    = 2 THEN 'lease' ELSE 'session' END;

-- For applications: names of mailboxes as text. With sender_bcc_maps a copy for its sender comes as mail for
-- user+Sent, and so has the role inbox. It is in the mailbox Sent, for the address of its envelope sender without extensions, or
-- for that address's user.
CREATE OR REPLACE SQL SECURITY INVOKER VIEW inbox AS
    SELECT CONVERT(c.account USING utf8mb4) AS account, CONVERT(c.mailbox USING utf8mb4) AS mailbox, c.uidvalidity, c.uid,
           m.id AS message, m.message_id,
           coalesce(JSON_VALUE(m."references", '$[0]'), m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date,
           m.received_at, m.size,
           c.stored_at
      FROM copy c JOIN message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored'
       AND NOT (c.mailbox = 'Sent' AND EXISTS (
           SELECT 1 FROM delivery d WHERE d.id = c.claimed_by AND REGEXP_REPLACE(lower(d.recipient), '[+][^@]*', '')
               IN (REGEXP_REPLACE(lower(m.sender), '[+][^@]*', ''), REGEXP_SUBSTR(lower(m.sender), '^[^+@]*'))));

CREATE OR REPLACE SQL SECURITY INVOKER VIEW outbox AS
    SELECT CONVERT(c.account USING utf8mb4) AS account, CONVERT(c.mailbox USING utf8mb4) AS mailbox, c.uidvalidity, c.uid,
           m.id AS message, m.message_id,
           coalesce(JSON_VALUE(m."references", '$[0]'), m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date,
           m.received_at, m.size,
           c.stored_at,
           (SELECT JSON_ARRAYAGG(d.recipient ORDER BY d.id) FROM delivery d WHERE d.message = m.id
             AND NOT (d.mailbox = 'Sent' AND REGEXP_REPLACE(lower(d.recipient), '[+][^@]*', '')
                 IN (REGEXP_REPLACE(lower(m.sender), '[+][^@]*', ''), REGEXP_SUBSTR(lower(m.sender), '^[^+@]*')))) AS recipients
      FROM copy c JOIN message m ON m.id = c.message
     WHERE c.state = 'stored'
       AND (c.role = 'sent' OR c.mailbox = 'Sent' AND EXISTS (
           SELECT 1 FROM delivery d WHERE d.id = c.claimed_by AND REGEXP_REPLACE(lower(d.recipient), '[+][^@]*', '')
               IN (REGEXP_REPLACE(lower(m.sender), '[+][^@]*', ''), REGEXP_SUBSTR(lower(m.sender), '^[^+@]*'))));

-- Two sessions that look for rows by different indexes would wait for each other; the primary key is for DELETE.
CREATE OR REPLACE ALGORITHM=MERGE SQL SECURITY DEFINER VIEW waiting AS
    SELECT id, feed, copy, message, added_at, not_before, not_before <= UTC_TIMESTAMP(6) AS due, tries, dead, error
      FROM feed FORCE INDEX (PRIMARY, feed_next)
     WHERE feed IN (SELECT r.feed FROM feed_reader r WHERE r.reader = SUBSTRING_INDEX(USER(), '@', 1));

CREATE OR REPLACE SQL SECURITY DEFINER VIEW waiting_message AS
    SELECT f.id, f.feed, f.copy, f.message, m.message_id,
           coalesce(JSON_VALUE(m."references", '$[0]'), m.in_reply_to, m.message_id) AS thread,
           m.in_reply_to, m."references", m.sender, (SELECT JSON_ARRAYAGG(d.recipient ORDER BY d.id) FROM delivery d
               WHERE d.message = m.id AND (c.role = 'sent' OR d.account = c.account AND d.mailbox = c.mailbox)) AS recipients,
           m."from", m.subject, m.date, m.received_at, m.size, CONVERT(c.account USING utf8mb4) AS account,
           CONVERT(c.mailbox USING utf8mb4) AS mailbox, c.uidvalidity, c.uid
      FROM feed f JOIN copy c ON c.id = f.copy JOIN message m ON m.id = f.message
     WHERE f.feed IN (SELECT r.feed FROM feed_reader r WHERE r.reader = SUBSTRING_INDEX(USER(), '@', 1));

CREATE OR REPLACE SQL SECURITY DEFINER VIEW waiting_address AS
    SELECT * FROM address WHERE message IN (SELECT f.message FROM feed f JOIN feed_reader r
        ON r.feed = f.feed AND r.reader = SUBSTRING_INDEX(USER(), '@', 1));

CREATE OR REPLACE SQL SECURITY DEFINER VIEW waiting_part AS
    SELECT * FROM part WHERE message IN (SELECT f.message FROM feed f JOIN feed_reader r
        ON r.feed = f.feed AND r.reader = SUBSTRING_INDEX(USER(), '@', 1));

CREATE OR REPLACE SQL SECURITY DEFINER VIEW waiting_raw AS
    SELECT * FROM raw WHERE message IN (SELECT f.message FROM feed f JOIN feed_reader r
        ON r.feed = f.feed AND r.reader = SUBSTRING_INDEX(USER(), '@', 1));

-- Three roles, if the user that installs this may create them; an administrator can do it later. oncedrop_delivery, for
-- deliveries and replay, reads what distinguishes messages and copies, but no subject, address or text; it deletes nothing but
-- leases. ON DUPLICATE KEY UPDATE takes the right to update every column that is inserted. oncedrop_operator, for show, list, stats,
-- locks, resume and purge, also reads everything and deletes old messages. oncedrop_feed, for applications, takes what waits in the
-- feeds that table feed_reader allows. One that is quoted is one statement to every client.
EXECUTE IMMEDIATE 'BEGIN NOT ATOMIC
    DECLARE CONTINUE HANDLER FOR SQLEXCEPTION BEGIN END;
    CREATE ROLE IF NOT EXISTS oncedrop_delivery;
    CREATE ROLE IF NOT EXISTS oncedrop_operator;
    CREATE ROLE IF NOT EXISTS oncedrop_feed;
    GRANT SELECT ON schema_version TO oncedrop_delivery;
    GRANT SELECT ON setting TO oncedrop_delivery;
    GRANT SELECT (id, identity, digest, lock_key, received_at), INSERT, UPDATE ON message TO
        oncedrop_delivery;
    GRANT SELECT (message, role, "position", "group"), INSERT, UPDATE ON address TO oncedrop_delivery;
    GRANT SELECT (message, path, charset), INSERT, UPDATE ON part TO oncedrop_delivery;
    GRANT SELECT (message, chunk), INSERT, UPDATE ON raw TO oncedrop_delivery;
    GRANT SELECT (id, message, recipient, original_recipient, account, mailbox, queue_id, host, outcome, reason,
        attempts, first_at, last_at, finished_at, complete), INSERT, UPDATE ON delivery TO oncedrop_delivery;
    GRANT SELECT (delivery, claim, outcome), INSERT, UPDATE ON attempt TO oncedrop_delivery;
    GRANT SELECT (id, message, account, mailbox, role, state, doubt, generation, claimed_at, claim, claimed_by, host,
        pid, first_at, uidvalidity, uid, repeated, boot, boot_us, host_us, feeds), INSERT, UPDATE ON copy TO oncedrop_delivery;
    GRANT INSERT ON feed TO oncedrop_delivery;
    GRANT SELECT, INSERT, UPDATE ON server TO oncedrop_delivery;
    GRANT SELECT, INSERT, UPDATE ON refusal TO oncedrop_delivery;
    GRANT INSERT ON event TO oncedrop_delivery;
    GRANT SELECT, UPDATE (unused) ON slot TO oncedrop_delivery;
    GRANT SELECT, INSERT, UPDATE, DELETE ON lease TO oncedrop_delivery;
    GRANT SELECT ON schema_version TO oncedrop_operator;
    GRANT SELECT ON setting TO oncedrop_operator;
    GRANT SELECT ON message TO oncedrop_operator;
    GRANT SELECT ON address TO oncedrop_operator;
    GRANT SELECT ON part TO oncedrop_operator;
    GRANT SELECT ON raw TO oncedrop_operator;
    GRANT SELECT ON delivery TO oncedrop_operator;
    GRANT SELECT ON attempt TO oncedrop_operator;
    GRANT SELECT ON copy TO oncedrop_operator;
    GRANT SELECT, INSERT, UPDATE, DELETE ON feed TO oncedrop_operator;
    GRANT SELECT ON event TO oncedrop_operator;
    GRANT SELECT ON counter_bucket TO oncedrop_operator;
    GRANT SELECT ON counter TO oncedrop_operator;
    GRANT SELECT ON inbox TO oncedrop_operator;
    GRANT SELECT ON outbox TO oncedrop_operator;
    GRANT INSERT, UPDATE ON message TO oncedrop_operator;
    GRANT INSERT, UPDATE ON address TO oncedrop_operator;
    GRANT INSERT, UPDATE ON part TO oncedrop_operator;
    GRANT INSERT, UPDATE ON raw TO oncedrop_operator;
    GRANT INSERT, UPDATE ON delivery TO oncedrop_operator;
    GRANT INSERT, UPDATE ON attempt TO
        oncedrop_operator;
    GRANT INSERT, UPDATE ON copy TO oncedrop_operator;
    GRANT INSERT ON event TO oncedrop_operator;
    GRANT DELETE ON message TO oncedrop_operator;
    GRANT DELETE ON event TO oncedrop_operator;
    GRANT INSERT, UPDATE ON counter_bucket TO oncedrop_operator;
    GRANT UPDATE ON counter TO oncedrop_operator;
    GRANT SELECT, INSERT, UPDATE ON server TO oncedrop_operator;
    GRANT SELECT, INSERT, UPDATE, DELETE ON refusal TO oncedrop_operator;
    GRANT SELECT, UPDATE (unused) ON slot TO oncedrop_operator;
    GRANT SELECT, INSERT, UPDATE, DELETE ON lease TO oncedrop_operator;
    GRANT SELECT, UPDATE (not_before, tries, dead, error), DELETE ON waiting TO oncedrop_feed;
    GRANT SELECT ON waiting_message TO oncedrop_feed;
    GRANT SELECT ON waiting_address TO oncedrop_feed;
    GRANT SELECT ON waiting_part TO oncedrop_feed;
    GRANT SELECT ON waiting_raw TO oncedrop_feed;
END';
