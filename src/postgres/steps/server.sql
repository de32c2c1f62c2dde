-- server_read: what is known about an IMAP server, and whether it is time to look again. What was found good is valid for
-- honoured_ms, what was not for refused_ms
-- takes: server honoured_ms refused_ms
-- gives: honoured:truth look:truth
SELECT honoured,
(honoured AND checked_at < @ago(:honoured_ms)@ OR NOT honoured AND checked_at < @ago(:refused_ms)@) AND
tried_at < @ago(:refused_ms)@ FROM @schema@.server WHERE server = :server

-- server_set_out: claims that look; a row, if nobody else did first
-- takes: server refused_ms
UPDATE @schema@.server SET tried_at = @now@ WHERE server = :server AND tried_at < @ago(:refused_ms)@ RETURNING 1

-- server_record: what was found
-- takes: server honoured
INSERT INTO @schema@.server AS s (server, honoured, checked_at, tried_at) VALUES (:server, :honoured, @now@, @now@)
ON CONFLICT (server) DO UPDATE SET honoured = EXCLUDED.honoured, checked_at = EXCLUDED.checked_at,
tried_at = EXCLUDED.tried_at
