-- An engine has only the steps of its lock methods: session, advisory, row or lease. A statement that acquires the lock does nothing
-- else: other parts of it could read the state from before the lock. With method row, the key is the number of the locked row.

-- macro expiry: when a lease expires
(@now@ + @ms(:lasts_ms)@)

-- lock_session, lock_advisory, lock_lease: tries to acquire the lock, or waits for it. A lease is free if it does not exist, has
-- expired, is this owner's, or was acquired in the future, while the clock was ahead
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool

-- lock_row: tries to acquire the lock; SKIP LOCKED returns no row instead of waiting
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT TRUE FROM @schema@.slot WHERE slot = :key FOR UPDATE SKIP LOCKED

-- relock_session, relock_advisory, relock_row, relock_lease: waits for the lock; of a session: a row, if it still has the lock; renews
-- a lease, unless another owner has had it since
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool

-- claim_guard: whether a message may be claimed as a new one: this session has the lock, the hosts have agreed on this method, no
-- message with this identity is recorded, and the identity of the IMAP server, if one is named, is verified (server_read). Unless
-- it may, record_*, reply and claim_copy do nothing until the next COMMIT
-- params: key identity method server verified_ms refused_ms
-- columns: may_claim:bool

-- relock_claimed: as relock_advisory, if this claim was committed; otherwise no row, without waiting
-- params: key identity digest claim
-- columns: granted:bool

-- holder_session, holder_advisory, holder_row: the lock holder
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool

-- holder_lease: the lease's owner
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool
SELECT session, "user", pid || ' on ' || host, session LIKE 'oncedrop %' FROM @schema@.lease
WHERE "key" = :key::bigint AND expires_at > @now@

-- release_session: releases the lock
-- params: key owner lasts_ms host pid session wait_ms

-- release_sessions: releases all locks of this session
-- params: owner

-- release_lease: releases the lease, unless another owner has it
-- params: key owner lasts_ms host pid session wait_ms
DELETE FROM @schema@.lease WHERE "key" = :key::bigint AND owner = :owner::bigint

-- release_leases: releases all leases of this owner
-- params: owner
DELETE FROM @schema@.lease WHERE owner = :owner::bigint

-- slots_missing: reports that there are too few rows to lock, and what to do; no row: there are enough
-- params: count
-- columns: reason
