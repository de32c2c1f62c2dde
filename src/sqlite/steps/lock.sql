-- A lock is a byte of a file (lite_lock.c). It ends with its process, or with the session.

-- lock_session: tries, and does not wait
SELECT oncedrop_lock(:key)

-- relock_session:
SELECT 1 WHERE oncedrop_locked(:key)

-- holder_session:
SELECT 'oncedrop ' || :host || '[' || h.pid || ']', '', h.pid, 1 FROM (SELECT oncedrop_holder(:key) AS pid) h
WHERE h.pid IS NOT NULL

-- release_session:
SELECT oncedrop_unlock(:key)

-- release_sessions:
SELECT oncedrop_unlock(NULL)
