-- schema_installed:
SELECT count(*) FROM @schema@.sqlite_schema WHERE type = 'table' AND name = 'schema_version'

-- schema_unfit:
SELECT 'the encoding of this file is ' || encoding || ', but must be UTF-8: create another one' FROM pragma_encoding
WHERE encoding <> 'UTF-8'

-- schema_agree:
UPDATE @schema@.setting SET lock_method = :method RETURNING lock_method
