-- explain_copies: a message's copies, and when others may claim them
-- params: message hold_off_ms
-- columns: id account mailbox state doubt:bool claim host pid claimed_at free_at is_free:bool stored_at stored_us error repeated
SELECT c.id, c.account, c.mailbox, c.state, c.doubt, c.claim, c.host, c.pid, @utc(c.claimed_at)@,
@utc(@hold_off_ends(c.claimed_at)@)@, @hold_off_ends(c.claimed_at)@ <= @now@,
@utc(c.stored_at)@, @us(c.stored_at)@, c.error, c.repeated
FROM @schema@.copy c WHERE c.message = :message::bigint ORDER BY c.id

-- explain_attempts: its attempts, those of a delivery together, in order of time
-- params: message
-- columns: delivery recipient account mailbox queue_id claim at at_us has_ended:bool outcome reason queued_ms read_ms lock_ms
-- columns: database_ms imap_ms
SELECT t.delivery, d.recipient, d.account, d.mailbox, t.queue_id, t.claim, @utc(t.started_at)@, @us(t.started_at)@,
t.ended_at IS NOT NULL, t.outcome, t.reason, @round((@us(t.started_at)@ - @us(t.queued_at)@) / 1000.0)@,
t.read_ms, t.lock_ms, t.database_ms, t.imap_ms
FROM @schema@.delivery d @join@ @schema@.attempt t ON t.delivery = d.id
WHERE d.message = :message::bigint ORDER BY t.delivery, t.started_at, t.claim

-- explain_deliveries: its deliveries
-- params: message
-- columns: id recipient outcome last_at is_finished:bool finished_at finished_us is_complete:bool
SELECT d.id, d.recipient, d.outcome, @utc(d.last_at)@, d.finished_at IS NOT NULL, @utc(d.finished_at)@, @us(d.finished_at)@, d.complete
FROM @schema@.delivery d WHERE d.message = :message::bigint ORDER BY d.id

-- explain_others: the other messages with its identity
-- params: message
-- columns: count first_at
SELECT count(*), min(@utc(o.received_at)@) FROM @schema@.message m
@join@ @schema@.message o ON o.identity = m.identity AND o.id <> m.id WHERE m.id = :message::bigint
