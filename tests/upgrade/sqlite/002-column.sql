-- oncedrop's ledger in SQLite, version 2, in tests: the column that base.sed has removed.

ALTER TABLE @schema@.copy ADD COLUMN host_us INTEGER;
