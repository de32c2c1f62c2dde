# SPDX-License-Identifier: ISC
"""System calls in a run of the program, and runs in which one of them is the last, or fails."""

import collections
import os
import re
import signal
import subprocess

from lab import process

CALL = re.compile(r"^(\d+) +(\w+)\(")
# main's first act, fill_standard_descriptors: before it only the loader and the libraries' constructors have run.
MARK = re.compile(r'^\d+ +openat\(AT_FDCWD, "/dev/null", O_RDWR\)')

Point = collections.namedtuple("Point", "call number")


def read_calls(path):
    """The system calls in a trace, as (process, name), and how many of each the first process made before main."""
    calls, before = [], None
    with open(path, encoding="utf-8", errors="replace") as trace:
        for line in trace:
            if before is None and MARK.match(line):
                before = collections.Counter(calls)
            match = CALL.match(line)
            if match:
                calls.append(match.groups())
    if before is None:
        raise RuntimeError(f"main was not recognised in {path}")
    return calls, before


def points(path, names=None):
    """Every system call after the beginning of main, in order, as counted by strace's inject: for each process
    separately, so a worker's calls are left out if its parent would reach the same count first."""
    calls, before = read_calls(path)
    parent = calls[0][0]
    of_parent = collections.Counter(name for caller, name in calls if caller == parent)
    seen = collections.Counter()
    found = []
    for caller, name in calls:
        seen[caller, name] += 1
        number = seen[caller, name]
        first = before[caller, name] if caller == parent else of_parent[name]
        if number > first and (names is None or name in names):
            found.append(Point(name, number))
    return found


def strace(*options):
    return [process.find_program("strace"), "-f", "-qq", *options]


def killed_at(point):
    """Words before a command line that kill it when it makes this call (the call is not executed)."""
    return strace("-o", "/dev/null", "-e", f"trace={point.call}", "-e",
                  f"inject={point.call}:signal=KILL:when={point.number}")


def failing_at(point, error):
    return strace("-o", "/dev/null", "-e", f"trace={point.call}", "-e",
                  f"inject={point.call}:error={error}:when={point.number}")


def sample(found, count, random):
    """Every kind of call, and `count` in all; all of them when count is 0."""
    if not count or count >= len(found):
        return list(found)
    kinds = {}
    for point in random.sample(found, len(found)):
        kinds.setdefault(point.call, point)
    chosen = set(kinds.values())
    rest = [point for point in found if point not in chosen]
    chosen.update(random.sample(rest, max(0, count - len(chosen))))
    return [point for point in found if point in chosen]


def environment():
    return {"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"}


def run(words, stdin, seconds=180):
    """After this many seconds it is killed with all its children (what strace traces outlives strace), and
    subprocess.TimeoutExpired is raised."""
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd="/",
                          env=environment(), start_new_session=True) as child:
        try:
            out, err = child.communicate(stdin, seconds)
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    return subprocess.CompletedProcess(words, child.returncode, out, err)
