-- answer: records the recipient's delivery, and this try of it. Columns are assigned from left to right
-- takes: identity digest recipient original account mailbox queue_id host outcome reason is_finished is_whole claim pid
-- takes: queued_at trace read_ms lock_ms database_ms imap_ms
INSERT INTO delivery (message, recipient, original_recipient, account, mailbox,
queue_id, host, outcome, reason, first_at, last_at, finished_at, whole)
SELECT id, :recipient, :original, :account, :mailbox, :queue_id, :host,
:outcome, :reason, @now@, @now@, CASE WHEN :is_finished THEN @now@ END, :is_whole
FROM message WHERE identity = :identity AND digest = :digest
ON DUPLICATE KEY UPDATE
finished_at = coalesce(CASE WHEN delivery.outcome <> 'abandoned' THEN delivery.finished_at END, VALUES(finished_at)),
original_recipient = coalesce(VALUES(original_recipient), delivery.original_recipient),
account = VALUES(account), mailbox = VALUES(mailbox),
queue_id = coalesce(VALUES(queue_id), delivery.queue_id), host = VALUES(host),
outcome = VALUES(outcome), reason = VALUES(reason), tries = delivery.tries + 1,
last_at = VALUES(last_at), whole = delivery.whole OR VALUES(whole)
-- then
INSERT INTO try (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms, trace_id, span_id)
SELECT d.id, :claim, @ago(:read_ms + :lock_ms + :database_ms + :imap_ms)@,
CASE WHEN :outcome <> 'claimed' THEN @now@ END, :queue_id, @of_seconds(:queued_at)@, :host, :pid, :outcome, :reason,
:read_ms, :lock_ms, :database_ms, :imap_ms,
CASE WHEN :trace THEN substr(unhex(sha2(concat(:identity, :digest), 256)), 1, 16) END,
CASE WHEN :trace THEN substr(unhex(sha2(concat(:claim, :recipient), 256)), 1, 8) END
FROM message m JOIN delivery d ON d.message = m.id AND d.recipient = :recipient
WHERE m.identity = :identity AND m.digest = :digest ON DUPLICATE KEY UPDATE outcome = try.outcome

-- claim_copy: claims a copy, if nobody claimed it since it was looked at
-- takes: identity digest account mailbox role doubt claim host pid recipient attempt_before again
UPDATE copy SET repeated = repeated + :again, state = 'appending', doubt = :doubt, attempt = attempt + 1,
attempt_at = @now@, claim = :claim, claimed_by = @delivery@, host = :host, pid = :pid, error = NULL
WHERE message = @message@ AND account = :account AND mailbox = :mailbox
AND attempt = :attempt_before AND (state = 'stored') = :again AND @delivery@ IS NOT NULL
-- then
INSERT INTO copy (message, account, mailbox, role, state, doubt, claim, claimed_by, host, pid, first_at, attempt_at)
SELECT m.id, :account, :mailbox, :role, 'appending', :doubt, :claim, d.id, :host, :pid, @now@, @now@
FROM message m JOIN delivery d ON d.message = m.id AND d.recipient = :recipient
WHERE m.identity = :identity AND m.digest = :digest ON DUPLICATE KEY UPDATE state = copy.state

-- hold_copies: the states of the copies in these mailboxes of these accounts that are still the claim's
-- takes: identity digest accounts mailboxes claim
-- gives: state transaction
SELECT c.state, 0 FROM message m JOIN copy c ON c.message = m.id
WHERE m.identity = :identity AND m.digest = :digest AND c.claim = :claim
AND c.account IN (:accounts) AND c.mailbox IN (:mailboxes)
