-- oncedrop schema, version 1. The names of the schema (setting database.schema) and of the role (that name with
-- _delivery) are filled in by `oncedrop schema install`, which runs all of this in one transaction.

CREATE SCHEMA IF NOT EXISTS @schema@;
COMMENT ON SCHEMA @schema@ IS 'oncedrop: messages delivered, and the claims that keep each copy from being made twice';

CREATE TABLE @schema@.schema_version (
    version      integer PRIMARY KEY,
    installed_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE @schema@.schema_version IS 'One row for each version of this schema that was installed; the highest is in force';
COMMENT ON COLUMN @schema@.schema_version.version IS 'Number of the schema version';
COMMENT ON COLUMN @schema@.schema_version.installed_at IS 'When it was installed';

CREATE TABLE @schema@.message (
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
CREATE INDEX message_lock_key ON @schema@.message (lock_key);
CREATE INDEX message_digest ON @schema@.message (digest);
CREATE INDEX message_received_at ON @schema@.message (received_at);
COMMENT ON TABLE @schema@.message IS 'One row for each message, that is, for each pair of Message-ID and content';
COMMENT ON COLUMN @schema@.message.id IS 'Number of the message; also the payload of NOTIFY';
COMMENT ON COLUMN @schema@.message.identity IS 'SHA-256 over lock.namespace, NUL, Message-ID (without one: the digest in hexadecimal)';
COMMENT ON COLUMN @schema@.message.digest IS 'SHA-256 over the message as appended, without the fields that transport adds';
COMMENT ON COLUMN @schema@.message.lock_key IS 'First 8 bytes of identity, big-endian, signed: the key of the advisory lock';
COMMENT ON COLUMN @schema@.message.message_id IS 'Message-ID without <>; bytes that are no UTF-8 are replaced; NULL when missing or damaged';
COMMENT ON COLUMN @schema@.message.sender IS 'Envelope sender (RFC 5321 reverse-path); empty for a bounce';
COMMENT ON COLUMN @schema@.message."from" IS 'Address of the first mailbox in From';
COMMENT ON COLUMN @schema@.message.subject IS 'Subject, decoded (RFC 2047)';
COMMENT ON COLUMN @schema@.message.date IS 'Date field; NULL when missing or unreadable';
COMMENT ON COLUMN @schema@.message.size IS 'Bytes as appended to the recipient''s mailbox at the first delivery';
COMMENT ON COLUMN @schema@.message.in_reply_to IS 'First id in In-Reply-To, without <>';
COMMENT ON COLUMN @schema@.message."references" IS 'Ids in References in their order, without <>';
COMMENT ON COLUMN @schema@.message.received_at IS 'When the message was first seen; its INTERNALDATE in every mailbox';

CREATE TABLE @schema@.address (
    message  bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    role     text NOT NULL CHECK (role IN ('from', 'sender', 'reply-to', 'to', 'cc', 'bcc')),
    position integer NOT NULL,
    "group"  text,
    name     text,
    address  text NOT NULL,
    PRIMARY KEY (message, role, position)
);
COMMENT ON TABLE @schema@.address IS 'Addresses in the header (record.level headers and above)';
COMMENT ON COLUMN @schema@.address.message IS 'The message';
COMMENT ON COLUMN @schema@.address.role IS 'Field in which it stands';
COMMENT ON COLUMN @schema@.address.position IS 'Place in that field, from 1';
COMMENT ON COLUMN @schema@.address."group" IS 'Name of the RFC 5322 group it belongs to';
COMMENT ON COLUMN @schema@.address.name IS 'Display name, decoded';
COMMENT ON COLUMN @schema@.address.address IS 'The address itself, its domain in lower case';

CREATE TABLE @schema@.part (
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
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
COMMENT ON TABLE @schema@.part IS 'MIME parts that are not containers (record.level text and above)';
COMMENT ON COLUMN @schema@.part.message IS 'The message';
COMMENT ON COLUMN @schema@.part.path IS 'Section number as in IMAP (RFC 3501, 6.4.5)';
COMMENT ON COLUMN @schema@.part.type IS 'Media type, lower case';
COMMENT ON COLUMN @schema@.part.charset IS 'Character set as declared, lower case';
COMMENT ON COLUMN @schema@.part.disposition IS 'Content-Disposition: inline, attachment, ...';
COMMENT ON COLUMN @schema@.part.filename IS 'File name, decoded';
COMMENT ON COLUMN @schema@.part.size IS 'Bytes of the decoded content';
COMMENT ON COLUMN @schema@.part.sha256 IS 'SHA-256 of the decoded content';
COMMENT ON COLUMN @schema@.part.text IS 'Content of a text part, converted to UTF-8, at most 1 MiB';

CREATE TABLE @schema@.raw (
    message bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    chunk   integer NOT NULL,
    data    bytea NOT NULL,
    PRIMARY KEY (message, chunk)
);
ALTER TABLE @schema@.raw ALTER COLUMN data SET STORAGE EXTERNAL;
COMMENT ON TABLE @schema@.raw IS 'The message as appended, in pieces of 1 MiB (record.level raw)';
COMMENT ON COLUMN @schema@.raw.message IS 'The message';
COMMENT ON COLUMN @schema@.raw.chunk IS 'Place of the piece, from 0';
COMMENT ON COLUMN @schema@.raw.data IS 'The bytes';

CREATE TABLE @schema@.delivery (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message            bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    recipient          text NOT NULL,
    original_recipient text,
    account            text NOT NULL,
    mailbox            text NOT NULL,
    queue_id           text,
    host               text NOT NULL,
    outcome            text NOT NULL,
    reason             text,
    tries              integer NOT NULL DEFAULT 1,
    first_at           timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at            timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at        timestamptz,
    UNIQUE (message, recipient)
);
CREATE INDEX delivery_queue_id ON @schema@.delivery (queue_id);
CREATE INDEX delivery_last_at ON @schema@.delivery (last_at);
CREATE INDEX delivery_unfinished ON @schema@.delivery (last_at) WHERE finished_at IS NULL;
COMMENT ON TABLE @schema@.delivery IS 'One row for each message and recipient that Postfix handed over and that got as far as a claim';
COMMENT ON COLUMN @schema@.delivery.id IS 'Number of the delivery';
COMMENT ON COLUMN @schema@.delivery.message IS 'The message';
COMMENT ON COLUMN @schema@.delivery.recipient IS 'Envelope recipient, lower case';
COMMENT ON COLUMN @schema@.delivery.original_recipient IS 'Recipient before Postfix rewrote it';
COMMENT ON COLUMN @schema@.delivery.account IS 'IMAP account to which the recipient leads';
COMMENT ON COLUMN @schema@.delivery.mailbox IS 'Mailbox to which the recipient leads';
COMMENT ON COLUMN @schema@.delivery.queue_id IS 'Postfix queue id of the last try, when it was told';
COMMENT ON COLUMN @schema@.delivery.host IS 'Host of the last try';
COMMENT ON COLUMN @schema@.delivery.outcome IS 'What the last try answered (stored, duplicate, held, ...); claimed while it is under way. Done is what has finished_at';
COMMENT ON COLUMN @schema@.delivery.reason IS 'The text of that answer';
COMMENT ON COLUMN @schema@.delivery.tries IS 'How often it was tried; a try that met a held lock does not count';
COMMENT ON COLUMN @schema@.delivery.first_at IS 'First try';
COMMENT ON COLUMN @schema@.delivery.last_at IS 'Last try, or its end';
COMMENT ON COLUMN @schema@.delivery.finished_at IS 'When it was stored, found stored, or refused for good; NULL while Postfix will try again';

CREATE TABLE @schema@.copy (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    message     bigint NOT NULL REFERENCES @schema@.message ON DELETE CASCADE,
    account     text NOT NULL,
    mailbox     text NOT NULL,
    role        text NOT NULL CHECK (role IN ('inbox', 'sent')),
    state       text NOT NULL CHECK (state IN ('pending', 'appending', 'stored', 'failed')),
    doubt       boolean NOT NULL DEFAULT false,
    attempt     integer NOT NULL DEFAULT 1,
    attempt_at  timestamptz NOT NULL DEFAULT clock_timestamp(),
    claim       bigint NOT NULL,
    claimed_by  bigint NOT NULL REFERENCES @schema@.delivery ON DELETE CASCADE,
    host        text NOT NULL,
    pid         integer NOT NULL,
    first_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
    stored_at   timestamptz,
    uidvalidity bigint,
    uid         bigint,
    error       text,
    UNIQUE (message, account, mailbox)
);
CREATE INDEX copy_claimed_by ON @schema@.copy (claimed_by);
CREATE INDEX copy_unfinished ON @schema@.copy (attempt_at) WHERE state IN ('pending', 'appending');
COMMENT ON TABLE @schema@.copy IS 'One row for each message and mailbox it belongs in: the fence against a second copy';
COMMENT ON COLUMN @schema@.copy.id IS 'Number of the copy';
COMMENT ON COLUMN @schema@.copy.message IS 'The message';
COMMENT ON COLUMN @schema@.copy.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.copy.mailbox IS 'Mailbox name as configured or routed, UTF-8 (\Sent: the mailbox with that SPECIAL-USE)';
COMMENT ON COLUMN @schema@.copy.role IS 'inbox: the delivery itself; sent: the sender''s own copy';
COMMENT ON COLUMN @schema@.copy.state IS 'pending: not stored, to be tried again; appending: an APPEND may be under way; stored; failed: given up';
COMMENT ON COLUMN @schema@.copy.doubt IS 'An earlier attempt may have stored it: the mailbox is searched before the next APPEND';
COMMENT ON COLUMN @schema@.copy.attempt IS 'Number of the last attempt; only its owner may settle it';
COMMENT ON COLUMN @schema@.copy.attempt_at IS 'When that attempt was claimed, by the database''s clock; delivery.hold_off counts from here';
COMMENT ON COLUMN @schema@.copy.claim IS 'Random number of that claim: tells two claims of one attempt number apart when a COMMIT was lost';
COMMENT ON COLUMN @schema@.copy.claimed_by IS 'The delivery that answers for it: not successful before this copy is settled';
COMMENT ON COLUMN @schema@.copy.host IS 'Host of that attempt';
COMMENT ON COLUMN @schema@.copy.pid IS 'Process of that attempt';
COMMENT ON COLUMN @schema@.copy.first_at IS 'First attempt; delivery.sent_retry and delivery.reject_after count from here';
COMMENT ON COLUMN @schema@.copy.stored_at IS 'When it was known to be stored';
COMMENT ON COLUMN @schema@.copy.uidvalidity IS 'UIDVALIDITY of the mailbox, when the server told (RFC 4315)';
COMMENT ON COLUMN @schema@.copy.uid IS 'UID in the mailbox, when the server told';
COMMENT ON COLUMN @schema@.copy.error IS 'Why the last attempt did not store it';

-- A role with only the rights that a delivery needs; grant it to the role in conninfo. Without the right to create roles,
-- the schema is installed without it.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @role_text@) THEN
        CREATE ROLE @role@ NOLOGIN;
    END IF;
EXCEPTION WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
    NULL;
END $$;
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @role_text@) THEN
        GRANT USAGE ON SCHEMA @schema@ TO @role@;
        GRANT SELECT ON ALL TABLES IN SCHEMA @schema@ TO @role@;
        GRANT INSERT ON @schema@.message, @schema@.address, @schema@.part, @schema@.raw, @schema@.delivery,
            @schema@.copy TO @role@;
        GRANT UPDATE ON @schema@.delivery, @schema@.copy TO @role@;
    END IF;
END $$;
