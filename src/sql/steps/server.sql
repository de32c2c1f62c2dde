-- macro soon: a recorded time after this is from a clock that was ahead. One before it may be another delivery's: in MariaDB the
-- present is the start of a statement, which may have waited for a statement that started later
(@now@ + @ms(:refused_ms)@)

-- macro is_verified: a row of table server has a good result that is still valid
verified AND checked_at BETWEEN @ago(:verified_ms)@ AND @soon@

-- server_read: what is known of an IMAP server, and whether verification is due. A good result is valid for
-- verified_ms, a bad one for refused_ms, and one from a clock that was ahead is not
-- params: server verified_ms refused_ms
-- columns: verified:bool due:bool
SELECT verified,
(verified AND NOT (@is_verified@) OR NOT verified AND checked_at NOT BETWEEN @ago(:refused_ms)@ AND @soon@)
AND tried_at NOT BETWEEN @ago(:refused_ms)@ AND @soon@ FROM @schema@.server WHERE server = :server

-- server_set_out: claims the verification; a row, unless another delivery was first
-- params: server refused_ms
UPDATE @schema@.server SET tried_at = @now@ WHERE server = :server AND tried_at NOT BETWEEN @ago(:refused_ms)@ AND @soon@ RETURNING 1

-- server_record: records the result
-- params: server verified
INSERT INTO @schema@.server (server, verified, checked_at, tried_at) VALUES (:server, :verified, @now@, @now@)
@or_update(server)@ verified = @new(verified)@, checked_at = @new(checked_at)@, tried_at = @new(tried_at)@
