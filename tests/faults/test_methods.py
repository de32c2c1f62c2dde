# SPDX-License-Identifier: ISC
"""The lock of a message by each method, with direct connections and through PgBouncer, for Dovecot and Cyrus: the same
cases for all twelve, and for a ledger in a file, which has one method. Prints a table at the end.

A crowd of deliveries of one message starts at once: while the first APPEND is unanswered, each of the others is deferred;
then they are repeated, all at once, until all have succeeded. And of two deliveries one is killed at a system call; then
both are repeated. In the end every mailbox has the message once, byte for byte, nothing in the ledger is unfinished, and
nothing is locked.

The first system call behind the literal of an APPEND is always tried. With ONCEDROP_FAULTS=all (`make methods`) every one
after main's first, or ONCEDROP_POINTS of them. In `make check-all` a few of those that send and receive. The simulator has each
method, too: tests/simulation/run.

Seen to fail with: a lock that every delivery gets (ledger_state.c, ledger_claim.c: each of the crowds); a claim without
doubt (plan.c: append_or_search, doubled, on both servers)."""

import concurrent.futures
import os
import random
import time

import death
import pytest
from bench import PATIENT, Bench, Wrong, check_ledger, look, run_spoilt
from lab import cyrus, locks, site as site_module
from lab.ledger import MARIADB, POSTGRES, SQLITE, engine
from lab.process import wait_until
from lab.proxy import SERVER, Proxy

ALL = os.environ.get("ONCEDROP_FAULTS") == "all"
CROWD = 16
POINTS = int(os.environ.get("ONCEDROP_POINTS") or (0 if ALL else 4))    # in addition to the one behind the literal; 0: every one
AT_ONCE = 6     # deliveries killed at a time, with each of the methods
WAYS = {POSTGRES: ("direct", "PgBouncer"), SQLITE: ("file",), MARIADB: ("direct",)}[engine()]
SERVERS = ("Dovecot", "Cyrus")


@pytest.fixture(params=SERVERS)
def server(lab, request):
    if request.param == "Cyrus" and cyrus.missing():
        pytest.skip(cyrus.missing())
    return getattr(lab, request.param.lower())


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


@pytest.fixture
def sites(site, lab, ledgers):
    """One for each method."""
    more = [site_module.new_site(lab, ledgers) for _ in locks.METHODS[1:]]
    found = dict(zip(locks.METHODS, [site, *more]))
    for method, one in found.items():
        locks.agree(one, method)
    yield found
    for one in more:
        one.close()


def bench_of(site, server, way):
    site.use_server(server)
    return Bench(site, direct=way != "PgBouncer")


@pytest.fixture
def see(way, server, request):
    """Puts a cell into the table."""
    def add(method, column, text, wrong):
        row = f"{method}, {way}, {server.title} {server.version()}"
        request.node.user_properties.append(("matrix", (row, column, f"FAILED: {len(wrong)} wrong" if wrong else text)))
    return add


class Gate:
    """An IMAP proxy that holds up the answer to the first APPEND until this many deliveries have ended."""

    def __init__(self, bench, enough):
        self.enough = enough
        self.first, self.ended = [], []
        self.proxy = bench.site.use(Proxy(bench.site.imap.port, self.watch))
        self.options = [*bench.by_port(self.proxy.port), *PATIENT]

    def watch(self, connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not self.first:
            self.first.append(connection)
            wait_until(lambda: len(self.ended) >= self.enough, "the others have ended")
        return data

    def run(self, bench, case):
        done = death.run(bench.with_options(case, *self.options), case.stdin)
        self.ended.append(done)
        return done


def is_held(done):
    return done.returncode == 75 and b"is being delivered elsewhere" in done.stdout


def crowd(bench):
    """Returns how many tries there were, and the first Wrong, or None."""
    cases, tries = bench.crowd(CROWD), 0
    gate = Gate(bench, CROWD - 1)
    left, end = cases, time.monotonic() + 120
    with concurrent.futures.ThreadPoolExecutor(CROWD) as pool:
        while left and time.monotonic() < end:
            found = list(pool.map(lambda case: gate.run(bench, case), left))
            odd = [done for done in found if done.returncode != 0 and not is_held(done)]
            if odd or (not tries and sum(map(is_held, found)) < CROWD - 1):
                return tries, Wrong("other", f"{odd or found} while another delivery has the lock")
            tries += len(left)
            if not ALL:
                gate.options += ["-o", "lock.wait=30s"]     # fewer tries
            left = [case for case, done in zip(left, found) if done.returncode != 0]
    if left:
        return tries, Wrong("other", f"no success of {left}")
    return tries, next(filter(None, (look(bench, case) for case in cases)), None)


def nothing_is_locked(site):
    """Also nothing that would have to expire. A server notices a moment later that a client is dead."""
    wait_until(lambda: site.run("locks").out == "no delivery is in progress\n", "nothing is locked")
    assert engine() == SQLITE or site.sql("SELECT * FROM oncedrop.lease") == []


@pytest.mark.parametrize("method", locks.METHODS, indirect=True)
def test_a_crowd(site, method, way, server, see, tally):
    tries, wrong = crowd(bench_of(site, server, way))
    found = [wrong] if wrong else []
    see(method, f"{CROWD} at once", f"ok, {tries} tries", found)
    tally("crowded deliveries", CROWD, found)
    check_ledger(site)
    nothing_is_locked(site)


def killed(bench, random):
    """Returns the points that were tried, how many deliveries died there, and what went wrong."""
    path = bench.trace(bench.two_recipients())
    found = death.points(path, None if ALL else ("sendto", "recvfrom"))
    _, behind = bench.find_end_of_literal(path)
    rest = [point for point in found if point != behind]
    chosen = [behind, *(random.sample(rest, POINTS) if POINTS else rest)]
    wrong = run_spoilt(bench, bench.two_recipients, death.killed_at, chosen, AT_ONCE)
    return chosen, len(bench.deaths), wrong


def test_killed(sites, way, server, see, tally):
    """All methods at once, for most of the time is spent waiting for hold-offs."""
    benches = [bench_of(site, server, way) for site in sites.values()]
    dice = [random.Random(f"{method} {way} {server.title}") for method in sites]
    with concurrent.futures.ThreadPoolExecutor(len(benches)) as pool:
        results = list(pool.map(killed, benches, dice))
    for method, (chosen, deaths, wrong) in zip(sites, results):
        see(method, "killed", f"ok, at {deaths} of {len(chosen)} points", wrong)
    tally("crash points", sum(len(chosen) for chosen, _, _ in results), [item for *_, wrong in results for item in wrong])
    for site in sites.values():
        check_ledger(site)
        nothing_is_locked(site)
