-- settle_reply:
UPDATE @schema@.delivery SET outcome = :outcome, reason = :reason, last_at = @now@,
finished_at = CASE WHEN :is_finished THEN coalesce(finished_at, @now@) ELSE finished_at END, complete = complete OR :is_complete
WHERE message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND recipient = :recipient
-- then
UPDATE @schema@.attempt SET outcome = :outcome, reason = :reason, ended_at = CASE WHEN :outcome <> 'claimed' THEN @now@ END,
read_ms = :read_ms, lock_ms = :lock_ms, database_ms = :database_ms, imap_ms = :imap_ms
WHERE claim = :claim AND delivery = (SELECT d.id FROM @schema@.message m CROSS JOIN @schema@.delivery d ON d.message = m.id
AND d.recipient = :recipient WHERE m.identity = :identity AND m.digest = :digest)
