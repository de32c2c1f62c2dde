-- settle_copy: records the result of a copy if it is still of this generation; else changes no row
-- params: identity digest account mailbox generation claim state doubt uidvalidity uid error
UPDATE @schema@.copy SET state = :state, doubt = :doubt, uidvalidity = :uidvalidity, uid = :uid,
error = :error, stored_at = CASE WHEN :state = 'stored' THEN @now@ END
WHERE message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND account = :account AND mailbox = :mailbox AND generation = :generation AND claim = :claim

-- settle_variants: marks the variants' unfinished Sent copies as stored
-- params: identity digest account mailbox uidvalidity uid
UPDATE @schema@.copy SET state = 'stored', doubt = 0, uidvalidity = :uidvalidity, uid = :uid, error = NULL,
stored_at = @now@
WHERE message IN (SELECT id FROM @schema@.message WHERE identity = :identity AND digest <> :digest)
AND account = :account AND mailbox = :mailbox AND role = 'sent' AND state IN ('pending', 'appending')

-- settle_reply: updates the delivery and our attempt; a delivery that has taken over has its own row
-- params: identity digest recipient outcome reason is_finished is_complete claim read_ms lock_ms database_ms imap_ms
UPDATE @schema@.delivery SET outcome = :outcome, reason = :reason, last_at = @now@,
finished_at = CASE WHEN :is_finished THEN coalesce(finished_at, @now@) ELSE finished_at END, complete = complete OR :is_complete
WHERE message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND recipient = :recipient
-- then
UPDATE @schema@.attempt SET outcome = :outcome, reason = :reason, ended_at = CASE WHEN :outcome <> 'claimed' THEN @now@ END,
read_ms = :read_ms, lock_ms = :lock_ms, database_ms = :database_ms, imap_ms = :imap_ms
WHERE claim = :claim AND delivery = (SELECT d.id FROM @schema@.message m CROSS JOIN @schema@.delivery d ON d.message = m.id
AND d.recipient = :recipient WHERE m.identity = :identity AND m.digest = :digest)

-- notify: no-op: a file has no channels, and record.notify is refused
-- params: identity digest channel
SELECT 0
