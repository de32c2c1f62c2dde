-- The assignments of ON DUPLICATE KEY UPDATE take the server as long as the rest of the statement, even if there is no
-- such row.

-- reply: the first statement counts the attempts, so that the last updates only a delivery that existed before, as it
-- may if the message was known
INSERT INTO delivery (message, recipient, original_recipient, account, mailbox,
queue_id, host, outcome, reason, first_at, last_at, finished_at, complete)
VALUES (@message, :recipient, :original, :account, :mailbox, :queue_id, :host,
:outcome, :reason, @now@, @now@, CASE WHEN :is_finished THEN @now@ END, :is_complete)
ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(delivery.id), attempts = delivery.attempts + 1
-- then
SET @delivery = LAST_INSERT_ID()
-- then
INSERT INTO attempt (delivery, claim, started_at, ended_at, queue_id, queued_at, host, pid, outcome, reason,
read_ms, lock_ms, database_ms, imap_ms
, trace_id, span_id -- if trace
) VALUES (@delivery, :claim, @ago(:read_ms + :lock_ms + :database_ms + :imap_ms)@,
CASE WHEN :outcome <> 'claimed' THEN @now@ END, :queue_id, @of_seconds(:queued_at)@, :host, :pid, :outcome, :reason,
:read_ms, :lock_ms, :database_ms, :imap_ms
, substr(unhex(sha2(concat(:identity, :digest), 256)), 1, 16), -- if trace
substr(unhex(sha2(concat(:claim, :recipient), 256)), 1, 8) -- if trace
) ON DUPLICATE KEY UPDATE outcome = attempt.outcome
-- then
UPDATE delivery SET -- if known
finished_at = coalesce(CASE WHEN outcome <> 'expired' THEN finished_at END, CASE WHEN :is_finished THEN @now@ END), -- if known
original_recipient = coalesce(:original, original_recipient), account = :account, mailbox = :mailbox, -- if known
queue_id = coalesce(:queue_id, queue_id), host = :host, outcome = :outcome, reason = :reason, -- if known
last_at = @now@, complete = complete OR :is_complete WHERE id = @delivery AND attempts > 1 -- if known

-- claim_copy:
INSERT INTO copy (message, account, mailbox, role, state, doubt, claim, claimed_by, host, pid, first_at, claimed_at,
boot, boot_us, host_us)
SELECT @message, :account, :mailbox, :role, 'appending', :doubt, :claim, @delivery, :host, :pid, @now@, @now@,
:boot, @us(@now@)@ - :running_us, @us(@now@)@ - :wall_us
FROM DUAL WHERE @delivery IS NOT NULL ON DUPLICATE KEY UPDATE message = copy.message
-- then
UPDATE copy SET repeated = repeated + :again, state = 'appending', doubt = :doubt, generation = generation + 1, -- if attempt_before
claimed_at = @now@, boot = :boot, boot_us = @us(@now@)@ - :running_us, host_us = @us(@now@)@ - :wall_us, -- if attempt_before
claim = :claim, claimed_by = @delivery, host = :host, pid = :pid, error = NULL -- if attempt_before
WHERE message = @message AND account = :account AND mailbox = :mailbox AND generation = :attempt_before -- if attempt_before
AND (state = 'stored') = :again AND @delivery IS NOT NULL -- if attempt_before

-- hold_copies:
SELECT state, 0 FROM copy
WHERE message = @message AND claim = :claim AND account IN (:accounts) AND mailbox IN (:mailboxes)
