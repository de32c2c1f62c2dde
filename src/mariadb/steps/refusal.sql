-- refusal_read: which of these accounts had their login refused, how often in a row, and how long ago
-- (delivery/login_backoff.h)
-- params: ids
-- columns: id refusals age_ms wait_ms reason
SELECT id, refusals, @age_ms(refused_at)@, wait_ms, reason FROM refusal WHERE id IN (:ids) AND refusals > 0

-- refusal_record: records another refusal
-- params: id server account refusals wait_ms reason
INSERT INTO refusal (id, server, account, refusals, refused_at, wait_ms, reason)
VALUES (:id, :server, :account, :refusals, @now@, :wait_ms, :reason)
ON DUPLICATE KEY UPDATE refusals = VALUES(refusals), refused_at = VALUES(refused_at), wait_ms = VALUES(wait_ms),
reason = VALUES(reason)

-- refusal_forget: records that the login succeeded. Deliveries may not delete rows; purge does
-- params: id
UPDATE refusal SET refusals = 0 WHERE id = :id

-- delete_refusals: deletes refusals that do not count
DELETE FROM refusal WHERE refused_at < @ago(86400000)@
