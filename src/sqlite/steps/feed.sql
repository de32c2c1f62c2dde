-- macro listed: whether the feed is among those that got a copy
instr(coalesce(feeds, ''), ',' || :feed || ',') > 0
-- macro shown:
{}
-- macro list_of:
json_group_array({})

-- give_copy:
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy
WHERE message = (SELECT id FROM message WHERE identity = :identity AND digest = :digest) AND account = :account AND mailbox = :mailbox
AND generation = :generation AND claim = :claim AND @first@

-- macro known: the copy that belongs to a new recipient, too
message = (SELECT id FROM message WHERE identity = :identity AND digest = :digest) AND account = :account AND mailbox = :mailbox
AND state = 'stored' AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.message = copy.message AND d.recipient = :recipient)

-- give_known:
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy WHERE @known@
AND NOT @listed@
-- then
UPDATE copy SET feeds = coalesce(feeds, ',') || :feed || ',' WHERE @known@ AND NOT @listed@

-- give_stored:
INSERT INTO feed (feed, copy, message, added_at, not_before) SELECT :feed, id, message, @now@, @now@ FROM copy
WHERE id = :copy AND state = 'stored' AND @missing@
-- then
UPDATE copy SET feeds = coalesce(feeds, ',') || :feed || ',' WHERE id = :copy AND state = 'stored' AND NOT @listed@

-- take_row:
UPDATE feed SET tries = tries + 1, owner = :owner, not_before = @now@ + @ms(:lease_ms)@
WHERE id = (SELECT id FROM feed WHERE @due@ ORDER BY id LIMIT 1) RETURNING id
