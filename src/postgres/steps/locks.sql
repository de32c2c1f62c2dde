-- macro seconds_since: seconds since a moment; 0 if it is in the future, since the clock was ahead
CASE WHEN {} > clock_timestamp() THEN 0 ELSE round(extract(epoch FROM clock_timestamp() - {})::numeric, 1) END

-- macro session_columns: every user sees the user and application_name of every session; other columns depend on the
-- user's roles. backend_start, which every session has, is NULL if they are hidden
l.granted, l.pid AS backend, l.waitstart, a.usename,
a.application_name AS session, coalesce(a.application_name LIKE 'oncedrop %', false) AS ours,
coalesce(a.xact_start, a.state_change) AS since, pg_catalog.host(a.client_addr) AS client,
a.backend_start IS NULL AS hidden

-- macro held_and_waiting: the sessions that have the locks, and those that wait for them; `place` is what deliveries
-- lock
held AS (SELECT * FROM locks WHERE granted),
waiting AS (SELECT place, bool_or(ours) AS ours, jsonb_agg(jsonb_build_object('backend', backend, 'user', usename,
'session', session, 'seconds', @seconds_since(waitstart)@) ORDER BY waitstart) AS list
FROM locks WHERE NOT granted GROUP BY place)

-- macro claims: claims in progress, each under what deliveries lock (`place`)
claims AS (SELECT m.lock_key AS key, {} AS place, m.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.claimed_at
FROM @schema@.copy c JOIN @schema@.message m ON m.id = c.message WHERE c.state = 'appending')

-- macro message_of_lock: the message of a lock without a claim, if the lock is that of a key
LEFT JOIN LATERAL (SELECT id, message_id FROM @schema@.message WHERE c.key IS NULL
AND identity BETWEEN int8send(h.place) AND int8send(h.place) || decode(repeat('ff', 24), 'hex')
ORDER BY id DESC LIMIT 1) m ON true

-- macro all_columns: of claims and locks; claim_ms: how long a delivery may take from its claim to its lock
all_of_them AS (SELECT coalesce(c.key, h.place) AS key,
coalesce(c.message_id, m.message_id) AS message_id, c.account, c.mailbox, c.state, c.host, c.pid,
@seconds_since(coalesce(c.claimed_at, h.since))@ AS age,
CASE WHEN h.place IS NOT NULL THEN 'held' WHEN w.ours OR c.claimed_at >= clock_timestamp()
- :claim_ms::bigint * interval '1 millisecond' THEN 'claimed' ELSE 'free' END AS lock,
h.session, h.ours, h.backend, h.usename AS "user", h.client, @seconds_since(h.since)@ AS held, h.hidden,
coalesce(w.list, '[]') AS waiting
FROM claims c FULL JOIN held h ON h.place = c.place LEFT JOIN waiting w ON w.place = coalesce(c.place, h.place)

-- macro oldest_first: sorts the rows, those with the same key together
SELECT * FROM all_of_them ORDER BY max(age) OVER (PARTITION BY key) DESC NULLS LAST, key, age DESC

-- locks_advisory: pg_locks shows a bigint key as two halves with objsubid 1. Our keys are hashes, practically never as
-- small as the numbers that people and programs choose
WITH locks AS (SELECT @key_of(l)@ AS place, @session_columns@
FROM pg_catalog.pg_locks l LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid
WHERE l.locktype = 'advisory' AND l.objsubid = 1
AND l.database = @our_database@),
@held_and_waiting@, @claims(m.lock_key)@, @all_columns@
@message_of_lock@ WHERE c.key IS NOT NULL OR h.ours OR w.ours
OR m.id IS NOT NULL OR h.place NOT BETWEEN -4294967296 AND 4294967296)
@oldest_first@

-- locks_row: a locked row's xmax is the transaction that locked it, which holds the lock on its id. Others wait for
-- that lock; behind the first of those, they wait for the row itself
WITH locks AS (WITH now AS MATERIALIZED (SELECT * FROM pg_catalog.pg_locks)
SELECT l.place, @session_columns@
FROM (SELECT s.slot::bigint AS place, n.* FROM now n
JOIN @schema@.slot s ON s.xmax = n.transactionid WHERE n.locktype = 'transactionid'
UNION ALL SELECT s.slot::bigint, n.* FROM now n
JOIN @schema@.slot s ON s.ctid = ('(' || n.page || ',' || n.tuple || ')')::tid
WHERE n.locktype = 'tuple' AND NOT n.granted AND n.relation = '@schema@.slot'::regclass) l
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid = l.pid),
@held_and_waiting@, @claims((m.lock_key & 16383))@, @all_columns@
CROSS JOIN (SELECT NULL::text AS message_id) m WHERE c.key IS NOT NULL OR h.ours OR w.ours OR true)
@oldest_first@

-- locks_lease:
WITH locks AS (SELECT key AS place, true AS granted, NULL::integer AS backend, NULL::timestamptz AS waitstart, "user" AS usename,
session, session LIKE 'oncedrop %' AS ours, taken_at AS since, NULL::text AS client, false AS hidden
FROM @schema@.lease WHERE expires_at > @now@),
@held_and_waiting@, @claims(m.lock_key)@, @all_columns@
@message_of_lock@ WHERE c.key IS NOT NULL OR h.ours OR w.ours OR true)
@oldest_first@
