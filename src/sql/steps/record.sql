-- record_message: records a message, unless another delivery has
-- params: identity digest lock_key message_id sender from subject:content date size in_reply_to references received_at
INSERT INTO @schema@.message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
VALUES (:identity, :digest, :lock_key, :message_id, :sender, :from, :subject, @of_seconds(:date)@,
:size, :in_reply_to, :references, @of_seconds(:received_at)@) ON CONFLICT DO NOTHING

-- record_addresses: records the addresses of its header; the lists are columns of the table
-- params: identity digest roles positions groups:content names:content addresses

-- record_part: records one of its parts
-- params: identity digest path type charset disposition filename:content size sha256 content:content
INSERT INTO @schema@.part (message, path, type, charset, disposition, filename, size, sha256, text)
SELECT id, :path::text, :type::text, :charset::text, :disposition::text, :filename::text, :size::bigint, :sha256::bytea,
:content::text
FROM @schema@.message WHERE identity = :identity AND digest = :digest @if_may_claim@ ON CONFLICT DO NOTHING

-- record_raw: records a piece of its bytes
-- params: identity digest chunk data
INSERT INTO @schema@.raw (message, chunk, data) SELECT id, :chunk::integer, :data::bytea
FROM @schema@.message WHERE identity = :identity AND digest = :digest @if_may_claim@ ON CONFLICT DO NOTHING
