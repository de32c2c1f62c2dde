# SPDX-License-Identifier: ISC
"""Applications that take messages out of a feed are killed at any moment, while mail comes through Postfix and deliveries are
killed, too; all are started again.

With `feed run` each message comes at least once, always with one ONCEDROP_ID, and no other message has that; a table with a unique
index on it has each once. An application that takes rows in its own transaction has each exactly once without one.

ONCEDROP_KILLS says how many; with ONCEDROP_FAULTS=all 2,000.

Seen to fail with: a row that is taken out before its command has ended, lost; an application that commits before it deletes the row,
doubled; a copy that gets a row whenever it is settled, doubled."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import pytest
from bench import Wrong
from lab import lab as lab_module, postfix as postfix_module
from lab.ledger import MARIADB, SQLITE, engine
from lab.messages import message, new_id

pytestmark = pytest.mark.skipif(postfix_module.missing() is not None, reason=f"no Postfix: {postfix_module.missing()}")
KILLS = int(os.environ.get("ONCEDROP_KILLS") or (2_000 if os.environ.get("ONCEDROP_FAULTS") == "all" else 20))
RUNNERS = 2
BATCH = 5           # messages that come before each round of kills
COMMAND = 'sleep 0.0$((RANDOM % 3)); echo "$ONCEDROP_ID $ONCEDROP_MESSAGE_ID" >>"$0"'

# What an application does, again and again. It is killed anywhere.
APPLICATION = """import os, sys, time
sys.path.insert(0, sys.argv[1])
kind, user, port, database, schema = sys.argv[2:]
if kind == "mariadb":
    import pymysql
    session = pymysql.connect(host="127.0.0.1", port=int(port), user=user, password=user, database=database, autocommit=False)
    session.cursor().execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
else:
    import psycopg2
    session = psycopg2.connect(host="127.0.0.1", port=port, user=user, password=user, dbname=database)
cursor = session.cursor()
while True:
    cursor.execute(f"SELECT id FROM {schema}.waiting WHERE feed = 'support' AND dead = FALSE AND due"
                   " ORDER BY id LIMIT 3 FOR UPDATE SKIP LOCKED")
    rows = cursor.fetchall()
    for row in rows:
        cursor.execute(f"INSERT INTO ticket SELECT message_id FROM {schema}.waiting_message WHERE id = %s", row)
        cursor.execute(f"DELETE FROM {schema}.waiting WHERE id = %s", row)
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
def postfix(site):
    site.settings.update({"feed support.role": "inbox", "record.level": "raw", "delivery.deadline": "4s", "delivery.hold_off": "5s",
                          "imap.timeout": "3s"})
    with contextlib.closing(postfix_module.Postfix(site, "pipe")) as made:
        yield made


def send(postfix, account):
    id = new_id()
    postfix.send(message(id=id), [account])
    return id


def kill_a_delivery(postfix, chance):
    """Returns whether there was one."""
    for pid in chance.sample(found := postfix.agents(), len(found)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
            return True
    return False


def through_kills(postfix, kills):
    """Returns the ids of the messages that came, once the feed is empty, and how many deliveries were killed."""
    [account], ids, killed = postfix.accounts(1), [], 0
    postfix.start()
    try:
        while kills.done < KILLS:
            ids += [send(postfix, account) for _ in range(BATCH)]
            for _ in range(BATCH):
                killed += kill_a_delivery(postfix, kills.random)
                kills.kill_one()
            free(postfix.site)
        postfix.flush(300)
        end = time.monotonic() + 120
        while postfix.site.value("SELECT count(*) FROM oncedrop.feed WHERE feed = 'support'"):
            assert time.monotonic() < end, "the feed does not become empty"
            time.sleep(0.1)
            free(postfix.site)
    finally:
        kills.end()
    stored = len(postfix.messages(account))
    assert stored == len(ids), f"{stored} of {len(ids)} messages are in the mailbox"
    return ids, killed


def free(site):
    """The rows of those that were killed, as if a minute had passed."""
    site.sql("UPDATE oncedrop.feed SET not_before = added_at WHERE feed = 'support'")


def test_killed_runners(site, postfix, tally):
    path = postfix.path("said")
    with open(path, "x", encoding="utf-8"):
        pass
    os.chmod(path, 0o666)
    config = site.write_configuration(["feed"])
    kills = Kills(KILLS, [lab_module.program(), "-c", config, "feed", "run", "--follow", "support", "--", "bash", "-c", COMMAND, path])
    ids, killed = through_kills(postfix, kills)
    with open(path, encoding="utf-8") as file:
        said = {tuple(line.split()) for line in file}
    wrong = [Wrong("lost", id) for id in ids if id not in {id for _, id in said}]
    wrong += [Wrong("doubled", id) for id in ids if sum(one == id for _, one in said) > 1]
    assert len({number for number, _ in said}) == len(said), "two messages have one ONCEDROP_ID"
    tally("runners of a feed killed", kills.done, wrong)
    tally("deliveries to a feed killed", killed, [])


@pytest.mark.skipif(engine() == SQLITE, reason="an application has no transaction in the ledger's file")
def test_killed_applications(site, postfix, tally):
    user, public = f"helpdesk{site.number}", "" if engine() == MARIADB else "public."
    site.ledger.create_application(user)
    site.sql("INSERT INTO oncedrop.feed_reader VALUES (%s, 'support')", (user,))
    site.sql(f"CREATE TABLE {public}ticket (message_id varchar(200))")
    site.sql(f"GRANT SELECT, INSERT ON {public}ticket TO {user}")
    server = site.database_server
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    kills = Kills(KILLS, [sys.executable, "-B", "-c", APPLICATION, tests, engine(), user, str(server.port), site.database,
                          site.database if engine() == MARIADB else "oncedrop"])
    try:
        ids, killed = through_kills(postfix, kills)
        found = [row[0] for row in site.sql(f"SELECT message_id FROM {public}ticket")]
    finally:
        site.sql("DELETE FROM oncedrop.feed_reader")
        site.sql(f"DROP TABLE {public}ticket")
        site.ledger.drop_application(user)
    wrong = [Wrong("lost", id) for id in ids if id not in found] + [Wrong("doubled", id) for id in ids if found.count(id) > 1]
    tally("applications killed", kills.done, wrong)
    tally("deliveries to a feed killed", killed, [])
