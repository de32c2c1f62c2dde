-- state_message: the hosts' lock method, and since when the message is known
-- params: identity digest
-- columns: method received_at
SELECT a.lock_method, @us(m.received_at)@ @div@ 1000000 FROM @schema@.setting a
LEFT JOIN @schema@.message m ON m.identity = :identity AND m.digest = :digest

-- state_variants: a row of each kind if a variant (other content with this identity) has a Sent copy in this mailbox, or
-- one that may still be stored, such as one that expired while its APPEND was in doubt
-- params: identity digest account mailbox hold_off_ms host boot running_us wall_us
-- columns: under_way:bool ahead:bool
SELECT DISTINCT c.state <> 'stored', c.state <> 'stored' AND c.claimed_at > @now@
FROM @schema@.message m @join@ @schema@.copy c ON c.message = m.id
WHERE m.identity = :identity AND m.digest <> :digest AND c.account = :account AND c.mailbox = :mailbox AND c.role = 'sent'
AND (c.state = 'stored' OR (c.state = 'appending' OR c.state = 'failed' AND c.doubt)
AND @in_hold_off@)

-- state_copies: the message's copies in all mailboxes of these accounts. recorded_today: the owner's delivery also says that the
-- copy is there and that the message was complete (resume needs that), and is less than a day old; one more attempt
-- would delay purge by at most that day
-- params: identity digest accounts host boot running_us wall_us
-- columns: account mailbox state doubt:bool generation claim_age_ms first_age_ms owner owner_finished:bool uidvalidity uid role
-- columns: recorded_today:bool
SELECT c.account, c.mailbox, c.state, c.doubt, c.generation, @claim_age_ms@, @first_age_ms@,
d.recipient, d.finished_at IS NOT NULL, c.uidvalidity, c.uid, c.role,
d.complete AND d.finished_at > @ago(86400000)@ AND d.outcome IN ('stored', 'duplicate')
AND d.account = c.account AND d.mailbox = c.mailbox
FROM @schema@.message m @join@ @schema@.copy c ON c.message = m.id @join@ @schema@.delivery d ON d.id = c.claimed_by
WHERE m.identity = :identity AND m.digest = :digest AND c.account @in(:accounts::text)@

-- macro ahead_us: microseconds by which a moment is in the future
@greatest@(@us({})@ - @us(@now@)@, 0)

-- end_ahead: sets claims whose time is in the future to the present, so that their hold-off ends one hold-off from now.
-- With identity: those of a message and its variants; without: all. By the other clocks their age does not change. MariaDB assigns
-- from left to right
-- params: identity
UPDATE @schema@.copy SET boot_us = boot_us - @ahead_us(claimed_at)@, host_us = host_us - @ahead_us(claimed_at)@,
claimed_at = @least@(claimed_at, @now@), first_at = @least@(first_at, @now@)
WHERE state <> 'stored' AND (claimed_at > @now@ OR first_at > @now@)
AND message IN (SELECT m.id FROM @schema@.message m WHERE m.identity = :identity) -- if identity
