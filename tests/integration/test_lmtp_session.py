# SPDX-License-Identifier: ISC
"""LMTP: what is kept between messages, and every way in which a session can end.

Each test was seen to fail: by kept sessions and connections that are used without a look at them; by a cache for 4 or 20
sessions; by a message without its end mark that is delivered; by no handler for signals, no deadline, or one that is not
disarmed; by stderr left on the socket; by another code than 421 for a broken configuration."""

import contextlib
import fcntl
import os
import shlex
import shutil
import signal
import smtplib
import socket
import stat
import termios
import time

import pytest
from lab import lab as lab_module, lmtp
from lab.fake_imap import FakeImap
from lab.lmtp import Session, start, stored
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import SERVER, without_early_literals
from lab.site import Site, new_site


def nothing_claimed(site):
    return site.value("SELECT count(*) FROM oncedrop.message") == 0


def sockets(session):
    directory = f"/proc/{session.process.pid}/fd"
    count = 0
    for name in os.listdir(directory):
        with contextlib.suppress(FileNotFoundError):    # closed in the meantime
            count += stat.S_ISSOCK(os.stat(os.path.join(directory, name)).st_mode)
    return count


# Kept connections


def test_connections_are_kept_from_message_to_message(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    imap, database = site.imap_proxy(), site.database_proxy_if_any()
    session = start(site)
    for _ in range(5):
        for reply in session.deliver(message(), scuba, doug):
            stored(reply)
    assert imap.accepted == 2 and (database is None or database.accepted == 1)
    assert site.count(scuba) == site.count(doug) == 5


def test_known_messages_one_after_another(site):
    """After one of them the next look expects another; it may as well be for a new recipient, or new."""
    scuba, doug = site.account("scuba"), site.account("doug")
    session = start(site)
    mails = [message() for _ in range(3)]
    for mail in mails:
        stored(session.deliver(mail, scuba)[0])
    for mail in mails * 2:
        assert session.deliver(mail, scuba)[0].text.startswith("2.1.5 duplicate uid=")
    stored(session.deliver(mails[0], doug)[0])
    stored(session.deliver(message(), scuba)[0])
    assert [site.count(account) for account in (scuba, doug)] == [4, 1]


def test_only_so_many_imap_sessions_are_kept(site):
    site.settings["imap.sessions"] = "8"
    accounts = [site.account(f"user{number}") for number in range(11)]
    imap = site.imap_proxy()
    session = start(site)
    for account in accounts[:8]:
        stored(session.deliver(message(), account)[0])
    before = sockets(session)
    for account in accounts[8:]:
        stored(session.deliver(message(), account)[0])
    assert imap.accepted == 11
    wait_until(lambda: sockets(session) == before, "as many sockets as before")
    for account in accounts[-8:]:       # the most recently used ones
        stored(session.deliver(message(), account)[0])
    assert imap.accepted == 11
    stored(session.deliver(message(), accounts[0])[0])
    assert imap.accepted == 12
    wait_until(lambda: sockets(session) == before, "as many sockets as before")


def test_the_session_that_ends_is_the_one_unused_longest(site):
    """Not the one that was opened first."""
    site.settings["imap.sessions"] = "8"
    accounts = [site.account(f"user{number}") for number in range(9)]
    imap = site.imap_proxy()
    session = start(site)
    for account in [*accounts[:8], accounts[0], accounts[8]]:
        stored(session.deliver(message(), account)[0])
    assert imap.accepted == 9
    stored(session.deliver(message(), accounts[0])[0])
    assert imap.accepted == 9
    stored(session.deliver(message(), accounts[1])[0])
    assert imap.accepted == 10


def test_a_talkative_server_is_heard_in_each_command(site):
    """Unsolicited responses are limited for each command, not for the session."""
    def talk(client, tag, arguments):
        client.send("* OK a line of a server that likes to talk\r\n" * 2000)
        server.do_append(client, tag, arguments)
    server = site.use(FakeImap(script={"APPEND": talk}))
    site.settings.update({"imap.tls": "none", "imap.port": server.port})
    session = start(site)
    for _ in range(4):
        stored(session.deliver(message(), "scuba@example.org")[0])
    assert (server.accepted, len(server.appended)) == (1, 4)


def cut_imap(site, imap, _database):
    imap.cut()


def cut_database(site, _imap, database):
    database.cut()


def end_database_session(site, _imap, _database):
    assert site.ledger.end_sessions() == 1


def end_imap_session(site, imap, _database):
    """Dovecot sends BYE."""
    account = site.value("SELECT DISTINCT account FROM oncedrop.copy")
    os.kill(site.lab.dovecot.newest_process(account, sessions=imap.accepted), signal.SIGTERM)
    wait_until(lambda: imap.connections[-1].ended[SERVER], "the session's end")


def cut_both(site, imap, database):
    imap.cut()
    database.cut()


@pytest.mark.parametrize("lose", [cut_imap, end_imap_session, *(
    pytest.param(lose, marks=pytest.mark.postgres) for lose in (cut_database, end_database_session, cut_both))])
def test_a_connection_lost_between_two_messages_is_made_anew(site, lose):
    scuba = site.account()
    mails = [message() for _ in range(3)]
    imap, database = site.imap_proxy(), site.database_proxy_if_any()
    session = start(site)
    for mail in mails:
        stored(session.deliver(mail, scuba)[0])
        lose(site, imap, database)
    assert [copy.raw for copy in site.messages(scuba)] == [on_the_wire(mail) for mail in mails]


def test_a_kept_session_that_does_not_answer_is_replaced(site):
    scuba = site.account()
    silent = []
    site.settings["imap.timeout"] = "10s"

    def watch(connection, side, data):
        return b"" if connection in silent else without_early_literals(data) if side == SERVER else data

    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    imap = site.imap_proxy(watch)
    session = start(site)
    stored(session.deliver(message(), scuba)[0])
    silent.append(imap.connections[0])
    stored(session.deliver(message(), scuba)[0])
    assert imap.accepted == 2
    assert site.count(scuba) == 2


@pytest.mark.postgres
def test_a_database_that_comes_back_is_used(site):
    scuba = site.account()
    database = site.database_proxy()
    port, database.target_port = database.target_port, 1
    session = start(site)
    mail = message()
    [reply] = session.deliver(mail, scuba)
    assert reply.code == 451 and reply.text.startswith("4.3.0 database: "), reply
    database.target_port = port
    stored(session.deliver(mail, scuba)[0])


# The end of a session


@pytest.fixture(scope="module")
def idle(lab, ledgers):
    """A site for tests that deliver nothing."""
    site = new_site(lab, ledgers)
    yield site
    site.close()
    assert not site.sanitizer_reports()


@pytest.fixture
def bare(lab):
    """A site without a database."""
    site = Site(lab)
    yield site
    site.close()


MAIL = message()
STATES = {
    "nothing": b"",
    "in a command": b"LHL",
    "LHLO": b"LHLO x\r\n",
    "MAIL": b"LHLO x\r\nMAIL FROM:<a@x>\r\n",
    "RCPT": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\n",
    "DATA": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\nDATA\r\n",
    "in the header": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\nDATA\r\n" + MAIL[:30],
    "after the text": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\nDATA\r\n" + lmtp.stuffed(MAIL)[:-3],
    "after the dot": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\nDATA\r\n" + lmtp.stuffed(MAIL)[:-2],
    "after the dot's CR": b"LHLO x\r\nMAIL FROM:<a@x>\r\nRCPT TO:<USER>\r\nDATA\r\n" + lmtp.stuffed(MAIL)[:-1],
}


@pytest.mark.parametrize("half", [True, False], ids=["half closed", "closed"])
@pytest.mark.parametrize("said", STATES.values(), ids=STATES.keys())
def test_early_close(idle, said, half):
    scuba = idle.account()
    session = Session(idle)
    session.send(said.replace(b"USER", scuba.encode()))
    # Unread input would turn the end into an error, and the program would not even see the input before it.
    session.replies(1 + min(said.count(b"\r\n"), 4))
    if half:
        session.socket.shutdown(socket.SHUT_WR)
        assert session.rest() == b""
    else:
        session.stream.close()
        session.socket.close()
    assert session.finish() == 0
    assert nothing_claimed(idle)
    assert idle.count(scuba) == 0


def test_close_instead_of_reading_the_reply(site):
    """The message was complete: it is delivered, and a retry is a duplicate."""
    scuba = site.account()
    session = start(site)
    session.envelope([scuba])
    session.send(lmtp.stuffed(MAIL))
    session.stream.close()
    session.socket.close()
    assert session.finish() == 0
    assert site.count(scuba) == 1
    assert "duplicate" in start(site).deliver(MAIL, scuba)[0].text


def test_a_client_that_only_shuts_its_side_down_gets_its_replies(site):
    scuba = site.account()
    session = start(site)
    session.envelope([scuba])
    session.send(lmtp.stuffed(message()))
    session.socket.shutdown(socket.SHUT_WR)
    stored(session.reply())
    assert session.rest() == b""
    assert session.finish() == 0


@pytest.mark.parametrize("when", ["idle", "in a transaction", "in the message"])
def test_asked_to_stop(idle, when):
    scuba = idle.account()
    session = start(idle)
    if when == "in a transaction":
        session.send(["MAIL FROM:<a@x>", f"RCPT TO:<{scuba}>"])
        session.replies(2)
    elif when == "in the message":
        session.envelope([scuba])
        session.send(lmtp.stuffed(MAIL)[:-3])
    session.process.send_signal(signal.SIGTERM)
    assert session.rest() == b""
    assert session.finish() == 75
    assert nothing_claimed(idle)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ended_in_a_delivery(site, number):
    """No reply: the client defers all recipients. The copy is held until the hold-off, then searched for."""
    scuba, doug = site.account("scuba"), site.account("doug")
    imap = site.imap_proxy()
    imap.stall()
    session = start(site)
    mail = message()
    session.envelope([scuba, doug])
    session.send(lmtp.stuffed(mail))
    wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'") == 2, "the claim")
    session.process.send_signal(number)
    assert session.rest() == b""
    imap.resume()
    session = start(site)
    held = session.deliver(mail, scuba, doug)
    assert [reply.code for reply in held] == [451, 451], held
    site.ledger.age(days=1)
    assert [reply.code for reply in session.deliver(mail, scuba, doug)] == [250, 250]
    assert site.count(scuba) == site.count(doug) == 1


def test_over_the_deadline(site):
    scuba = site.account()
    site.settings["delivery.deadline"] = "1s"
    site.imap_proxy().stall()
    session = start(site)
    session.envelope([scuba])
    session.send(lmtp.stuffed(message()))
    assert session.rest() == b""
    assert session.finish() == 75


def test_the_deadline_is_that_of_each_delivery(site):
    """Neither waiting for a message nor reading it counts."""
    scuba = site.account()
    site.settings["delivery.deadline"] = "6s"
    session = start(site)
    stored(session.deliver(message(), scuba)[0])
    session.envelope([scuba])
    session.send(MAIL[:20])
    time.sleep(6.1)     # not a condition: longer than the deadline
    session.send(lmtp.stuffed(message()))
    stored(session.reply())


def test_what_failed_while_the_message_came_is_not_forgotten(site, monkeypatch):
    """The directory for the temporary file is missing when it is needed, and then exists again: the bytes in between
    are lost."""
    scuba = site.account()
    temporary = os.path.join(site.directory, "temporary")
    monkeypatch.setenv("TMPDIR", temporary)
    session = start(site)
    mail = message(body=b"0123456789abcde\n" * 100_000)
    session.envelope([scuba])
    wire = lmtp.stuffed(mail)
    session.send(wire[:1_500_000])
    wait_until(lambda: fcntl.ioctl(session.socket, termios.TIOCOUTQ, bytes(4)) == bytes(4), "all of that is read")
    os.mkdir(temporary)
    session.send(wire[1_500_000:])
    reply = session.reply()
    assert reply.code == 451 and "temporary file" in reply.text, reply
    assert nothing_claimed(site)
    stored(session.deliver(mail, scuba)[0])
    assert [copy.raw for copy in site.messages(scuba)] == [on_the_wire(mail)]


# Configuration, and anything else that could appear on the socket


def no_file(site):
    return {"options": ["-c", "/nonexistent/oncedrop.conf"]}


def bad_setting(site):
    site.settings["delivery.deadline"] = "soon"
    return {}


def readable_by_all(site):
    os.chmod(site.write("password", "secret\n"), 0o644)
    return {}


def argument(site):
    return {"arguments": ["127.0.0.1:24"]}


@pytest.mark.parametrize("merge", [True, False], ids=["stderr is the socket", "stderr is a file"])
@pytest.mark.parametrize("spoil", [no_file, bad_setting, readable_by_all, argument])
def test_a_configuration_that_cannot_be_used(bare, spoil, merge):
    more = spoil(bare)
    session = Session(bare, *more.pop("options", []), merge=merge, **more)
    reply = session.reply()
    assert reply.code == 421 and reply.text.startswith("4.3.5 "), reply
    assert session.rest() == b""
    assert session.finish() == 75


def untrusted_certificate(site):
    site.settings["imap.ca_file"] = site.lab.authority.self_signed("other")[0]


def database_without_schema(site):
    site.settings["database.schema"] = "elsewhere"


def no_database(site):
    site.settings["database.conninfo"] = "host=127.0.0.1 port=1"


def nothing(site):
    pass


@pytest.mark.parametrize("spoil", [nothing, untrusted_certificate, no_database,
                                   pytest.param(database_without_schema, marks=pytest.mark.postgres)])
def test_nothing_but_replies_comes_over_the_socket(site, spoil):
    """Even if stderr is the socket, libraries write to it, and the log is to go to stderr. The client takes every line
    that is not a reply for an error."""
    spoil(site)
    site.settings.update({"log.to": "stderr", "log.level": "debug"})
    session = start(site, "-v", merge=True)
    replies = session.deliver(message(), site.account("scuba"), site.account("doug"))
    assert [reply.code for reply in replies] == [250 if spoil is nothing else 451] * 2, replies
    assert session.command("QUIT").code == 221
    assert session.rest() == b""
    assert session.finish() == 0


# One process per connection


def unit(name):
    with open(os.path.join(lab_module.REPOSITORY, "conf", "systemd", name), encoding="utf-8") as file:
        return dict(line.strip().split("=", 1) for line in file if "=" in line and not line.startswith("#"))


STARTERS = [lmtp.Inetd] + [lmtp.Activate] * bool(shutil.which("systemd-socket-activate"))


@pytest.mark.parametrize("starter", STARTERS)
def test_started_for_each_connection(site, starter):
    """By smtplib, which reads one reply for a message, so there is one recipient. The command is that of our systemd
    unit."""
    scuba = site.account()
    command = shlex.split(unit("oncedrop-lmtp@.service")["ExecStart"])
    assert command == ["/usr/local/bin/oncedrop", "lmtp"]
    words = [lab_module.program(), "-c", site.write("oncedrop.conf", site.configuration()), *command[1:]]
    path = os.path.join(site.directory, "socket")
    site.use(starter(path, words, site.environment()))
    mails = [message() for _ in range(3)]
    with smtplib.LMTP(path) as first, smtplib.LMTP(path) as second:
        for client, mail in zip((first, second, first), mails):
            assert client.sendmail("a@x", [scuba], on_the_wire(mail)) == {}
        assert first.has_extn("pipelining") and first.has_extn("8bitmime")
        with pytest.raises(smtplib.SMTPRecipientsRefused):
            first.sendmail("a@x", [""], on_the_wire(mails[0]))
    assert [copy.raw for copy in site.messages(scuba)] == [on_the_wire(mail) for mail in mails]
