# SPDX-License-Identifier: ISC
"""Deliveries to disturb, and what must be true once they were repeated until they succeeded.

With PostgreSQL every statement goes through a real PgBouncer in transaction mode whose pool is smaller than the number of
deliveries under way, unless a test asks for direct connections. Hold-off and deadline are a few seconds by configuration;
nothing here waits for time to pass as such."""

import collections
import concurrent.futures
import itertools
import os
import re
import signal
import subprocess
import threading
import time

import death
from lab import lab as lab_module, locks, second_imap
from lab.ledger import POSTGRES, SQLITE, engine
from lab.messages import message, on_the_wire
from lab.pgbouncer import PgBouncer
from lab.process import wait_until

AT_ONCE = 16        # most of the time is spent waiting for hold-offs
POOL = 3            # connections to PostgreSQL for all of them
NUMBERS = itertools.count(1)
ENCODED = "=?utf-8?q?Hello?="       # a subject that takes a child to decode
STARTING = threading.Lock()
AGAIN = threading.Semaphore(6)      # further tries at a time: more would take longer than the deadline on a slow machine
# Options of a run that has to come to its end, or to its point, at once, however busy the machine is.
PATIENT = ("-o", "delivery.deadline=60s", "-o", "delivery.hold_off=70s", "-o", "imap.timeout=30s")

# A command that is repeated until succeeded(done). statuses: allowed exit statuses. parallel: a case that runs at the
# same time. ledger: one that only this case uses.
Case = collections.namedtuple("Case", "words stdin mail inboxes sent succeeded statuses parallel ledger",
                              defaults=((0, 75), None, None))

# What went wrong; kind: "lost", "doubled", "false duplicate" or "other" (a bounce, no success in time, ...).
Wrong = collections.namedtuple("Wrong", "kind text")
UNREACHED = "unreached"     # kind of a point that no try came to


def unreached(done):
    return Wrong(UNREACHED, f"the dialogue never came to it: {done}")


def pooler(lab):
    """The lab's small PgBouncer."""
    with STARTING:
        if not hasattr(lab, "small_pool"):
            users = {role: role for role in lab_module.ROLES}
            lab.small_pool = lab.start(PgBouncer(lab.directory, lab.postgres, users, POOL, "small-pool"))
        return lab.small_pool


class Bench:
    """Cases of one scenario, each with its own accounts on the site's IMAP server, and on a second one."""

    def __init__(self, site, direct=False, south=False):
        """direct: without PgBouncer. south: with a second IMAP server, which takes tokens."""
        self.site = site
        self.south = site.lab.start(second_imap.SecondImap(site.lab)) if south else None
        if south:
            site.settings.update(self.south.settings(self.south.port))
        site.settings.update({"delivery.deadline": "4s", "delivery.hold_off": "5s", "imap.port": site.imap.port,
                              "imap.tls": "none", "imap.timeout": "3s", "feed all.role": "both"})
        if engine() == POSTGRES:
            database = site.lab.postgres if direct else pooler(site.lab)
            site.settings["database.conninfo"] = self.conninfo(database.port)
        self.deaths = []    # the command lines that SIGKILL ended, of run_spoilt
        self.configuration = site.write("oncedrop.conf", site.configuration())
        self.program = [lab_module.program(), "-c", self.configuration]

    def conninfo(self, port):
        return self.site.database_server.conninfo(self.site.database, lab_module.DELIVERY, port=port)

    def account(self, south=False):
        address = f"{'s' if south else 'f'}{next(NUMBERS):05}.{os.getpid()}@example.org"
        self.server_of(address).add_account(address)
        if south:
            self.south.renew([address], 3600)
        return address

    def server_of(self, account):
        return self.south if self.south and second_imap.has(account) else self.site.imap

    def command(self, *arguments, mail, inboxes, sent=None, stdin=b"", **more):
        """Any command of the program, to be repeated until it exits 0 and those mailboxes contain that message."""
        return Case([*self.program, *arguments], stdin, mail, inboxes, sent, lambda done: done.returncode == 0, **more)

    def with_options(self, case, *options):
        """The words of the case's command with more options."""
        size = len(self.program)
        return [*case.words[:size], *options, *case.words[size:]]

    def by_port(self, port):
        """Options for another port of an IMAP server that is already known; otherwise it would be examined first."""
        self.site.trust_server(port)
        return ["-o", f"imap.port={port}"]

    def deliver(self, sent=True, recipients=1):
        """`deliver`; the message goes to this many recipients, and this delivery is for the first."""
        inboxes = [self.account() for _ in range(recipients)]
        sender = self.account() if sent else "lisa@elsewhere.example"
        mail = message(subject=ENCODED, sender=sender, to=", ".join(inboxes))
        return self.command("deliver", "-f", sender, "-d", inboxes[0], stdin=mail, mail=mail, inboxes=inboxes[:1],
                            sent=sender if sent else None)

    def two_recipients(self):
        """Two concurrent deliveries of one message, one of which makes the Sent copy. Each waits for the lock."""
        inboxes, sender = [self.account(), self.account()], self.account()
        mail = message(subject=ENCODED, sender=sender, to=", ".join(inboxes))
        words = [["-o", "lock.wait=2s", "deliver", "-f", sender, "-d", inbox] for inbox in inboxes]
        second = self.command(*words[1], stdin=mail, mail=mail, inboxes=inboxes[1:])
        return self.command(*words[0], stdin=mail, mail=mail, inboxes=inboxes[:1], sent=sender, parallel=second)

    def crowd(self, count):
        """Concurrent deliveries of one message to this many recipients, of which each would make the Sent copy."""
        inboxes, sender = [self.account() for _ in range(count)], self.account()
        mail = message(subject=ENCODED, sender=sender, to=", ".join(inboxes))
        return [self.command("deliver", "-f", sender, "-d", inbox, stdin=mail, mail=mail, inboxes=[inbox], sent=sender)
                for inbox in inboxes]

    def lmtp(self):
        """One message to three recipients by LMTP."""
        return self.session([self.account() for _ in range(3)], self.account())

    def two_servers(self):
        """Like lmtp(), for two recipients, each on another server; the sender is on the second."""
        return self.session([self.account(), self.account(south=True)], self.account(south=True))

    def session(self, inboxes, sender):
        """By LMTP, the whole session written at once."""
        mail = message(subject=ENCODED, sender=sender, to=", ".join(inboxes))
        lines = ["LHLO x", f"MAIL FROM:<{sender}>", *[f"RCPT TO:<{inbox}>" for inbox in inboxes], "DATA", ""]
        stdin = "\r\n".join(lines).encode() + on_the_wire(mail) + b".\r\nQUIT\r\n"
        return Case([*self.program, "lmtp"], stdin, mail, inboxes, sender,
                    lambda done: len(re.findall(rb"250 2\.1\.5 (?:stored|duplicate)", done.stdout)) == len(inboxes))

    def replay(self):
        """A message in a file; either the parent or its worker is killed."""
        inbox, sender = self.account(), self.account()
        mail = message(subject=ENCODED, sender=sender, to=inbox)
        with open(os.path.join(self.site.directory, f"{inbox}.eml"), "wb") as file:
            file.write(mail)
        return self.command("replay", "-f", sender, "-d", inbox, file.name, mail=mail, inboxes=[inbox], sent=sender)

    def resume(self):
        """A delivery that did not accept the server's certificate, in its own database, since `resume` takes everything
        it finds."""
        case = self.deliver()
        ledger = self.site.ledger_of(self.ledgers.take())
        conninfo = ledger.settings(lab_module.OPERATOR)["database.conninfo"]
        if engine() != SQLITE:
            ledger.sql("UPDATE oncedrop.setting SET lock_method = %s", (locks.method_of(self.site),))
        if engine() == POSTGRES:
            conninfo = self.site.lab.postgres.conninfo(ledger.database, lab_module.OPERATOR, port=pooler(self.site.lab).port)
        program = [*self.program, "-o", f"database.conninfo={conninfo}"]
        ledger.trust(self.site.server())
        recorded = [*program, *PATIENT, "-o", "record.level=raw", "-o", "imap.tls=starttls", "-o", "imap.server_name=other.example",
                    *case.words[len(self.program):]]
        done = death.run(recorded, case.stdin)
        assert done.returncode == 75, done
        return case._replace(words=[*program, "resume"], stdin=b"", ledger=ledger)

    def in_doubt(self):
        """A delivery that died after its APPEND's literal, and whose hold-off is over: it will search."""
        case = self.deliver()
        death.run(death.killed_at(self.after_literal) + self.with_options(case, *PATIENT), case.stdin)
        self.site.ledger.age(hours=1, state="appending", account=(case.inboxes[0], case.sent))
        locks.expire(self.site)
        return case

    def trace(self, case):
        path = os.path.join(self.site.directory, "trace")
        done = death.run(death.strace("-s", "80", "-o", path) + self.with_options(case, *PATIENT), case.stdin)
        assert case.succeeded(done), done
        return path

    def find_end_of_literal(self, path=None):
        """Of the first message that went out over IMAP, in a trace: the call that sends its last byte, and the next that receives."""
        path = path or self.trace(self.deliver())
        count, sender, last = collections.Counter(), None, None
        with open(path, encoding="utf-8", errors="replace") as trace:
            for line in trace:
                match = re.match(r"(\d+) +(sendto|recvfrom)\((\d+), ", line)
                if not match:
                    continue
                process, call, descriptor = match.groups()
                count[process, call] += 1
                point = death.Point(call, count[process, call])
                if call == "sendto" and re.search(r', "A\d+ APPEND ', line):
                    sender = sender or (process, descriptor)
                elif call == "sendto" and sender == (process, descriptor):
                    last = last or point
                elif last and call == "recvfrom" and process == sender[0]:
                    return last, point
        raise LookupError("no APPEND in the trace")


def finish(bench, case, first):
    """Repeats it at increasing intervals until it succeeds; returns a Wrong, or None."""
    return repeat(case, first) or look(bench, case)


def repeat(case, done):
    """Repeats it at increasing intervals until it succeeds."""
    end, pause = time.monotonic() + 60, 0.05
    while True:
        if done.returncode not in case.statuses and done.returncode > 0:
            return Wrong("other", f"exit {done.returncode} would bounce: {done}")
        if case.succeeded(done):
            return None
        if time.monotonic() > end:
            return Wrong("other", f"no success: {done}")
        time.sleep(pause)
        pause = min(1, 2 * pause)
        with AGAIN:
            done = death.run(case.words, case.stdin)


FED = ("SELECT count(*) FROM oncedrop.feed f JOIN oncedrop.copy c ON c.id = f.copy"
       " WHERE c.account = %s AND c.role = %s AND c.state = 'stored'")


def look(bench, case):
    """After success: checks the mailboxes, and that each copy is in the feed."""
    return look_into_mailboxes(bench, case) or look_into_feed(case.ledger or bench.site.ledger, case)


def look_into_feed(ledger, case):
    for account, role in [(inbox, "inbox") for inbox in case.inboxes] + ([(case.sent, "sent")] if case.sent else []):
        [[count]] = ledger.sql(FED, (account, role))
        wrong = judge(f"the feed, of {account} {role},", case.mail, count)
        if wrong:
            return wrong
    return None


def look_into_mailboxes(bench, case):
    for inbox in case.inboxes:
        found = [stored.raw for stored in bench.server_of(inbox).messages(inbox)]
        wrong = judge(f"{inbox} INBOX", found, len(found)) or \
            (found[0] != on_the_wire(case.mail) and Wrong("lost", f"{inbox} has other bytes: {found}"))
        if wrong:
            return wrong
    if case.sent:
        return judge(f"{case.sent} Sent", case.mail, bench.server_of(case.sent).count(case.sent, "Sent"))
    return None


def judge(where, what, count):
    """What is wrong with this number of copies after success was reported."""
    if count == 1:
        return None
    return Wrong("doubled" if count else "lost", f"{where} has {count} copies: {what}")


def run_points(try_point, chosen, at_once=AT_ONCE):
    """Tries each point, several at once; returns a Wrong for each failure."""
    def try_one(point):
        try:
            wrong = try_point(point)
        except subprocess.TimeoutExpired as error:
            wrong = Wrong("other", str(error))
        return wrong and Wrong(wrong.kind, f"{point}: {wrong.text}")
    chosen = list(chosen)
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        found = list(pool.map(try_one, chosen))
    # A delivery's deadline may pass before its point if many run at once: these points are tried again, one at a time.
    found = [try_one(point) if wrong and wrong.kind == UNREACHED else wrong for point, wrong in zip(chosen, found)]
    return [wrong for wrong in found if wrong]


def run_spoilt(bench, make, spoil, chosen, at_once=AT_ONCE):
    """Runs a separate case for each point, disturbed there, and then until it succeeds."""
    def try_point(point):
        case = make()
        words = spoil(point) + case.words
        if case.parallel:
            return run_parallel(bench, case, words, point.number % 2 or point.call == "recvfrom")
        first = death.run(words, case.stdin)
        note_death(bench, first)
        return finish(bench, case, first) or (case.ledger and end_ledger(bench, case.ledger))
    return run_points(try_point, chosen, at_once)


def note_death(bench, done):
    if done.returncode == -signal.SIGKILL:      # strace ends like what it traces
        bench.deaths.append(done.args)


def end_ledger(bench, ledger):
    """Checks one that only one case used, and returns it."""
    rows = unfinished(ledger)
    ledger.close()
    bench.ledgers.give_back(ledger.database)
    return Wrong("other", f"not finished: {rows}") if rows else None


def run_parallel(bench, case, words, late):
    """Runs words and the case at the same time. late: the case starts once the first claim is in the ledger, or there
    was none."""
    first = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                             env=death.environment())

    def second():
        if late:
            wait_until(lambda: first.poll() is not None or claimed(bench, case), "the first's claim, or its end")
        return repeat(case.parallel, death.run(case.parallel.words, case.parallel.stdin))
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        other = pool.submit(second)
        out, err = first.communicate(case.stdin)
        done = subprocess.CompletedProcess(words, first.returncode, out, err)
        note_death(bench, done)
        wrong = repeat(case, done) or other.result()
    return wrong or look(bench, case) or look(bench, case.parallel)


def claimed(bench, case):
    return bench.site.sql("SELECT 1 FROM oncedrop.copy WHERE account = %s", (case.inboxes[0],))


def unfinished(ledger):
    return [*ledger.sql("SELECT * FROM oncedrop.copy WHERE state <> 'stored'"),
            *ledger.sql("SELECT * FROM oncedrop.delivery WHERE finished_at IS NULL")]


def check_ledger(site):
    assert unfinished(site.ledger) == []
    assert site.ledger.damage() == []
