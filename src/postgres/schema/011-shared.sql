-- oncedrop schema, version 11: a database that others use too.

-- Resolved anew, under the search_path of this upgrade: that of an earlier one may have had other schemas first.
ALTER FUNCTION @schema@.forget_tally() SET search_path = pg_catalog, pg_temp;

-- Logical replication of all tables: what is updated or deleted needs an identity. These have one row each.
ALTER TABLE @schema@.tally REPLICA IDENTITY FULL;
ALTER TABLE @schema@.agreed REPLICA IDENTITY FULL;

-- Whoever may read a view could see what is not in it, by a function that is called before the view's own conditions.
--
-- With sender_bcc_maps a sender's own copy comes as mail for user+Sent, and so has the role inbox. It is in the mailbox Sent,
-- for the address of its envelope sender, or the user of that address, extensions left out.
CREATE OR REPLACE VIEW @schema@.inbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored'
       AND NOT (c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM @schema@.delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW @schema@.inbox IS 'Messages delivered to recipients: one row for each copy that is stored, but for those in outbox. Columns are only ever added';

CREATE OR REPLACE VIEW @schema@.outbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at,
           ARRAY(SELECT d.recipient FROM @schema@.delivery d WHERE d.message = m.id
                 AND NOT (d.mailbox = 'Sent' AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
                     IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*')))
                 ORDER BY d.id) AS recipients
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.state = 'stored'
       AND (c.role = 'sent' OR c.mailbox = 'Sent' AND EXISTS (
           SELECT FROM @schema@.delivery d WHERE d.id = c.claimed_by AND regexp_replace(lower(d.recipient), '[+][^@]*', '')
               IN (regexp_replace(lower(m.sender), '[+][^@]*', ''), substring(lower(m.sender), '^[^+@]*'))));
COMMENT ON VIEW @schema@.outbox IS 'Messages filed for their senders: one row for each Sent copy that is stored, also one made by sender_bcc_maps, in the mailbox Sent. Columns are only ever added';
