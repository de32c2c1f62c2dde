# SPDX-License-Identifier: ISC
"""lock.method: engines and hosts that do not exclude are found by experiment; hosts with different methods are refused.

Seen to fail with: only the first host tried; a pair of hosts not tried; other methods not tried; the recorded method not
compared by a delivery, or by purge."""

import collections
import hashlib
import itertools
import json
import os
import re
import signal
import socket

import expect
import psycopg2
import pytest
from lab import lab as lab_module, locks
from lab.lmtp import start, stored
from lab.messages import message, new_id
from lab.postgres import Postgres
from lab.process import free_port, wait_until
from lab.proxy import SERVER

pytestmark = pytest.mark.postgres

# Stand-ins for engines that only pretend; these change the catalogue of one database.
ALWAYS_TRUE = ["ALTER FUNCTION pg_catalog.pg_try_advisory_xact_lock(bigint) RENAME TO real_try_advisory_xact_lock",
               "CREATE FUNCTION pg_catalog.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql AS 'SELECT true'",
               "GRANT EXECUTE ON FUNCTION pg_catalog.pg_try_advisory_xact_lock(bigint) TO PUBLIC"]
MISSING = [*ALWAYS_TRUE[:1], "CREATE TABLE public.not_to_be_used_again ()"]    # see Ledgers.empty
OF_THE_SESSION = [*ALWAYS_TRUE[:1], "CREATE FUNCTION pg_catalog.pg_try_advisory_xact_lock(bigint) RETURNS boolean LANGUAGE sql"
                            " AS 'SELECT pg_try_advisory_lock($1)'"]
ROWS_UNLOCKED = ["ALTER TABLE oncedrop.slot RENAME TO real_slot",
                 "CREATE VIEW oncedrop.slot AS SELECT slot, NULL::boolean AS unused FROM generate_series(0, 16383) slot",
                 "GRANT SELECT, UPDATE ON oncedrop.slot TO PUBLIC"]


def stand_in(site, statements):
    for statement in statements:
        site.sql(statement)


def item(site, name):
    """Status and text of an item of `check`."""
    done = site.check("--json", unresponsive=True)
    found = [row for row in json.loads(done.out) if row["item"] == name]
    assert found, done
    return found[0]["status"], found[0]["text"]


def as_owner(site):
    return ["-o", "database.conninfo=" + site.lab.postgres.conninfo(site.database, lab_module.OWNER)]


PRETENDERS = {
    "always true": (ALWAYS_TRUE, "advisory", "two sessions hold the same lock: it does not exclude", "row or lease"),
    "missing": (MISSING, "advisory", "does not exist (SQLSTATE 42883)", "row or lease"),
    "of the session": (OF_THE_SESSION, "advisory", "not released when its transaction ends", "row or lease"),
    "rows not locked": (ROWS_UNLOCKED, "row", "two sessions hold the same lock: it does not exclude", "advisory or lease"),
}


@pytest.mark.parametrize("statements,method,wrong,use", PRETENDERS.values(), ids=PRETENDERS.keys())
def test_an_engine_that_pretends(site, statements, method, wrong, use):
    """It is refused by the name of the method, and the message says which one works here; so says ledger method."""
    locks.agree(site, method)
    stand_in(site, statements)
    status, text = item(site, "lock")
    assert status == "failed" and wrong in text, text
    assert f"method = {method} cannot be used here" in text and f"set lock.method = {use}" in text, text
    done = site.run("ledger", "method", options=as_owner(site))
    assert done.exit == 69 and wrong in " ".join(done.err.split()), done
    site.settings["lock.method"] = use.split()[0]
    done = site.run("ledger", "method", options=as_owner(site))
    assert done.exit == 0 and done.out == f"schema oncedrop: lock.method was {method}, and is now {use.split()[0]}\n", done
    status, text = item(site, "lock")
    assert status == "ok", text


def test_an_engine_with_leases_only(site):
    """No lock of a transaction excludes."""
    stand_in(site, [*ALWAYS_TRUE, *ROWS_UNLOCKED])
    status, text = item(site, "lock")
    assert status == "failed" and "method = advisory cannot be used here" in text and "set lock.method = lease on" in text, text


def test_schema_install_says_so(site):
    """The schema is installed, since another method may do; its owner learns of it at once."""
    stand_in(site, [*ALWAYS_TRUE, "DROP SCHEMA oncedrop CASCADE"])
    done = site.run("ledger", "install", options=as_owner(site))
    said = " ".join(done.err.split())
    assert done.exit == 69 and done.out.startswith("schema oncedrop: version"), done
    assert "method = advisory cannot be used here: two sessions hold the same lock" in said and "lock.method = row" in said
    site.sql("DROP SCHEMA oncedrop CASCADE")
    site.settings["lock.method"] = "row"
    done = site.run("ledger", "install", options=as_owner(site))
    assert done.exit == 0 and site.value("SELECT lock_method FROM oncedrop.setting") == "row", done


# Several hosts in conninfo

@pytest.fixture(scope="module")
def another_server(lab):
    """With its own data."""
    directory = lab.new_directory("another")
    os.chmod(directory, 0o711)
    server = Postgres(directory)
    server.start()
    for role in lab_module.ROLES:
        server.create_role(role)
    yield server
    server.stop()


@pytest.fixture
def second(site, another_server):
    """Has a schema and a database of the same names."""
    another_server.admin(f"CREATE DATABASE {site.database}")
    another_server.admin(site.run("ledger", "print").out, database=site.database)
    another_server.admin(f"GRANT oncedrop_delivery TO {lab_module.DELIVERY}")
    yield another_server
    another_server.drop_database(site.database)


def hosts(site, *ports, more=""):
    """The conninfo lists 127.0.0.1 with these ports."""
    one = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)
    listed = ",".join(["127.0.0.1"] * len(ports))
    site.settings["database.conninfo"] = one.replace("host=127.0.0.1", f"host={listed}").replace(
        f"port={site.lab.postgres.port}", f"port={','.join(map(str, ports))}") + more


@pytest.mark.usefixtures("method")
def test_hosts_that_reach_one_server(site):
    """As two addresses of one, or two poolers."""
    hosts(site, site.lab.postgres.port, site.database_proxy().port, site.database_proxy().port)
    status, text = item(site, "lock")
    assert status == "ok" and "between 3 hosts" in text, text


def test_hosts_that_are_two_servers(site, second, method):
    """Each has its own locks: whichever answers first, deliveries would not exclude each other."""
    second.admin("UPDATE oncedrop.setting SET lock_method = %s", (method,), site.database)
    hosts(site, site.lab.postgres.port, site.database_proxy().port, second.port)
    status, text = item(site, "lock")
    words = f"sessions of host 127.0.0.1 port {site.lab.postgres.port} and host 127.0.0.1 port {second.port} hold the same"
    assert status == "failed" and words in text and "nor any other" in text and "one primary" in text, text


def test_a_host_that_cannot_be_reached(site):
    """It is named; the others are tested."""
    port = free_port()
    hosts(site, site.lab.postgres.port, port, site.database_proxy().port)
    status, text = item(site, "lock")
    assert status == "ok" and "between 2 hosts" in text, text
    status, text = item(site, "hosts")
    assert status == "warning" and f"port {port}" in text, text


def test_a_server_that_no_delivery_uses(site, second):
    """target_session_attrs keeps deliveries away from it, as from a replica."""
    second.admin(f"ALTER DATABASE {site.database} SET default_transaction_read_only = on")
    hosts(site, site.lab.postgres.port, second.port, site.database_proxy().port, more=" target_session_attrs=read-write")
    done = site.check("--json")
    items = {row["item"]: row for row in json.loads(done.out)}
    assert items["lock"]["status"] == "ok" and "between 2 hosts" in items["lock"]["text"] and "hosts" not in items, done


# Different methods

@pytest.mark.parametrize("agreed,method", [("advisory", "row"), ("row", "lease"), ("lease", "advisory")])
def test_a_delivery_with_another_method_is_deferred(site, agreed, method):
    """As on a host whose settings were forgotten."""
    scuba, mail = site.account(), message()
    locks.agree(site, agreed)
    site.settings["lock.method"] = method
    expect.deferred(site.deliver(mail, scuba), r"4\.3\.0", f"lock.method = {method}", f"agreed on {agreed}", "ledger method")
    assert site.count(scuba) == 0
    status, text = item(site, "ledger")
    assert status == "failed" and f"agreed on {agreed}" in text, text
    done = site.run("purge", "--older-than", "30d")
    assert done.exit == 69 and f"agreed on {agreed}" in " ".join(done.err.split()), done
    done = site.run("ledger", "method", options=as_owner(site))
    assert done.exit == 0, done
    assert site.run("ledger", "method", options=as_owner(site)).out == ""
    expect.stored(site.deliver(mail, scuba))


def test_a_schema_without_agreement(site):
    site.sql("DELETE FROM oncedrop.setting")
    expect.deferred(site.deliver(message(), site.account()), r"4\.3\.0", "agreed on none")
    site.sql("INSERT INTO oncedrop.setting VALUES ('advisory')")


def test_only_the_owner_changes_the_method(site):
    locks.agree(site, "row")
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        session = site.use(site.lab.postgres.connect(site.database, lab_module.DELIVERY, lab_module.DELIVERY))
        session.cursor().execute("UPDATE oncedrop.setting SET lock_method = 'advisory'")
    done = site.run("ledger", "method")
    assert done.exit == 69 and "connect as the schema's owner" in " ".join(done.err.split()), done


# Rows

def test_rows_that_are_missing(site):
    """As after a restore without them: their messages would be deferred for ever."""
    locks.agree(site, "row")
    assert site.sql("SELECT count(*), min(slot), max(slot) FROM oncedrop.slot") == [(locks.SLOTS, 0, locks.SLOTS - 1)]
    site.sql("DELETE FROM oncedrop.slot WHERE slot = 7")
    status, text = item(site, "lock")
    assert status == "failed" and f"has {locks.SLOTS - 1} rows instead of {locks.SLOTS}" in text and "INSERT INTO" in text, text
    site.sql("INSERT INTO oncedrop.slot VALUES (7)")
    assert item(site, "lock")[0] == "ok"


def slot(id):
    return int.from_bytes(hashlib.sha256(b"oncedrop\0" + id.encode()).digest()[:8], "big") % locks.SLOTS


def test_messages_that_share_a_row_wait_for_each_other(site):
    """Without need: with lock.wait no delivery is deferred."""
    locks.agree(site, "row")
    site.settings["lock.wait"] = "50s"
    scuba, id = site.account(), new_id()
    like = next(other for other in (f"{number}@test.example" for number in itertools.count()) if slot(other) == slot(id))
    with locks.held(site, locks.key_of(site, id)):
        expect.held(site.deliver(message(id=like), scuba, options=["-o", "lock.wait=0"]))
        delivery = site.start_delivery(message(id=like), scuba)
        expect.stored(site.deliver(message(), scuba))
    expect.stored(delivery.finish())


# Leases

def test_no_transaction_stays_open(site):
    """Every batch of a delivery ends its own: one with inbox and Sent copy, one of what is stored already, one that is
    held, and one with a search."""
    locks.agree(site, "lease")
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail, id = message(sender=lisa), new_id()
    states = collections.Counter()

    def watch(_connection, side, data):
        states.update(re.findall(b"Z\0\0\0\5([ITE])", data) if side == SERVER else [])
        return data
    site.database_proxy(watch)
    site.settings["imap.search"] = "always"
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    with locks.held(site, locks.key_of(site, id)):
        expect.held(site.deliver(message(id=id), scuba))
    assert states.keys() == {b"I"} and states[b"I"] > 10, states
    assert site.sql("SELECT * FROM oncedrop.lease") == []


@pytest.mark.parametrize("method,table", [("lease", "copy"), ("lease", "lease"), ("advisory", "copy")])
def test_a_batch_that_fails_leaves_no_transaction_open(site, method, table):
    """A statement that fails takes the COMMIT or ROLLBACK behind it along; the kept session goes on without."""
    locks.agree(site, method)
    scuba, mail = site.account(), message()
    states = []

    def watch(_connection, side, data):
        states.extend(re.findall(b"Z\0\0\0\5([ITE])", data) if side == SERVER else [])
        return data
    site.database_proxy(watch)
    session = start(site)
    site.sql("CREATE FUNCTION oncedrop.fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'failed'; END$$")
    site.sql(f"CREATE TRIGGER fail BEFORE INSERT OR DELETE ON oncedrop.{table} EXECUTE FUNCTION oncedrop.fail()")
    assert session.deliver(mail, scuba)[0].code == 451
    assert b"E" in states and states[-1] == b"I", states
    site.sql(f"DROP TRIGGER fail ON oncedrop.{table}")
    stored(session.deliver(mail, scuba)[0])


def test_a_lease_that_has_expired_is_nobodys(site):
    locks.agree(site, "lease")
    scuba, id = site.account(), new_id()
    key = locks.key_of(site, id)
    with locks.held(site, key):
        expect.held(site.deliver(message(id=id), scuba))
        site.sql("UPDATE oncedrop.lease SET expires_at = now() - interval '1 s'")
        assert site.run("locks").out == "no delivery is in progress\n"
        expect.stored(site.deliver(message(id=id), scuba))
        assert site.sql("SELECT * FROM oncedrop.lease") == []


@pytest.mark.parametrize("when", ["look", "append"])
def test_the_lease_of_a_delivery_that_was_killed(site, when):
    """It lasts as long as the process could have lived, by the database's clock; what was claimed is left alone for longer."""
    locks.agree(site, "lease")
    scuba, id = site.account(), new_id()
    mail = message(id=id)
    right = dict(site.settings)
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    deliveries = []

    def kill(_connection, side, data):
        if side == SERVER or (b"RETURNING d.id" if when == "look" else b"APPEND") not in data:
            return data
        wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
        return None
    if when == "look":
        site.database_proxy(kill)
    else:
        site.imap_proxy(kill)
    site.settings["delivery.hold_off"] = "300s"
    deliveries.append(site.start_delivery(mail, scuba))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    pid = deliveries[0].process.pid
    site.settings = right
    wait_until(lambda: when == "look" or site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'"), "the claim")
    [lease] = site.sql("SELECT key, pid, expires_at - taken_at AS lasts FROM oncedrop.lease")
    assert (lease.key, lease.pid, lease.lasts.total_seconds()) == (locks.key_of(site, id), pid, pytest.approx(60, abs=1))
    [row] = [row for row in json.loads(site.run("locks", "--json").out) if row["lock"] == "held"]
    assert row["session"].startswith(f"oncedrop {socket.gethostname()[:20]}[{pid}]") and row["backend"] is None
    expect.held(site.deliver(mail, scuba))
    site.sql("UPDATE oncedrop.lease SET expires_at = now()")
    if when == "append":
        expect.held(site.deliver(mail, scuba))
        site.sql("UPDATE oncedrop.copy SET claimed_at = claimed_at - interval '1 day'")
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


def test_a_lease_that_was_lost_stays_lost(site):
    """Another delivery has taken it: it is neither renewed nor ended, and the Sent copy is for the next delivery."""
    locks.agree(site, "lease")
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    taken = []

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not taken:
            taken.append(site.sql("UPDATE oncedrop.lease SET owner = 7, expires_at = '2100-01-01' RETURNING key"))
        return data
    site.imap_proxy(watch)
    expect.deferred(site.deliver(message(sender=lisa), scuba, sender=lisa), r"4\.\d\.\d", "claim was lost")
    assert site.value("SELECT count(*) FROM oncedrop.lease WHERE owner = 7 AND expires_at = '2100-01-01'") == 1
    assert [site.count(scuba), site.count(lisa, "Sent")] == [1, 0]


def test_purge_removes_leases_of_the_dead(site):
    locks.agree(site, "lease")
    for key, age in ((1, "2 days"), (2, "1 hour")):
        site.sql("INSERT INTO oncedrop.lease (key, owner, expires_at, host, pid, session) VALUES (%s, 1, now() - %s::interval,"
                 " 'h', 1, 's')", (key, age))
    assert site.run("purge", "--older-than", "30d").exit == 0
    assert site.sql("SELECT key FROM oncedrop.lease") == [(2,)]
