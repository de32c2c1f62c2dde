-- macro restorable: whether a copy c was stored, or was to be stored again
(c.state = 'stored' OR c.repeated > 0 AND c.state IN ('pending', 'appending', 'failed'))

-- macro is_complete: whether the message of a delivery d is known to be complete
EXISTS (SELECT 1 FROM @schema@.delivery w WHERE w.message = d.message AND w.complete)

-- macro has_bytes: whether its bytes are recorded
EXISTS (SELECT 1 FROM @schema@.raw r WHERE r.message = d.message AND r.chunk = 0)

-- unfinished_ids: the next messages that can be finished from the record
-- params: after max
-- columns: message
SELECT DISTINCT d.message FROM @schema@.delivery d WHERE d.finished_at IS NULL AND d.message > :after::bigint
AND @is_complete@ AND @has_bytes@ ORDER BY d.message LIMIT :max::bigint

-- unfinished_others: how many unfinished messages cannot be finished from the record
-- columns: messages
SELECT count(DISTINCT d.message) FROM @schema@.delivery d WHERE d.finished_at IS NULL AND NOT (@is_complete@ AND @has_bytes@)

-- stored_ids: the next messages of which a copy was stored, or was to be stored again, in this account since that time
-- (@ and seconds since 1970)
-- params: after max account since
-- columns: message
SELECT DISTINCT c.message FROM @schema@.copy c WHERE c.message > :after::bigint AND @restorable@
AND c.account = :account -- if account
AND coalesce(c.stored_at, c.claimed_at) >= @seconds_at(:since)@ -- if since
ORDER BY c.message LIMIT :max::bigint

-- recorded_read: a row for each delivery of a message, with the message's columns. unfinished: only unfinished
-- deliveries. stored: only those whose copy was stored, or was to be stored again; this applies to the Sent copy, too
-- params: message unfinished stored
-- columns: message_id sender queue_id digest sent_account sent_mailbox recipient original has_bytes:bool
SELECT m.message_id, m.sender, d.queue_id, @hex(m.digest)@, s.account, s.mailbox, d.recipient,
d.original_recipient, @has_bytes@
FROM @schema@.message m @join@ @schema@.delivery d ON d.message = m.id
LEFT JOIN @schema@.copy s ON s.id = (SELECT max(c.id) FROM @schema@.copy c WHERE c.message = :message::bigint AND c.role = 'sent'
AND @restorable@ -- if stored
)
WHERE m.id = :message::bigint
AND d.finished_at IS NULL -- if unfinished
AND EXISTS (SELECT 1 FROM @schema@.copy c WHERE c.message = d.message AND c.account = d.account AND c.mailbox = d.mailbox -- if stored
AND @restorable@) -- if stored
ORDER BY d.id

-- raw_chunk: a piece of a message's recorded bytes
-- params: message chunk
-- columns: data
SELECT data FROM @schema@.raw WHERE message = :message::bigint AND chunk = :chunk::integer
