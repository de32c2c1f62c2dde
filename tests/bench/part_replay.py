# SPDX-License-Identifier: ISC
"""(f) Replay of many messages, compared with the same messages appended on four sessions; and again, when all are known."""

import concurrent.futures
import os
import shutil
import time

import bare
import competitors as agents
import measure

ROUNDS = 5
MESSAGES, MANY = 600, 10000
ACCOUNTS = 20
JOBS = 4
AGAIN = 5       # times that the known ones are named


class Files:
    """New messages for all accounts in turn, in a directory that the delivering user can read."""

    def __init__(self, bench, accounts, count):
        self.directory = bench.servers.new_directory("replay")
        os.chmod(self.directory, 0o755)
        self.mails = [(accounts[number % len(accounts)], agents.mail(accounts[number % len(accounts)]))
                      for number in range(count)]
        for number, (account, mail) in enumerate(self.mails):
            with open(os.path.join(self.directory, f"{number:06}.eml"), "wb") as file:
                file.write(b"Delivered-To: " + account.encode() + b"\n" + mail)

    def remove(self):
        shutil.rmtree(self.directory)


class Replay:
    def __init__(self, bench, program, jobs):
        self.bench, self.program, self.jobs = bench, program, jobs
        self.name = f"{program.name} -j {jobs}"

    def run(self, paths):
        done = self.bench.runner.run(self.program.words("replay", "-j", str(self.jobs), *paths),
                                     self.bench.servers.environment(), b"")
        measure.must(done.exit == 0, f"{self.name}: {done.exit} {done.output[-2000:]}")
        return done

    def stored(self, files):
        return self.run([files.directory]).seconds

    def known(self, files):
        done = self.run([files.directory] * AGAIN)
        measure.must(b" 0 stored" in done.output or b"stored 0" in done.output, f"{self.name}: {done.output[-300:]}")
        return done.seconds / AGAIN


class Bare:
    name = "bare APPEND"

    def __init__(self, bench):
        self.bench = bench

    def stored(self, files):
        shares = {}
        for account, mail in files.mails:
            shares.setdefault(account, []).append(mail)
        work = list(shares.items())

        def append_all(job):
            for account, mails in work[job::JOBS]:
                session = bare.Session(self.bench.servers.dovecot, account)
                for mail in mails:
                    session.append(mail)
                session.close()

        started = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            list(pool.map(append_all, range(JOBS)))
        return time.perf_counter() - started


class BareReplay:
    """bare_delivery.c"""

    def __init__(self, program):
        self.program, self.name = program, program.name

    def stored(self, files):
        done = self.program.bench.runner.run(self.program.words("replay", files.directory, str(JOBS)), {}, b"")
        measure.must(done.exit == 0, f"{self.name}: {done.exit} {done.output[-2000:]}")
        return done.seconds


def measure_part(bench, results):
    messages = 40 if bench.tiny else MANY if bench.long else MESSAGES
    accounts = bench.servers.accounts("replay-", ACCOUNTS)
    here = [Bare(bench), *map(BareReplay, bare.programs(bench)),
            *[Replay(bench, program, jobs) for program in bench.programs for jobs in (1, JOBS)]]

    def once(competitor, number):
        count = messages if number >= 0 else ACCOUNTS
        files, before = Files(bench, accounts, count), bench.servers.stored(accounts)
        seconds = competitor.stored(files)
        measure.must(bench.servers.stored(accounts) - before == count, f"{competitor.name}: not all are there")
        if number >= 0:
            results.add("replay", "stored", competitor.name, "/s", count / seconds, larger=True)
            if isinstance(competitor, Replay):
                results.add("replay", "known", competitor.name, "/s", count / competitor.known(files), larger=True)
        files.remove()

    measure.rounds(here, bench.rounds or ROUNDS, once)
