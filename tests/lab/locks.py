# SPDX-License-Identifier: ISC
"""The lock of a message by each method (lock.method), taken by others than deliveries."""

import contextlib
import os
import re

from .ledger import MARIADB, POSTGRES, SQLITE, engine
from .process import wait_until
from .proxy import CLIENT, SERVER

# The engine's own first.
METHODS_OF = {POSTGRES: ("advisory", "row", "lease"), SQLITE: ("session",), MARIADB: ("session", "row", "lease")}
METHODS = METHODS_OF[engine()]
OF_TRANSACTIONS = tuple(method for method in METHODS if method in ("advisory", "row"))
SLOTS = 16384       # LOCK_SLOTS

# By each method: how to take it in the open transaction; what a delivery sends to try it.
TAKE_IN = {
    POSTGRES: {
        "advisory": "SELECT pg_advisory_xact_lock(%s)",
        "row": f"SELECT FROM oncedrop.slot WHERE slot = (%s::bigint & {SLOTS - 1}) FOR UPDATE",
        "lease": "INSERT INTO oncedrop.lease AS l (key, owner, expires_at, host, pid, session)"
                 " VALUES (%s, 1, now() + interval '1 hour', 'stranger', 1, current_setting('application_name'))"
                 " ON CONFLICT (key) DO UPDATE SET owner = 1, expires_at = EXCLUDED.expires_at, host = EXCLUDED.host,"
                 " pid = EXCLUDED.pid, session = EXCLUDED.session",    # regardless of the owner
    },
    MARIADB: {
        "session": "SELECT get_lock(%s, 3600)",
        "row": f"SELECT slot FROM oncedrop.slot WHERE slot = (%s & {SLOTS - 1}) FOR UPDATE",
        "lease": "INSERT INTO oncedrop.lease (\"key\", owner, taken_at, expires_at, host, pid, session, \"user\")"
                 " VALUES (%s, 1, utc_timestamp(6), utc_timestamp(6) + INTERVAL 1 HOUR, 'stranger', 1, '', user())"
                 " ON DUPLICATE KEY UPDATE owner = 1, expires_at = VALUES(expires_at), host = VALUES(host), pid = VALUES(pid),"
                 " session = VALUES(session)",
    },
}
TRY_IN = {
    POSTGRES: {"advisory": b"pg_try_advisory_xact_lock", "row": b"FOR UPDATE SKIP LOCKED",
               "lease": b"INSERT INTO \"oncedrop\".lease"},
    MARIADB: {"session": b"GET_LOCK(", "row": b"FOR UPDATE SKIP LOCKED", "lease": b"INSERT INTO lease"},
}
TAKE, TRY = TAKE_IN.get(engine()), TRY_IN.get(engine())
# In what a delivery sends to claim.
CLAIM = b"INSERT INTO delivery (message, recipient" if engine() == MARIADB else b"AS d (message, recipient"
# In what it sends to claim a message if it is new, before it has read its state; then that has CLAIM in it, too.
GUARD = b"@may_claim :=" if engine() == MARIADB else b"set_config('oncedrop.may_claim', ("


def claims_if_new(site):
    return method_of(site) == "advisory" or (engine() == MARIADB and method_of(site) == "session")


def is_claim(data):
    """What a delivery sends to claim after it has read the state; prepared, perhaps."""
    return GUARD not in data and (CLAIM in data or CLAIM.hex().encode() in data)


def wait_before_the_commit(connection, side, data, event):
    """For a watch: holds up a claim's COMMIT, and what follows, until the event. Returns that; None: this has none. What is sent
    may come in pieces."""
    if side != CLIENT:
        return None
    before = getattr(connection, "sent", b"")
    connection.sent = before + data
    at = connection.sent.find(b"COMMIT\0", max(connection.sent.find(CLAIM), 0))
    if CLAIM not in connection.sent or at < 0:
        return None
    rest = max(at - len(before), 0)
    connection.sockets[SERVER].sendall(data[:rest])
    assert event.wait(20)
    return data[rest:]


def of_environment():
    """The method of tests that do not set one."""
    return os.environ.get("ONCEDROP_LOCK_METHOD") or METHODS[0]


def agree(site, method):
    """From now on deliveries use this method, as after a change on all hosts."""
    if engine() == SQLITE:
        return      # it has one
    site.settings["lock.method"] = method
    site.sql("UPDATE oncedrop.setting SET lock_method = %s WHERE lock_method <> %s", (method, method))


def method_of(site):
    return site.settings.get("lock.method") or METHODS[0]


def key_of(site, id):
    """The key that `oncedrop show` prints for any id."""
    done = site.run("show", f"<{id}>")
    found = re.search(r"^lock_key: (-?\d+)$", done.out, re.MULTILINE)
    assert found, done
    return int(found[1])


def take(site, session, key):
    """Takes it in the session's transaction, and waits while another session has it; or a lease, as if that had expired."""
    session.cursor().execute(TAKE[method_of(site)], (site.ledger.lock_name(key) if method_of(site) == "session" else key,))
    if method_of(site) == "lease":
        session.commit()


def expire(site):
    """The owner of a lease counts as dead."""
    if engine() == SQLITE:
        return      # a lock ends with its process
    site.ledger.older("lease", "expires_at", days=1)


def leave(site, session):
    session.rollback()      # after only a close the server would still hold a lock for a moment
    if method_of(site) == "session":
        session.cursor().execute("DO release_all_locks()")
    site.sql("DELETE FROM oncedrop.lease WHERE owner = 1")


def place(site, key):
    """The number under which `locks` has the lock of a message without a claim."""
    return key & (SLOTS - 1) if method_of(site) == "row" else key


@contextlib.contextmanager
def held(site, key):
    if engine() == SQLITE:
        with site.ledger.held(key):
            yield
        return
    session = site.ledger.connect()
    try:
        take(site, session, key)
        yield session
    finally:
        leave(site, session)
        session.close()


class Taker:
    """Another session that takes the message's lock between a COMMIT of its delivery and the hold that follows it in
    the same batch: after the claim, or (after=2) between inbox and Sent copy. A watch of a proxy. known: the message is
    recorded, so the first batch, which claims it if it is new, does not count."""

    def __init__(self, site, after=1, known=False):
        self.site, self.after, self.batches = site, after, -1 if known and method_of(site) == "advisory" else 0
        self.session = site.use(site.ledger.connect())
        self.pid = self.session.info.backend_pid

    def __call__(self, connection, side, data):
        hold = data.find(b"BEGIN ISOLATION", data.find(b"COMMIT")) if side == CLIENT and b"COMMIT" in data else -1
        self.batches += hold >= 0
        if hold < 0 or self.batches != self.after:
            return data
        connection.sockets[SERVER].sendall(data[:hold])
        [[key]] = wait_until(lambda: self.site.sql("SELECT lock_key FROM oncedrop.message"), "it is committed")
        take(self.site, self.session, key)
        return data[hold:]

    @property
    def has_taken(self):
        return self.batches >= self.after

    def leave(self):
        leave(self.site, self.session)
