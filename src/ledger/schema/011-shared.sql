-- oncedrop schema, version 11: a database that others use too.

-- Resolved anew, under the search_path of this upgrade: that of an earlier one may have had other schemas first.
ALTER FUNCTION @schema@.forget_tally() SET search_path = pg_catalog, pg_temp;

-- Whoever may read a view could see what is not in it, by a function that is called before the view's own conditions.
CREATE OR REPLACE VIEW @schema@.inbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'inbox' AND c.state = 'stored';

CREATE OR REPLACE VIEW @schema@.outbox WITH (security_barrier) AS
    SELECT c.account, c.mailbox, c.uidvalidity, c.uid, m.id AS message, m.message_id,
           coalesce(m."references"[1], m.in_reply_to, m.message_id) AS thread, m.in_reply_to, m."references",
           m.sender, m."from", m.subject, m.date, m.received_at, m.size, c.stored_at,
           ARRAY(SELECT d.recipient FROM @schema@.delivery d WHERE d.message = m.id ORDER BY d.id) AS recipients
      FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message
     WHERE c.role = 'sent' AND c.state = 'stored';
