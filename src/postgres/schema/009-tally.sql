-- oncedrop schema, version 9: what `stats` counts and what a delivery writes do not grow with the ledger.

-- Every delivery begins with this table: now none is under way that has one of the tables below and waits for another.
LOCK TABLE @schema@.message IN ACCESS EXCLUSIVE MODE;

-- One row. Purge and stats add up here what is over an hour old; the rest is counted when somebody asks.
CREATE TABLE @schema@.tally (
    last_message bigint NOT NULL,
    messages     bigint NOT NULL,
    bytes        bigint NOT NULL,
    last_copy    bigint NOT NULL,
    copies       bigint NOT NULL
);
INSERT INTO @schema@.tally VALUES (0, 0, 0, 0, 0);
COMMENT ON TABLE @schema@.tally IS 'How many rows there are of those that were counted before; one row';
COMMENT ON COLUMN @schema@.tally.last_message IS 'Messages up to this number are counted';
COMMENT ON COLUMN @schema@.tally.messages IS 'How many of these there are';
COMMENT ON COLUMN @schema@.tally.bytes IS 'Sum of their sizes';
COMMENT ON COLUMN @schema@.tally.last_copy IS 'Copies up to this number are counted';
COMMENT ON COLUMN @schema@.tally.copies IS 'How many of these there are';

-- Purge subtracts what it deletes, and says so by this setting. What is deleted by other means is not known: all is
-- counted anew.
CREATE FUNCTION @schema@.forget_tally() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.current_setting('oncedrop.subtracts', true) IS DISTINCT FROM 'yes' THEN
        UPDATE @schema@.tally SET last_message = 0, messages = 0, bytes = 0, last_copy = 0, copies = 0;
    END IF;
    RETURN NULL;
END $$;
COMMENT ON FUNCTION @schema@.forget_tally() IS 'After messages were deleted: table tally does not hold any more';
CREATE TRIGGER forget_tally AFTER DELETE OR TRUNCATE ON @schema@.message
    FOR EACH STATEMENT EXECUTE FUNCTION @schema@.forget_tally();

COMMENT ON TABLE @schema@.event IS 'What is counted and leaves no other trace; purge and stats add up in table total what is older than an hour, and remove it';
COMMENT ON TABLE @schema@.total IS 'Counts of what is not in the other tables any more, or is older than an hour: purge and stats add it up here. See oncedrop stats --prometheus for the sums';

-- One index for all copies that are not stored, which are few, instead of three.
CREATE INDEX copy_not_stored ON @schema@.copy (state, id) WHERE state <> 'stored';
DROP INDEX @schema@.copy_unfinished, @schema@.copy_failed, @schema@.copy_abandoned;
CREATE INDEX delivery_duplicate ON @schema@.delivery (id) WHERE outcome = 'duplicate';

-- Nothing reads these. The first was written twice by each delivery; the key of the second is the beginning of the unique
-- index on identity, which is searched instead, and each of its rows was on another page.
DROP INDEX @schema@.delivery_last_at, @schema@.message_lock_key;

-- A try is updated once, at its end, and no index knows of that: with room on its page the update writes no index (of 50
-- recipients' tries, 86 of 100 instead of 28). The state of a copy and the end of a delivery are what indexes are for.
ALTER TABLE @schema@.try SET (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);

-- Each delivery leaves a dead row in these two. The default lets a fifth of the table die first.
ALTER TABLE @schema@.delivery SET (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE @schema@.copy SET (autovacuum_vacuum_scale_factor = 0.05);

DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = @operator_text@) THEN
        GRANT SELECT, UPDATE ON @schema@.tally TO @operator@;
    END IF;
END $$;
