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
(1, 1767686399000000);
INSERT INTO message ("id", "identity", "digest", "lock_key", "message_id", "sender", "from", "subject", "date", "size", "in_reply_to", "references", "received_at") VALUES
(1, X'b4eb1c7610ccbced49d724aa25556695952fb83e8cb766c723bb615ad0b99ea0', X'f82620733e55c3c017cc5c084906a1b32d82273bad0153895a49be13f024fb10', -5410199233941947155, 'stored@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'Grüße, Ж, 😀', 1754035200000000, 731, 'second@elsewhere.example', '["first@elsewhere.example","second@elsewhere.example"]', 1767600000000000),
(2, X'a9cdde5317200ecf39456de2b3dd93ffbe5516e5d26ed7ce6dce9ace2744b87d', X'393aeb95f43f525f0a3f8794d179e57e46a7dbafad838ddba6a574069fc7a7f5', -6211063862622417201, NULL, 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'without-id', 1754035200000000, 142, NULL, '[]', 1767600000000000),
(3, X'254d246a0bfede928f98d833cad0b00d32fc03a29900105255c3db61e4a9be2a', X'e5069ba3e414ea912e05ea01fd55e546a4c37bdcf5967960e0fee259e65ae6cb', 2687844590496439954, 'envelope@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'envelope', 1754035200000000, 179, NULL, '[]', 1767600000000000),
(4, X'e17951c90d5ae5a17c2e3e4fad187004071633df402a75f179c7c1287f37af5e', X'adf0f03c31ce05965fecc5e36657cd258aa5c8699b71bd077abce9b9e49e24fb', -2199637019039439455, 'expired@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'expired', 1754035200000000, 175, NULL, '[]', 1767686400000000),
(5, X'0814b6aa667a5f75435759835c6fc4c011497e48a9e3ab7de8e72061425f048f', X'82ebfd2d10962a5f14aa8a0e67dc021485f591984f15682628131899fcf21235', 582291094817628021, 'pending@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'pending', 1754035200000000, 175, NULL, '[]', 1767686400000000),
(6, X'8b931793b204385972cb8b53c013fb7b813945471cd156c694092f00b2a9b934', X'3a56660e1480b66e0170e72ab76f075197a432ce62f7326be30bee0aa15d1331', -8389335757746849703, 'bounced@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'bounced', 1754035200000000, 175, NULL, '[]', 1767686400000000),
(7, X'19d8e029e29a592c24b51e0a6a7f4c951e06cb5a50c90535359f30753fb34b93', X'87e422893149b9fc16f10e82ca12fbcd97fcfd3accb1c77ea1ece26d440988e7', 1862484916417747244, 'sent-failed@upgrade.example', 'full@upgrade.example', 'full@upgrade.example', 'sent-failed', 1754035200000000, 181, NULL, '[]', 1767686400000000),
(8, X'902a697ae102a8f82b1e72a4a4fa37fc7e5df59baaf89c4b8697dcc8d428994a', X'7cf6fa8fc5d4fffde70b7b23463c012ac5afb2b967807a7b118013c2251e4e04', -8058512606744106760, 'refused@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'refused', 1754035200000000, 177, NULL, '[]', 1767686401000000),
(9, X'd63bfba7dd73ddd8e89e287a0493966234561cb53eb992e85252fa8a0bcf7b65', X'2a04892415cde03e050cbe3363aa46c25e538e4ac2ef8c9b01546150efc1838f', -3009535227573576232, 'found@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'found', 1754035200000000, 169, NULL, '[]', 1767686401000000),
(10, X'bbacd03c765dca49a34f7725c3579d07865406b1bf6af6deaf291b4794f405f8', X'637187d3c838e3aaca98a6f4c0439b8259cc5a52d118b9401a7d9c81b210f1de', -4923331334520321463, 'absent@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'absent', 1754035200000000, 172, NULL, '[]', 1767686402000000),
(11, X'7f91ce821f24933ef36e2bf20ffdabf32eecc436f83a406e30c7c826fc375c84', X'ed74626eb2564a352907597d9c195fd9c17d752cf0897e7758deb5e8ea46d5b5', 9192355372703454014, 'sent-absent@upgrade.example', 'lisa@upgrade.example', 'lisa@upgrade.example', 'sent-absent', 1754035200000000, 182, NULL, '[]', 1767686402000000),
(12, X'7ddae61c0715a82dd4db217801f292f7f151717e434352ea272e8e6e2732a1e1', X'55a3f6b0022a102071b529edc967971c49dce682ffc868db42cf630b6e55ea22', 9068813807716247597, 'support-taken@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-taken', 1754035200000000, 196, NULL, '[]', 1767686402000000),
(13, X'2ab0782b71972e9a3bb5a79ec8f95cea30a45fafca79c726e46f14b5c973c3ca', X'de35d9f448ce1b6ea4ee7afec3e22e0f50587a662a46e5343e7d52ada069545f', 3076090673478708890, 'support-tried@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-tried', 1754035200000000, 196, NULL, '[]', 1767686402000000),
(14, X'9b86645ee845f17d777f9dd624150aac4850c6ecc4439d2e5faab2034f91315d', X'bf7a18f9b2cb5364c076e76cf4fae3335f377ace31a795cbe824dba5ec42b877', -7239988992164892291, 'support-dead@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-dead', 1754035200000000, 193, NULL, '[]', 1767686402000000),
(15, X'95e5634137a8d048d340a2b463520d170a0f8042252a094e82b196c8ed2756d1', X'6e1349f7d42a1c1ba428bd3aec7e56615054f0fab037acc83a1c96142ac23742', -7645595660633714616, 'support-waiting@upgrade.example', 'stranger@elsewhere.example', 'stranger@elsewhere.example', 'support-waiting', 1754035200000000, 202, NULL, '[]', 1767686402000000);
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
(1, 1, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'duplicate', 'duplicate uid=1 mailbox=INBOX', 2, 1767600000180574, 1767600000400251, 1767600000320267, 1),
(2, 1, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q0', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, 1767600000347463, 1767600000361609, 1767600000361609, 1),
(4, 2, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q1', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, 1767600000423967, 1767600000436467, 1767600000436468, 1),
(5, 3, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'Q2', 'mail.example.org', 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 2, 1767600000459465, 1767600000638807, 1767600000484330, 1),
(7, 4, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q9', 'mail.example.org', 'expired', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.018 + 0.000 + 0.017 secs).', 1, 1767686400710749, 1767686400745283, 1767686400763611, 1),
(8, 5, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q7', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 2, 1767686400791849, 1767686400907422, NULL, 1),
(10, 6, 'full@upgrade.example', NULL, 'full@upgrade.example', 'INBOX', 'Q8', 'mail.example.org', 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 1, 1767686400942008, 1767686400981382, 1767686400981382, 1),
(11, 7, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'Q6', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686400998087, 1767686401195671, 1767686401195671, 1),
(12, 8, 'locked@upgrade.example', NULL, 'locked@upgrade.example', 'INBOX', 'Q10', 'mail.example.org', 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 1, 1767686401224098, 1767686401732970, NULL, 1),
(13, 9, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 2, 1767686401809420, 1767686401978149, NULL, 0),
(15, 10, 'doug@upgrade.example', NULL, 'doug@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'claimed', NULL, 1, 1767686402200945, 1767686402200945, NULL, 0),
(16, 11, 'scuba@upgrade.example', NULL, 'scuba@upgrade.example', 'INBOX', 'QDIED', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686402408504, 1767686402465227, NULL, 1),
(17, 12, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q11', 'mail.example.org', 'stored', 'stored uid=1 mailbox=INBOX', 1, 1767686402619866, 1767686402644122, 1767686402644123, 1),
(18, 13, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q13', 'mail.example.org', 'stored', 'stored uid=2 mailbox=INBOX', 1, 1767686402657095, 1767686402695992, 1767686402695992, 1),
(19, 14, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q14', 'mail.example.org', 'stored', 'stored uid=3 mailbox=INBOX', 1, 1767686402709659, 1767686402719017, 1767686402719017, 1),
(20, 15, 'support@upgrade.example', NULL, 'support@upgrade.example', 'INBOX', 'Q12', 'mail.example.org', 'stored', 'stored uid=4 mailbox=INBOX', 1, 1767686402823883, 1767686402865900, 1767686402865901, 1);
INSERT INTO attempt ("delivery", "claim", "started_at", "ended_at", "queue_id", "queued_at", "host", "pid", "outcome", "reason", "read_ms", "lock_ms", "database_ms", "imap_ms", "trace_id", "span_id") VALUES
(1, 5796846399865098230, 1767600000012664, 1767600000320275, 'Q0', NULL, 'mail.example.org', 8329, 'stored', 'stored uid=1 mailbox=INBOX', 2, 0, 180, 126, X'4e32184cf34a8b285d7142f81aa2e2b4', X'f555e546eb523f35'),
(1, 7925616065395484725, 1767600000368343, 1767600000400343, 'Q0', NULL, 'mail.example.org', 8391, 'duplicate', 'duplicate uid=1 mailbox=INBOX', 31, 0, 1, 0, X'4e32184cf34a8b285d7142f81aa2e2b4', X'c99b47b34b02dc68'),
(2, -7487998587085084200, 1767600000340560, 1767600000361655, 'Q0', NULL, 'mail.example.org', 8386, 'stored', 'stored uid=1 mailbox=INBOX', 5, 1, 2, 13, X'4e32184cf34a8b285d7142f81aa2e2b4', X'91b413f97e1e9c5b'),
(4, 6334816207147317161, 1767600000422058, 1767600000436517, 'Q1', NULL, 'mail.example.org', 8399, 'stored', 'stored uid=2 mailbox=INBOX', 1, 0, 4, 9, X'4d1da0028b3f55b5db110e8aba7263ba', X'794f6366082dd6ec'),
(5, 2597229301000821325, 1767600000456569, 1767600000484484, 'Q2', NULL, 'mail.example.org', 8404, 'stored', 'stored uid=2 mailbox=INBOX', 1, 1, 16, 9, NULL, NULL),
(5, 4901244533059551797, 1767600000592501, 1767600000638872, NULL, NULL, 'mail.example.org', 8424, 'duplicate', 'duplicate uid=2 mailbox=INBOX (found there)', 0, 0, 15, 32, X'f08666677d1e6c48e30ebd4dabf11814', X'2504199ac72cbe9e'),
(7, -4518294816876315981, 1767686400708838, 1767686400745335, 'Q9', NULL, 'mail.example.org', 8441, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.018 + 0.000 + 0.017 secs).', 1, 1, 1, 33, X'bf8a61f163bd58e28c2bcd85752a10ca', X'c2be862937e0029d'),
(8, 1158315351332177926, 1767686400867907, 1767686400907474, 'Q7', NULL, 'mail.example.org', 8456, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 8, 0, 5, 26, X'd110cfa94060929da692fcfc57254dd6', X'db4a2864a73aaf12'),
(8, 5096064914460430825, 1767686400784941, 1767686400846675, 'Q7', NULL, 'mail.example.org', 8448, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 6, 0, 24, 32, X'd110cfa94060929da692fcfc57254dd6', X'198d55a51a10c68f'),
(10, -6450246177858853515, 1767686400922097, 1767686400981434, 'Q8', NULL, 'mail.example.org', 8460, 'overquota', 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 17, 2, 9, 31, X'c560df493a76ce692a76cbcd373f0fa3', X'01a5ca1766c36ce8'),
(11, -204791023608206229, 1767686400996176, 1767686401195680, 'Q6', NULL, 'mail.example.org', 8476, 'stored', 'stored uid=3 mailbox=INBOX', 1, 0, 64, 135, X'5941b22002adf9c020b87999eac36898', X'55f88cae655a3548'),
(12, -8036198139383586656, 1767686401212192, 1767686401733022, 'Q10', NULL, 'mail.example.org', 8532, 'mailbox', 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 11, 0, 8, 502, X'c2d539b7960e195387ff31e85870f09e', X'fa7644a59d018f93'),
(13, 569588588269612849, 1767686401892244, NULL, 'QDIED', NULL, 'mail.example.org', 8678, 'claimed', NULL, 12, 0, 74, 0, X'1fd3238e51428894f39ee07f12fd8468', X'310666b665a8fdc6'),
(13, 5430369171645469918, 1767686401773511, NULL, 'QDIED', NULL, 'mail.example.org', 8638, 'claimed', NULL, 1, 0, 35, 0, X'1fd3238e51428894f39ee07f12fd8468', X'4989441ac977f117'),
(15, 3839442411796938114, 1767686402131038, NULL, 'QDIED', NULL, 'mail.example.org', 8744, 'claimed', NULL, 1, 0, 69, 0, X'c9a5ca083e25556271fb6b1a8afb979a', X'a0d06a6b09cf6b45'),
(16, 1380172433996685663, 1767686402321599, 1767686402465278, 'QDIED', NULL, 'mail.example.org', 8817, 'stored', 'stored uid=3 mailbox=INBOX', 6, 0, 96, 42, X'b740c703e753b8fd84fb4a243aa8a6e4', X'8793b97e4358e36d'),
(17, -2223229295971407550, 1767686402608963, 1767686402644172, 'Q11', NULL, 'mail.example.org', 8896, 'stored', 'stored uid=1 mailbox=INBOX', 11, 0, 11, 13, X'6304e3780022fb6f79e37367b1fef74f', X'126d9f916d117f90'),
(18, -6497994347342527770, 1767686402655185, 1767686402696040, 'Q13', NULL, 'mail.example.org', 8912, 'stored', 'stored uid=2 mailbox=INBOX', 1, 0, 31, 9, X'1466d8940164830b2eb9b4634daf8af0', X'8ca1895b9b52329c'),
(19, 3214308454606371871, 1767686402707749, 1767686402719066, 'Q14', NULL, 'mail.example.org', 8929, 'stored', 'stored uid=3 mailbox=INBOX', 1, 1, 1, 8, X'6fe90c4689c55828d431e28d172d889a', X'89836c689bc126aa'),
(20, 1408791049535027773, 1767686402819973, 1767686402865949, 'Q12', NULL, 'mail.example.org', 8959, 'stored', 'stored uid=4 mailbox=INBOX', 4, 0, 31, 11, X'2dd8ef28b2528a2136bbdafd39015729', X'a61413ab57660195');
INSERT INTO copy ("id", "message", "account", "mailbox", "role", "state", "doubt", "generation", "claimed_at", "claim", "claimed_by", "host", "pid", "first_at", "stored_at", "uidvalidity", "uid", "error", "repeated", "feeds", "boot", "boot_us", "host_us") VALUES
(1, 1, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600000180789, 5796846399865098230, 1, 'mail.example.org', 8329, 1767600000180789, 1767600000254814, 1796067704, 1, NULL, 0, NULL, 7685298789696752262, 1767668547186790, 111),
(2, 1, 'lisa@upgrade.example', 'Sent', 'sent', 'stored', 0, 1, 1767600000180852, 5796846399865098230, 1, 'mail.example.org', 8329, 1767600000180852, 1767600000320179, 1796067705, 1, NULL, 0, ',sent,', 7685298789696752262, 1767668547186852, 6),
(3, 1, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600000347686, -7487998587085084200, 2, 'mail.example.org', 8386, 1767600000347686, 1767600000361543, 1796067704, 1, NULL, 0, NULL, 7685298789696752262, 1767668547186686, 111),
(4, 2, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767600000424175, 6334816207147317161, 4, 'mail.example.org', 8399, 1767600000424175, 1767600000436389, 1796067704, 2, NULL, 0, NULL, 7685298789696752262, 1767668547187176, 103),
(5, 3, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 2, 1767600000592622, 4901244533059551797, 5, 'mail.example.org', 8424, 1767600000459687, 1767600000638740, 1796067704, 2, NULL, 1, NULL, 7685298789696752262, 1767668547186622, 106),
(7, 4, 'full@upgrade.example', 'INBOX', 'inbox', 'expired', 0, 1, 1767686400710960, -4518294816876315981, 7, 'mail.example.org', 8441, 1767686400710960, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.018 + 0.000 + 0.017 secs).', 0, NULL, 7685298789696752262, 1767668547186960, 107),
(8, 5, 'full@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 2, 1767686400876033, 1158315351332177926, 8, 'mail.example.org', 8456, 1767686400792061, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668547187033, 112),
(10, 6, 'full@upgrade.example', 'INBOX', 'inbox', 'failed', 0, 1, 1767686400942222, -6450246177858853515, 10, 'mail.example.org', 8460, 1767686400942222, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox INBOX refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.001 + 0.000 secs).', 0, NULL, 7685298789696752262, 1767668547187222, 109),
(11, 7, 'doug@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686401021345, -204791023608206229, 11, 'mail.example.org', 8476, 1767686401021344, 1767686401130167, 1796067704, 3, NULL, 0, NULL, 7685298789696752262, 1767668547210345, 23155),
(12, 7, 'full@upgrade.example', 'Sent', 'sent', 'failed', 0, 1, 1767686401021452, -204791023608206229, 11, 'mail.example.org', 8476, 1767686401021452, NULL, NULL, NULL, 'IMAP server 127.0.0.1:993: APPEND to mailbox Sent refused: NO [OVERQUOTA] Quota exceeded (mailbox for user is full) (0.006 + 0.000 + 0.005 secs).', 0, NULL, 7685298789696752262, 1767668547186452, 14),
(13, 8, 'locked@upgrade.example', 'INBOX', 'inbox', 'pending', 0, 1, 1767686401224315, -8036198139383586656, 12, 'mail.example.org', 8532, 1767686401224315, NULL, NULL, NULL, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)', 0, NULL, 7685298789696752262, 1767668547187315, 107),
(14, 9, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 1, 2, 1767686401978484, 569588588269612849, 13, 'mail.example.org', 8678, 1767686401809634, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668547187484, 220),
(16, 10, 'doug@upgrade.example', 'INBOX', 'inbox', 'appending', 0, 1, 1767686402201174, 3839442411796938114, 15, 'mail.example.org', 8744, 1767686402201174, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668547187174, 108),
(17, 11, 'scuba@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402408751, 1380172433996685663, 16, 'mail.example.org', 8817, 1767686402408751, 1767686402465153, 1796067704, 3, NULL, 0, NULL, 7685298789696752262, 1767668547186751, 133),
(18, 11, 'lisa@upgrade.example', 'Sent', 'sent', 'appending', 0, 1, 1767686402408820, 1380172433996685663, 16, 'mail.example.org', 8817, 1767686402408820, NULL, NULL, NULL, NULL, 0, NULL, 7685298789696752262, 1767668547186820, 7),
(19, 12, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402620085, -2223229295971407550, 17, 'mail.example.org', 8896, 1767686402620085, 1767686402644057, 1796067706, 1, NULL, 0, ',support,', 7685298789696752262, 1767668547187085, 107),
(20, 13, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402657308, -6497994347342527770, 18, 'mail.example.org', 8912, 1767686402657308, 1767686402695925, 1796067706, 2, NULL, 0, ',support,', 7685298789696752262, 1767668547187308, 108),
(21, 14, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402709870, 3214308454606371871, 19, 'mail.example.org', 8929, 1767686402709870, 1767686402718950, 1796067706, 3, NULL, 0, ',support,', 7685298789696752262, 1767668547186871, 107),
(22, 15, 'support@upgrade.example', 'INBOX', 'inbox', 'stored', 0, 1, 1767686402824090, 1408791049535027773, 20, 'mail.example.org', 8959, 1767686402824090, 1767686402865832, 1796067706, 4, NULL, 0, ',support,', 7685298789696752262, 1767668547187090, 103);
INSERT INTO feed ("id", "feed", "copy", "message", "added_at", "not_before", "tries", "dead", "owner", "error") VALUES
(1, 'sent', 2, 1, 1767686400320151, 1767686400320151, 0, 0, 0, NULL),
(3, 'support', 20, 13, 1767686402695826, 1767686412770664, 1, 0, -5811183413651591799, 'the command exited with status 75'),
(4, 'support', 21, 14, 1767686402718849, 1767686412808767, 1, 1, 2200475368623828051, 'the command exited with status 1'),
(5, 'support', 22, 15, 1767686402865725, 1767686402865725, 0, 0, 0, NULL);
INSERT INTO server ("server", "verified", "checked_at", "tried_at") VALUES
('127.0.0.1 port 994 on mail.example.org as oncedrop', 1, 1767686402200056, 1767686402200056),
('127.0.0.1 port 995 on mail.example.org as oncedrop', 1, 1767686401973924, 1767686401973924),
('127.0.0.1 port 996 on mail.example.org as oncedrop', 1, 1767686402407519, 1767686402407520),
('127.0.0.1 port 997 on mail.example.org as oncedrop', 1, 1767686401807497, 1767686401807497),
('127.0.0.1 port 993 on mail.example.org as oncedrop', 1, 1767686400174678, 1767686400174678);
INSERT INTO refusal ("id", "server", "account", "refusals", "refused_at", "wait_ms", "reason") VALUES
('75520115649a7e9edb34d20c4254ee6bdb0b9291997b907f8e5085647ba74c10', '127.0.0.1 port 993 on mail.example.org as each account, password of 1796067705201720578', 'locked@upgrade.example', 1, 1767686401742270, 60000, 'IMAP login of locked@upgrade.example refused: NO [AUTHENTICATIONFAILED] Authentication failed. (check that this account exists, imap.user, imap.master_user and imap.password_file = /etc/oncedrop/wrong-password)');
INSERT INTO event ("id", "at", "name", "host", "count") VALUES
(1, 1767686400705496, 'busy', 'mail.example.org', 1),
(2, 1767686401978555, 'search', 'mail.example.org', 1);
INSERT INTO counter_bucket ("name", "label", "le", "value") VALUES
('counted_until', '', 0, 1767682800000000),
('deferrals', 'busy', 0, 1),
('deliveries', 'deferred', 0, 1),
('deliveries', 'duplicate', 0, 2),
('deliveries', 'stored', 0, 4),
('phase', 'database', 5, 3),
('phase', 'database', 25, 2),
('phase', 'database', 250, 1),
('phase', 'imap', 5, 1),
('phase', 'imap', 10, 2),
('phase', 'imap', 25, 1),
('phase', 'imap', 50, 1),
('phase', 'imap', 250, 1),
('phase', 'lock', 5, 6),
('phase', 'read', 5, 5),
('phase', 'read', 50, 1),
('phase_ms', 'database', 0, 218),
('phase_ms', 'imap', 0, 189),
('phase_ms', 'lock', 0, 2),
('phase_ms', 'read', 0, 40),
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
