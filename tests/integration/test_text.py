# SPDX-License-Identifier: ISC
"""With text of any bytes and length, the delivery is recorded; and who may say what the original recipient was.

Seen to fail with: text sent to the database as it came, a queue id of any length, X-Original-To from anywhere in the
header."""

import secrets

import expect
import pytest
from lab.lmtp import Session, stored, stuffed
from lab.messages import message, on_the_wire

BYTES = {"no UTF-8": b"\xff\xfe\xc3", "a surrogate": b"\xed\xa0\x80", "cut off": b"a\xe2\x82", "control": b"a\x01\x1b[31m\x7f",
         "long": b"x" * 100_000, "long and wide": "\u20ac".encode() * 30_000, "an array's": b'{"\\,NULL}', "blanks": b" \t "}
OPTIONS = {"-a": "original_recipient", "-q": "queue_id", "-f": "sender"}


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("text", BYTES.values(), ids=BYTES.keys())
def test_any_bytes_in_the_envelope(site, option, text):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba, option, text))
    [row] = site.sql("SELECT d.*, m.sender FROM oncedrop.delivery d JOIN oncedrop.message m ON m.id = d.message")
    recorded = getattr(row, OPTIONS[option])
    assert 0 < len(recorded.encode()) <= 16384
    if option == "-q":
        assert len(recorded.encode()) <= 200


def test_any_bytes_in_the_recipient(site):
    """They are in the part that does not affect the route."""
    scuba = site.account()
    user, domain = scuba.encode().split(b"@")
    mail = message()
    expect.stored(site.deliver(mail, user + b"+\xff\x01@" + domain))
    expect.duplicate(site.deliver(mail, user + b"+\xfe@" + domain))
    assert [one.raw for one in site.messages(scuba)] == [on_the_wire(mail)]
    assert [row.recipient for row in site.sql("SELECT recipient FROM oncedrop.delivery ORDER BY id")] == \
        [(user + "+\ufffd\ufffd@".encode() + domain).decode(), (user + "+\ufffd@".encode() + domain).decode()]


def test_a_sent_copy_of_a_recipient_that_is_no_text(site):
    """The delivery that claimed the Sent copy recognises itself."""
    scuba, lisa = site.account("scuba"), site.account("lisa")
    user, domain = scuba.encode().split(b"@")
    expect.stored(site.deliver(message(sender=lisa), user + b"+\xff@" + domain, sender=lisa))
    assert site.count(scuba) == site.count(lisa, "Sent") == 1


def test_a_long_queue_id_is_found_again(site):
    """Random digits: an index compresses what it can."""
    queue_id = secrets.token_hex(20_000)
    expect.stored(site.deliver(message(), site.account(), "-q", queue_id))
    done = site.run("show", queue_id)
    assert done.exit == 0 and queue_id[:200] in done.out, done


HEADERS = {"ids": b"References: <\xff@x>\nIn-Reply-To: <" + b"y" * 50_000 + b">\n",
           "names": b"To: \"\xff\\\"{,}\" <\xfe@x>, " + b"z" * 50_000 + b"@x\n",
           "file name": b"Content-Type: text/plain; name=\"\xff" + b"n" * 50_000 + b"\"\n"}


@pytest.mark.parametrize("header", HEADERS.values(), ids=HEADERS.keys())
def test_any_bytes_in_the_header(site, header):
    scuba = site.account()
    mail = message(headers=header)
    expect.stored(site.deliver(mail, scuba))
    assert [one.raw for one in site.messages(scuba)] == [on_the_wire(mail)]


def test_a_message_id_that_is_long_and_no_text(site):
    scuba = site.account()
    mail = message(id=b"\xff" * 40_000)
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))


RECEIVED = b"Received: from client.test by mx.test with ESMTP id 4abcDEF; Fri, 1 Aug 2025 10:00:00 +0200\n"
ORIGINAL = b"X-Original-To: alias@example.org\n"
STRANGERS = b"X-Original-To: \xff@x\n"
ORIGINALS = {
    "Postfix's own": (ORIGINAL + RECEIVED, "", "alias@example.org"),
    "Postfix's own and a stranger's": (ORIGINAL + RECEIVED + STRANGERS, "", "alias@example.org"),
    "a stranger's": (RECEIVED + STRANGERS, "", None),
    "a stranger's, and no Received": (STRANGERS, "", None),
    "bytes above Received": (STRANGERS + RECEIVED, "", "\ufffd@x"),
    "ORCPT": (RECEIVED + STRANGERS, " ORCPT=rfc822;doug+2Btwo+20words@example.org", "doug+two words@example.org"),
    "ORCPT and Postfix's own": (ORIGINAL + RECEIVED, " NOTIFY=NEVER ORCPT=rfc822;other@x", "alias@example.org"),
    "ORCPT of bytes": (RECEIVED, " orcpt=RFC822;+FF@x", "\ufffd@x"),
    "ORCPT of another kind": (RECEIVED, " ORCPT=x400;alias", None),
    "ORCPT that is none": (RECEIVED, " ORCPT=rfc822;a+4", None),
}


@pytest.mark.parametrize("header,parameter,original", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_original_recipient_over_lmtp(site, header, parameter, original):
    scuba = site.account()
    session = Session(site)
    session.hello()
    session.send(["MAIL FROM:<lisa@x>", f"RCPT TO:<{scuba}>{parameter}", "DATA"])
    assert [reply.code for reply in session.replies(3)] == [250, 250, 354]
    session.send(stuffed(header + message()))
    stored(session.reply())
    assert site.value("SELECT original_recipient FROM oncedrop.delivery") == original


def test_orcpt_of_each_recipient(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    session = Session(site)
    session.hello()
    session.send(["MAIL FROM:<lisa@x>", f"RCPT TO:<{scuba}>", f"RCPT TO:<{doug}> ORCPT=rfc822;alias@x", "DATA"])
    session.replies(4)
    session.send(stuffed(ORIGINAL + RECEIVED + message()))
    assert [reply.code for reply in session.replies(2)] == [250, 250]
    rows = site.sql("SELECT recipient, original_recipient FROM oncedrop.delivery")
    assert {row.recipient: row.original_recipient for row in rows} == {scuba: None, doug: "alias@x"}


@pytest.mark.parametrize("header,original", [(RECEIVED + STRANGERS, None), (ORIGINAL + RECEIVED, "alias@example.org"),
                                             (ORIGINAL, "alias@example.org")], ids=["a stranger's", "Postfix's", "the caller's"])
def test_original_recipient_of_a_piped_message(site, header, original):
    expect.stored(site.deliver(header + message(), site.account()))
    assert site.value("SELECT original_recipient FROM oncedrop.delivery") == original


@pytest.mark.postgres
def test_the_encoding_is_ours(site):
    site.settings["database.conninfo"] += " client_encoding=LATIN1"
    expect.stored(site.deliver(message(subject="Gr\u00fc\u00dfe"), site.account()))
    assert site.value("SELECT subject FROM oncedrop.message") == "Gr\u00fc\u00dfe"
