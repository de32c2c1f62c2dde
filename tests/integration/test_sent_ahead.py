# SPDX-License-Identifier: ISC
"""What is begun for the Sent copy while the inboxes are filled: it saves time, and costs nobody any.

Seen to fail: with the Sent mailbox's session opened after the inboxes' commit, or searched after it (sent_ahead.c: begin_next
left out); with its answer waited for, however long (sent_ahead.c: TOGETHER_MS), or recorded apart from
theirs (inboxes_deliver: sent_take left out); with answers read before all of them is there (mailbox_ahead.c: mailbox_ahead_arrived always AHEAD_OVER); with a failed login tried again (sessions.c: mailbox_open instead of
end_opening)."""

import base64
import threading

import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.lmtp import start, stored
from lab.messages import message
from lab.process import wait_until

LISA, SCUBA, DOUG = (f"{name}@example.org" for name in ("lisa", "scuba", "doug"))
SECONDS = 20


class Filled(FakeImap):
    """Its mailboxes are not empty: they are searched, whether the message is in one already or not."""

    def do_examine(self, client, tag, _arguments):
        client.send(f"* 1 EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n{tag} OK [READ-ONLY] done")


def fake(site, **script):
    """A server on which these functions are called as function(client, tag, arguments, go_on); go_on() answers. After the
    login, client.account tells whose session it is."""
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


@pytest.mark.parametrize("recipients", [[SCUBA], [SCUBA, DOUG]], ids=["one", "two"])
def test_the_inbox_is_answered_after_sent_was_asked(site, recipients):
    """The login, the search and the APPEND of the Sent copy have arrived before an inbox has its answer, and all copies are
    recorded by one COMMIT. First with new sessions, then with kept ones."""
    answered = threading.Event()

    def append(client, tag, arguments, _go_on):
        server.appended.append(server.read_append(client, arguments))
        if client.account == LISA:
            client.send(f"{tag} OK [APPENDUID 7 1] stored")
            answered.set()
            return
        assert answered.wait(SECONDS)
        client.send(f"{tag} OK [APPENDUID 7 {len(server.appended)}] stored")
    server = fake(site, APPEND=append)
    session = start(site)
    for turn in range(2):
        answered.clear()
        for reply in session.deliver(message(sender=LISA), *recipients, sender=LISA):
            stored(reply)
        assert site.value("SELECT count(DISTINCT xmin::text) FROM oncedrop.copy WHERE state = 'stored'") == turn + 1
        assert [name for name, _ in server.commands].count("EXAMINE") == turn + 1
    assert server.accepted == len(recipients) + 1
    assert [box for box, _ in server.appended].count("Sent") == 2


def message_first(server, client, tag, arguments, arrived):
    """Reads a message; an inbox is answered only when the one for Sent has arrived. True: it is that one."""
    data = server.read_append(client, arguments)
    if client.account == LISA:
        arrived.set()
        return data
    assert arrived.wait(SECONDS)
    server.appended.append(data)
    client.send(f"{tag} OK [APPENDUID 7 1] stored")
    return None


ANSWERS = ["GREETING", "AUTHENTICATE", "EXAMINE", "FETCH", "APPEND", "message"]


@pytest.mark.parametrize("half", [False, True], ids=["silent", "half an answer"])
@pytest.mark.parametrize("name", ANSWERS)
def test_a_silent_sent_mailbox_holds_up_nobody(site, name, half):
    """The inbox is stored, committed and settled while the server of the Sent mailbox says nothing, or not all."""
    over, arrived, settled = threading.Event(), threading.Event(), []

    def silent(client, tag, arguments, go_on):
        sent = len(server.sockets) == 2 if name == "GREETING" else client.account == LISA
        if name == "message" and not over.is_set():
            if not message_first(server, client, tag, arguments, arrived):
                return
        elif not sent or over.is_set():
            go_on()
            return
        if half:
            client.send(b"* OK [" if name == "GREETING" else f"* OK one\r\n{tag} O".encode())
        wait_until(lambda: state(site, "inbox") == "stored", "the inbox's commit")
        settled.append(True)
        client.line()       # until the client has gone
    server = fake(site, **{"APPEND" if name == "message" else name.replace(" ", "_"): silent})
    site.settings["imap.timeout"] = "3s"
    session = start(site)
    mail = message(sender=LISA)
    reply = session.deliver(mail, SCUBA, sender=LISA)[0]
    assert reply.code == 451 and "Sent copy of" in reply.text, reply
    assert settled == [True]
    assert [box for box, _ in server.appended] == ["INBOX"]
    assert state(site, "sent") == ("appending" if name == "message" else "pending")
    over.set()
    site.sql("UPDATE oncedrop.copy SET attempt_at = attempt_at - interval '1 day' WHERE state = 'appending'")
    assert session.deliver(mail, SCUBA, sender=LISA)[0].code == 250
    assert [box for box, _ in server.appended] == ["INBOX", "Sent"]


@pytest.mark.parametrize("name", ANSWERS)
def test_a_slow_sent_mailbox_holds_up_nobody(site, name):
    """The server of the Sent mailbox answers only when the inbox is committed."""
    arrived, asked = threading.Event(), []

    def slow(client, tag, arguments, go_on):
        sent = len(server.sockets) == 2 if name == "GREETING" else client.account == LISA
        data = message_first(server, client, tag, arguments, arrived) if name == "message" else None
        if name == "message" and data is None:
            return
        if sent:
            asked.append(True)
            wait_until(lambda: state(site, "inbox") == "stored", "the inbox's commit")
        if data is None:
            go_on()
            return
        server.appended.append(data)
        client.send(f"{tag} OK [APPENDUID 7 7] stored")
    server = fake(site, **{"APPEND" if name == "message" else name.replace(" ", "_"): slow})
    stored(start(site).deliver(message(sender=LISA), SCUBA, sender=LISA)[0])
    assert asked and [box for box, _ in server.appended] == ["INBOX", "Sent"]


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


@pytest.mark.parametrize("rejected", ["bounce", "quarantine"])
def test_the_session_of_an_inbox_is_left_to_it(site, rejected):
    """To store the message elsewhere or otherwise, when it is refused there. The other inbox is answered only after Sent
    would have had the session, in half of the turns."""
    def append(client, tag, arguments, _go_on):
        box, data = server.read_append(client, arguments)
        if client.account == SCUBA:
            asked.wait(0.3)
        if client.account == LISA and box != "Sent" and b"Subject: Quarantined" not in data and refuses(box):
            client.send(f"{tag} NO {'[TRYCREATE] none' if rejected == 'bounce' else 'Message contains invalid header'}")
            return
        server.appended.append((box, data))
        client.send(f"{tag} OK [APPENDUID 7 {len(server.appended)}] stored")

    def refuses(box):
        return rejected == "quarantine" or box != "INBOX"

    def examine(_client, _tag, _arguments, go_on):
        asked.set()
        go_on()
    server = fake(site, APPEND=append, EXAMINE=examine, CREATE=lambda client, tag, _arguments, _go_on: client.send(
        f"{tag} NO [CANNOT] not that name"))
    site.settings.update({"route.detail": "folder", "delivery.rejected": rejected, "delivery.reject_after": "0s"})
    session, lisa = start(site), LISA.replace("@", "+x@") if rejected == "bounce" else LISA
    for _ in range(6):
        asked = threading.Event()
        for reply in session.deliver(message(sender=LISA), lisa, SCUBA, sender=LISA):
            assert reply.code == 250, reply


def test_only_sent_is_left(site):
    """Then its session is opened while the claim is committed."""
    server = fake(site)
    session, mail = start(site), message(sender=LISA)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    site.sql("UPDATE oncedrop.copy SET state = 'pending' WHERE role = 'sent'")
    assert session.deliver(mail, SCUBA, sender=LISA)[0].code == 250
    assert [box for box, _ in server.appended] == ["INBOX", "Sent", "Sent"]


def test_in_doubt_sent_is_searched_after_the_inboxes(site):
    """And on a session that is new to the delivery. The inbox is answered only after a search would have come."""
    searched, early, clients = threading.Event(), [], []

    def examine(client, _tag, _arguments, go_on):
        clients.append(client)
        searched.set()
        go_on()

    def append(client, tag, arguments, _go_on):
        server.appended.append(server.read_append(client, arguments))
        if client.account == SCUBA and len(clients) == 1:
            searched.clear()
            early.append(searched.wait(1))
        client.send(f"{tag} OK [APPENDUID 7 {len(server.appended)}] stored")
    server = fake(site, EXAMINE=examine, APPEND=append)
    session, mail = start(site), message(sender=LISA)
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = role = 'sent'")
    early.clear()
    stored(session.deliver(mail, SCUBA, sender=LISA)[0])
    assert early == [False]
    assert clients[0] is not clients[1]
    assert [box for box, _ in server.appended] == ["INBOX", "Sent"] * 2


def test_sent_in_doubt_takes_no_place_from_an_inbox(site):
    """Two places for sessions: that of Sent waits to be used, while the kept one of the inbox must be replaced. Nobody's
    mail goes to another account."""
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
