# SPDX-License-Identifier: ISC
"""What only MariaDB has: settings that a session must not take over from the server, durability, TLS that is not verified by
itself, several hosts, MySQL, files that a server may ask for, and packets.

Seen to fail with: a set-up that is not looked at once it was sent; a session that keeps init_connect's settings; no look at what
is durable; TLS neither required nor verified; MySQL let in; every answer of a host taken for that of all, or none; all of a message
sent as one text; more answers than were expected left unread; an authority that counts only for other machines; MYSQL_OPT_LOCAL_INFILE with NULL, which allows it; a part of the
conninfo in the fault; a table made without IF NOT EXISTS."""

import contextlib
import os
import re
import socket
import struct
import threading

import expect
import pytest
from lab import certificates, lab as lab_module, lmtp, mariadb, process
from lab.fake_mariadb import LOCAL_FILES, SSL, FakeMariaDB
from lab.fake_postgres import own_address
from lab.messages import message, on_the_wire
from lab.proxy import CLIENT, SERVER, Proxy

pytestmark = pytest.mark.mariadb

CHARACTERS = "Straße, Ж, €, 😀"
TOO_MANY = 1040     # ER_CON_COUNT_ERROR
USER = lab_module.DELIVERY


@contextlib.contextmanager
def global_setting(site, name, value):
    """A setting of the lab's server, for new sessions."""
    [[before]] = site.lab.mariadb.admin(f"SELECT @@GLOBAL.{name}")
    site.lab.mariadb.admin(f"SET GLOBAL {name} = %s", (value,))
    try:
        yield
    finally:
        site.lab.mariadb.admin(f"SET GLOBAL {name} = %s", (before,))


def conninfo(site, *hosts, options="", user=USER):
    """hosts: HOST:PORT"""
    return f"mariadb://{user}:{user}@{','.join(hosts)}/{site.database}{options}"


# The session's settings

SET_UP = b"'NO_CHAIN'"      # in the first statement of what a session begins with


def test_a_set_up_that_fails_is_not_taken_for_done(site):
    """Its session is abandoned, and the next one is set up again, until it succeeds."""
    account, tried = site.account(), []

    def watch(_connection, side, data):
        if side == CLIENT and SET_UP in data:
            tried.append(data)
            if len(tried) < 4:
                data = data.replace(SET_UP, b"'XX_CHAIN'")
        return data
    site.database_proxy(watch)
    session = lmtp.start(site)
    [reply] = session.deliver(message(), account)
    # The session that was open already is tried in vain by the claim of a new message; then the state is read, with one retry.
    assert reply.code == 451 and len(tried) == 3, reply
    lmtp.stored(session.deliver(message(), account)[0])
    assert len(tried) == 4


@pytest.mark.parametrize("value", ["SET NAMES latin1", "SET NAMES utf8mb3", "SET NAMES ucs2", "SET autocommit = 0",
                                   "SET sql_mode = 'ORACLE'", "SET sql_mode = 'NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
                                   "SET time_zone = '+11:00', completion_type = 2", "SET sql_safe_updates = 1",
                                   "SET max_join_size = 1, sql_select_limit = 1", "SET tx_isolation = 'SERIALIZABLE'"])
def test_settings_of_the_server(site, value):
    """Regardless of what init_connect has set, a session is what it must be."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    subject = "=?utf-8?q?" + "".join(f"={byte:02x}" for byte in CHARACTERS.encode()) + "?="
    mail = message(sender=lisa, to=scuba, subject=subject)
    if "ucs2" in value:
        value = "SET character_set_results = ucs2"     # no client may have it
    with global_setting(site, "init_connect", value):
        expect.stored(site.deliver(mail, scuba, sender=lisa))
        expect.duplicate(site.deliver(mail, scuba, sender=lisa))
        listed = site.run("list", "--json")
        assert listed.exit == 0 and CHARACTERS in listed.out and scuba in listed.out, listed
        stats = site.run("stats")
        assert stats.exit == 0, stats
    assert site.value("SELECT subject FROM oncedrop.message") == CHARACTERS
    assert (site.count(scuba), site.count(lisa, "Sent")) == (1, 1)


def test_names_that_differ_in_a_blank_or_in_case(site):
    """Are other ones, as rows and as answers."""
    account = site.account()
    expect.stored(site.deliver(message(to=account), account))
    names = ["INBOX", "inbox", "INBOX ", "Ä", "A", "ä"]
    for number, name in enumerate(names[1:], 1):
        site.sql("INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claimed_at, claim, claimed_by, host, pid, first_at)"
                 f" SELECT message, account, %s, role, state, claimed_at, {number}, claimed_by, host, pid, first_at"
                 " FROM oncedrop.copy WHERE mailbox = 'INBOX'", (name.encode(),))
        site.sql("INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome, first_at, last_at)"
                 " SELECT message, %s, account, mailbox, host, outcome, first_at, last_at FROM oncedrop.delivery WHERE recipient = %s",
                 (account + name, account))
    for name in names:
        assert site.value("SELECT count(*) FROM oncedrop.copy WHERE mailbox = %s", (name.encode(),)) == 1


# Durability

def test_no_delivery_where_a_commit_is_not_durable(site):
    """Nor by a session that is kept; and by one that may, all the same."""
    account = site.account()
    with global_setting(site, "innodb_flush_log_at_trx_commit", 2):
        expect.deferred(site.deliver(message(), account), r"4\.3\.\d", "innodb_flush_log_at_trx_commit")
        assert site.count(account) == 0
        session = lmtp.start(site)
        for _ in range(2):
            [reply] = session.deliver(message(), account)
            assert reply.code == 451 and "innodb_flush_log_at_trx_commit" in reply.text, reply
        expect.stored(site.deliver(message(), account, options=["-o", "database.durability=server"]))
    expect.stored(site.deliver(message(), account))


# Who answers

@pytest.fixture
def address():
    """An address of this machine, but not of its loopback interface."""
    return own_address() or pytest.skip("this machine has no address but its loopback's")


def test_mysql_is_refused(site):
    server = site.use(FakeMariaDB(version="8.0.36"))
    site.settings["database.conninfo"] = conninfo(site, f"127.0.0.1:{server.port}")
    expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", "8.0.36", "MySQL is not supported")


def test_an_old_server_is_refused(site):
    server = site.use(FakeMariaDB(version="10.6.16-MariaDB"))
    site.settings["database.conninfo"] = conninfo(site, f"127.0.0.1:{server.port}")
    expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", "10.6.16", "10.11 or newer")


def test_no_file_for_a_server_that_asks_for_one(site):
    """As for LOAD DATA LOCAL, in answer to any query."""
    secret, heard = site.write("secret", "not to be seen\n"), []

    def ask(client):
        client.server.let_in(client)
        client.query()
        client.send(b"\xfb" + secret.encode())
        heard.append(client.packet())
        client.ok()
    server = site.use(FakeMariaDB(ask, able=LOCAL_FILES))
    site.settings["database.conninfo"] = conninfo(site, f"127.0.0.1:{server.port}")
    expect.deferred(site.deliver(message(), site.account()))
    assert set(heard) <= {b""}, heard
    [able] = {struct.unpack("<I", login[:4])[0] & LOCAL_FILES for login in server.logins}
    assert able == 0


# TLS

class OfTls:
    """A MariaDB with TLS on an address of this machine that is not its loopback's, and a site there."""

    def __init__(self, lab, directory, address, certificate):
        self.lab = lab
        self.server = mariadb.MariaDB(directory)
        os.chown(certificate[1], self.server.user.pw_uid, self.server.user.pw_gid)
        self.server.settings = {"bind-address": f"127.0.0.1,{address}", "ssl-cert": certificate[0], "ssl-key": certificate[1],
                                "ssl-ca": lab.authority.certificate}
        lab_module.with_users(lab.start(self.server))


@pytest.fixture(scope="module")
def with_tls(lab):
    """Servers with a good certificate, and with one of another name."""
    address = own_address()
    if address is None:
        pytest.skip("this machine has no address but its loopback's")
    found = {}
    for name, names in (("good", f"IP:{address},IP:127.0.0.1"), ("other", "DNS:other.example.org,IP:192.0.2.7")):
        directory = lab.new_directory("tls", 0o711)
        found[name] = OfTls(lab, directory, address, lab.authority.issue(f"mariadb-{name}", names, common_name="x")).server
        found[name].address = address
    return found


@pytest.fixture
def far(site, with_tls):
    """Leads the site to one of these servers."""
    def lead(name, options="", tls=None):
        server = with_tls[name]
        if not getattr(server, "database", None):
            server.database = server.create_database(lab_module.OWNER)
            owner = server.conninfo(server.database, lab_module.OWNER)
            done = site.run("ledger", "install", options=["-o", f"database.conninfo={owner}"])
            assert done.exit == 0, done
        site.settings["database.tls"] = tls
        site.settings["database.conninfo"] = f"mariadb://{USER}:{USER}@{server.address}:{server.port}/{server.database}{options}"
        return server
    return lead


def test_a_verified_server_is_spoken_to(site, far):
    account = site.account()
    far("good", f"?ssl_ca={site.lab.authority.certificate}")
    expect.stored(site.deliver(message(), account))
    assert "certificate and name verified" in " ".join(site.check().out.split())


@pytest.mark.parametrize("server,trusted", [("other", True), ("good", False)], ids=["another name", "an authority that is not trusted"])
def test_another_one_is_not(site, far, server, trusted):
    account = site.account()
    other = certificates.Authority(site.directory).certificate
    options = f"?ssl_ca={site.lab.authority.certificate if trusted else other}"
    far(server, options)
    line = expect.deferred(site.deliver(message(), account), r"4\.3\.\d", "no connection")
    assert re.search("certificate|Hostname verification failed", line), line     # by connectors 3.3 and 3.4
    assert site.count(account) == 0
    far(server, "", tls="conninfo")
    expect.stored(site.deliver(message(), account))
    assert re.search("not verified|in the clear", " ".join(site.check().out.split()))


@pytest.mark.parametrize("tls", [None, "conninfo"])
def test_an_authority_that_is_named_counts(site, tls):
    """Also where TLS is left to conninfo, and the server is on this machine: one without TLS gets nothing."""
    server = site.use(FakeMariaDB())
    site.settings["database.tls"] = tls
    site.settings["database.conninfo"] = conninfo(site, f"127.0.0.1:{server.port}", options=f"?ssl_ca={site.lab.authority.certificate}")
    expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", "SSL")
    assert USER.encode() not in b"".join(server.logins)


def test_a_server_that_falls_silent_later_is_given_up(site, far):
    """By the time limits of a statement and of a new connection, also within TLS, and not by the deadline."""
    account, silent = site.account(), threading.Event()
    server = far("good", f"?ssl_ca={site.lab.authority.certificate}")

    def watch(_connection, side, data):
        return b"" if side == SERVER and silent.is_set() else data
    proxy = site.use(Proxy(server.port, watch))
    site.settings["delivery.deadline"], site.settings["delivery.hold_off"] = "100s", "110s"
    site.settings["database.conninfo"] = site.settings["database.conninfo"].replace(
        f"{server.address}:{server.port}", f"127.0.0.1:{proxy.port}")
    session = lmtp.start(site)
    lmtp.stored(session.deliver(message(), account)[0])
    silent.set()
    [reply] = session.deliver(message(), account)
    assert reply.code == 451 and "deadline" not in reply.text, reply


def test_a_server_without_tls_gets_nothing(site, address):
    """Neither name nor password."""
    server = site.use(FakeMariaDB(address=address))
    site.settings["database.conninfo"] = conninfo(site, f"{address}:{server.port}")
    line = expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", "SSL")
    assert USER.encode() not in b"".join(server.logins) and USER + ":" not in line


def test_one_that_is_silent_in_its_handshake_is_left(site, address):
    """For the next one, long before the deadline."""
    over = threading.Event()

    def fall_silent(client):
        client.greet("10.11.6-MariaDB", SSL)
        over.wait(120)
    server = site.use(FakeMariaDB(fall_silent, address=address))
    site.settings["delivery.deadline"], site.settings["delivery.hold_off"] = "100s", "110s"
    site.settings["database.conninfo"] = conninfo(site, f"{address}:{server.port}", f"127.0.0.1:{site.lab.mariadb.port}")
    done = site.deliver(message(), site.account())
    over.set()
    expect.stored(done)
    assert done.seconds < 35


# Several hosts

@pytest.fixture
def silent():
    """The port of a server that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def next_after(site, port):
    site.settings["database.conninfo"] = conninfo(site, f"127.0.0.1:{port}", f"127.0.0.1:{site.lab.mariadb.port}")
    done = site.deliver(message(), site.account())
    expect.stored(done)
    return done


def test_next_after_a_silent_one(site, silent):
    assert 5 < next_after(site, silent).seconds < 30


def test_next_after_one_that_is_not_there_or_hangs_up(site):
    next_after(site, process.free_port())
    next_after(site, site.use(Proxy(process.free_port())).port)


def test_next_after_one_that_is_full(site):
    """It says so instead of a greeting."""
    def refuse(client):
        client.error(TOO_MANY, "Too many connections")
    next_after(site, site.use(FakeMariaDB(refuse)).port)


def test_a_wrong_password_is_wrong_everywhere(site):
    """The next host is not asked."""
    server = site.use(FakeMariaDB())
    site.settings["database.conninfo"] = f"mariadb://{USER}:wrong@127.0.0.1:{site.lab.mariadb.port},127.0.0.1:{server.port}/x"
    line = expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", "denied")
    assert server.accepted == 0 and "wrong" not in line


# The conninfo

@pytest.mark.parametrize("text", ["mariadb://mailer:sec?ret@db.example.org/x", "mariadb://mailer:sec/r?et@db.example.org/x",
                                  "mariadb://mailer:secret:ret@[::1", "mariadb://mailer:se%zzcret@h/x", "mariadb://mailer:x?secret@h/x"])
def test_a_conninfo_that_is_wrong_shows_no_password(site, text):
    """All that is not escaped in it."""
    site.settings["database.conninfo"] = text
    line = expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.3\.\d")
    assert "sec" not in line.replace("seconds", "").replace("second", ""), line


# The site's own statement

def test_a_query_of_the_site_may_be_a_procedure(site):
    """Which answers twice. Deliveries of one session, as of several."""
    account = site.account("scuba")
    site.sql("CREATE PROCEDURE oncedrop.who (IN address TEXT) SELECT address FROM DUAL WHERE address LIKE '%%@example.org'", ())
    try:
        site.sql(f"GRANT EXECUTE ON PROCEDURE oncedrop.who TO {USER}")
        proxy = site.database_proxy()
        site.settings["route.account_query"] = "CALL who($1)"
        session = lmtp.start(site)
        for _ in range(3):
            lmtp.stored(session.deliver(message(to=account), account)[0])
        assert proxy.accepted == 1
    finally:
        site.sql("DROP PROCEDURE oncedrop.who")


def test_a_result_that_is_recorded_a_second_time(site):
    """Its COMMIT's answer was lost: nothing changes any more, and it is ours all the same."""
    account, asked = site.account(), []

    def refuse(_connection, side, data):
        return re.sub(rb"(\w+) OK \[APPENDUID[^\r]*", rb"\1 NO [OVERQUOTA] full", data) if side == SERVER else data

    def lose(connection, side, data):
        if side == CLIENT and b"UPDATE copy SET feeds = CASE" in data:
            asked.append(data)
        elif len(asked) == 1:
            asked.append(None)
            state = "SELECT state FROM oncedrop.copy"
            process.wait_until(lambda: site.value(state) == "pending", "all of it is committed, and not only answered first")
            connection.reset()
            return b""
        return data
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    site.imap_proxy(refuse)
    site.database_proxy(lose)
    line = expect.deferred(site.deliver(message(), account), "4.2.2", "full")
    assert len(asked) == 3 and "elsewhere" not in line, line
    assert site.value("SELECT state FROM oncedrop.copy") == "pending"


def test_no_room_for_prepared_statements(site):
    """One message is deferred, with the hint, and no other."""
    account = site.account()
    with global_setting(site, "max_prepared_stmt_count", 3):
        session = lmtp.start(site)
        replies = [session.deliver(message(to=account), account)[0] for _ in range(6)]
        [late] = [reply for reply in replies if reply.code != 250]
        assert late.code == 451 and "raise max_prepared_stmt_count" in late.text, late
    assert site.count(account) == 5


# The schema

def statements_of(*path):
    """Of a file of the schema."""
    with open(os.path.join(lab_module.REPOSITORY, *path), encoding="utf-8") as file:
        return re.split(r";\n(?=\n|--|CREATE|EXECUTE|INSERT|SET)", file.read())


def schema_shape(server, database):
    """Of everything that an installation makes."""
    tables = [name for name, in server.admin("SHOW TABLES", database=database)]
    made = {name: str(server.admin(f'SHOW CREATE TABLE "{name}"', database=database)).replace(database, "") for name in tables}
    made["rows"] = [server.admin(f"SELECT count(*) FROM {name}", database=database) for name in ("slot", "setting", "counter")]
    made["triggers"] = [row[0] for row in server.admin("SHOW TRIGGERS", database=database)]
    return made


def test_an_installation_that_broke_off(site):
    """Behind any of its statements, each of which commits: the next one makes all of it."""
    server = site.lab.mariadb

    def finish(database):
        done = site.run("ledger", "install", options=["-o", f"database.conninfo={server.conninfo(database, lab_module.OWNER)}"])
        assert done.exit == 0, done
        assert server.admin("SELECT version FROM schema_version", database=database) == ((1,),)
        return schema_shape(server, database)
    expected = finish(server.create_database(lab_module.OWNER))
    statements = statements_of("src", "mariadb", "schema", "001-base.sql")
    assert len(statements) > 20
    for count in range(1, len(statements) + 1):
        database = server.create_database(lab_module.OWNER)
        with contextlib.closing(server.connect(database, lab_module.OWNER)) as owner, owner.cursor() as cursor:
            for statement in statements[:count]:
                cursor.execute(statement)
            assert cursor.execute("SELECT version FROM schema_version") == 0
        assert finish(database) == expected, statements[count - 1]


# Packets

@pytest.mark.parametrize("mebibytes", [1 / 16, 1, 30, 100])
def test_a_large_message_is_recorded(site, mebibytes):
    """With every byte. Some of it is no text, and none of it is in a packet that is longer than the server takes."""
    account = site.account()
    site.settings.update({"record.level": "raw", "delivery.deadline": "200s", "delivery.hold_off": "210s", "imap.timeout": "100s",
                          "delivery.size_limit": 110 << 20})
    line = bytes(range(1, 256)).replace(b"\n", b"").replace(b"\r", b"") + b"'\\\"\n"
    mail = message(to=account, body=line * int(mebibytes * (1 << 20) / len(line)))
    with global_setting(site, "max_allowed_packet", 4 << 20):
        expect.stored(site.deliver(mail, account))
    assert site.value("SELECT sum(length(data)) FROM oncedrop.raw") == len(on_the_wire(mail))
    digest = site.value("SELECT count(*) FROM oncedrop.raw r WHERE chunk = 0 AND data = %s", (on_the_wire(mail)[:1 << 20],))
    assert digest == 1
    [stored] = site.messages(account)
    assert stored.raw == on_the_wire(mail)


def test_what_follows_a_failure_in_the_middle_of_a_batch(site):
    """Is not taken for executed: the session's next message is delivered."""
    account = site.account()
    site.settings["record.level"] = "raw"
    session = lmtp.start(site)
    lmtp.stored(session.deliver(message(to=account), account)[0])
    site.sql("CREATE TRIGGER oncedrop.fails BEFORE INSERT ON oncedrop.raw FOR EACH ROW SIGNAL SQLSTATE '45000'")
    [reply] = session.deliver(message(to=account, body="0123456789abcdef\n" * 100000), account)
    assert reply.code == 451, reply
    site.sql("DROP TRIGGER oncedrop.fails")
    lmtp.stored(session.deliver(message(to=account), account)[0])
    assert site.count(account) == 2


def test_a_packet_that_is_too_large_defers(site):
    """The server hangs up; `check` says why."""
    account = site.account()
    site.settings["record.level"] = "raw"
    mail = message(to=account, body="0123456789abcdef\n" * 200000)
    with global_setting(site, "max_allowed_packet", 1 << 20):
        expect.deferred(site.deliver(mail, account), r"4\.3\.\d")
        assert "max_allowed_packet" in " ".join(site.check(account).out.split())
    assert site.count(account) == 0
    expect.stored(site.deliver(mail, account))
