# SPDX-License-Identifier: ISC
"""Deliveries of the program under test while a later one (tests/upgrade) upgrades the ledger, as on two hosts of which one is upgraded
first.

Seen to fail with: an upgrade after which the ledger refuses what an older program writes, or that waits for locks without limit."""

import collections
import itertools
import threading

import expect
import pytest
from lab import lmtp
from lab.ledger import SQLITE, engine
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import CLIENT
from lab.versions import LATER, Versions


@pytest.fixture
def versions(site, monkeypatch):
    return Versions(site, monkeypatch)


class Beside:
    """Deliveries of the program under test to one account, while a later one upgrades the ledger."""

    def __init__(self, site, versions):
        self.site, self.later = site, versions.program(LATER)
        self.account = site.account()
        self.mails, self.results = [], []
        self.open, self.waiting = threading.Event(), itertools.count(1)
        self.count = 0

    def new(self):
        self.mails.append(message(to=self.account))
        return self.mails[-1]

    def hold_up(self, count):
        """Starts this many deliveries; returns them when each is about to send its message."""
        def watch(_connection, side, data):
            if side == CLIENT and b" APPEND " in data and not self.open.is_set():
                self.count = next(self.waiting)
                assert self.open.wait(100)
            return data
        port = self.site.settings["imap.port"]
        self.site.settings.update({"imap.port": self.site.imap.port, "imap.tls": "none"})
        self.site.imap_proxy(watch)
        running = [self.site.start_delivery(self.new(), self.account) for _ in range(count)]
        wait_until(lambda: self.count == count, "all are held up")
        self.site.settings.update({"imap.port": port, "imap.tls": None})
        return running

    def go_on(self, ended):
        """Delivers until then."""
        while not ended.is_set():
            self.results.append(self.site.deliver(self.new(), self.account))


def test_deliveries_of_the_older_program(site, versions):
    """Before, during and after the upgrade, also by a session that is kept, and by some that are about to send their message: none is
    lost, stored twice, or fails otherwise than by a deferral. Then hosts with both programs get the same messages."""
    beside, ended = Beside(site, versions), threading.Event()
    session = lmtp.start(site)
    lmtp.stored(session.deliver(beside.new(), beside.account)[0])
    running = beside.hold_up(4)
    busy = [threading.Thread(target=beside.go_on, args=(ended,)) for _ in range(2)]
    for thread in busy:
        thread.start()
    try:
        wait_until(lambda: len(beside.results) > 3, "deliveries before it")
        upgrade = versions.start_as_owner("ledger", "upgrade", program=beside.later)
        wait_until(lambda: upgrade.ended or site.ledger.waiting_sessions(), "it has begun")
        beside.open.set()
        done = upgrade.finish()
        after = len(beside.results)
        wait_until(lambda: len(beside.results) > after + 3, "deliveries after it")
    finally:
        beside.open.set()
        ended.set()
        for thread in busy:
            thread.join()
    assert done.exit == 0 and done.out.endswith(f" to {LATER}\n"), done
    results = [one.finish() for one in running] + beside.results
    for result in results:
        (expect.stored if result.exit == 0 else expect.deferred)(result)
    expect.stored(results[-1])
    lmtp.stored(session.deliver(beside.new(), beside.account)[0])
    beside.new()
    both_deliver(beside)


@pytest.mark.skipif(engine() == SQLITE, reason="what reads a file is not waited for")
def test_deliveries_wait_behind_it_only_briefly(site, versions):
    """A statement that reads a table for a long time holds up the upgrade, but not the deliveries that come after it."""
    account, mail = site.account(), message()
    reader = site.ledger.connect()
    cursor = reader.cursor()
    cursor.execute("SELECT count(*) FROM oncedrop.copy")
    cursor.fetchall()
    upgrade = versions.start_as_owner("ledger", "upgrade", program=versions.program(LATER))
    wait_until(site.ledger.waiting_sessions, "it waits for the reader")
    wait_until(lambda: site.deliver(mail, account).exit == 0, "the message is stored", seconds=100)
    assert not upgrade.ended and [stored.raw for stored in site.messages(account)] == [on_the_wire(mail)]
    reader.rollback()
    reader.close()
    done = upgrade.finish()
    assert done.exit == 0 and done.out.endswith(f" to {LATER}\n"), done


def both_deliver(beside):
    site = beside.site
    site.ledger.age(hours=1, state="appending")
    site.settings["lock.wait"] = "20s"
    for mail in beside.mails:
        both = [site.start_delivery(mail, beside.account, program=program) for program in (None, beside.later)]
        assert [one.finish().exit for one in both] == [0, 0], [one.finish() for one in both]
        expect.duplicate(site.deliver(mail, beside.account))
    there = collections.Counter(stored.raw for stored in site.messages(beside.account))
    assert there == dict.fromkeys(map(on_the_wire, beside.mails), 1)
