-- reply:
INSERT INTO @schema@.delivery AS d (message, recipient, original_recipient, account, mailbox,
queue_id, host, outcome, reason, first_at, last_at, finished_at, complete)
SELECT id, :recipient, :original, :account, :mailbox, :queue_id, :host,
:outcome, :reason, @now@, @now@, CASE WHEN :is_finished THEN @now@ END, :is_complete
FROM @schema@.message WHERE identity = :identity AND digest = :digest
ON CONFLICT (message, recipient) DO UPDATE SET
original_recipient = coalesce(excluded.original_recipient, d.original_recipient),
account = excluded.account, mailbox = excluded.mailbox,
queue_id = coalesce(excluded.queue_id, d.queue_id), host = excluded.host,
outcome = excluded.outcome, reason = excluded.reason, attempts = d.attempts + 1,
last_at = excluded.last_at,
finished_at = coalesce(CASE WHEN d.outcome <> 'expired' THEN d.finished_at END, excluded.finished_at),
complete = d.complete OR excluded.complete
-- then
INSERT INTO @schema@.attempt (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
SELECT d.id, :claim, @now@ - (:read_ms + :lock_ms + :database_ms + :imap_ms) * 1000,
CASE WHEN :outcome <> 'claimed' THEN @now@ END, :queue_id, :queued_at * 1000000, :host, :pid, :outcome, :reason,
:read_ms, :lock_ms, :database_ms, :imap_ms,
CASE WHEN :trace THEN substr(oncedrop_sha256(:identity, :digest), 1, 16) END,
CASE WHEN :trace THEN substr(oncedrop_sha256(:claim, :recipient), 1, 8) END
FROM @schema@.message m CROSS JOIN @schema@.delivery d ON d.message = m.id AND d.recipient = :recipient
WHERE m.identity = :identity AND m.digest = :digest ON CONFLICT DO NOTHING

-- hold_copies:
SELECT c.state, 0 FROM @schema@.message m CROSS JOIN @schema@.copy c ON c.message = m.id
WHERE m.identity = :identity AND m.digest = :digest AND c.claim = :claim
AND c.account IN (SELECT value FROM json_each(:accounts)) AND c.mailbox IN (SELECT value FROM json_each(:mailboxes))
