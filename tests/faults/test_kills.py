# SPDX-License-Identifier: ISC
"""Twenty writers of one ledger in a file are killed at any moment, and started again, until all that they deliver is
accepted: nothing is lost or doubled, and the file is sound after each round of kills.

Each writer is an LMTP session with several messages. Each message comes by three of them: for two recipients, and for one
of these once more; all three would make its Sent copy. Between two rounds no process has the file open, as after the death of
all of a host's processes. What is checked is a copy of it with its log; the next process has to recover that.

ONCEDROP_KILLS says how many; with ONCEDROP_FAULTS=all 10,000.

Seen to fail with: what is under way taken for undone (state.sql: state_copies), doubled; a page of the file overwritten,
damaged. That a lock excludes is for others to see: without it the claims' conditions are enough here."""

import collections
import concurrent.futures
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import time

import death
import pytest
from bench import PATIENT, Bench, Wrong, check_ledger, judge
from lab.keeping_imap import KeepingImap
from lab.lmtp import stuffed
from lab.messages import message, on_the_wire

pytestmark = pytest.mark.sqlite

KILLS = int(os.environ.get("ONCEDROP_KILLS") or (10_000 if os.environ.get("ONCEDROP_FAULTS") == "all" else 200))
ROUND = 100         # kills between two looks at the file
WRITERS = 20
SESSION = 5         # messages of a writer

# One way of a message to one mailbox; said: the reply that has accepted it.
Job = collections.namedtuple("Job", "sender inbox mail")

# By a process that ends without closing the file: the last one that closes it writes the log back.
MAKE_OLD = """import os, sys
sys.path.insert(0, sys.argv[1])
from lab.ledger import SqliteLedger
SqliteLedger(sys.argv[2]).age(hours=1, state="appending")
os._exit(0)"""


class Writers:
    def __init__(self, site, random):
        self.site, self.random = site, random
        self.server = KeepingImap()
        bench = Bench(site)
        self.words = [*bench.program, *bench.by_port(self.server.port), *PATIENT, "lmtp"]
        site.ledger.close()
        self.jobs, self.later = collections.deque(), []     # later: when what was under way is old
        self.made, self.accepted = [], {}
        self.kills = 0
        self.lives = collections.deque([0.3], 50)       # seconds of those that were not killed

    def make(self):
        """Another message, by three ways."""
        number = len(self.made)
        sender, one, other = (f"{name}{number}@example.org" for name in ("s", "a", "b"))
        mail = message(sender=sender, to=f"{one}, {other}", body=f"{number}\n" * self.random.choice((1, 10, 5000)))
        self.made.append((sender, (one, other), mail))
        jobs = [Job(sender, inbox, mail) for inbox in (one, other, one)]
        self.random.shuffle(jobs)
        return jobs

    def take(self):
        """What the next writer has to deliver."""
        if len(self.jobs) < SESSION and self.kills < KILLS:
            made = [self.make() for _ in range(SESSION * WRITERS // 3)]
            for ways in zip(*made):     # so that those of one message are taken by several at once
                self.jobs.extend(ways)
        return [self.jobs.popleft() for _ in range(min(SESSION, len(self.jobs)))]

    def run(self, jobs, life=None):
        """One writer; it is killed after this many seconds."""
        lines = b"LHLO x\r\n" + b"".join(
            f"MAIL FROM:<{job.sender}>\r\nRCPT TO:<{job.inbox}>\r\nDATA\r\n".encode() + stuffed(job.mail) for job in jobs)
        begun = time.monotonic()
        with subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd="/",
                              env=death.environment()) as child:
            try:
                out, _ = child.communicate(lines + b"QUIT\r\n", life)
            except subprocess.TimeoutExpired:
                child.kill()
                out, _ = child.communicate()
        if child.returncode == 0:
            self.lives.append(time.monotonic() - begun)
        # One reply to each message: the line behind the one that asks for it.
        replies = re.findall(rb"^354 .*\r\n(\d{3}) (.*)\r\n", out, re.MULTILINE)
        for job, (code, text) in zip(jobs, replies):
            if code == b"250":
                self.accepted[job] = text
        self.later += [job for job in jobs if job not in self.accepted]
        return child.returncode

    def round(self, pool):
        """Until this many were killed, and the server has all that they had sent."""
        end = min(KILLS, self.kills + ROUND)
        while self.kills < end:
            usual = sorted(self.lives)[len(self.lives) // 2]
            lives = [self.random.uniform(0, 1.2 * usual) for _ in range(WRITERS)]
            statuses = list(pool.map(self.run, [self.take() for _ in lives], lives))
            self.kills += sum(status < 0 for status in statuses)
            odd = [status for status in statuses if status not in (0, 75, -9)]
            assert not odd, odd
        self.server.wait_idle()
        self.go_on()

    def go_on(self):
        """All that was under way is old."""
        tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        subprocess.run([sys.executable, "-B", "-c", MAKE_OLD, tests, self.site.database], check=True)
        self.jobs.extendleft(self.later)
        self.later.clear()

    def finish(self, pool):
        """Without kills."""
        self.kills = KILLS
        end = time.monotonic() + 120
        while self.jobs:
            assert time.monotonic() < end, list(self.jobs)
            statuses = list(pool.map(self.run, [self.take() for _ in range(WRITERS)]))
            assert set(statuses) == {0}, statuses
            if not self.jobs and self.later:
                self.go_on()

    def judge(self):
        """The first thing that is wrong with each message, if anything."""
        kept = self.server.kept
        for sender, inboxes, mail in self.made:
            for account, mailbox in [(inbox, "INBOX") for inbox in inboxes] + [(sender, "Sent")]:
                found = kept[account, mailbox]
                wrong = judge(f"{account} {mailbox}", mail[:200], len(found)) or \
                    (found[0] != on_the_wire(mail) and Wrong("lost", f"{account} {mailbox} has other bytes"))
                if wrong:
                    yield wrong
                    break


def damage(path, directory):
    """What is wrong with a copy of the file and its log, which no process has open."""
    for suffix in ("", "-wal"):
        shutil.copy(path + suffix, os.path.join(directory, f"copy.db{suffix}"))
    copy = sqlite3.connect(os.path.join(directory, "copy.db"))
    try:
        found = [*copy.execute("PRAGMA integrity_check"), *copy.execute("PRAGMA foreign_key_check")]
    except sqlite3.Error as error:
        found = [error]
    finally:
        copy.close()
    return [str(row) for row in found if row != ("ok",)]


def test_killed_writers(site, tally):
    writers = Writers(site, random.Random(KILLS))
    site.use(writers.server)
    wrong = []
    with concurrent.futures.ThreadPoolExecutor(WRITERS) as pool:
        while writers.kills < KILLS:
            writers.round(pool)
            wrong += [Wrong("other", f"damaged after {writers.kills} kills: {line}")
                      for line in damage(site.database, site.directory)]
        writers.finish(pool)
    wrong += writers.judge()
    tally("killed writers", writers.kills, wrong)
    tally("messages of killed writers", len(writers.made), [])
    check_ledger(site)
    assert site.run("locks").out == "no delivery is in progress\n"
