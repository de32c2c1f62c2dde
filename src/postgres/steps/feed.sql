-- macro listed: whether the feed is among those that got a copy
strpos(coalesce(feeds, ''), ',' || :feed::text || ',') > 0
-- macro shown:
{}
-- macro list_of:
to_jsonb(array_agg({}))

-- give_copy: locked, so that it is ours when settle_copy looks
INSERT INTO @schema@.feed (feed, copy, message) SELECT :feed::text, id, message FROM @schema@.copy
WHERE message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND account = :account AND mailbox = :mailbox AND generation = :generation::integer AND claim = :claim::bigint AND @first@
FOR NO KEY UPDATE

-- give_known:
WITH given AS (UPDATE @schema@.copy c SET feeds = coalesce(feeds, ',') || :feed::text || ','
WHERE c.message = (SELECT id FROM @schema@.message WHERE identity = :identity AND digest = :digest)
AND c.account = :account AND c.mailbox = :mailbox AND c.state = 'stored' AND NOT @listed@
AND NOT EXISTS (SELECT FROM @schema@.delivery d WHERE d.message = c.message AND d.recipient = :recipient) RETURNING c.id, c.message)
INSERT INTO @schema@.feed (feed, copy, message) SELECT :feed::text, id, message FROM given

-- give_stored:
WITH given AS (UPDATE @schema@.copy SET feeds = CASE WHEN @listed@ THEN feeds ELSE coalesce(feeds, ',') || :feed::text || ',' END
WHERE id = :copy::bigint AND state = 'stored' AND @missing@ RETURNING id, message)
INSERT INTO @schema@.feed (feed, copy, message) SELECT :feed::text, id, message FROM given

-- take_row:
UPDATE @schema@.feed SET tries = tries + 1, owner = :owner::bigint, not_before = @now@ + @ms(:lease_ms)@
WHERE id = (SELECT id FROM @schema@.feed WHERE @due@ ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING id
