# SPDX-License-Identifier: ISC
"""(a) A process for each message: oncedrop, by itself and through PgBouncer, with and without a copy for the sender,
and other delivery agents. bare_delivery.c shows what the protocol takes."""

import bare
import competitors as agents
import measure

ROUNDS = 40


def measure_part(bench, results):
    agents_here = [*agents.competitors(bench.servers, bench.runner, bench.programs),
                   *(bare.Delivery(one, service) for one in bare.programs(bench)
                     for service in (None, bare.Service(one, 1))),
                   *(bare.Delivery(one, name=f"{one.name} PgBouncer", conninfo=one.ledger.conninfo(bench.servers.pgbouncer))
                     for one in bare.programs(bench) if one.ledger.is_pooled)]

    def once(agent, number):
        seconds = agent.deliver()
        if number >= 0:
            results.add("deliver", "3 kB", agent.name, "ms", seconds * 1000)

    # First each account's mailbox is made.
    measure.rounds(agents_here, bench.rounds or ROUNDS, once, warm=0 if bench.tiny else agents.ACCOUNTS)
    for agent in agents_here:
        agent.verify()
