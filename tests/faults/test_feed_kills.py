# SPDX-License-Identifier: ISC
"""Applications that take messages out of a feed are killed at any moment, while mail comes, and started again.

With `feed run` each message comes at least once, always with one ONCEDROP_ID, and no other message has that; a table with a unique
index on it has each once. An application that takes rows in its own transaction has each exactly once without one.

ONCEDROP_KILLS says how many; with ONCEDROP_FAULTS=all 2,000.

Seen to fail with: a row that is taken out before its command has ended, lost; an application that commits before it deletes the row,
doubled."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from bench import Bench, Wrong
from lab import lab as lab_module
from lab.ledger import MARIADB, SQLITE, engine
from lab.messages import message, new_id

KILLS = int(os.environ.get("ONCEDROP_KILLS") or (2_000 if os.environ.get("ONCEDROP_FAULTS") == "all" else 20))
RUNNERS = 2
BATCH = 5           # messages that come before each round of kills
COMMAND = 'sleep 0.0$((RANDOM % 3)); echo "$ONCEDROP_ID $ONCEDROP_MESSAGE_ID" >>"$0"'

# What an application does, again and again. It is killed anywhere.
APPLICATION = """import os, sys, time
sys.path.insert(0, sys.argv[1])
kind, argument = sys.argv[2:4]
if kind == "mariadb":
    import pymysql
    socket, password, database = argument.split(" ")
    session = pymysql.connect(unix_socket=socket, user="admin", password=password, database=database, autocommit=False)
    session.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    schema, now = "", "UTC_TIMESTAMP(6)"
else:
    import psycopg2
    session = psycopg2.connect(argument)
    schema, now = "oncedrop.", "now()"
cursor = session.cursor()
while True:
    cursor.execute(f"SELECT id, message FROM {schema}feed WHERE feed = 'support' AND NOT dead AND not_before <= {now}"
                   " ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED")
    rows = cursor.fetchall()
    for row, number in rows:
        cursor.execute(f"INSERT INTO ticket SELECT message_id FROM {schema}message WHERE id = %s", (number,))
        cursor.execute(f"DELETE FROM {schema}feed WHERE id = %s", (row,))
    session.commit()
    time.sleep(0 if rows else 0.01)
"""


class Kills:
    """Starts processes, and kills them with all that they started."""

    def __init__(self, count, words):
        self.random, self.words = random.Random(count), words
        self.processes = [self.start() for _ in range(RUNNERS)]
        self.done = 0

    def start(self):
        return subprocess.Popen(self.words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
                                env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"})

    def kill_one(self):
        time.sleep(self.random.uniform(0, 0.15))
        victim = self.random.randrange(RUNNERS)
        os.killpg(self.processes[victim].pid, signal.SIGKILL)
        self.processes[victim].wait()
        self.processes[victim] = self.start()
        self.done += 1

    def end(self):
        for process in self.processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
def bench(site):
    made = Bench(site, direct=True)
    site.settings.update({"feed support.role": "inbox", "record.level": "raw", "delivery.deadline": "20s",
                          "delivery.hold_off": "30s"})
    return made


def deliver(bench, account):
    id = new_id()
    done = bench.site.deliver(message(id=id), account)
    assert done.exit == 0, done
    return id


def through_kills(bench, kills, is_empty):
    """Returns the ids of the messages that came, once the feed is empty."""
    account, ids = bench.account(), []
    try:
        while kills.done < KILLS:
            ids += [deliver(bench, account) for _ in range(BATCH)]
            for _ in range(BATCH):
                kills.kill_one()
            free(bench)
        end = time.monotonic() + 120
        while not is_empty():
            assert time.monotonic() < end, "the feed does not become empty"
            time.sleep(0.1)
            free(bench)
    finally:
        kills.end()
    return ids


def free(bench):
    """The rows of those that were killed, as if a minute had passed."""
    bench.site.sql("UPDATE oncedrop.feed SET not_before = added_at WHERE feed = 'support'")


def is_empty(bench):
    return bench.site.value("SELECT count(*) FROM oncedrop.feed WHERE feed = 'support'") == 0


def test_killed_runners(bench, tally):
    path = os.path.join(bench.site.directory, "said")
    config = bench.site.write_configuration(["feed"])
    kills = Kills(KILLS, [lab_module.program(), "-c", config, "feed", "run", "--follow", "support", "--", "bash", "-c", COMMAND, path])
    ids = through_kills(bench, kills, lambda: is_empty(bench))
    with open(path, encoding="utf-8") as file:
        said = {tuple(line.split()) for line in file}
    wrong = [Wrong("lost", id) for id in ids if id not in {id for _, id in said}]
    wrong += [Wrong("doubled", id) for id in ids if sum(one == id for _, one in said) > 1]
    assert len({number for number, _ in said}) == len(said), "two messages have one ONCEDROP_ID"
    tally("runners of a feed killed", kills.done, wrong)


@pytest.mark.skipif(engine() == SQLITE, reason="an application has no transaction in the ledger's file")
def test_killed_applications(bench, tally):
    site = bench.site
    site.sql("CREATE TABLE ticket (message_id varchar(200))" if engine() == MARIADB else "CREATE TABLE public.ticket (message_id text)")
    if engine() == MARIADB:
        kind, argument = "mariadb", f"{site.lab.mariadb.socket} {site.lab.mariadb.password} {site.database}"
    else:
        kind, argument = "postgres", f"host={site.lab.postgres.directory} port={site.lab.postgres.port} user=admin dbname={site.database}"
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kills = Kills(KILLS, [sys.executable, "-B", "-c", APPLICATION, tests, kind, argument])
    ids = through_kills(bench, kills, lambda: is_empty(bench))
    found = [row[0] for row in site.sql("SELECT message_id FROM ticket" if engine() == MARIADB else "SELECT message_id FROM public.ticket")]
    wrong = [Wrong("lost", id) for id in ids if id not in found] + [Wrong("doubled", id) for id in ids if found.count(id) > 1]
    tally("applications killed", kills.done, wrong)
