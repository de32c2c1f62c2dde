-- macro first: whether a copy, if stored now, is stored for the first time
state <> 'stored' AND repeated = 0 AND feeds IS NULL

-- settle_copy: records the result of a copy if it is still of this generation; else changes no row. feeds: that take it;
-- the first assignment, for in MariaDB later ones see the new state
-- params: identity digest account mailbox generation claim feeds state doubt uidvalidity uid error
UPDATE @schema@.copy SET feeds = CASE WHEN @first@ THEN :feeds ELSE feeds END, state = :state, doubt = :doubt::boolean,
uidvalidity = :uidvalidity, uid = :uid, error = :error, stored_at = CASE WHEN :state = 'stored' THEN @now@ END
WHERE message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND account = :account AND mailbox = :mailbox AND generation = :generation::integer AND claim = :claim::bigint

-- settle_variants: marks the variants' unfinished Sent copies as stored
-- params: identity digest account mailbox uidvalidity uid
UPDATE @schema@.copy SET state = 'stored', doubt = FALSE, uidvalidity = :uidvalidity, uid = :uid, error = NULL,
stored_at = @now@
WHERE message IN (SELECT id FROM @schema@.message WHERE identity = :identity AND digest <> :digest)
AND account = :account AND mailbox = :mailbox AND role = 'sent' AND state IN ('pending', 'appending')

-- settle_reply: updates the delivery and our attempt; a delivery that has taken over has its own row
-- params: identity digest recipient outcome reason is_finished is_complete claim read_ms lock_ms database_ms imap_ms

-- notify: notifies the listeners of this channel which message was stored; where there are no channels, record.notify is refused
-- params: identity digest channel
@nothing@
