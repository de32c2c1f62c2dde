-- Of a ledger that is a file.

-- file_damage: reports what is wrong with the file, line by line
-- columns: text
