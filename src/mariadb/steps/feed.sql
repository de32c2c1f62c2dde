-- macro listed: whether the feed is among those that got a copy
instr(coalesce(feeds, ''), concat(',', :feed, ',')) > 0
-- macro shown:
CONVERT({} USING utf8mb4)
-- macro list_of:
JSON_ARRAYAGG({})

-- give_copy: the row is locked at once, since a lock that others share could not become ours
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy
WHERE message = @message AND account = :account AND mailbox = :mailbox AND generation = :generation AND claim = :claim AND @first@
FOR UPDATE

-- macro known: the copy that belongs to a new recipient, too
message = @message AND account = :account AND mailbox = :mailbox AND state = 'stored'
AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = copy.message AND d.recipient = :recipient)

-- give_known:
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy WHERE @known@
AND NOT @listed@ FOR UPDATE
-- then
UPDATE copy SET feeds = concat(coalesce(feeds, ','), :feed, ',') WHERE @known@ AND NOT @listed@

-- give_stored:
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy
WHERE id = :copy AND state = 'stored' AND @missing@ FOR UPDATE
-- then
UPDATE copy SET feeds = concat(coalesce(feeds, ','), :feed, ',') WHERE id = :copy AND state = 'stored' AND NOT @listed@

-- take_row: by this index, a row is locked that is taken, and no other
SET @row = NULL
-- then
SELECT id INTO @row FROM feed FORCE INDEX (feed_next) WHERE @due@ ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
-- then
UPDATE feed SET tries = tries + 1, owner = :owner, not_before = @now@ + @ms(:lease_ms)@ WHERE id = @row
-- then
SELECT id FROM feed WHERE id = @row
