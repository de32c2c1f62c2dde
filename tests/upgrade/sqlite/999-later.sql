-- oncedrop's ledger in SQLite, a version later than any, in tests: another column wherever an older program writes.

ALTER TABLE @schema@.message ADD COLUMN later TEXT;
ALTER TABLE @schema@.address ADD COLUMN later TEXT;
ALTER TABLE @schema@.part ADD COLUMN later TEXT;
ALTER TABLE @schema@.raw ADD COLUMN later TEXT;
ALTER TABLE @schema@.delivery ADD COLUMN later TEXT;
ALTER TABLE @schema@.attempt ADD COLUMN later TEXT;
ALTER TABLE @schema@.copy ADD COLUMN later TEXT;
ALTER TABLE @schema@.feed ADD COLUMN later TEXT;
ALTER TABLE @schema@.server ADD COLUMN later TEXT;
ALTER TABLE @schema@.refusal ADD COLUMN later TEXT;
ALTER TABLE @schema@.event ADD COLUMN later TEXT;
ALTER TABLE @schema@.counter_bucket ADD COLUMN later TEXT;
ALTER TABLE @schema@.counter ADD COLUMN later TEXT;
ALTER TABLE @schema@.setting ADD COLUMN later TEXT;
