-- SPDX-License-Identifier: ISC
-- A ledger that version 1.0 wrote: tests/upgrade/write-fixture.

BEGIN IMMEDIATE;
-- oncedrop's ledger in SQLite, version 1. Moments are microseconds since 1970 (UTC), truths are 0 and 1, lists are JSON.
--
-- AUTOINCREMENT: the number of a deleted row is not reused: the counters say up to which number rows are counted.

CREATE TABLE main.schema_version (
    version      INTEGER PRIMARY KEY,
    installed_at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER) * 1000000)
) STRICT;

CREATE TABLE main.message (
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

CREATE TABLE main.address (
    message  INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    role     TEXT NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    position INTEGER NOT NULL,
    "group"  TEXT,
    name     TEXT,
    address  TEXT NOT NULL,
    PRIMARY KEY (message, role, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE main.part (
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

CREATE TABLE main.raw (
    message INTEGER NOT NULL REFERENCES message ON DELETE CASCADE,
    chunk   INTEGER NOT NULL,
    data    BLOB NOT NULL,
    PRIMARY KEY (message, chunk)
) STRICT;

CREATE TABLE main.delivery (
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
CREATE INDEX main.delivery_unfinished ON delivery (message) WHERE finished_at IS NULL;
CREATE INDEX main.delivery_duplicate ON delivery (id) WHERE outcome = 'duplicate';
CREATE INDEX main.delivery_recipient ON delivery (recipient, message);

CREATE TABLE main.attempt (
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
CREATE INDEX main.attempt_queue_id ON attempt (queue_id);

CREATE TABLE main.copy (
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
CREATE INDEX main.copy_not_stored ON copy (state, id) WHERE state <> 'stored';
CREATE INDEX main.copy_account ON copy (account, message);

-- What waits for an application: a row for each copy that a feed takes, from when it was stored until it is taken out.
CREATE TABLE main.feed (
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
CREATE INDEX main.feed_next ON feed (feed, dead, id);

-- Which IMAP servers were found to honour the account that a login names.
CREATE TABLE main.server (
    server     TEXT PRIMARY KEY,
    verified   INTEGER NOT NULL,
    checked_at INTEGER NOT NULL,
    tried_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Accounts whose login an IMAP server refused. id is a hash of server and account, of any length.
CREATE TABLE main.refusal (
    id         TEXT PRIMARY KEY,
    server     TEXT NOT NULL,
    account    TEXT NOT NULL,
    refusals   INTEGER NOT NULL,
    refused_at INTEGER NOT NULL,
    wait_ms    INTEGER NOT NULL,
    reason     TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour.
CREATE TABLE main.event (
    id    INTEGER PRIMARY KEY,
    at    INTEGER NOT NULL,
    name  TEXT NOT NULL CHECK (name IN ('busy', 'search')),
    host  TEXT NOT NULL,
    count INTEGER NOT NULL
) STRICT;

CREATE TABLE main.counter_bucket (
    name  TEXT NOT NULL,
    label TEXT NOT NULL,
    le    INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (name, label, le)
) STRICT, WITHOUT ROWID;

-- One row: what was counted so far, and up to which message and copy.
CREATE TABLE main.counter (
    last_message INTEGER NOT NULL,
    messages     INTEGER NOT NULL,
    bytes        INTEGER NOT NULL,
    last_copy    INTEGER NOT NULL,
    copies       INTEGER NOT NULL
) STRICT;
INSERT INTO main.counter VALUES (0, 0, 0, 0, 0);

-- Any deletion subtracts what was counted.
CREATE TRIGGER main.forget_message AFTER DELETE ON message BEGIN
    UPDATE counter SET messages = messages - 1, bytes = bytes - OLD.size WHERE OLD.id <= last_message;
END;
CREATE TRIGGER main.forget_copy AFTER DELETE ON copy BEGIN
    UPDATE counter SET copies = copies - 1 WHERE OLD.id <= last_copy;
END;

-- One row: by what deliveries exclude each other.
CREATE TABLE main.setting (
    lock_method TEXT NOT NULL CHECK (lock_method IN ('session'))
) STRICT;
INSERT INTO main.setting VALUES ('session');

-- The views for applications have the columns that they have in the other engines. Times are texts in UTC, such as
-- 2026-11-27 09:30:00.000000, which date functions accept, and which compare correctly as text. Lists are JSON.

-- Deliveries to the sender itself, apart from extensions of the addresses; a local recipient has no domain.
CREATE VIEW main.delivery_to_sender AS
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
CREATE VIEW main.stored_copy AS
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
CREATE VIEW main.inbox AS
    SELECT account, mailbox, uidvalidity, uid, message, message_id, thread, in_reply_to, "references", sender, "from", subject,
           date, received_at, size, stored_at
      FROM stored_copy WHERE NOT is_sent;

-- Messages filed for their senders: one row for each Sent copy that is stored. Columns are only ever added.
CREATE VIEW main.outbox AS
    SELECT account, mailbox, uidvalidity, uid, message, message_id, thread, in_reply_to, "references", sender, "from", subject,
           date, received_at, size, stored_at,
           (SELECT json_group_array(recipient) FROM (
               SELECT d.recipient FROM delivery d
                WHERE d.message = s.message
                  AND NOT (d.mailbox = 'Sent' AND EXISTS (SELECT 1 FROM delivery_to_sender o WHERE o.id = d.id))
                ORDER BY d.id)) AS recipients
      FROM stored_copy s WHERE is_sent;

INSERT INTO main.schema_version (version) VALUES (1);
COMMIT;

DELETE FROM schema_version;
INSERT INTO schema_version ("version", "installed_at") VALUES
(1, 1767686400000000);
INSERT INTO message ("id", "identity", "digest", "lock_key", "message_id", "sender", "from", "subject", "date", "size", "in_reply_to", "references", "received_at") VALUES
(1, X'b4eb1c7610ccbced49d724aa25556695952fb83e8cb766c723bb615ad0b99ea0', X'f82620733e55c3c017cc5c084906a1b32d82273bad0153895a49be13f024fb10', -5410199233941947155, 'stored@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'Grüße, Ж, 😀', 1754035200000000, 731, 'second@elsewhere.example', '["first@elsewhere.example","second@elsewhere.example"]', 1767600000000000),
(2, X'a9cdde5317200ecf39456de2b3dd93ffbe5516e5d26ed7ce6dce9ace2744b87d', X'393aeb95f43f525f0a3f8794d179e57e46a7dbafad838ddba6a574069fc7a7f5', -6211063862622417201, NULL, 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'without-id', 1754035200000000, 142, NULL, '[]', 1767600001000000),
(3, X'254d246a0bfede928f98d833cad0b00d32fc03a29900105255c3db61e4a9be2a', X'e5069ba3e414ea912e05ea01fd55e546a4c37bdcf5967960e0fee259e65ae6cb', 2687844590496439954, 'envelope@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'envelope', 1754035200000000, 179, NULL, '[]', 1767600001000000),
(4, X'e17951c90d5ae5a17c2e3e4fad187004071633df402a75f179c7c1287f37af5e', X'adf0f03c31ce05965fecc5e36657cd258aa5c8699b71bd077abce9b9e49e24fb', -2199637019039439455, 'expired@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'expired', 1754035200000000, 175, NULL, '[]', 1767686401000000),
(5, X'0814b6aa667a5f75435759835c6fc4c011497e48a9e3ab7de8e72061425f048f', X'82ebfd2d10962a5f14aa8a0e67dc021485f591984f15682628131899fcf21235', 582291094817628021, 'pending@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'pending', 1754035200000000, 175, NULL, '[]', 1767686402000000),
(6, X'8b931793b204385972cb8b53c013fb7b813945471cd156c694092f00b2a9b934', X'3a56660e1480b66e0170e72ab76f075197a432ce62f7326be30bee0aa15d1331', -8389335757746849703, 'bounced@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'bounced', 1754035200000000, 175, NULL, '[]', 1767686402000000),
(7, X'19d8e029e29a592c24b51e0a6a7f4c951e06cb5a50c90535359f30753fb34b93', X'87e422893149b9fc16f10e82ca12fbcd97fcfd3accb1c77ea1ece26d440988e7', 1862484916417747244, 'sent-failed@upgrade.example', 'full@upgrade.example', 'full@upgrade.example', 'sent-failed', 1754035200000000, 181, NULL, '[]', 1767686402000000),
(8, X'902a697ae102a8f82b1e72a4a4fa37fc7e5df59baaf89c4b8697dcc8d428994a', X'7cf6fa8fc5d4fffde70b7b23463c012ac5afb2b967807a7b118013c2251e4e04', -8058512606744106760, 'refused@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'refused', 1754035200000000, 177, NULL, '[]', 1767686402000000),
(9, X'd63bfba7dd73ddd8e89e287a0493966234561cb53eb992e85252fa8a0bcf7b65', X'2a04892415cde03e050cbe3363aa46c25e538e4ac2ef8c9b01546150efc1838f', -3009535227573576232, 'found@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'found', 1754035200000000, 169, NULL, '[]', 1767686403000000),
(10, X'bbacd03c765dca49a34f7725c3579d07865406b1bf6af6deaf291b4794f405f8', X'637187d3c838e3aaca98a6f4c0439b8259cc5a52d118b9401a7d9c81b210f1de', -4923331334520321463, 'absent@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'absent', 1754035200000000, 172, NULL, '[]', 1767686403000000),
(11, X'7f91ce821f24933ef36e2bf20ffdabf32eecc436f83a406e30c7c826fc375c84', X'ed74626eb2564a352907597d9c195fd9c17d752cf0897e7758deb5e8ea46d5b5', 9192355372703454014, 'sent-absent@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'sent-absent', 1754035200000000, 182, NULL, '[]', 1767686404000000),
(12, X'7ddae61c0715a82dd4db217801f292f7f151717e434352ea272e8e6e2732a1e1', X'55a3f6b0022a102071b529edc967971c49dce682ffc868db42cf630b6e55ea22', 9068813807716247597, 'support-taken@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-taken', 1754035200000000, 196, NULL, '[]', 1767686404000000),
(13, X'2ab0782b71972e9a3bb5a79ec8f95cea30a45fafca79c726e46f14b5c973c3ca', X'de35d9f448ce1b6ea4ee7afec3e22e0f50587a662a46e5343e7d52ada069545f', 3076090673478708890, 'support-tried@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-tried', 1754035200000000, 196, NULL, '[]', 1767686404000000),
(14, X'9b86645ee845f17d777f9dd624150aac4850c6ecc4439d2e5faab2034f91315d', X'bf7a18f9b2cb5364c076e76cf4fae3335f377ace31a795cbe824dba5ec42b877', -7239988992164892291, 'support-dead@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-dead', 1754035200000000, 193, NULL, '[]', 1767686404000000),
(15, X'95e5634137a8d048d340a2b463520d170a0f8042252a094e82b196c8ed2756d1', X'6e1349f7d42a1c1ba428bd3aec7e56615054f0fab037acc83a1c96142ac23742', -7645595660633714616, 'support-waiting@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-waiting', 1754035200000000, 202, NULL, '[]', 1767686405000000);
INSERT INTO address ("message", "role", "position", "group", "name", "address") VALUES
(1, 'cc', 1, 'Group', 'Doug \ D.', 'doug@upgrade.example'),
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
(1, '1', 'text/plain', 'utf-8', NULL, NULL, 51, X'd4c072b9153ca71984be25a3b25ba3a3a03890dace2406fcc617a12e90d2f77e', replace('Grüße, Ж, €, 😀, it''s "quoted" \ and more.
', char(10), char(13, 10))),
(1, '2', 'application/octet-stream', NULL, 'attachment', 'Bär.bin', 10, X'1f825aa2f0020ef7cf91dfa30da4668d791c5d4824fc8e41354b89ec05795ab3', NULL),
(2, '1', 'text/plain', NULL, NULL, NULL, 21, X'c4636ffbeaba8cf22980d86fbde3d941b124caa88518c295b6ab9f9fdede8bda', replace('This is without-id.
', char(10), char(13, 10))),
(4, '1', 'text/plain', NULL, NULL, NULL, 18, X'40d108cf2d0408232a30730a7f9953a6131176d6c58007fde674eae04eaebeec', replace('This is expired.
', char(10), char(13, 10))),
(5, '1', 'text/plain', NULL, NULL, NULL, 18, X'ca3998717ddc1cffaf69d3d4a906e910ea3944e4e066df145eae026ac45e4b3f', replace('This is pending.
', char(10), char(13, 10))),
(6, '1', 'text/plain', NULL, NULL, NULL, 18, X'af5471cd577493f038e6112085881fdd4ae06f492a64ba77ef113711d267f0ee', replace('This is bounced.
', char(10), char(13, 10))),
(7, '1', 'text/plain', NULL, NULL, NULL, 22, X'231ba4bb704adb075775598773b28b7835f688f9281a9ef789182b7c492b9662', replace('This is sent-failed.
', char(10), char(13, 10))),
(8, '1', 'text/plain', NULL, NULL, NULL, 18, X'3b6a69174847223d65b29612199b8ac1a3824f21743f76c31061460b1079c2ea', replace('This is refused.
', char(10), char(13, 10))),
(9, '1', 'text/plain', NULL, NULL, NULL, 16, X'b65a67850257a3092a8f9a97df852dd10ae55af9d702fd58452fc758d8c47c6b', replace('This is found.
', char(10), char(13, 10))),
(10, '1', 'text/plain', NULL, NULL, NULL, 17, X'10799be364bb4d8f0cdba88735ff344b496b4e9840b4307aae8dcdf300105e4c', replace('This is absent.
', char(10), char(13, 10))),
(11, '1', 'text/plain', NULL, NULL, NULL, 22, X'143bb015a7e28b1e99f413a138a2fb7412012b4130d3c0165d98f1f21b966e33', replace('This is sent-absent.
', char(10), char(13, 10))),
(12, '1', 'text/plain', NULL, NULL, NULL, 24, X'50fe5cdb685b9ebaa2678be4b6df0fa80544991d14395cd5884dfaf1d91f07dd', replace('This is support-taken.
', char(10), char(13, 10))),
(13, '1', 'text/plain', NULL, NULL, NULL, 24, X'ebdd69387d6b0e72c48828c45eb519d99e0431545d03bbd6073c91b9749526a5', replace('This is support-tried.
', char(10), char(13, 10))),
(14, '1', 'text/plain', NULL, NULL, NULL, 23, X'9bfaa075f0a00b348660815fc6a60a51e57ff0beab3e08b67e74672b87180660', replace('This is support-dead.
', char(10), char(13, 10))),
(15, '1', 'text/plain', NULL, NULL, NULL, 26, X'2ff0f3a550611ad8d0cb835013edc40d3d67e56540ad641c5b9858ee7a5a0981', replace('This is support-waiting.
', char(10), char(13, 10)));
INSERT INTO raw ("message", "chunk", "data") VALUES
(1, 0, CAST(replace('From: lisa@upgrade.example
To: doug@upgrade.example
Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe=2C_=D0=96=2C?= =?utf-8?b?IPCfmIA=?=
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <stored@upgrade.example>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b
References: <first@elsewhere.example> <second@elsewhere.example>
In-Reply-To: <second@elsewhere.example>
Cc: Group: "Doug \\ D." <doug@upgrade.example>;

--b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Grüße, Ж, €, 😀, it''s "quoted" \ and more.

--b
Content-Type: application/octet-stream; name="=?utf-8?q?B=C3=A4r.bin?="
Content-Disposition: attachment
Content-Transfer-Encoding: base64

AAECAwQFBgcICQ==

--b--
', char(10), char(13, 10)) AS BLOB)),
(2, 0, CAST(replace('From: stranger@elsewhere.example
To: doug@upgrade.example
Subject: without-id
Date: Fri, 1 Aug 2025 10:00:00 +0200

This is without-id.
', char(10), char(13, 10)) AS BLOB)),
(4, 0, CAST(replace('From: stranger@elsewhere.example
To: full@upgrade.example
Subject: expired
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <expired@upgrade.example>

This is expired.
', char(10), char(13, 10)) AS BLOB)),
(5, 0, CAST(replace('From: stranger@elsewhere.example
To: full@upgrade.example
Subject: pending
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <pending@upgrade.example>

This is pending.
', char(10), char(13, 10)) AS BLOB)),
(6, 0, CAST(replace('From: stranger@elsewhere.example
To: full@upgrade.example
Subject: bounced
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <bounced@upgrade.example>

This is bounced.
', char(10), char(13, 10)) AS BLOB)),
(7, 0, CAST(replace('From: full@upgrade.example
To: doug@upgrade.example
Subject: sent-failed
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <sent-failed@upgrade.example>

This is sent-failed.
', char(10), char(13, 10)) AS BLOB)),
(8, 0, CAST(replace('From: stranger@elsewhere.example
To: locked@upgrade.example
Subject: refused
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <refused@upgrade.example>

This is refused.
', char(10), char(13, 10)) AS BLOB)),
(9, 0, CAST(replace('From: stranger@elsewhere.example
To: doug@upgrade.example
Subject: found
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <found@upgrade.example>

This is found.
', char(10), char(13, 10)) AS BLOB)),
(10, 0, CAST(replace('From: stranger@elsewhere.example
To: doug@upgrade.example
Subject: absent
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <absent@upgrade.example>

This is absent.
', char(10), char(13, 10)) AS BLOB)),
(11, 0, CAST(replace('From: lisa@upgrade.example
To: scuba@upgrade.example
Subject: sent-absent
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <sent-absent@upgrade.example>

This is sent-absent.
', char(10), char(13, 10)) AS BLOB)),
(12, 0, CAST(replace('From: stranger@elsewhere.example
To: support@upgrade.example
Subject: support-taken
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <support-taken@upgrade.example>

This is support-taken.
', char(10), char(13, 10)) AS BLOB)),
(13, 0, CAST(replace('From: stranger@elsewhere.example
To: support@upgrade.example
Subject: support-tried
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <support-tried@upgrade.example>

This is support-tried.
', char(10), char(13, 10)) AS BLOB)),
(14, 0, CAST(replace('From: stranger@elsewhere.example
To: support@upgrade.example
Subject: support-dead
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <support-dead@upgrade.example>

This is support-dead.
', char(10), char(13, 10)) AS BLOB)),
(15, 0, CAST(replace('From: stranger@elsewhere.example
To: support@upgrade.example
Subject: support-waiting
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <support-waiting@upgrade.example>

This is support-waiting.
', char(10), char(13, 10)) AS BLOB));
INSERT INTO delivery ("id", "message", "recipient", "original_recipient", "account", "mailbox", "queue_id", "host", "outcome", "reason", "attempts", "first_at", "last_at", "finished_at", "complete") VALUES
(1, 1, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'duplicate', 'duplicate uid=1 mailbox=INBOX', 2, 1767600000730555, 1767600001064480, 1767600000813298, 1),
(2, 1, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, 1767600000867684, 1767600000973824, 1767600000973824, 1),
(4, 2, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q1', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, 1767600001104917, 1767600001189126, 1767600001189127, 1),
(5, 3, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q2', 'mail.example.org', 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 2, 1767600001232512, 1767600001531074, 1767600001310401, 1),
(7, 4, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q9', 'mail.example.org', 'expired', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.066 + 0.000 + 0.065 secs).', 1, 1767686401750675, 1767686401918682, 1767686401966892, 1),
(8, 5, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q7', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, 1767686402027713, 1767686402183702, NULL, 1),
(10, 6, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q8', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 1767686402205991, 1767686402230646, 1767686402230647, 1),
(11, 7, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q6', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686402278164, 1767686402419214, 1767686402419215, 1),
(12, 8, 'locked@upgrade.example', NULL, 'locked@upgrade.example', 'INBOX', 'Q10', 'mail.example.org', 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, 1767686402462058, 1767686403012213, NULL, 1),
(13, 9, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 2, 1767686403180933, 1767686403540978, NULL, 0),
(15, 10, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 1, 1767686403864241, 1767686403864241, NULL, 0),
(16, 11, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686404302189, 1767686404455512, NULL, 1),
(17, 12, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q11', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, 1767686404684810, 1767686404770994, 1767686404770994, 1),
(18, 13, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q13', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, 1767686404814212, 1767686404857157, 1767686404857157, 1),
(19, 14, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q14', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686404919010, 1767686404964969, 1767686404964969, 1),
(20, 15, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q12', 'mail.example.org', 'stored', 'stored uid=4 mailbox=INBOX', 1, 1767686405172140, 1767686405272690, 1767686405272690, 1);
INSERT INTO attempt ("delivery", "claim", "started_at", "ended_at", "queue_id", "queued_at", "host", "pid", "outcome", "reason", "read_ms", "lock_ms", "database_ms", "imap_ms", "trace_id", "span_id") VALUES
(1, -7526458598945802465, 1767600000993576, 1767600001064576, 'Q0', NULL, 'mail.example.org', 10424, 'duplicate', 'duplicate uid=1 mailbox=INBOX', 36, 1, 34, 0, X'4e32184cf34a8b285d7142f81aa2e2b4', X'f2502b81d48305b9'),
(1, 8750519147247698270, 1767600000388643, 1767600000813306, 'Q0', NULL, 'mail.example.org', 10345, 'stored', 'stored uid=1 mailbox=INBOX', 1, 0, 358, 66, X'4e32184cf34a8b285d7142f81aa2e2b4', X'664245332fd0652e'),
(2, -2776519245438137400, 1767600000824781, 1767600000973875, 'Q0', NULL, 'mail.example.org', 10413, 'stored', 'stored uid=1 mailbox=INBOX', 16, 1, 40, 92, X'4e32184cf34a8b285d7142f81aa2e2b4', X'a2bf77855d94c836'),
(4, 2811312673952868918, 1767600001097012, 1767600001189176, 'Q1', NULL, 'mail.example.org', 10446, 'stored', 'stored uid=2 mailbox=INBOX', 7, 0, 22, 63, X'4d1da0028b3f55b5db110e8aba7263ba', X'471fa00458635997'),
(5, 3234918744806337500, 1767600001216616, 1767600001310453, 'Q2', NULL, 'mail.example.org', 10454, 'stored', 'stored uid=2 mailbox=INBOX', 13, 1, 18, 61, NULL, NULL),
(5, 4273713131718351973, 1767600001468718, 1767600001531156, NULL, NULL, 'mail.example.org', 10475, 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 0, 1, 13, 48, X'f08666677d1e6c48e30ebd4dabf11814', X'2f76a7bfd73caaca'),
(7, -3793508702150425483, 1767686401721789, 1767686401918735, 'Q9', NULL, 'mail.example.org', 10490, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.066 + 0.000 + 0.065 secs).', 1, 0, 62, 135, X'bf8a61f163bd58e28c2bcd85752a10ca', X'9011cd9e6ab81d52'),
(8, 1436563895935775628, 1767686402123583, 1767686402183754, 'Q7', NULL, 'mail.example.org', 10521, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 1, 24, 34, X'd110cfa94060929da692fcfc57254dd6', X'4fb7b64229353d0c'),
(8, 4910824248864557985, 1767686402016812, 1767686402108693, 'Q7', NULL, 'mail.example.org', 10509, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 1, 52, 38, X'd110cfa94060929da692fcfc57254dd6', X'a1919d300e958d4c'),
(10, 591513125396090292, 1767686402204088, 1767686402230698, 'Q8', NULL, 'mail.example.org', 10527, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, 0, 9, 16, X'c560df493a76ce692a76cbcd373f0fa3', X'd16e47950ac2e456'),
(11, -4069014463820135588, 1767686402253256, 1767686402419224, 'Q6', NULL, 'mail.example.org', 10532, 'stored', 'stored uid=3 mailbox=INBOX', 24, 0, 45, 97, X'5941b22002adf9c020b87999eac36898', X'58c976a14869b6bc'),
(12, -6409724731571048986, 1767686402452149, 1767686403012267, 'Q10', NULL, 'mail.example.org', 10548, 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 9, 0, 42, 509, X'c2d539b7960e195387ff31e85870f09e', X'bae0c040aa4de039'),
(13, 8005620320209926228, 1767686403057026, NULL, 'QDIED', NULL, 'mail.example.org', 10604, 'claimed', NULL, 1, 0, 123, 0, X'1fd3238e51428894f39ee07f12fd8468', X'922d427d951bceaf'),
(13, 8443861124672601579, 1767686403366076, NULL, 'QDIED', NULL, 'mail.example.org', 10650, 'claimed', NULL, 1, 0, 174, 0, X'1fd3238e51428894f39ee07f12fd8468', X'eaa611214e10f5da'),
(15, -7727007710754791098, 1767686403822399, NULL, 'QDIED', NULL, 'mail.example.org', 10728, 'claimed', NULL, 1, 0, 41, 0, X'c9a5ca083e25556271fb6b1a8afb979a', X'7b08bf980e7d5c54'),
(16, -8443484930131200273, 1767686404109393, 1767686404455564, 'QDIED', NULL, 'mail.example.org', 10780, 'stored', 'stored uid=3 mailbox=INBOX', 18, 1, 203, 124, X'b740c703e753b8fd84fb4a243aa8a6e4', X'dc93f253255a07a9'),
(17, 5018817789694345581, 1767686404664970, 1767686404771043, 'Q11', NULL, 'mail.example.org', 10821, 'stored', 'stored uid=1 mailbox=INBOX', 19, 0, 19, 69, X'6304e3780022fb6f79e37367b1fef74f', X'75dffaa1b2a2db70'),
(18, 4203342679761929014, 1767686404812424, 1767686404857244, 'Q13', NULL, 'mail.example.org', 10845, 'stored', 'stored uid=2 mailbox=INBOX', 13, 0, 29, 15, X'1466d8940164830b2eb9b4634daf8af0', X'a46c79fe0b81b77a'),
(19, -6475036670958091164, 1767686404892113, 1767686404965017, 'Q14', NULL, 'mail.example.org', 10856, 'stored', 'stored uid=3 mailbox=INBOX', 13, 13, 21, 26, X'6fe90c4689c55828d431e28d172d889a', X'45287744f1ece331'),
(20, 7208623836172169651, 1767686405153236, 1767686405272767, 'Q12', NULL, 'mail.example.org', 10899, 'stored', 'stored uid=4 mailbox=INBOX', 18, 0, 18, 83, X'2dd8ef28b2528a2136bbdafd39015729', X'35cc13b447f36861');
INSERT INTO copy ("id", "message", "account", "mailbox", "role", "state", "doubt", "generation", "claimed_at", "claim", "claimed_by", "host", "pid", "first_at", "stored_at", "uidvalidity", "uid", "error", "repeated", "feeds", "boot", "boot_us", "host_us") VALUES
(1, 1, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600000730857, 8750519147247698270, 1, 'mail.example.org', 10345, 1767600000730856, 1767600000765829, 1796066737, 1, NULL, 0, NULL, 7685298789696752262, 1767669514186857, 197),
(2, 1, 'lisa@upgrade.example', 'Sent', 'sent', 'stored', 0, 1, 1767600000730917, 8750519147247698270, 1, 'mail.example.org', 10345, 1767600000730917, 1767600000813210, 1796066738, 1, NULL, 0, ',sent,', 7685298789696752262, 1767669514186917, 6),
(3, 1, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600000867901, -2776519245438137400, 2, 'mail.example.org', 10413, 1767600000867901, 1767600000973750, 1796066737, 1, NULL, 0, NULL, 7685298789696752262, 1767669514186902, 105),
(4, 2, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600001105131, 2811312673952868918, 4, 'mail.example.org', 10446, 1767600001105131, 1767600001189045, 1796066737, 2, NULL, 0, NULL, 7685298789696752262, 1767669514187131, 104),
(5, 3, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 2, 1767600001469838, 4273713131718351973, 5, 'mail.example.org', 10475, 1767600001232736, 1767600001530986, 1796066737, 2, NULL, 1, NULL, 7685298789696752262, 1767669514186838, 104),
(7, 4, 'full@upgrade.example', 'INBOX', 'inbox', 'expired', 0, 1, 1767686401750913, -3793508702150425483, 7, 'mail.example.org', 10490, 1767686401750913, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.066 + 0.000 + 0.065 secs).', 0, NULL, 7685298789696752262, 1767669514186913, 107),
(8, 5, 'full@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 2, 1767686402129709, 1436563895935775628, 8, 'mail.example.org', 10521, 1767686402027937, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767669514186709, 111),
(10, 6, 'full@upgrade.example', 'INBOX', 'inbox', 'failed', 0, 1, 1767686402206216, 591513125396090292, 10, 'mail.example.org', 10527, 1767686402206216, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767669514187216, 110),
(11, 7, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402302955, -4069014463820135588, 11, 'mail.example.org', 10532, 1767686402302955, 1767686402327686, 1796066737, 3, NULL, 0, NULL, 7685298789696752262, 1767669514211956, 24685),
(12, 7, 'full@upgrade.example', 'Sent', 'sent', 'failed', 0, 1, 1767686402303093, -4069014463820135588, 11, 'mail.example.org', 10532, 1767686402303093, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox Sent refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.020 + 0.000 + 0.019 secs).', 0, NULL, 7685298789696752262, 1767669514187093, 11),
(13, 8, 'locked@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 1, 1767686402462275, -6409724731571048986, 12, 'mail.example.org', 10548, 1767686402462275, NULL, NULL, NULL, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 0, NULL, 7685298789696752262, 1767669514187275, 110),
(14, 9, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 1, 2, 1767686403541205, 8443861124672601579, 13, 'mail.example.org', 10650, 1767686403181152, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669514187205, 109),
(16, 10, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 0, 1, 1767686403864608, -7727007710754791098, 15, 'mail.example.org', 10728, 1767686403864608, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669514186608, 179),
(17, 11, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686404302582, -8443484930131200273, 16, 'mail.example.org', 10780, 1767686404302582, 1767686404455431, 1796066737, 3, NULL, 0, NULL, 7685298789696752262, 1767669514186582, 163),
(18, 11, 'lisa@upgrade.example', 'Sent', 'sent', 'appending', 0, 1, 1767686404302678, -8443484930131200273, 16, 'mail.example.org', 10780, 1767686404302678, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767669514186678, 9),
(19, 12, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686404685174, 5018817789694345581, 17, 'mail.example.org', 10821, 1767686404685174, 1767686404770924, 1796066741, 1, NULL, 0, ',support,', 7685298789696752262, 1767669514187174, 179),
(20, 13, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686404826714, 4203342679761929014, 18, 'mail.example.org', 10845, 1767686404826714, 1767686404857043, 1796066741, 2, NULL, 0, ',support,', 7685298789696752262, 1767669514186714, 250),
(21, 14, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686404919243, -6475036670958091164, 19, 'mail.example.org', 10856, 1767686404919243, 1767686404964902, 1796066741, 3, NULL, 0, ',support,', 7685298789696752262, 1767669514187243, 110),
(22, 15, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686405172399, 7208623836172169651, 20, 'mail.example.org', 10899, 1767686405172399, 1767686405272601, 1796066741, 4, NULL, 0, ',support,', 7685298789696752262, 1767669514187399, 147);
INSERT INTO feed ("id", "feed", "copy", "message", "added_at", "not_before", "tries", "dead", "owner", "error") VALUES
(1, 'sent', 2, 1, 1767686400813182, 1767686400813183, 0, 0, 0, NULL),
(3, 'support', 20, 13, 1767686404856882, 1767686415089360, 1, 0, -3788953689384662009, 'the command exited with status 75'),
(4, 'support', 21, 14, 1767686404964803, 1767686415130481, 1, 1, -7880474380710620, 'the command exited with status 1'),
(5, 'support', 22, 15, 1767686405272462, 1767686405272462, 0, 0, 0, NULL);
INSERT INTO server ("server", "verified", "checked_at", "tried_at") VALUES
('127.0.0.1 port 993 on mail.example.org as oncedrop', 1, 1767686400712369, 1767686400712369),
('127.0.0.1 port 994 on mail.example.org as oncedrop', 1, 1767686404299911, 1767686404299911),
('127.0.0.1 port 995 on mail.example.org as oncedrop', 1, 1767686403179913, 1767686403179913),
('127.0.0.1 port 996 on mail.example.org as oncedrop', 1, 1767686403859046, 1767686403859046),
('127.0.0.1 port 997 on mail.example.org as oncedrop', 1, 1767686403539172, 1767686403539172);
INSERT INTO refusal ("id", "server", "account", "refusals", "refused_at", "wait_ms", "reason") VALUES
('ab0e1b033e5536718ec77c130050c6684a06c9a25fbd543f900d03d87c91eba8', '127.0.0.1 port 993 on mail.example.org as each account, password of 1796066739433533317', 'locked@upgrade.example', 1, 1767686403022511, 60000, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)');
INSERT INTO event ("id", "at", "name", "host", "count") VALUES
(1, 1767686401671949, 'busy', 'mail.example.org', 1),
(2, 1767686403541269, 'search', 'mail.example.org', 1);
INSERT INTO counter_bucket ("name", "label", "le", "value") VALUES
('counted_until', '', 0, 1767682801000000),
('deferrals', 'busy', 0, 1),
('deliveries', 'deferred', 0, 1),
('deliveries', 'duplicate', 0, 2),
('deliveries', 'stored', 0, 4),
('phase', 'database', 25, 3),
('phase', 'database', 50, 2),
('phase', 'database', 500, 1),
('phase', 'imap', 5, 1),
('phase', 'imap', 50, 1),
('phase', 'imap', 100, 4),
('phase', 'lock', 5, 6),
('phase', 'read', 5, 2),
('phase', 'read', 10, 1),
('phase', 'read', 25, 2),
('phase', 'read', 50, 1),
('phase_ms', 'database', 0, 485),
('phase_ms', 'imap', 0, 330),
('phase_ms', 'lock', 0, 4),
('phase_ms', 'read', 0, 73),
('searches', '', 0, 1);
DELETE FROM counter;
INSERT INTO counter ("last_message", "messages", "bytes", "last_copy", "copies") VALUES
(3, 3, 1052, 5, 5);
DELETE FROM setting;
INSERT INTO setting ("lock_method") VALUES
('session');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES ('copy', 22);
INSERT INTO sqlite_sequence VALUES ('delivery', 20);
INSERT INTO sqlite_sequence VALUES ('feed', 5);
INSERT INTO sqlite_sequence VALUES ('message', 15);
