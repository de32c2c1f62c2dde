-- oncedrop schema, version 3: what applications and the operator's commands read.

-- For `show` (nearest ids), `list` and the views below; ids may have any length, so only their hash or their beginning
-- is indexed.
CREATE INDEX message_message_id ON @schema@.message USING hash (message_id);
CREATE INDEX message_message_id_start ON @schema@.message (("left"(message_id, 200) COLLATE "C"));
CREATE INDEX message_thread ON @schema@.message USING hash ((coalesce("references"[1], in_reply_to, message_id)));
CREATE INDEX delivery_recipient ON @schema@.delivery (recipient, message);
CREATE INDEX copy_account ON @schema@.copy (account, message);
CREATE INDEX copy_failed ON @schema@.copy (id) WHERE state = 'failed';
CREATE INDEX copy_first_at ON @schema@.copy USING brin (first_at);

COMMENT ON COLUMN @schema@.message.received_at IS 'When the message arrived: its first delivery, or, replayed, what its header tells; its INTERNALDATE in every mailbox';

CREATE VIEW @schema@.inbox AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored';
COMMENT ON VIEW @schema@.inbox IS 'Messages delivered to recipients: one row for each copy that is stored. Columns are only ever added';
COMMENT ON COLUMN @schema@.inbox.account IS 'IMAP account';
COMMENT ON COLUMN @schema@.inbox.mailbox IS 'Mailbox, UTF-8';
COMMENT ON COLUMN @schema@.inbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL when the server did not tell';
COMMENT ON COLUMN @schema@.inbox.uid IS 'UID there; NULL when the server did not tell. The user may have moved it since';
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

CREATE VIEW @schema@.outbox AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at,
           ARRAY(SELECT d.recipient FROM @schema@.delivery d WHERE d.message = m.id ORDER BY d.id) AS recipients
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'sent' AND c.state = 'stored';
COMMENT ON VIEW @schema@.outbox IS 'Messages filed for their senders: one row for each Sent copy that is stored. Columns are only ever added';
COMMENT ON COLUMN @schema@.outbox.account IS 'IMAP account of the sender';
COMMENT ON COLUMN @schema@.outbox.mailbox IS 'The Sent mailbox, UTF-8, or \Sent: the one with that SPECIAL-USE';
COMMENT ON COLUMN @schema@.outbox.uidvalidity IS 'UIDVALIDITY of the mailbox then; NULL when the server did not tell';
COMMENT ON COLUMN @schema@.outbox.uid IS 'UID there; NULL when the server did not tell. The user may have moved it since';
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
