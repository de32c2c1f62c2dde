# SPDX-License-Identifier: ISC
"""The simulated ledger behaves like src/ledger with each engine: random histories (history.h) have the same course on both,
with each method of locking. ONCEDROP_HISTORIES says how many, ONCEDROP_SEED from which seed; a difference is reported with
seed and history, and shrunk."""

import concurrent.futures
import difflib
import os
import queue
import random
import subprocess

import pytest

from lab import lab as lab_module, locks
from lab.site import install_mariadb

HISTORIES = int(os.environ.get("ONCEDROP_HISTORIES") or 60)
SEED = int(os.environ.get("ONCEDROP_SEED") or random.SystemRandom().randrange(1 << 32))
FIXED = min(HISTORIES, 60)     # of seed 1
PART = 10      # histories of one run of the programs
STEPS = 64      # STEPS_MAX, history.h

# Of tests/simulation/breakage.c: those in its ledger, except those that only its other parts would show.
BREAKAGES = ("VARIANT_IS_DUPLICATE VARIANTS_UNSEEN CLAIM_BLINDLY SETTLE_BLINDLY HOLD_UNCHECKED UNDO_CLEARS_DOUBT"
             " UNDO_BY_NUMBER COMMIT_UNCHECKED SETTLE_UNCHECKED DATE_OF_THIS_TRY").split()


def play(engine, method, program, where, seed, first, count, left_out=()):
    """The histories' lines."""
    path = os.path.join(lab_module.build(), "differential-" + program)
    arguments = [path, where, str(seed), str(first), str(count), *map(str, left_out)]
    settings = {"ONCEDROP_LOCK_METHOD": method}
    if engine != "sqlite":
        settings["ONCEDROP_CLAIMS_IF_NEW"] = "yes"
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=3600, env={**os.environ, **settings})
    assert done.stdout, f"{path} says nothing, and ends with {done.returncode}"
    return done.stdout.splitlines() + ([f"ends with {done.returncode}"] if done.returncode else [])


def different(real, simulated):
    """The number of the first history in which the two differ, or None."""
    number = None
    for line, other in zip([*real, ""], [*simulated, ""]):
        if line != other:
            return number
        if line.startswith("history "):
            number = int(line.split()[1])
    return None


METHODS = [(engine, method) for engine in ("postgres", "sqlite", "mariadb") for method in locks.METHODS_OF[engine]]


def both(method, conninfo, seed, first, count, left_out=()):
    engine = next((name for name in ("sqlite", "mariadb") if conninfo.startswith(f"{name}:")), "postgres")
    return (play(engine, method, engine, conninfo, seed, first, count, left_out),
            play(engine, method, "simulated", "", seed, first, count, left_out))


def differ(method, conninfo, seed, number, left_out):
    pair = both(method, conninfo, seed, number, 1, left_out)
    return pair if pair[0] != pair[1] else None


def report(method, conninfo, seed, number):
    """The history without the steps that are not needed for the difference."""
    left_out, shortest = [], differ(method, conninfo, seed, number, [])
    for step in reversed(range(STEPS if shortest else 0)):
        shorter = differ(method, conninfo, seed, number, [*left_out, step])
        if shorter:
            left_out.append(step)
            shortest = shorter
    words = f"{method}, seed {seed}, history {number}, left out: {' '.join(map(str, left_out))}"
    return "\n".join([words, *difflib.unified_diff(*shortest, "real", "simulated", lineterm="", n=STEPS * 100)]
                     if shortest else [words, "differs only behind other histories"])


@pytest.fixture(scope="module")
def databases(lab, ledgers):
    """Of each engine one per processor: conninfos."""
    made, taken = {}, []

    def of_postgres():
        taken.append(ledgers.take())
        return f"host={lab.postgres.directory} port={lab.postgres.port} dbname={taken[-1]} user=admin"

    new = {"postgres": of_postgres, "sqlite": lambda: new_file(lab.new_directory("differential")),
           "mariadb": lambda: new_mariadb(lab)}

    class Databases:
        def __getitem__(self, engine):
            if engine not in made:
                made[engine] = [new[engine]() for _ in range(os.cpu_count())]
            return made[engine]

    yield Databases()
    for name in taken:
        ledgers.give_back(name)


def new_mariadb(lab):
    """A conninfo of its administrator's."""
    name = lab.mariadb.create_database(lab_module.OWNER)
    install_mariadb(lab, name)
    return f"mariadb://admin:{lab.mariadb.password}@localhost/{name}?socket={lab.mariadb.socket}"


def new_file(directory):
    """A conninfo."""
    conninfo, configuration = f"sqlite:{directory}/ledger.db", os.path.join(directory, "oncedrop.conf")
    with open(configuration, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(f"[database]\nconninfo={conninfo}\n[imap]\ncommand=true\n[service]\nuser=\n")
    subprocess.run([lab_module.program(), "-c", configuration, "ledger", "install"], check=True, stdout=subprocess.DEVNULL)
    return conninfo


def share(engine, method, histories):
    """The numbers of the histories that are played with this method: the engine's methods divide them."""
    methods = [name for its, name in METHODS if its == engine]
    return [histories * place // len(methods) for place in (methods.index(method), methods.index(method) + 1)]


@pytest.mark.parametrize("engine, method", METHODS)
@pytest.mark.parametrize("fresh", [False, True])
def test_histories(databases, fresh, engine, method):
    seed, (begin, end) = (SEED, share(engine, method, HISTORIES)) if fresh else (1, share(engine, method, FIXED))
    idle = queue.Queue()
    for conninfo in databases[engine]:
        idle.put(conninfo)

    def play_part(first):
        conninfo, count = idle.get(), min(PART, end - first)
        try:
            real, simulated = both(method, conninfo, seed, first, count)
            assert real == simulated, report(method, conninfo, seed, different(real, simulated))
            return len(real)
        finally:
            idle.put(conninfo)

    with concurrent.futures.ThreadPoolExecutor(len(databases[engine])) as pool:
        parts = [pool.submit(play_part, first) for first in range(begin, end, PART)]
        try:
            lines = sum(part.result() for part in parts)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"differential: {engine}, {method}, seed {seed}: histories {begin} to {end - 1}, {lines} lines, the same")


@pytest.mark.parametrize("engine, method", [("postgres", "advisory"), ("sqlite", "session"), ("mariadb", "session")])
def test_breakages(databases, engine, method):
    """Every breakage of the simulated ledger shows as a difference."""
    real = play(engine, method, engine, databases[engine][0], 1, 0, 30)
    found = {name: different(real, play(engine, method, "simulated", name, 1, 0, 30)) for name in BREAKAGES}
    print(f"differential: {engine}: broken, and noticed in history:",
          ", ".join(f"{name} {found[name]}" for name in BREAKAGES))
    assert None not in found.values()
