-- A lock is a byte of a file (lite_lock.c). It ends with its process, or with the session.

-- try_session: tries to acquire the lock
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT oncedrop_lock(:key)

-- again_session: a row, if this session still has the lock
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT 1 WHERE oncedrop_locked(:key)

-- holder_session: the lock holder
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT 'oncedrop ' || :host || '[' || h.pid || ']', '', h.pid, 1 FROM (SELECT oncedrop_holder(:key) AS pid) h
WHERE h.pid IS NOT NULL

-- release_session: releases the lock
-- takes: key owner lasts_ms host pid session wait_ms
SELECT oncedrop_unlock(:key)

-- release_sessions: releases all locks of this session
-- takes: owner
SELECT oncedrop_unlock(NULL)

