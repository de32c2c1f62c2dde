-- record_message:
INSERT INTO @schema@.message (identity, digest, lock_key, message_id, sender, "from", subject, date,
size, in_reply_to, "references", received_at)
SELECT :identity::bytea, :digest::bytea, :lock_key::bigint, :message_id::text, :sender::text, :from::text, :subject::text,
@of_seconds(:date)@, :size::bigint, :in_reply_to::text, :references::text[], @of_seconds(:received_at)@
WHERE TRUE @if_may_claim@ ON CONFLICT DO NOTHING

-- record_addresses:
INSERT INTO @schema@.address (message, role, position, "group", name, address)
SELECT m.id, a.role, a.position::integer, a."group", a.name, a.address
FROM @schema@.message m, unnest(:roles::text[], :positions::text[], :groups::text[], :names::text[], :addresses::text[])
AS a(role, position, "group", name, address) WHERE m.identity = :identity AND m.digest = :digest @if_may_claim@
ON CONFLICT DO NOTHING
