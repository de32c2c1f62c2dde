# SPDX-License-Identifier: ISC
"""The literal of an APPEND goes with the command, except its last byte, to a server with LITERAL+ or LITERAL- (RFC 7888).

Seen to fail with: the mutants early-*.patch of tests/mutants."""

import re
import signal
import threading

import expect
import pytest
from lab import locks
from lab.fake_imap import FakeImap, Gone
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER

SCUBA = "scuba@example.org"
MB = 1024 * 1024
CLAIMED = "SELECT 1 FROM oncedrop.copy WHERE state = 'appending'"


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none"})
    return server


def of_size(size):
    """A message that is this large on the wire."""
    mail = message(body="")
    more = size - len(on_the_wire(mail)) - 2
    return mail + b"x" * more + b"\n"


class Flights:
    """Who speaks, from the first APPEND on: a flight ends when the other side speaks."""

    def __init__(self, site):
        self.sides, self.sent = [], b""
        site.imap_proxy(self.watch)

    def watch(self, _connection, side, data):
        if side == CLIENT and (self.sent or b" APPEND " in data):
            self.sent += data
        if self.sent and (not self.sides or self.sides[-1] != side):
            self.sides.append(side)
        return data

    def until_ok(self):
        """Without the LOGOUT behind the OK, and its response."""
        return self.sides[:self.sides.index(SERVER) + 1] if self.announced() == b"+" else self.sides[:4]

    def announced(self):
        """What follows the literal's size."""
        return re.search(rb"APPEND .*\{\d+(\+?)\}\r\n", self.sent)[1]


@pytest.mark.parametrize("size,sign,flights", [(1000, b"+", 2), (MB, b"+", 2), (MB + 1, b"", 4)])
def test_flights_to_a_real_server(site, size, sign, flights):
    """Up to 1 MB no separate flight for the go-ahead."""
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    scuba, mail = site.account(), of_size(size)
    seen = Flights(site)
    expect.stored(site.deliver(mail, scuba))
    assert seen.announced() == sign
    assert seen.until_ok() == [CLIENT, SERVER] * (flights // 2)
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]


def test_Sent_copies(site):
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    scuba, lisa = site.account("scuba"), site.account("lisa")
    mail = message(sender=lisa)
    seen = Flights(site)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert len(re.findall(rb"APPEND .*\{\d+\+\}\r\n", seen.sent)) >= 2 and b"+ OK" not in seen.sent
    assert (site.count(scuba), site.count(lisa, "Sent")) == (1, 1)


@pytest.mark.parametrize("more,size,sign", [("LITERAL+", 5000, "+"), ("LITERAL-", 4096, "+"), ("LITERAL-", 4097, ""),
                                            ("IMAP4rev2", 1000, ""), (None, 1000, "")])
def test_what_the_server_announces(site, more, size, sign):
    server = fake(site, more=more)
    mail = of_size(size)
    expect.stored(site.deliver(mail, SCUBA))
    assert server.appended == [("INBOX", on_the_wire(mail))]
    [arguments] = [arguments for name, arguments in server.commands if name == "APPEND"]
    assert arguments.endswith(b"{%d%s}" % (size, sign.encode()))


def test_capabilities_of_before_the_login_do_not_count(site):
    server = fake(site, capabilities="IMAP4rev1 SASL-IR AUTH=PLAIN LITERAL+")
    expect.stored(site.deliver(message(), SCUBA))
    assert [arguments[-2:] for name, arguments in server.commands if name == "APPEND"] != [b"+}"]


def rest(client):
    """All that the client still sends, and whether it ends by a reset."""
    data = b""
    try:
        while more := client.stream.read1(65536):
            data += more
    except ConnectionResetError:
        return data, True
    return data, False


@pytest.mark.postgres
def test_the_last_byte_waits_for_the_claim(site):
    """The server has the rest while the database has not yet answered the claim; then the database is gone."""
    begun, ends = threading.Event(), []

    def append(client, _tag, arguments):
        _, data = server.read_literal(client, arguments.replace(b"%d+" % size, b"%d" % (size - 1)))
        begun.set()
        ends.append((data, rest(client)))
        raise Gone

    def watch(connection, side, data):
        return None if locks.wait_before_the_commit(connection, side, data, begun) else data
    mail = message()
    size = len(on_the_wire(mail))
    server = fake(site, more="LITERAL+", script={"APPEND": append})
    site.database_proxy(watch)
    expect.deferred(site.deliver(mail, SCUBA))
    wait_until(lambda: ends, "the session's end")
    assert ends == [(on_the_wire(mail)[:-1], (b"", True))]
    assert "LOGOUT" not in [name for name, _ in server.commands]


def test_killed_before_the_last_byte(site):
    """What the kernel still has goes with the process, and the rest was never sent."""
    ends = []

    def append(client, _tag, _arguments):
        wait_until(lambda: site.sql(CLAIMED), "the claim")
        [delivery] = wait_until(lambda: site.running, "its process is known")
        delivery.signal(signal.SIGKILL)
        delivery.process.wait()
        ends.append(rest(client))
        raise Gone
    mail = of_size(MB)
    fake(site, more="LITERAL+", script={"APPEND": append})
    site.start_delivery(mail, SCUBA).finish()
    wait_until(lambda: ends, "the session's end")
    [(data, reset)] = ends
    assert reset and len(data) < MB + 2


def test_a_mailbox_that_is_missing(site):
    """Refused after the literal, created, and appended to, in one session."""
    def append(client, tag, arguments):
        data = server.read_append(client, arguments)
        if "CREATE" not in [name for name, _ in server.commands]:
            client.send(f"{tag} NO [TRYCREATE] no such mailbox")
            return
        server.appended.append(data)
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    site.settings["route.detail"] = "folder"
    server = fake(site, more="LITERAL+", script={"APPEND": append})
    mail = message()
    expect.stored(site.deliver(mail, "scuba+Work@example.org"), "Work")
    assert server.appended == [("Work", on_the_wire(mail))] and server.accepted == 1


@pytest.mark.parametrize("answer,state", [("NO later", ("pending", True)), ("NO [OVERQUOTA] full", ("pending", False)),
                                          ("BAD what?", ("pending", True))])
def test_refusals(site, answer, state):
    """After the literal: only a code is certain. A server that does not know the literal gets no more."""
    def refuse(client, tag, arguments):
        server.read_append(client, arguments)
        client.send(f"{tag} {answer}")
        after.append(rest(client)[0])
        raise Gone
    after = []
    server = fake(site, more="LITERAL+", script={"APPEND": refuse})
    expect.deferred(site.deliver(message(), SCUBA))
    assert site.sql("SELECT state, doubt FROM oncedrop.copy") == [state]
    wait_until(lambda: after, "what follows")
    assert (after[0] == b"") == answer.startswith("BAD")
