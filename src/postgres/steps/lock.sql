-- The steps of a lock take the same values, whatever the method. A lock is taken by a statement that does nothing else: in
-- a larger one it could be taken after the snapshot that other parts of the statement read from.

-- word holder: not by the views pg_locks and pg_stat_activity: a first use of those takes the server three times as long.
-- Everybody sees a session's user and application_name
SELECT a.application_name, pg_catalog.pg_get_userbyid(a.usesysid), a.pid, a.application_name LIKE 'oncedrop %'
FROM pg_catalog.pg_lock_status() l CROSS JOIN LATERAL pg_catalog.pg_stat_get_activity(l.pid) a
WHERE l.granted AND {} LIMIT 1

-- word expiry: of a lease
pg_catalog.clock_timestamp() + :lasts_ms::bigint * interval '1 millisecond'

-- word no_flush: the fence behind a lease are the attempts and claims of the copies, which are durable; a lease that the
-- database forgets in a crash does no harm, so nobody waits for the disk
pg_catalog.set_config('synchronous_commit', 'off', true)

-- try_advisory: tries the lock; it ends with its transaction
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT pg_catalog.pg_try_advisory_xact_lock(:key)

-- again_advisory: waits for it, up to lock_timeout
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT pg_catalog.pg_advisory_xact_lock(:key)

-- holder_advisory: who has it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
@holder(l.locktype = 'advisory' AND l.objsubid = 1 AND @key_of(l)@ = :key::bigint AND l.database = @our_database@)@

-- try_row: tries the lock, for which key is the number of a row; SKIP LOCKED returns no row instead of waiting
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT true FROM @schema@.slot WHERE slot = :key FOR UPDATE SKIP LOCKED

-- again_row: waits for it, up to lock_timeout
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT true FROM @schema@.slot WHERE slot = :key FOR UPDATE

-- holder_row: who has locked a row is its xmax, until others do
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
@holder(l.locktype = 'transactionid' AND l.transactionid = (SELECT xmax FROM @schema@.slot WHERE slot = :key))@

-- try_lease: takes the lease if it is free, has expired, is this owner's, or was taken while the clock was ahead by more than
-- a lease. The clocks of hosts, and the starts of two statements, differ by less
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
INSERT INTO @schema@.lease AS l (key, owner, expires_at, host, pid, session)
SELECT :key::bigint, :owner::bigint, @expiry@, :host::text, :pid::integer, :session::text FROM @no_flush@
ON CONFLICT (key) DO UPDATE SET owner = EXCLUDED.owner, taken_at = EXCLUDED.taken_at,
expires_at = EXCLUDED.expires_at, host = EXCLUDED.host, pid = EXCLUDED.pid,
session = EXCLUDED.session, "user" = EXCLUDED."user"
WHERE l.expires_at <= @now@ OR l.taken_at > EXCLUDED.expires_at OR l.owner = EXCLUDED.owner RETURNING true

-- again_lease: prolongs it, if nobody else has had it since
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
UPDATE @schema@.lease l SET taken_at = @now@, expires_at = @expiry@ FROM @no_flush@
WHERE l.key = :key::bigint AND l.owner = :owner::bigint RETURNING true

-- holder_lease: who has it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT session, "user", pid || ' on ' || host, session LIKE 'oncedrop %' FROM @schema@.lease
WHERE key = :key::bigint AND expires_at > @now@

-- release_lease: gives it back, unless it is another's by now
-- takes: key owner lasts_ms host pid session wait_ms
DELETE FROM @schema@.lease WHERE key = :key::bigint AND owner = :owner::bigint

-- release_leases: the same for all of this owner's
-- takes: owner
DELETE FROM @schema@.lease WHERE owner = :owner::bigint

-- slots_missing: says that there are not as many rows to lock, and what to do; no row: there are
-- takes: count
-- gives: reason
SELECT 'table slot has ' || count(*) || ' rows instead of ' || :count::bigint || '; as its owner: INSERT INTO ' ||
'@schema@.slot SELECT generate_series(0, ' || :count::bigint - 1 || ') ON CONFLICT DO NOTHING'
FROM @schema@.slot HAVING count(*) <> :count::bigint
