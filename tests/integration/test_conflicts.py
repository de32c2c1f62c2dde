# SPDX-License-Identifier: ISC
"""Another transaction was first (error 1213: a deadlock, or the nodes of a Galera cluster), and ours is certainly undone: the
delivery is deferred as for a held lock, and the next one makes one copy; a result is recorded all the same.

Seen to fail with: a COMMIT that conflicts taken for one whose end is not known, or for trouble (ledger_claim.c, ledger_state.c)."""

import functools

import expect
import pytest
from lab import lab as lab_module, locks
from lab.messages import message
from lab.proxy import CLIENT

pytestmark = pytest.mark.mariadb

SIGNAL = b"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'Deadlock found'"
COMMIT = b"COMMIT;\nEND"     # at the end of a compound statement


class Conflict:
    """In the first packet with this word, the statement that begins with the other one, and what follows, conflicts. known: not
    in what claims a message if it is new."""

    def __init__(self, site, word, statement, known=False):
        self.word, self.statement, self.known, self.met = word, statement, known, False
        site.database_proxy(self)

    def __call__(self, _connection, side, data):
        at = data.find(self.statement)
        there = self.word in data or self.word.hex().encode() in data      # in what is prepared
        if self.met or side != CLIENT or not there or at < 0 or (self.known and locks.GUARD in data):
            return data
        self.met = True
        packet = data[4:at] + SIGNAL + (b";\nEND" if self.statement == COMMIT else b"")
        assert len(data) == 4 + int.from_bytes(data[:3], "little"), "this is no whole packet"
        return len(packet).to_bytes(3, "little") + data[3:4] + packet


@pytest.fixture(params=["session", "row", "lease"])
def method(site, request):
    locks.agree(site, request.param)
    return request.param


def finish(site, conflict, mail, scuba, text):
    """The delivery is deferred, and its retry stores the message."""
    done = site.deliver(mail, scuba)
    expect.held(done)
    assert conflict.met and text in done.out
    assert site.value("SELECT sum(count) FROM oncedrop.event WHERE name = 'busy'") == 1
    assert site.count(scuba) == 0
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


@pytest.mark.usefixtures("method")
def test_in_the_look(site):
    """Of a message that is known: with some methods a new one is claimed without a look."""
    scuba, mail = site.account(), message()
    expect.stored(site.deliver(mail, site.account("other")))
    conflict = Conflict(site, b"FROM setting", b"SELECT lock_method")
    finish(site, conflict, mail, scuba, "")


def test_in_the_guard(site):
    """The delivery goes on as if it had not tried."""
    scuba = site.account()
    conflict = Conflict(site, b"FROM setting", b"SELECT @may_claim")
    expect.stored(site.deliver(message(), scuba))
    assert conflict.met and site.count(scuba) == 1


@pytest.mark.usefixtures("method")
def test_in_the_commit_of_the_claim(site):
    scuba = site.account()
    conflict = Conflict(site, b"INSERT INTO copy", COMMIT)
    finish(site, conflict, message(), scuba, "Deadlock found")
    assert site.value("SELECT max(generation) FROM oncedrop.copy") == 1


@pytest.mark.usefixtures("method")
def test_in_the_claim(site):
    scuba = site.account()
    site.sql("CREATE TRIGGER oncedrop.conflicts BEFORE INSERT ON oncedrop.attempt FOR EACH ROW " + SIGNAL.decode())
    mail = message()
    expect.held(site.deliver(mail, scuba))
    site.sql("DROP TRIGGER oncedrop.conflicts")
    assert site.value("SELECT count(*) FROM oncedrop.message") == 0
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


@pytest.mark.usefixtures("method")
def test_in_the_recording_of_the_result(site):
    """It is recorded by a second transaction."""
    scuba = site.account()
    conflict = Conflict(site, b"UPDATE copy SET feeds = CASE", b"BEGIN NOT ATOMIC\nUPDATE delivery")
    expect.stored(site.deliver(message(), scuba))
    assert conflict.met
    assert site.value("SELECT state FROM oncedrop.copy") == "stored"
    assert site.value("SELECT count(*) FROM oncedrop.lease") == 0


@pytest.mark.usefixtures("method")
def test_where_only_an_answer_is_recorded(site):
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    conflict = Conflict(site, b"INSERT INTO attempt", b"BEGIN NOT ATOMIC", known=True)
    expect.held(site.deliver(mail, scuba))
    assert conflict.met
    expect.duplicate(site.deliver(mail, scuba))


def test_in_the_leases_of_a_purge(site):
    """None of them counts: what is delivered elsewhere just now stays."""
    locks.agree(site, "lease")
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    site.ledger.older("message", "received_at", days=100)
    site.ledger.older("delivery", "last_at", days=100)
    conflict = Conflict(site, b"INSERT INTO lease", b"\nCOMMIT")
    through = site.settings["database.conninfo"].replace(f"{lab_module.DELIVERY}:{lab_module.DELIVERY}", f"{lab_module.OWNER}:{lab_module.OWNER}")
    purge = functools.partial(site.run, "purge", "--older-than", "30d", options=["-o", f"database.conninfo={through}"])
    done = purge()
    assert conflict.met and done.exit != 0 and "Deadlock found" in done.err, done
    assert site.value("SELECT count(*) FROM oncedrop.message") == 1
    done = purge()
    assert done.exit == 0 and site.value("SELECT count(*) FROM oncedrop.message") == 0, done


def test_in_the_lease_of_a_check(site):
    """It says so, and not that the lock is granted twice, or never."""
    locks.agree(site, "lease")
    conflict = Conflict(site, b"INSERT INTO lease", b"\nCOMMIT")
    said = " ".join(site.check().out.split())
    assert conflict.met and "Deadlock found" in said and "cannot be used here" not in said, said
