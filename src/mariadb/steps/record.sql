-- What is there already stays as it is: IGNORE would also ignore that something does not fit.

-- record_message: records a message, unless another delivery has
-- takes: identity digest lock_key message_id sender from subject date size in_reply_to references received_at
INSERT INTO message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
VALUES (:identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @of_seconds(:date)@,
:size, :in_reply_to, :references, @of_seconds(:received_at)@) ON DUPLICATE KEY UPDATE lock_key = message.lock_key

-- record_addresses: the addresses of its header; the lists are columns of the table
-- takes: identity digest roles positions groups names addresses
INSERT INTO address (message, role, "position", "group", name, address)
WITH a (role, place, "group", name, address) AS (VALUES (:roles, :positions, :groups, :names, :addresses))
SELECT m.id, a.role, CAST(a.place AS INTEGER), a."group", a.name, a.address
FROM message m CROSS JOIN a WHERE m.identity = :identity AND m.digest = :digest
ON DUPLICATE KEY UPDATE "group" = address."group"

-- record_part: one of its parts
-- takes: identity digest path type charset disposition filename size sha256 content
INSERT INTO part (message, path, type, charset, disposition, filename, size, sha256, text)
SELECT id, :path, :type, :charset, :disposition, :filename, :size, :sha256, :content
FROM message WHERE identity = :identity AND digest = :digest ON DUPLICATE KEY UPDATE charset = part.charset

-- record_raw: a piece of its bytes
-- takes: identity digest chunk data
INSERT INTO raw (message, chunk, data) SELECT id, :chunk, :data
FROM message WHERE identity = :identity AND digest = :digest ON DUPLICATE KEY UPDATE chunk = raw.chunk
