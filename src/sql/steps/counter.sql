-- macro counted_until: the moment that separates attempts counted from their rows from those added up before
coalesce((SELECT @moment(value)@ FROM @schema@.counter_bucket WHERE name = 'counted_until'), @moment(0)@)

-- macro counted_tries: attempts t of deliveries d, as counted (outcomes.awk). If an outcome can mean both deferral and bounce, it
-- counts as a bounce in the attempt that finished the delivery
SELECT t.outcome, CASE WHEN t.outcome = 'claimed' THEN 'died'
WHEN t.outcome IN (@good_outcomes@) THEN t.outcome WHEN t.outcome IN (@bounced_outcomes@)
OR t.outcome IN (@maybe_bounced_outcomes@) AND t.ended_at >= d.finished_at THEN 'bounced'
ELSE 'deferred' END AS status, t.read_ms, t.lock_ms, t.database_ms, t.imap_ms, CASE WHEN t.outcome IN (@stored_outcomes@)
AND t.queued_at IS NOT NULL THEN @greatest@(coalesce((@us(t.ended_at)@ - @us(t.queued_at)@ + 500) @div@ 1000, 0), 0) END
AS delay_ms
FROM @schema@.attempt t @join@ @schema@.delivery d ON d.id = t.delivery

-- macro is_over: whether an attempt cannot change: its process has settled all its claims, or has certainly died
(t.outcome <> 'claimed' AND t.claim NOT IN (SELECT claim FROM @schema@.copy WHERE @not_stored@ state = 'appending')
OR t.outcome = 'claimed' AND t.started_at < @ago(3600000)@)

-- macro le: the upper bound of the histogram bucket for a time in milliseconds; 0: it is above all
CASE WHEN {} IS NULL THEN NULL WHEN {} <= 5 THEN 5 WHEN {} <= 10 THEN 10 WHEN {} <= 25 THEN 25 WHEN {} <= 50 THEN 50
WHEN {} <= 100 THEN 100 WHEN {} <= 250 THEN 250 WHEN {} <= 500 THEN 500 WHEN {} <= 1000 THEN 1000 WHEN {} <= 2500 THEN 2500
WHEN {} <= 5000 THEN 5000 WHEN {} <= 10000 THEN 10000 WHEN {} <= 30000 THEN 30000 WHEN {} <= 60000 THEN 60000
WHEN {} <= 300000 THEN 300000 WHEN {} <= 1800000 THEN 1800000 WHEN {} <= 7200000 THEN 7200000 ELSE 0 END

-- macro kinds: kinds of events, and what they count as
('busy', 'deliveries', 'deferred'), ('busy', 'deferrals', 'busy'), ('search', 'searches', '')

-- macro zeros: counters that are present even if zero
('deliveries', 'stored'), ('deliveries', 'quarantined'), ('deliveries', 'duplicate'), ('deliveries', 'deferred'),
('deliveries', 'bounced'), ('deliveries', 'died'), ('deferrals', 'busy'), ('deferrals', 'database'), ('deferrals', 'mailbox'),
('deferrals', 'overquota'), ('deferrals', 'refused'), ('deferrals', 'tempfail'), ('searches', ''), ('phase_ms', 'read'),
('phase_ms', 'lock'), ('phase_ms', 'database'), ('phase_ms', 'imap'), ('delay_ms', '')

-- macro histograms: those that are present with all their buckets
('phase', 'read'), ('phase', 'lock'), ('phase', 'database'), ('phase', 'imap'), ('delay', '')

-- counters: counters that never decrease
-- columns: name label le value

-- lock_counter_buckets: ensures that the moment has a row, and locks it, so that only one process at a time adds up
INSERT INTO @schema@.counter_bucket (name, label, le, value) VALUES ('counted_until', '', 0, 0)
@or_update(name, label, le)@ value = counter_bucket.value

-- lock_counter: keeps counting and deleting from overlapping
@nothing@

-- count_rows: counts messages and copies. No transaction lasts an hour: rows with ids before that of a row an hour old
-- exist by now, or never will

-- read_tries: prepares count_tries, if that would make other sessions wait
@nothing@

-- count_tries: adds up attempts older than an hour. If they are counted until a moment in the future, since the clock
-- was ahead, counting goes on from now

-- counter_is_due: a row if there is much to add up, and that was not done lately
SELECT 1 FROM @schema@.counter t WHERE (SELECT max(id) FROM @schema@.message) > t.last_message + 20000
AND @counted_until@ NOT BETWEEN @ago(7200000)@ AND @now@
