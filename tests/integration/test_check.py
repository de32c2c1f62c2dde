# SPDX-License-Identifier: ISC
"""`oncedrop check` finds what would prevent a delivery, reports it, and ends, no matter what is broken.

Seen to fail with: a table or a column left out of what is written; COMMIT in place of ROLLBACK; the answer of the try not
looked at, the lock not tried after its transaction, no second transaction; no limit on a step, the limit on answers left at
a delivery's; the certificate's end not compared, or the last of the chain's taken; each warning's condition turned round;
the exit status of warnings."""

import json
import os
import re
import resource
import socket
import subprocess

import pytest
from lab import certificates, lab as lab_module, pgbouncer, postgres, process
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message
from lab.proxy import CLIENT

DATABASE = ["database", "schema", "lock", "ledger"]
IMAP = ["certificate", "imap", "capabilities", "inbox", "sent"]
ALL = ["configuration", "times", *DATABASE, *IMAP]


def check(site, *arguments, chatter=False, unresponsive=False, **more):
    """The report for each item: name → list of (status, text). chatter: libraries and commands may write to stderr.
    unresponsive: some server is meant not to answer."""
    site.settings.setdefault("lock.wait", "5s")
    site.settings.setdefault("delivery.hold_off", "300s")
    done = site.check("--json", *arguments, unresponsive=unresponsive, **more)
    said = {}
    for item in json.loads(done.out):
        assert item.keys() == {"item", "status", "text"}
        said.setdefault(item["item"], []).append((item["status"], item["text"]))
    statuses = {status for items in said.values() for status, _ in items}
    assert statuses <= {"ok", "warning", "failed"} and (chatter or not done.err), done
    assert done.exit == (1 if "failed" in statuses else 0), done
    assert done.seconds < 100
    return said


def of(said, status):
    """The items with this status, except for the warning that the lab's PostgreSQL is reached by TCP."""
    return sorted(name for name, items in said.items() for one, _ in items
                  if one == status and (name, one) != ("transport", "warning"))


def failed(said, name, *words):
    """Only this item failed; its text contains every word."""
    assert of(said, "failed") == [name], said
    return says(said, name, "failed", *words)


def says(said, name, status, *words):
    texts = [text for one, text in said[name] if one == status]
    assert any(all(word in text for word in words) for text in texts), (words, said[name])
    return said


def trust(site, lab, **certificate):
    """Gives IMAP a server with its own certificate."""
    files = lab.authority.issue(f"check{site.number}", **certificate)
    return imap(site, FakeImap(tls=files))


def imap(site, server, **settings):
    site.use(server)
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, **settings})
    return server


# Output

def test_all_is_well(site, lab):
    scuba = site.account()
    lab.dovecot.session(scuba).create("Sent")
    said = check(site, scuba)
    assert of(said, "failed") == [] and of(said, "warning") == ["certificate"], said   # the lab's expires in two days
    assert set(ALL) <= said.keys()
    assert site.count(scuba) == 0 and lab.dovecot.mailboxes(scuba) == ["INBOX", "Sent"]
    assert site.sql("SELECT 1 FROM oncedrop.message") == []


def test_as_lines(site):
    scuba = site.account()
    site.settings["imap.create"] = "no"
    done = site.run("check", scuba)
    *lines, counts = [line.split(None, 2) for line in done.out.splitlines()]
    assert done.exit == 1 and not done.err, done
    counted = [sum(status == one for status, _, _ in lines) for one in ("ok", "warning", "failed")]
    assert " ".join(counts) == "{} ok, {} warning{}, {} failed".format(
        counted[0], counted[1], "" if counted[1] == 1 else "s", counted[2])
    assert {"ok", "warning", "failed"} == {status for status, _, _ in lines}
    said = [(item["status"], item["item"], item["text"]) for item in json.loads(site.run("check", "--json", scuba).out)]
    assert [*map(without_days, said)] == [
        without_days((status, name, text.replace("\\\\", "\\"))) for status, name, text in lines]


def without_days(line):
    """A day may have passed between two runs: the last-but-one certificate expires in the lab's first second. Nor does the
    disk stay as full as now."""
    status, name, text = line
    return status, name, re.sub(r"^ends in \d days?,|^\d+ .iB are free", "some", text)


@pytest.mark.parametrize("arguments", [["a", "b"], ["--nonsense"], ["-x"], ["--json", "a", "b"]])
def test_wrong_usage(site, arguments):
    done = site.run("check", *arguments)
    assert done.exit == 64 and "usage: " in done.err and not done.out, done


# The database

@pytest.mark.postgres
def test_no_database(site):
    site.settings["database.conninfo"] = "host=127.0.0.1 port=1 dbname=x user=x"
    said = failed(check(site, site.account()), "database", "refused")
    assert not {"schema", "lock", "ledger"} & said.keys() and "imap" in said


@pytest.mark.postgres
def test_no_schema(site):
    site.settings["database.schema"] = "elsewhere"
    failed(check(site, site.account()), "schema", "oncedrop ledger install")


def test_an_address_that_leads_nowhere(site):
    """Not: name an address."""
    site.settings["route.account_query"] = "SELECT 'x' WHERE $1 = 'y'"
    said = failed(check(site, "scuba@example.org"), "route", "no such account")
    says(said, "imap", "warning", "not known which account")


@pytest.mark.postgres
def test_a_newer_schema(site):
    site.sql("INSERT INTO oncedrop.schema_version (version) VALUES (1000)")
    """The program goes on with it; but the upgrade of the schema forgot this host."""
    said = says(check(site, site.account()), "schema", "warning", "version 1000 is newer")
    assert of(said, "failed") == [] and ("ok", "logged in as") in [(one, text[:12]) for one, text in said["imap"]]


RIGHTS = [("INSERT", table) for table in ("message", "address", "part", "raw", "delivery", "copy")] + [
    ("UPDATE", "delivery"), ("UPDATE", "copy"), ("SELECT", "message"), ("SELECT", "copy"), ("SELECT", "delivery")]


@pytest.mark.postgres
def test_missing_rights(site):
    scuba = site.account()
    site.settings["record.level"] = "raw"
    for right, table in RIGHTS:
        columns = site.value("""SELECT string_agg(quote_ident(column_name), ', ')
                                FROM information_schema.role_column_grants WHERE grantee = 'oncedrop_delivery'
                                AND table_schema = 'oncedrop' AND table_name = %s AND privilege_type = %s""", (table, right))
        site.sql(f"REVOKE {right} ({columns}) ON oncedrop.{table} FROM oncedrop_delivery")
        failed(check(site, scuba), "ledger", f"permission denied for table {table}", "oncedrop_delivery")
        site.sql(f"GRANT {right} ({columns}) ON oncedrop.{table} TO oncedrop_delivery")
    assert of(check(site, scuba), "failed") == []


@pytest.mark.postgres
def test_rights_that_are_not_needed(site):
    """It depends on record.level what is written."""
    scuba = site.account()
    for level, table in (("text", "raw"), ("headers", "part"), ("envelope", "address")):
        site.sql(f"REVOKE ALL ON oncedrop.{table} FROM oncedrop_delivery")
        site.settings["record.level"] = level
        assert of(check(site, scuba), "failed") == []


@pytest.mark.postgres
@pytest.mark.parametrize("when,table", [("INSERT", table) for table in ("message", "address", "part", "raw", "delivery", "copy")]
                         + [("UPDATE", "delivery"), ("UPDATE", "copy")])
def test_a_full_disk(site, when, table):
    """The database's error on a full disk, for each kind of write."""
    site.settings["record.level"] = "raw"
    site.sql("CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
             " $$ BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$")
    site.sql(f"CREATE TRIGGER t BEFORE {when} ON oncedrop.{table} FOR EACH ROW EXECUTE FUNCTION full_disk()")
    failed(check(site, site.account()), "ledger", "No space left on device", "53100")


@pytest.mark.postgres
def test_a_missing_column_is_found_when_a_delivery_needs_it(site):
    """Each column of each table in turn: the check and a delivery agree; what the check misses, a known message may need."""
    scuba, lisa = site.account("scuba"), site.account("lisa")
    site.settings["record.level"] = "raw"
    columns = site.sql("SELECT c.relname AS tab, a.attname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
                       " WHERE c.relnamespace = 'oncedrop'::regnamespace AND c.relkind = 'r' AND a.attnum > 0"
                       " AND NOT a.attisdropped AND c.relname <> 'schema_version' ORDER BY 1, 2")
    assert len(columns) > 50
    needed = 0
    for column in columns:
        site.sql(f'ALTER TABLE oncedrop.{column.tab} RENAME "{column.name}" TO missing')
        mail = message(sender=lisa)
        deferred = site.deliver(mail, scuba, sender=lisa).exit == 75
        found = of(check(site), "failed") == ["ledger"]
        deferred = deferred or (found and site.deliver(mail, scuba, sender=lisa).exit == 75)
        site.sql(f'ALTER TABLE oncedrop.{column.tab} RENAME missing TO "{column.name}"')
        assert found == deferred, column
        needed += deferred
    assert needed > 45


class Standby(postgres.Postgres):
    """A copy of another server, in recovery."""
    name = "standby"

    def __init__(self, directory, primary):
        super().__init__(directory)
        self.primary, self.password = primary, primary.password

    def initialise(self):
        subprocess.run([self.program("pg_basebackup"), "-h", "127.0.0.1", "-p", str(self.primary.port), "-U", "admin",
                        "-D", self.path("data"), "-R", "-c", "fast", "--no-sync"], check=True, cwd="/",
                       env={"PGPASSWORD": self.password}, **process.run_as(self.user))


@pytest.mark.postgres
def test_a_standby(site, lab):
    scuba = site.account()
    standby = Standby(lab.new_directory("standby"), lab.postgres)
    os.chmod(os.path.dirname(standby.directory), 0o711)
    try:
        standby.start()
        site.settings["database.conninfo"] = lab.postgres.conninfo(site.database, lab_module.DELIVERY, port=standby.port)
        said = check(site, scuba)
        assert of(said, "failed") == ["ledger", "lock"], said
        says(said, "ledger", "failed", "primary")
    finally:
        standby.stop()


@pytest.mark.postgres
def test_a_locked_table(site):
    scuba = site.account()
    session = site.ledger.connect()
    session.cursor().execute("LOCK TABLE oncedrop.part")
    said = check(site, scuba, unresponsive=True)
    session.close()
    failed(said, "ledger", "locked")
    assert "imap" in said


# The lock

def through(site, server):
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY, port=server.port)


@pytest.fixture
def pooler(site, lab):
    """Starts a PgBouncer in front of the site's database."""
    started = []

    def start(pool_size):
        users = {role: role for role in lab_module.ROLES}
        server = pgbouncer.PgBouncer(lab.new_directory("pooler"), lab.postgres, users, pool_size)
        os.chmod(os.path.dirname(server.directory), 0o711)
        started.append(server)
        server.start()
        through(site, server)
    yield start
    for server in started:
        server.stop()


@pytest.mark.postgres
@pytest.mark.parametrize("mode", ["transaction", "session"])
def test_a_pooler_that_fits(site, pooler, monkeypatch, mode):
    monkeypatch.setattr(pgbouncer, "CONFIGURATION", pgbouncer.CONFIGURATION.replace("= transaction", f"= {mode}"))
    pooler(2)
    assert of(check(site, site.account()), "failed") == []


@pytest.mark.postgres
def test_a_pool_of_one(site, pooler):
    pooler(1)
    scuba = site.account()
    done = site.run("check", scuba)
    assert done.seconds < 60
    failed(check(site, scuba, unresponsive=True), "lock", "pool has one connection", "default_pool_size")


@pytest.mark.postgres
def test_a_pooler_in_statement_mode(site, pooler, monkeypatch):
    monkeypatch.setattr(pgbouncer, "CONFIGURATION", pgbouncer.CONFIGURATION.replace("= transaction", "= statement"))
    pooler(5)
    said = check(site, site.account())
    assert of(said, "failed") == ["ledger", "lock"], said
    says(said, "lock", "failed", "transaction or session mode")


@pytest.mark.postgres
def test_two_sessions_that_reach_two_databases(site, lab):
    """As with a proxy that spreads sessions over two primaries."""
    other = lab.postgres.create_database(lab_module.OWNER, site.database)
    assert len(other) == len(site.database)     # the packet also contains the length

    def watch(connection, side, data):
        return data.replace(b"\0" + site.database.encode() + b"\0", b"\0" + other.encode() + b"\0") \
            if connection.number % 2 and side == CLIENT else data
    try:
        site.database_proxy(watch)
        failed(check(site, site.account()), "lock", "does not exclude")
    finally:
        lab.postgres.drop_database(other)


TRY = b"pg_catalog.pg_try_advisory_xact_lock($1)"
ENGINES = {
    "of the session": (b"pg_catalog.pg_try_advisory_lock($1)", "not released"),
    "never granted": (b"$1::bigint IS NULL", "although it is free"),
    "always granted": (b"$1::bigint IS NOT NULL", "does not exclude"),
    "waits": (b"(pg_advisory_xact_lock($1)::text='')", "at once"),
    "missing": (b"pg_catalog.no_such_function($1)", "no_such_function"),
}


@pytest.mark.postgres
@pytest.mark.parametrize("statement,word", ENGINES.values(), ids=ENGINES.keys())
def test_an_engine_whose_lock_is_none(site, statement, word):
    site.database_proxy(lambda connection, side, data: data.replace(TRY, statement.ljust(len(TRY))))
    said = check(site, site.account(), unresponsive=True)
    assert set(of(said, "failed")) <= {"lock", "ledger"}
    says(said, "lock", "failed", word)


# Unresponsive servers

@pytest.fixture
def silent(site):
    """A port that accepts connections but never answers."""
    listener = site.use(socket.create_server(("127.0.0.1", 0), backlog=20))
    return listener.getsockname()[1]


@pytest.mark.postgres
def test_all_is_silent(site, silent):
    """The settings would allow a delivery half a minute for each answer."""
    site.settings.update({"imap.port": silent, "imap.timeout": "30s",
                          "database.conninfo": f"host=127.0.0.1 port={silent} dbname=x user=x"})
    said = check(site, "scuba@example.org", chatter=True, unresponsive=True)
    assert of(said, "failed") == ["database", "imap"], said
    says(said, "database", "failed", "not done within")


@pytest.mark.parametrize("tls", ["imaps", "starttls", "none"])
def test_an_imap_server_that_is_silent(site, silent, tls):
    site.settings.update({"imap.port": silent, "imap.tls": tls, "imap.timeout": "500ms"})
    failed(check(site, "scuba@example.org", chatter=True, unresponsive=True), "imap")


@pytest.mark.postgres
@pytest.mark.parametrize("statement,item", [(b"pg_try_advisory", "lock"), (b"INSERT INTO", "ledger")])
def test_a_database_that_falls_silent(site, statement, item):
    def watch(connection, _side, data):
        if statement in data and (item == "ledger" or b"JOIN" not in data):     # not that of a delivery's claim
            connection.fall_silent()
            return b""
        return data
    site.database_proxy(watch)
    said = check(site, site.account(), unresponsive=True)
    assert item in of(said, "failed") and "imap" in said, said


def test_an_imap_server_that_falls_silent(site):
    imap(site, FakeImap(script={"LIST": lambda *_: None}), **{"imap.tls": "none", "imap.timeout": "30s"})
    said = check(site, "scuba@example.org", unresponsive=True)
    assert of(said, "failed") == ["inbox", "sent"], said
    says(said, "inbox", "failed", "no answer within")


def test_a_step_that_dies(site):
    site.settings["imap.command"] = "sh -c 'kill -KILL $PPID'"
    failed(check(site, "scuba@example.org"), "imap", "signal 9")


# The IMAP server

def test_without_an_account(site):
    """All that needs no login is still tested."""
    said = check(site)
    assert of(said, "failed") == [] and "certificate" in said and "capabilities" not in said
    says(said, "imap", "warning", "name an address")


def test_a_server_that_opens_one_mailbox_for_all(site):
    """Deliveries learn the result at once, bad or good."""
    ignoring = FakeImap(script={
        "AUTHENTICATE": lambda client, tag, _: client.send(f"{tag} OK logged in"),
        "EXAMINE": lambda client, tag, _: client.send(f"* 0 EXISTS\r\n* OK [UIDVALIDITY 1700000007] valid\r\n{tag} OK done"),
    })
    imap(site, ignoring, **{"imap.tls": "none"})
    failed(check(site, "scuba@example.org"), "identity", "same INBOX", "imap.command")
    assert site.value("SELECT verified FROM oncedrop.server WHERE server = %s", (site.server(),)) is False
    del ignoring.script["AUTHENTICATE"]
    says(check(site, "scuba@example.org"), "identity", "ok", "account named in the login")
    assert site.value("SELECT verified FROM oncedrop.server WHERE server = %s", (site.server(),)) is True
    site.settings["imap.master_user"] = None
    assert "identity" not in check(site, "scuba@example.org")


def test_an_account_without_inbox(site):
    """One is never created, and nothing else there."""
    def missing(client, tag, _arguments):
        client.send(f"{tag} NO [TRYCREATE] Mailbox does not exist")
    server = FakeImap(script={"LIST": lambda client, tag, _: client.send(f"{tag} OK done"), "STATUS": missing})
    imap(site, server, **{"imap.tls": "none"})
    said = check(site, "scuba@example.org")
    says(said, "inbox", "failed", "no INBOX")
    says(said, "sent", "failed", "no INBOX")
    assert "CREATE" not in [name for name, _ in server.commands]


def no_status(client, tag, arguments):
    """Only of the INBOX."""
    client.send(f"{tag} OK done" if arguments.startswith(b'"INBOX"') else f"{tag} NO [NONEXISTENT] none")


def listed(client, tag, arguments):
    client.send(f'* LIST () "/" {arguments.split()[1].decode()}')
    client.send(f"{tag} OK done")


@pytest.mark.parametrize("rights,status,word", [
    ("lrswi", "ok", "may use it"), ("lrsw", "failed", "needs i"), ("lsi", "failed", "needs i"),
    (None, "ok", "exists"),
])
@pytest.mark.parametrize("opens", [True, False])
def test_the_rights_in_a_mailbox_of_ones_own(site, rights, status, word, opens):
    """Where the server reports them. What it does not report is not claimed, and no message is announced: to withdraw that, the
    session has to be closed, which a proxy may keep for the next client."""
    def myrights(client, tag, arguments):
        client.send(f"* MYRIGHTS {arguments.decode()} {rights}\r\n{tag} OK done" if rights else f"{tag} NO no")

    def refused(client, tag, _arguments):
        client.send(f"{tag} NO [NOPERM] may not be read")
    server = imap(site, FakeImap(capabilities=CAPABILITIES + " ACL", script={"MYRIGHTS": myrights, "LIST": listed}),
                  **{"imap.tls": "none"})
    if not opens:
        server.script["STATUS"] = refused
    said = check(site, "scuba@example.org")
    told = opens or rights
    for item in ("inbox", "sent"):
        says(said, item, status if told else "failed", word if told else "may not be read")
        assert bool(rights) == any("may use it" in text or "the rights" in text for _, text in said[item])
    assert "APPEND" not in [name for name, _ in server.commands]


def test_what_becomes_of_missing_mailboxes_is_tried(site):
    """Nothing is left of that. A server that does not accept a name, or any, shows it."""
    scuba = site.account()
    site.settings.update({"route.detail": "folder", "route.sent": "Filed"})
    said = check(site, scuba)
    says(said, "inbox", "ok", "exists")
    says(said, "sent", "ok", "created when needed")
    says(said, "detail", "ok", "deleted")
    assert site.lab.dovecot.mailboxes(scuba) == ["INBOX"]
    assert site.count(scuba) == 0
    site.settings["route.sent"] = "~x"
    failed(check(site, scuba), "sent", "Begins with '~'")
    server = FakeImap(script={"CREATE": lambda client, tag, _: client.send(f"{tag} NO [NOPERM] not you"), "STATUS": no_status})
    server.do_list = lambda client, tag, _: client.send(f"{tag} OK done")
    imap(site, server, **{"imap.tls": "none"})
    site.settings.update({"route.sent": "Sent", "route.inbox": "Lists"})
    said = check(site, "scuba@example.org")
    for item in ("inbox", "sent"):
        says(said, item, "failed", "cannot be created", "not you")
    says(said, "detail", "warning", "goes to the inbox", "not you")
    site.settings["imap.create"] = "no"
    says(check(site, "scuba@example.org"), "detail", "ok", "goes to the inbox", "imap.create")


def test_the_account_of_the_settings(site):
    site.settings.update({"imap.user": site.account(), "imap.master_user": "oncedrop"})
    says(check(site), "imap", "ok", site.settings["imap.user"])


def test_no_imap_server(site):
    site.settings["imap.port"] = 1
    failed(check(site, "scuba@example.org"), "imap", "refused")


def test_no_imap_server_but_another(site):
    imap(site, FakeImap(script={"GREETING": lambda client, *_: client.send("220 smtp.example.org ESMTP")}), **{"imap.tls": "none"})
    failed(check(site, "scuba@example.org"), "imap", "does not greet")


def test_a_login_that_is_refused(site):
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")
    failed(check(site, site.account()), "imap", "login", "refused", "password_file")


@pytest.mark.parametrize("tls", ["imaps", "starttls"])
@pytest.mark.parametrize("days,status,word", [(30, "ok", "accepted until"), (15, "ok", "accepted until"), (13, "warning", "renew")])
def test_the_end_of_the_certificate(site, lab, tls, days, status, word):
    files = lab.authority.issue(f"end{site.number}", days=days)
    imap(site, FakeImap(tls=files, implicit=tls == "imaps"), **{"imap.tls": tls})
    said = check(site, "scuba@example.org")
    says(said, "certificate", status, word, "CN=localhost", "CN=Test authority", "UTC")
    assert of(said, "failed") == [] and len(said["certificate"]) == 1


def test_an_authority_in_between_that_ends_first(site, lab):
    """The server presents its own certificate, valid for a year, and the one that signed it, which expires."""
    between, leaf = intermediate(lab)
    chain = site.write("chain.pem", "".join(open(path, encoding="ascii").read() for path in (leaf[0], between[0])))
    imap(site, FakeImap(tls=(chain, leaf[1])))
    says(check(site, "scuba@example.org"), "certificate", "warning", "renew")


def intermediate(lab):
    authority = lab.authority
    between = authority.files("between")
    leaf = authority.files("below")
    certificates.openssl("req", "-x509", "-CA", authority.certificate, "-CAkey", authority.key, "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:P-256", "-nodes", "-days", "3", "-subj", "/CN=Between", "-keyout", between[1],
                         "-out", between[0], "-addext", "basicConstraints=critical,CA:TRUE")
    certificates.openssl("req", "-x509", "-CA", between[0], "-CAkey", between[1], "-newkey", "ec", "-pkeyopt",
                         "ec_paramgen_curve:P-256", "-nodes", "-days", "365", "-subj", "/CN=localhost", "-keyout", leaf[1],
                         "-out", leaf[0], "-addext", f"subjectAltName={certificates.GOOD_NAMES}",
                         "-addext", "basicConstraints=critical,CA:FALSE", "-addext", "extendedKeyUsage=serverAuth")
    return between, leaf


@pytest.mark.parametrize("tls", ["imaps", "starttls"])
@pytest.mark.parametrize("change,words", [
    ({"days": -1}, ["expired", "ended", "renew"]), ({"names": "DNS:other.example"}, ["server_name", "ends"]), (None, ["ca_file", "ends"]),
], ids=["ended", "other name", "unknown authority"])
def test_a_certificate_that_is_not_accepted(site, lab, tls, change, words):
    authority = lab.authority if change else certificates.Authority(site.directory, "stranger")
    server = FakeImap(tls=authority.issue(f"bad{site.number}", **(change or {})), implicit=tls == "imaps")
    imap(site, server, **{"imap.tls": tls})
    said = failed(check(site, "scuba@example.org"), "certificate", "no delivery can connect", "CN=localhost", *words)
    assert server.credentials == [] and "imap" not in said
    assert [name for name, _ in server.commands] == (["STARTTLS"] if tls == "starttls" else [])


def test_without_tls(site, lab):
    site.settings.update({"imap.port": lab.dovecot.port, "imap.tls": "none"})
    said = check(site, site.account())
    assert of(said, "failed") + of(said, "warning") == []
    says(said, "certificate", "ok", "none")


def test_a_command(site, lab):
    scuba = site.account()
    site.settings.update({"imap.command": " ".join(lab.dovecot.command("%{account}")), "imap.host": None, "imap.port": None})
    said = check(site, scuba, chatter=True)
    assert of(said, "failed") + of(said, "warning") == []
    says(said, "certificate", "ok", "none", "imap.command")
    says(said, "capabilities", "ok", "UIDPLUS")


def test_capabilities(site, lab):
    says(check(site, site.account()), "capabilities", "ok", "UIDPLUS", "LITERAL", "SPECIAL-USE", "SASL-IR", "AUTH=PLAIN")


@pytest.mark.parametrize("capabilities,settings,word", [
    ("UIDPLUS", {}, None),
    ("", {}, "UIDPLUS"),
    ("UIDPLUS", {"route.sent": "\\Sent"}, "SPECIAL-USE"),
    ("UIDPLUS SPECIAL-USE", {"route.sent": "\\Sent"}, None),
    ("UIDPLUS APPENDLIMIT=1000000", {}, "APPENDLIMIT=1000000"),
    ("UIDPLUS APPENDLIMIT=1000000", {"delivery.size_limit": "0"}, "APPENDLIMIT=1000000"),
    ("UIDPLUS APPENDLIMIT=1000000", {"delivery.size_limit": "900K"}, None),
])
def test_capabilities_that_are_missing(site, capabilities, settings, word):
    words = CAPABILITIES.replace(" UIDPLUS", f" {capabilities}" if capabilities else "")
    imap(site, FakeImap(capabilities=words), **{"imap.tls": "none"}, **settings)
    said = check(site, "scuba@example.org")
    assert of(said, "warning").count("capabilities") == (1 if word else 0), said
    if word:
        says(said, "capabilities", "warning", word)


def test_mailboxes(site, lab):
    scuba = site.account()
    site.settings["route.inbox"] = "Eingang"
    said = check(site, scuba)
    says(said, "inbox", "ok", "Eingang", "created")
    says(said, "sent", "ok", "Sent", "created")
    site.settings["imap.create"] = "no"
    said = check(site, scuba)
    assert of(said, "failed") == ["inbox", "sent"]
    with lab.dovecot.session(scuba) as session:
        session.create("Eingang")
    said = failed(check(site, scuba), "sent", "imap.create")
    says(said, "inbox", "ok", "exists")
    site.settings["route.sent_copy"] = "off"
    said = check(site, scuba)
    assert of(said, "failed") == [] and "sent" not in said


def test_the_mailbox_with_the_special_use(site, lab):
    scuba = site.account()
    site.settings["route.sent"] = "\\Sent"
    says(check(site, scuba), "sent", "warning", "special use", "Sent")
    with lab.dovecot.session(scuba) as session:
        session.create(lab.dovecot.special_sent)
    said = check(site, scuba)
    assert "sent" not in of(said, "warning")
    says(said, "sent", "ok", lab.dovecot.special_sent, "exists")


# The times

@pytest.mark.parametrize("settings,item,word", [
    ({}, None, None),
    ({"lock.wait": "0s"}, "lock.wait", "deferred"),
    ({"delivery.hold_off": "250s"}, "times", "stored twice"),
    ({"imap.timeout": "55s"}, "times", "imap.timeout"),
    ({"imap.timeout": "40s", "lock.wait": "20s"}, "times", "imap.timeout"),
    ({"imap.timeout": "40s", "lock.wait": "19s"}, None, None),
    ({"imap south.timeout": "55s", "imap south.command": "true"}, "times", "of server south"),
])
def test_times(site, settings, item, word):
    site.settings.update(settings)
    said = check(site, site.account())
    warned = [name for name in of(said, "warning") if name != "certificate"]
    assert warned == ([item] if item else []), said
    if item:
        says(said, item, "warning", word)


# IMAP sessions

@pytest.mark.parametrize("tls,sessions,limit,words", [
    ("none", 100, "-n 150", ("100: a process will have at most 86", "each opens 1 file,", "may have 150")),
    ("imaps", 100, "-n 150", ("100: a process will have at most 28", "each opens 3 files", "may have 150")),
    ("imaps", 1000, "-Sn 256", ("1000: a process will have at most 320", "TLS", "below 1024")),
    ("none", 1000, "-Sn 256", None),      # the limit is raised
    ("none", 86, "-n 150", None),
    ("imaps", 320, "-Sn 256", None),
])
@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 2048, reason="the limit of open files is too low")
def test_sessions_that_a_process_cannot_have(site, lab, tls, sessions, limit, words):
    site.settings.update({"imap.sessions": sessions, "imap.tls": tls, "imap.host": "localhost",
                          "imap.port": lab.dovecot.tls_port if tls == "imaps" else lab.dovecot.port})
    said = check(site, under=["sh", "-c", f'ulimit {limit} && exec "$@"', "sh"])
    assert ("imap.sessions" in said) == bool(words), said
    if words:
        says(said, "imap.sessions", "warning", *words)


def test_without_a_configured_postfix(site):
    said = check(site, env={"MAIL_CONFIG": site.lab.new_directory("postfix")})
    assert of(said, "failed") == [] and "postfix" not in said, said
