-- Existing rows stay unchanged. IGNORE would also ignore values that do not fit.

-- record_message:
INSERT INTO message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
VALUES (:identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @of_seconds(:date)@,
:size, :in_reply_to, :references, @of_seconds(:received_at)@) ON DUPLICATE KEY UPDATE id = LAST_INSERT_ID(message.id)
-- then
SET @message = LAST_INSERT_ID()

-- record_addresses:
INSERT INTO address (message, role, "position", "group", name, address)
VALUES (@message, :roles, :positions, :groups, :names, :addresses)
ON DUPLICATE KEY UPDATE "group" = address."group"

-- record_part:
INSERT INTO part (message, path, type, charset, disposition, filename, size, sha256, text)
VALUES (@message, :path, :type, :charset, :disposition, :filename, :size, :sha256, :content) ON DUPLICATE KEY UPDATE charset = part.charset

-- record_raw:
INSERT INTO raw (message, chunk, data) VALUES (@message, :chunk, :data) ON DUPLICATE KEY UPDATE chunk = raw.chunk
