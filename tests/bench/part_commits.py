# SPDX-License-Identifier: ISC
"""(g) Commits and WAL syncs per message: with 20 at a time one sync may serve several commits.

Commits are counted in the WAL itself (pg_waldump(1)): those that wrote something, by anybody; autovacuum is off
meanwhile.
Syncs are those of pg_stat_wal, which PostgreSQL 14 to 17 have.

With a ledger in a file: messages per second and syncs per message of a service with four workers, on a disk whose syncs take
some milliseconds (slow_sync.c)."""

import concurrent.futures
import contextlib
import os
import re
import subprocess

import competitors as agents
import measure
import part_lmtp
import servers as servers_module
from lab import process

AUTOVACUUM = "SELECT count(*) FROM pg_stat_activity WHERE backend_type LIKE 'autovacuum %'"
ROUNDS = 3
AT_ONCE = 20
MESSAGES = 200
RECIPIENTS = 50
SLOW_MS = (1, 5)
SLOW_MESSAGES = 100


class Counter:
    def __init__(self, server):
        self.server = server

    def ask(self, query):
        session = self.server.connect("postgres")
        try:
            with session.cursor() as cursor:
                cursor.execute(query)
                return cursor.fetchone()[0]
        finally:
            session.close()

    def has_syncs(self):
        return 140000 <= self.ask("SELECT current_setting('server_version_num')::int") < 180000

    def syncs(self):
        return self.ask("SELECT wal_sync FROM pg_stat_wal") if self.has_syncs() else 0

    def commits(self, since):
        """How many COMMIT records there are after this position of the WAL."""
        # What follows a record may not be written yet; pg_waldump ends there with status 1.
        said = subprocess.run(
            [self.server.program("pg_waldump"), "-p", self.server.path("data", "pg_wal"), "-r", "Transaction",
             "-s", since, "-e", self.ask("SELECT pg_current_wal_flush_lsn()")],
            capture_output=True, text=True, check=False, cwd="/")
        measure.must(not said.stderr or "COMMIT" in said.stdout, f"pg_waldump: {said}")
        return len(re.findall(r"desc: COMMIT ", said.stdout))

    @contextlib.contextmanager
    def without_autovacuum(self):
        """It commits as well. Its processes notice the setting when they come to it, and are waited for."""
        self.server.admin("ALTER SYSTEM SET autovacuum = off")
        self.server.admin("SELECT pg_reload_conf()")
        try:
            process.wait_until(lambda: not self.ask(AUTOVACUUM), "autovacuum has ended")
            yield
        finally:
            self.server.admin("ALTER SYSTEM RESET autovacuum")
            self.server.admin("SELECT pg_reload_conf()")

    def during(self, work):
        """Does the work; returns the numbers of commits and of syncs."""
        since, syncs = self.ask("SELECT pg_current_wal_insert_lsn()"), self.syncs()
        work()
        return self.commits(since), self.syncs() - syncs


def one_by_one(bench, program, messages):
    """A process for each message, 20 at a time."""
    agent = agents.Oncedrop(bench.servers, bench.runner, f"{program.name} commits", program)
    runners = bench.several_runners(AT_ONCE)

    def share(pair):
        runner, account = pair
        for _ in range(messages // AT_ONCE):
            done = runner.run(agent.words(account), agent.environment(account), agents.mail(account))
            measure.must(done.exit == 0, f"{agent.name}: {done}")

    def work():
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(share, zip(runners, agent.mailboxes)))

    work()
    return work


def many_recipients(bench, program, accounts, sent):
    """One message to all of them; sent: with a copy for the sender, whose From is believed."""
    settings = {"route.sent_copy": "from"} if sent else {}
    competitor = part_lmtp.Oncedrop(bench, program, **settings)
    connection = competitor.connect()
    sender = accounts[0] if sent else "lisa@elsewhere.example"

    def work():
        connection.deliver([part_lmtp.envelope(accounts[1:RECIPIENTS + 1], sender=sender)])

    def close():
        connection.close()
        competitor.ended()

    work()
    return work, close


def measure_part(bench, results):
    counter = Counter(bench.servers.postgres)
    if not counter.has_syncs():
        results.note("WAL syncs are not counted: this PostgreSQL has none in pg_stat_wal.")
    with counter.without_autovacuum():
        measure_all(bench, results, counter)
    for program in bench.programs:
        if isinstance(program, servers_module.FileProgram):
            measure_slow_disk(bench, results, program)


class SlowDisk:
    """A service whose disk is slow."""

    def __init__(self, bench, program, ms):
        self.bench = bench
        directory = bench.servers.new_directory("slow")
        os.chmod(directory, 0o755)
        library, self.log = os.path.join(directory, "slow_sync.so"), os.path.join(directory, "log")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_sync.c")
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        with open(self.log, "wb"):
            os.chmod(self.log, 0o666)
        service = servers_module.Service(program, f"slow{ms}", **{"service.workers": 4})
        service.environment = {**service.environment, "LD_PRELOAD": library, "SLOW_SYNC_US": str(ms * 1000),
                               "SLOW_SYNC_LOG": self.log}
        self.server = part_lmtp.Server(program.name, bench.servers.start(service).socket)

    def measure(self, accounts, connections, messages):
        """Messages per second, and syncs per message."""
        part_lmtp.rate(self.bench, self.server, accounts, len(accounts), connections, False)
        before = os.path.getsize(self.log)
        rate, _ = part_lmtp.rate(self.bench, self.server, accounts, messages, connections, False)
        return rate, (os.path.getsize(self.log) - before) / messages


def measure_slow_disk(bench, results, program):
    messages = 4 if bench.tiny else SLOW_MESSAGES
    accounts = bench.servers.accounts(f"{program.name}-slow-", 4)
    for ms in SLOW_MS:
        disk = SlowDisk(bench, program, ms)
        for _ in range(bench.rounds or ROUNDS):
            for connections in (1, 4):
                rate, syncs = disk.measure(accounts, connections, messages)
                case = f"syncs of {ms} ms, {connections} connection{'s' * (connections > 1)}"
                results.add("commits", case, program.name, "/s", rate, larger=True)
                results.add("commits", f"{case}: syncs", program.name, "per message", syncs)


def measure_all(bench, results, counter):
    count, messages = bench.rounds or ROUNDS, AT_ONCE if bench.tiny else MESSAGES
    accounts = bench.servers.accounts("commits-", RECIPIENTS + 1)
    for program in bench.databases:
        def add(case, sample, unit="per message"):
            results.add("commits", case, program.name, unit, sample)

        competitor = part_lmtp.Oncedrop(bench, program)
        ways = {"lmtp": lambda: part_lmtp.rate(bench, competitor, accounts[:AT_ONCE], messages, AT_ONCE, False),
                "deliver": one_by_one(bench, program, messages)}
        for _ in range(count):
            for name, work in ways.items():
                commits, syncs = counter.during(work)
                add(f"commits, {name}", commits / messages)
                if counter.has_syncs():
                    add(f"syncs, {name}", syncs / messages)
        for sent in (False, True):
            work, close = many_recipients(bench, program, accounts, sent)
            try:
                for _ in range(count):
                    add(f"commits, {RECIPIENTS} recipients{' + Sent' if sent else ''}", counter.during(work)[0])
            finally:
                close()
