# SPDX-License-Identifier: ISC
"""The SQL record of a message, and the log line of its delivery."""

import datetime
import hashlib
import re
import select

import expect
import pytest
from lab.messages import message, new_id, on_the_wire

LETTER = """\
From: =?ISO-8859-1?Q?J=FCrgen?= <juergen@EXAMPLE.net>
Sender: office@example.net
Reply-To: answers@example.net
To: Family: "Lisa, the first" <lisa@example.org>, doug@example.org;, Scuba <scuba@example.org>
Cc: undisclosed-recipients:;
Subject: =?UTF-8?B?UGzDpHR6Y2hlbg==?= =?UTF-8?Q?_f=C3=BCr_alle?=
Date: Fri, 1 Aug 2025 10:00:00 +0200
Message-ID: <{id}>
In-Reply-To: <parent@example.org>
References: <root@example.org>
 <parent@example.org>
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=outer

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=ISO-8859-1
Content-Transfer-Encoding: quoted-printable

Gr=FC=DFe!
--inner
Content-Type: text/html; charset=utf-8

<p>Grüße!</p>
--inner--
--outer
Content-Type: application/octet-stream
Content-Disposition: attachment; filename*=UTF-8''R%C3%A4tsel.bin
Content-Transfer-Encoding: base64

AAECAwQ=
--outer--
"""


def letter():
    id = new_id()
    return id, LETTER.format(id=id).encode()


def test_message(site):
    id, mail = letter()
    expect.stored(site.deliver(mail, site.account(), sender="juergen@example.net"))
    [row] = site.sql("""
        SELECT message_id, sender, subject, "from" AS author, date, size, in_reply_to, "references",
               identity, lock_key, digest FROM oncedrop.message""")
    assert row.message_id == id
    assert row.sender == "juergen@example.net"
    assert row.subject == "Plätzchen für alle"
    assert row.author.lower() == "juergen@example.net"
    assert row.date == datetime.datetime(2025, 8, 1, 8, tzinfo=datetime.timezone.utc)
    assert row.size == len(on_the_wire(mail))
    assert row.in_reply_to == "parent@example.org"
    assert row.references == ["root@example.org", "parent@example.org"]
    identity = hashlib.sha256(b"oncedrop\0" + id.encode()).digest()
    assert bytes(row.identity) == identity
    assert row.lock_key == int.from_bytes(identity[:8], "big", signed=True)
    unfolded = re.sub(rb"\r\n[ \t]+", b" ", on_the_wire(mail))
    assert bytes(row.digest) == hashlib.sha256(unfolded).digest()


def test_addresses(site):
    _, mail = letter()
    expect.stored(site.deliver(mail, site.account()))
    rows = site.sql('SELECT role, position, "group", name, address FROM oncedrop.address ORDER BY role, position')
    assert [tuple(row) for row in rows] == [
        ("from", 1, None, "Jürgen", "juergen@example.net"),
        ("reply-to", 1, None, None, "answers@example.net"),
        ("sender", 1, None, None, "office@example.net"),
        ("to", 1, "Family", "Lisa, the first", "lisa@example.org"),
        ("to", 2, "Family", None, "doug@example.org"),
        ("to", 3, None, "Scuba", "scuba@example.org"),
    ]


def test_parts(site):
    _, mail = letter()
    expect.stored(site.deliver(mail, site.account()))
    rows = site.sql("SELECT path, type, charset, disposition, filename, size, sha256, text FROM oncedrop.part ORDER BY path")
    assert [row.path for row in rows] == ["1.1", "1.2", "2"]
    plain, html, attachment = rows
    assert (plain.type, plain.charset, plain.text.strip()) == ("text/plain", "iso-8859-1", "Grüße!")
    assert (html.type, html.charset, html.text.strip()) == ("text/html", "utf-8", "<p>Grüße!</p>")
    assert (attachment.type, attachment.disposition, attachment.filename) == \
        ("application/octet-stream", "attachment", "Rätsel.bin")
    assert (attachment.size, attachment.text) == (5, None)
    assert bytes(attachment.sha256) == hashlib.sha256(bytes(range(5))).digest()


LEVELS = {"envelope": (False, False, False), "headers": (True, False, False),
          "text": (True, True, False), "raw": (True, True, True)}


@pytest.mark.parametrize("level,filled", LEVELS.items(), ids=LEVELS.keys())
def test_level(site, level, filled):
    _, mail = letter()
    site.settings["record.level"] = level
    expect.stored(site.deliver(mail, site.account()))
    tables = ("address", "part", "raw")
    assert tuple(site.value(f"SELECT count(*) > 0 FROM oncedrop.{table}") for table in tables) == filled
    assert site.value("SELECT subject FROM oncedrop.message") == "Plätzchen für alle"


def test_raw_in_pieces(site):
    scuba = site.account()
    site.settings["record.level"] = "raw"
    mail = message(body=b"0123456789abcde\n" * 200_000)
    expect.stored(site.deliver(mail, scuba))
    chunks = [bytes(row.data) for row in site.sql("SELECT data FROM oncedrop.raw ORDER BY chunk")]
    assert b"".join(chunks) == on_the_wire(mail)
    assert {len(chunk) for chunk in chunks[:-1]} == {1 << 20}


def test_delivery_and_copies(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa, to=scuba)
    done = site.deliver(mail, scuba, "-q", "4abcDEF", "-a", "alias@example.org", sender=lisa)
    uid = expect.stored(done)
    [delivery] = site.sql("SELECT * FROM oncedrop.delivery")
    assert (delivery.recipient, delivery.original_recipient, delivery.account, delivery.mailbox, delivery.queue_id) == \
        (scuba, "alias@example.org", scuba, "INBOX", "4abcDEF")
    assert (delivery.outcome, delivery.attempts) == ("stored", 1)
    assert delivery.finished_at is not None and delivery.host
    copies = {row.role: row for row in site.sql("SELECT * FROM oncedrop.copy")}
    assert (copies["inbox"].account, copies["inbox"].mailbox, copies["inbox"].uid) == (scuba, "INBOX", uid)
    assert (copies["sent"].account, copies["sent"].mailbox) == (lisa, "Sent")
    for copy in copies.values():
        assert (copy.state, copy.doubt, copy.generation, copy.error) == ("stored", False, 1, None)
        assert copy.uidvalidity and copy.stored_at


def test_a_failed_try_is_recorded_with_its_reason(site):
    scuba = site.account()
    mail = message()
    right = site.settings["imap.password_file"]
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")
    done = site.deliver(mail, scuba)
    expect.deferred(done)
    [delivery] = site.sql("SELECT outcome, reason, finished_at FROM oncedrop.delivery")
    assert delivery.outcome == "mailbox" and delivery.reason and delivery.finished_at is None
    site.settings["imap.password_file"] = right
    expect.stored(site.deliver(mail, scuba))
    [delivery] = site.sql("SELECT outcome, attempts, finished_at FROM oncedrop.delivery")
    assert (delivery.outcome, delivery.attempts) == ("stored", 2) and delivery.finished_at


@pytest.mark.postgres
def test_notify(site):
    site.settings["record.notify"] = "new_mail"
    listener = site.lab.postgres.connect(site.database)
    try:
        listener.cursor().execute("LISTEN new_mail")
        expect.stored(site.deliver(message(), site.account()))
        assert select.select([listener], [], [], 10)[0]
        listener.poll()
        [notification] = listener.notifies
        assert notification.payload == str(site.value("SELECT id FROM oncedrop.message"))
    finally:
        listener.close()


SUBJECTS = {"8 bit": b"\xff\xfe raw", "encoded NUL": b"=?utf-8?q?=00nul?=", "no charset": b"=?x-nonsense?q?a?=",
            "long": b"x" * 200_000, "broken base64": b"=?utf-8?b?" + b"w" * 1001 + b"?=", "NUL": b"a\0b"}


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS.keys())
def test_what_cannot_be_decoded_is_delivered(site, subject):
    scuba = site.account()
    mail = b"Subject: " + subject + b"\n" + message()
    expect.stored(site.deliver(mail, scuba))
    assert site.messages(scuba)[0].raw == on_the_wire(mail)
    assert site.value("SELECT count(*) FROM oncedrop.message") == 1


@pytest.mark.postgres
def test_another_schema(site):
    scuba = site.account()
    site.settings["database.schema"] = "mail_2"
    mailer = site.settings["database.conninfo"]
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, "owner")
    done = site.run("ledger", "install")
    assert done.exit == 0, done
    site.sql("GRANT mail_2_delivery TO mailer")
    site.settings["database.conninfo"] = mailer
    expect.stored(site.deliver(message(), scuba))
    assert site.value("SELECT count(*) FROM mail_2.message") == 1
    assert site.value("SELECT count(*) FROM oncedrop.message") == 0


LOG_LINE = re.compile(
    r"(?:oncedrop\[\d+\]: )?4abcDEF: message-id=<(?P<id>[^>]*)>, to=<(?P<to>[^>]*)>, (?:orig_to=<[^>]*>, )?"
    r"account=(?P<account>[^,]*), mailbox=(?P<mailbox>[^,]*), uid=(?P<uid>\d*), size=(?P<size>\d+), "
    r"delay=[\d.]+, delays=[\d.]+/[\d.]+/[\d.]+/[\d.]+, dsn=(?P<dsn>[\d.]+), status=(?P<status>\w+) \((?P<text>.*)\)$")


def log_line(done):
    lines = [line for line in done.err.splitlines() if "status=" in line]
    assert len(lines) == 1, done
    found = LOG_LINE.search(lines[0])
    assert found, done
    return found


def test_log_line(site):
    scuba = site.account()
    site.settings["log.to"] = "stderr"
    id = new_id()
    mail = message(id=id)
    found = log_line(site.deliver(mail, scuba, "-q", "4abcDEF"))
    assert (found["id"], found["to"], found["account"], found["mailbox"]) == (id, scuba, scuba, "INBOX")
    assert (found["uid"], found["size"]) == ("1", str(len(on_the_wire(mail))))
    assert (found["dsn"], found["status"]) == ("2.1.5", "stored")
    found = log_line(site.deliver(mail, scuba, "-q", "4abcDEF"))
    assert (found["dsn"], found["status"]) == ("2.1.5", "duplicate")
    site.settings["imap.port"] = 1
    found = log_line(site.deliver(message(), scuba, "-q", "4abcDEF"))
    assert (found["dsn"][0], found["status"]) == ("4", "deferred")


def test_a_message_that_is_refused_unread_has_a_log_line(site):
    scuba = site.account()
    site.settings["log.to"] = "stderr"
    site.settings["delivery.size_limit"] = "1K"
    done = site.deliver(message(body="x" * 2000), scuba, "-q", "4abcDEF")
    assert f"to=<{scuba}>" in done.err and "dsn=5.3.4, status=bounced" in done.err, done


def test_nothing_in_a_message_forges_a_log_line(site):
    scuba = site.account()
    site.settings["log.to"] = "stderr"
    done = site.deliver(message(id=b"a\x1b[31m\rb\x80@c"), scuba, "-q", "4abc\nDEF: status=sent")
    assert done.exit in (0, 75), done
    assert not any(ord(letter) < 32 and letter != "\n" for letter in done.err), done
    assert all("oncedrop" in line or "message-id" in line for line in done.err.splitlines()), done
