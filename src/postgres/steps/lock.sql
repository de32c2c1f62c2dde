-- The steps of a lock have the same parameters for every method. A statement that acquires a lock does nothing else:
-- other parts of a larger one could read from a snapshot older than the lock.

-- macro holder: who has the lock, without the views pg_locks and pg_stat_activity: their first use takes the server
-- three times as long. Every user sees a session's user and application_name
SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'
FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a
WHERE l.granted AND {} LIMIT 1

-- macro expiry: when a lease expires
pg_catalog.clock_timestamp() + :lasts_ms::bigint * interval '1 millisecond'

-- macro no_flush: does not wait for the disk. A crash that loses a lease is harmless: the copies' generations and
-- claims, which are durable, protect against its owner
pg_catalog.set_config('synchronous_commit', 'off', true)

-- lock_advisory: tries to acquire the lock, which ends with its transaction
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT pg_catalog.pg_try_advisory_xact_lock(:key)

-- relock_advisory: waits for the lock, up to lock_timeout
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT pg_catalog.pg_advisory_xact_lock(:key)

-- holder_advisory: the lock holder
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool
@holder(l.locktype = 'advisory' AND l.objsubid = 1 AND @key_of(l)@ = :key::bigint AND l.database = @our_database@)@

-- lock_row: tries to lock the row whose number is the key; SKIP LOCKED returns no row instead of waiting
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT true FROM @schema@.slot WHERE slot = :key FOR UPDATE SKIP LOCKED

-- relock_row: waits for the lock, up to lock_timeout
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT true FROM @schema@.slot WHERE slot = :key FOR UPDATE

-- holder_row: the transaction that locked a row is its xmax, until another locks it
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool
@holder(l.locktype = 'transactionid' AND l.transactionid = (SELECT xmax FROM @schema@.slot WHERE slot = :key))@

-- lock_lease: acquires the lease if it is free, has expired, is this owner's, or was acquired while the clock was ahead
-- by more than a lease. The clocks of hosts, and the starts of two statements, differ by less
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
INSERT INTO @schema@.lease AS l (key, owner, expires_at, host, pid, session)
SELECT :key::bigint, :owner::bigint, @expiry@, :host::text, :pid::integer, :session::text FROM @no_flush@
ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, taken_at = EXCLUDED.taken_at,
expires_at = EXCLUDED.expires_at, host = EXCLUDED.host, pid = EXCLUDED.pid,
session = EXCLUDED.session, "user" = EXCLUDED."user"
WHERE l.expires_at <= @now@ OR l.taken_at > EXCLUDED.expires_at OR l.owner = EXCLUDED.owner RETURNING true

-- relock_lease: renews the lease, unless another owner has had it since
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
UPDATE @schema@.lease l SET taken_at = @now@, expires_at = @expiry@ FROM @no_flush@
WHERE l.key = :key::bigint AND l.owner = :owner::bigint RETURNING true

-- holder_lease: the lease's owner
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool
SELECT session, "user", pid || ' on ' || host, session LIKE 'oncedrop %' FROM @schema@.lease
WHERE key = :key::bigint AND expires_at > @now@

-- release_lease: releases the lease, unless another owner has it
-- params: key owner lasts_ms host pid session wait_ms
DELETE FROM @schema@.lease WHERE key = :key::bigint AND owner = :owner::bigint

-- release_leases: releases all leases of this owner
-- params: owner
DELETE FROM @schema@.lease WHERE owner = :owner::bigint

-- slots_missing: reports that there are too few rows to lock, and what to do; no row: there are enough
-- params: count
-- columns: reason
SELECT 'table slot has ' || count(*) || ' rows instead of ' || :count::bigint || '; as its owner: INSERT INTO ' ||
'@schema@.slot SELECT generate_series(0, ' || :count::bigint - 1 || ') ON CONFLICT DO NOTHING'
FROM @schema@.slot HAVING count(*) <> :count::bigint
