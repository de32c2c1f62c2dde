# SPDX-License-Identifier: ISC
"""Whose mailbox a master user's login opens is found out before anything is appended, once for all deliveries.

Seen to fail: with every server trusted; with a refusal of the probe account believed without another test of the account; with
UIDVALIDITY not compared, or two of one mailbox taken for two mailboxes (mailbox_identity.c). Also with each delivery made to
test (ledger_server.c), and with INBOX made like any mailbox (mailbox_folder.c)."""

import base64
import contextlib
import itertools

import expect
import pytest
from lab import lmtp, locks
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message, new_id
from lab.process import wait_until

LISA, SCUBA = "lisa@example.org", "scuba@example.org"
PROBE, OTHER = "oncedrop-probe@example.org", "oncedrop-other@example.org"


def named(arguments):
    """The account named by an AUTHENTICATE."""
    response = base64.b64decode(arguments.split()[-1]).decode()
    return response.split("\1")[0].partition("=")[2] if "\1" in response else response.split("\0")[0]


class Server(FakeImap):
    """Knows accounts by name. login: the answer to a login that names an unknown account; None: OK. examine: the answer
    to EXAMINE INBOX after such a login; None: everybody has the same INBOX."""

    def __init__(self, login=None, examine=None, **options):
        super().__init__(**options)
        self.login, self.examine, self.refusing = login, examine, False
        self.names, self.here = [], {}

    def do_authenticate(self, client, tag, arguments):
        name = named(arguments)
        self.names.append(name)
        self.here[client] = name
        answer = self.login if name not in (LISA, SCUBA) else "NO not now" if self.refusing else None
        if answer == "close":
            client.close()
        client.send(f"{tag} {answer or 'OK logged in'}")

    def do_examine(self, client, tag, arguments):
        if self.examine is None:
            client.send(f"* 0 EXISTS\r\n* OK [UIDVALIDITY 1700000007] valid\r\n{tag} OK done")
            return
        if self.here[client] in (LISA, SCUBA):
            super().do_examine(client, tag, arguments)
            return
        for line in self.examine:
            client.send(line.replace("TAG", tag))


def forget(site):
    """The ledger's information about servers."""
    site.trusting = False
    site.sql("DELETE FROM oncedrop.server")


def serve(site, *args, **options):
    server = site.use(Server(*args, **options))
    forget(site)
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none", "imap.timeout": "20s"})
    return server


def later(site, **time):
    site.ledger.older("server", "checked_at", "tried_at", **time)


def honoured(site):
    return [row[0] for row in site.sql("SELECT verified FROM oncedrop.server")]


GOOD = {
    "refuses": ("NO [AUTHENTICATIONFAILED] who?", None),
    "refuses as Dovecot does": ("NO [UNAVAILABLE] Internal login failure", None),
    "closes the connection": ("close", None),
    "takes any name, without an INBOX": (None, ["TAG NO Mailbox does not exist"]),
    "takes any name, with an INBOX of its own": (None, ["* 0 EXISTS", "* OK [UIDVALIDITY 8] valid", "TAG OK done"]),
}


@pytest.mark.parametrize("login,examine", GOOD.values(), ids=GOOD.keys())
def test_the_account_counts(site, login, examine):
    server = serve(site, login, examine)
    expect.stored(site.deliver(message(), SCUBA))
    assert PROBE in server.names and set(server.names) == {SCUBA, PROBE}
    assert honoured(site) == [True]
    del server.names[:]
    expect.stored(site.deliver(message(), LISA))
    assert server.names == [LISA]


def test_no_lock_is_held_meanwhile(site):
    """Of a message that could not be claimed as a new one because its server is not known.

    Seen to fail: MariaDB's lock not released before the server is examined (ledger_claim_if_new.c)."""
    server, id = serve(site), new_id()
    server.login, answer, free = "NO who?", server.do_authenticate, []

    def authenticate(client, tag, arguments):
        if named(arguments) == PROBE:
            with locks.held(site, key):     # waits for it, longer than the delivery
                free.append(True)
        answer(client, tag, arguments)
    server.do_authenticate = authenticate
    site.settings["imap.timeout"] = "10s"
    key = locks.key_of(site, id)
    expect.stored(site.deliver(message(id=id), SCUBA))
    assert free


def test_what_was_found_in_the_future_is_looked_for_again(site):
    """While the clock was ahead, the server was refused; since then it was repaired."""
    server = serve(site)
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.3\.5", "same INBOX")
    server.login = "NO who?"
    later(site, hours=-1)
    expect.stored(site.deliver(mail, SCUBA))
    assert honoured(site) == [True]


def test_one_mailbox_for_all(site):
    """As with Courier and GNU Mailutils. Nothing is appended; the recorded result saves the logins; a server that was
    repaired is used again."""
    server = serve(site)
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.3\.5", "same INBOX", "127.0.0.1")
    assert honoured(site) == [False]
    seen = server.accepted
    expect.deferred(site.deliver(mail, LISA), r"4\.3\.5", "same INBOX")
    assert server.accepted == seen
    server.login = "NO who?"
    later(site, minutes=9)
    expect.deferred(site.deliver(mail, SCUBA), r"4\.3\.5")
    later(site, minutes=2)
    expect.stored(site.deliver(mail, SCUBA))
    assert honoured(site) == [True]
    assert len(server.appended) == 1 and PROBE not in [mailbox for mailbox, _ in server.appended]
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 1


def test_one_mailbox_for_all_tokens(site):
    server = serve(site, capabilities=CAPABILITIES + " AUTH=XOAUTH2")
    site.settings.update({"imap.auth": "xoauth2", "imap.master_user": None})
    expect.deferred(site.deliver(message(), SCUBA), r"4\.3\.5", "same INBOX")
    assert server.names == [SCUBA, PROBE, OTHER, SCUBA] and server.appended == []


# Two INBOXes that look alike


def examined(server, seen):
    """Each look at an INBOX is answered by the result of seen(name, number of the look)."""
    looks = itertools.count()

    def examine(client, tag, _arguments):
        codes = seen(server.here[client], next(looks))
        client.send("".join(f"* OK [{code}] told\r\n" for code in codes) + f"{tag} OK done")
    server.script["EXAMINE"] = examine


def in_the_same_second(name, _look):
    """Each INBOX is made when it is first looked at, and numbered by the clock."""
    return ["UIDVALIDITY 1700000001" if name == OTHER else "UIDVALIDITY 1700000000", "UIDNEXT 1"]


def by_mailbox_id(name, _look):
    return ["UIDVALIDITY 1", f"MAILBOXID (F{sum(name.encode())})"]


def by_uidnext(name, look):
    """Everybody's UIDVALIDITY is the same; the account has mail, and gets more."""
    return ["UIDVALIDITY 1", f"UIDNEXT {5 + look if name == SCUBA else 1}"]


@pytest.mark.parametrize("seen", [in_the_same_second, by_mailbox_id, by_uidnext])
def test_accounts_that_look_alike_are_told_apart(site, seen):
    server = serve(site)
    examined(server, seen)
    expect.stored(site.deliver(message(), SCUBA))
    assert honoured(site) == [True] and (OTHER in server.names) == (seen is not by_mailbox_id)


def test_one_mailbox_that_gets_mail_while_it_is_looked_at(site):
    """That its UIDNEXT and its number of messages grow does not make several of it."""
    server = serve(site)
    examined(server, lambda _name, look: ["UIDVALIDITY 1700000007", f"UIDNEXT {5 + look}"])
    expect.deferred(site.deliver(message(), SCUBA), r"4\.3\.5", "same INBOX")
    assert honoured(site) == [False] and server.appended == []


def nothing_to_tell_by(server):
    """Every INBOX is empty and has the same UIDVALIDITY, which is not made by the clock."""
    examined(server, lambda _name, _look: ["UIDVALIDITY 1", "UIDNEXT 1"])


def crowded(server):
    """One INBOX for all, and no room for a third login."""
    def authenticate(client, tag, arguments):
        if named(arguments) == OTHER:
            client.send(f"{tag} NO [LIMIT] too many")
        else:
            server.do_authenticate(client, tag, arguments)
    server.script["AUTHENTICATE"] = authenticate


def refuse_all(server):
    server.refusing, server.login = True, "NO wrong password"


def refuse_from_now(server):
    """A password that is changed between the first login and that of the unknown account."""
    def authenticate(client, tag, arguments):
        server.refusing = True
        server.login = "NO who?"
        server.script.clear()
        client.send(f"{tag} OK logged in")
        server.here[client] = SCUBA
    server.script["AUTHENTICATE"] = authenticate


def no_answer_to_examine(server):
    server.examine = ["TAG NO [UNAVAILABLE] disk"]


def no_uidvalidity(server):
    server.examine = ["* 0 EXISTS", "TAG OK done"]


def uidvalidity_of_the_moment(server):
    """Courier, for an INBOX that was never selected."""
    moments = itertools.count(1000)

    def examine(client, tag, _arguments):
        client.send(f"* 0 EXISTS\r\n* OK [UIDVALIDITY {next(moments)}] valid\r\n{tag} OK done")
    server.script["EXAMINE"] = examine


def silent(server):
    server.script["AUTHENTICATE"] = lambda client, tag, arguments: None


@pytest.mark.parametrize("trouble", [refuse_all, refuse_from_now, no_answer_to_examine, no_uidvalidity,
                                     uidvalidity_of_the_moment, nothing_to_tell_by, crowded, silent])
def test_trouble_proves_nothing(site, trouble):
    server = serve(site)
    if trouble is silent:
        site.settings["imap.timeout"] = "2s"
    trouble(server)
    expect.deferred(site.deliver(message(), SCUBA), r"4\.4\.1")
    assert honoured(site) == [] and server.appended == []


def test_good_until_found_otherwise(site):
    server = serve(site, "NO who?")
    expect.stored(site.deliver(message(), SCUBA))
    later(site, hours=23)
    del server.names[:]
    expect.stored(site.deliver(message(), SCUBA))
    assert server.names == [SCUBA]
    later(site, hours=2)
    no_answer_to_examine(server)
    server.login = None
    expect.stored(site.deliver(message(), SCUBA))
    assert PROBE in server.names and honoured(site) == [True]
    del server.names[:]
    expect.stored(site.deliver(message(), SCUBA))
    assert server.names == [SCUBA], "another look before its time"
    later(site, days=1)
    server.examine = None
    expect.deferred(site.deliver(message(), SCUBA), r"4\.3\.5", "same INBOX")
    assert honoured(site) == [False]


def test_one_of_many_looks_again(site):
    server = serve(site, "NO who?")
    expect.stored(site.deliver(message(), SCUBA))
    later(site, days=2)
    deliveries = [site.start_delivery(message(), SCUBA) for _ in range(6)]
    for delivery in deliveries:
        expect.stored(delivery.finish())
    assert server.names.count(PROBE) == 2


def test_one_that_waits_for_another_that_began_later(site):
    """In MariaDB its present is the start of its statement, before the time that the other has recorded."""
    server = serve(site, "NO who?")
    expect.stored(site.deliver(message(), SCUBA))
    later(site, days=2)
    del server.names[:]
    other = site.ledger.connect()
    with contextlib.closing(other):
        cursor = other.cursor()
        cursor.execute("UPDATE oncedrop.server SET verified = verified")
        delivery = site.start_delivery(message(), SCUBA)
        wait_until(site.ledger.waiting_sessions, "it to wait")
        cursor.execute("UPDATE oncedrop.server SET tried_at = %s", [site.ledger.now()])
        other.commit()
    expect.stored(delivery.finish())
    assert server.names == [SCUBA]


def test_mail_for_the_probe_itself(site):
    server = serve(site, "NO who?")
    expect.deferred(site.deliver(message(), PROBE), r"4\.4\.1")
    assert server.names == [PROBE] and honoured(site) == []


def test_a_recipient_that_the_server_lacks_does_not_decide_for_others(site):
    server = serve(site, "NO who?")
    session = lmtp.start(site)
    codes = [reply.code for reply in session.deliver(message(), "nobody@example.org", SCUBA)]
    assert codes == [451, 250]
    del server.names[:]
    forget(site)
    assert [reply.code for reply in session.deliver(message(), LISA)] == [250]
    assert server.names == [LISA], "a session asks once"


def test_a_real_server(site):
    scuba = site.account()
    forget(site)
    expect.stored(site.deliver(message(), scuba))
    assert honoured(site) == [True] and site.count(scuba) == 1
    assert site.value("SELECT server FROM oncedrop.server") == site.server()


def test_a_dry_run_looks_at_nothing(site):
    server = serve(site)
    done = site.run("replay", "--dry-run", "-d", SCUBA, site.write("m.eml", message().decode()))
    assert done.exit == 0, done
    assert server.accepted == 0


# An INBOX is never created


def missing(client, tag, _arguments):
    client.send(f"{tag} NO [TRYCREATE] Mailbox does not exist")


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("inbox", ["INBOX", "Inbox", "Lists"])
def test_nothing_is_made_in_an_account_without_inbox(site, inbox, listed):
    """Cyrus accepts the login of an account that it does not have. Dovecot's ACL plugin lists an INBOX that it hides."""
    server = serve(site, "NO who?", script={"APPEND": missing, "STATUS": missing})
    if not listed:
        server.script["LIST"] = lambda client, tag, _: client.send(f"{tag} OK done")
    site.settings["route.inbox"] = inbox
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.3\.0", *(["lists", "acl_user"] if listed else ["has no INBOX"]))
    assert "CREATE" not in [name for name, _ in server.commands]
    assert site.sql("SELECT state, doubt FROM oncedrop.copy") == [("pending", False)]
    server.script.clear()
    expect.stored(site.deliver(mail, SCUBA), "INBOX" if inbox == "Inbox" else inbox)
