-- macro expired_report: requires `due`, the messages, and `open`, their unfinished deliveries
SELECT coalesce(max(@utc(o.last_at)@), max((SELECT @utc(max(c.claimed_at))@
FROM @schema@.copy c WHERE c.message = m.id))) AS last_at,
string_agg(DISTINCT o.queue_id, ', ') AS queue_id, string_agg(o.recipient, ', ' ORDER BY o.id) AS recipients,
m.message_id, string_agg(DISTINCT o.reason, '; ') AS reason
FROM due m LEFT JOIN open o ON o.message = m.id GROUP BY m.id, m.message_id ORDER BY m.id

-- macro of_address: whether an address is in what is recorded of a message m, or is an account. Not EXISTS: a plan could
-- then read all of a table each time
(:address::text IN (pg_catalog.lower(m.sender), pg_catalog.lower(m."from"))
OR (SELECT true FROM @schema@.address a WHERE a.message = m.id AND pg_catalog.lower(a.address) = :address::text LIMIT 1)
OR (SELECT true FROM @schema@.delivery d WHERE d.message = m.id
AND :address::text IN (pg_catalog.lower(d.recipient), pg_catalog.lower(d.original_recipient), pg_catalog.lower(d.account)) LIMIT 1)
OR (SELECT true FROM @schema@.copy c WHERE c.message = m.id AND pg_catalog.lower(c.account) = :address::text LIMIT 1))

-- macro is_open: whether anything of a message m is unfinished
coalesce((SELECT true FROM @schema@.delivery d WHERE d.message = m.id AND d.finished_at IS NULL LIMIT 1),
(SELECT true FROM @schema@.copy c WHERE c.message = m.id AND c.state IN ('pending', 'appending') LIMIT 1), false)

-- preview_expired:
WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id > :after::bigint AND @expired@),
open AS (SELECT d.* FROM @schema@.delivery d JOIN due ON due.id = d.message WHERE d.finished_at IS NULL)
@expired_report@

-- expire_messages:
WITH due AS (SELECT m.id, m.message_id FROM @schema@.message m WHERE m.id = ANY (:ids::bigint[]) AND @expired@),
open AS (UPDATE @schema@.delivery d SET outcome = 'expired', finished_at = @now@
FROM due WHERE due.id = d.message AND d.finished_at IS NULL RETURNING d.*),
copies AS (UPDATE @schema@.copy c SET state = 'expired', doubt = c.doubt OR c.state = 'appending'
FROM due WHERE due.id = c.message AND c.state IN ('pending', 'appending'))
@expired_report@

-- delete_old: this statement still sees the copies: their foreign key deletes them at its end
WITH gone AS (DELETE FROM @schema@.message m WHERE m.id = ANY (:ids::bigint[]) AND @old@ RETURNING m.id, m.size),
less AS (UPDATE @schema@.counter t SET messages = t.messages - m.messages,
bytes = t.bytes - m.bytes, copies = t.copies - c.copies FROM @schema@.counter k,
LATERAL (SELECT count(*) AS messages, coalesce(sum(g.size), 0) AS bytes FROM gone g WHERE g.id <= k.last_message) m,
LATERAL (SELECT count(*) AS copies FROM gone g JOIN @schema@.copy o ON o.message = g.id WHERE o.id <= k.last_copy) c)
SELECT count(*) FROM gone
