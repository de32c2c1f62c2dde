-- locks_session: a lock without a claim is not listed: the kernel does not know its message
WITH claims AS MATERIALIZED (SELECT m.lock_key AS key, m.message_id, c.account, c.mailbox, c.state, c.host, c.pid, c.claimed_at,
oncedrop_holder(m.lock_key) AS holder
FROM @schema@.copy c CROSS JOIN @schema@.message m ON m.id = c.message
WHERE c.state = 'appending' AND c.state <> 'stored')
SELECT key, message_id, account, mailbox, state, host, pid, printf('%.1f', max(@now@ - claimed_at, 0) / 1000000.0) AS age,
CASE WHEN holder IS NOT NULL THEN 'held' ELSE 'free' END AS lock,
'oncedrop ' || host || '[' || holder || ']' AS session, CASE WHEN holder IS NOT NULL THEN 1 END AS ours, holder AS backend,
NULL AS user, NULL AS client, NULL AS held, CASE WHEN holder IS NOT NULL THEN 0 END AS hidden, '[]' AS waiting
FROM claims ORDER BY min(claimed_at) OVER (PARTITION BY key), key, claimed_at
