# SPDX-License-Identifier: ISC
"""Servers that change what they store. A message in doubt is found in the changed form, and no other message is taken
for it.

Seen to fail with: the strict comparison alone; sizes from the whole size on (append.c: search_copy)."""

import re

import expect
import pytest
from lab import locks
from lab.fake_imap import FakeImap
from lab.messages import message, on_the_wire

SCUBA = "scuba@example.org"


def munged(data):
    """Cyrus, without `munge8bit: no`."""
    header, end, body = data.partition(b"\r\n\r\n")
    return re.sub(rb"[\x80-\xff]", b"X", header) + end + body


def without_bare_cr(data):
    """Courier; it also ends the last line."""
    data = re.sub(rb"\r(?!\n)", b"", data)
    return data if data.endswith(b"\r\n") else data + b"\r\n"


CHANGES = {
    "nothing": lambda data: data,
    "8-bit header bytes": munged,
    "bare CRs and the last line end": without_bare_cr,
    "all of it": lambda data: without_bare_cr(munged(data)),
}


class ChangingImap(FakeImap):
    """Stores messages in a changed form, counts line ends as one byte when asked for sizes, as Courier does, and once
    loses the answer to an APPEND."""

    def __init__(self, change):
        super().__init__()
        self.change = change
        self.kept = []
        self.lost = False

    def do_append(self, client, tag, arguments):
        self.kept.append(self.change(self.read_append(client, arguments)[1]))
        if not self.lost:
            self.lost = True
            client.close()
        client.send(f"{tag} OK [APPENDUID 7 {len(self.kept)}] stored")

    def do_examine(self, client, tag, _arguments):
        client.send(f"* {len(self.kept)} EXISTS\r\n* OK [UIDVALIDITY 7] valid".encode() + b"\r\n")
        client.send(f"{tag} OK [READ-ONLY] done")

    def do_uid_search(self, client, tag, arguments):
        wanted = re.search(rb'HEADER Message-ID "([^"]*)"', arguments)
        larger, smaller = (re.search(key + rb" (\d+)", arguments) for key in (b"LARGER", b"SMALLER"))

        def fits(data):
            size = len(data.replace(b"\r\n", b"\n"))
            return ((not wanted or wanted[1] in data) and (not larger or int(larger[1]) < size)
                    and (not smaller or size < int(smaller[1])))
        found = [str(uid) for uid, data in enumerate(self.kept, 1) if fits(data)]
        client.send(" ".join(["* SEARCH", *found]))
        client.send(f"{tag} OK done")

    def do_uid_fetch(self, client, tag, arguments):
        part = re.search(rb"BODY.PEEK(\[.*\])", arguments)[1]
        for uid in map(int, arguments.split()[0].split(b",")):
            data = self.kept[uid - 1]
            if part != b"[]":
                data = b"".join(re.findall(rb"(?im)^message-id:.*\n", data.partition(b"\n\r\n")[0] + b"\n")) + b"\r\n"
            client.send(f"* {uid} FETCH (BODY{part.decode()} {{{len(data)}}}\r\n".encode() + data
                        + f" UID {uid})\r\n".encode())
        client.send(f"{tag} OK done")


def changing(site, change):
    server = site.use(ChangingImap(change))
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none"})
    return server


def mail_with(id, subject="\xfc", body="one\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\rtwo \xe9"):
    return message(id=id, subject=subject, body=body.encode("latin-1"), headers=f"X-Name: {subject}\n".encode("latin-1"))


def forget_hold_off(site):
    site.ledger.age(days=1)
    locks.expire(site)


@pytest.mark.parametrize("id", ["by its id", False], ids=["by its id", "by its size"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_in_doubt_it_is_found_as_the_server_keeps_it(site, change, id):
    server = changing(site, change)
    mail = mail_with(id and None)
    expect.deferred(site.deliver(mail, SCUBA))
    forget_hold_off(site)
    done = site.deliver(mail, SCUBA)
    assert done.exit == 0 and "(found there)" in done.out, done
    assert server.kept == [change(on_the_wire(mail))]
    expect.duplicate(site.deliver(mail, SCUBA))


@pytest.mark.parametrize("match, count", [("content", 2), ("message-id", 1)])
def test_a_server_that_writes_it_anew(site, match, count):
    """Only the setting makes the Message-ID enough, and only of a message in doubt."""
    id = "same@example.org"
    server = changing(site, lambda data: f"Message-ID: <{id}>\r\nX-Server: wrote it\r\n\r\nsomething\r\n".encode())
    site.settings["imap.match"] = match
    mail = mail_with(id)
    expect.deferred(site.deliver(mail, SCUBA))
    forget_hold_off(site)
    expect.stored(site.deliver(mail, SCUBA))
    assert len(server.kept) == count
    expect.stored(site.deliver(mail_with(id, subject="u"), SCUBA))
    assert len(server.kept) == count + 1


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_another_message_is_not_taken_for_it(site, change):
    """With the same Message-ID, and only one letter different."""
    server = changing(site, change)
    id = "same@example.org"
    mail = mail_with(id)
    others = [mail_with(id, subject="u"), mail[:-1] + b"e", mail_with(id, body="one\n"), mail.replace(b"two", b"tow")]
    expect.deferred(site.deliver(mail, SCUBA))
    server.kept[:] = [change(on_the_wire(other)) for other in others]
    forget_hold_off(site)
    expect.stored(site.deliver(mail, SCUBA))
    assert server.kept[len(others):] == [change(on_the_wire(mail))]


def test_the_exact_form_is_preferred(site):
    """Both are there: the exact one is reported, although the other is newer."""
    server = changing(site, lambda data: data)
    mail = mail_with(None)
    expect.deferred(site.deliver(mail, SCUBA))
    server.kept.append(munged(on_the_wire(mail)))
    forget_hold_off(site)
    done = site.deliver(mail, SCUBA)
    assert done.exit == 0 and "uid=1 " in done.out, done


def test_never_for_identity(site):
    """Messages that differ only in what servers change are nevertheless different."""
    scuba = site.account()
    mail = mail_with("one@example.org")
    for other in (mail, munged(mail), mail + b"\n", mail.replace(b"\r", b"")):
        expect.stored(site.deliver(other, scuba))
    assert site.count(scuba) == 4
