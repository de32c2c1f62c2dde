-- lock_row, holder_lease, release_lease, release_leases: as others have them

-- macro name: the name of a key's lock
concat('oncedrop.', lower(hex(:key)))

-- macro while_held: while it has a lock, the server ends a session that is idle for longer than a delivery may take, and
-- so releases the lock of a stopped process. Without a lock the server's own limit applies
SESSION wait_timeout

-- lock_session: the lock ends with the session; acquiring it twice would require releasing it twice. Meanwhile the
-- server checks each second whether the client is still there
SET @while_held@ = CAST(coalesce(ceil(:lasts_ms / 1000.0) + 1, @@SESSION.wait_timeout) AS INTEGER)
-- then
SET STATEMENT max_statement_time = 60 + :wait_ms / 1000.0 FOR
SELECT CASE WHEN IS_USED_LOCK(@name@) = CONNECTION_ID() THEN TRUE ELSE coalesce(GET_LOCK(@name@, :wait_ms / 1000.0), FALSE) END

-- relock_session:
SELECT TRUE FROM DUAL WHERE IS_USED_LOCK(@name@) = CONNECTION_ID()

-- claim_guard: maria_batch.c makes what it guards depend on the variable
SELECT @may_claim := coalesce(IS_USED_LOCK(@name@) = CONNECTION_ID(), FALSE)
AND EXISTS (SELECT 1 FROM setting WHERE lock_method = :method)
AND EXISTS (SELECT 1 FROM server WHERE server = :server AND @is_verified@) -- if server
AND NOT EXISTS (SELECT 1 FROM message WHERE identity = :identity)

-- holder_session: every user sees at least the user's own sessions in the list
SELECT '', p.USER, p.ID, FALSE FROM information_schema.PROCESSLIST p WHERE p.ID = IS_USED_LOCK(@name@)

-- release_session:
SET @while_held@ = @@GLOBAL.wait_timeout + 0 * coalesce(RELEASE_LOCK(@name@), 0)

-- release_sessions:
SET @while_held@ = @@GLOBAL.wait_timeout + 0 * RELEASE_ALL_LOCKS()

-- relock_row:
SET STATEMENT innodb_lock_wait_timeout = ceil(:wait_ms / 1000.0) FOR
SELECT TRUE FROM slot WHERE slot = :key FOR UPDATE

-- holder_row: unknown: only users with the PROCESS privilege could see the lock holder
SELECT '', '', 0, FALSE FROM DUAL WHERE FALSE

-- lock_lease: columns are assigned from left to right: the first decides, and the others follow it. A session that
-- acquires or ends the lease now commits at once
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

-- relock_lease:
SET STATEMENT innodb_lock_wait_timeout = 1 FOR
UPDATE lease SET taken_at = @now@, expires_at = @expiry@ WHERE "key" = :key AND owner = :owner
-- then
SELECT TRUE FROM lease WHERE "key" = :key AND owner = :owner

-- slots_missing:
SELECT concat('table slot has ', count(*), ' rows instead of ', :count, '; run: oncedrop ledger print, and execute what it'
' says of table slot again') FROM slot HAVING count(*) <> :count
