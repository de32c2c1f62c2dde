-- record_message: records a message, unless another delivery has
-- params: identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO @schema@.message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
VALUES (:identity, :digest, :lock_key, :message_id, :sender, :from, :subject, :date * 1000000,
:size, :in_reply_to, :references, :received_at * 1000000) ON CONFLICT DO NOTHING

-- record_addresses: records the addresses of its header; the lists are columns of the table
-- params: identity digest roles positions groups:content names:content addresses
INSERT INTO @schema@.address (message, role, position, "group", name, address)
SELECT m.id, r.value, :positions ->> r.key, :groups ->> r.key, :names ->> r.key, :addresses ->> r.key
FROM @schema@.message m CROSS JOIN json_each(:roles) r WHERE m.identity = :identity AND m.digest = :digest
ON CONFLICT DO NOTHING

-- record_part: records one of its parts
-- params: identity digest path type charset disposition filename:content size sha256 content:content
INSERT INTO @schema@.part (message, path, type, charset, disposition, filename, size, sha256, text)
SELECT id, :path, :type, :charset, :disposition, :filename, :size, :sha256, :content
FROM @schema@.message WHERE identity = :identity AND digest = :digest ON CONFLICT DO NOTHING

-- record_raw: records a piece of its bytes
-- params: identity digest chunk data
INSERT INTO @schema@.raw (message, chunk, data) SELECT id, :chunk, :data
FROM @schema@.message WHERE identity = :identity AND digest = :digest ON CONFLICT DO NOTHING
