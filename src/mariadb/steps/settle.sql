-- settle_copy:
UPDATE copy SET feeds = CASE WHEN @first@ THEN :feeds ELSE feeds END, state = :state, doubt = :doubt,
uidvalidity = :uidvalidity, uid = :uid, error = :error, stored_at = CASE WHEN :state = 'stored' THEN @now@ END
WHERE message = @message AND account = :account AND mailbox = :mailbox AND generation = :generation AND claim = :claim

-- macro variants: other content with this identity. An IN executes its subquery for each row of a range that the result
-- does not limit
identity = :identity AND digest <> :digest

-- settle_variants:
UPDATE copy SET state = 'stored', doubt = FALSE, uidvalidity = :uidvalidity, uid = :uid, error = NULL,
stored_at = @now@
WHERE message IN (SELECT id FROM message WHERE @variants@)
AND message BETWEEN (SELECT min(id) FROM message WHERE @variants@) AND (SELECT max(id) FROM message WHERE @variants@)
AND account = :account AND mailbox = :mailbox AND role = 'sent' AND state IN ('pending', 'appending')

-- settle_reply:
UPDATE delivery SET outcome = :outcome, reason = :reason, last_at = @now@,
finished_at = CASE WHEN :is_finished THEN coalesce(finished_at, @now@) ELSE finished_at END, complete = complete OR :is_complete
WHERE id = @delivery
-- then
UPDATE attempt SET outcome = :outcome, reason = :reason, ended_at = CASE WHEN :outcome <> 'claimed' THEN @now@ END,
read_ms = :read_ms, lock_ms = :lock_ms, database_ms = :database_ms, imap_ms = :imap_ms
WHERE delivery = @delivery AND claim = :claim
