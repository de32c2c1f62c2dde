-- oncedrop schema, version 8: what Postfix gave up, or an administrator removed from its queue, is not unfinished for ever.

ALTER TABLE @schema@.copy DROP CONSTRAINT copy_state_check;
ALTER TABLE @schema@.copy ADD CONSTRAINT copy_state_check
    CHECK (state IN ('pending', 'appending', 'stored', 'failed', 'abandoned'));
CREATE INDEX copy_abandoned ON @schema@.copy (id) WHERE state = 'abandoned';
COMMENT ON COLUMN @schema@.copy.state IS 'pending: not stored, to be tried again; appending: an APPEND may be under way; stored; failed: given up; abandoned: not tried since record.abandon_after, or abandoned by an administrator; should the message be delivered again, as pending';
COMMENT ON COLUMN @schema@.delivery.outcome IS 'What the last try answered (stored, duplicate, held, ...); claimed while it is under way; abandoned when there was no other for record.abandon_after. Done is what has finished_at';
COMMENT ON COLUMN @schema@.delivery.finished_at IS 'When it was stored, found stored, refused for good, or abandoned; NULL while Postfix is expected to try again';
