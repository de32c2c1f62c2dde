-- oldest:
SELECT @utc(received_at)@ AS received_at FROM @schema@.message
ORDER BY message.received_at LIMIT 1
