# SPDX-License-Identifier: ISC
"""A message on stdin is delivered to its mailboxes, once, unchanged."""

import imaplib
import re
import tempfile
import time

import expect
import pytest
from lab.dovecot import LOGGED_IN
from lab.messages import message, new_id, on_the_wire


def test_stored_in_inbox_and_sent(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa, to=scuba)
    done = site.deliver(mail, scuba, sender=lisa)
    [inbox] = site.messages(scuba)
    assert expect.stored(done) == inbox.uid
    assert inbox.raw == on_the_wire(mail)
    assert inbox.flags == set()
    [sent] = site.messages(lisa, "Sent")
    assert sent.raw == on_the_wire(mail)
    assert sent.flags == {r"\Seen"}
    assert sent.internal_date == inbox.internal_date
    assert site.count(lisa) == site.count(scuba, "Sent") == 0


def test_again_is_a_duplicate(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa, to=scuba)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    before = site.messages(scuba), site.messages(lisa, "Sent")
    for _ in range(2):
        expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    assert (site.messages(scuba), site.messages(lisa, "Sent")) == before


def test_a_duplicate_needs_no_imap_connection(site):
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    proxy = site.imap_proxy()
    expect.duplicate(site.deliver(mail, scuba))
    assert proxy.accepted == 0


def test_what_transport_adds_makes_no_other_message(site):
    scuba = site.account()
    mail = message()
    headers = [
        b"Return-Path: <x@example.org>\nX-Original-To: a@example.org\nDelivered-To: b@example.org\n",
        b"Received: from a by b; Fri, 1 Aug 2025 10:00:00 +0200\nAuthentication-Results: b; spf=pass\n",
        b"From lisa Fri Aug  1 10:00:00 2025\nX-Spam-Score: 1\nX-Rspamd-Server: a\nARC-Seal: i=1\n",
    ]
    expect.stored(site.deliver(headers[0] + mail, scuba))
    for header in headers:
        expect.duplicate(site.deliver(header + mail, scuba))
    assert site.count(scuba) == 1


def test_identity_ignore(site):
    scuba = site.account()
    site.settings["identity.ignore_headers"] = "X-Archive-*;X-Queue"
    id = new_id()
    expect.stored(site.deliver(message(id=id, headers="X-Archive-Id: 1\nX-Queue: a\n"), scuba))
    expect.duplicate(site.deliver(message(id=id, headers="X-Archive-Id: 2\nX-Queue: b\n"), scuba))


BYTES = {
    "LF": b"Subject: x\n\none\ntwo\n",
    "CRLF": b"Subject: x\r\n\r\none\r\ntwo\r\n",
    "mixed": b"Subject: x\n\r\none\r\ntwo\nthree\r\n",
    "no line end at the end": b"Subject: x\n\none",
    "mbox From_ line": b"From lisa@example.org Fri Aug  1 10:00:00 2025\nSubject: x\n\nFrom here it stays\n",
    "NUL": b"Subject: x\n\na\0b\n",
    "8 bit": b"Subject: \xe4\xff\n\n\x80\x81\xfe\xff\n",
    "bare CR": b"Subject: x\n\none\rtwo\r\rthree\n",
    "no header": b"\nonly a body\n",
    "no body": b"Subject: x\n",
    "no header field": b"this is not a header\nat all\n",
    "one byte": b"x",
    "only line ends": b"\n\n\n",
    "long line": b"Subject: x\n\n" + b"x" * 100_000 + b"\n",
    "dots": b"Subject: x\n\n.\n..\n",
}


@pytest.mark.parametrize("mail", BYTES.values(), ids=BYTES.keys())
def test_bytes(site, mail):
    scuba = site.account()
    expect.stored(site.deliver(mail, scuba))
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]
    expect.duplicate(site.deliver(mail, scuba))


@pytest.mark.parametrize("size", [70_000, 3_000_000])
@pytest.mark.parametrize("source", ["pipe", "file"])
def test_large(site, size, source):
    scuba = site.account()
    mail = message(body=b"0123456789abcde\n" * (size // 16))
    with tempfile.TemporaryFile() as file:
        file.write(mail)
        file.seek(0)
        expect.stored(site.deliver(mail if source == "pipe" else file, scuba))
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]


def test_the_sent_copy_has_no_delivery_fields(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa, to=scuba)
    added = (b"Return-Path: <lisa@example.org>\nX-Original-To: scuba@example.org\n"
             b"Delivered-To: scuba\n folded@example.org\nReceived: from a by b; Fri, 1 Aug 2025 10:00:00 +0200\n")
    expect.stored(site.deliver(added + mail, scuba, sender=lisa))
    assert site.messages(scuba)[0].raw == on_the_wire(added + mail)
    received = b"Received: from a by b; Fri, 1 Aug 2025 10:00:00 +0200\n"
    assert site.messages(lisa, "Sent")[0].raw == on_the_wire(received + mail)


def test_mail_to_oneself_is_in_both_mailboxes(site):
    lisa = site.account("lisa")
    mail = message(sender=lisa, to=lisa)
    expect.stored(site.deliver(mail, lisa, sender=lisa))
    expect.duplicate(site.deliver(mail, lisa, sender=lisa))
    assert (site.count(lisa), site.count(lisa, "Sent")) == (1, 1)


def test_two_addresses_of_one_mailbox_make_one_copy(site):
    scuba = site.account()
    site.settings["route.account"] = scuba
    site.settings["route.sent_copy"] = "off"
    mail = message()
    expect.stored(site.deliver(mail, "info@example.org"))
    expect.duplicate(site.deliver(mail, "sales@example.org"))
    assert site.count(scuba) == 1
    assert site.value("SELECT count(*) FROM oncedrop.delivery") == 2
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 1


def test_internal_date_is_when_it_came(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    mail = message()
    for recipient in (scuba, doug):
        expect.stored(site.deliver(mail, recipient))
    dates = {site.messages(recipient)[0].internal_date for recipient in (scuba, doug)}
    assert len(dates) == 1
    seconds = time.mktime(imaplib.Internaldate2tuple(f'INTERNALDATE "{dates.pop()}"'.encode()))
    assert seconds == int(site.value("SELECT received_at FROM oncedrop.message").timestamp())
    assert abs(seconds - site.ledger.now().timestamp()) < 600


ENVELOPES = {
    "command line": (["-f", "lisa@x", "-d", "RECIPIENT", "-a", "original@x", "-q", "4abcDEF"], {}, b""),
    "environment": ([], {"SENDER": "lisa@x", "RECIPIENT": "RECIPIENT", "ORIGINAL_RECIPIENT": "original@x"}, b""),
    "header": ([], {}, b"Return-Path: <lisa@x>\nX-Original-To: original@x\nDelivered-To: RECIPIENT\n"),
    "command line first": (["-f", "lisa@x", "-d", "RECIPIENT", "-a", "original@x"],
                           {"SENDER": "no@x", "RECIPIENT": "no@x", "ORIGINAL_RECIPIENT": "no@x"},
                           b"Return-Path: <no@x>\nX-Original-To: no@x\nDelivered-To: no@x\n"),
    "environment before header": ([], {"SENDER": "lisa@x", "RECIPIENT": "RECIPIENT",
                                       "ORIGINAL_RECIPIENT": "original@x"},
                                  b"Return-Path: <no@x>\nX-Original-To: no@x\nDelivered-To: no@x\n"),
}


@pytest.mark.parametrize("arguments,environment,header", ENVELOPES.values(), ids=ENVELOPES.keys())
def test_envelope(site, arguments, environment, header):
    scuba = site.account()
    done = site.run("deliver", *[word.replace("RECIPIENT", scuba) for word in arguments],
                    env={name: value.replace("RECIPIENT", scuba) for name, value in environment.items()},
                    stdin=header.replace(b"RECIPIENT", scuba.encode()) + message())
    expect.stored(done)
    [delivery] = site.sql("SELECT recipient, original_recipient, queue_id FROM oncedrop.delivery")
    assert (delivery.recipient, delivery.original_recipient) == (scuba, "original@x")
    assert delivery.queue_id == ("4abcDEF" if "-q" in arguments else None)
    assert site.value("SELECT sender FROM oncedrop.message") == "lisa@x"


def test_a_bounce_has_an_empty_sender(site):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba, sender=""))
    assert site.value("SELECT sender FROM oncedrop.message") == ""


def test_without_a_recipient(site):
    expect.deferred(site.run("deliver", stdin=message()), r"4\.\d\.\d", "recipient")


def test_with_nothing_on_stdin(site):
    expect.deferred(site.deliver(b"", site.account()))
    assert site.value("SELECT count(*) FROM oncedrop.message") == 0


def test_size_limit(site):
    scuba = site.account()
    site.settings["delivery.size_limit"] = "10K"
    mail = message(body=b"0123456789abcde\n" * 1000)
    expect.bounced(site.deliver(mail, scuba), 69, "5.3.4")
    assert site.count(scuba) == 0
    site.settings["delivery.size_limit"] = "1M"
    expect.stored(site.deliver(mail, scuba))


def test_a_message_much_shorter_than_postfix_says_is_not_delivered(site):
    """Postfix's ${size} is not exact, and larger than the input."""
    scuba = site.account()
    mail = message(body=b"0123456789abcde\n" * 2000)
    expect.deferred(site.deliver(mail[:20_000], scuba, "-s", str(len(mail))), r"4\.3\.0", "cut")
    assert site.count(scuba) == 0
    expect.stored(site.deliver(mail, scuba, "-s", str(len(mail) + 500)))


def test_overquota(site):
    scuba = site.account(quota=20480)
    big, small = message(body=b"0123456789abcde\n" * 2000), message()
    expect.deferred(site.deliver(big, scuba), r"4\.2\.2")
    site.settings["delivery.overquota"] = "bounce"
    expect.bounced(site.deliver(big, scuba), 69, "5.2.2")
    expect.stored(site.deliver(small, scuba))
    assert site.count(scuba) == 1


def test_over_quota_and_then_not(site):
    scuba = site.account(quota=20480)
    mail, filler = message(body=b"0123456789abcde\n" * 700), b"Subject: filler\r\n\r\n" + b"x" * 12000
    with site.lab.dovecot.session(scuba) as session:
        session.append("INBOX", "", None, filler)
        expect.deferred(site.deliver(mail, scuba), r"4\.2\.2")
        session.select("INBOX")
        session.store("1", "+FLAGS", r"\Deleted")
        session.expunge()
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


def test_the_answer_comes_alone_on_the_common_pipe(site):
    scuba = site.account()
    mail = message()
    done = site.deliver(mail, scuba, merge=True)
    expect.stored(done)
    site.settings["imap.ca_file"] = site.lab.dovecot.certificate[0]
    assert site.deliver(message(), scuba, merge=True).out.count("\n") == 1


def test_mailboxes_are_created_and_subscribed(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        assert any(b"Sent" in line for line in session.lsub()[1])
    site.settings["imap.create"] = "no"
    site.settings["route.inbox"] = "Missing"
    mail = message(sender=lisa)
    expect.deferred(site.deliver(mail, scuba, sender=lisa))
    site.settings["imap.create"] = "yes"
    site.settings["imap.subscribe"] = "no"
    expect.stored(site.deliver(mail, scuba, sender=lisa), "Missing")
    assert site.count(scuba, "Missing") == 1
    with site.lab.dovecot.session(scuba) as session:
        assert not any(line and b"Missing" in line for line in session.lsub()[1])


def test_sent_by_special_use(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings["route.sent"] = r"\Sent"
    with site.lab.dovecot.session(lisa) as session:
        assert session.create("Gesendet")[0] == "OK"
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert (site.count(lisa, "Gesendet"), site.count(lisa, "Sent")) == (1, 0)


def test_sent_without_special_use(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings["route.sent"] = r"\Sent"
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 1


@pytest.mark.parametrize("name,encoded", [
    ("Entwürfe & mehr", "Entw&APw-rfe &- mehr"),
    ("日本語", "&ZeVnLIqe-"),
    ('with "quotes"', 'with "quotes"'),
    ("with blanks", "with blanks"),
    ("-n", "-n"),
])
def test_mailbox_names(site, name, encoded):
    scuba = site.account()
    site.settings["route.inbox"] = name
    expect.stored(site.deliver(message(), scuba), name)
    assert site.count(scuba, encoded) == 1


@pytest.mark.parametrize("location", ["maildir:~/Maildir", "sdbox:~/sdbox"])
def test_kinds_of_mailboxes(site, location):
    scuba = site.account(location=location)
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]


def test_the_log_of_the_imap_server_shows_one_login(site):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    dovecot, mark = site.lab.dovecot, site.account("mark")
    dovecot.newest_process(scuba)
    assert site.count(mark) == 0
    dovecot.newest_process(mark)    # earlier log lines are there, too
    assert len(re.findall(rf"{LOGGED_IN} user=<{re.escape(scuba)}>", dovecot.log())) == 1
