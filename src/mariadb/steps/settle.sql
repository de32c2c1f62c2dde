-- settle_copy: records the result of a copy, if it is still this attempt's; otherwise it changes no row
-- takes: identity digest account mailbox attempt claim state doubt uidvalidity uid error
UPDATE message m JOIN copy c ON c.message = m.id AND c.account = :account AND c.mailbox = :mailbox
SET c.state = :state, c.doubt = :doubt, c.uidvalidity = :uidvalidity, c.uid = :uid,
c.error = :error, c.stored_at = CASE WHEN :state = 'stored' THEN @now@ END
WHERE m.identity = :identity AND m.digest = :digest AND c.attempt = :attempt AND c.claim = :claim

-- settle_variants: the Sent copies that were claimed for other content with this identity, but never stored
-- takes: identity digest account mailbox uidvalidity uid
UPDATE message m JOIN copy c ON c.message = m.id AND c.account = :account AND c.mailbox = :mailbox
SET c.state = 'stored', c.doubt = FALSE, c.uidvalidity = :uidvalidity, c.uid = :uid, c.error = NULL,
c.stored_at = @now@
WHERE m.identity = :identity AND m.digest <> :digest AND c.role = 'sent' AND c.state IN ('pending', 'appending')

-- settle_answer: updates the delivery and our own try; a delivery that has taken over has a row of its own
-- takes: identity digest recipient outcome reason is_finished is_whole claim read_ms lock_ms database_ms imap_ms
UPDATE message m JOIN delivery d ON d.message = m.id AND d.recipient = :recipient
SET d.outcome = :outcome, d.reason = :reason, d.last_at = @now@,
d.finished_at = CASE WHEN :is_finished THEN coalesce(d.finished_at, @now@) ELSE d.finished_at END,
d.whole = d.whole OR :is_whole
WHERE m.identity = :identity AND m.digest = :digest
-- then
UPDATE message m JOIN delivery d ON d.message = m.id AND d.recipient = :recipient
JOIN try t ON t.delivery = d.id AND t.claim = :claim
SET t.outcome = :outcome, t.reason = :reason, t.ended_at = CASE WHEN :outcome <> 'claimed' THEN @now@ END,
t.read_ms = :read_ms, t.lock_ms = :lock_ms, t.database_ms = :database_ms, t.imap_ms = :imap_ms
WHERE m.identity = :identity AND m.digest = :digest

-- notify: tells nobody: MariaDB has no channels, and record.notify is refused
-- takes: identity digest channel
DO 0
