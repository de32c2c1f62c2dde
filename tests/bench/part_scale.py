# SPDX-License-Identifier: ISC
"""(i) What oncedrop-scale(7) extrapolates from: what a message takes in the ledger, in PostgreSQL's log and in its lock
table, how many connections there are, and what concurrent deliveries cost. The IMAP server answers at once and
stores nothing (answering.py), so that rates are the ledger's. What a purge costs is in purging.py."""

import concurrent.futures
import contextlib
import functools
import itertools
import random
import threading
import time

import answering
import competitors as agents
import measure
import part_lmtp
import processors
import purging
import sessions
import wal
from lab.lmtp import stuffed

LEVELS = ("envelope", "headers", "text", "raw")
MESSAGES, LARGE = 1500, 100000     # for each level, and with LONG for one
AT_ONCE = 20        # as in conf/postfix, and PgBouncer's pool
CONNECTIONS = (1, 4, AT_ONCE)
SEVERAL, MANY = 10, (1, 50)      # recipients
ACCOUNTS = 200
BESIDE = (1, 10, 100)
ROUNDS, DELIVERIES = 3, 10
SIZE = 3000
COMMITS = 4000
WORDS, COMMON = 1000, 2     # PostgreSQL compresses this language to 0.63, the text of the GPL to 0.6
SENDER = "lisa@elsewhere.example"
NUMBERS = itertools.count(1)


@functools.lru_cache(maxsize=None)
def bodies():
    """Texts of nearly this size that compress as a language does, not as one line that is repeated."""
    dice = random.Random(1)
    words = ["".join(dice.choice("etaoinshrdlucmfwypvbgk") for _ in range(dice.randint(2, 9))) for _ in range(WORDS)]
    often = [1 / (rank + COMMON) for rank in range(WORDS)]
    return ["".join(f"{' '.join(dice.choices(words, often, k=12))}\n" for _ in range(SIZE // 95)) for _ in range(50)]


def letter(to, sender=SENDER):
    """One that is new to all, as Postfix hands it over: with its queue id."""
    number = next(NUMBERS)
    head = (f"Received: from mail.elsewhere.example (mail.elsewhere.example [192.0.2.1])\n"
            f"\tby mx.bench.example (Postfix) with ESMTPS id 4g{number:09X}z1x\n"
            f"\tfor <{to}>; Fri,  1 Aug 2025 10:00:00 +0200 (CEST)\n"
            f"Message-ID: <{number:08x}.20250801100000.scale@elsewhere.example>\nDate: Fri, 1 Aug 2025 10:00:00 +0200\n"
            f"From: Lisa Example <{sender}>\nTo: {to}\nSubject: Minutes of meeting {number}\nMIME-Version: 1.0\n"
            "Content-Type: text/plain; charset=utf-8\n\n")
    return (head + bodies()[number % 50]).encode()


def envelope(recipients, message=None, sender=SENDER):
    to = b"".join(b"RCPT TO:<%s>\r\n" % one.encode() for one in recipients)
    return (b"MAIL FROM:<%s>\r\n%sDATA\r\n" % (sender.encode(), to), stuffed(message or letter(recipients[0], sender)),
            len(recipients))


class Lmtp(part_lmtp.Oncedrop):
    """Connections that are kept, and threads that use them."""

    def __init__(self, bench, program, imap, name="", **settings):
        password = program.write("answering", "any\n")
        super().__init__(bench, program, name, **{**imap.settings(password), **settings})
        self.open_now = []

    def connections(self, count):
        while len(self.open_now) < count:
            self.open_now.append(self.connect())
        return self.open_now[:count]

    def deliver(self, envelopes, count):
        """All of these on this many connections; returns the seconds."""
        batches = list(zip(self.connections(count), part_lmtp.shares(envelopes, count)))
        started = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            list(pool.map(lambda pair: pair[1] and pair[0].deliver(pair[1]), batches))
        return time.perf_counter() - started

    @contextlib.contextmanager
    def busy(self, count, accounts):
        """Meanwhile all of these deliver, one message after another."""
        stop = threading.Event()

        def work(connection):
            while not stop.is_set():
                connection.deliver([envelope([random.choice(accounts)])])

        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            running = [pool.submit(work, connection) for connection in self.connections(count)]
            try:
                yield
            finally:
                stop.set()
        for one in running:
            one.result()

    def close(self):
        while self.open_now:
            self.open_now.pop().close()
        self.ended()


class Scale:
    def __init__(self, bench, program, results, imap):
        self.bench, self.program, self.results, self.imap = bench, program, results, imap
        self.name = program.name
        self.accounts = [f"scale{number:04}@bench.example" for number in range(ACCOUNTS)]
        self.count = bench.rounds or ROUNDS
        self.messages = AT_ONCE if bench.tiny else MESSAGES

    def add(self, case, unit, sample, competitor="", larger=False):
        self.results.add("scale", case, f"{self.name}{competitor and ' '}{competitor}", unit, sample, larger)

    def letters(self, count, **more):
        return [envelope([self.accounts[number % ACCOUNTS]], **more) for number in range(count)]

    @contextlib.contextmanager
    def lmtp(self, program=None, name="", **settings):
        competitor = Lmtp(self.bench, program or self.program, self.imap, name, **settings)
        try:
            yield competitor
        finally:
            competitor.close()

    # Bytes

    def bytes(self):
        levels = LEVELS[2 if self.bench.tiny else 0:]
        rows = [(f"record.level={level}", {"record.level": level}, self.messages, 1) for level in levels]
        rows += [("text, Sent copy", {"route.sent_copy": "from"}, self.messages, 1),
                 (f"text, {SEVERAL} recipients", {}, self.messages // 5, SEVERAL)]
        if self.bench.long:
            rows.append((f"text, {LARGE:,} messages", {}, LARGE, 1))
        for name, settings, count, recipients in rows:
            own = self.program.with_new_ledger()
            before = sessions.sizes(own)
            sender = self.accounts[-1] if "sent" in str(settings) else SENDER
            with self.lmtp(own, **settings) as competitor:
                for done in range(0, count, 5000):      # this many are in memory at a time
                    competitor.deliver([envelope([self.accounts[(number * recipients + one) % (ACCOUNTS - 1)]
                                                 for one in range(recipients)], sender=sender)
                                       for number in range(done, min(count, done + 5000))], 4)
            stored, = own.sql("SELECT count(*) FROM oncedrop.copy WHERE state = 'stored'")[0]
            measure.must(stored == count * recipients * (2 if "sent" in str(settings) else 1), f"{stored} copies")
            for part, (old, new) in sessions.both(before, sessions.sizes(own)).items():
                self.add(f"ledger: {name}", "bytes per message", (new - old) / count, part)

    # The log

    def log(self):
        """In a large ledger nearly every message is the first after a checkpoint to change its pages of some indexes."""
        counter, messages = wal.Counter(self.bench.servers.postgres), self.messages // AT_ONCE * AT_ONCE
        own = self.program.with_new_ledger()
        purging.fill(self.bench, own)
        agent = agents.Oncedrop(self.bench.servers, self.bench.runner, f"{self.name} scale", own, accounts=1,
                                more=self.imap.settings(own.write("answering", "any\n")))
        runners = self.bench.several_runners(AT_ONCE)

        def one_shot(number, runner):
            done = runner.run(agent.words(self.accounts[number]), agent.environment(agent.mailboxes[0]),
                              letter(self.accounts[number]))
            measure.must(done.exit == 0, f"{agent.name}: {done}")

        def one_shots():
            with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
                for _ in range(messages // 10 // AT_ONCE or 1):
                    list(pool.map(one_shot, range(AT_ONCE), runners))

        with self.lmtp(own) as competitor, counter.without_autovacuum():
            ways = {"lmtp, 1 connection": (lambda: competitor.deliver(self.letters(messages), 1), messages),
                    f"lmtp, {AT_ONCE} connections": (lambda: competitor.deliver(self.letters(messages), AT_ONCE), messages),
                    f"deliver, {AT_ONCE} at once": (one_shots, (messages // 10 // AT_ONCE or 1) * AT_ONCE)}
            for _, number in itertools.product(range(self.count), (0, 1)):
                for way, (work, delivered) in ways.items():
                    if number == 0:
                        own.sql("CHECKPOINT")
                    done = counter.during(work)
                    when = ("after a checkpoint", "later")[number]
                    self.add(f"log, {when}: {way}", "bytes per message", done.records / delivered, "records")
                    self.add(f"log, {when}: {way}", "bytes per message", done.images / delivered, "pages")
                    if number:
                        self.add(f"commits: {way}", "per message", done.commits / delivered)

    # Rates

    def rates(self):
        """Of all of it on this machine, and the processor time of the servers alone."""
        with self.lmtp() as competitor:
            for count, _ in itertools.product(CONNECTIONS, range(self.count)):
                competitor.deliver(self.letters(count * 3), count)
                envelopes = self.letters(self.messages)
                used = processors.used()
                seconds = competitor.deliver(envelopes, count)
                spent = processors.between(used, processors.used(), len(envelopes))
                case = f"{count} connection{'s' * (count > 1)}"
                self.add(f"stored, {case}", "/s", len(envelopes) / seconds, larger=True)
                self.add(f"processors, {case}", "ms per message", spent["PostgreSQL"], "PostgreSQL")
                self.add(f"processors, {case}", "ms per message", spent["oncedrop"], "itself")
                self.add(f"known, {case}", "/s", len(envelopes) / competitor.deliver(envelopes, count), larger=True)
            for pid in sessions.backends(self.program)[:AT_ONCE]:
                self.add("memory of a session, lmtp", "MiB", sessions.private_mib(pid))
        for count, _ in itertools.product(BESIDE, range(self.count)):
            each = 10 if self.bench.tiny else max(COMMITS // count, COMMITS // 40)
            rate = sessions.commits_per_second(self.bench.servers.postgres, count, each)
            self.add(f"commits of one row, {count} at once", "/s", rate, larger=True)

    # Connections and locks

    def sessions(self):
        """The most that there are: of processes with separate connections, behind PgBouncer, and of the service."""
        for way, pooled in (("lmtp", None), ("lmtp, PgBouncer", self.bench.servers.pgbouncer)):
            own = self.program.with_new_ledger()
            with self.lmtp(own, **{"database.conninfo": own.conninfo(pooled)}) as competitor, sessions.most(own) as found:
                for count in (AT_ONCE, 10 if self.bench.tiny else 100):
                    found.clear()
                    competitor.deliver(self.letters(max(self.messages, 3 * count)), count)
                    self.add(f"most sessions, {count} connections", "sessions", max(found), way)
        own = self.program.with_new_ledger()
        if own.service:
            accounts = self.bench.servers.accounts("scale-service-", 20)
            with sessions.most(own) as found:
                part_lmtp.rate(self.bench, part_lmtp.Server("service", own.service.socket), accounts, 80, 4, False)
            self.add("most sessions, service.workers=4", "sessions", max(found), "service")

    def locks(self):
        """Those of the transaction that stays open during an APPEND, and the most that any transaction had at its end. On a
        new connection: what is planned for the first time locks all indexes of a table, as one-shot deliveries do."""
        own = self.program.with_new_ledger()
        sessions.note_locks(own)
        settings = {"record.level": "raw", "route.sent_copy": "from"}       # all tables are written to

        def long_one(count):        # a value that is long has a separate table
            message = letter(self.accounts[0], self.accounts[-1]) + "".join(bodies()[:10]).encode()
            return [envelope(self.accounts[:count], message, self.accounts[-1])]

        for count in MANY:
            with self.lmtp(own, **settings) as competitor:
                competitor.deliver(long_one(count), 1)
            own.sql("TRUNCATE public.noted")
            with self.lmtp(own, **settings) as competitor, self.imap.keeps_waiting() as until_one_waits:
                running = measure.in_background(competitor.deliver, long_one(count), 1)
                until_one_waits()
                held = sessions.locks(own)
                self.imap.waits.clear()
                running.join()
            most = own.sql("SELECT max(complete), max(shared) FROM public.noted")[0]
            for case, (whole, shared) in (("locks during the APPEND", held), ("most locks of a transaction", most)):
                self.add(f"{case}, {count} recipient{'s' * (count > 1)}", "locks", whole, "all")
                self.add(f"{case}, {count} recipient{'s' * (count > 1)}", "locks", shared, "in the shared table")

    # Concurrent deliveries

    def beside(self):
        """In turns directly and through PgBouncer, so that other load on the machine affects both alike."""
        for count, (way, pooler) in itertools.product((0, *BESIDE[:2 if self.bench.tiny else 3]),
                                                      (("", None), ("PgBouncer", self.bench.servers.pgbouncer))):
            conninfo = {"database.conninfo": self.program.conninfo(pooler)}
            more = {**self.imap.settings(self.program.write("answering", "any\n")), **conninfo}
            agent = agents.Oncedrop(self.bench.servers, self.bench.runner, f"{self.name} beside {count} {way}", self.program,
                                    accounts=1, more=more)

            def measured(case):
                for number in range(-2, 1 if self.bench.tiny else DELIVERIES):
                    seconds = agent.deliver()
                    if number >= 0:
                        self.add(f"a delivery beside {case}", "ms", seconds * 1000, way)

            if not count:
                measured("nobody")
                continue
            with self.lmtp(name=f"beside {way}", **conninfo) as competitor:
                competitor.deliver(self.letters(count), count)
                measured(f"{count} idle")
                with competitor.busy(count, self.accounts):
                    measured(f"{count} at work")


def measure_part(bench, results):
    imap = answering.Server()
    try:
        for program in bench.databases:
            mine = Scale(bench, program, results, imap)
            mine.bytes()
            mine.locks()
            mine.log()
            mine.rates()
            mine.sessions()
            mine.beside()
        purging.measure_purge(bench, bench.databases[0], results)
    finally:
        imap.close()
