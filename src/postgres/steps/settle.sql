-- settle_copy: records the result of a copy if it is still of this generation; else changes no row
-- params: identity digest account mailbox generation claim state doubt uidvalidity uid error
UPDATE @schema@.copy c SET state = :state, doubt = :doubt::boolean, uidvalidity = :uidvalidity, uid = :uid,
error = :error, stored_at = CASE WHEN :state = 'stored' THEN @now@ END
FROM @schema@.message m WHERE m.identity = :identity AND m.digest = :digest AND c.message = m.id
AND c.account = :account AND c.mailbox = :mailbox AND c.generation = :generation::integer AND c.claim = :claim::bigint

-- settle_variants: marks the variants' unfinished Sent copies as stored
-- params: identity digest account mailbox uidvalidity uid
UPDATE @schema@.copy c SET state = 'stored', doubt = false, uidvalidity = :uidvalidity, uid = :uid, error = NULL,
stored_at = @now@
FROM @schema@.message m WHERE m.identity = :identity AND m.digest <> :digest AND c.message = m.id
AND c.account = :account AND c.mailbox = :mailbox AND c.role = 'sent' AND c.state IN ('pending', 'appending')

-- settle_reply: updates the delivery and our attempt; a delivery that has taken over has its own row
-- params: identity digest recipient outcome reason is_finished is_complete claim read_ms lock_ms database_ms imap_ms
WITH tried AS (UPDATE @schema@.delivery d SET outcome = :outcome::text, reason = :reason::text,
last_at = @now@,
finished_at = CASE WHEN :is_finished::boolean THEN coalesce(d.finished_at, @now@)
ELSE d.finished_at END, complete = d.complete OR :is_complete::boolean
FROM @schema@.message m WHERE m.identity = :identity AND m.digest = :digest AND d.message = m.id
AND d.recipient = :recipient RETURNING d.id)
UPDATE @schema@.attempt t SET outcome = :outcome::text, reason = :reason::text, ended_at = CASE WHEN :outcome::text <> 'claimed'
THEN @now@ END, read_ms = :read_ms::bigint, lock_ms = :lock_ms::bigint,
database_ms = :database_ms::bigint, imap_ms = :imap_ms::bigint FROM tried
WHERE t.delivery = tried.id AND t.claim = :claim::bigint

-- notify: notifies the listeners of this channel which message was stored
-- params: identity digest channel
SELECT pg_catalog.pg_notify(:channel, id::text) FROM @schema@.message WHERE identity = :identity AND digest = :digest
