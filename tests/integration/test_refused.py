# SPDX-License-Identifier: ISC
"""An account whose login the server refuses is not tried with each message, nor each retry: servers make everybody wait for
refused logins.

Seen to fail: without the record's being read or written (deliver.c), or with a hold that is not asked for (breaker.c). Also
with a record from the future that counts (login_backoff.c), and with every RCPT accepted (lmtp_transaction.c). Also with the
penalty not measured (check_imap.c), and with [LIMIT] and [SERVERBUG] taken for a refusal (mailbox_open.c)."""

import base64
import concurrent.futures
import os
import statistics
import time

import expect
import pytest
from lab import dovecot, dovecot_config, lmtp, process
from lab.dovecot import MASTER
from lab.fake_imap import FakeImap
from lab.messages import message
from lab.service import Service

GOOD, OTHER, GONE = "lisa@example.org", "doug@example.org", "gone@example.org"
REFUSAL = "NO [AUTHENTICATIONFAILED] who?"
HELD = "account gone@example.org could not be opened "


class Server(FakeImap):
    """Answers so to the login of some accounts; None: they are good. slow: seconds that a login takes after a refused one."""

    def __init__(self, says=REFUSAL, refused=(GONE,), slow=0, **options):
        super().__init__(**options)
        self.says, self.refused, self.slow = says, refused, slow
        self.logins, self.penalty = [], 0

    def do_authenticate(self, client, tag, arguments):
        name = base64.b64decode(arguments.split()[-1]).decode().split("\0")[0]
        self.logins.append(name)
        refused = self.says is not None and (name in self.refused or name.startswith("oncedrop"))
        time.sleep(self.penalty)
        self.penalty = self.slow if refused else 0
        if refused and self.says == "close":
            client.close()
        client.send(f"{tag} {self.says}" if refused else f"{tag} OK logged in")

    def count(self, account=GONE):
        return self.logins.count(account)


@pytest.fixture
def server(site):
    return serve(site)


def serve(site, *args, **options):
    server = site.use(Server(*args, **options))
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none"})
    return server


def earlier(site, **time):
    site.ledger.older("refusal", "refused_at", **time)


def record(site):
    """(refusals, seconds to wait) of the only account."""
    rows = site.sql("SELECT refusals, wait_ms FROM oncedrop.refusal")
    assert len(rows) == 1, rows
    return rows[0][0], rows[0][1] // 1000


def test_deliver(site, server):
    """Each process sees in the ledger what the last one met."""
    mail = message()
    expect.deferred(site.deliver(mail, GONE), r"4\.4\.1", "AUTHENTICATIONFAILED")
    for again in (mail, message(), mail):
        expect.deferred(site.deliver(again, GONE), r"4\.4\.1", HELD)
    assert server.count() == 1 and record(site) == (1, 60)
    expect.stored(site.deliver(message(), GOOD))
    earlier(site, seconds=61)
    expect.deferred(site.deliver(mail, GONE), r"4\.4\.1", "AUTHENTICATIONFAILED")
    assert server.count() == 2 and record(site) == (2, 120)
    earlier(site, seconds=100)
    expect.deferred(site.deliver(mail, GONE), r"4\.4\.1", HELD)
    assert server.count() == 2
    server.says = None
    earlier(site, seconds=21)
    expect.stored(site.deliver(mail, GONE))
    assert site.value("SELECT refusals FROM oncedrop.refusal") == 0
    expect.stored(site.deliver(message(), GONE))
    assert len(server.appended) == 3


def test_several_recipients_and_the_others_are_not_kept_waiting(site, server):
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    with_session = lmtp.Session(site)
    with_session.hello()
    replies = with_session.deliver(message(), GOOD, GONE, OTHER)
    assert [reply.code for reply in replies] == [250, 451, 250]
    assert server.count() == 1 and len(server.appended) == 2


def test_the_service_and_all_its_workers(site, server):
    service = Service(site, workers=2)
    mail = message()
    assert service.deliver(mail, GONE)[0].code == 451
    for _ in range(6):
        assert service.deliver(mail, GONE)[0].code == 451
    assert server.count() == 1
    expect.deferred(site.deliver(mail, GONE), r"4\.4\.1", HELD)
    assert service.deliver(message(), GOOD)[0].code == 250
    server.says = None
    earlier(site, seconds=61)
    process.wait_until(lambda: service.deliver(mail, GONE)[0].code == 250, "the account is tried again", 90)


def test_a_client_that_asks(site, server):
    """As Postfix does to verify an address: it waits for the reply to RCPT, and sends no message."""
    site.settings["log.to"] = "stderr"
    session = lmtp.Session(site)
    session.hello()
    assert session.deliver(message(), GONE)[0].code == 451
    assert session.command("MAIL FROM:<>").code == 250
    reply = session.command(f"RCPT TO:<{GONE}>")
    assert reply.code == 451 and "could not be opened" in reply.text
    assert session.command(f"RCPT TO:<{GOOD}>").code == 250
    assert session.command("RCPT TO:<new@example.org>").code == 250
    assert session.command("RSET").code == 250
    assert server.logins == [GONE]
    assert "status=deferred" in session.log()
    other = lmtp.Session(site)      # that has seen nothing itself
    other.hello()
    assert other.command("MAIL FROM:<>").code == 250
    assert other.command(f"RCPT TO:<{GONE}>").code == 451
    assert server.logins == [GONE]


def test_a_client_that_asks_for_an_unknown_address(site, server):
    site.settings["route.account_query"] = "SELECT lower($1) WHERE lower($1) = 'lisa@example.org'"
    if os.environ.get("ONCEDROP_ENGINE") == "mariadb":
        site.settings["route.account_query"] = "SELECT lower($1) FROM DUAL WHERE lower($1) = 'lisa@example.org'"
    session = lmtp.Session(site)
    session.hello()
    assert session.command("MAIL FROM:<>").code == 250
    assert session.command(f"RCPT TO:<{OTHER}>").code == 550
    assert session.command(f"RCPT TO:<{GOOD}>").code == 250
    assert not server.logins


def test_what_is_stored_is_a_duplicate_still(site, server):
    """However long the account is locked: else its mail would be returned in the end."""
    mail = message()
    server.refused = ()
    expect.stored(site.deliver(mail, GONE))
    server.refused = (GONE,)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    expect.duplicate(site.deliver(mail, GONE))
    session = lmtp.Session(site)
    session.hello()
    assert session.deliver(mail, GONE)[0].code == 250


@pytest.mark.parametrize("answer", ["NO [LIMIT] too many", "NO [INUSE] not now", "NO [SERVERBUG] oh", "NO [PRIVACYREQUIRED] TLS!"])
def test_trouble_is_no_refusal(site, server, answer):
    server.says = answer
    for _ in range(2):
        expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    server.says = None
    expect.stored(site.deliver(message(), GONE))
    assert site.value("SELECT count(*) FROM oncedrop.refusal") == 0


@pytest.mark.parametrize("answer", ["NO [UNAVAILABLE] later", "close"])
def test_what_may_be_trouble_counts_from_the_second_on(site, server, answer):
    server.says = answer
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    assert record(site) == (1, 0)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")      # at once: the same trouble
    assert record(site) == (1, 0)
    earlier(site, seconds=20)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    assert record(site) == (2, 60)
    before = server.count()
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1", HELD)
    assert server.count() == before


def test_a_wrong_password_is_soon_tried_again(site, server):
    """All accounts are refused then, and are good again as soon as it is mended."""
    server.refused = (GONE, GOOD)
    for expected in (60, 120, 240, 300, 300, 300):
        expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
        assert record(site)[1] == expected
        earlier(site, seconds=expected + 1)


def test_another_password_is_tried_at_once(site, server):
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    server.refused = ()
    site.settings["imap.password_file"] = site.write("another", "another\n")
    expect.stored(site.deliver(message(), GONE))
    assert site.value("SELECT refusals FROM oncedrop.refusal") == 1


def test_clocks(site, server):
    """A record from the future, or that waits for ever, keeps no account locked."""
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    earlier(site, hours=-1)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    assert server.count() == 2 and record(site) == (1, 60)
    site.sql("UPDATE oncedrop.refusal SET wait_ms = 1000000000000")
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1", HELD)
    earlier(site, minutes=31)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    assert server.count() == 3
    earlier(site, hours=25)
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    assert record(site) == (1, 60)


def test_check_frees_and_purge_forgets(site, server):
    expect.deferred(site.deliver(message(), GONE), r"4\.4\.1")
    server.refused = ()
    assert site.run("check", GONE).exit in (0, 1)
    expect.stored(site.deliver(message(), GONE))
    earlier(site, hours=25)
    assert site.run("purge", "--older-than", "30d").exit == 0
    assert site.value("SELECT count(*) FROM oncedrop.refusal") == 0


@pytest.mark.parametrize("slow", [0, 1.5])
def test_check_measures_what_a_refusal_costs(site, slow):
    server = serve(site, slow=slow)
    out = site.run("check", GOOD).out
    line, = [line for line in out.splitlines() if " refusals " in line]
    if slow:
        assert line.startswith("warning") and "anvil-auth-penalty" in line and "nodelay" in line
    else:
        assert line.startswith("ok")
    assert server.penalty == 0      # the last login was good


class Sample(dovecot.Dovecot):
    """With all that the sample says about refusals, and what Dovecot does by itself about all others; accounts are looked up
    before the login."""

    def configuration(self, **values):
        lines = super().configuration(**values).splitlines()
        at = lines.index("service anvil {")
        del lines[at:at + 5]
        text = "\n".join(line for line in lines if line != "auth_failure_delay = 0").replace("master = yes", "master = yes\n  pass = yes")
        with open(os.path.join(os.path.dirname(__file__), "../../conf/dovecot", dovecot_config.example()), encoding="utf-8") as file:
            sample = file.read()
        self.write("masters", f"{MASTER}:{self.password}::::::nodelay=y\n")
        return text + "\n" + sample[sample.index("service anvil {"):]


@pytest.fixture
def sample(lab, site):
    directory = lab.new_directory("sample")
    os.chmod(directory, 0o755)
    server = Sample(directory, lab.authority.issue("sample"))
    site.use(server)
    server.close = server.stop
    server.start()
    site.use_server(server)
    return server


def seconds_of(service, recipients):
    """How long each takes, in turn on one connection, as Postfix has several."""
    def one(recipient):
        started = time.monotonic()
        code = service.deliver(message(), recipient)[0].code
        return code, time.monotonic() - started
    return [one(recipient) for recipient in recipients]


def test_a_thousand_to_made_up_names(site, sample):
    """Mail to others comes no later than without. Each account has one message, since a session that is open needs no login."""
    before, beside = ([f"{name}{n}@example.org" for n in range(100)] for name in ("before", "beside"))
    for account in before + beside:
        sample.add_account(account)
    service = Service(site, workers=4)
    alone = seconds_of(service, before)
    made_up = [f"made{n % 200}@example.org" for n in range(1000)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        others = [pool.submit(seconds_of, service, made_up[part::2]) for part in range(2)]
        real = seconds_of(service, beside)
        refused = [code for other in others for code, _ in other.result()]
    assert {code for code, _ in alone + real} == {250} and set(refused) == {451}
    # 2 s are the least that Dovecot makes a login wait.
    for of, more in ((max, 2), (statistics.median, 1)):
        without, with_them = (of([seconds for _, seconds in part]) for part in (alone, real))
        assert with_them < without + more, (of.__name__, without, with_them)
    logins = sample.log().count("auth failed") + sample.log().count("authorization failed")
    assert logins < 2 * 200, logins
