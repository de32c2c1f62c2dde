# SPDX-License-Identifier: ISC
"""Applications that take rows of a feed in their own transactions, with the role for them.

Seen to fail with the breakages tests/mutants/feed-sql-*."""

import contextlib
import json

import expect
import psycopg2
import pymysql
import pytest
from lab import lab as lab_module
from lab.ledger import MARIADB, SQLITE, engine
from lab.messages import message, new_id

pytestmark = pytest.mark.skipif(engine() == SQLITE, reason="an application has no transaction in the ledger's file")
REFUSED = (psycopg2.errors.InsufficientPrivilege, pymysql.err.OperationalError)
TAKE = "SELECT id, message FROM oncedrop.waiting WHERE feed = 'support' AND dead = FALSE AND due ORDER BY id LIMIT %s" \
       " FOR UPDATE SKIP LOCKED"
FINISH = "DELETE FROM oncedrop.waiting WHERE id = %s"


class Application:
    def __init__(self, site, *feeds):
        self.site, self.name = site, f"helpdesk{site.number}"
        site.ledger.create_application(self.name)
        for feed in feeds:
            site.sql("INSERT INTO oncedrop.feed_reader VALUES (%s, %s)", (self.name, feed))
        self.sessions = []

    def connect(self):
        session = self.site.ledger.connect(self.name)
        self.sessions.append(session)
        return session, session.cursor()

    def close(self):
        for session in self.sessions:
            with contextlib.suppress(pymysql.err.Error):    # it is closed
                session.close()
        self.site.sql("DELETE FROM oncedrop.feed_reader")
        self.site.ledger.drop_application(self.name)


@pytest.fixture
def application(site):
    site.settings.update({"feed support.recipient": "support*", "feed secret.recipient": "secret*", "record.level": "raw"})
    with contextlib.closing(Application(site, "support")) as made:
        yield made


def deliver(site, name="support", **more):
    id = new_id()
    expect.stored(site.deliver(message(id=id, **more), site.account(name)))
    return id


def take(cursor, limit=10):
    cursor.execute(TAKE, (limit,))
    return [row[0] for row in cursor.fetchall()]


def waiting(site):
    return [row.id for row in site.sql("SELECT id FROM oncedrop.feed WHERE feed = 'support' ORDER BY id")]


def changed(cursor, statement, *parameters):
    cursor.execute(statement, parameters)
    return cursor.rowcount if engine() != MARIADB else cursor.cursor.rowcount


@pytest.mark.parametrize("limits", [(1, 10), (10, 1)])
def test_two_at_a_time(site, application, limits):
    """Neither waits for the other, also if the server would find one row and ten rows by different indexes, nor does a delivery
    wait for them."""
    for _ in range(12):
        deliver(site)
    rows = waiting(site)
    (first, a), (second, b) = application.connect(), application.connect()
    assert take(a, limits[0]) == rows[:limits[0]]
    assert take(b, limits[1]) == rows[limits[0]:][:limits[1]]
    deliver(site)
    assert changed(a, FINISH, rows[0]) == 1
    first.commit()
    second.rollback()
    assert len(waiting(site)) == 12 and rows[0] not in waiting(site)


def test_a_transaction_that_is_undone(site, application):
    """By rollback, or with the connection."""
    deliver(site)
    [row] = waiting(site)
    for end in ("rollback", "close"):
        session, cursor = application.connect()
        assert take(cursor) == [row]
        assert changed(cursor, FINISH, row) == 1
        getattr(session, end)()
    _, cursor = application.connect()
    assert take(cursor) == [row]


def test_later_and_dead(site, application):
    for _ in range(3):
        deliver(site)
    later, dead, good = waiting(site)
    session, cursor = application.connect()
    hour = "now() + interval '1 hour'" if engine() != MARIADB else "utc_timestamp(6) + interval 1 hour"
    assert changed(cursor, f"UPDATE oncedrop.waiting SET not_before = {hour}, tries = tries + 1, error = 'no' WHERE id = %s", later) == 1
    assert changed(cursor, "UPDATE oncedrop.waiting SET dead = TRUE WHERE id = %s", dead) == 1
    assert take(cursor) == [good]
    session.commit()
    listed = json.loads(site.run("feed", "list", "--json", "support").out)
    assert [(row["id"], row["tries"], row["dead"], row["error"]) for row in listed] == \
        [(later, 1, False, "no"), (dead, 0, True, None), (good, 0, False, None)]


def test_what_a_message_holds(site, application):
    """Not the other recipients, who may be Bcc."""
    support, other = site.account("support"), site.account()
    id = new_id()
    data = message(id=id, subject="Shown", headers="In-Reply-To: <before@example.org>\n", body="Text\n")
    for account in (support, other):
        expect.stored(site.deliver(data, account))
    _, cursor = application.connect()
    cursor.execute("SELECT id, message, message_id, thread, subject, recipients, account, mailbox, uid FROM oncedrop.waiting_message")
    [row] = cursor.fetchall()
    assert [row[0]] == waiting(site)
    assert (row[2], row[3], row[4], row[6], row[7], row[8]) == (id, "before@example.org", "Shown", support, "INBOX", 1)
    assert (json.loads(row[5]) if isinstance(row[5], str) else row[5]) == [support]
    cursor.execute("SELECT text FROM oncedrop.waiting_part WHERE message = %s", (row[1],))
    assert [row[0].strip() for row in cursor.fetchall()] == ["Text"]
    cursor.execute("SELECT address FROM oncedrop.waiting_address WHERE message = %s AND role = 'from'", (row[1],))
    assert [row[0] for row in cursor.fetchall()] == ["lisa@elsewhere.example"]
    cursor.execute("SELECT data FROM oncedrop.waiting_raw WHERE message = %s", (row[1],))
    assert b"Subject: Shown" in bytes(cursor.fetchall()[0][0])
    [shown] = json.loads(site.run("feed", "list", "--json", "support").out)
    assert json.loads(site.run("feed", "show", "--json", str(shown["id"])).out)["recipients"] == [support]


VIEWS = ("waiting", "waiting_message", "waiting_address", "waiting_part", "waiting_raw")


def test_another_feed(site, application):
    deliver(site, "secret", subject="Hidden")
    deliver(site)
    [secret] = [row.id for row in site.sql("SELECT id FROM oncedrop.feed WHERE feed = 'secret'")]
    session, cursor = application.connect()
    for view in VIEWS:
        cursor.execute(f"SELECT count(DISTINCT message) FROM oncedrop.{view}")
        assert [row[0] for row in cursor.fetchall()] == [1], view
    assert changed(cursor, FINISH, secret) == 0
    assert changed(cursor, "UPDATE oncedrop.waiting SET dead = TRUE WHERE id = %s", secret) == 0
    session.commit()
    assert site.value("SELECT count(*) FROM oncedrop.feed WHERE feed = 'secret' AND dead = FALSE") == 1


@pytest.mark.parametrize("statement", [
    "SELECT subject FROM oncedrop.message", "SELECT text FROM oncedrop.part", "SELECT data FROM oncedrop.raw",
    "SELECT account FROM oncedrop.copy", "SELECT recipient FROM oncedrop.delivery", "SELECT * FROM oncedrop.inbox",
    "UPDATE oncedrop.waiting SET feed = 'secret'", "UPDATE oncedrop.waiting SET copy = 1", "UPDATE oncedrop.waiting SET message = 1",
    "INSERT INTO oncedrop.waiting (feed, copy, message) VALUES ('support', 1, 1)",
    "INSERT INTO oncedrop.feed (feed, copy, message) VALUES ('support', 1, 1)",
    "INSERT INTO oncedrop.feed_reader VALUES ('x', 'secret')", "DELETE FROM oncedrop.waiting_message",
    "TRUNCATE oncedrop.feed",
], ids=lambda statement: statement.split(" (")[0])
def test_it_may_not(site, application, statement):
    deliver(site)
    _, cursor = application.connect()
    with pytest.raises(psycopg2.Error if engine() != MARIADB else pymysql.err.Error) as raised:
        cursor.execute(statement)
    assert isinstance(raised.value, REFUSED) or "cannot delete from view" in str(raised.value), raised.value


LEAK = """
    CREATE FUNCTION pg_temp.leak(text) RETURNS boolean LANGUAGE plpgsql COST 0.0000001 AS
        $$ BEGIN RAISE NOTICE 'leaked: %', $1; RETURN true; END $$;
    SET enable_nestloop = off;
    SET enable_mergejoin = off;
"""


@pytest.mark.postgres
@pytest.mark.parametrize("column, view", [("error", "waiting"), ("subject", "waiting_message"), ("text", "waiting_part"),
                                          ("address", "waiting_address"), ("encode(data, 'escape')", "waiting_raw"),
                                          ("feed", "feed_reader"), ("feed", "feed")])
def test_nothing_leaks(site, application, column, view):
    deliver(site, "secret", subject="Hidden", body="Hidden\n", headers="Cc: Hidden@example.org\n")
    site.sql("UPDATE oncedrop.feed SET error = 'Hidden'")
    site.sql("INSERT INTO oncedrop.feed_reader VALUES ('somebody', 'Hidden')")
    deliver(site)
    session, cursor = application.connect()
    cursor.execute(LEAK)
    cursor.execute(f"SELECT * FROM oncedrop.{view} WHERE pg_temp.leak({column})")
    cursor.fetchall()
    assert session.notices == [] or "leaked" in session.notices[0]
    assert "Hidden" not in str(session.notices) and "secret" not in str(session.notices)


@pytest.mark.postgres
def test_others_are_not_limited(site, application):
    """Operators, the owner and deliveries see all feeds: the policy is for this role alone."""
    deliver(site, "secret")
    deliver(site)
    assert json.loads(site.run("feed", "list", "--json").out)[0]["feed"] == "secret"
    done = site.run("feed", "run", "secret", "--", "true")
    assert done.out == "1 finished, 0 left for later, 0 dead\n", done


@pytest.mark.postgres
@pytest.mark.parametrize("user", [lab_module.DELIVERY, lab_module.OPERATOR])
def test_a_user_with_another_role_is_not_limited(site, application, user):
    """Else mail would be deferred, or purge would not see what waits, if one user is for both."""
    site.sql(f"GRANT oncedrop_feed TO {user}")
    try:
        deliver(site, "secret")
        deliver(site)
        listed = json.loads(site.run("feed", "list", "--json").out)
    finally:
        site.sql(f"REVOKE oncedrop_feed FROM {user}")
    assert [row["feed"] for row in listed] == ["secret", "support"]
