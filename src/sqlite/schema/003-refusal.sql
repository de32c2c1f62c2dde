-- oncedrop's ledger in SQLite, version 3: accounts whose login an IMAP server refused.
--
-- id is a hash of server and account, of any length.

CREATE TABLE @schema@.refusal (
    id         TEXT PRIMARY KEY,
    server     TEXT NOT NULL,
    account    TEXT NOT NULL,
    refusals   INTEGER NOT NULL,
    refused_at INTEGER NOT NULL,
    wait_ms    INTEGER NOT NULL,
    reason     TEXT NOT NULL
) STRICT, WITHOUT ROWID;
