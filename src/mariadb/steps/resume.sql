-- word is_whole: the message of a delivery d is known to be complete
EXISTS (SELECT 1 FROM delivery w WHERE w.message = d.message AND w.whole)

-- word has_bytes: its bytes are recorded
EXISTS (SELECT 1 FROM raw r WHERE r.message = d.message AND r.chunk = 0)

-- unfinished_ids: the next messages that can be finished from the record
-- takes: after most
-- gives: message
SELECT DISTINCT d.message FROM delivery d WHERE d.finished_at IS NULL AND d.message > :after
AND @is_whole@ AND @has_bytes@ ORDER BY d.message LIMIT :most

-- unfinished_others: how many unfinished messages cannot
-- gives: messages
SELECT count(DISTINCT d.message) FROM delivery d WHERE d.finished_at IS NULL AND NOT (@is_whole@ AND @has_bytes@)

-- unfinished_read: one row for each unfinished delivery of a message; each row has the message's columns
-- takes: message
-- gives: message_id sender queue_id digest sent_account sent_mailbox recipient original
SELECT m.message_id, m.sender, d.queue_id, lower(hex(m.digest)), s.account, s.mailbox, d.recipient, d.original_recipient
FROM message m CROSS JOIN delivery d ON d.message = m.id
LEFT JOIN copy s ON s.id = (SELECT max(id) FROM copy WHERE message = :message AND role = 'sent')
WHERE m.id = :message AND d.finished_at IS NULL ORDER BY d.id

-- raw_chunk: a piece of a message's recorded bytes
-- takes: message chunk
-- gives: data
SELECT data FROM raw WHERE message = :message AND chunk = :chunk
