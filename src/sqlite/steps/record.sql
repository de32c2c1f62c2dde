-- record_addresses:
INSERT INTO @schema@.address (message, role, position, "group", name, address)
SELECT m.id, r.value, :positions ->> r.key, :groups ->> r.key, :names ->> r.key, :addresses ->> r.key
FROM @schema@.message m CROSS JOIN json_each(:roles) r WHERE m.identity = :identity AND m.digest = :digest
ON CONFLICT DO NOTHING
