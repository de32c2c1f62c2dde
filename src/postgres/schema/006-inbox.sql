-- oncedrop schema, version 6: INBOX has one name, however it was spelled in an address, a setting or an account query
-- (RFC 3501, 5.1). Of several rows for one message and account, the one with the most information remains; if a second copy
-- is in the mailbox, its row remains too, under its old name.

CREATE TABLE @schema@.inbox_name AS
    SELECT id, row_number() OVER place AS place, state = 'stored' AS stored,
           bool_or(doubt OR state = 'appending') OVER whole AS doubt
      FROM @schema@.copy WHERE pg_catalog.upper(mailbox COLLATE "C") = 'INBOX'
    WINDOW whole AS (PARTITION BY message, account),
           place AS (whole ORDER BY state = 'stored' DESC, state = 'appending' DESC, mailbox = 'INBOX' DESC, id);

DELETE FROM @schema@.copy c USING @schema@.inbox_name i WHERE c.id = i.id AND i.place > 1 AND NOT i.stored;
UPDATE @schema@.copy c SET mailbox = 'INBOX', doubt = c.doubt OR (i.doubt AND c.state = 'pending')
  FROM @schema@.inbox_name i
 WHERE c.id = i.id AND i.place = 1 AND (c.mailbox <> 'INBOX' OR (i.doubt AND c.state = 'pending' AND NOT c.doubt));
UPDATE @schema@.delivery SET mailbox = 'INBOX'
 WHERE mailbox <> 'INBOX' AND pg_catalog.upper(mailbox COLLATE "C") = 'INBOX';
DROP TABLE @schema@.inbox_name;
