-- The steps of a lock take the same values, whatever the method. A lock is tried by a statement that does nothing else: what
-- follows it reads the state under the lock.

-- word name: of the lock of a key
concat('oncedrop.', lower(hex(:key)))

-- word expiry: of a lease
@now@ + INTERVAL :lasts_ms * 1000 MICROSECOND

-- word while_held: the server ends a session that says nothing for longer than a delivery may take, and so frees the lock of
-- a process that was stopped. Without a lock it may say nothing for as long as the server lets it
SESSION wait_timeout

-- try_session: waits for the lock, which ends with the session; to have it twice would take two releases. While it waits,
-- the server sees each second whether the client is there still
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SET @while_held@ = CAST(coalesce(ceil(:lasts_ms / 1000.0) + 1, @@SESSION.wait_timeout) AS INTEGER)
-- then
SET STATEMENT max_statement_time = 60 + :wait_ms / 1000.0 FOR
SELECT CASE WHEN IS_USED_LOCK(@name@) = CONNECTION_ID() THEN TRUE ELSE coalesce(GET_LOCK(@name@, :wait_ms / 1000.0), FALSE) END

-- again_session: a row, if it is held still
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT TRUE FROM DUAL WHERE IS_USED_LOCK(@name@) = CONNECTION_ID()

-- holder_session: who has it. The list shows every user at least the user's own sessions
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT '', p.USER, p.ID, FALSE FROM information_schema.PROCESSLIST p WHERE p.ID = IS_USED_LOCK(@name@)

-- release_session: gives it back
-- takes: key owner lasts_ms host pid session wait_ms
SET @while_held@ = @@GLOBAL.wait_timeout + 0 * coalesce(RELEASE_LOCK(@name@), 0)

-- release_sessions: gives back all locks of this session
-- takes: owner
SET @while_held@ = @@GLOBAL.wait_timeout + 0 * RELEASE_ALL_LOCKS()

-- try_row: tries the lock, for which key is the number of a row; SKIP LOCKED returns no row instead of waiting
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT TRUE FROM slot WHERE slot = :key FOR UPDATE SKIP LOCKED

-- again_row: waits for it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SET STATEMENT innodb_lock_wait_timeout = ceil(:wait_ms / 1000.0) FOR
SELECT TRUE FROM slot WHERE slot = :key FOR UPDATE

-- holder_row: only users with the right PROCESS could see it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT '', '', 0, FALSE FROM DUAL WHERE FALSE

-- try_lease: takes the lease if it is free, has expired, is this owner's, or was taken in the future, while the clock was ahead.
-- Columns are assigned from left to right: the first decides, and the others follow it. A session that takes or ends the lease just
-- now commits at once
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SET STATEMENT innodb_lock_wait_timeout = 1 FOR
INSERT INTO lease ("key", owner, taken_at, expires_at, host, pid, session, "user")
VALUES (:key, :owner, @now@, @expiry@, :host, :pid, :session, substring_index(SESSION_USER(), '@', 1))
ON DUPLICATE KEY UPDATE owner = CASE
WHEN lease.expires_at <= VALUES(taken_at) OR lease.taken_at > VALUES(expires_at) THEN VALUES(owner) ELSE lease.owner END,
taken_at = CASE WHEN owner = VALUES(owner) THEN VALUES(taken_at) ELSE lease.taken_at END,
host = CASE WHEN owner = VALUES(owner) THEN VALUES(host) ELSE lease.host END,
pid = CASE WHEN owner = VALUES(owner) THEN VALUES(pid) ELSE lease.pid END,
session = CASE WHEN owner = VALUES(owner) THEN VALUES(session) ELSE lease.session END,
"user" = CASE WHEN owner = VALUES(owner) THEN VALUES("user") ELSE lease."user" END,
expires_at = CASE WHEN owner = VALUES(owner) THEN VALUES(expires_at) ELSE lease.expires_at END
-- then
SELECT owner = :owner FROM lease WHERE "key" = :key

-- again_lease: prolongs it, if nobody else has had it since
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SET STATEMENT innodb_lock_wait_timeout = 1 FOR
UPDATE lease SET taken_at = @now@, expires_at = @expiry@ WHERE "key" = :key AND owner = :owner
-- then
SELECT TRUE FROM lease WHERE "key" = :key AND owner = :owner

-- holder_lease: who has it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT session, "user", concat(pid, ' on ', host), session LIKE 'oncedrop %' FROM lease
WHERE "key" = :key AND expires_at > @now@

-- release_lease: gives it back, unless it is another's by now
-- takes: key owner lasts_ms host pid session wait_ms
DELETE FROM lease WHERE "key" = :key AND owner = :owner

-- release_leases: the same for all of this owner's
-- takes: owner
DELETE FROM lease WHERE owner = :owner

-- slots_missing: says that there are not as many rows to lock, and what to do; no row: there are
-- takes: count
-- gives: reason
SELECT concat('table slot has ', count(*), ' rows instead of ', :count, '; run: oncedrop ledger print, and execute what it'
' says of table slot again') FROM slot HAVING count(*) <> :count
