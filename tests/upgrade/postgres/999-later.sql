-- oncedrop schema, a version later than any, in tests: another column wherever an older program writes.

ALTER TABLE @schema@.message ADD COLUMN later text;
ALTER TABLE @schema@.address ADD COLUMN later text;
ALTER TABLE @schema@.part ADD COLUMN later text;
ALTER TABLE @schema@.raw ADD COLUMN later text;
ALTER TABLE @schema@.delivery ADD COLUMN later text;
ALTER TABLE @schema@.attempt ADD COLUMN later text;
ALTER TABLE @schema@.copy ADD COLUMN later text;
ALTER TABLE @schema@.feed ADD COLUMN later text;
ALTER TABLE @schema@.server ADD COLUMN later text;
ALTER TABLE @schema@.refusal ADD COLUMN later text;
ALTER TABLE @schema@.event ADD COLUMN later text;
ALTER TABLE @schema@.counter_bucket ADD COLUMN later text;
ALTER TABLE @schema@.counter ADD COLUMN later text;
ALTER TABLE @schema@.setting ADD COLUMN later text;
ALTER TABLE @schema@.lease ADD COLUMN later text;
