# SPDX-License-Identifier: ISC
"""The Sent copy at its server: it is made after the inboxes are settled, and delays no recipient.

Seen to fail: with the Sent copy made before the inboxes' (deliver.c: deliver); with a failed login tried again
(mailbox.c: is_outdated always true); with a kept session searched in doubt (append.c: search_once)."""

import base64
import threading

import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.lmtp import start, stored
from lab.messages import message
from lab.process import wait_until

LISA, SCUBA = (f"{name}@example.org" for name in ("lisa", "scuba"))


class Filled(FakeImap):
    """Its mailboxes are not empty: they are searched, whether the message is in one already or not."""

    def do_examine(self, client, tag, _arguments):
        client.send(f"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n{tag} OK [READ-ONLY] done")


def fake(site, **script):
    """A server on which these functions are called as function(client, tag, arguments, go_on); go_on() answers. After the
    login, client.account says whose session it is."""
    def bind(name, function):
        def call(client, tag, arguments):
            if name == "AUTHENTICATE":
                client.account = base64.b64decode(arguments.split()[1]).decode().split("\0")[0]
            method = getattr(server, "do_" + name.lower().replace(" ", "_"), None)
            function(client, tag, arguments, lambda: method(client, tag, arguments) if method
                     else client.send(f"{tag} OK done"))
        return call
    script = {"AUTHENTICATE": lambda _client, _tag, _arguments, go_on: go_on(), **script}
    server = site.use(Filled(capabilities=CAPABILITIES + " UNSELECT", script={
        name.replace("_", " "): bind(name.replace("_", " "), function) for name, function in script.items()}))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.timeout": "15s"})
    return server


def state(site, role):
    """Of the newest message's."""
    return site.value("SELECT max(state) FROM oncedrop.copy WHERE role = %s"
                      " AND message = (SELECT max(id) FROM oncedrop.message)", (role,))


@pytest.mark.parametrize("name", ["GREETING", "AUTHENTICATE", "EXAMINE", "FETCH", "APPEND", "message"])
def test_a_silent_sent_mailbox_holds_up_nobody(site, name):
    """The inbox is stored, committed and settled before the server of the Sent mailbox says anything."""
    over, settled = threading.Event(), []

    def silent(client, tag, arguments, go_on):
        sent = len(server.sockets) == 2 if name == "GREETING" else client.account == LISA
        if not sent or over.is_set():
            go_on()
            return
        if name == "message":
            server.read_append(client, arguments)
        wait_until(lambda: state(site, "inbox") == "stored", "the inbox's commit")
        settled.append(True)
        client.line()       # until the client has gone
    server = fake(site, **{"APPEND" if name == "message" else name: silent})
    site.settings["imap.timeout"] = "1s"
    session, mail = start(site), message(sender=LISA)
    reply = session.deliver(mail, SCUBA, sender=LISA)[0]
    assert reply.code == 451 and "Sent copy of" in reply.text, reply
    assert settled == [True]
    assert [box for box, _ in server.appended] == ["INBOX"]
    assert state(site, "sent") == ("appending" if name == "message" else "pending")
    over.set()
    site.ledger.age(days=1, state="appending")
    assert session.deliver(mail, SCUBA, sender=LISA)[0].code == 250
    assert [box for box, _ in server.appended] == ["INBOX", "Sent"]


def test_a_refused_login_is_tried_once(site):
    def authenticate(client, tag, _arguments, go_on):
        if client.account != LISA:
            go_on()
            return
        tried.append(True)
        client.send(f"{tag} NO [AUTHENTICATIONFAILED] who?")
    tried = []
    server = fake(site, AUTHENTICATE=authenticate)
    reply = start(site).deliver(message(sender=LISA), SCUBA, sender=LISA)[0]
    assert reply.code == 451 and "IMAP login of lisa" in reply.text, reply
    assert tried == [True]
    assert [box for box, _ in server.appended] == ["INBOX"]


def test_mail_to_oneself_has_one_session(site):
    server = fake(site)
    stored(start(site).deliver(message(sender=LISA), LISA, sender=LISA)[0])
    assert server.accepted == 1
    assert [box for box, _ in server.appended] == ["INBOX", "Sent"]


def test_only_sent_is_left(site):
    server = fake(site)
    session, mail = start(site), message(sender=LISA)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    site.sql("UPDATE oncedrop.copy SET state = 'pending' WHERE role = 'sent'")
    assert session.deliver(mail, SCUBA, sender=LISA)[0].code == 250
    assert [box for box, _ in server.appended] == ["INBOX", "Sent", "Sent"]


def test_in_doubt_sent_is_searched_on_a_new_session(site):
    clients = []

    def examine(client, _tag, _arguments, go_on):
        clients.append(client)
        go_on()
    server = fake(site, EXAMINE=examine)
    session, mail = start(site), message(sender=LISA)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = role = 'sent'")
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    assert clients[0] is not clients[1]
    assert [box for box, _ in server.appended] == ["INBOX", "Sent"] * 2


def test_sent_in_doubt_takes_no_place_from_an_inbox(site):
    """Two places for sessions, one of which must be replaced. No mail goes to another account."""
    lost, owners = [], []

    def append(client, tag, arguments, _go_on):
        if client.account == SCUBA and lost:
            lost.clear()
            client.close()
        box, data = server.read_append(client, arguments)
        owners.append((client.account, box))
        server.appended.append((box, data))
        client.send(f"{tag} OK [APPENDUID 7 {len(server.appended)}] stored")
    server = fake(site, APPEND=append)
    site.settings["imap.sessions"] = "2"
    session, mail = start(site), message(sender=LISA)
    stored(session.deliver(message(), SCUBA)[0])
    lost.append(True)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = role = 'sent' WHERE message = "
             "(SELECT max(id) FROM oncedrop.message)")
    lost.append(True)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    assert not lost
    assert owners == [(SCUBA, "INBOX")] + [(SCUBA, "INBOX"), (LISA, "Sent")] * 2
