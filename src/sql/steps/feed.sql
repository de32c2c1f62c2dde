-- Feeds (ledger_feed.c): what waits for applications.

-- macro missing: whether the feed is to get a copy
(NOT @listed@ OR :again::boolean AND copy.id NOT IN (SELECT f.copy FROM @schema@.feed f WHERE f.feed = :feed))

-- give_copy: gives a copy to a feed if it is still of this generation, and is about to be stored for the first time
-- params: identity digest account mailbox generation claim feed

-- give_known: gives a stored copy to a feed that did not get it, because of a recipient who is new; before step reply
-- params: identity digest account mailbox recipient feed

-- give_stored: gives a stored copy to a feed that did not get it before; again: or in which it does not wait any more
-- params: feed copy again

-- find_copies: the next stored copies for give_stored, each once for each of its recipients
-- params: feed since after max again
-- columns: id:number account mailbox role recipient
SELECT c.id, @shown(c.account)@ AS account, @shown(c.mailbox)@ AS mailbox, c.role, d.recipient
FROM (SELECT id, message, account, mailbox, role FROM @schema@.copy WHERE id > :after::bigint AND state = 'stored'
AND stored_at >= @seconds_at(:since)@ AND @missing@ ORDER BY id LIMIT :max::bigint) c
LEFT JOIN @schema@.delivery d ON d.message = c.message AND d.account = c.account AND d.mailbox = c.mailbox ORDER BY c.id

-- macro due: the rows that may be tried now, by index feed_next
feed = :feed AND dead = FALSE AND not_before <= @now@

-- take_row: takes the next row of a feed: for lease_ms it is not taken again
-- params: feed lease_ms owner
-- columns: id:number

-- keep_row: keeps it for longer, if it is still ours
-- params: id lease_ms owner
UPDATE @schema@.feed SET not_before = @now@ + @ms(:lease_ms)@ WHERE id = :id::bigint AND owner = :owner::bigint

-- finish_row: takes it out of the feed for good, if it is still ours
-- params: id owner
DELETE FROM @schema@.feed WHERE id = :id::bigint AND owner = :owner::bigint

-- fail_row: leaves it for later, or for dead, if it is still ours
-- params: id owner wait_ms dead error
UPDATE @schema@.feed SET not_before = @now@ + @ms(:wait_ms)@, dead = :dead::boolean, error = :error
WHERE id = :id::bigint AND owner = :owner::bigint

-- read_row: what a row is about
-- params: id
-- columns: id:number feed copy:number message:number tries:number dead:bool error added_at message_id sender from subject:content
-- columns: size:number account mailbox role uidvalidity:number uid:number recipients:json
SELECT f.id, f.feed, f.copy, f.message, f.tries, f.dead, f.error, @utc(f.added_at)@ AS added_at, m.message_id, m.sender, m."from",
m.subject, m.size, @shown(c.account)@ AS account, @shown(c.mailbox)@ AS mailbox, c.role, c.uidvalidity, c.uid,
(SELECT @list_of(d.recipient)@ FROM @schema@.delivery d WHERE d.message = f.message
AND (c.role = 'sent' OR d.account = c.account AND d.mailbox = c.mailbox)) AS recipients
FROM @schema@.feed f JOIN @schema@.copy c ON c.id = f.copy JOIN @schema@.message m ON m.id = f.message WHERE f.id = :id::bigint

-- list_feeds: how much waits in each feed, and for how long
-- columns: feed waiting:number dead:number oldest waits_s:number
SELECT feed, sum(CASE WHEN dead THEN 0 ELSE 1 END) AS waiting, sum(CASE WHEN dead THEN 1 ELSE 0 END) AS dead,
@utc(min(added_at))@ AS oldest, max(@age_ms(added_at)@) @div@ 1000 AS waits_s FROM @schema@.feed GROUP BY feed ORDER BY feed

-- list_rows: the rows of a feed
-- params: feed max
-- columns: id:number added_at tries:number dead:bool error account mailbox message_id subject:content
SELECT f.id, @utc(f.added_at)@ AS added_at, f.tries, f.dead, f.error, @shown(c.account)@ AS account,
@shown(c.mailbox)@ AS mailbox, m.message_id, m.subject
FROM @schema@.feed f JOIN @schema@.copy c ON c.id = f.copy JOIN @schema@.message m ON m.id = f.message
WHERE f.feed = :feed ORDER BY f.id LIMIT :max::bigint

-- retry_rows: a feed's dead rows, or one of them, are tried again
-- params: feed id
UPDATE @schema@.feed SET dead = FALSE, tries = 0, not_before = @now@
WHERE feed = :feed AND dead AND (:id::bigint IS NULL OR id = :id::bigint)

-- drop_rows: takes all rows out of a feed, or one of them
-- params: feed id
DELETE FROM @schema@.feed WHERE feed = :feed AND (:id::bigint IS NULL OR id = :id::bigint)
