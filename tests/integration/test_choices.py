# SPDX-License-Identifier: ISC
"""Each value of each choice, and of each yes or no, makes a difference. A choice or a value that the program takes and that is not
here is an error.

Seen to fail with: log.level = debug that logs as info does; a value or a setting left out of the table here; of each setting, the
program patched to take its first value always."""

import json
import re

import pytest
from lab.fake_imap import FakeImap
from lab.fake_mariadb import FakeMariaDB
from lab.fake_postgres import FakePostgres, own_address
from lab.ledger import MARIADB, POSTGRES, SQLITE, engine
from lab.messages import message
from lab.process import is_listening, wait_until
from lab.service import Service
from test_mariadb import global_setting
from test_quarantine import BAD, Picky
from test_second_try import fake, refuse

SCUBA, LISA = "scuba@example.org", "lisa@example.org"
REFUSED = "refused by name"     # the engine does not have it
CHOICES = {}                    # setting: (a function that shows what the value does, {value: what is to be seen})


def choice(setting, seen):
    """Registers a function of a site and a value. seen: what it returns for each value; the values must differ in it."""
    def register(function):
        CHOICES[setting] = (function, seen)
        return function
    return register


def only(*engines, **seen):
    """What is to be seen with these engines; others refuse the setting."""
    return seen if engine() in engines else dict.fromkeys(seen, REFUSED)


def is_refused(site, setting):
    """The program names the setting as one that does not go with the rest."""
    done = site.run("config", "--test")
    group, name = setting.split(".")
    assert done.exit in (0, 78), done
    return done.exit == 78 and f"[{group}] {name} = " in done.err


def choices_of_the_program(site):
    """setting: its values, as the program says them when it is given none of them."""
    found = {}
    for setting in json.loads(site.run("config", "-d", "--json").out):
        done = site.run("config", options=["-o", f"{setting}=none of them"])
        if match := re.search(r": must be (\w[^;]* or [^;]*)", done.err):
            found[setting] = set(re.split(r", | or ", match[1].strip()))
    return found


def test_each_choice_is_here(site):
    found = choices_of_the_program(site)
    assert len(found) > 15 and found["imap.search"] == {"doubt", "always"} and found["imap.create"] == {"yes", "no"}
    assert found == {setting: set(seen) for setting, (_, seen) in CHOICES.items()}
    for setting, (_, seen) in CHOICES.items():
        there = [repr(what) for what in seen.values() if what != REFUSED]
        assert len(set(there)) == len(there), f"{setting}: two values show the same"


# Feeds

@choice("feed.role", {"inbox": ["inbox"], "sent": ["sent"], "both": ["inbox", "sent"]})
def feed_role(site, value):
    """Of what all feeds have in common."""
    fake(site)
    site.settings.update({"feed all.account": "", "route.sent_copy": "authenticated"})
    assert site.deliver(message(sender=LISA), SCUBA, "-u", LISA).exit == 0
    rows = site.sql("SELECT c.role FROM oncedrop.feed f JOIN oncedrop.copy c ON c.id = f.copy WHERE f.feed = 'all'")
    return sorted(row[0] for row in rows)


# The ledger

@choice("database.tls", only(POSTGRES, MARIADB, verify=False, conninfo=True))
def database_tls(site, value):
    """Whether a server beyond the loopback interface, which has no TLS, learns who logs in."""
    address = own_address() or pytest.skip("this machine has no address but its loopback's")
    server = site.use((FakePostgres if engine() == POSTGRES else FakeMariaDB)(address=address))
    site.trusting = False
    site.settings["database.conninfo"] = {
        POSTGRES: f"host={address} port={server.port} dbname=d user=mailer password=secret",
        MARIADB: f"mariadb://mailer:secret@{address}:{server.port}/d"}[engine()]
    assert site.deliver(message(), SCUBA).exit == 75
    return bool(server.passwords if engine() == POSTGRES else server.logins)


@choice("database.durability", only(MARIADB, verify=75, server=0))
def database_durability(site, value):
    """A server that does not write each commit to the disk."""
    fake(site)
    with global_setting(site, "innodb_flush_log_at_trx_commit", 2):
        return site.deliver(message(), SCUBA).exit


@choice("lock.method", {method: {f"lock_{method}"} if engine() in engines else REFUSED for method, engines in
                        (("advisory", (POSTGRES,)), ("row", (POSTGRES, MARIADB)), ("lease", (POSTGRES, MARIADB)),
                         ("session", (SQLITE, MARIADB)))})
def lock_method(site, value):
    """The step that tries the lock."""
    fake(site)
    if engine() != SQLITE:
        site.sql("UPDATE oncedrop.setting SET lock_method = %s", (value,))
    site.settings.update({"log.to": "stderr", "log.level": "debug"})
    done = site.deliver(message(), SCUBA)
    assert done.exit == 0, done
    return set(re.findall(r"sql: (lock_(?:advisory|row|lease|session)) \(", done.err))


# The IMAP server

@choice("imap.tls", {"imaps": ("TLS", "no TLS"), "starttls": ("no TLS", "STARTTLS"), "none": ("no TLS", "plain")})
def imap_tls(site, value):
    """With a server that speaks TLS at once, and one that offers STARTTLS."""
    said = []
    for implicit in (True, False):
        server = site.use(FakeImap(tls=site.lab.dovecot.certificate, implicit=implicit))
        site.settings.update({"imap.port": server.port, "imap.timeout": "2s"})
        done = site.deliver(message(), SCUBA)
        commands = [name for name, _ in server.commands]
        assert (done.exit == 0) == bool(server.appended), done
        said.append("no TLS" if done.exit else "TLS" if implicit else "STARTTLS" if "STARTTLS" in commands else "plain")
    return tuple(said)


@choice("imap.auth", {"plain": "AUTHENTICATE PLAIN", "login": "LOGIN", "xoauth2": "AUTHENTICATE XOAUTH2",
                      "oauthbearer": "AUTHENTICATE OAUTHBEARER"})
def imap_auth(site, value):
    server = fake(site)
    server.capabilities = "IMAP4rev1 SASL-IR AUTH=PLAIN AUTH=LOGIN AUTH=XOAUTH2 AUTH=OAUTHBEARER"
    site.settings["imap.master_user"] = None
    assert site.deliver(message(), SCUBA).exit == 0
    [login] = {f"{name} {arguments.split()[0].decode()}" if name == "AUTHENTICATE" else name
               for name, arguments in server.commands if name in ("AUTHENTICATE", "LOGIN")}
    return login


@choice("imap.search", {"doubt": False, "always": True})
def imap_search(site, value):
    """Whether it looks into the mailbox before a message is appended for the first time."""
    server = fake(site)
    assert site.deliver(message(), SCUBA).exit == 0
    names = [name for name, _ in server.commands]
    return "EXAMINE" in names[:names.index("APPEND")]


@choice("imap.match", {"content": 2, "message-id": 1})
def imap_match(site, value):
    """A mailbox that has another message with the Message-ID: how many it has afterwards."""
    account, mail = site.account(), message(body="one\n")
    with site.imap.session(account) as session:
        session.append("INBOX", None, None, mail.replace(b"one", b"rewritten").replace(b"\n", b"\r\n"))
    site.settings["imap.search"] = "always"
    assert site.deliver(mail, account).exit == 0
    return site.count(account)


@choice("imap.create", {"yes": 0, "no": 75})
def imap_create(site, value):
    """A mailbox that is missing."""
    site.settings["route.inbox"] = "Missing"
    account = site.account()
    done = site.deliver(message(), account)
    assert done.exit or site.count(account, "Missing") == 1
    return done.exit


@choice("imap.subscribe", {"yes": True, "no": False})
def imap_subscribe(site, value):
    site.settings["route.inbox"] = "Missing"
    account = site.account()
    assert site.deliver(message(), account).exit == 0
    with site.imap.session(account) as session:
        return any(line and b"Missing" in line for line in session.lsub()[1])


@choice("imap.early_login", {"yes": 0, "no": 75})
def imap_early_login(site, value):
    """A server that greets only after a login."""
    def greet(client, _tag, _arguments):
        tag, _, arguments = client.line().split(b" ", 2)
        server.do_greeting(client, "*", b"")
        server.do_authenticate(client, tag.decode(), arguments)

    server = fake(site, GREETING=greet)
    site.settings["imap.timeout"] = "1s"
    return site.deliver(message(), SCUBA).exit


# Routes

@choice("route.sent_copy", {"authenticated": ["with a login"], "from": ["with a login", "without"], "off": []})
def route_sent_copy(site, value):
    """Of mail from a local sender."""
    server, found = fake(site), []
    for name, words in (("with a login", ["-u", LISA]), ("without", ["-u", ""])):
        server.appended.clear()
        assert site.deliver(message(sender=LISA), SCUBA, *words).exit == 0
        found += [name] * ("Sent" in [mailbox for mailbox, _ in server.appended])
    return found


@choice("route.detail", {"off": "INBOX", "folder": "lists"})
def route_detail(site, value):
    server = fake(site)
    assert site.deliver(message(), "scuba+lists@example.org").exit == 0
    [(mailbox, _)] = server.appended
    return mailbox


@choice("route.unknown_account", {"bounce": (67, "5.1.1"), "defer": (75, "4.1.1")})
def route_unknown(site, value):
    site.settings["route.account_query"] = "SELECT 'desk' WHERE $1 = 'info@example.org'"
    done = site.deliver(message(), SCUBA)
    return done.exit, done.out.split()[0]


# Deliveries

@choice("delivery.overquota", {"defer": (75, "4.2.2"), "bounce": (69, "5.2.2")})
def delivery_overquota(site, value):
    fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    done = site.deliver(message(), SCUBA)
    return done.exit, done.out.split()[0]


@choice("delivery.refused", {"bounce": (65, 0), "quarantine": (0, 1)})
def delivery_refused(site, value):
    """Whether something is stored in place of what the server refuses."""
    server = site.use(Picky())
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "delivery.refuse_after": "0s"})
    done = site.deliver(message(headers=BAD), SCUBA)
    return done.exit, sum(map(len, server.boxes.values()))


# The record

@choice("record.level", {"envelope": set(), "headers": {"addresses"}, "text": {"addresses", "text"},
                         "raw": {"addresses", "text", "raw"}})
def record_level(site, value):
    fake(site)
    assert site.deliver(message(), SCUBA).exit == 0
    where = {"addresses": "address", "text": "part WHERE text IS NOT NULL", "raw": "raw"}
    return {what for what, rows in where.items() if site.value(f"SELECT count(*) FROM oncedrop.{rows}")}


@choice("record.trace", {"yes": True, "no": False})
def record_trace(site, value):
    fake(site)
    assert site.deliver(message(), SCUBA).exit == 0
    return site.value("SELECT trace_id FROM oncedrop.attempt") is not None


# The log

@choice("log.to", {"stderr": True, "syslog": False})
def log_to(site, value):
    fake(site)
    return "status=stored" in site.deliver(message(), SCUBA).err


@choice("log.format", {"text": False, "json": True})
def log_format(site, value):
    fake(site)
    site.settings["log.to"] = "stderr"
    [line] = site.deliver(message(), SCUBA).err.splitlines()
    return line.startswith("{") and json.loads(line)["status"] == "stored"


@choice("log.level", {"error": {"error"}, "warning": {"error", "warning"}, "info": {"error", "warning", "info"},
                      "debug": {"error", "warning", "info", "debug"}})
def log_level(site, value):
    """What a service logs that makes a mailbox, cannot subscribe to it, and then is to read a configuration that is wrong."""
    server = fake(site, SUBSCRIBE=lambda client, tag, _: client.send(f"{tag} NO not here"),
                  CREATE=lambda client, tag, _: (server.script.pop("APPEND", None), client.send(f"{tag} OK done")),
                  APPEND=lambda client, tag, _: client.send(f"{tag} NO [TRYCREATE] none"))
    site.settings["route.inbox"] = "Missing"
    service = Service(site, workers=1, wait=False)
    wait_until(lambda: is_listening(service.socket), "the service listens")
    [reply] = service.connect().deliver(message(), SCUBA)
    assert reply.code == 250, reply
    service.write_configuration({"lock.wait": "a while"})
    service.signal(1)
    wait_until(lambda: "stays in force" in service.log(), "the error")
    return set(re.findall(r"^oncedrop\[\d+\]: (\w+): ", service.log(), re.M))


@pytest.mark.parametrize("setting, value", [(setting, value) for setting, (_, seen) in CHOICES.items() for value in seen])
def test_what_it_does(site, setting, value):
    observe, seen = CHOICES[setting]
    site.settings[setting] = value
    if seen[value] == REFUSED:
        assert is_refused(site, setting)
    else:
        assert observe(site, value) == seen[value]
