-- server_set_out:
UPDATE server SET tried_at = @now@ WHERE server = :server AND tried_at NOT BETWEEN @ago(:refused_ms)@ AND @soon@
-- then
SELECT 1 FROM DUAL WHERE ROW_COUNT() > 0
