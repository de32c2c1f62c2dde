# SPDX-License-Identifier: ISC
"""Files of a ledger in use are removed, cut or replaced at any moment, while a service and separate processes
deliver each message: nothing is lost, and each delivery succeeds or is deferred. As long as the file and its log are
there, nothing is doubled either.

ONCEDROP_REMOVALS says how many messages; with ONCEDROP_FAULTS=all 300.

Seen to fail with: files that are opened without the writer's lock (lite_open.c), or written although other files stand at their
names (lite_lock.c), doubled; SIGBUS without a handler (deadline.c), exit -7; a stat that fails taken for a missing file
(lite_files.c), all mail deferred for good."""

import concurrent.futures
import contextlib
import os
import random
import shutil
import threading

import death
import pytest
from bench import Bench, check_ledger, look, repeat
from lab.service import Service

pytestmark = pytest.mark.sqlite

COUNT = int(os.environ.get("ONCEDROP_REMOVALS") or (300 if os.environ.get("ONCEDROP_FAULTS") == "all" else 30))
AT_ONCE = 6
PAUSE = 0.1         # seconds; the longest between two removals


def remove(path):
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)


def cut(path):
    with contextlib.suppress(FileNotFoundError):
        os.truncate(path, 0)


class Disturber(threading.Thread):
    """Does these to this file until it is stopped, but not for ever: each makes deliveries wait for their hold-off."""

    def __init__(self, path, deeds):
        super().__init__()
        self.path, self.deeds = path, deeds
        self.random = random.Random(COUNT)
        self.over = threading.Event()
        self.count = 0

    def run(self):
        while self.count < 3 * COUNT and not self.over.wait(self.random.uniform(0, PAUSE)):
            self.random.choice(self.deeds)(self.path)
            self.count += 1


def by_service(case, service):
    """The same delivery, by a worker of the service."""
    place = case.words.index("deliver")
    return case._replace(words=[case.words[0], "deliver", "-S", service.socket, *case.words[place + 1:]])


def deliver(bench, service):
    """One message, by the service and by a separate process at once, and afterwards once more by each."""
    alone = bench.deliver()
    served = by_service(alone, service)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        wrong = list(pool.map(lambda case: repeat(case, death.run(case.words, case.stdin)), (alone, served)))
    if not any(wrong):
        wrong = [repeat(case, death.run(case.words, case.stdin)) for case in (alone, served)]
    return alone, next((one for one in wrong if one), None)


def disturbed(site, end, deeds, services=None):
    """What is wrong, after all of them, and how often it was disturbed. services: a list, to which its service is added."""
    bench = Bench(site)
    service = Service(site, workers=2)
    if services is not None:
        services.append(service)
    site.ledger.close()
    disturber = Disturber(site.database + end, deeds)
    disturber.start()
    try:
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            done = list(pool.map(lambda _: deliver(bench, service), range(COUNT)))
    finally:
        disturber.over.set()
        disturber.join()
    wrong = [wrong or look(bench, case) for case, wrong in done]
    assert service.stop() == 0
    return [one for one in wrong if one], disturber.count


@pytest.mark.parametrize("deeds", [(remove,), (cut,), (remove, cut)], ids=["removed", "cut", "both"])
def test_index(site, tally, deeds):
    wrong, count = disturbed(site, "-shm", deeds)
    tally("indexes of a ledger removed or cut", count, wrong)
    check_ledger(site)


def test_log(site, tally):
    """What was only in it is forgotten, so it may be delivered again; nothing is lost."""
    wrong, count = disturbed(site, "-wal", (remove,))
    tally("logs of a ledger removed", count, [one for one in wrong if one.kind != "doubled"])


@pytest.mark.parametrize("replace", [shutil.copyfile, shutil.copy2, os.rename], ids=lambda replace: replace.__name__)
def test_file(site, tally, replace):
    """By a backup, which does not fit the log: all mail is deferred until the administrator does what the manual says."""
    bench = Bench(site)
    service = Service(site, workers=1)
    backup = os.path.join(site.directory, "backup.db")
    cases = [bench.deliver() for _ in range(4)]
    served = [by_service(case, service) for case in cases]
    assert not repeat(served[0], death.run(served[0].words, served[0].stdin))
    assert death.run([*bench.program, "ledger", "backup", backup], b"").returncode == 0
    assert not repeat(served[1], death.run(served[1].words, served[1].stdin))
    site.ledger.close()
    replace(backup, site.database)
    for case in (*served, *cases):
        done = death.run(case.words, case.stdin)
        assert done.returncode == 75 and b"replaced" in done.stdout, done
    done = death.run([*bench.program, "check"], b"")
    said = b" ".join((done.stdout + done.stderr).split())
    assert done.returncode and b"was replaced" in said and b"DAMAGE in oncedrop-ledger(7)" in said, done
    assert service.stop() == 0
    with open(service.log_file, encoding="utf-8") as log:
        assert "while it was in use" in log.read()
    for end in ("-wal", "-shm"):
        remove(site.database + end)
    always = [case._replace(words=bench.with_options(case, "-o", "imap.search=always")) for case in cases]
    wrong = [repeat(case, death.run(case.words, case.stdin)) or look(bench, case) for case in always]
    tally("ledgers replaced", 1, [one for one in wrong if one])


def test_stat_fails(site, tally):
    """Once, at each of its calls, in a delivery that writes the log back. Afterwards mail is delivered as before."""
    bench = Bench(site)
    site.ledger.create_table("filler", "data")

    def deliver():
        site.sql("INSERT INTO oncedrop.site_filler VALUES (zeroblob(1000000))")    # so a checkpoint is due
        return bench.deliver(sent=False)
    found = death.points(bench.trace(deliver()), ("newfstatat",))
    wrong = []
    for point in found:
        case = deliver()
        wrong.append(repeat(case, death.run(death.failing_at(point, "ENOMEM") + case.words, case.stdin)) or look(bench, case))
        assert not wrong[-1], (point, wrong[-1])
    tally("failing stat calls", len(found), [one for one in wrong if one])
    check_ledger(site)
