# SPDX-License-Identifier: ISC
"""(e) What a held lock costs, and ten local recipients of one message at once."""

import concurrent.futures
import time

import competitors as agents
import measure

ROUNDS = 20
AT_ONCE = 10


class Pure:
    """With a pure try for the lock."""

    def __init__(self, bench, program):
        self.bench, self.program, self.name = bench, program, program.name
        self.agent = agents.Oncedrop(bench.servers, bench.runner, f"{program.name} lock", program,
                                     more={"lock.wait": "0s"})

    def refused(self):
        account = self.agent.mailboxes[0]
        message = agents.mail(account)
        with self.program.held(message):
            done = self.bench.runner.run(self.agent.words(account), self.agent.environment(account), message)
        measure.must(done.exit == 75 and b"elsewhere" in done.output, f"a held lock: {done}")
        return done.seconds


def ten_at_once(bench, agent, runners):
    """One message to ten accounts; returns the seconds until all processes ended, and how many were deferred."""
    message = agents.mail(agent.mailboxes[0])

    def one(pair):
        runner, account = pair
        return runner.run(agent.words(account), agent.environment(account), message)

    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(one, zip(runners, agent.mailboxes)))
    seconds = time.perf_counter() - started
    measure.must(all(each.exit in (0, 75) for each in done), f"{agent.name}: {done}")
    return seconds, sum(each.exit == 75 for each in done)


def measure_part(bench, results):
    here = [Pure(bench, program) for program in bench.programs]

    def once(competitor, number):
        delivered, refused = competitor.agent.deliver(), competitor.refused()
        if number >= 0:
            results.add("contention", "a delivery", competitor.name, "ms", delivered * 1000)
            results.add("contention", "lock held, exit 75", competitor.name, "ms", refused * 1000)

    measure.rounds(here, bench.rounds or ROUNDS, once, warm=0 if bench.tiny else 2)
    runners = bench.several_runners(AT_ONCE)
    waits = [(wait, agents.Oncedrop(bench.servers, bench.runner, f"{program.name} wait {wait}", program,
                                    more={"lock.wait": wait}))
             for program in bench.programs for wait in ("0s", "5s")]

    def all_ten(pair, number):
        wait, agent = pair
        seconds, deferred = ten_at_once(bench, agent, runners)
        if number >= 0:
            results.add("contention", f"{AT_ONCE} recipients at once", agent.name, "ms", seconds * 1000)
            results.add("contention", f"of {AT_ONCE} at once, deferred", agent.name, "deliveries", deferred)
        measure.must(wait == "0s" or not deferred, f"{agent.name}: {deferred} deferred")

    measure.rounds(waits, bench.rounds or ROUNDS // 2, all_ten, warm=0 if bench.tiny else 1)
