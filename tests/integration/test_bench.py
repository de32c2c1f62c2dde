# SPDX-License-Identifier: ISC
"""The benchmark itself, in its tiny form: `make bench` must work when a user wants a figure. Which competitors there
are depends on what is installed; oncedrop always is.

Seen to fail with: a competitor that stores nothing; a comparison with the documents exchanged; a plot that is no XML; a
ratio upside down; SIGTERM not caught; a program whose conninfo() knows no PgBouncer."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import pytest
from lab import lab as lab_module
from lab.process import wait_until
from lab.service import exists

BENCH = os.path.join(lab_module.REPOSITORY, "tests", "bench")
pytestmark = pytest.mark.xdist_group("bench")      # measured once
PARTS = ("deliver", "contention")
MACHINE = {"date": "2026-01-01 00:00", "host": "h", "system": "Debian", "processors": 2, "processor": "<p&q>",
           "load": 0, "disk": "ext4", "fsync_ms": 1, "postgresql": {}, "dovecot": {}, "tuned": True}


def bench(*arguments, timeout=300):
    return subprocess.run([sys.executable, "-B", BENCH, *arguments], capture_output=True, text=True, timeout=timeout,
                          check=False, env={**os.environ, "ONCEDROP": lab_module.program()})


def document(path, **medians):
    """A bench.json with these medians of one-shot deliveries."""
    rows = [{"part": "deliver", "case": "3 kB", "competitor": competitor, "unit": "ms", "larger": False, "n": 1,
             "samples": [],
             **dict.fromkeys(("median", "min", "max", "q1", "q3"), median)} for competitor, median in medians.items()]
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"machine": MACHINE, "rows": rows}, file)
    return str(path)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """One run; where it wrote, and what it said."""
    directory = tmp_path_factory.mktemp("bench")
    done = bench("--tiny", "--rounds", "1", "--parts", *PARTS, "--directory", str(directory))
    assert done.returncode == 0, done
    return directory, done.stdout


def test_every_competitor_has_its_samples(measured):
    directory, said = measured
    with open(directory / "bench.json", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    assert {row["part"] for row in rows} == set(PARTS)
    assert {len(row["samples"]) for row in rows} == {1}
    medians = {(row["case"], row["competitor"]): row["median"] for row in rows}
    assert medians["3 kB", "oncedrop"] > 0 and medians["3 kB", "oncedrop + Sent"] > 0
    assert medians["of 10 at once, deferred", "oncedrop wait 5s"] == 0
    assert "exit 75 on a held lock ÷ a delivery" in said and "fsync is on" in said
    assert max(map(len, said.splitlines()[:-1])) <= 80


def test_the_plot_has_a_bar_for_each_row(measured):
    directory, _ = measured
    with open(directory / "bench.json", encoding="utf-8") as file:
        rows = json.load(file)["rows"]
    drawn = xml.etree.ElementTree.parse(directory / "bench.svg").getroot()
    assert len(drawn.findall("{http://www.w3.org/2000/svg}rect")) == len(rows) + 1


def test_the_other_parts(tmp_path):
    """Counts, which are the same on every machine. Seen to fail: with a bare LMTP program for a table that was renamed."""
    done = bench("--tiny", "--rounds", "1", "--parts", "locks", "scale", "crowd", "distance", "feed", "lmtp", "replay", "commits",
                 "--directory", str(tmp_path), timeout=900)
    assert done.returncode == 0, done
    assert max(map(len, done.stdout.splitlines()[:-1])) <= 80
    with open(tmp_path / "bench.json", encoding="utf-8") as file:
        found = {(row["case"], row["competitor"]): row["median"] for row in json.load(file)["rows"]}
    for method in ("advisory", "row, PgBouncer", "lease"):
        assert found["4 at once, wait 5s: 75s", f"oncedrop {method}"] == 0
    assert found["most sessions, service.workers=4", "oncedrop service"] == 4
    assert found["most sessions, 20 connections", "oncedrop lmtp"] == 20
    assert 0 < found["most sessions, 20 connections", "oncedrop lmtp, PgBouncer"] <= 20
    assert found["commits: deliver, 20 at once", "oncedrop"] == 2
    assert found["syncs, alone", "embedded"] >= 2
    assert found["longest wait for the writer, 20 at once", "embedded"] > 0
    most = {case: found[f"most locks of a transaction, {case}", "oncedrop in the shared table"]
            for case in ("1 recipient", "50 recipients")}
    assert 0 < most["1 recipient"] == most["50 recipients"] < 64     # max_locks_per_transaction
    known = "is this message known? Its locks"
    assert found[known, "oncedrop partitions"] > 10 * found[known, "oncedrop one table"]
    assert found["ledger: text, 10 recipients", "oncedrop tables"] > found["ledger: record.level=text", "oncedrop tables"]


def test_two_documents_are_compared(tmp_path):
    old = document(tmp_path / "old.json", **{"oncedrop service": 6, "dovecot-lda": 10})
    new = document(tmp_path / "new.json", **{"oncedrop service": 4, "dovecot-lda": 10})
    said = " ".join(bench("--compare", old, new).stdout.split())
    assert "deliver: 3 kB: oncedrop service, ms 6.00 4.00 0.67" in said
    assert "deliver: service ÷ dovecot-lda 0.60 0.40 ≤ 0.5 met" in said


@pytest.mark.parametrize("value, said", ((1234, "1,234"), (99499, "99,499"), (99999.6, "100k"), (123456, "123k"),
                                         (9499999, "9,500k"), (9999999, "10M"), (123456789, "123M"), (1e10, "10G")))
def test_a_large_number_does_not_widen_the_table(tmp_path, value, said):
    one = document(tmp_path / "one.json", oncedrop=value)
    row = next(line for line in bench("--compare", one, one).stdout.splitlines() if line.startswith("deliver: 3 kB"))
    assert len(row) == 80 and row.split()[-3:-1] == [said, said]


def test_an_unknown_part_is_refused():
    done = bench("--parts", "delivery")
    assert done.returncode == 2 and "no such part: delivery" in done.stderr


def servers_of(pid):
    """The processes that it has started, and the directories that their command lines name."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        children = file.read().split()
    lines = []
    for child in children:
        with open(f"/proc/{child}/cmdline", encoding="utf-8") as file:
            lines.append(file.read())
    return children, set(re.findall(r"/tmp/oncedrop-[^/]+|/var/tmp/oncedrop-[^/]+", " ".join(lines)))


def test_it_leaves_nothing_when_it_is_stopped():
    with subprocess.Popen([sys.executable, "-B", BENCH, "--tiny", "--rounds", "100000", "--parts", "deliver"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          env={**os.environ, "ONCEDROP": lab_module.program()}) as running:
        assert "×" in running.stdout.readline()
        children, directories = servers_of(running.pid)
        running.terminate()
        assert running.wait(60) != 0
    assert len(children) >= 3 and directories
    wait_until(lambda: not any(map(exists, children)), "its servers are gone")
    assert not any(map(os.path.exists, directories))
