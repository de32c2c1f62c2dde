#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""make bench: oncedrop and other delivery agents, on the same private servers, in turns."""

import argparse
import importlib
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import machine as machine_module  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import servers as servers_module  # noqa: E402
from lab import lab as lab_module, ledger  # noqa: E402

PARTS = ("deliver", "lmtp", "postfix", "growth", "contention", "locks", "replay", "commits", "crowd", "scale", "distance", "feed")


class Bench:
    """What the parts share. rounds: 0 for each part's own number; long: with what takes long; tiny: only to see that
    it works."""

    def __init__(self, arguments):
        self.rounds, self.long, self.tiny = arguments.rounds, arguments.long, arguments.tiny
        self.runner, self.runners, self.bare = None, [], {}
        self.servers = servers_module.Servers(not arguments.untuned, arguments.apart)
        try:
            self.runner = measure.Runner(self.servers.user)     # before there are threads and large memory
            # With PostgreSQL; and all, of which the second has a ledger in a file.
            self.databases = [servers_module.Program(self.servers, "oncedrop", lab_module.program())]
            if arguments.other:
                self.databases.append(servers_module.Program(self.servers, "other", arguments.other))
            self.programs = [*self.databases]
            self.programs.insert(1, servers_module.FileProgram(self.servers, "embedded", lab_module.program()))
            if arguments.engine == ledger.MARIADB:
                self.programs.insert(2, servers_module.MariaProgram(self.servers, "mariadb", lab_module.program()))
        except BaseException:
            self.close()
            raise

    def several_runners(self, count):
        """As many processes of the delivering user's, for deliveries at the same time."""
        while len(self.runners) < count:
            self.runners.append(measure.Runner(self.servers.user))
        return self.runners[:count]

    def close(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)       # a second one would leave something behind
        for runner in [self.runner, *self.runners]:
            if runner:
                runner.close()
        self.servers.stop()


def arguments_given():
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--parts", nargs="*", default=[], metavar="PART", help=f"of {' '.join(PARTS)}; default: all")
    parser.add_argument("--rounds", type=int, default=0, help="turns of each competitor; default: a few, by part")
    parser.add_argument("--long", action="store_true", help="also what takes long: a million messages")
    parser.add_argument("--other", type=os.path.abspath, help="an older program, as one more competitor")
    parser.add_argument("--engine", choices=[ledger.MARIADB], help="a ledger in this, as one more competitor")
    parser.add_argument("--untuned", action="store_true", help="servers without the settings of conf/")
    parser.add_argument("--apart", action="store_true", help="a processor for the database servers alone")
    parser.add_argument("--tiny", action="store_true", help="as little as possible: is the benchmark itself in order?")
    parser.add_argument("--directory", default="build/bench", help="for bench.json and bench.svg")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="two files bench.json, instead of measuring")
    given = parser.parse_args()
    if given.apart and len(os.sched_getaffinity(0)) < 2:
        parser.error("--apart takes two processors")
    unknown = set(given.parts) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {' '.join(sorted(unknown))}")
    return given


def write(document, directory):
    print(report.ratios(document))
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)
    with open(os.path.join(directory, "bench.svg"), "w", encoding="utf-8") as file:
        file.write(report.plot(document))
    print(f"Written: {directory}/bench.json and bench.svg", flush=True)


def main():
    given = arguments_given()
    if given.compare:
        with open(given.compare[0], encoding="utf-8") as old, open(given.compare[1], encoding="utf-8") as new:
            print(report.comparison(json.load(old), json.load(new)))
        return
    results = measure.Results()
    bench = Bench(given)
    try:
        machine = machine_module.describe(bench.servers)
        print(report.heading(machine), flush=True)
        for part in given.parts or PARTS:
            started = time.monotonic()
            importlib.import_module(f"part_{part}").measure_part(bench, results)
            print(report.table(results, part, time.monotonic() - started), flush=True)
        write(report.document(results, machine), given.directory)
    finally:
        bench.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)   # the servers end, and the directory goes
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("interrupted")
