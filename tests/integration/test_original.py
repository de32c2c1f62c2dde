# SPDX-License-Identifier: ISC
"""The scheme that this program began with, on MariaDB: lisa writes to scuba and doug, Postfix runs a process for each of them at
once. Both ask for one lock by its name (GET_LOCK, for up to 10 s). Each recipient gets the message once, and lisa's Sent
mailbox has it once. This holds also if the lock is not released, or if the holder or its connection is killed, in each step, as
by pt-kill(1).

Seen to fail with: a lock that every delivery gets (lock_granted, ledger_take_hold), where two ask at once; a copy in doubt that
is not searched for (plan.c: append_or_search), where the holder is killed; a settling taken for committed regardless of its COMMIT
(ledger_settle.c: take_settling), by each way to KILL its connection."""

import hashlib
import signal
import threading
import time

import expect
import pytest
from lab.messages import message, new_id
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER

pytestmark = pytest.mark.mariadb

FORGOTTEN = {b"RELEASE_LOCK(": b"IS_FREE_LOCK(", b"RELEASE_ALL_LOCKS()": b"SLEEP(000000000000)"}   # as long, and to no effect


def lock_key(id):
    """The first 8 bytes of the message's identity."""
    return int.from_bytes(hashlib.sha256(b"oncedrop\0" + id.encode()).digest()[:8], "big", signed=True)


class Letter:
    """From lisa, to scuba and doug."""

    def __init__(self, site, people):
        self.site, (self.lisa, *self.recipients) = site, people
        self.id = new_id()
        self.mail = message(sender=self.lisa, to=", ".join(self.recipients), id=self.id)

    def start(self):
        """What Postfix starts: a process for each recipient."""
        return [self.site.start_delivery(self.mail, recipient, sender=self.lisa) for recipient in self.recipients]

    def holder(self):
        """The number of the session that has the lock, or None."""
        return self.site.ledger.locker(lock_key(self.id))

    def retry(self, done):
        """What Postfix does with those that were deferred, long after the hold-off."""
        for recipient, one in zip(self.recipients, done):
            for _ in range(5):
                if one.exit == 0:
                    break
                expect.deferred(one)
                self.site.ledger.age(hours=1, state="appending")
                one = self.site.deliver(self.mail, recipient, sender=self.lisa)
            assert one.exit == 0, one

    def is_there_once(self, count=1):
        """In each mailbox, in addition to what was there before; and the lock is free."""
        places = [*((recipient, "INBOX") for recipient in self.recipients), (self.lisa, "Sent")]
        assert [self.site.count(*place) for place in places] == [count] * 3
        assert self.site.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0
        wait_until(lambda: self.holder() is None, "the lock is free")


@pytest.fixture
def people(site):
    site.settings.update({"lock.method": "session", "lock.wait": "10s", "imap.tls": "none", "imap.port": site.lab.dovecot.port})
    return [site.account(name) for name in ("lisa", "scuba", "doug")]


@pytest.fixture
def letter(site, people):
    return Letter(site, people)


class Meeting:
    """The first APPEND is not answered before both processes have asked for the lock."""

    def __init__(self, site, watch=None):
        self.asked, self.watch = {}, watch
        site.imap_proxy(self.hold_up)
        site.database_proxy(self.count)

    def hold_up(self, _connection, side, data):
        if side == SERVER and b"APPENDUID" in data:
            wait_until(lambda: len(self.asked) > 1, "both have asked for the lock", 60)
        return data

    def count(self, connection, side, data):
        if side == CLIENT and b"GET_LOCK(" in data:
            self.asked[connection.number] = True
        return self.watch(data) if self.watch else data


def test_two_at_once(site, letter):
    meeting = Meeting(site)
    for done in [one.finish() for one in letter.start()]:
        expect.stored(done)
    assert len(meeting.asked) == 2
    letter.is_there_once()


def test_only_one_has_the_lock(site, letter):
    held = letter.site.ledger.connect()
    cursor = held.cursor()
    cursor.execute("SELECT GET_LOCK(%s, 10)", (site.ledger.lock_name(lock_key(letter.id)),))
    site.settings["lock.wait"] = "0s"
    for done in [one.finish() for one in letter.start()]:
        expect.held(done)
    assert letter.holder() == held.number
    held.close()
    wait_until(lambda: letter.holder() is None, "the session's end frees it")
    letter.retry([one.finish() for one in letter.start()])
    letter.is_there_once()


def test_whoever_waits_asks_once(site, letter):
    """Seen to fail with: a lock that is polled."""
    asked = []

    def count(_connection, side, data):
        asked.extend([data] * (side == CLIENT and b"GET_LOCK(" in data))
        return data
    held = site.ledger.connect()
    held.cursor().execute("SELECT GET_LOCK(%s, 10)", (site.ledger.lock_name(lock_key(letter.id)),))
    site.database_proxy(count)
    running = site.start_delivery(letter.mail, letter.recipients[0], sender=letter.lisa)
    wait_until(lambda: site.ledger.waiting_sessions() == 1, "it waits")
    time.sleep(0.5)     # not a condition: some time in which it could ask again
    held.close()
    expect.stored(running.finish())
    assert len(asked) == 2      # to claim the message as a new one, without waiting; then it waits


def test_a_waiter_that_is_killed_waits_no_more(site, letter):
    held = site.ledger.connect()
    held.cursor().execute("SELECT GET_LOCK(%s, 10)", (site.ledger.lock_name(lock_key(letter.id)),))
    site.settings.update({"lock.wait": "200s", "delivery.deadline": "250s"})
    running = site.start_delivery(letter.mail, letter.recipients[0], sender=letter.lisa)
    wait_until(lambda: site.ledger.waiting_sessions() == 1, "it waits")
    running.signal(signal.SIGKILL)
    assert running.finish().exit == -signal.SIGKILL
    wait_until(lambda: site.ledger.waiting_sessions() == 0, "the server has noticed", 30)
    assert letter.holder() == held.number
    held.close()
    letter.retry([one.finish() for one in letter.start()])
    letter.is_there_once()


def test_with_the_release_forgotten(site, letter):
    forgotten = []

    def forget(data):
        for word, other in FORGOTTEN.items():
            assert len(word) == len(other)
            forgotten.extend([word] * data.count(word))
            data = data.replace(word, other)
        return data
    Meeting(site, forget)
    for done in [one.finish() for one in letter.start()]:
        expect.stored(done)
    assert forgotten
    letter.is_there_once()


def test_with_the_holder_killed(site, letter):
    reached, went_on = threading.Event(), threading.Event()

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not reached.is_set():
            reached.set()
            went_on.wait(60)
        return data
    site.imap_proxy(watch)
    running = letter.start()
    assert reached.wait(60)
    number = letter.holder()
    pids = [one.process.pid for one in running]
    [pid] = {pid for pid, in site.sql("SELECT pid FROM oncedrop.copy WHERE state = 'appending'")} & set(pids)
    assert number is not None
    running[pids.index(pid)].signal(signal.SIGKILL)
    wait_until(lambda: letter.holder() != number, "the lock went with its session")
    went_on.set()
    done = [one.finish() for one in running]
    assert done[pids.index(pid)].exit == -signal.SIGKILL
    done[pids.index(pid)] = site.deliver(letter.mail, letter.recipients[pids.index(pid)], sender=letter.lisa)
    letter.retry(done)
    letter.is_there_once()


class Killer:
    """KILLs the session that has the lock of a letter after this many packets from a side of the connections to the server."""

    def __init__(self, site, letter, side, number):
        self.site, self.letter, self.side, self.number = site, letter, side, number
        self.seen, self.killed, self.mutex = 0, 0, threading.Lock()

    def __call__(self, _connection, side, data):
        with self.mutex:
            self.seen += side == self.side
            if side == self.side and self.seen == self.number:
                holder = self.letter.holder()
                self.killed += holder is not None and self.site.ledger.server.kill(holder)
        return data


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_with_the_holder_s_connection_killed_in_each_step(site, people, side):
    """Before a statement arrives, or before its answer does."""
    right, steps, killed = dict(site.settings), 0, 0
    while True:
        steps += 1
        letter = Letter(site, people)
        killer = Killer(site, letter, side, steps)
        site.database_proxy(killer)
        done = [one.finish() for one in letter.start()]
        site.close_used()
        site.settings = dict(right)
        letter.retry(done)
        letter.is_there_once(steps)
        killed += killer.killed
        if killer.seen < steps:
            break
    assert killed > 5, f"{killed} sessions killed in {steps} steps"
