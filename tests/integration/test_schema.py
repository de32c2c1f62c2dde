# SPDX-License-Identifier: ISC
"""schema upgrade: the ledger of an older version continues to work.

Seen to fail with: a table without a key or other identity; a column of version 2 left out, the remedy not named."""

import glob
import os
import threading

import expect
import pytest
from lab import lab as lab_module, process
from lab.messages import message, on_the_wire
from test_role_settings import called, set_traps

pytestmark = pytest.mark.postgres

FILES = sorted(glob.glob(os.path.join(lab_module.REPOSITORY, "src", "postgres", "schema", "*.sql")))


NEEDED = 13     # the version that deliveries of this program need; later ones are for operators


def version_of(path):
    return int(os.path.basename(path)[:3])


@pytest.fixture
def old(site, request):
    """A site whose ledger has an older version, installed by its owner."""
    site.database = site.lab.postgres.create_database(lab_module.OWNER)
    session = site.lab.postgres.connect(site.database, lab_module.OWNER, lab_module.OWNER)
    with session.cursor() as cursor:
        for path in FILES[:request.param]:
            with open(path, encoding="utf-8") as file:
                sql = file.read()
            for mark, name in (("@schema@", "oncedrop"), ("@role@", "oncedrop_delivery"),
                               ("@role_text@", "'oncedrop_delivery'"), ("@operator@", "oncedrop_operator"),
                               ("@operator_text@", "'oncedrop_operator'")):
                sql = sql.replace(mark, name)
            cursor.execute(sql)
            cursor.execute("INSERT INTO oncedrop.schema_version (version) VALUES (%s)", (version_of(path),))
    session.close()
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)
    return site


def as_owner(site, *words):
    return site.run(*words, options=["-o", "database.conninfo=" + site.lab.postgres.conninfo(site.database, lab_module.OWNER)])


@pytest.mark.parametrize("old", range(1, len(FILES)), indirect=True)
def test_upgrade(old):
    newest = version_of(FILES[-1])
    scuba = old.account()
    mail = message()
    old.sql("""INSERT INTO oncedrop.message (identity, digest, lock_key, sender, size, received_at)
               SELECT sha256('a'), sha256('b'), 1, 'x', 1, now()""")
    old.sql("""INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome)
               SELECT id, 'a@b', 'a', 'INBOX', 'h', 'stored' FROM oncedrop.message""")
    version = old.value("SELECT max(version) FROM oncedrop.schema_version")
    done = old.run("schema", "version")
    assert done.exit == 1 and done.out.endswith("; run: oncedrop schema upgrade\n"), done
    done = as_owner(old, "schema", "upgrade")
    assert done.exit == 0 and done.out == f"schema oncedrop: upgraded from version {version} to {newest}\n", done
    assert old.run("schema", "version").exit == 0
    assert old.value("SELECT count(*) FROM oncedrop.message") == 1
    expect.stored(old.deliver(mail, scuba))
    assert [stored.raw for stored in old.messages(scuba)] == [on_the_wire(mail)]
    assert old.value("SELECT count(*) FROM oncedrop.inbox WHERE account = %s", (scuba,)) == 1


def test_all_tables_are_replicated(site):
    """What a publication sends needs an identity of each row that is changed."""
    site.sql("CREATE PUBLICATION everything FOR ALL TABLES")
    lisa, scuba = site.account("lisa"), site.account("scuba")
    expect.stored(site.deliver(message(sender=lisa, to=scuba), scuba, sender=lisa))
    site.sql("UPDATE oncedrop.message SET received_at = '2001-01-01'")
    site.sql("UPDATE oncedrop.delivery SET last_at = '2001-01-01'")
    for words in (["stats"], ["purge", "--older-than", "30d"]):
        done = site.run(*words)
        assert done.exit == 0, done
    assert site.value("SELECT count(*) FROM oncedrop.message") == 0
    done = as_owner(site, "schema", "method")
    assert done.exit == 0, done
    assert not site.sql("SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'oncedrop'::regnamespace AND relkind = 'r'"
                        " AND relreplident = 'd' AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)")


@pytest.mark.parametrize("old", [1, 5, 10], indirect=True)
def test_nothing_of_a_stranger_runs_in_an_upgrade(old):
    old.sql("""INSERT INTO oncedrop.message (identity, digest, lock_key, sender, size, received_at)
               SELECT sha256('a'), sha256('b'), 1, 'x', 1, now()""")
    set_traps(old)
    done = as_owner(old, "schema", "upgrade")
    assert done.exit == 0, done
    old.sql("DELETE FROM oncedrop.message")
    expect.stored(old.deliver(message(), old.account()))
    assert old.value("SELECT count(*) FROM oncedrop.inbox") == 1 and called(old) == 0
    [row] = old.sql("SELECT proconfig FROM pg_proc WHERE pronamespace = 'oncedrop'::regnamespace")
    assert row.proconfig == ["search_path=pg_catalog, pg_temp"]


@pytest.mark.parametrize("old", [10], indirect=True)
def test_upgrade_by_an_owner_who_reads_only_by_default(old):
    old.sql(f"ALTER ROLE {lab_module.OWNER} IN DATABASE {old.database} SET default_transaction_read_only = on")
    done = as_owner(old, "schema", "upgrade")
    assert done.exit == 0, done


def test_a_newer_schema_stays(site):
    site.sql("INSERT INTO oncedrop.schema_version (version) VALUES (1000)")
    for word in ("install", "upgrade"):
        done = as_owner(site, "schema", word)
        assert done.exit == 1 and not done.out and "version 1000 is newer than this program" in done.err, done


@pytest.mark.parametrize("old", [5], indirect=True)
def test_upgrade_gives_inbox_one_name(old):
    """Of several rows for one mailbox the one with the most information remains; what is already there is not delivered
    again."""
    scuba = old.account()
    user, domain = scuba.split("@")
    cases = {   # rows of one message: name, state, doubt; and what is left
        1: ([("Inbox", "stored", False)], {("INBOX", "stored", False)}),
        2: ([("INBOX", "pending", True), ("inbox", "stored", False)], {("INBOX", "stored", False)}),
        3: ([("INBOX", "stored", False), ("inbox", "appending", True)], {("INBOX", "stored", False)}),
        4: ([("inbox", "stored", False), ("Inbox", "stored", False)], {("INBOX", "stored", False), ("Inbox", "stored", False)}),
        5: ([("inbox", "pending", True), ("INBOX", "pending", False)], {("INBOX", "pending", True)}),
        6: ([("inbox", "appending", False), ("INBOX", "pending", False)], {("INBOX", "appending", False)}),
        7: ([("Inbox2", "stored", False), ("Sent", "pending", False)], {("Inbox2", "stored", False), ("Sent", "pending", False)}),
    }
    for number, (rows, _) in cases.items():
        old.sql("INSERT INTO oncedrop.message (identity, digest, lock_key, sender, size, received_at)"
                " VALUES (sha256(%s), sha256('b'), %s, 'x', 1, now())", (str(number).encode(), number))
        old.sql("INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome)"
                " SELECT id, 'a@b', %s, %s, 'h', 'stored' FROM oncedrop.message WHERE lock_key = %s", (scuba, rows[0][0], number))
        for row in rows:
            old.sql("INSERT INTO oncedrop.copy (message, account, mailbox, role, state, doubt, claim, claimed_by, host, pid)"
                    " SELECT message, %s, %s, 'inbox', %s, %s, 1, d.id, 'h', 1 FROM oncedrop.delivery d"
                    " JOIN oncedrop.message m ON m.id = d.message WHERE lock_key = %s", (scuba, *row, number))
    assert as_owner(old, "schema", "upgrade").exit == 0
    for number, (rows, left) in cases.items():
        found = old.sql("SELECT mailbox, state, doubt FROM oncedrop.copy c JOIN oncedrop.message m ON m.id = c.message"
                        " WHERE lock_key = %s", (number,))
        assert set(map(tuple, found)) == left and len(found) == len(left), number
    assert old.value("SELECT count(*) FROM oncedrop.delivery WHERE upper(mailbox) = 'INBOX' AND mailbox <> 'INBOX'") == 0


@pytest.mark.parametrize("old", [1], indirect=True)
def test_before_the_upgrade_deliveries_are_deferred(old):
    scuba = old.account()
    expect.deferred(old.deliver(message(), scuba), r"4\.3\.0", "schema upgrade")
    assert old.count(scuba) == 0


@pytest.mark.parametrize("old", [1], indirect=True)
def test_upgraded_is_as_installed(old, ledgers):
    """Columns, indexes, views and comments are the same either way."""
    assert as_owner(old, "schema", "upgrade").exit == 0
    query = """
        SELECT c.relname, c.relkind::text, a.attname, a.attnum::int, format_type(a.atttypid, a.atttypmod), a.attnotnull,
               col_description(c.oid, a.attnum)
          FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
         WHERE c.relnamespace = 'oncedrop'::regnamespace ORDER BY 1, 4"""
    upgraded = old.sql(query)
    session = old.lab.postgres.connect(ledgers.template)
    with session.cursor() as cursor:
        cursor.execute(query)
        installed = cursor.fetchall()
    session.close()
    assert [tuple(row) for row in upgraded] == [tuple(row) for row in installed]


@pytest.mark.parametrize("old", [min(NEEDED, len(FILES) - 1)], indirect=True)
def test_deliveries_go_on_while_it_is_upgraded(old):
    """Until the ledger has what this program needs, they are deferred; then they are stored, and none fails in any
    other way."""
    scuba = old.account()
    old.settings.update({"imap.master_user": None, "imap.password_file": old.write("own", scuba + "\n")})
    ended = threading.Event()
    results = []

    def deliver():
        while not ended.is_set():
            results.append(old.deliver(message(), scuba))

    busy = [threading.Thread(target=deliver) for _ in range(3)]
    for thread in busy:
        thread.start()
    try:
        process.wait_until(lambda: len(results) > 3, "deliveries before it")
        done = as_owner(old, "schema", "upgrade")
        before = len(results)
        process.wait_until(lambda: len(results) > before + 3, "deliveries after it")
    finally:
        ended.set()
        for thread in busy:
            thread.join()
    assert done.exit == 0, done
    done = [result for result in results if result.exit == 0]
    for result in results:
        if result in done:
            expect.stored(result)
        else:
            expect.deferred(result, r"4\.3\.0", "schema upgrade")
    assert old.count(scuba) == len(done)
    assert len(done) == len(results) or len(FILES) <= NEEDED
    assert results[-1].exit == 0
