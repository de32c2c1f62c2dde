-- file_damage:
SELECT integrity_check FROM pragma_integrity_check WHERE integrity_check <> 'ok'
UNION ALL SELECT 'a row of table ' || "table" || ' belongs to one of table ' || parent || ' that is missing'
FROM pragma_foreign_key_check
