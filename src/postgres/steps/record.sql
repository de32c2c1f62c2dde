-- record_addresses:
INSERT INTO @schema@.address (message, role, position, "group", name, address)
SELECT m.id, a.role, a.position::integer, a."group", a.name, a.address
FROM @schema@.message m, unnest(:roles::text[], :positions::text[], :groups::text[], :names::text[], :addresses::text[])
AS a(role, position, "group", name, address) WHERE m.identity = :identity AND m.digest = :digest
ON CONFLICT DO NOTHING
