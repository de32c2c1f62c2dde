# SPDX-License-Identifier: ISC
"""replay of many messages: killed and restarted, within limited memory; and its dry run, which predicts what then
happens to every message of the corpus. How fast it is: `make bench`.

ONCEDROP_REPLAY_MESSAGES says how many (10,000 by `make replay-load`, which also tries every dry run).

Seen to fail with: a claim that does not set doubt (copies made twice after a kill); an answer kept by the parent for
ever (memory); a dry run that forgets what it would have stored before."""

import collections
import contextlib
import json
import os
import re
import signal
import threading
import time

import expect
import pytest
from lab import corpus, lab as lab_module
from lab.messages import message, on_the_wire
from lab.process import wait_until

MESSAGES = int(os.environ.get("ONCEDROP_REPLAY_MESSAGES", "1000"))
ACCOUNTS = 20
JOBS = 4
FROM_LINE = b"From lisa@elsewhere.example Fri Aug  1 10:00:00 2025\n"
GROWTH = 256 << 10   # allowed growth in bytes of a process that repeats the same work; 8 KiB were measured, one session more takes 45
LARGEST = 64 << 20
SECONDS = 900


# Memory

def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def fields(path):
    """The numbers in a file of /proc/PID by name, in bytes; 0 for a process that is gone."""
    found = collections.Counter()
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            for line in file:
                name, _, rest = line.partition(":")
                if rest.endswith(" kB\n"):
                    found[name] = int(rest.split()[0]) << 10
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def resident(pid):
    """Bytes of anonymous memory, and its maximum so far of all memory. Anonymous pages are counted as in smaps_rollup:
    RssAnon in status lags behind by up to 64 pages for each processor that the process ran on."""
    return fields(f"/proc/{pid}/smaps_rollup")["Anonymous"], fields(f"/proc/{pid}/status")["VmHWM"]


INTERVAL, SAMPLES = 0.01, 10   # in seconds; for one process
LONGEST = 64     # times all messages


class Memory:
    """The memory of the processes of a run, sampled while it goes on."""

    def __init__(self, pid):
        self.pid = pid
        self.samples = {}   # pid: values of RssAnon, in order
        self.largest = 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.watch, daemon=True)
        self.thread.start()

    def watch(self):
        while not self.ended.wait(INTERVAL):
            for pid in [self.pid, *children(self.pid)]:
                held, peak = resident(pid)
                if held:
                    self.samples.setdefault(pid, []).append(held)
                    self.largest = max(self.largest, peak)

    def stop(self):
        self.ended.set()
        self.thread.join()
        return self

    def enough(self):
        """Whether there are enough samples for `growth`."""
        return any(len(held) >= SAMPLES for held in self.samples.values())

    def growth(self):
        """Growth in bytes of the process that grew most, between the second and the last fifth of its time."""
        def of(held):
            fifth = len(held) // 5
            return max(held[-fifth:]) - max(held[fifth:2 * fifth])
        return max(of(held) for held in self.samples.values() if len(held) >= SAMPLES)


# Messages

class Mail:
    """Small messages for all accounts in turn, in a Maildir and in an mbox."""

    def __init__(self, site, count):
        self.accounts = [site.account(f"a{number}") for number in range(ACCOUNTS)]
        self.by_account = {account: [] for account in self.accounts}
        self.maildir, self.mbox = (os.path.join(site.directory, name) for name in ("Maildir", "mbox"))
        for part in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(self.maildir, part))
        with open(self.mbox, "wb") as mbox:
            for number in range(count):
                account = self.accounts[number % ACCOUNTS]
                mail = f"Delivered-To: {account}\n".encode() + message(subject=f"Number {number}", body="Hello.\n" * 40)
                self.by_account[account].append(mail)
                mbox.write(FROM_LINE + mail + b"\n")
                with open(os.path.join(self.maildir, "new" if number % 2 else "cur", f"{number}.host"), "wb") as file:
                    file.write(mail)

    def is_there_once(self, site):
        for account, mails in self.by_account.items():
            found = sorted(stored.raw for stored in site.messages(account))
            assert found == sorted(map(on_the_wire, mails)), f"{account} has {len(found)} of {len(mails)} messages"


# Killed and restarted

def stored_copies(site):
    return site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'stored'")


def wait_for(site, run, there):
    """Waits until this many are stored, or the run is over; returns whether it is still in progress."""
    def enough():
        time.sleep(0.05)
        return stored_copies(site) >= there or run.process.poll() is not None
    wait_until(enough, f"{there} are stored", SECONDS)
    return run.process.poll() is None


def kill_all(run):
    """Kills parent and workers at once, as when the machine crashes."""
    for pid in [run.process.pid, *children(run.process.pid)]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def counts(done):
    return {name: int(number) for number, name in
            (pair.split() for pair in done.out.splitlines()[-1].split(": ")[2].split(" (")[0].split(", "))}


def all_known(times):
    return {"stored": 0, "duplicate": times * MESSAGES, "deferred": 0, "failed": 0}


def known_again(site, words, path):
    """A run that finds everything in place; longer ones until there are enough samples of its memory. What has grown since
    its second fifth may also be due to a slow start: then a longer one shows it. Its `rate` is in messages per second."""
    times = 1
    while True:
        run = site.start(*words, *[path] * (times - 1))
        memory = Memory(run.process.pid)
        done = run.finish(SECONDS)
        memory.stop()
        assert done.exit == 0 and counts(done) == all_known(times), done.err
        memory.rate = times * MESSAGES / done.seconds
        if memory.enough() and (memory.growth() < GROWTH or times >= LONGEST):
            return memory
        times *= 2


@pytest.mark.parametrize("kind", ["maildir", "mbox"])
def test_many_messages_killed_twice(site, kind, capsys):
    mail = Mail(site, MESSAGES)
    path = getattr(mail, kind)
    site.settings.update({"delivery.deadline": "20s", "delivery.hold_off": "21s", "lock.wait": "1s"})
    words = ["replay", "-j", str(JOBS), path]
    for there, kill in ((MESSAGES // 4, lambda run: run.signal(signal.SIGKILL)), (MESSAGES // 2, kill_all)):
        run = site.start(*words)
        assert wait_for(site, run, there), run.finish()
        kill(run)
        run.finish()
        site.ledger.age(seconds=15, state="appending")
    before, started = stored_copies(site), time.monotonic()
    run = site.start(*words)
    wait_for(site, run, (before + MESSAGES) // 2)   # by now every worker has its sessions, one for each account
    memory = Memory(run.process.pid)
    wait_for(site, run, MESSAGES - 10 * JOBS)
    rate = (stored_copies(site) - before) / (time.monotonic() - started)
    done = run.finish(SECONDS)
    memory.stop()
    assert done.exit == 0, done.out[-2000:] + done.err
    assert counts(done)["deferred"] == counts(done)["failed"] == 0
    mail.is_there_once(site)

    of_again = known_again(site, words, path)
    other = site.start("replay", "-j", str(JOBS), mail.mbox if kind == "maildir" else mail.maildir).finish(SECONDS)
    assert other.exit == 0 and counts(other) == all_known(1), other.err
    mail.is_there_once(site)

    grown = [one.growth() for one in (memory, of_again) if one.enough()]    # the first may have been over too soon
    with capsys.disabled():
        print(f"\nreplay of {MESSAGES} messages ({kind}): {rate:.0f}/s stored, {of_again.rate:.0f}/s known;"
              f" memory grew by {max(grown) >> 10} KiB"
              f" to {max(memory.largest, of_again.largest) >> 20} MiB at most")
    if not lab_module.is_sanitized():
        assert max(grown) < GROWTH
        assert max(memory.largest, of_again.largest) < LARGEST


# The prediction and the result

def test_the_corpus_replays_without_a_failure(site):
    scuba = site.account()
    done = site.run("replay", "-j", "4", "-d", scuba, *corpus.FILES)
    assert done.exit == 0 and counts(done)["failed"] == counts(done)["deferred"] == 0, done
    raws = {corpus.one_cr(stored.raw) for stored in site.messages(scuba)}
    assert {corpus.one_cr(on_the_wire(corpus.read(path))) for path in corpus.FILES} <= raws


def said(done, key="name"):
    """What happened, or would happen, to each message for each recipient. key="digest": to each content, since of two
    files with the same content either may become the duplicate when several are processed at a time."""
    found = collections.defaultdict(list)
    for one in map(json.loads, done.out.splitlines()):
        found[one[key] or one["name"]] += [("error", one["error"])] if one["error"] else []
        found[one[key] or one["name"]] += [tuple(to[name] for name in ("recipient", "status", "account", "mailbox"))
                                           for to in one["recipients"]]
    return {name: sorted(what) for name, what in found.items()}


def statuses(what):
    return {one[1] for all_of_it in what.values() for one in all_of_it}


class Awkward:
    """The corpus as single files, as a Maildir and as an mbox, for recipients with and without account; some of it
    known, some twice, some half done."""

    def __init__(self, site, form):
        self.site = site
        self.scuba, self.doug = site.account("scuba"), site.account("doug")
        self.stranger = "stranger@example.org"
        site.settings["route.account_query"] = f"SELECT $1 WHERE $1 IN ('{self.scuba}', '{self.doug}')"
        mails = [corpus.read(path) for path in corpus.FILES]
        self.mails = [*mails, *mails[::7], message(to=self.stranger), message(to=self.doug), message(body="")]
        self.path = os.path.join(site.directory, "awkward")
        getattr(self, form)()

    def write(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)

    def addressed(self):
        """Three of four messages name their recipients, some of them without account; duplicates name the same."""
        to = [self.scuba, self.doug, None, self.stranger]
        for number, mail in enumerate(self.mails):
            name = to[self.mails.index(mail) % 4] if not mail.startswith(b"From ") else None
            yield number, (f"Delivered-To: {name}\n".encode() if name else b"") + mail

    def directory(self):
        for number, mail in self.addressed():
            self.write(f"{number % 3}/{number:03}.{'eml' if number % 2 else 'txt'}", mail)

    def maildir(self):
        for number, mail in self.addressed():
            self.write(f"{'cur' if number % 2 else 'new'}/{number:03}.host", mail)
        self.write("cur/0", b"")

    def mbox(self):
        def quoted(mail):
            return re.sub(rb"^(?=>*From )", b">", mail, flags=re.MULTILINE)
        # Without a header its beginning could not be recognised.
        addressed = [mail for _, mail in self.addressed() if re.match(rb"[!-9;-~]+[ \t]*:|>*From ", mail)]
        self.mails = self.mails[:len(addressed)]
        self.write("mbox", b"".join(FROM_LINE + quoted(mail) + b"\n\n" for mail in addressed))

    def begin(self):
        """Every third message that has an id is already in the ledger, in each of the states it can be left in."""
        for mail in dict.fromkeys(self.mails[::3]):
            expect.stored(self.site.deliver(mail, self.scuba))
        for rest, state in enumerate(["state = 'pending'", "state = 'pending', doubt = true", "state = 'appending'",
                                      "state = 'failed'"]):
            self.site.sql(f"UPDATE oncedrop.copy SET {state}, stored_at = NULL"
                          " WHERE role = 'inbox' AND id %% 8 = %s", (rest,))
        self.site.ledger.age(days=1, state="appending")
        self.site.sql("UPDATE oncedrop.delivery SET finished_at = NULL, outcome = 'tempfail' WHERE message IN"
                      " (SELECT message FROM oncedrop.copy WHERE state IN ('pending', 'appending'))")


# Forms and numbers of jobs have nothing to do with each other: `make check-all` has each of both.
DRY_RUNS = [("directory", "1"), ("maildir", "4"), ("mbox", "4"), ("directory", "4"), ("maildir", "1"), ("mbox", "1")]


@pytest.mark.parametrize("form, jobs", DRY_RUNS if MESSAGES > 1000 else DRY_RUNS[:3])
def test_a_dry_run_says_what_then_happens_to_each_message(site, form, jobs):
    site.settings["route.sent_copy"] = "off"
    mail = Awkward(site, form)
    mail.begin()
    before = site.sql("SELECT * FROM oncedrop.copy ORDER BY id"), site.sql("SELECT * FROM oncedrop.delivery ORDER BY id")
    key = "name" if jobs == "1" else "digest"
    would = said(site.run("replay", "--dry-run", "--json", "-j", jobs, mail.path), key)
    assert before == (site.sql("SELECT * FROM oncedrop.copy ORDER BY id"),
                      site.sql("SELECT * FROM oncedrop.delivery ORDER BY id"))
    done = said(site.run("replay", "--json", mail.path), key)
    assert sum(map(len, would.values())) >= len(mail.mails)
    different = [(name, would[name], done.get(name)) for name in would if would[name] != done.get(name)]
    assert not different and would.keys() == done.keys(), "\n".join(map(str, different))
    assert statuses(done) >= {"stored", "duplicate", "failed"}
    assert "stored" not in statuses(said(site.run("replay", "--dry-run", "--json", mail.path)))
