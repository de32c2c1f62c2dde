# SPDX-License-Identifier: ISC
"""The wire is cut behind every byte: between the program and IMAP, and between it and PostgreSQL, in each direction. Then
the delivery is run again, with the wire whole, until it says 0.

Seen to fail with: doubt not set by a new claim (copies.c: want)."""

import collections
import os
import random
import threading

import death
import pytest
from lab import lab as lab_module
from lab.proxy import CLIENT, SERVER, Proxy
from test_death import Bench, check_ledger, finish, run_points

SAMPLE = int(os.environ.get("ONCEDROP_WIRE_CUTS") or 200)

WRITING = threading.Lock()
Cut = collections.namedtuple("Cut", "connection byte")


class Wire:
    """A proxy in front of one of the servers that cuts one connection behind so many bytes of one side."""

    def __init__(self, bench, server, side, cut=None):
        site = bench.site
        self.side, self.cut = side, cut
        self.seen = collections.Counter()
        self.proxy = Proxy(site.lab.dovecot.port if server == "imap" else site.lab.postgres.port, self.watch)
        conninfo = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY, port=self.proxy.port)
        changed = {"imap.port": self.proxy.port} if server == "imap" else {"database.conninfo": conninfo}
        with WRITING:
            whole, site.settings = site.settings, {**site.settings, **changed}
            self.configuration = site.write(f"wire{self.proxy.port}.conf", site.configuration())
            site.settings = whole

    def watch(self, connection, side, data):
        if side != self.side:
            return data
        before = self.seen[connection.number]
        self.seen[connection.number] += len(data)
        if self.cut is None or connection.number != self.cut.connection or \
                not before <= self.cut.byte < before + len(data):
            return data
        if self.cut.byte > before:
            try:
                connection.sockets[SERVER if side == CLIENT else CLIENT].sendall(data[:self.cut.byte - before])
            except OSError:
                pass    # it was gone already
        return None

    def run(self, case):
        words = [self.configuration if word.endswith("oncedrop.conf") else word for word in case.words]
        done = death.run(words, case.stdin)
        self.proxy.close()
        return done


@pytest.mark.parametrize("side", [CLIENT, SERVER])
@pytest.mark.parametrize("server", ["imap", "database"])
def test_cut_behind_every_byte(site, server, side, tally):
    bench = Bench(site)
    whole = Wire(bench, server, side)
    case = bench.deliver()
    assert case.succeeded(whole.run(case))
    cuts = [Cut(connection, byte) for connection, size in whole.seen.items() for byte in range(size)]
    chosen = random.Random(server + side).sample(cuts, min(SAMPLE, len(cuts)))

    def try_cut(cut):
        new = bench.deliver()
        wrong = finish(bench, new, Wire(bench, server, side, cut).run(new))
        return wrong and f"{cut}: {wrong}"
    wrong = run_points(try_cut, chosen)
    tally(f"cuts of the wire to the {server}", len(chosen), len(wrong))
    assert not wrong, "\n".join(wrong)
    check_ledger(site)
