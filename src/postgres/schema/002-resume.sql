-- oncedrop schema, version 2: what `resume` and `replay` need to know.

ALTER TABLE @schema@.delivery ADD COLUMN whole boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN @schema@.delivery.whole IS 'The message is known to have been read to its end: a pipe from Postfix may be cut without a mark. Only such a message is resumed';

ALTER TABLE @schema@.copy ADD COLUMN repeated integer NOT NULL DEFAULT 0;
COMMENT ON COLUMN @schema@.copy.repeated IS 'How often it was claimed again on purpose although it was stored (replay --force, --verify)';

-- `resume` reads unfinished deliveries in the order of their messages.
CREATE INDEX delivery_unfinished_message ON @schema@.delivery (message) WHERE finished_at IS NULL;
DROP INDEX @schema@.delivery_unfinished;
