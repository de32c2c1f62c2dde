-- lock_row, holder_lease, release_lease, release_leases: as others have them

-- macro holder: who has the lock, without the views pg_locks and pg_stat_activity: their first use takes the server
-- three times as long. Every user sees a session's user and application_name
SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'
FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a
WHERE l.granted AND {} LIMIT 1

-- macro no_flush: does not wait for the disk. A crash that loses a lease is harmless: the copies' generations and
-- claims, which are durable, protect against its owner
pg_catalog.set_config('synchronous_commit', 'off', true)

-- lock_advisory:
SELECT pg_catalog.set_config('oncedrop.may_claim', pg_catalog.pg_try_advisory_xact_lock(:key)::text, true)::boolean

-- relock_advisory: up to lock_timeout
SELECT pg_catalog.pg_advisory_xact_lock(:key)

-- claim_guard: lock_advisory has said whether the lock was granted; macro if_may_claim heeds this
SELECT pg_catalog.set_config('oncedrop.may_claim', (pg_catalog.current_setting('oncedrop.may_claim') = 'true'
AND EXISTS (SELECT FROM @schema@.setting WHERE lock_method = :method)
AND EXISTS (SELECT FROM @schema@.server WHERE server = :server AND @is_verified@) -- if server
AND NOT EXISTS (SELECT FROM @schema@.message WHERE identity = :identity))::text, true)::boolean

-- relock_claimed:
SELECT pg_catalog.pg_advisory_xact_lock(:key::bigint) FROM @schema@.message m JOIN @schema@.copy c ON c.message = m.id
WHERE m.identity = :identity AND m.digest = :digest AND c.claim = :claim::bigint LIMIT 1

-- holder_advisory:
@holder(l.locktype = 'advisory' AND l.objsubid = 1 AND @key_of(l)@ = :key::bigint AND l.database = @our_database@)@

-- relock_row: up to lock_timeout
SELECT true FROM @schema@.slot WHERE slot = :key FOR UPDATE

-- holder_row: the transaction that locked a row is its xmax, until another locks it
@holder(l.locktype = 'transactionid' AND l.transactionid = (SELECT xmax FROM @schema@.slot WHERE slot = :key))@

-- lock_lease: the clock was ahead by more than a lease. The clocks of hosts, and the starts of two statements, differ
-- by less
INSERT INTO @schema@.lease AS l (key, owner, expires_at, host, pid, session)
SELECT :key::bigint, :owner::bigint, @expiry@, :host::text, :pid::integer, :session::text FROM @no_flush@
ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, taken_at = EXCLUDED.taken_at,
expires_at = EXCLUDED.expires_at, host = EXCLUDED.host, pid = EXCLUDED.pid,
session = EXCLUDED.session, "user" = EXCLUDED."user"
WHERE l.expires_at <= @now@ OR l.taken_at > EXCLUDED.expires_at OR l.owner = EXCLUDED.owner RETURNING true

-- relock_lease:
UPDATE @schema@.lease l SET taken_at = @now@, expires_at = @expiry@ FROM @no_flush@
WHERE l.key = :key::bigint AND l.owner = :owner::bigint RETURNING true

-- slots_missing:
SELECT 'table slot has ' || count(*) || ' rows instead of ' || :count::bigint || '; as its owner: INSERT INTO ' ||
'@schema@.slot SELECT generate_series(0, ' || :count::bigint - 1 || ') ON CONFLICT DO NOTHING'
FROM @schema@.slot HAVING count(*) <> :count::bigint
