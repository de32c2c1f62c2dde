# SPDX-License-Identifier: ISC
"""Feeds: what one costs the delivery by LMTP; and what a command of `feed run` costs while 10 and while 10,000 messages wait."""

import os
import random
import statistics
import subprocess
import time

import measure
import part_lmtp
from lab import process

BATCHES, TURNS, ROUNDS = 150, 4, 4
FEW, MANY, TAKEN = 10, 10_000, 100
STAMP = "cat >/dev/null; echo $EPOCHREALTIME >>"


class Waiting:
    """A program whose feed `all` is filled, and then emptied by a command that writes down when it was run."""

    def __init__(self, bench, program, accounts):
        self.bench, self.accounts = bench, accounts
        self.program = program.with_new_ledger()
        self.feeder = part_lmtp.Oncedrop(bench, self.program, **{"feed all.role": "both"})
        directory = bench.servers.new_directory("stamps")
        os.chmod(directory, 0o755)
        self.path = os.path.join(directory, "stamps")

    def fill(self, count):
        part_lmtp.rate(self.bench, self.feeder, self.accounts, count, 4, False)

    def times(self, count):
        """When each of the first `count` commands ran, in seconds; nothing is left after them."""
        with open(self.path, "w", encoding="ascii"):
            os.chmod(self.path, 0o666)
        operator = self.program.operator()
        with open(operator, "a", encoding="utf-8") as file:
            file.write("[feed all]\nrole=both\n")
        words = self.program.words("feed", "run", "all", "--", "bash", "-c", STAMP + self.path, configuration=operator)
        runner = subprocess.Popen(words, stdout=subprocess.DEVNULL, cwd="/",
                                  env=self.bench.servers.environment(), **process.run_as(self.bench.servers.user))
        process.wait_until(lambda: runner.poll() is not None or len(self.stamps()) >= count, "the commands ran", 120)
        runner.terminate()
        runner.wait()
        stamps = self.stamps()
        measure.must(len(stamps) >= count, f"{self.program.name}: only {len(stamps)} commands ran")
        subprocess.run(self.program.words("feed", "drop", "all", configuration=operator), check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL, env=self.bench.servers.environment(), cwd="/",
                       **process.run_as(self.bench.servers.user))
        return stamps[:count]

    def stamps(self):
        with open(self.path, encoding="ascii") as file:
            return [float(line) for line in file.read().split("\n")[:-1]]


def per_command(stamps):
    return 1000 * statistics.median(later - earlier for earlier, later in zip(stamps, stamps[1:]))


def measure_waiting(bench, results, program, accounts):
    """In turns, so that other load slows both."""
    waiting = Waiting(bench, program, accounts)
    many, taken = (20, 10) if bench.tiny else (MANY, TAKEN)
    waiting.fill(FEW)
    waiting.times(FEW)
    for _ in range(1 if bench.tiny else TURNS):
        for count, said, commands in ((FEW, f"{FEW}", FEW),) * ROUNDS + ((many, f"{MANY:,}", taken),):
            waiting.fill(count)
            results.add("feed", f"a command, {said} wait", program.name, "ms", per_command(waiting.times(commands)))


def measure_delivery(bench, results, program, accounts):
    """In turns after each batch, on connections that stay open, so that other load slows both."""
    competitors = [part_lmtp.Oncedrop(bench, program, name, **settings)
                   for name, settings in (("", {}), (" with a feed", {"feed all.role": "both"}))]
    connections = [one.connect() for one in competitors]
    dice, turns = random.Random(1), [0, 1]
    for number in range(-2, 2 if bench.tiny else BATCHES):
        dice.shuffle(turns)
        for turn in turns:
            batch = [part_lmtp.envelope([account]) for account in accounts]
            started = time.perf_counter()
            connections[turn].deliver(batch)
            if number >= 0:
                rate = len(batch) / (time.perf_counter() - started)
                results.add("feed", "lmtp, 1 connection", competitors[turn].name, "/s", rate, larger=True)
    for connection, competitor in zip(connections, competitors):
        connection.close()
        competitor.ended()


def measure_part(bench, results):
    accounts = bench.servers.accounts("feed-", 20)
    for program in bench.programs:
        measure_delivery(bench, results, program, accounts)
        measure_waiting(bench, results, program, accounts)
