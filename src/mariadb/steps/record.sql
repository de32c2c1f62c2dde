-- Existing rows stay unchanged. IGNORE would also ignore values that do not fit.

-- record_message: records a message, unless another delivery has
-- params: identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
VALUES (:identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @of_seconds(:date)@,
:size, :in_reply_to, :references, @of_seconds(:received_at)@) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(message.id)
-- then
SET @message = LAST_INSERT_ID()

-- record_addresses: records the addresses of its header; the lists are columns of the table
-- params: identity digest roles positions groups:content names:content addresses
INSERT INTO address (message, role, "position", "group", name, address)
VALUES (@message, :roles, :positions, :groups, :names, :addresses)
ON DUPLICATE KEY UPDATE "group" = address."group"

-- record_part: records one of its parts
-- params: identity digest path type charset disposition filename:content size sha256 content:content
INSERT INTO part (message, path, type, charset, disposition, filename, size, sha256, text)
VALUES (@message, :path, :type, :charset, :disposition, :filename, :size, :sha256, :content) ON DUPLICATE KEY UPDATE charset = part.charset

-- record_raw: records a piece of its bytes
-- params: identity digest chunk data
INSERT INTO raw (message, chunk, data) VALUES (@message, :chunk, :data) ON DUPLICATE KEY UPDATE chunk = raw.chunk
