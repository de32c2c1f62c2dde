-- macro seconds_since: seconds since a moment; 0 if it is in the future, since the clock was ahead
round(greatest(@age_us({})@, 0) / 1000000, 1)

-- macro claims: claims in progress, each under what deliveries lock (`place`)
claims AS (SELECT m.lock_key AS "key", {} AS place, m.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.claimed_at
FROM copy c JOIN message m ON m.id = c.message WHERE c.state = 'appending')

-- macro lock: the lock of a claim c, with the holder's number or without
CASE WHEN {} IS NOT NULL THEN 'held' WHEN c.claimed_at >= @ago(:claim_ms)@ THEN 'claimed' ELSE 'free' END

-- macro oldest_first: sorts the rows, those with the same key together
ORDER BY min(c.claimed_at) OVER (PARTITION BY c."key"), c."key", c.claimed_at

-- locks_session: the server does not say which messages other locks are of. It lists others' sessions only to users
-- with the PROCESS privilege
WITH @claims(IS_USED_LOCK(concat('oncedrop.', lower(hex(m.lock_key)))))@
SELECT c."key", c.message_id, c.account, c.mailbox, c.state, c.host, c.pid, @seconds_since(c.claimed_at)@ AS age,
@lock(c.place)@ AS "lock", CASE WHEN c.place IS NOT NULL THEN concat('oncedrop ', c.host, '[', c.pid, ']') END AS session,
CASE WHEN c.place IS NOT NULL THEN TRUE END AS ours,
c.place AS backend, p.USER AS "user", p.HOST AS client, CASE WHEN p.ID IS NOT NULL THEN p.TIME END AS held,
CASE WHEN c.place IS NOT NULL THEN p.ID IS NULL END AS hidden, '[]' AS waiting
FROM claims c LEFT JOIN information_schema.PROCESSLIST p ON p.ID = c.place
@oldest_first@

-- locks_row: whether the rows of claims are locked: those that are not are locked for an instant. The server names the
-- holder only to users with the PROCESS privilege
SELECT coalesce(group_concat(s.slot), '') INTO @unlocked FROM (SELECT DISTINCT m.lock_key & 16383 AS slot
FROM copy c JOIN message m ON m.id = c.message WHERE c.state = 'appending') k STRAIGHT_JOIN slot s ON s.slot = k.slot
FOR UPDATE SKIP LOCKED
-- then
WITH @claims((m.lock_key & 16383))@,
tried AS (SELECT c.*, CASE WHEN NOT find_in_set(c.place, @unlocked) THEN c.place END AS holder FROM claims c)
SELECT c."key", c.message_id, c.account, c.mailbox, c.state, c.host, c.pid, @seconds_since(c.claimed_at)@ AS age,
@lock(c.holder)@ AS "lock", CASE WHEN c.holder IS NOT NULL THEN concat('oncedrop ', c.host, '[', c.pid, ']') END AS session,
CASE WHEN c.holder IS NOT NULL THEN TRUE END AS ours, NULL AS backend, NULL AS "user", NULL AS client, NULL AS held,
CASE WHEN c.holder IS NOT NULL THEN TRUE END AS hidden, '[]' AS waiting
FROM tried c
@oldest_first@

-- macro lease_columns: of leases that have not expired
l.session, l.session LIKE 'oncedrop %' AS ours, NULL AS backend, l."user" AS "user", NULL AS client,
@seconds_since(l.taken_at)@ AS held, l."key" IS NULL AS hidden, '[]' AS waiting

-- locks_lease:
WITH @claims(m.lock_key)@, leases AS (SELECT * FROM lease WHERE expires_at > @now@),
every AS (SELECT c."key", c.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.claimed_at AS since,
@seconds_since(c.claimed_at)@ AS age, @lock(l."key")@ AS "lock", @lease_columns@
FROM claims c LEFT JOIN leases l ON l."key" = c."key"
UNION ALL SELECT l."key", (SELECT message_id FROM message m WHERE m.identity BETWEEN unhex(lpad(hex(l."key"), 16, '0'))
|| X'000000000000000000000000000000000000000000000000' AND unhex(lpad(hex(l."key"), 16, '0'))
|| X'ffffffffffffffffffffffffffffffffffffffffffffffff' ORDER BY id DESC LIMIT 1), NULL, NULL, NULL, NULL, NULL, l.taken_at,
@seconds_since(l.taken_at)@, 'held', @lease_columns@
FROM leases l WHERE l."key" NOT IN (SELECT "key" FROM claims))
SELECT "key", message_id, account, mailbox, state, host, pid, age, "lock", session, ours, backend, "user", client, held,
hidden, waiting FROM every ORDER BY min(since) OVER (PARTITION BY "key"), "key", since
