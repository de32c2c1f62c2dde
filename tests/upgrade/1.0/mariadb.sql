-- SPDX-License-Identifier: ISC
-- A ledger that version 1.0 wrote: tests/upgrade/write-fixture.

SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin;
SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION';
SET @refuse = CASE WHEN GET_LOCK(concat('oncedrop.schema.', DATABASE()), 20) THEN 'DO 0' ELSE 'SIGNAL SQLSTATE ''45000'' SET MESSAGE_TEXT = ''another process is installing or upgrading the ledger''' END;
EXECUTE IMMEDIATE @refuse;
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

INSERT INTO schema_version (version) VALUES (1) ON DUPLICATE KEY UPDATE version = schema_version.version;
DO RELEASE_LOCK(concat('oncedrop.schema.', DATABASE()));

DELETE FROM schema_version;
INSERT INTO schema_version ("version", "installed_at") VALUES
(1, '2026-01-06 08:00:00.794326');
INSERT INTO message ("id", "identity", "digest", "lock_key", "message_id", "sender", "from", "subject", "date", "size", "in_reply_to", "references", "received_at") VALUES
(1, X'b4eb1c7610ccbced49d724aa25556695952fb83e8cb766c723bb615ad0b99ea0', X'f82620733e55c3c017cc5c084906a1b32d82273bad0153895a49be13f024fb10', -5410199233941947155, 'stored@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'Grüße, Ж, 😀', '2025-08-01 08:00:00.000000', 731, 'second@elsewhere.example', '["first@elsewhere.example","second@elsewhere.example"]', '2026-01-05 08:00:00.000000'),
(2, X'a9cdde5317200ecf39456de2b3dd93ffbe5516e5d26ed7ce6dce9ace2744b87d', X'393aeb95f43f525f0a3f8794d179e57e46a7dbafad838ddba6a574069fc7a7f5', -6211063862622417201, NULL, 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'without-id', '2025-08-01 08:00:00.000000', 142, NULL, '[]', '2026-01-05 08:00:01.000000'),
(3, X'254d246a0bfede928f98d833cad0b00d32fc03a29900105255c3db61e4a9be2a', X'e5069ba3e414ea912e05ea01fd55e546a4c37bdcf5967960e0fee259e65ae6cb', 2687844590496439954, 'envelope@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'envelope', '2025-08-01 08:00:00.000000', 179, NULL, '[]', '2026-01-05 08:00:01.000000'),
(4, X'e17951c90d5ae5a17c2e3e4fad187004071633df402a75f179c7c1287f37af5e', X'adf0f03c31ce05965fecc5e36657cd258aa5c8699b71bd077abce9b9e49e24fb', -2199637019039439455, 'expired@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'expired', '2025-08-01 08:00:00.000000', 175, NULL, '[]', '2026-01-06 08:00:01.000000'),
(5, X'0814b6aa667a5f75435759835c6fc4c011497e48a9e3ab7de8e72061425f048f', X'82ebfd2d10962a5f14aa8a0e67dc021485f591984f15682628131899fcf21235', 582291094817628021, 'pending@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'pending', '2025-08-01 08:00:00.000000', 175, NULL, '[]', '2026-01-06 08:00:01.000000'),
(6, X'8b931793b204385972cb8b53c013fb7b813945471cd156c694092f00b2a9b934', X'3a56660e1480b66e0170e72ab76f075197a432ce62f7326be30bee0aa15d1331', -8389335757746849703, 'bounced@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'bounced', '2025-08-01 08:00:00.000000', 175, NULL, '[]', '2026-01-06 08:00:02.000000'),
(7, X'19d8e029e29a592c24b51e0a6a7f4c951e06cb5a50c90535359f30753fb34b93', X'87e422893149b9fc16f10e82ca12fbcd97fcfd3accb1c77ea1ece26d440988e7', 1862484916417747244, 'sent-failed@upgrade.example', 'full@upgrade.example', 'full@upgrade.example', 'sent-failed', '2025-08-01 08:00:00.000000', 181, NULL, '[]', '2026-01-06 08:00:02.000000'),
(8, X'902a697ae102a8f82b1e72a4a4fa37fc7e5df59baaf89c4b8697dcc8d428994a', X'7cf6fa8fc5d4fffde70b7b23463c012ac5afb2b967807a7b118013c2251e4e04', -8058512606744106760, 'refused@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'refused', '2025-08-01 08:00:00.000000', 177, NULL, '[]', '2026-01-06 08:00:02.000000'),
(9, X'd63bfba7dd73ddd8e89e287a0493966234561cb53eb992e85252fa8a0bcf7b65', X'2a04892415cde03e050cbe3363aa46c25e538e4ac2ef8c9b01546150efc1838f', -3009535227573576232, 'found@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'found', '2025-08-01 08:00:00.000000', 169, NULL, '[]', '2026-01-06 08:00:02.000000'),
(10, X'bbacd03c765dca49a34f7725c3579d07865406b1bf6af6deaf291b4794f405f8', X'637187d3c838e3aaca98a6f4c0439b8259cc5a52d118b9401a7d9c81b210f1de', -4923331334520321463, 'absent@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'absent', '2025-08-01 08:00:00.000000', 172, NULL, '[]', '2026-01-06 08:00:02.000000'),
(11, X'7f91ce821f24933ef36e2bf20ffdabf32eecc436f83a406e30c7c826fc375c84', X'ed74626eb2564a352907597d9c195fd9c17d752cf0897e7758deb5e8ea46d5b5', 9192355372703454014, 'sent-absent@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'sent-absent', '2025-08-01 08:00:00.000000', 182, NULL, '[]', '2026-01-06 08:00:03.000000'),
(12, X'7ddae61c0715a82dd4db217801f292f7f151717e434352ea272e8e6e2732a1e1', X'55a3f6b0022a102071b529edc967971c49dce682ffc868db42cf630b6e55ea22', 9068813807716247597, 'support-taken@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-taken', '2025-08-01 08:00:00.000000', 196, NULL, '[]', '2026-01-06 08:00:03.000000'),
(13, X'2ab0782b71972e9a3bb5a79ec8f95cea30a45fafca79c726e46f14b5c973c3ca', X'de35d9f448ce1b6ea4ee7afec3e22e0f50587a662a46e5343e7d52ada069545f', 3076090673478708890, 'support-tried@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-tried', '2025-08-01 08:00:00.000000', 196, NULL, '[]', '2026-01-06 08:00:03.000000'),
(14, X'9b86645ee845f17d777f9dd624150aac4850c6ecc4439d2e5faab2034f91315d', X'bf7a18f9b2cb5364c076e76cf4fae3335f377ace31a795cbe824dba5ec42b877', -7239988992164892291, 'support-dead@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-dead', '2025-08-01 08:00:00.000000', 193, NULL, '[]', '2026-01-06 08:00:03.000000'),
(15, X'95e5634137a8d048d340a2b463520d170a0f8042252a094e82b196c8ed2756d1', X'6e1349f7d42a1c1ba428bd3aec7e56615054f0fab037acc83a1c96142ac23742', -7645595660633714616, 'support-waiting@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-waiting', '2025-08-01 08:00:00.000000', 202, NULL, '[]', '2026-01-06 08:00:03.000000');
INSERT INTO address ("message", "role", "position", "group", "name", "address") VALUES
(1, 'cc', 1, 'Group', 'Doug \\ D.', 'doug@upgrade.example'),
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
INSERT INTO part ("message", "path", "type", "charset", "disposition", "filename", "size", "sha256", "text") VALUES
(1, '1', 'text/plain', 'utf-8', NULL, NULL, 51, X'd4c072b9153ca71984be25a3b25ba3a3a03890dace2406fcc617a12e90d2f77e', 'Grüße, Ж, €, 😀, it''s "quoted" \\ and more.\r\n'),
(1, '2', 'application/octet-stream', NULL, 'attachment', 'Bär.bin', 10, X'1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3', NULL),
(2, '1', 'text/plain', NULL, NULL, NULL, 21, X'c4636ffbeaba8cf22980d86fbde3d941b124caa88518c295b6ab9f9fdede8bda', 'This is without-id.\r\n'),
(4, '1', 'text/plain', NULL, NULL, NULL, 18, X'40d108cf2d0408232a30730a7f9953a6131176d6c58007fde674eae04eaebeec', 'This is expired.\r\n'),
(5, '1', 'text/plain', NULL, NULL, NULL, 18, X'ca3998717ddc1cffaf69d3d4a906e910ea3944e4e066df145eae026ac45e4b3f', 'This is pending.\r\n'),
(6, '1', 'text/plain', NULL, NULL, NULL, 18, X'af5471cd577493f038e6112085881fdd4ae06f492a64ba77ef113711d267f0ee', 'This is bounced.\r\n'),
(7, '1', 'text/plain', NULL, NULL, NULL, 22, X'231ba4bb704adb075775598773b28b7835f688f9281a9ef789182b7c492b9662', 'This is sent-failed.\r\n'),
(8, '1', 'text/plain', NULL, NULL, NULL, 18, X'3b6a69174847223d65b29612199b8ac1a3824f21743f76c31061460b1079c2ea', 'This is refused.\r\n'),
(9, '1', 'text/plain', NULL, NULL, NULL, 16, X'b65a67850257a3092a8f9a97df852dd10ae55af9d702fd58452fc758d8c47c6b', 'This is found.\r\n'),
(10, '1', 'text/plain', NULL, NULL, NULL, 17, X'10799be364bb4d8f0cdba88735ff344b496b4e9840b4307aae8dcdf300105e4c', 'This is absent.\r\n'),
(11, '1', 'text/plain', NULL, NULL, NULL, 22, X'143bb015a7e28b1e99f413a138a2fb7412012b4130d3c0165d98f1f21b966e33', 'This is sent-absent.\r\n'),
(12, '1', 'text/plain', NULL, NULL, NULL, 24, X'50fe5cdb685b9ebaa2678be4b6df0fa80544991d14395cd5884dfaf1d91f07dd', 'This is support-taken.\r\n'),
(13, '1', 'text/plain', NULL, NULL, NULL, 24, X'ebdd69387d6b0e72c48828c45eb519d99e0431545d03bbd6073c91b9749526a5', 'This is support-tried.\r\n'),
(14, '1', 'text/plain', NULL, NULL, NULL, 23, X'9bfaa075f0a00b348660815fc6a60a51e57ff0beab3e08b67e74672b87180660', 'This is support-dead.\r\n'),
(15, '1', 'text/plain', NULL, NULL, NULL, 26, X'2ff0f3a550611ad8d0cb835013edc40d3d67e56540ad641c5b9858ee7a5a0981', 'This is support-waiting.\r\n');
INSERT INTO raw ("message", "chunk", "data") VALUES
(1, 0, 'From: lisa@upgrade.example\r\nTo: doug@upgrade.example\r\nSubject: =?utf-8?q?Gr=C3=BC=C3=9Fe=2C_=D0=96=2C?= =?utf-8?b?IPCfmIA=?=\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <stored@upgrade.example>\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=b\r\nReferences: <first@elsewhere.example> <second@elsewhere.example>\r\nIn-Reply-To: <second@elsewhere.example>\r\nCc: Group: "Doug \\\\ D." <doug@upgrade.example>;\r\n\r\n--b\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 8bit\r\n\r\nGrüße, Ж, €, 😀, it''s "quoted" \\ and more.\r\n\r\n--b\r\nContent-Type: application/octet-stream; name="=?utf-8?q?B=C3=A4r.bin?="\r\nContent-Disposition: attachment\r\nContent-Transfer-Encoding: base64\r\n\r\nAAECAwQFBgcICQ==\r\n\r\n--b--\r\n'),
(2, 0, 'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: without-id\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\n\r\nThis is without-id.\r\n'),
(4, 0, 'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: expired\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <expired@upgrade.example>\r\n\r\nThis is expired.\r\n'),
(5, 0, 'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: pending\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <pending@upgrade.example>\r\n\r\nThis is pending.\r\n'),
(6, 0, 'From: stranger@elsewhere.example\r\nTo: full@upgrade.example\r\nSubject: bounced\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <bounced@upgrade.example>\r\n\r\nThis is bounced.\r\n'),
(7, 0, 'From: full@upgrade.example\r\nTo: doug@upgrade.example\r\nSubject: sent-failed\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <sent-failed@upgrade.example>\r\n\r\nThis is sent-failed.\r\n'),
(8, 0, 'From: stranger@elsewhere.example\r\nTo: locked@upgrade.example\r\nSubject: refused\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <refused@upgrade.example>\r\n\r\nThis is refused.\r\n'),
(9, 0, 'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: found\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <found@upgrade.example>\r\n\r\nThis is found.\r\n'),
(10, 0, 'From: stranger@elsewhere.example\r\nTo: doug@upgrade.example\r\nSubject: absent\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <absent@upgrade.example>\r\n\r\nThis is absent.\r\n'),
(11, 0, 'From: lisa@upgrade.example\r\nTo: scuba@upgrade.example\r\nSubject: sent-absent\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <sent-absent@upgrade.example>\r\n\r\nThis is sent-absent.\r\n'),
(12, 0, 'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-taken\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-taken@upgrade.example>\r\n\r\nThis is support-taken.\r\n'),
(13, 0, 'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-tried\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-tried@upgrade.example>\r\n\r\nThis is support-tried.\r\n'),
(14, 0, 'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-dead\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-dead@upgrade.example>\r\n\r\nThis is support-dead.\r\n'),
(15, 0, 'From: stranger@elsewhere.example\r\nTo: support@upgrade.example\r\nSubject: support-waiting\r\nDate: Fri, 1 Aug 2025 10:00:00 +0200\r\nMessage-ID: <support-waiting@upgrade.example>\r\n\r\nThis is support-waiting.\r\n');
INSERT INTO delivery ("id", "message", "recipient", "original_recipient", "account", "mailbox", "queue_id", "host", "outcome", "reason", "attempts", "first_at", "last_at", "finished_at", "complete") VALUES
(1, 1, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'duplicate', 'duplicate uid=1 mailbox=INBOX', 2, '2026-01-05 08:00:01.015405', '2026-01-05 08:00:01.332924', '2026-01-05 08:00:01.144418', 1),
(2, 1, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-05 08:00:01.218657', '2026-01-05 08:00:01.266680', '2026-01-05 08:00:01.266680', 1),
(4, 2, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q1', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-05 08:00:01.404295', '2026-01-05 08:00:01.418381', '2026-01-05 08:00:01.418381', 1),
(5, 3, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q2', 'mail.example.org', 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 2, '2026-01-05 08:00:01.448900', '2026-01-05 08:00:01.719999', '2026-01-05 08:00:01.471206', 1),
(7, 4, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q9', 'mail.example.org', 'expired', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.027 + 0.000 + 0.026 secs).', 1, '2026-01-06 08:00:01.848185', '2026-01-06 08:00:01.903055', '2026-01-06 08:00:01.934631', 1),
(8, 5, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q7', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, '2026-01-06 08:00:01.955703', '2026-01-06 08:00:02.038929', NULL, 1),
(10, 6, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q8', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, '2026-01-06 08:00:02.060139', '2026-01-06 08:00:02.083058', '2026-01-06 08:00:02.083058', 1),
(11, 7, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q6', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:02.100316', '2026-01-06 08:00:02.199050', '2026-01-06 08:00:02.199050', 1),
(12, 8, 'locked@upgrade.example', NULL, 'locked@upgrade.example', 'INBOX', 'Q10', 'mail.example.org', 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, '2026-01-06 08:00:02.220348', '2026-01-06 08:00:02.735457', NULL, 1),
(13, 9, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 2, '2026-01-06 08:00:02.846634', '2026-01-06 08:00:02.899623', NULL, 0),
(15, 10, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 1, '2026-01-06 08:00:02.971378', '2026-01-06 08:00:02.971378', NULL, 0),
(16, 11, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:03.054220', '2026-01-06 08:00:03.074834', NULL, 1),
(17, 12, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q11', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, '2026-01-06 08:00:03.120444', '2026-01-06 08:00:03.151311', '2026-01-06 08:00:03.151311', 1),
(18, 13, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q13', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, '2026-01-06 08:00:03.165123', '2026-01-06 08:00:03.183513', '2026-01-06 08:00:03.183513', 1),
(19, 14, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q14', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, '2026-01-06 08:00:03.212156', '2026-01-06 08:00:03.226986', '2026-01-06 08:00:03.226986', 1),
(20, 15, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q12', 'mail.example.org', 'stored', 'stored uid=4 mailbox=INBOX', 1, '2026-01-06 08:00:03.304204', '2026-01-06 08:00:03.323145', '2026-01-06 08:00:03.323145', 1);
INSERT INTO attempt ("delivery", "claim", "started_at", "ended_at", "queue_id", "queued_at", "host", "pid", "outcome", "reason", "read_ms", "lock_ms", "database_ms", "imap_ms", "trace_id", "span_id") VALUES
(1, 2759743580502413601, '2026-01-05 08:00:00.880563', '2026-01-05 08:00:01.150183', 'Q0', NULL, 'mail.example.org', 10226, 'stored', 'stored uid=1 mailbox=INBOX', 0, 3, 147, 114, X'4e32184cf34a8b285d7142f81aa2e2b4', X'ceae4f9f4b2d4752'),
(1, 6802619291441784994, '2026-01-05 08:00:01.294832', '2026-01-05 08:00:01.332832', 'Q0', NULL, 'mail.example.org', 10299, 'duplicate', 'duplicate uid=1 mailbox=INBOX', 7, 3, 28, 0, X'4e32184cf34a8b285d7142f81aa2e2b4', X'7f27cb35ebafeb5f'),
(2, 4688977740049795892, '2026-01-05 08:00:01.178822', '2026-01-05 08:00:01.266761', 'Q0', NULL, 'mail.example.org', 10271, 'stored', 'stored uid=1 mailbox=INBOX', 1, 6, 33, 51, X'4e32184cf34a8b285d7142f81aa2e2b4', X'8999e16dc8a00a59'),
(4, -3235571084428279684, '2026-01-05 08:00:01.360400', '2026-01-05 08:00:01.418492', 'Q1', NULL, 'mail.example.org', 10310, 'stored', 'stored uid=2 mailbox=INBOX', 0, 2, 44, 13, X'4d1da0028b3f55b5db110e8aba7263ba', X'd95b7c6e8f448429'),
(5, -2047435701730504757, '2026-01-05 08:00:01.441956', '2026-01-05 08:00:01.471305', 'Q2', NULL, 'mail.example.org', 10329, 'stored', 'stored uid=2 mailbox=INBOX', 2, 7, 5, 16, NULL, NULL),
(5, 6106362786113095105, '2026-01-05 08:00:01.702205', '2026-01-05 08:00:01.720079', NULL, NULL, 'mail.example.org', 10375, 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 0, 5, 0, 13, X'f08666677d1e6c48e30ebd4dabf11814', X'd55bd151d95cbf09'),
(7, -7544812945693274630, '2026-01-06 08:00:01.833245', '2026-01-06 08:00:01.903165', 'Q9', NULL, 'mail.example.org', 10398, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.027 + 0.000 + 0.026 secs).', 3, 2, 12, 54, X'bf8a61f163bd58e28c2bcd85752a10ca', X'eb659efd6b1d26fe'),
(8, 2398147463492457143, '2026-01-06 08:00:01.949757', '2026-01-06 08:00:01.967056', 'Q7', NULL, 'mail.example.org', 10409, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 3, 2, 4, 6, X'd110cfa94060929da692fcfc57254dd6', X'73603dc0c8b4f289'),
(8, 5693593909663306940, '2026-01-06 08:00:01.986631', '2026-01-06 08:00:02.038995', 'Q7', NULL, 'mail.example.org', 10412, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 1, 39, 16, X'd110cfa94060929da692fcfc57254dd6', X'86cd0af8ca820b02'),
(10, 3218298119439884684, '2026-01-06 08:00:02.051208', '2026-01-06 08:00:02.083165', 'Q8', NULL, 'mail.example.org', 10420, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, 3, 9, 28, X'c560df493a76ce692a76cbcd373f0fa3', X'ef278c0c3fee0748'),
(11, -7481771338454156323, '2026-01-06 08:00:02.093380', '2026-01-06 08:00:02.199180', 'Q6', NULL, 'mail.example.org', 10427, 'stored', 'stored uid=3 mailbox=INBOX', 0, 2, 16, 85, X'5941b22002adf9c020b87999eac36898', X'649b34fdb0a3b833'),
(12, 3458593977650727742, '2026-01-06 08:00:02.212408', '2026-01-06 08:00:02.735569', 'Q10', NULL, 'mail.example.org', 10440, 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, 2, 7, 514, X'c2d539b7960e195387ff31e85870f09e', X'6a91cb5860514ec3'),
(13, 3355948812958092804, '2026-01-06 08:00:02.868560', NULL, 'QDIED', NULL, 'mail.example.org', 10489, 'claimed', NULL, 1, 2, 28, 0, X'1fd3238e51428894f39ee07f12fd8468', X'c4ff7c34192c298b'),
(13, 4665026056228736941, '2026-01-06 08:00:02.745761', NULL, 'QDIED', NULL, 'mail.example.org', 10468, 'claimed', NULL, 0, 7, 94, 0, X'1fd3238e51428894f39ee07f12fd8468', X'a9008ef18e707fc8'),
(15, 977910870258160449, '2026-01-06 08:00:02.925433', NULL, 'QDIED', NULL, 'mail.example.org', 10508, 'claimed', NULL, 0, 3, 43, 0, X'c9a5ca083e25556271fb6b1a8afb979a', X'008f08be053c150b'),
(16, -4504156943182698880, '2026-01-06 08:00:03.032089', '2026-01-06 08:00:03.074918', 'QDIED', NULL, 'mail.example.org', 10534, 'stored', 'stored uid=3 mailbox=INBOX', 0, 2, 40, 10, X'b740c703e753b8fd84fb4a243aa8a6e4', X'070e4d7d900868fa'),
(17, -27772010717096752, '2026-01-06 08:00:03.113498', '2026-01-06 08:00:03.152202', 'Q11', NULL, 'mail.example.org', 10551, 'stored', 'stored uid=1 mailbox=INBOX', 0, 2, 7, 29, X'6304e3780022fb6f79e37367b1fef74f', X'de7bf804debf7a93'),
(18, 159617900679141965, '2026-01-06 08:00:03.161174', '2026-01-06 08:00:03.183608', 'Q13', NULL, 'mail.example.org', 10555, 'stored', 'stored uid=2 mailbox=INBOX', 0, 2, 4, 17, X'1466d8940164830b2eb9b4634daf8af0', X'6afd1d41a8b30a65'),
(19, 91597404317259679, '2026-01-06 08:00:03.193208', '2026-01-06 08:00:03.227071', 'Q14', NULL, 'mail.example.org', 10560, 'stored', 'stored uid=3 mailbox=INBOX', 0, 2, 19, 9, X'6fe90c4689c55828d431e28d172d889a', X'a5b3cffff19af1d4'),
(20, 4523994042970109698, '2026-01-06 08:00:03.278261', '2026-01-06 08:00:03.323240', 'Q12', NULL, 'mail.example.org', 10581, 'stored', 'stored uid=4 mailbox=INBOX', 0, 2, 29, 12, X'2dd8ef28b2528a2136bbdafd39015729', X'f0dbb174211ce315');
INSERT INTO copy ("id", "message", "account", "mailbox", "role", "state", "doubt", "generation", "claimed_at", "claim", "claimed_by", "host", "pid", "first_at", "stored_at", "uidvalidity", "uid", "error", "repeated", "feeds", "boot", "boot_us", "host_us") VALUES
(1, 1, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-05 08:00:01.015730', 2759743580502413601, 1, 'mail.example.org', 10226, '2026-01-05 08:00:01.015730', '2026-01-05 08:00:01.050642', 1796067714, 1, NULL, 0, NULL, 7685298789696752262, 1767668538187730, 1269),
(2, 1, 'lisa@upgrade.example', 'Sent', 'sent', 'stored', 0, 1, '2026-01-05 08:00:01.015814', 2759743580502413601, 1, 'mail.example.org', 10226, '2026-01-05 08:00:01.015814', '2026-01-05 08:00:01.143386', 1796067714, 1, NULL, 0, ',sent,', 7685298789696752262, 1767668538187814, 1348),
(3, 1, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-05 08:00:01.225506', 4688977740049795892, 2, 'mail.example.org', 10271, '2026-01-05 08:00:01.225506', '2026-01-05 08:00:01.266223', 1796067714, 1, NULL, 0, NULL, 7685298789696752262, 1767668538197506, 10867),
(4, 2, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-05 08:00:01.404474', -3235571084428279684, 4, 'mail.example.org', 10310, '2026-01-05 08:00:01.404474', '2026-01-05 08:00:01.417919', 1796067714, 2, NULL, 0, NULL, 7685298789696752262, 1767668538188474, 1599),
(5, 3, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 2, '2026-01-05 08:00:01.707427', 6106362786113095105, 5, 'mail.example.org', 10375, '2026-01-05 08:00:01.448995', '2026-01-05 08:00:01.719676', 1796067714, 2, NULL, 1, NULL, 7685298789696752262, 1767668538187427, 1026),
(7, 4, 'full@upgrade.example', 'INBOX', 'inbox', 'expired', 0, 1, '2026-01-06 08:00:01.848298', -7544812945693274630, 7, 'mail.example.org', 10398, '2026-01-06 08:00:01.848298', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.027 + 0.000 + 0.026 secs).', 0, NULL, 7685298789696752262, 1767668538188298, 1620),
(8, 5, 'full@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 2, '2026-01-06 08:00:02.027886', 5693593909663306940, 8, 'mail.example.org', 10412, '2026-01-06 08:00:01.955810', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668538193886, 6865),
(10, 6, 'full@upgrade.example', 'INBOX', 'inbox', 'failed', 0, 1, '2026-01-06 08:00:02.060265', 3218298119439884684, 10, 'mail.example.org', 10420, '2026-01-06 08:00:02.060265', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668538195265, 8146),
(11, 7, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:02.100433', -7481771338454156323, 11, 'mail.example.org', 10427, '2026-01-06 08:00:02.100433', '2026-01-06 08:00:02.121722', 1796067714, 3, NULL, 0, NULL, 7685298789696752262, 1767668538188433, 1711),
(12, 7, 'full@upgrade.example', 'Sent', 'sent', 'failed', 0, 1, '2026-01-06 08:00:02.100490', -7481771338454156323, 11, 'mail.example.org', 10427, '2026-01-06 08:00:02.100490', NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox Sent refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.013 + 0.000 + 0.012 secs).', 0, NULL, 7685298789696752262, 1767668538188490, 1759),
(13, 8, 'locked@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 1, '2026-01-06 08:00:02.220462', 3458593977650727742, 12, 'mail.example.org', 10440, '2026-01-06 08:00:02.220462', NULL, NULL, NULL, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 0, NULL, 7685298789696752262, 1767668538188462, 1552),
(14, 9, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 1, 2, '2026-01-06 08:00:02.899842', 3355948812958092804, 13, 'mail.example.org', 10489, '2026-01-06 08:00:02.846923', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668538193842, 7109),
(16, 10, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 0, 1, '2026-01-06 08:00:02.971551', 977910870258160449, 15, 'mail.example.org', 10508, '2026-01-06 08:00:02.971551', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668538188551, 1267),
(17, 11, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:03.062362', -4504156943182698880, 16, 'mail.example.org', 10534, '2026-01-06 08:00:03.062362', '2026-01-06 08:00:03.074509', 1796067714, 3, NULL, 0, NULL, 7685298789696752262, 1767668538202362, 15556),
(18, 11, 'lisa@upgrade.example', 'Sent', 'sent', 'appending', 0, 1, '2026-01-06 08:00:03.062470', -4504156943182698880, 16, 'mail.example.org', 10534, '2026-01-06 08:00:03.062470', NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668538202470, 15658),
(19, 12, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:03.120551', -27772010717096752, 17, 'mail.example.org', 10551, '2026-01-06 08:00:03.120551', '2026-01-06 08:00:03.150978', 1796067716, 1, NULL, 0, ',support,', 7685298789696752262, 1767668538188551, 1560),
(20, 13, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:03.165222', 159617900679141965, 18, 'mail.example.org', 10555, '2026-01-06 08:00:03.165222', '2026-01-06 08:00:03.183213', 1796067716, 2, NULL, 0, ',support,', 7685298789696752262, 1767668538188222, 1540),
(21, 14, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:03.212256', 91597404317259679, 19, 'mail.example.org', 10560, '2026-01-06 08:00:03.212256', '2026-01-06 08:00:03.226725', 1796067716, 3, NULL, 0, ',support,', 7685298789696752262, 1767668538188256, 1523),
(22, 15, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, '2026-01-06 08:00:03.304311', 4523994042970109698, 20, 'mail.example.org', 10581, '2026-01-06 08:00:03.304311', '2026-01-06 08:00:03.322855', 1796067716, 4, NULL, 0, ',support,', 7685298789696752262, 1767668538188311, 1551);
INSERT INTO feed ("id", "feed", "copy", "message", "added_at", "not_before", "tries", "dead", "owner", "error") VALUES
(1, 'sent', 2, 1, '2026-01-06 08:00:01.142938', '2026-01-06 08:00:01.142938', 0, 0, 0, NULL),
(3, 'support', 20, 13, '2026-01-06 08:00:03.182889', '2026-01-06 08:00:13.263120', 1, 0, -490048778944771260, 'the command exited with status 75'),
(4, 'support', 21, 14, '2026-01-06 08:00:03.226465', '2026-01-06 08:00:13.266937', 1, 1, 3194707847972965076, 'the command exited with status 1'),
(5, 'support', 22, 15, '2026-01-06 08:00:03.322566', '2026-01-06 08:00:03.322566', 0, 0, 0, NULL);
INSERT INTO feed_reader ("reader", "feed") VALUES
('helpdesk', 'support');
INSERT INTO server ("server", "verified", "checked_at", "tried_at") VALUES
('127.0.0.1 port 993 on mail.example.org as oncedrop', 1, '2026-01-06 08:00:01.012723', '2026-01-06 08:00:01.012723'),
('127.0.0.1 port 994 on mail.example.org as oncedrop', 1, '2026-01-06 08:00:02.891246', '2026-01-06 08:00:02.891246'),
('127.0.0.1 port 995 on mail.example.org as oncedrop', 1, '2026-01-06 08:00:02.962401', '2026-01-06 08:00:02.962401'),
('127.0.0.1 port 996 on mail.example.org as oncedrop', 1, '2026-01-06 08:00:02.843948', '2026-01-06 08:00:02.843948'),
('127.0.0.1 port 997 on mail.example.org as oncedrop', 1, '2026-01-06 08:00:03.044935', '2026-01-06 08:00:03.044935');
INSERT INTO refusal ("id", "server", "account", "refusals", "refused_at", "wait_ms", "reason") VALUES
('dabf70bb8cc8514c5ab2999cf93388e9be1d4d658d0a5f63903040aec0f2729d', '127.0.0.1 port 993 on mail.example.org as each account, password of 1796067715207348719', 'locked@upgrade.example', 1, '2026-01-06 08:00:02.736067', 60000, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)');
INSERT INTO event ("id", "at", "name", "host", "count") VALUES
(3, '2026-01-06 08:00:01.807959', 'busy', 'mail.example.org', 1),
(4, '2026-01-06 08:00:02.899921', 'search', 'mail.example.org', 1);
INSERT INTO counter_bucket ("name", "label", "le", "value") VALUES
('counted_until', '', 0, 1767682801000000),
('deferrals', 'busy', 0, 1),
('deliveries', 'deferred', 0, 1),
('deliveries', 'duplicate', 0, 2),
('deliveries', 'stored', 0, 4),
('phase', 'database', 5, 2),
('phase', 'database', 50, 3),
('phase', 'database', 250, 1),
('phase', 'imap', 5, 1),
('phase', 'imap', 25, 3),
('phase', 'imap', 100, 1),
('phase', 'imap', 250, 1),
('phase', 'lock', 5, 4),
('phase', 'lock', 10, 2),
('phase', 'read', 5, 5),
('phase', 'read', 10, 1),
('phase_ms', 'database', 0, 257),
('phase_ms', 'imap', 0, 207),
('phase_ms', 'lock', 0, 26),
('phase_ms', 'read', 0, 10),
('searches', '', 0, 1);
DELETE FROM counter;
INSERT INTO counter ("one", "last_message", "messages", "bytes", "last_copy", "copies") VALUES
(1, 3, 3, 1052, 5, 5);
DELETE FROM setting;
INSERT INTO setting ("one", "lock_method") VALUES
(1, 'session');
INSERT INTO lease ("key", "owner", "taken_at", "expires_at", "host", "pid", "session", "user") VALUES
(-4923331334520321463, 9181372586665021904, '2026-01-06 08:00:02.972093', '2026-01-06 08:01:02.972093', 'mail.example.org', 10508, 'oncedrop mail.example.org[10508] QDIED', 'mailer');
ALTER TABLE copy AUTO_INCREMENT = 23;
ALTER TABLE delivery AUTO_INCREMENT = 21;
ALTER TABLE event AUTO_INCREMENT = 5;
ALTER TABLE feed AUTO_INCREMENT = 6;
ALTER TABLE message AUTO_INCREMENT = 16;
