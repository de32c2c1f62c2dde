# SPDX-License-Identifier: ISC
"""No message is undeliverable because it cannot be decoded, and nothing but what it says gets into the record.

Each test was seen to fail with decoding in the process that delivers, under the lock, with every converter that the libc
has."""

import os
import re
import signal
import subprocess
import time

import expect
import pytest
from lab import lmtp
from lab.messages import message, new_id
from lab.process import wait_until

# In the record, whatever column: none of these may be found there.
SECRETS = "SELECT count(*) FROM oncedrop.{} t WHERE t::text LIKE %s"
TABLES = ("message", "address", "part", "delivery", "copy")
CANARY = "canary-in-the-heap"


def mail(headers="", body="Hello.\n"):
    """With the Message-ID first: (id, bytes)."""
    id = new_id()
    headers = headers if isinstance(headers, bytes) else headers.encode()
    body = body if isinstance(body, bytes) else body.encode()
    return id, b"Message-ID: <%s>\n%s\n%s" % (id.encode(), headers, body)


def record(site, id):
    [row] = site.sql('SELECT id, subject, "from" AS author FROM oncedrop.message WHERE message_id = %s', (id,))
    return row


def texts(site):
    return [row[0] for row in site.sql("SELECT text FROM oncedrop.part")]


def with_canary(site):
    """What the configuration says is in the heap of every process, as the database's password is."""
    site.settings["database.conninfo"] += f" fallback_application_name={CANARY}"


def leaks(site):
    return {table: n for table in TABLES if (n := site.value(SECRETS.format(table), (f"%{CANARY}%",)))}


def test_heap_does_not_get_into_the_record(site):
    with_canary(site)
    for _ in range(3):
        id, bytes = mail("Content-Type: text/plain; charset=ISO-2022-CN-EXT\n", "x\x0e")
        expect.stored(site.deliver(bytes, site.account()))
        assert record(site, id)
    assert texts(site) == ["x\x0e"] * 3
    assert not leaks(site)


@pytest.mark.parametrize("level", ["envelope", "headers", "text", "raw"])
@pytest.mark.parametrize("field", ["Subject: {}", "From: {} <lisa@elsewhere.example>", "To: {}: lisa@elsewhere.example;",
                                   "Content-Type: text/plain; name=\"{}\"", "Content-Disposition: inline; filename=\"{}\""])
def test_header_that_ends_gmime(site, field, level):
    site.settings["record.level"] = level
    id, bytes = mail(field.format("=?iso-2022-cn-ext?q?=0E?=") + "\n")
    expect.stored(site.deliver(bytes, site.account()))
    assert record(site, id)


def test_lmtp_session_survives(site):
    account = site.account()
    session = lmtp.start(site)
    for headers in ("Subject: =?iso-2022-cn-ext?q?=0E?=\n", "Content-Type: a/b; x*=iso-2022-cn-ext''%0E\n", ""):
        id, bytes = mail(headers)
        lmtp.stored(session.deliver(bytes, account)[0])
        assert record(site, id)
    assert site.count(account) == 3


def charset_names():
    listed = subprocess.run(["iconv", "-l"], stdout=subprocess.PIPE, check=True).stdout.decode()
    names = sorted(set(re.split(r"[/\s,]+", listed)) - {""})
    assert len(names) > 1000, names
    return names


CUT = (b"\x0e", b"x\x0e", b"\x1b", b"\x1b$", b"\x1b$)A\x0e", b"\xff", b"\x81", b"+", b"\xe3\x81", b"\xa2\xe8")


def well_formed(name):
    """Text in that set; b"x" when the set has no such letters."""
    done = subprocess.run(["iconv", "-f", "UTF-8", "-t", name], input=b"Hello", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout or b"x"


def charset_places(name):
    """The name wherever one may stand, with each content: words, and parts."""
    contents = ["".join(f"={byte:02X}" for byte in content) for content in (well_formed(name), *CUT)]
    words = [f"=?{name}?q?{content}?=" for content in contents]
    parts = [f"--b\nContent-Type: text/plain; charset=\"{name}\"; name*={name}''{content.replace('=', '%')}\n"
             f"Content-Disposition: inline; filename*0=\"{word[:4]}\"; filename*1=\"{word[4:]}\"\n"
             f"Content-Transfer-Encoding: quoted-printable\n\n{content}\n" for word, content in zip(words, contents)]
    return words, parts


def charset_mail(names):
    places = [charset_places(name) for name in names]
    words = [word for some, _ in places for word in some]
    parts = [part for _, some in places for part in some]
    fields = (f"Subject: {' '.join(words)}\nFrom: {words[1]} <lisa@elsewhere.example>\nTo: "
              + ",\n ".join(f"{word}: \"=\\{word[1:]}\" <a@b>;, a@b ({word})" for word in words)
              + "\nContent-Type: multipart/mixed; boundary=b\n")
    return *mail(fields, "".join(parts) + "--b--\n"), len(parts)


def test_every_charset(site):
    """Each of the libc's, in body, header, parameter and name, whole and cut in mid-sequence, in one session."""
    account = site.account()
    with_canary(site)
    session = lmtp.start(site)
    names, parts = charset_names(), {}
    for at in range(0, len(names), 40):
        id, bytes, parts[id] = charset_mail(names[at:at + 40])
        lmtp.stored(session.deliver(bytes, account)[0])
    assert dict(map(tuple, site.sql("SELECT message_id, count(*) FROM oncedrop.message m JOIN oncedrop.part p"
                                    " ON p.message = m.id GROUP BY message_id"))) == parts
    assert sum(parts.values()) == len(names) * (len(CUT) + 1)
    assert not leaks(site)
    assert "only in part" not in session.log()
