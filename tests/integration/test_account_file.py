# SPDX-License-Identifier: ISC
"""route.account_file: with a ledger in a file, account_query reads a file of the site's own, and only reads it.

Seen to fail with: opened once for ever; the ledger read in its place; a file that others may
write to taken."""

import os
import re
import shutil
import sqlite3
import subprocess

import expect
import pytest
from lab import embedded as embedded_module, lab as lab_module, service as service_module
from lab.messages import message

QUERY = "SELECT account, inbox, sent FROM accounts WHERE address = $1"


def make_file(path, *rows):
    """As oncedrop.conf(5) shows it; a new file in the place of an old one."""
    with sqlite3.connect(path + ".new") as connection:
        connection.execute("CREATE TABLE accounts (address TEXT PRIMARY KEY COLLATE NOCASE, account TEXT NOT NULL, inbox TEXT,"
                           " sent TEXT)")
        connection.executemany("INSERT INTO accounts VALUES (?, ?, ?, ?)", rows)
    connection.close()
    os.rename(path + ".new", path)


@pytest.fixture
def embedded(site):
    new = embedded_module.Embedded(site).install()
    site.settings.update({"route.account_file": os.path.join(site.directory, "my accounts?.db"), "route.sent_copy": "off",
                          "route.account_query": QUERY})
    return new


@pytest.fixture
def path(embedded):
    return embedded.site.settings["route.account_file"]


def deliver(embedded, recipient):
    return embedded.run("deliver", "-d", recipient, stdin=message())


def test_addresses_lead_where_the_file_says(embedded, path):
    lisa = embedded.site.account("lisa")
    make_file(path, ("Info@Example.org", lisa, None, None), ("sales@example.org", lisa, "Sales", None))
    expect.stored(deliver(embedded, "info@example.org"))
    expect.stored(deliver(embedded, "sales@example.org"), "Sales")
    expect.bounced(deliver(embedded, "nobody@example.org"), 67, "5.1.1", "nobody@example.org")
    assert (embedded.site.count(lisa), embedded.site.count(lisa, "Sales")) == (1, 1)
    embedded.site.settings["route.account_query"] = QUERY.replace(" accounts ", " site.accounts ")
    assert f"account: {lisa} " in embedded.run("route", "INFO@example.org").out


def test_the_service_sees_each_change(embedded, path):
    lisa, doug = embedded.site.account("lisa"), embedded.site.account("doug")
    make_file(path, ("info@example.org", lisa, None, None))
    service = service_module.Service(embedded.site, workers=1)
    seen = []
    for account, change in ((lisa, None), (doug, lambda: update(path, doug)),
                            (lisa, lambda: make_file(path, ("info@example.org", lisa, None, None))),
                            (doug, lambda: update(path, doug))):
        if change:
            change()
        [reply] = service.deliver(message(), "info@example.org")
        assert reply.code == 250, reply
        seen.append(account)
        assert embedded.site.count(account) == seen.count(account)


def update(path, account):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE accounts SET account = ?", (account,))
    connection.close()


@pytest.mark.parametrize("query", ["DELETE FROM accounts WHERE address = $1", "SELECT 1; SELECT $1", "DROP TABLE accounts",
                                   "UPDATE accounts SET account = 'x' WHERE address = $1 RETURNING account",
                                   "SELECT lock_key FROM message WHERE $1 <> ''", "SELECT nonsense",
                                   "SELECT $1 || $2", "SELECT ?3 || $1", "SELECT :address"])
def test_a_query_that_writes_or_fails_defers(embedded, path, query):
    make_file(path, ("info@example.org", "lisa", None, None))
    with open(path, "rb") as file:
        before = file.read()
    embedded.site.settings["route.account_query"] = query
    expect.deferred(deliver(embedded, "info@example.org"), r"4\.3\.0", "route.account_query")
    with open(path, "rb") as file:
        assert file.read() == before


@pytest.mark.parametrize("spoil,said", [
    (os.unlink, "No such file"), (lambda path: os.chmod(path, 0o646), "others may write to it; run: chmod o-w "),
    (lambda path: os.truncate(path, 100), "malformed")], ids=["missing", "open", "damaged"])
def test_a_file_that_cannot_be_relied_on_defers(embedded, path, spoil, said):
    make_file(path, ("info@example.org", "lisa", None, None))
    spoil(path)
    done = deliver(embedded, "info@example.org")
    expect.deferred(done, r"4\.3\.0", said)
    assert path in done.out, done


def test_a_writer_of_the_file_is_waited_for(embedded, path):
    lisa = embedded.site.account("lisa")
    make_file(path, ("info@example.org", lisa, None, None))
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("BEGIN EXCLUSIVE")
    path_of_configuration = embedded.configuration()
    running = embedded.site.start("deliver", "-d", "info@example.org", config=False, stdin=message(),
                                  options=["-c", path_of_configuration])
    assert running.process.poll() is None
    writer.execute("ROLLBACK")
    writer.close()
    expect.stored(running.finish())


def commands_of_the_manual():
    """Each block of account_file in oncedrop.conf(5): what stands behind its prompts, as one script."""
    with open(os.path.join(lab_module.REPOSITORY, "man", "oncedrop.conf.5"), encoding="utf-8") as file:
        [section] = re.findall(r"^\.It Ic account_file\n(.*?)^\.It Ic inbox\n", file.read(), re.M | re.S)
    for block in re.findall(r"^\.Bd .*?\n(.*?)^\.Ed\n", section, re.M | re.S):
        script = block.replace("\\e", "\\")
        yield re.sub(r"^# ", "", script[script.index("# "):], flags=re.M)


@pytest.mark.skipif(not shutil.which("sqlite3") or not shutil.which("postmap"), reason="needs sqlite3(1) and postmap(1)")
def test_what_the_manual_says_makes_such_a_file(embedded, path):
    by_hand, postfix, passwd = commands_of_the_manual()
    folder = os.path.dirname(path)
    table = os.path.join(folder, "vmailbox")
    with open(table, "w", encoding="utf-8") as file:
        file.write("info@example.org lisa's\n")
    subprocess.run(["postmap", "-c", embedded.site.lab.postfix_settings, f"hash:{table}"], check=True)

    def query(script, address):
        script = script.replace("/etc/oncedrop/", folder + "/").replace("/etc/postfix/", folder + "/").replace(
            "postmap -s", f"postmap -c {embedded.site.lab.postfix_settings} -s")
        subprocess.run(["sh", "-ec", script], check=True, capture_output=True)
        embedded.site.settings["route.account_file"] = f"{folder}/accounts.db"
        embedded.site.settings["route.account_query"] = "SELECT account FROM accounts WHERE address = $1"
        return embedded.run("route", address).out

    assert "account: lisa (" in query(by_hand, "Info@X.example")
    assert "account: lisa's (" in query(postfix, "Info@Example.org")
    users = passwd.replace("getent passwd", "echo 'doug:x:1000:100::/:/bin/sh'")
    other = users + postfix.partition("\n")[2]
    assert "account: doug (" in query(other, "doug@example.org")
