# SPDX-License-Identifier: ISC
"""The database server, or the delivery, stops in the middle: the delivery's backend is ended, the server restarts, the lock
is lost while an APPEND is under way, the delivery itself stands still past its deadline. Each happens at a piece of the
dialogue with PostgreSQL, MariaDB or IMAP, which goes on when it has happened. Then the delivery is run again until it says 0,
in some cases at the same time as another one of the same message: every mailbox has the message once.

ONCEDROP_FAULTS=all takes every piece of the dialogues for the ended backend and the restart; `make check-all` those around
the APPENDs and COMMITs, the end of each batch, and for the ended backend others at random. The concurrent
deliveries are the same in both.

Seen to fail with: doubt not set by a new claim (plan.c: append_or_search); the hold-off not looked at (plan.c: find_reason); a
deadline without a timer (deadline.c: deadline_arm). Each makes two copies with two concurrent deliveries. Also with settling
taken for done if it failed twice (ledger_settle.c: ledger_settle): a copy stays unfinished where PostgreSQL is away from a
COMMIT on. Also if it failed once: the same where a backend is ended. Not noticed: attempt and claim not compared when settling.
What one that was overtaken still writes here is true: it ends by its deadline, before others may claim."""

import collections
import concurrent.futures
import functools
import itertools
import os
import random
import signal
import subprocess
import threading

import death
import pytest
from bench import PATIENT, Bench, Wrong, check_ledger, finish, look, pooler, repeat, run_points, unreached
from lab import locks
from lab.lab import DELIVERY, Lab
from lab.ledger import MARIADB, POSTGRES, engine
from lab.process import wait_until
from lab.proxy import CLIENT
from lab.site import install_schema, new_site
from wire import HELD_BACK, Point, Wire, units

ALL = os.environ.get("ONCEDROP_FAULTS") == "all"
MORE = 12       # further steps of a delivery, at random
TRIES = 6       # to reach the point: a busy machine reduces what the deadline leaves for Sent

AROUND_APPEND = ("APPEND", "go-ahead for APPEND", "literal of APPEND", "end of APPEND", "OK to APPEND")

# What is sent to the database: the end of each batch; the last piece before a COMMIT. MariaDB gets a batch in one piece, and
# an answer that it has sent to a COMMIT may be held back.
END_OF_BATCH, BEFORE_COMMIT = (("Sync",), "Parse of COMMIT") if engine() == POSTGRES else \
    (("Query", "Query with COMMIT"), "Query with COMMIT")
FAREWELL = ("LOGOUT", "Terminate", "Quit")

# A step of a delivery: the piece before which something happens, on the connection where it passes.
Step = collections.namedtuple("Step", "way unit")


def to_imap(bench, *point):
    lab = bench.site.lab
    return Wire(bench, "imap", lab.dovecot.port, pooler(lab).port if engine() == POSTGRES else lab.mariadb.port, *point)


def to_pooler(bench, *point):
    return Wire(bench, "database", pooler(bench.site.lab).port, None, *point)


def to_postgres(bench, *point):
    return Wire(bench, "database", bench.site.lab.postgres.port, None, *point)


def to_mariadb(bench, *point):
    return Wire(bench, "database", bench.site.lab.mariadb.port, None, *point)


# Through what a delivery is seen; the database's.
WAYS = (to_imap, to_pooler, to_postgres) if engine() == POSTGRES else (to_imap, to_mariadb)


def inbox(bench):
    return bench.deliver(sent=False)


def inbox_and_sent(bench):
    return bench.deliver()


def steps(bench, way, make):
    """All pieces of a whole dialogue that can be held back, except those of the farewell."""
    wire, case = way(bench), make(bench)
    done = wire.run(case._replace(words=bench.with_options(case, *PATIENT)))
    wire.close()
    assert case.succeeded(done), done
    return [Step(way, unit) for unit in units(wire)
            if (unit.side == CLIENT or way in (to_imap, to_imap_announced) or unit.kind == "OK of COMMIT") and unit.kind not in FAREWELL]


def held_at(bench, step, action, case, run=death.run):
    """Runs it with the piece held back while the action is executed; returns (its output, whether it reached the
    step)."""
    wire = step.way(bench, Point(HELD_BACK, step.unit, None), action)
    try:
        return wire.run(case, run), wire.reached.is_set()
    finally:
        wire.close()


def set_times(site, deadline, hold_off):
    site.settings.update({"delivery.deadline": deadline, "delivery.hold_off": hold_off, "imap.timeout": "2s"})
    site.write("oncedrop.conf", site.configuration())


def backends(site, wire):
    if engine() == MARIADB:
        clients = [f"127.0.0.1:{port}" for port in wire.database_ports()]
        # A delivery that has lost its session tries to open another at once.
        return [number for number, host in site.sql("SELECT id, host FROM information_schema.processlist"
                                                    " WHERE user <> 'unauthenticated user'") if host in clients]
    return [row.pid for row in
            site.sql("SELECT pid FROM pg_catalog.pg_stat_activity WHERE application_name = %s", (wire.name,))]


def end_backends(site, wire):
    """Ends every backend that this run used last; returns how many."""
    pids = backends(site, wire)
    for pid in pids:
        if engine() == MARIADB:
            site.lab.mariadb.kill(pid)
        else:
            site.sql("SELECT pg_catalog.pg_terminate_backend(%s)", (pid,))
    there = "SELECT id FROM information_schema.processlist" if engine() == MARIADB else "SELECT pid FROM pg_stat_activity"
    wait_until(lambda: not {number for number, in site.sql(there)}.intersection(pids), "the backends are gone")
    return len(pids)


def critical(found):
    """What each run of the short form tries: around the APPENDs and COMMITs, and the end of each batch."""
    return [step for step in found
            if step.unit.kind in (*AROUND_APPEND, *END_OF_BATCH) or step.unit.kind.endswith("of COMMIT")]


def chosen_steps(found, seed):
    if ALL:
        return found
    choice = random.Random(seed)
    chosen = critical(found)
    rest = [step for step in found if step not in chosen]
    return chosen + choice.sample(rest, min(MORE, len(rest)))


def try_step(bench, step, make, action):
    """Runs a separate case up to the step, where the action is executed once, and then until it succeeds."""
    for _ in range(TRIES):
        case = make(bench)
        first, reached = held_at(bench, step, action, case)
        wrong = finish(bench, case, first)
        if wrong or reached:
            return wrong
    return unreached(first)


def test_backend_ended(site, tally):
    """At each step of a delivery to inbox and Sent; before the first statement there is no backend yet."""
    bench = Bench(site)
    set_times(site, "6s", "7s")     # otherwise a busy machine leaves too little for Sent
    ended = []

    def action(wire):
        ended.append(end_backends(site, wire))
    chosen = [step for way in WAYS
              for step in chosen_steps(steps(bench, way, inbox_and_sent), way.__name__)]
    wrong = run_points(lambda step: try_step(bench, step, inbox_and_sent, action), chosen)
    tally("server faults", sum(map(bool, ended)), wrong)
    check_ledger(site)
    assert sum(map(bool, ended)) > len(chosen) / 2


@pytest.fixture
def own_site(lab):
    """A site with its own database server, which can be restarted, and with PostgreSQL a PgBouncer."""
    own = Lab()
    own.dovecot, own.authority = lab.dovecot, lab.authority
    try:
        site = new_site(own, install_schema(own))
        yield site
        site.close()
    finally:
        own.stop()


def restart_steps(found):
    """All in the exhaustive form; else those around the APPENDs, the COMMITs, and the end of each batch."""
    kinds = (*AROUND_APPEND, "Execute of COMMIT", "OK of COMMIT", *END_OF_BATCH)
    return found if ALL else [step for step in found if step.unit.kind in kinds]


def restart_at(bench, step, number, down):
    """Returns (case, its output, whether it reached the step). Servers end with the thread that started them, so this
    thread restarts them. down: the server stays away until the delivery has ended."""
    server = bench.site.database_server
    case, arrived, over = inbox_and_sent(bench), threading.Event(), threading.Event()

    def action(_wire):
        arrived.set()
        over.wait()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        running = pool.submit(held_at, bench, step, action, case)
        wait_until(lambda: arrived.is_set() or running.done(), "it came to the step, or to its end", 60)
        try:
            if arrived.is_set() and down:
                server.end(number)
            elif arrived.is_set():
                server.restart(number)
        finally:
            over.set()
        outcome = running.result()
    if server.process.poll() is not None:
        server.launch()
        wait_until(server.is_up, "the server answers again")
    if engine() == POSTGRES:    # a client that asked PgBouncer meanwhile was refused, and the next ones would be
        wait_until(lambda: pooler(bench.site.lab).reaches(bench.site.database, DELIVERY), "PgBouncer has logged in")
    return case, *outcome


def test_restart(own_site, tally):
    """The server restarts, in order or at once; or it is away from a COMMIT on. One step after the other; then all of
    them are repeated."""
    bench = Bench(own_site)
    found = [step for way in WAYS[:2] for step in restart_steps(steps(bench, way, inbox_and_sent))]
    found = [(step, False) for step in found]
    found += [(step, True) for step in steps(bench, WAYS[-1], inbox_and_sent) if step.unit.kind == BEFORE_COMMIT]
    both = (signal.SIGQUIT, signal.SIGINT) if engine() == POSTGRES else (signal.SIGKILL, signal.SIGTERM)
    begun, wrong = [], []
    for place, (step, down) in enumerate(found):
        for number in both if ALL else both[place % 2:place % 2 + 1]:
            for _ in range(TRIES):
                case, first, reached = restart_at(bench, step, number, down)
                begun.append((case, first))
                if reached:
                    break
            else:
                wrong.append(Wrong("other", f"{step}: the dialogue never came to it: {first}"))
    wrong += run_points(lambda started: finish(bench, *started), begun)
    tally("server faults", len(begun), wrong)
    check_ledger(own_site)


class Impatient(Wire):
    """A connection to the database that ends transactions after being idle for a third of the deadline's seconds, and with
    MariaDB sessions that have a lock."""

    def __init__(self, seconds, *arguments):
        self.seconds = seconds
        super().__init__(*arguments)

    def pass_on(self, connection, unit, piece):
        if engine() == MARIADB and unit.kind in END_OF_BATCH:
            ms = str(self.seconds * 1000)
            piece = piece.replace(f"ceil({ms} / ".encode(), f"ceil({str(self.seconds * 1000 // 3).zfill(len(ms))} / ".encode())
        if unit.kind == "Bind":
            ms = str(self.seconds * 1000)
            third, size = str(self.seconds * 1000 // 3).zfill(len(ms)), b"\0\0\0" + bytes([len(ms)])
            piece = piece.replace(size + ms.encode(), size + third.encode())
        super().pass_on(connection, unit, piece)


class ImapBeside(Wire):
    """A connection to IMAP, with a wire to the database as well."""

    def __init__(self, bench, database, *point):
        self.database = database
        super().__init__(bench, "imap", bench.site.lab.dovecot.port, database.proxy.port, *point)

    def database_ports(self):
        return self.database.database_ports()

    def close(self):
        super().close()
        self.database.close()


# Where something happens. server: where the piece passes; piece: finds it among the steps of a whole dialogue.
# announced: as of Wire.
Moment = collections.namedtuple("Moment", "name server piece announced", defaults=(False,))


def last(kind):
    return lambda found: [step for step in found if step.unit.kind == kind][-1]


def before_append(found):
    return found[found.index(last("APPEND")(found)) - 1]


def settle(found):
    """The first statement of the last batch with a COMMIT."""
    if engine() == MARIADB:
        return last(BEFORE_COMMIT)(found)
    end = found.index(last("Parse of COMMIT")(found))
    return [step for place, step in enumerate(found[:end]) if place and found[place - 1].unit.kind == "Sync"][-1]


BEFORE = Moment("before APPEND", "imap", before_append)
GO_AHEAD = Moment("before the literal", "imap", last("go-ahead for APPEND"), True)
LITERAL = Moment("before the literal's end", "imap", last("end of APPEND"))
STORED = Moment("before the OK", "imap", last("OK to APPEND"))
SETTLE = Moment("after the OK", "database", settle)

# stopped: the delivery is; otherwise its lock is lost. idle: by idle_in_transaction_session_timeout; otherwise the
# backend is ended. complete: the other delivery says 0 before the piece goes on; otherwise it has been there once.
Meeting = collections.namedtuple("Meeting", "moment make direct stopped idle complete", defaults=(False, False, False))


def meetings():
    makes, ways = (inbox, inbox_and_sent), (False, True) if engine() == POSTGRES else (True,)
    for make in makes:
        for direct in ways:
            for moment in (BEFORE, GO_AHEAD, STORED, SETTLE):
                yield Meeting(moment, make, direct, stopped=True, complete=True)
            for idle in (False, True) if locks.of_environment() != "lease" else (False,):   # with which nothing is idle
                for moment in (LITERAL, STORED, SETTLE):
                    yield Meeting(moment, make, direct, idle=idle)
                for moment in (GO_AHEAD, STORED, SETTLE):
                    yield Meeting(moment, make, direct, idle=idle, complete=True)


def announced(wire, value=True):
    wire.announced = value
    return wire


def to_imap_announced(bench, *point):
    return announced(to_imap(bench, *point))


def way_of(meeting, bench, seconds):
    """Makes the wire of a meeting for a point."""
    port = bench.site.database_server.port if meeting.direct else bench.large_pool.port
    to_database = functools.partial(Impatient, seconds) if meeting.idle else Wire
    if meeting.moment.server == "imap":
        return lambda bench, *point: announced(ImapBeside(bench, to_database(bench, "database", port, None), *point),
                                               meeting.moment.announced)
    return lambda bench, *point: to_database(bench, "database", port, None, *point)


class Met:
    """A delivery, and another one of the same message that arrives while the first is held up."""

    def __init__(self, bench, meeting, seconds):
        self.bench, self.meeting = bench, meeting
        case = meeting.make(bench)
        times = [("-o", f"delivery.deadline={seconds}s"), ("-o", f"delivery.hold_off={seconds + 1}s"),
                 ("-o", f"imap.timeout={seconds * 2 // 3}s")]
        self.case = case._replace(words=bench.with_options(case, *itertools.chain(*times)))
        self.child = None
        self.missed = False
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.other = None

    def run(self, words, stdin):
        """Like death.run, but the process is known."""
        with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                              env=death.environment(), start_new_session=True) as self.child:
            try:
                out, err = self.child.communicate(stdin, 300)
            except BaseException:
                self.child.kill()
                raise
        return subprocess.CompletedProcess(words, self.child.returncode, out, err)

    def has_ended(self):
        return self.child.poll() is not None

    def stop(self):
        self.child.send_signal(signal.SIGSTOP)
        wait_until(lambda: self.has_ended() or self.stands_still(), "it stands still")

    def stands_still(self):
        try:
            with open(f"/proc/{self.child.pid}/stat", encoding="utf-8", errors="replace") as file:
                return file.read().rpartition(")")[2].split()[0] == "T"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def hold_up(self, wire):
        """False if the delivery has ended before, by its deadline, as may happen on a busy machine."""
        site = self.bench.site
        if self.meeting.stopped:
            self.stop()
        elif self.meeting.idle:
            wait_until(lambda: not backends(site, wire), "the transaction was ended")
        elif not end_backends(site, wire):
            wait_until(self.has_ended, f"it has ended, having no backend named {wire.name}")
        return not self.has_ended()

    def action(self, wire):
        if not self.hold_up(wire):
            self.missed = True
            return False
        try:
            first = death.run(self.case.words, self.case.stdin)
            self.other = self.pool.submit(repeat, self.case, first)
            if self.meeting.complete:
                self.other.result()
        finally:
            if self.meeting.stopped:
                self.child.send_signal(signal.SIGCONT)
        # What a process still had to send goes with it (SO_LINGER), before others may claim. Passed on after its end,
        # as a loaded machine may do here, it would be what the network delayed for longer than the hold-off.
        return self.meeting.stopped or not self.has_ended()

    def outcome(self, first):
        """What went wrong, once both have succeeded."""
        wrong = repeat(self.case, first) or (self.other and self.other.result()) or look(self.bench, self.case)
        self.pool.shutdown()
        return wrong


def try_meeting(bench, steps_of, meeting):
    server = meeting.moment.server + ("+" if meeting.moment.announced else "")
    step = meeting.moment.piece(steps_of[meeting.make, server, meeting.direct])
    for trial in range(TRIES):
        seconds = 3 << trial    # that a quick machine need not wait, and a slow one comes to the point
        met = Met(bench, meeting, seconds)
        first, reached = held_at(bench, step._replace(way=way_of(meeting, bench, seconds)), met.action, met.case, met.run)
        wrong = met.outcome(first)
        if wrong or (reached and not met.missed):
            return wrong
    return unreached(first)


def test_beside_another(site, tally):
    """The delivery is stopped past its deadline, or loses its lock, and another one of the same message arrives."""
    bench = Bench(site)
    set_times(site, "6s", "7s")
    if engine() == POSTGRES:
        bench.large_pool = site.lab.pgbouncer   # deliveries that are held up keep its connections
    ways = (("imap", False, to_imap), ("imap", True, to_imap), ("imap+", False, to_imap_announced),
            ("imap+", True, to_imap_announced), ("database", False, WAYS[1]), ("database", True, WAYS[-1]))
    steps_of = {(make, server, direct): steps(bench, way, make)
                for make in (inbox, inbox_and_sent) for server, direct, way in ways}
    chosen = list(meetings())
    wrong = run_points(lambda meeting: try_meeting(bench, steps_of, meeting), chosen)
    tally("server faults", len(chosen), wrong)
    check_ledger(site)
