-- why_copies: a message's copies, and when others may claim them
-- takes: message hold_off_ms
-- gives: id account mailbox state doubt:truth claim host pid attempt_at free_at is_free:truth stored_at stored_us error repeated
SELECT c.id, c.account, c.mailbox, c.state, c.doubt, c.claim, c.host, c.pid, @utc(c.attempt_at)@,
@utc(@hold_off_ends(c.attempt_at)@)@, @hold_off_ends(c.attempt_at)@ <= @now@,
@utc(c.stored_at)@, @us(c.stored_at)@, c.error, c.repeated
FROM copy c WHERE c.message = :message ORDER BY c.id

-- why_tries: its attempts, those of a delivery together, in order of time
-- takes: message
-- gives: delivery recipient account mailbox queue_id claim at at_us has_ended:truth outcome reason queued_ms read_ms lock_ms
-- gives: database_ms imap_ms
SELECT t.delivery, d.recipient, d.account, d.mailbox, t.queue_id, t.claim, @utc(t.started_at)@, @us(t.started_at)@,
t.ended_at IS NOT NULL, t.outcome, t.reason, TIMESTAMPDIFF(MICROSECOND, t.queued_at, t.started_at) DIV 1000,
t.read_ms, t.lock_ms, t.database_ms, t.imap_ms
FROM delivery d CROSS JOIN try t ON t.delivery = d.id
WHERE d.message = :message ORDER BY t.delivery, t.started_at, t.claim

-- why_deliveries: its deliveries
-- takes: message
-- gives: id recipient outcome last_at is_finished:truth finished_at finished_us is_whole:truth
SELECT d.id, d.recipient, d.outcome, @utc(d.last_at)@, d.finished_at IS NOT NULL, @utc(d.finished_at)@, @us(d.finished_at)@, d.whole
FROM delivery d WHERE d.message = :message ORDER BY d.id

-- why_others: the other messages with its identity
-- takes: message
-- gives: count first_at
SELECT count(*), min(@utc(o.received_at)@) FROM message m
CROSS JOIN message o ON o.identity = m.identity AND o.id <> m.id WHERE m.id = :message
