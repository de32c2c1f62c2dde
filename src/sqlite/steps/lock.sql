-- A lock is a byte of a file (lite_lock.c). It ends with its process, or with the session.

-- lock_session: tries to acquire the lock
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT oncedrop_lock(:key)

-- relock_session: a row, if this session still has the lock
-- params: key owner lasts_ms host pid session wait_ms
-- columns: granted:bool
SELECT 1 WHERE oncedrop_locked(:key)

-- holder_session: the lock holder
-- params: key owner lasts_ms host pid session wait_ms
-- columns: session user process ours:bool
SELECT 'oncedrop ' || :host || '[' || h.pid || ']', '', h.pid, 1 FROM (SELECT oncedrop_holder(:key) AS pid) h
WHERE h.pid IS NOT NULL

-- release_session: releases the lock
-- params: key owner lasts_ms host pid session wait_ms
SELECT oncedrop_unlock(:key)

-- release_sessions: releases all locks of this session
-- params: owner
SELECT oncedrop_unlock(NULL)

