# SPDX-License-Identifier: ISC
"""An IMAP server may send anything: a delivery's memory does not grow with it, and an unreadable answer is trouble,
never "not there".

Seen to fail with: messages held whole (imap_response.c: pass_literal), no bound on a response or on the messages that a
search finds."""

import expect
import pytest
from lab.fake_imap import FakeImap
from lab.lab import is_sanitized
from lab.messages import message, on_the_wire
from lab.process import peak_until_end

SCUBA = "scuba@example.org"
MUCH = 8 << 20      # bytes on top of those of an undisturbed delivery; 3 MiB were measured


def fake(site, **script):
    server = site.use(FakeImap(script={name.replace("_", " "): answer for name, answer in script.items()}))
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none",
                          "imap.search": "always", "delivery.size_limit": "0"})
    return server


def deliver(site, mail):
    """The end of the delivery, and its peak memory."""
    running = site.start_delivery(mail, SCUBA)
    most = peak_until_end(running.process)
    return running.finish(), most


@pytest.fixture
def usual(site):
    """The memory of a delivery that searches an empty mailbox: the maximum of three, since it is only sampled."""
    fake(site)
    tries = [deliver(site, message()) for _ in range(3)]
    for done, _ in tries:
        expect.stored(done)
    return max(most for _, most in tries)


def one_message(client, tag, _arguments):
    client.send("* 1 EXISTS")
    client.send(f"{tag} OK [READ-ONLY] done")


def found(client, tag, _arguments):
    client.send("* SEARCH 1")
    client.send(f"{tag} OK done")


def long_search_line(client, tag, _arguments):
    client.send(b"* SEARCH" + b" 1" * 3_900_000 + b"\r\n")
    client.send(f"{tag} OK done")


def many_search_lines(client, tag, _arguments):
    for _ in range(15):
        client.send(b"* SEARCH" + b" 1" * 500_000 + b"\r\n")
    client.send(f"{tag} OK done")


def many_lines(client, tag, _arguments):
    for _ in range(15):
        client.send(b"* LIST () \"/\" \"" + b"x" * 60_000 + b"\"\r\n")
    client.send(b"* OK [CAPABILITY" + b" x" * 30_000 + b"]\r\n")
    client.send(b"* BYE " + b"y" * 60_000 + b"\r\n")
    client.close()


def huge_literal(client, _tag, _arguments):
    client.send(b"* 1 FETCH (UID 1 BODY[] {999999999999999}\r\n")
    for _ in range(100):
        client.send(b"x" * 65536)
    client.close()


def many_literals(client, tag, _arguments):
    client.send(b"* 1 FETCH (UID 1" + b" X {60000}\r\n".ljust(60012, b"z") * 200 + b")\r\n")
    client.send(f"{tag} OK done")


def long_string(client, tag, _arguments):
    client.send(b"* 1 FETCH (UID 1 BODY[] \"" + b"x" * 10_000_000 + b"\")\r\n")
    client.send(f"{tag} OK done")


HOSTILE = {
    "a long SEARCH": {"UID SEARCH": long_search_line},
    "many SEARCH": {"UID SEARCH": many_search_lines},
    "many lines": {"UID SEARCH": many_lines},
    "a huge literal": {"UID FETCH": huge_literal},
    "many literals": {"UID FETCH": many_literals},
    "a long string": {"UID FETCH": long_string},
    "a huge literal nobody asked for": {"UID SEARCH": huge_literal},
    "many literals nobody asked for": {"EXAMINE": many_literals},
}


@pytest.mark.parametrize("script", HOSTILE.values(), ids=HOSTILE.keys())
def test_what_a_server_says_too_much_is_trouble(site, usual, script):
    server = fake(site, **{"EXAMINE": one_message, "UID SEARCH": found, **script})
    done, most = deliver(site, message())
    expect.deferred(done, r"4\.4\.1", "imap server")
    assert not server.appended
    assert is_sanitized() or most < usual + MUCH


def body_of(size):
    def fetch(client, tag, _arguments):
        client.send(f"* 1 FETCH (UID 1 BODY[] {{{size}}}\r\n".encode())
        for at in range(0, size, 1 << 20):
            client.send(b"y" * min(size - at, 1 << 20))
        client.send(")")
        client.send(f"{tag} OK done")
    return fetch


def test_a_large_candidate_is_not_held(site, usual):
    server = fake(site, **{"EXAMINE": one_message, "UID SEARCH": found, "UID FETCH": body_of(60 << 20)})
    done, most = deliver(site, message())
    expect.stored(done)
    assert len(server.appended) == 1
    assert is_sanitized() or most < usual + MUCH


def test_a_large_message_is_found_piece_by_piece(site, usual):
    """Its own bytes are in a file; those of the candidate are not kept."""
    mail = message(body=b"0123456789abcde\n" * 1_000_000)
    stored = on_the_wire(mail)

    def fetch(client, tag, _arguments):
        client.send(f"* 1 FETCH (UID 1 BODY[] {{{len(stored)}}}\r\n".encode())
        for at in range(0, len(stored), 99_999):
            client.send(stored[at:at + 99_999])
        client.send(")")
        client.send(f"{tag} OK done")
    server = fake(site, **{"EXAMINE": one_message, "UID SEARCH": found, "UID FETCH": fetch})
    site.settings["record.level"] = "envelope"
    done, most = deliver(site, mail)
    assert done.exit == 0 and "found there" in done.out and not server.appended, done
    assert is_sanitized() or most < usual + MUCH
