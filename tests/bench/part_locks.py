# SPDX-License-Identifier: ISC
"""(h) The methods of lock.method, direct and through PgBouncer: one delivery at a time, and 64 recipients of one message
at once, repeated until all have it."""

import concurrent.futures
import time

import competitors as agents
import measure

METHODS = ("advisory", "row", "lease")
WAITS = ("0s", "5s")
ROUNDS = 10
AT_ONCE, FEW = 64, 4


class Method:
    """Each has its own ledger, since the hosts of one must agree."""

    def __init__(self, bench, program, method, pooled):
        self.at_once = FEW if bench.tiny else AT_ONCE
        self.bench, self.runners = bench, bench.several_runners(self.at_once)
        self.name = f"{program.name} {method}{', PgBouncer' if pooled else ''}"
        own = program.with_new_ledger()
        own.sql("UPDATE oncedrop.setting SET lock_method = %s", (method,))
        more = {"lock.method": method}
        if pooled:
            more["database.conninfo"] = own.conninfo(bench.servers.pgbouncer)
        self.agents = {wait: agents.Oncedrop(bench.servers, bench.runner, f"{self.name} {wait}", own,
                                             more={**more, "lock.wait": wait}, accounts=self.at_once) for wait in WAITS}

    def all_at_once(self, wait):
        """Returns the seconds until everybody has the message, and how often a delivery was deferred."""
        agent, deferred = self.agents[wait], 0
        open_ones = list(agent.mailboxes)
        message = agents.mail(open_ones[0])
        started = time.perf_counter()
        with concurrent.futures.ThreadPoolExecutor(self.at_once) as pool:
            while open_ones:
                done = list(pool.map(lambda pair: pair[0].run(agent.words(pair[1]), agent.environment(pair[1]), message),
                                     zip(self.runners, open_ones)))
                measure.must(all(each.exit in (0, 75) for each in done), f"{self.name}: {done}")
                open_ones = [account for account, each in zip(open_ones, done) if each.exit]
                deferred += len(open_ones)
        return time.perf_counter() - started, deferred


def measure_part(bench, results):
    methods = [Method(bench, program, method, pooled)
               for program in bench.databases for method in METHODS for pooled in (False, True)]

    def once(method, number):
        seconds = method.agents["5s"].deliver()
        if number >= 0:
            results.add("locks", "a delivery", method.name, "ms", seconds * 1000)

    def at_once(method, number):
        for wait in WAITS:
            seconds, deferred = method.all_at_once(wait)
            if number >= 0:
                results.add("locks", f"{method.at_once} at once, wait {wait}", method.name, "ms", seconds * 1000)
                results.add("locks", f"{method.at_once} at once, wait {wait}: 75s", method.name, "deliveries", deferred)

    measure.rounds(methods, (bench.rounds or ROUNDS) * 4, once, warm=0 if bench.tiny else 2)
    measure.rounds(methods, bench.rounds or ROUNDS, at_once, warm=0 if bench.tiny else 1)
