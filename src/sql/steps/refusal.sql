-- refusal_read: which of these accounts had their login refused, how often in a row, and how long ago
-- (delivery/login_backoff.h)
-- params: ids
-- columns: id refusals age_ms wait_ms reason
SELECT id, refusals, @age_ms(refused_at)@, wait_ms, reason FROM @schema@.refusal WHERE id @in(:ids::text)@ AND refusals > 0

-- refusal_record: records another refusal
-- params: id server account refusals wait_ms reason
INSERT INTO @schema@.refusal (id, server, account, refusals, refused_at, wait_ms, reason)
VALUES (:id, :server, :account, :refusals, @now@, :wait_ms, :reason)
@or_update(id)@ refusals = @new(refusals)@, refused_at = @new(refused_at)@, wait_ms = @new(wait_ms)@, reason = @new(reason)@

-- refusal_forget: records that the login succeeded. Deliveries may not delete rows; purge does
-- params: id
UPDATE @schema@.refusal SET refusals = 0 WHERE id = :id

-- delete_refusals: deletes refusals that do not count
DELETE FROM @schema@.refusal WHERE refused_at < @ago(86400000)@
