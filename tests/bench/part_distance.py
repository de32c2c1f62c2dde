# SPDX-License-Identifier: ISC
"""(k) A server far away: how many round trips a delivery takes, if the IMAP server, or the database server, is 50 ms away and
everything else is here. Without TLS, which takes one more (TLS 1.3) for each connection."""

import contextlib
import time

import bare
import competitors as agents
import measure
import part_lmtp
import servers as servers_module
from lab import lab as lab_module
from lab.distance import Distant

ROUNDS = 5
SECONDS = 0.05


class DistantFdm(agents.Fdm):
    def __init__(self, servers, runner, name, port):
        self.port = port
        super().__init__(servers, runner, name)

    def imap_port(self):
        return self.port


class DistantService:
    """One worker, one connection; each message is for the account that its session is for."""

    def __init__(self, bench, program, name, settings):
        self.name = name
        service = bench.servers.start(servers_module.Service(program, agents.plain(name), **{
            "service.workers": 1, "imap.idle_timeout": "15m", **settings}))
        self.account, = bench.servers.accounts(agents.plain(name) + "-", 1)
        self.connection = part_lmtp.Server(name, service.socket).connect()

    def deliver(self):
        started = time.perf_counter()
        self.connection.deliver([part_lmtp.envelope([self.account])])
        return time.perf_counter() - started


def distant_database(program):
    """The port of its server, and a function that makes the setting for another port; None for a file."""
    if isinstance(program, servers_module.FileProgram):
        return None
    if isinstance(program, servers_module.MariaProgram):
        server = program.servers.mariadb
    else:
        server = program.servers.postgres
    return server.port, lambda port: server.conninfo(program.database, lab_module.DELIVERY, port=port)


def competitors(bench, distant):
    """Pairs of a case and who is measured there. distant(port): the port of the same server far away."""
    imap = {"imap.port": distant(bench.servers.dovecot.port)}
    found = []
    for program in bench.programs:
        cases = [("IMAP", "", imap)]
        if program.name != "other":
            cases.append(("IMAP", ", early login", {**imap, "imap.early_login": "yes"}))
        database = distant_database(program)
        if database:
            port, conninfo = database
            cases.append(("database", "", {"database.conninfo": conninfo(distant(port))}))
        for case, way, settings in cases:
            found += [(case, agents.Oncedrop(bench.servers, bench.runner, f"{program.name}{way} {case}", program,
                                             more=settings), f"{program.name}{way}"),
                      (case, DistantService(bench, program, f"{program.name}{way} service {case}", settings),
                       f"{program.name} service{way}")]
    for program in bare.programs(bench):
        port, conninfo = distant_database(program.ledger) or (None, None)
        found.append(("IMAP", bare.Delivery(program, name=f"{program.name} IMAP", port=imap["imap.port"]), program.name))
        if port:
            found.append(("database", bare.Delivery(program, name=f"{program.name} database", conninfo=conninfo(distant(port))),
                          program.name))
    if agents.Fdm.path:
        found.append(("IMAP", DistantFdm(bench.servers, bench.runner, "fdm distant", imap["imap.port"]), "fdm, IMAP"))
    return found


def measure_part(bench, results):
    with contextlib.ExitStack() as lines:
        def distant(port):
            return lines.enter_context(contextlib.closing(Distant(port, SECONDS))).port

        def once(competitor, number):
            case, agent, name = competitor
            seconds = agent.deliver()
            if number >= 0:
                results.add("distance", f"{case} distant", name, "round trips", seconds / SECONDS)

        measure.rounds(competitors(bench, distant), bench.rounds or ROUNDS, once, warm=0 if bench.tiny else agents.ACCOUNTS)
