# SPDX-License-Identifier: ISC
"""What processes of the program do to the files of a ledger, by their system calls: every COMMIT and every checkpoint
happens under the writer's lock. SQLite up to 3.51.2 can lose pages if two of them meet (sqlite.org/wal.html). No
process closes a descriptor of a file on which it has locks, which would end them all (fcntl(2)), or uses one of its parent's.

Seen to fail with: a writer's lock that is not taken, or released before the checkpoint (lite_lock.c, lite_batch.c);
checkpoints on close (lite_open.c: set_up); a second descriptor of the lock file, closed again (lite_lock.c); a ledger that
is open before the service has its workers (lmtp_service.c); a decoder's process that keeps what its parent has open
(decoder.c)."""

import collections
import concurrent.futures
import glob
import os
import re
import signal
import subprocess
import threading

import death
import pytest
from bench import ENCODED, PATIENT, Bench, Wrong, check_ledger
from lab.lab import is_sanitized
from lab.ledger import SqliteLedger
from lab.lmtp import TIMEOUT, stored, stuffed
from lab.messages import message
from lab.process import wait_until
from lab.proxy import CLIENT, Proxy
from lab.service import Service, children, exists

pytestmark = pytest.mark.sqlite
SEEN_AS_BUILT = pytest.mark.skipif(is_sanitized(), reason="a sanitizer keeps descriptors in the decoder, and is in the tracer's way")

CALLS = ("openat", "close", "fcntl", "write", "pwrite64", "ftruncate", "fallocate", "fsync", "fdatasync", "unlink")
CALL = re.compile(r"^(\w+)\((?:(\d+)<([^>]*)>|[^,)]*)(.*)\) += (-?\d+)")
LOCK = re.compile(r"F_SETLKW?, \{l_type=F_(\w+), l_whence=SEEK_SET, l_start=(\d+), l_len=(\d+)\}")
READER_OF_INDEX = 128       # the byte of the -shm file that each who has it open has locked, until its last close(2)
MESSAGES = 12               # written back once in the course of half as many


class Process:
    """What one has done, from its trace. locks: file -> {(first byte, bytes)}."""

    def __init__(self, ledger, path):
        self.ledger, self.path = ledger, path
        self.opened, self.locks = set(), collections.defaultdict(set)
        self.done = collections.Counter()       # under the writer's lock: turns with a COMMIT, with a checkpoint
        self.turn = set()
        self.wrong = []
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                self.read(line)

    def read(self, line):
        found = CALL.match(line)
        if not found or not (self.ledger in line and int(found[5]) >= 0):
            return
        call, descriptor, path, rest, result = found.groups()
        if call == "openat":
            self.opened.add(result)
        elif call == "unlink":
            self.wrong.append(line)
        elif descriptor not in self.opened:
            self.wrong.append(f"not opened by this process: {line}")
        elif call == "fcntl":
            self.lock(path[len(self.ledger):], rest)
        elif call == "close":
            self.close(path[len(self.ledger):], descriptor, line)
        else:
            self.write(path[len(self.ledger):], call, line)

    def writes(self):
        return (SqliteLedger.WRITER, 1) in self.locks["-lock"]

    def lock(self, file, rest):
        found = LOCK.search(rest)
        if not found:
            return
        before, (first, size) = self.writes(), map(int, found.groups()[1:])
        if found[1] != "UNLCK":
            self.locks[file].add((first, size))
        else:
            self.locks[file] = {lock for lock in self.locks[file] if size and not first <= lock[0] < first + size}
        if before and not self.writes():
            self.done.update(self.turn)
            self.turn.clear()

    def close(self, file, descriptor, line):
        self.opened.discard(descriptor)
        if file == "-lock" or self.locks[file] - {(READER_OF_INDEX, 1)}:
            self.wrong.append(f"closed with locks {self.locks[file]}: {line}")
        self.locks[file].clear()

    def write(self, file, call, line):
        """A sync of the log changes nothing in it."""
        if file in ("", "-wal"):
            self.turn.add("checkpoint" if file == "" else "COMMIT")
            if not self.writes() and not (file == "-wal" and call in ("fsync", "fdatasync")):
                self.wrong.append(f"without the writer's lock: {line}")


def traced(prefix):
    """Words before a command line whose every process then has its own trace."""
    return death.strace("-ff", "-y", "-s", "0", "-e", f"trace={','.join(CALLS)}", "-o", prefix)


def processes(site, prefix):
    return [Process(site.database, path) for path in glob.glob(f"{prefix}.*")]


def wrong_of(found):
    return [Wrong("other", f"{one.path}: {text}") for one in found for text in one.wrong]


def test_everything_is_written_under_the_lock(site, tally):
    """By deliveries, LMTP sessions, replays and commands at once, and then by one that is the last who has the file open."""
    bench, prefix = Bench(site), os.path.join(site.directory, "calls")
    cases = [make() for make in (bench.deliver, bench.lmtp, bench.replay) for _ in range(MESSAGES // 3)]
    last = bench.deliver()
    site.ledger.close()
    others = [[*bench.program, *words] for words in (
        ("purge", "--older-than", "10d"), ("resume",), ("list",), ("stats",), ("ledger", "install"), ("check",),
        ("ledger", "backup", os.path.join(site.directory, "backup.db")), ("ledger", "check"))]
    commands = [*[bench.with_options(case, *PATIENT) for case in cases], *others]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda words, stdin: death.run(traced(prefix) + words, stdin), commands,
                             [*(case.stdin for case in cases), *[b""] * len(others)]))
    assert last.succeeded(death.run(traced(prefix) + bench.with_options(last, *PATIENT), last.stdin))
    assert all(case.succeeded(one) for case, one in zip(cases, done)), done
    assert [one.returncode for one in done[len(cases):]] == [0] * len(others), done
    found = processes(site, prefix)
    total = sum((one.done for one in found), collections.Counter())
    assert total["COMMIT"] >= 2 * len(cases) and total["checkpoint"] > 0, total
    tally("COMMITs and checkpoints under the writer's lock", sum(total.values()), wrong_of(found)[:5])
    check_ledger(site)


@SEEN_AS_BUILT
def test_workers_open_it_themselves(site, tally):
    """Each worker of the service, and the writer, which is needed by two that deliver at the same time; and none has it from its
    parent; so of those that replace one that has died."""
    scuba, prefix = site.account(), os.path.join(site.directory, "calls")
    reached, go_on = threading.Event(), threading.Event()

    def watch(_connection, side, data):
        if side == CLIENT and b" APPEND " in data and not reached.is_set():
            reached.set()
            go_on.wait(TIMEOUT)
        return data

    site.settings.update({"imap.tls": "none", "imap.port": site.use(Proxy(site.imap.port, watch)).port})
    service = Service(site, workers=2)
    tracer = subprocess.Popen([*traced(prefix), "-p", str(service.process.pid),
                               *[word for pid in children(service.process.pid) for word in ("-p", str(pid))]])
    wait_until(lambda: all(traced_by(pid) == tracer.pid for pid in [service.process.pid, *children(service.process.pid)]),
               "they are traced")
    for _ in range(2):
        clients = [service.connect() for _ in range(2)]
        reached.clear()
        go_on.clear()
        clients[0].envelope([scuba])
        clients[0].send(stuffed(message(to=scuba)))
        assert reached.wait(TIMEOUT)
        stored(clients[1].deliver(message(to=scuba), scuba)[0])
        go_on.set()
        stored(clients[0].reply())
        workers = [service.worker_of(client) for client in clients]
        for pid in workers:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: len(set(service.workers()) - set(workers)) == 2, "other workers")
    assert service.stop() == 0
    tracer.wait()
    found = [one for one in processes(site, prefix) if one.opened or one.done or one.wrong]
    assert f"{prefix}.{service.process.pid}" not in [one.path for one in found]
    assert len(found) == 5 and all(one.opened or one.done for one in found), found
    assert sum(one.done["COMMIT"] for one in found) == 2 * 4, found
    tally("workers with a ledger", len(found), wrong_of(found))


def traced_by(pid):
    with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
        return int(re.search(r"^TracerPid:\t(\d+)", file.read(), re.MULTILINE)[1])


def held(site, pid):
    """The files of the ledger that a process has open."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        path = os.readlink(f"/proc/{pid}/fd/{name}")
        found += [path[len(site.database):]] if path.startswith(site.database) else []
    return sorted(found)


@SEEN_AS_BUILT
@pytest.mark.skipif(os.getuid() != 0, reason="what a process has open that nobody may look into is for root to see")
def test_decoder_does_not_keep_it(site):
    """Neither that of the first message, nor one that was begun when the ledger was open."""
    scuba = site.account()
    service = Service(site, workers=1)
    client = service.connect()
    for _ in range(2):
        stored(client.deliver(message(to=scuba, subject=ENCODED), scuba)[0])
        [worker] = service.workers()
        [decoder] = children(worker)
        assert held(site, worker) == ["", "-lock", "-shm", "-wal"]
        assert held(site, decoder) == []
        os.kill(decoder, signal.SIGKILL)
        wait_until(lambda pid=decoder: not exists(pid), "it is dead")
    client.close()
