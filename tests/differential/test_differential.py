# SPDX-License-Identifier: ISC
"""The simulated ledger behaves like the SQL of src/ledger: random histories (history.h) have the same course on both, with
each lock.method. ONCEDROP_HISTORIES says how many, ONCEDROP_SEED from which seed; a difference is reported with seed and
history, and shrunk."""

import concurrent.futures
import difflib
import os
import queue
import random
import subprocess

import pytest

from lab import lab as lab_module, locks

HISTORIES = int(os.environ.get("ONCEDROP_HISTORIES") or 60)
SEED = int(os.environ.get("ONCEDROP_SEED") or random.SystemRandom().randrange(1 << 32))
FIXED = min(HISTORIES, 60)     # of seed 1
PART = 10      # histories of one run of the programs
STEPS = 64      # STEPS_MOST, history.h

# Of tests/simulation/breakage.c: those in its ledger, except those that only its other parts would show.
BREAKAGES = ("VARIANT_IS_DUPLICATE VARIANTS_UNSEEN CLAIM_BLINDLY SETTLE_BLINDLY HOLD_UNCHECKED UNDO_CLEARS_DOUBT"
             " UNDO_BY_NUMBER COMMIT_UNCHECKED SETTLE_UNCHECKED DATE_OF_THIS_TRY").split()


def play(method, program, where, seed, first, count, left_out=()):
    """The histories' lines."""
    path = os.path.join(os.path.dirname(lab_module.program()), "differential-" + program)
    arguments = [path, where, str(seed), str(first), str(count), *map(str, left_out)]
    done = subprocess.run(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=3600, env={**os.environ, "ONCEDROP_LOCK_METHOD": method})
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


def both(method, conninfo, seed, first, count, left_out=()):
    return (play(method, "postgres", conninfo, seed, first, count, left_out),
            play(method, "simulated", "", seed, first, count, left_out))


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
    return "\n".join([words, *difflib.unified_diff(*shortest, "PostgreSQL", "simulated", lineterm="", n=STEPS * 100)]
                     if shortest else [words, "differs only behind other histories"])


@pytest.fixture(scope="module")
def conninfos(lab, ledgers):
    """One for a database per processor."""
    databases = [ledgers.take() for _ in range(os.cpu_count())]
    yield [f"host={lab.postgres.directory} port={lab.postgres.port} dbname={database} user=admin" for database in databases]
    for database in databases:
        ledgers.give_back(database)


def share(method, histories):
    """The numbers of the histories that are played with this method: the methods divide them."""
    places = [histories * i // len(locks.METHODS) for i in range(len(locks.METHODS) + 1)]
    place = locks.METHODS.index(method)
    return places[place], places[place + 1]


@pytest.mark.parametrize("method", locks.METHODS)
@pytest.mark.parametrize("fresh", [False, True])
def test_histories(conninfos, fresh, method):
    seed, (begin, end) = (SEED, share(method, HISTORIES)) if fresh else (1, share(method, FIXED))
    idle = queue.Queue()
    for conninfo in conninfos:
        idle.put(conninfo)

    def play_part(first):
        conninfo, count = idle.get(), min(PART, end - first)
        try:
            real, simulated = both(method, conninfo, seed, first, count)
            assert real == simulated, report(method, conninfo, seed, different(real, simulated))
            return len(real)
        finally:
            idle.put(conninfo)

    with concurrent.futures.ThreadPoolExecutor(len(conninfos)) as pool:
        parts = [pool.submit(play_part, first) for first in range(begin, end, PART)]
        try:
            lines = sum(part.result() for part in parts)
        finally:
            pool.shutdown(cancel_futures=True)
    print(f"differential: {method}, seed {seed}: histories {begin} to {end - 1}, {lines} lines, the same")


def test_breakages(conninfos):
    """Every breakage of the simulated ledger shows as a difference."""
    real = play("advisory", "postgres", conninfos[0], 1, 0, 30)
    found = {name: different(real, play("advisory", "simulated", name, 1, 0, 30)) for name in BREAKAGES}
    print("differential: broken, and noticed in history:", ", ".join(f"{name} {found[name]}" for name in BREAKAGES))
    assert None not in found.values()
