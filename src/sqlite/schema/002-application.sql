-- oncedrop's ledger in SQLite, version 2: the views for applications, with the columns that they have in the other engines. Times
-- are texts in UTC, such as 2026-11-27 09:30:00.000000, which date functions accept, and which can be compared as they are. Lists
-- are JSON.

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
