# SPDX-License-Identifier: ISC
"""The power is cut right before and right behind every fsync(2) of PostgreSQL, Dovecot and Postfix, whose data are on disks
that forget what was not synced (lab/unsynced_disk.py). What no fsync covered may have reached them, or not: once
nothing of it, once names and modes but no data, once everything. PostgreSQL and Dovecot are started on each such state:
what was accepted is there. Then each message comes again, as from a client that got no answer, or a queue that has
forgotten that it had one, and is there once. So with a ledger in a file, which is on a separate disk and sound in each
state.

ONCEDROP_HOSTS=all takes all states; `make check-all` a few.

Seen to fail with: mail_fsync = never, by lost messages; PostgreSQL's fsync = off, and synchronous_commit = off kept
(ledger_session.c: ledger_add_begin), by doubled ones; SQLite's synchronous = NORMAL (lite_open.c: set_up), by doubled ones,
and OFF, by a file that is damaged."""

import collections
import contextlib
import glob
import os
import random
import re
import shutil
import time

import flow
import pytest
from lab import dovecot as dovecot_module, lab as lab_module, postgres as postgres_module, site as site_module, unsynced_disk
from lab import postfix as postfix_module, replica
from lab.ledger import POSTGRES, SQLITE, engine
from lab.messages import message, new_id
from lab.process import wait_until

ALL = os.environ.get("ONCEDROP_HOSTS") == "all"
SAMPLE = 3
ENOUGH = 7          # messages with which a ledger in a file writes its log back
BEGIN = "begin"     # the mark of the moment when the servers are up
ENGINES = (POSTGRES, SQLITE) if engine() == POSTGRES else (engine(),)
pytestmark = pytest.mark.skipif(unsynced_disk.missing() is not None, reason=str(unsynced_disk.missing()))

# mark: in the journal when it was accepted; places: (account, mailbox) where a copy belongs
Sent = collections.namedtuple("Sent", "mark id mail sender inboxes places")
# A point in the journal, and how much the disks had done of what no fsync covered; why: the record there
State = collections.namedtuple("State", "cut level why")


class Dovecot(dovecot_module.Dovecot):
    """With the default of mail_fsync, which is ours as well."""

    def configuration(self, **values):
        return super().configuration(**values).replace("mail_fsync = never", "mail_fsync = optimized\nmmap_disable = yes")


class Mains(lab_module.Lab):
    """Servers whose data are on disks that forget what was not synced, and a file if that is the ledger."""

    def __init__(self):
        super().__init__(unsynced_disk.fast_directory())
        self.file = engine() == SQLITE
        self.disks = unsynced_disk.Disks(os.path.join(self.directory, "disks"))
        self.__dict__["dovecot"] = self.start(Dovecot(self.directory, self.certificate))
        self.ledgers = site_module.install_schema(self)
        self.site = site_module.new_site(self, self.ledgers)
        self.site.settings.update({"imap.tls": "none", "imap.port": self.dovecot.port, "delivery.deadline": "60s",
                                   "delivery.hold_off": "70s"})
        self.end_of_all()

    def new_postgres(self):
        server = postgres_module.Postgres(self.directory)
        server.initdb_options = ["--wal-segsize=1"]
        # A delivery does not keep to the last of these.
        server.settings = {"fsync": "on", "autovacuum": "off", "min_wal_size": "2MB", "synchronous_commit": "off"}
        return server

    def move(self, path, name):
        """A directory onto a separate disk."""
        new = os.path.join(self.disks.directory, name)
        unsynced_disk.copy(path, new)   # with its owners
        shutil.rmtree(path)
        os.symlink(new, path)

    def end_of_all(self):
        """In order, so that what there is counts as durable."""
        self.dovecot.stop()
        self.move(self.dovecot.path("mail"), "dovecot")
        if self.file:
            self.site.ledger.close()
            self.move(os.path.dirname(self.site.database), "ledger")
            return
        self.postgres.end(self.postgres.stop_signal)
        self.move(self.postgres.path("data"), "postgres")

    def power_on(self):
        self.remove_locks()
        for server in self.powered():
            server.launch()
        for server in self.powered():
            wait_until(server.is_up, f"{server.name} is back")

    def power_off(self):
        """With all their processes: a lock file that Dovecot leaves names one that is dead."""
        for server in self.powered():
            replica.kill(server)
        self.site.ledger.close()

    def powered(self):
        return [self.dovecot] if self.file else [self.dovecot, self.postgres]

    def remove_locks(self):
        """Of Dovecot, which otherwise waits two minutes for one whose content, the number of a process, was not synced."""
        for path in glob.glob(os.path.join(self.disks.directory, "dovecot", "**", "*.lock"), recursive=True,
                              include_hidden=True):
            os.unlink(path)

    def complaints(self):
        """Dovecot's, about what it found."""
        return "\n".join(re.findall(r".*(?:Error|Warning|Panic|Fatal):.*", self.dovecot.new_log()))

    def stop(self):
        super().stop()
        self.disks.close()


def begin_of(journal):
    return next(number for number, one in enumerate(journal) if one.path == unsynced_disk.MARK + BEGIN)


def states_of(journal):
    """Before and behind every fsync. The last before one is the same as the first after the one before it, if nothing was
    waited for in between; levels that make no difference are left out."""
    found = []
    start = before = begin_of(journal)
    for number, one in enumerate(journal):
        if one.kind != "fsync" or number < start:
            continue
        why = f"{number} {one.path}"
        if number > before:
            found += [State(number, level, f"before {why}") for level in (unsynced_disk.NAMES, unsynced_disk.EVERYTHING)]
        found.append(State(number + 1, unsynced_disk.NOTHING, f"behind {why}"))
        before = number + 1
    return [*found, *(State(len(journal), level, "at the end") for level in unsynced_disk.LEVELS)]


def chosen(states):
    if ALL:
        return states
    return random.Random(7).sample(states[:-3], SAMPLE - 1) + states[-3:-2]


class Direct:
    """The client is a `deliver` that is repeated until it says 0."""

    def __init__(self, mains):
        self.mains, self.host = mains, flow.Host("host", mains.site)
        lisa = mains.site.account("lisa")
        count = ENOUGH if mains.file else 3
        self.mails = [self.compose(number, lisa if number > 1 else None) for number in range(1, count + 1)]

    def compose(self, number, sender=None):
        inbox = self.mains.site.account(f"power{number}")
        places = [(inbox, "INBOX")] + ([(sender, "Sent")] if sender else [])
        sender = sender or "lisa@elsewhere.example"
        id = new_id()
        mail = message(sender=sender, to=inbox, id=id, body=f"Number {number}.\n" * 300)
        return Sent(f"accepted.{number}", id.encode(), mail, sender, [inbox], places)

    def send(self, one):
        said = []

        def accepted():
            said.append(self.host.deliver(one.mail, *one.inboxes, sender=one.sender))
            if said[-1][0]:
                end_hold_offs(self.mains.site)
            return not said[-1][0]
        try:
            wait_until(accepted, f"{one.mark} is accepted", 30)
        except TimeoutError as error:
            raise TimeoutError(f"{error}: {said}\n{self.mains.complaints()}") from None

    def finish(self):
        """All that was accepted has been delivered."""

    def power_on(self):
        """The machine of the client loses nothing."""

    power_off = close = finish


class ByPostfix:
    """The client sends by SMTP, and repeats what was not answered."""

    def __init__(self, mains):
        self.mains, self.postfix = mains, postfix_module.Postfix(mains.site, "pipe")
        mains.move(self.postfix.path("queue"), "postfix")
        self.mails = [self.compose(number) for number in (1, 2)]

    def compose(self, number):
        inboxes = self.postfix.accounts(2)
        id = new_id()
        mail = message(to=", ".join(inboxes), id=id, body=f"Number {number}.\n" * 300)
        places = [(one, "INBOX") for one in inboxes]
        return Sent(f"accepted.{number}", id.encode(), mail, "lisa@elsewhere.example", inboxes, places)

    def send(self, one):
        self.postfix.send(one.mail, one.inboxes)

    def finish(self):
        end = time.monotonic() + 60
        self.postfix.wait_idle()
        while not self.postfix.is_empty():
            if time.monotonic() > end:
                raise TimeoutError(f"still queued: {self.postfix.log()[-4000:]}\n{self.mains.complaints()}")
            end_hold_offs(self.mains.site)
            with contextlib.suppress(TimeoutError):
                self.postfix.flush(2)
        assert not self.postfix.bounces()

    def power_on(self):
        if self.postfix.port:
            self.postfix.command("postsuper")       # as `postfix start' does
        self.postfix.start()

    def power_off(self):
        replica.kill(self.postfix)

    def close(self):
        self.postfix.close()


WAYS = {"deliver": Direct, "postfix": ByPostfix}


def accepted_until(journal, cut):
    return {record.path[len(unsynced_disk.MARK):] for record in journal[:cut] if record.path.startswith(unsynced_disk.MARK)}


def find_wrong(mains, mails, state, when, needed):
    """What of these is not there once. needed: whether it must be there at all."""
    for one in mails:
        for account, mailbox in one.places:
            count = sum(one.id in stored.raw for stored in mains.site.messages(account, mailbox))
            if count > 1 or (needed(one) and not count):
                yield f"{state}, {when}: {one.mark}: {account} {mailbox} has it {count} times"


def end_hold_offs(site):
    """What was under way is old, as if it had taken long to start everything again."""
    site.ledger.age(hours=1, state="appending")


@pytest.mark.parametrize("of_engine, name", [
    (one, name) for one in ENGINES for name in WAYS
    if name == "deliver" or (one == POSTGRES and not postfix_module.missing())])
def test_power_cut(saw, monkeypatch, of_engine, name):
    monkeypatch.setenv("ONCEDROP_ENGINE", of_engine)
    with contextlib.ExitStack() as stack:
        mains = Mains()
        stack.callback(mains.stop)
        way = WAYS[name](mains)
        stack.callback(way.close)
        journal = record(mains, way)
        assert not mains.file or is_written_back(journal)
        states = chosen(states_of(journal))
        wrong = []
        for state in states:
            wrong += try_state(mains, way, journal, state)
    synced = collections.Counter(unsynced_disk.disk(one) for one in journal[begin_of(journal):] if one.kind == "fsync")
    saw(f"power cut, {of_engine}, by {name}: {len(states)} states around {sum(synced.values())} syncs {dict(synced)},"
        f" {len(wrong)} lost or doubled")
    assert not wrong, "\n".join(wrong)


def record(mains, way):
    """Delivers everything once; returns the journal of the disks."""
    mains.disks.start()
    mains.power_on()
    way.power_on()
    mains.disks.mark(BEGIN)
    for one in way.mails:
        way.send(one)
        mains.disks.mark(one.mark)
    way.finish()
    way.power_off()
    mains.power_off()
    mains.disks.stop()
    if not mains.file:
        mains.postgres.settings["fsync"] = "off"    # from now on it only takes time
    return mains.disks.journal()


def is_written_back(journal):
    return any(one.kind == "write" and one.path.endswith("/ledger.db") for one in journal[begin_of(journal):])


def try_state(mains, way, journal, state):
    mains.disks.put(journal[:state.cut], state.level)
    accepted = accepted_until(journal, state.cut)
    mains.power_on()
    wrong = [f"{state}: the ledger: {line}" for line in mains.site.ledger.damage()]
    end_hold_offs(mains.site)
    way.power_on()
    way.finish()
    wrong += find_wrong(mains, way.mails, state, "accepted", lambda one: one.mark in accepted)
    for one in way.mails:
        way.send(one)
    way.finish()
    wrong += find_wrong(mains, way.mails, state, "again", lambda one: True)
    way.power_off()
    mains.power_off()
    return wrong
