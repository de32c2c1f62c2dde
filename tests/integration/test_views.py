# SPDX-License-Identifier: ISC
"""The views that applications read, and the example that listens for new mail.

Seen to fail with: no views, or another order of the recipients, in a file; mail for user+Sent in the view inbox; a view without security_barrier; the state left out of the view
inbox; a column without a comment; the index of threads dropped; the listener without its look after a lost connection,
and without its overlap; a column that is not there in the manual."""

import datetime
import os
import re
import shutil
import subprocess
import sys
import threading

import expect
import psycopg2
import pytest
from lab import lab as lab_module, user as ordinary
from lab.embedded import Embedded
from lab.ledger import POSTGRES, engine
from lab.messages import message, new_id
from lab.process import wait_until

OF_POSTGRES = pytest.mark.postgres

LISTEN = os.path.join(lab_module.REPOSITORY, "conf", "application", "listen")
ROWS = 5000
UTC = datetime.timezone.utc


@OF_POSTGRES
@pytest.mark.parametrize("view", ["inbox", "outbox"])
def test_comments(site, view):
    rows = site.sql("SELECT col_description(attrelid, attnum) AS comment FROM pg_attribute"
                    " WHERE attrelid = %s::regclass AND attnum > 0", (f"oncedrop.{view}",))
    assert len(rows) > 15 and all(row.comment for row in rows), rows
    assert site.value("SELECT obj_description(%s::regclass, 'pg_class')", (f"oncedrop.{view}",))


def test_inbox_and_outbox(site):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    first, second = new_id(), new_id()
    mail = message(id=first, sender=lisa, subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=")
    for to in (scuba, doug):
        expect.stored(site.deliver(mail, to, sender=lisa))
    expect.stored(site.deliver(message(id=second, headers=f"In-Reply-To: <{first}>\nReferences: <{first}>\n"), lisa))
    rows = site.sql("SELECT account, mailbox, uid, message_id, thread, subject, sender, stored_at, uidvalidity"
                    " FROM oncedrop.inbox ORDER BY message, account")
    assert [(row.account, row.mailbox, row.uid, row.message_id, row.thread) for row in rows] == \
        [*sorted((to, "INBOX", 1, first, first) for to in (scuba, doug)), (lisa, "INBOX", 1, second, first)]
    assert rows[0].subject == "Grüße" and rows[0].sender == lisa and rows[0].stored_at and rows[0].uidvalidity
    [row] = site.sql("SELECT account, mailbox, message_id, recipients FROM oncedrop.outbox")
    assert (row.account, row.mailbox, row.message_id, row.recipients) == (lisa, "Sent", first, [scuba, doug])


@pytest.mark.parametrize("date,moment", [
    ("Fri, 1 Aug 2025 10:00:00 +0200", datetime.datetime(2025, 8, 1, 8, tzinfo=UTC)),
    ("Wed, 31 Dec 1969 23:59:58 +0000", datetime.datetime(1969, 12, 31, 23, 59, 58, tzinfo=UTC)), ("nonsense", None)])
def test_moments_and_lists(site, date, moment):
    """With every engine the same: what is in the tables, which have other types in a file."""
    first, second = new_id(), new_id()
    mail = message(headers=f"References: <{first}> <{second}>\n")
    expect.stored(site.deliver(re.sub(rb"(?m)^Date: .*", b"Date: " + date.encode(), mail), site.account()))
    [row] = site.sql('SELECT date, received_at, stored_at, "references", thread FROM oncedrop.inbox')
    assert (row.date, row.references, row.thread) == (moment, [first, second], first)
    [table] = site.sql("SELECT m.received_at, c.stored_at FROM oncedrop.message m JOIN oncedrop.copy c ON c.message = m.id")
    assert (row.received_at, row.stored_at) == (table.received_at, table.stored_at) and row.stored_at.microsecond

def test_what_sender_bcc_files_is_sent_mail(site):
    """As conf/postfix/oncedrop_sent does: mail of lisa for lisa+Sent, by each name that deliveries have for her."""
    site.settings.update({"route.detail": "folder", "route.sent_copy": "off"})
    lisa, scuba = site.account("lisa"), site.account("scuba")
    ids = [new_id() for _ in range(4)]

    def file(number, sender, to, recipient):
        expect.stored(site.deliver(message(id=ids[number], sender=lisa, to=to), recipient, sender=sender),
                      recipient.split("+")[1].split("@")[0])

    def held(view):
        return [tuple(row) for row in site.sql(f"SELECT message_id, account, mailbox FROM oncedrop.{view} ORDER BY message, uid")]

    file(0, lisa, "doug@elsewhere.example", lisa.replace("@", "+Sent@"))
    file(1, lisa.replace("lisa", "Lisa").replace("@", "+work@"), scuba, lisa.replace("@", "+Sent@"))
    expect.stored(site.deliver(message(id=ids[1], sender=lisa, to=scuba), scuba, sender=lisa))
    file(2, lisa, lisa, lisa.replace("@", "+Notes@"))   # she wrote to herself
    file(3, scuba, lisa, lisa.replace("@", "+Sent@"))   # a user whom the site lets in
    assert held("outbox") == [(ids[0], lisa, "Sent"), (ids[1], lisa, "Sent")]
    assert held("inbox") == [(ids[1], scuba, "INBOX"), (ids[2], lisa, "Notes"), (ids[3], lisa, "Sent")]
    rows = site.sql("SELECT recipients FROM oncedrop.outbox ORDER BY message")
    assert [row.recipients or [] for row in rows] == [[], [scuba]]  # MariaDB: NULL
    # As mailbox_command has it.
    site.sql("UPDATE oncedrop.delivery SET recipient = %s WHERE message = 1", (lisa.replace("@example.org", "+Sent"),))
    assert [row[0] for row in held("outbox")] == ids[:2]
    site.sql("UPDATE oncedrop.delivery SET recipient = 'Lisa+Sent' WHERE message = 1")
    assert [row[0] for row in held("outbox")] == [ids[1]]


def test_only_what_is_stored_is_there(site):
    scuba = site.account()
    expect.stored(site.deliver(message(sender=site.account("lisa")), scuba))
    for state, count in (("stored", 1), ("pending", 0), ("appending", 0), ("failed", 0)):
        site.sql("UPDATE oncedrop.copy SET state = %s", (state,))
        assert [site.value(f"SELECT count(*) FROM oncedrop.{view}") for view in ("inbox", "outbox")] == [count, count]


# Queries of applications, of the kind in oncedrop-record(7)

THREAD = "SELECT message_id FROM oncedrop.inbox WHERE account = %s AND thread = %s ORDER BY received_at, message"
NEWEST = "SELECT message_id FROM oncedrop.inbox WHERE account = %s ORDER BY message DESC LIMIT 20"
ATTACHMENTS = ("SELECT i.subject, p.filename, p.type, p.size FROM oncedrop.inbox i JOIN oncedrop.part p USING (message)"
               " WHERE i.account = %s AND p.disposition = 'attachment'")
SEARCH = ("SELECT DISTINCT i.message_id FROM oncedrop.inbox i JOIN oncedrop.part p USING (message) WHERE i.account = %s"
          " AND to_tsvector('simple', p.text) @@ plainto_tsquery('simple', %s)")


def test_questions(site):
    scuba = site.account()
    ids = [new_id() for _ in range(3)]
    attachment = ('Content-Type: multipart/mixed; boundary=x\nMIME-Version: 1.0\n',
                  "--x\nContent-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
                  "Der Hafenmeister grüßt.\n--x\nContent-Type: application/pdf\n"
                  "Content-Disposition: attachment; filename=plan.pdf\n\nabc\n--x--\n")
    expect.stored(site.deliver(message(id=ids[0], headers=attachment[0], body=attachment[1]), scuba))
    expect.stored(site.deliver(message(id=ids[1], headers=f"In-Reply-To: <{ids[0]}>\n", body="Yes.\n"), scuba))
    expect.stored(site.deliver(message(id=ids[2], headers=f"References: <{ids[0]}> <{ids[1]}>\n", body="No.\n"), scuba))
    expect.stored(site.deliver(message(), scuba))
    assert [row.message_id for row in site.sql(THREAD, (scuba, ids[0]))] == ids
    assert [row.message_id for row in site.sql(NEWEST, (scuba,))][1:] == ids[::-1]
    [row] = site.sql(ATTACHMENTS, (scuba,))
    assert (row.filename, row.type, row.size) == ("plan.pdf", "application/pdf", 3)
    if engine() == POSTGRES:
        assert [row.message_id for row in site.sql(SEARCH, (scuba, "hafenmeister"))] == [ids[0]]


def manual():
    with open(os.path.join(lab_module.REPOSITORY, "man", "oncedrop-record.7"), encoding="utf-8") as file:
        return file.read()


def statements_of_the_manual(section=""):
    """All, or those in a section, apart from its subsections."""
    text = manual()
    if section:
        text = re.search(rf"^\.Sh {section}\n(.*?)^\.S", text, re.M | re.S)[1]
    blocks = re.findall(r"^\.Bd -literal -offset indent\n(.*?)^\.Ed$", text, re.M | re.S)
    return [statement for block in blocks if block[0] != "#" for statement in re.findall(r"[^;]+;", block)]


def test_the_queries_of_the_manual(site):
    """Each can be pasted unchanged, with every engine."""
    statements = statements_of_the_manual("QUERIES")
    assert len(statements) == 7
    for statement in statements:
        site.sql(statement.replace("%", "%%"), ())


@pytest.mark.sqlite
@pytest.mark.skipif(not shutil.which("sqlite3"), reason="no sqlite3")
def test_the_shell_of_the_manual(site):
    """What opens the ledger is read only, and gives it the name that the queries have."""
    [attach] = re.findall(r"^sqlite> (.*;)$", manual(), re.M)
    assert "/var/lib/oncedrop/ledger.db" in attach
    attach = attach.replace("/var/lib/oncedrop/ledger.db", site.database)
    script = "".join([attach, *statements_of_the_manual("QUERIES"), "SELECT count(*) FROM oncedrop.inbox; DELETE FROM oncedrop.copy;"])
    expect.stored(site.deliver(message(), site.account()))
    done = subprocess.run(["sqlite3"], input=script, capture_output=True, text=True, check=False)
    assert done.stdout == "1\n" and re.fullmatch(r".*readonly database.*\n", done.stderr), done


@OF_POSTGRES
def test_the_statements_of_the_manual(site, reader):
    """Each can be pasted unchanged."""
    statements = statements_of_the_manual()
    assert len(statements) == 13
    session = site.lab.postgres.connect(site.database)
    with session.cursor() as cursor:
        for statement in statements:
            cursor.execute(re.sub(r"\bTO app;", f"TO {reader};", statement))
    session.close()


FILL = """
    INSERT INTO oncedrop.message (identity, digest, lock_key, message_id, sender, size, "references", received_at)
    SELECT sha256(convert_to('i' || n, 'UTF8')), sha256(convert_to('d' || n, 'UTF8')), n, 'bulk.' || n, '', 1,
           ARRAY['bulk.' || n / 4 * 4], now() FROM generate_series(1, %(rows)s) AS n;
    INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome, finished_at)
    SELECT id, 'user' || id %% 500, 'user' || id %% 500, 'INBOX', 'host', 'stored', now() FROM oncedrop.message;
    INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid, stored_at)
    SELECT message, account, mailbox, CASE WHEN id %% 3 = 0 THEN 'sent' ELSE 'inbox' END, 'stored', 1, id,
           'host', 1, now() FROM oncedrop.delivery;
"""


@OF_POSTGRES
def test_an_index_serves_each_question(site):
    """None of the tables is scanned completely."""
    session = site.lab.postgres.connect(site.database)
    with session.cursor() as cursor:
        cursor.execute(FILL, {"rows": ROWS})
        cursor.execute("ANALYZE")
        for query, parameters in ((THREAD, ("user8", "bulk.8")), (NEWEST, ("user8",)), (ATTACHMENTS, ("user8",)),
                                  ("SELECT * FROM oncedrop.inbox WHERE message_id = %s", ("bulk.7",)),
                                  ("SELECT * FROM oncedrop.inbox WHERE message = %s", (7,)),
                                  ("SELECT * FROM oncedrop.inbox WHERE thread = %s", ("bulk.8",)),
                                  ("SELECT * FROM oncedrop.outbox WHERE account = %s", ("user9",)),
                                  ("SELECT * FROM oncedrop.outbox WHERE thread = %s", ("bulk.8",))):
            cursor.execute("EXPLAIN " + query, parameters)
            plan = "\n".join(row[0] for row in cursor.fetchall())
            assert "Seq Scan on message" not in plan and "Seq Scan on copy" not in plan, (query, plan)
    session.close()


@pytest.fixture
def reader(site):
    """A role that may only read the views, as for an application."""
    role = f"application{site.number}"
    site.lab.postgres.create_role(role)
    site.sql(f"GRANT USAGE ON SCHEMA oncedrop TO {role}")
    site.sql(f"GRANT SELECT ON oncedrop.inbox, oncedrop.outbox TO {role}")
    yield role
    for process in site.closing:    # listeners
        process.close()
    site.closing.clear()
    site.sql(f"DROP OWNED BY {role}")
    site.lab.postgres.admin(f"DROP ROLE {role}")


@OF_POSTGRES
def test_a_role_that_may_read_the_views_only(site, reader):
    scuba = site.account()
    expect.stored(site.deliver(message(sender=site.account("lisa")), scuba))
    session = site.lab.postgres.connect(site.database, reader, reader)
    with session.cursor() as cursor:
        for view in ("inbox", "outbox"):
            cursor.execute(f"SELECT * FROM oncedrop.{view}")
            assert len(cursor.fetchall()) == 1
        for statement in ("SELECT * FROM oncedrop.message", "DELETE FROM oncedrop.inbox", "SELECT * FROM oncedrop.raw"):
            with pytest.raises(psycopg2.Error, match="permission denied|cannot delete"):
                cursor.execute(statement)
    session.close()


LEAK = """
    CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
        $$ BEGIN RAISE NOTICE 'leaked: %%', $1; RETURN true; END $$;
    SET enable_nestloop = off;
    SET enable_mergejoin = off;
    SELECT * FROM oncedrop.{view} WHERE pg_temp.leak(subject);
"""


@OF_POSTGRES
@pytest.mark.parametrize("view", ["inbox", "outbox"])
def test_a_view_does_not_leak_what_is_not_in_it(site, reader, view):
    scuba, lisa = site.account("scuba"), site.account("lisa")
    expect.stored(site.deliver(message(sender=lisa, subject="shown"), scuba, sender=lisa))
    expect.stored(site.deliver(message(sender=lisa, subject="hidden"), scuba, sender=lisa))
    site.sql("UPDATE oncedrop.copy SET state = 'failed' WHERE message = (SELECT max(id) FROM oncedrop.message)")
    session = site.lab.postgres.connect(site.database, reader, reader)
    with session.cursor() as cursor:
        cursor.execute(LEAK.replace("%%", "%").format(view=view))
    assert [notice.strip() for notice in session.notices] == ["NOTICE:  leaked: shown"]
    session.close()


# The example

class Listener:
    def __init__(self, site, role, account, *options):
        conninfo = site.lab.postgres.conninfo(site.database, role) + " application_name=listener"
        self.process = subprocess.Popen([sys.executable, "-B", LISTEN, *options, conninfo, "news", account],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.lines, self.errors = [], []
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.errors))]
        for reader in self.readers:
            reader.start()
        site.use(self)
        wait_until(lambda: self.errors, "it listens")
        assert self.errors[0].startswith("listening"), self.errors

    @staticmethod
    def read(stream, lines):
        for line in stream:
            lines.append(line.rstrip("\n"))

    def subjects(self):
        return [line.split(": ", 1)[1] for line in self.lines]

    def wait_for(self, *subjects, seconds=20):
        wait_until(lambda: len(self.lines) >= len(subjects), f"{subjects} are told; so far {self.lines} {self.errors}",
                   seconds)
        assert self.subjects() == list(subjects), self.lines

    def close(self):
        self.process.kill()
        self.process.wait()
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def news(site):
    site.settings["record.notify"] = "news"
    return site


def deliver(site, account, subject):
    expect.stored(site.deliver(message(subject=subject), account))


@OF_POSTGRES
def test_listening(news, reader):
    scuba, doug = news.account("scuba"), news.account("doug")
    deliver(news, scuba, "before")
    listener = Listener(news, reader, scuba)
    deliver(news, scuba, "one")
    deliver(news, doug, "another's")
    deliver(news, scuba, "two")
    listener.wait_for("one", "two")
    again = Listener(news, reader, scuba, "--since", "2025-01-01")
    again.wait_for("before", "one", "two")


@OF_POSTGRES
def test_what_comes_while_the_connection_is_lost(news, reader):
    scuba = news.account("scuba")
    listener = Listener(news, reader, scuba)
    deliver(news, scuba, "one")
    listener.wait_for("one")
    news.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'")
    deliver(news, scuba, "meanwhile")
    listener.wait_for("one", "meanwhile")
    deliver(news, scuba, "afterwards")
    listener.wait_for("one", "meanwhile", "afterwards")


@OF_POSTGRES
def test_what_commits_late_is_told_after_a_lost_connection(news, reader):
    """It has a lower number, and an earlier time, than messages printed before."""
    scuba = news.account("scuba")
    listener = Listener(news, reader, scuba)
    deliver(news, scuba, "late")
    listener.wait_for("late")
    session = news.lab.postgres.connect(news.database)
    try:
        with session.cursor() as cursor:    # a transaction that commits later than its stored_at
            cursor.execute("BEGIN")
            cursor.execute('INSERT INTO oncedrop.message (identity, digest, lock_key, sender, "from", subject, size,'
                           " received_at) SELECT digest, identity, 1, '', 'x', 'slow', 1, now() FROM oncedrop.message RETURNING id")
            number = cursor.fetchone()[0]
            cursor.execute("INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid,"
                           " stored_at) SELECT %s, account, mailbox, role, state, 1, claimed_by, host, pid,"
                           " clock_timestamp() FROM oncedrop.copy", (number,))
            deliver(news, scuba, "quick")
            listener.wait_for("late", "quick")
            news.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'listener'")
            cursor.execute("COMMIT")        # without a notification: no client is listening now
    finally:
        session.close()
    listener.wait_for("late", "quick", "slow", seconds=120)


# A ledger in a file

READ = """
import sqlite3, sys
session = sqlite3.connect(sys.argv[1], uri=True)
print(session.execute("SELECT count(*) FROM inbox").fetchone()[0])
"""


@pytest.mark.sqlite
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_a_member_of_the_group_reads_the_file(site):
    """Read-only, parallel to deliveries and while nothing of the program runs; not without the files next to it. immutable=1 does
    not see the log."""
    embedded = Embedded(site, ordinary.USER).install()
    account, group = site.account(), embedded.user.pw_gid

    def read(options):
        return subprocess.run(["setpriv", f"--reuid={ordinary.OTHER}", f"--regid={ordinary.OTHER}", f"--groups={group}",
                               "/usr/bin/python3", "-c", READ, f"file:{embedded.path}?{options}"],
                              capture_output=True, text=True, check=False, cwd="/")

    for count in (1, 2):
        assert embedded.run("deliver", "-d", account, stdin=message()).exit == 0
        assert read("mode=ro").stdout == f"{count}\n"
    assert read("mode=ro&immutable=1").stdout != "2\n"
    assert {stat.st_uid for stat in embedded.files().values()} == {embedded.user.pw_uid}
    os.unlink(embedded.path + "-shm")
    assert "unable to open database file" in read("mode=ro").stderr
    assert embedded.run("list").exit == 0
    assert read("mode=ro").stdout == "2\n"
