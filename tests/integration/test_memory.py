# SPDX-License-Identifier: ISC
"""A hostile database cannot make us use more memory than allowed; how much that is, is a setting.

Seen to fail with: no count of what is received; notices before the session printed."""

import subprocess

import expect
import pytest
from lab import fake_postgres, lab as lab_module, lmtp
from lab.fake_postgres import FakePostgres, description, notice, packet, row
from lab.messages import message, on_the_wire
from lab.process import peak_until_end

FLOOD = 768 << 20       # maximum number of bytes sent
ROOM = 200 << 20        # the program's limit: far more than it needs, including a sanitizer's share
ROWS = row(b"x" * 1000) * 1000
PATIENT = {"delivery.deadline": "800s", "delivery.hold_off": "900s", "imap.timeout": "300s"}  # for large messages
STARTED = packet(b"1") + packet(b"2") + description("a")

ANSWERS = {
    "rows": (STARTED, ROWS),
    "one row": (STARTED + b"D" + (FLOOD - 1).to_bytes(4, "big"), b"\0" * (1 << 20)),
    "notices": (b"", notice(b"x" * 1000) * 1000),
    "one notice": (b"N" + (FLOOD - 1).to_bytes(4, "big"), b"S" * (1 << 20)),
    "notifications": (b"", packet(b"A", b"\0\0\0\1channel\0payload\0") * 20_000),
    "parameters": (b"", b"".join(packet(b"S", b"name%d\0%s\0" % (number, b"v" * 1000)) for number in range(1000))),
}


def flood(first, then):
    def script(client):
        client.batch()
        client.socket.sendall(first)
        for _ in range(FLOOD // len(then)):
            client.socket.sendall(then)
    return script


def use(site, server):
    site.use(server)
    site.settings["database.conninfo"] = f"host=127.0.0.1 port={server.port} dbname=a user=a password=a sslmode=disable"


def peak(site, *words, stdin):
    """Runs the program; returns its exit status, its output, and its peak memory in bytes."""
    path = site.write("message", stdin.decode())
    with open(path, "rb") as file:
        process = subprocess.Popen([lab_module.program(), "-c", site.write("oncedrop.conf", site.configuration()), *words],
                                   stdin=file, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=site.environment())
        most = peak_until_end(process)
        output = process.stdout.read().decode()
    return process.returncode, output, most


@pytest.mark.postgres
@pytest.mark.parametrize("first,then", ANSWERS.values(), ids=ANSWERS.keys())
def test_an_answer_without_end(site, first, then):
    use(site, FakePostgres(flood(first, then)))
    status, output, most = peak(site, "deliver", "-d", "scuba@example.org", stdin=message())
    assert status == 75 and output.startswith("4.3.0 database: ") and output.count("\n") == 1, (status, output)
    assert most < ROOM, most


class BeforeTheSession(FakePostgres):
    """Sends this before the session is ready."""

    def talk(self, sock):
        client = fake_postgres.Client(self, sock)
        client.startup()
        client.socket.sendall(packet(b"R", b"\0\0\0\0"))
        for _ in range(FLOOD // (1 << 20)):
            client.socket.sendall(self.script)


@pytest.mark.postgres
@pytest.mark.parametrize("kind", ["notices", "parameters"])
def test_before_the_session(site, kind):
    use(site, BeforeTheSession(ANSWERS[kind][1]))
    status, output, most = peak(site, "deliver", "-d", "scuba@example.org", stdin=message())
    assert status == 75 and output.startswith("4.3.0 database: ") and output.count("\n") == 1, (status, output[:500])
    assert most < ROOM, most


@pytest.mark.postgres
def test_a_notice_before_the_session_is_not_printed(site):
    """libpq would print it, bypassing all control of what is written where."""
    class Told(FakePostgres):
        def talk(self, sock):
            client = fake_postgres.Client(self, sock)
            client.startup()
            client.socket.sendall(packet(b"R", b"\0\0\0\0") + notice(b"5.7.1 go away"))

    use(site, Told())
    expect.deferred(site.deliver(message(), "scuba@example.org", merge=True), r"4\.3\.0", "database")
    done = site.run("check", merge=True)
    assert done.exit == 1 and "go away" not in done.out, done


def test_more_than_the_memory_is_deferred(site):
    """Without any count RLIMIT_DATA remains: failing to get memory ends the delivery, and is no bounce."""
    scuba = site.account()
    site.settings.update({"delivery.memory": "64M", **PATIENT})
    big = message(body=b"0123456789abcdef\n" * 2_000_000)

    def deliver():
        return site.start_delivery(big, scuba).finish(900)
    expect.stored(deliver())
    site.settings["delivery.memory"] = "1M"
    expect.deferred(deliver(), r"4\.3\.5", "memory")
    site.settings["delivery.memory"] = "0"
    expect.duplicate(deliver())


@pytest.mark.parametrize("level", ["text", "raw"])
def test_a_large_message_fits_into_the_least_there_is(site, level):
    scuba = site.account()
    site.settings.update({"delivery.memory": "64M", "record.level": level, "delivery.size_limit": "0", **PATIENT})
    big = message(body=b"0123456789abcdef\n" * 3_000_000)
    session = lmtp.Session(site)
    session.socket.settimeout(900)
    session.hello()
    for reply in session.deliver(big, scuba):
        lmtp.stored(reply)
    assert [one.raw for one in site.messages(scuba)] == [on_the_wire(big)]
