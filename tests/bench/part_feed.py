# SPDX-License-Identifier: ISC
"""Feeds: what one costs the delivery by LMTP, on one and on four connections, in turns with none; and what a command of
`feed run` costs while 10 and while 10,000 messages wait."""

import os
import statistics
import subprocess

import measure
import part_lmtp
from lab import process

ROUNDS, MESSAGES = 10, 300
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
    waiting = Waiting(bench, program, accounts)
    many, taken = (20, 10) if bench.tiny else (MANY, TAKEN)
    for number in range(-1, 2 if bench.tiny else ROUNDS):
        waiting.fill(FEW)
        few = per_command(waiting.times(FEW))
        if number >= 0:
            results.add("feed", f"a command, {FEW} wait", program.name, "ms", few)
    for _ in range(1 if bench.tiny else 3):
        waiting.fill(many)
        results.add("feed", f"a command, {MANY:,} wait", program.name, "ms", per_command(waiting.times(taken)))


def measure_part(bench, results):
    count = 20 if bench.tiny else MESSAGES
    accounts = bench.servers.accounts("feed-", 20)
    here = [part_lmtp.Oncedrop(bench, program, name, **settings) for program in bench.programs
            for name, settings in (("", {}), (" with a feed", {"feed all.role": "both"}))]
    for connections in (1, 4):
        def once(competitor, number):
            found, _ = part_lmtp.rate(bench, competitor, accounts, count if number >= 0 else 20, connections, True)
            if number >= 0:
                case = f"lmtp, {connections} connection{'s' * (connections > 1)}"
                results.add("feed", case, competitor.name, "/s", found, larger=True)

        measure.rounds(here, bench.rounds or ROUNDS, once)
    for program in bench.programs:
        measure_waiting(bench, results, program, accounts)
