-- reply: records the recipient's delivery and this attempt
-- params: identity digest recipient original account mailbox queue_id host outcome reason is_finished is_complete claim pid
-- params: queued_at trace known read_ms lock_ms database_ms imap_ms

-- claim_copy: claims a copy, unless another delivery has claimed it since its state was read
-- params: identity digest account mailbox role doubt claim host pid recipient attempt_before again boot running_us wall_us
INSERT INTO @schema@.copy AS c (message, account, mailbox, role, state, doubt, claim, claimed_by, host, pid,
@since(first_at, claimed_at)@ boot, boot_us, host_us)
SELECT m.id, :account::text, :mailbox::text, :role::text, 'appending', :doubt::boolean, :claim::bigint, d.id,
:host::text, :pid::integer, @since_now@ :boot::bigint, @us(@now@)@ - :running_us::bigint, @us(@now@)@ - :wall_us::bigint
FROM @schema@.message m @join@ @schema@.delivery d ON d.message = m.id
AND d.recipient = :recipient WHERE m.identity = :identity AND m.digest = :digest @if_may_claim@
ON CONFLICT (message, account, mailbox) DO UPDATE SET state = 'appending',
doubt = excluded.doubt, generation = c.generation + 1, claimed_at = excluded.claimed_at,
boot = excluded.boot, boot_us = excluded.boot_us, host_us = excluded.host_us,
claim = excluded.claim, claimed_by = excluded.claimed_by, host = excluded.host,
pid = excluded.pid, error = NULL, repeated = c.repeated + :again::boolean::integer
WHERE c.generation = :attempt_before::integer AND (c.state = 'stored') = :again::boolean

-- hold_copies: reads the states of the claim's copies in these mailboxes of these accounts
-- params: identity digest accounts mailboxes claim
-- columns: state transaction
