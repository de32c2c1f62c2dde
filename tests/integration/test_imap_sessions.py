# SPDX-License-Identifier: ISC
"""IMAP sessions: kept, lost, limited, and appending at the same time.

Each test was seen to fail: by recipients appended one after another; by LOGOUT sent in the middle of an APPEND; by a kept
session that is lost and not replaced, by one that is replaced after the literal was sent, and by a new one that is
replaced; by a search on a separate session, or without EXAMINE; by a session in use that ends for another; by sessions
that are only closed when the next message comes; by no room made for a session that is refused, or none after
sessions that the server still counts for a moment."""

import base64
import contextlib
import re
import resource
import socket
import threading
import time

import pytest
from lab import locks
from lab.fake_imap import FakeImap, Gone
from lab.lmtp import start, stored
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import CLIENT
from lab.service import Service

TEN = [f"user{number}@example.org" for number in range(10)]


def account_of(arguments):
    """Of AUTHENTICATE."""
    return base64.b64decode(arguments.split()[1]).decode().split("\0")[0]


class Accounts(FakeImap):
    """Knows whose sessions they are: client.account."""

    def do_authenticate(self, client, tag, arguments):
        client.account = account_of(arguments)
        super().do_authenticate(client, tag, arguments)


def fake(site, **options):
    server = site.use(Accounts(**options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    return server


def codes(replies):
    return [reply.code for reply in replies]


# At the same time


def test_ten_recipients_are_appended_at_the_same_time(site):
    """No command is answered before all have been sent, neither for the literal nor for the result."""
    asked, sent = threading.Barrier(10, timeout=20), threading.Barrier(10, timeout=20)

    def append(client, tag, arguments):
        asked.wait()
        data = server.read_append(client, arguments)
        sent.wait()
        server.appended.append(data)
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    server = fake(site, script={"APPEND": append})
    site.settings["imap.timeout"] = "30s"
    session = start(site)
    for _ in range(2):
        for reply in session.deliver(message(), *TEN):
            stored(reply)
    assert (server.accepted, len(server.appended)) == (10, 20)


@pytest.mark.parametrize("when", ["before the literal", "after it"])
def test_silent_mailboxes_take_their_time_once(site, when):
    """Two in ten: one after the other, they would take twice imap.timeout."""
    def append(client, tag, arguments):
        silent = client.account in TEN[3:5]
        if silent and when == "before the literal":
            client.line()   # until it is gone
        data = server.read_append(client, arguments)
        if silent:
            client.line()
        server.appended.append(data)
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    server = fake(site, script={"APPEND": append})
    site.settings["imap.timeout"] = "6s"
    session = start(site)
    began = time.monotonic()
    replies = session.deliver(message(), *TEN)
    assert time.monotonic() - began < 12
    assert codes(replies) == [250] * 3 + [451] * 2 + [250] * 5, replies
    assert len(server.appended) == 8


@pytest.mark.parametrize("place", [slice(0, 3), slice(4, 7)], ids=["first", "in between"])
def test_logins_without_an_answer_hold_up_nobody_else(site, place):
    """Three in ten: one after the other with all of their time, they would take up that of the others."""
    silent = TEN[place]
    server = fake(site)

    def authenticate(client, tag, arguments):
        if base64.b64decode(arguments.split()[1]).decode().split("\0")[0] in silent:
            while client.line():
                pass
        server.do_authenticate(client, tag, arguments)
    server.script["AUTHENTICATE"] = authenticate
    site.settings.update({"imap.timeout": "6s", "delivery.deadline": "25s"})
    replies = start(site).deliver(message(), *TEN)
    assert codes(replies) == [451 if name in silent else 250 for name in TEN], replies
    assert all("no answer" in reply.text for reply in replies if reply.code == 451), replies
    assert len(server.appended) == 7


def test_a_slow_login_has_its_time_after_the_others(site):
    """It is begun again, and what was begun before is no trouble."""
    server = fake(site)
    given_up = threading.Event()

    def authenticate(client, tag, arguments):
        slow = base64.b64decode(arguments.split()[1]).decode().split("\0")[0] == TEN[0]
        if slow and not given_up.is_set():
            given_up.set()
            client.line()   # until it is gone
        server.do_authenticate(client, tag, arguments)
    server.script["AUTHENTICATE"] = authenticate
    for reply in start(site).deliver(message(), *TEN[:3]):
        stored(reply)
    assert [name for name, _ in server.commands].count("APPEND") == 3 and len(server.appended) == 3


def refuse(server, accounts):
    """These have no session."""
    def authenticate(client, tag, arguments):
        if account_of(arguments) in accounts:
            client.send(f"{tag} NO [AUTHENTICATIONFAILED] no such account")
        else:
            server.do_authenticate(client, tag, arguments)
    server.script["AUTHENTICATE"] = authenticate


def test_a_mailbox_that_cannot_be_opened_is_the_only_one_that_fails(site):
    server = fake(site)
    refuse(server, TEN[3:5])
    replies = start(site).deliver(message(), *TEN)
    assert codes(replies) == [250] * 3 + [451] * 2 + [250] * 5, replies
    assert len(server.appended) == 8


def test_two_mailboxes_of_one_account(site):
    """A session has one APPEND at a time."""
    site.settings["route.detail"] = "folder"
    scuba = site.account()
    imap = site.imap_proxy()
    session = start(site)
    for number in range(1, 3):
        for reply in session.deliver(message(), scuba, scuba.replace("@", "+Work@")):
            stored(reply)
        assert (imap.accepted, site.count(scuba), site.count(scuba, "Work")) == (1, number, number)


def test_fewer_sessions_than_mailboxes(site):
    """Sessions in use are not closed for others."""
    site.settings["imap.sessions"] = "1"
    accounts = [site.account(f"user{number}") for number in range(3)]
    imap = site.imap_proxy()
    session = start(site)
    for _ in range(2):
        for reply in session.deliver(message(sender=accounts[0]), *accounts, sender=accounts[0]):
            stored(reply)
    assert [site.count(account) for account in accounts] == [2] * 3
    assert site.count(accounts[0], "Sent") == 2
    wait_until(lambda: sum(not connection.ended[CLIENT] for connection in imap.connections) == 1, "one is open")


# What is begun before the claim is committed


@pytest.mark.postgres
def test_a_connection_that_ends_before_the_literal(site):
    """Nothing of the message was sent, so it is certainly not stored: the next try need not wait for the hold-off."""
    ended = threading.Event()

    def append(client, tag, arguments):
        if ended.is_set():
            server.do_append(client, tag, arguments)
            return
        client.send("+ go on")
        client.socket.shutdown(socket.SHUT_RDWR)
        ended.set()
        raise Gone

    def watch(connection, side, data):
        return (not ended.is_set() and locks.wait_before_the_commit(connection, side, data, ended)) or data
    server = fake(site, script={"APPEND": append})
    site.database_proxy(watch)
    session, mail = start(site), message()
    assert codes(session.deliver(mail, TEN[0])) == [451]
    assert site.sql("SELECT state, doubt FROM oncedrop.copy") == [("pending", False)]
    [reply] = session.deliver(mail, TEN[0])
    stored(reply)
    assert len(server.appended) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("mail", [message(), b"x: y\r\n\r\n", b"A: b"], ids=["a message", "a header", "a few bytes"])
def test_nothing_is_stored_if_the_hold_fails(site, mail):
    """The APPEND is begun, then the database is gone. The server has asked for the literal, and gets nothing: neither
    that nor a command."""
    begun, read = threading.Event(), []

    def append(client, _tag, _arguments):
        client.send("+ go on")
        begun.set()
        data = b""
        with contextlib.suppress(ConnectionResetError):     # the '+' was not read
            data = client.socket.recv(1000)
        read.append(data)
        raise Gone

    def watch(connection, side, data):
        return None if locks.wait_before_the_commit(connection, side, data, begun) else data
    server = fake(site, script={"APPEND": append})
    site.database_proxy(watch)
    replies = start(site).deliver(mail, *TEN[:3])
    assert codes(replies) == [451] * 3, replies
    wait_until(lambda: len(read) == 3, "the ends of the sessions")
    assert read == [b""] * 3
    assert server.accepted == 3 and "LOGOUT" not in [name for name, _ in server.commands]


# Kept sessions


def closes(server, when):
    """A session is closed at its second APPEND."""
    def append(client, tag, arguments):
        client.count = getattr(client, "count", 0) + 1
        if client.count == 2 and when == "before the +":
            client.close()
        if client.count == 2 and when == "with BYE":
            client.send("* BYE the server is shut down")
            client.close()
        data = server().read_append(client, arguments)
        server().appended.append(data)
        if client.count == 2:
            client.close()
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    return {"APPEND": append}


@pytest.mark.parametrize("when", ["before the +", "with BYE"])
def test_a_kept_session_that_is_closed_is_replaced(site, when):
    server = fake(site, script=closes(lambda: server, when))
    session = start(site)
    for number in range(1, 4):
        for reply in session.deliver(message(), *TEN[:3]):
            stored(reply)
        assert len(server.appended) == server.accepted == 3 * number


def test_one_closed_after_the_literal_is_not(site):
    """The message may be stored, as it is here."""
    server = fake(site, script=closes(lambda: server, "after the literal"))
    session = start(site)
    stored(session.deliver(message(), TEN[0])[0])
    assert codes(session.deliver(message(), TEN[0])) == [451]
    assert len(server.appended) == 2 and server.accepted == 1
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'") == 1


def test_a_new_session_that_is_closed_is_not(site):
    server = fake(site, script={"APPEND": lambda client, *_: client.close()})
    assert codes(start(site).deliver(message(), TEN[0])) == [451]
    assert server.accepted == 1
    assert site.sql("SELECT state, doubt FROM oncedrop.copy") == [("pending", False)]


def test_the_server_is_restarted_between_two_messages(site):
    """The sessions that it closed are replaced at once: nothing fails in the meantime."""
    accounts = [site.account(f"user{number}") for number in range(4)]
    imap = site.imap_proxy()
    session = start(site)
    for _ in range(3):
        for reply in session.deliver(message(), *accounts):
            stored(reply)
        for connection in imap.connections:
            connection.end()
    assert [site.count(account) for account in accounts] == [3] * 4
    assert imap.accepted == 12


def test_unused_sessions_are_closed_in_the_background(site):
    """While LMTP waits, also in the middle of a transaction."""
    site.settings["imap.idle_timeout"] = "1s"
    accounts = [site.account(f"user{number}") for number in range(3)]
    imap = site.imap_proxy()
    session = start(site)
    for _ in range(2):
        before = imap.accepted
        for reply in session.deliver(message(), *accounts):
            stored(reply)
        assert imap.accepted == before + 3
        session.send(["MAIL FROM:<a@x>"])
        assert session.reply().code == 250
        wait_until(lambda: all(connection.ended[CLIENT] for connection in imap.connections), "the ends")
        assert session.command("RSET").code == 250


def too_many(server, most, how):
    """A server that allows this many sessions. how: what happens to another; late: it is closed, and a session that has
    ended still counts when the next three come."""
    open_now, leaving = set(), {}

    def greeting(client, tag, arguments):
        for other in list(leaving):
            leaving[other] -= 1
            if leaving[other] == 0:
                del leaving[other]
        client.excess = len(open_now) + len(leaving) >= most
        if client.excess and how in ("closed", "late"):
            client.close()
        if client.excess and how == "BYE":
            client.send("* BYE too many sessions")
            client.close()
        if not client.excess:
            open_now.add(client)
        server().do_greeting(client, tag, arguments)

    def authenticate(client, tag, arguments):
        if client.excess:
            client.send(f"{tag} NO [{how}] Maximum number of connections exceeded")
        else:
            server().do_authenticate(client, tag, arguments)

    def logout(client, tag, arguments):
        open_now.discard(client)
        if how == "late":
            leaving[client] = 4
        server().do_logout(client, tag, arguments)
    return {"GREETING": greeting, "AUTHENTICATE": authenticate, "LOGOUT": logout}


@pytest.mark.parametrize("how", ["closed", "late", "BYE", "LIMIT", "UNAVAILABLE"])
def test_too_many_sessions_for_the_server(site, how):
    """Courier's MAXPERIP, Dovecot's mail_max_userip_connections: unused sessions make room."""
    server = fake(site, script=too_many(lambda: server, 2 if how == "late" else 4, how))
    session = start(site)
    for account in TEN:
        stored(session.deliver(message(), account)[0])
    for reply in session.deliver(message(), *TEN):
        stored(reply)
    assert len(server.appended) == 20


def test_room_is_made_for_several(site):
    """A refusal costs half of the unused sessions, so that the next login is not refused, too."""
    server = fake(site, script=too_many(lambda: server, 4, "LIMIT"))
    session = start(site)
    for account in TEN:
        stored(session.deliver(message(), account)[0])
    refused = [name for name, _ in server.commands].count("AUTHENTICATE") - len(TEN)
    assert refused == 3
    for account in reversed(TEN[-2:]):
        stored(session.deliver(message(), account)[0])
    assert [name for name, _ in server.commands].count("AUTHENTICATE") == len(TEN) + refused


def test_an_account_that_gets_none_ends_those_of_others_once(site):
    """As with another limit, for which no room can be made."""
    server = fake(site, script=too_many(lambda: server, 2, "LIMIT"))
    others = server.script["AUTHENTICATE"]

    def authenticate(client, tag, arguments):
        client.excess |= account_of(arguments) == TEN[9]
        others(client, tag, arguments)
    server.script["AUTHENTICATE"] = authenticate
    session = start(site)
    for number in (0, 1, 2, 9, 0, 1):       # the server's limit is learned; then there is no room
        assert codes(session.deliver(message(), TEN[number])) == [451 if number == 9 else 250]
    logins = [name for name, _ in server.commands].count("AUTHENTICATE")
    for number in (9, 0, 1, 9, 0, 1):
        assert codes(session.deliver(message(), TEN[number])) == [451 if number == 9 else 250]
    assert [name for name, _ in server.commands].count("AUTHENTICATE") == logins + 2


def test_no_more_sessions_than_descriptors(site):
    server = fake(site)
    service = Service(site, workers=1, settings={"imap.sessions": 1000},
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (80, 80)))
    client = service.connect()
    for number in range(100):
        stored(client.deliver(message(), f"user{number}@example.org")[0])
    assert len(server.appended) == 100
    assert "too many open files" not in service.log()      # which would end more of them


def test_a_refused_account_costs_no_other_its_session(site):
    server = fake(site)
    refuse(server, TEN[2:3])
    session = start(site)
    for number in (0, 1, 2, 0, 1):
        assert codes(session.deliver(message(), TEN[number])) == [451 if number == 2 else 250]
    assert server.accepted == 3


# Sent


def test_sent_is_searched_and_appended_to_in_one_session(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    imap = site.imap_proxy()
    site.run("deliver", "-f", scuba, "-d", doug, stdin=message(sender=scuba))
    assert imap.accepted == 2
    pattern = rf"(?:Login|Logged in): user=<{re.escape(scuba)}>"
    wait_until(lambda: re.search(pattern, site.lab.dovecot.log()), "Dovecot has logged it")
    assert len(re.findall(pattern, site.lab.dovecot.log())) == 1
    assert site.count(scuba, "Sent") == site.count(doug) == 1


def test_a_kept_session_sees_what_others_have_stored(site):
    """The mail program files its copy while our session is kept that has searched that mailbox before."""
    scuba, doug = site.account("scuba"), site.account("doug")
    imap = site.imap_proxy()
    session = start(site)
    stored(session.deliver(message(sender=scuba), doug, sender=scuba)[0])   # creates Sent
    for number in range(1, 4):
        mails = [message(sender=scuba), message(sender=scuba)]
        with site.lab.dovecot.session(scuba) as other:
            for mail in mails[number % 2:]:
                assert other.append("Sent", "", None, on_the_wire(mail))[0] == "OK"
        for mail in mails:
            stored(session.deliver(mail, doug, sender=scuba)[0])
        assert (site.count(scuba, "Sent"), site.count(doug)) == (2 * number + 1, 2 * number + 1)
    assert imap.accepted == 2


def test_a_copy_in_doubt_is_looked_for_in_a_new_session(site):
    scuba = site.account()
    imap = site.imap_proxy()
    session = start(site)
    mail = message()
    stored(session.deliver(mail, scuba)[0])
    stored(session.deliver(message(), scuba)[0])
    assert imap.accepted == 1
    site.ledger.claim(days=1)
    stored(session.deliver(mail, scuba)[0])
    assert imap.accepted == 2 and site.count(scuba) == 2
    stored(session.deliver(message(), scuba)[0])
    assert imap.accepted == 2
