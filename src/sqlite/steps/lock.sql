-- A lock is a byte of a file (lite_lock.c): it ends with its process, or with the session.

-- try_session: tries the lock
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT oncedrop_lock(:key)

-- again_session: a row, if it is held still
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: granted:truth
SELECT 1 WHERE oncedrop_locked(:key)

-- holder_session: who has it
-- takes: key owner lasts_ms host pid session wait_ms
-- gives: session user process ours:truth
SELECT 'oncedrop ' || :host || '[' || h.pid || ']', '', h.pid, 1 FROM (SELECT oncedrop_holder(:key) AS pid) h
WHERE h.pid IS NOT NULL

-- release_session: gives it back
-- takes: key owner lasts_ms host pid session wait_ms
SELECT oncedrop_unlock(:key)

-- release_sessions: gives back all locks of this session
-- takes: owner
SELECT oncedrop_unlock(NULL)

