# SPDX-License-Identifier: ISC
"""Which messages are the same: one is suppressed only if this very content is in that very mailbox."""

import hashlib

import expect
import pytest
from lab.messages import message, new_id, on_the_wire

BODY = b"\nThe same body.\n"
START = b"From: lisa@elsewhere.example\nSubject: x\n"

# All have the same content except in or around the Message-ID.
IDENTITIES = {
    "none": START + BODY,
    "empty brackets": START + b"Message-ID: <>\n" + BODY,
    "empty field": START + b"Message-ID:\n" + BODY,
    "blank field": START + b"Message-ID:   \n" + BODY,
    "no brackets": START + b"Message-ID: a@b\n" + BODY,
    "plain": START + b"Message-ID: <a@b>\n" + BODY,
    "two fields": START + b"Message-ID: <a@b>\nMessage-ID: <c@d>\n" + BODY,
    "two fields, the other first": START + b"Message-ID: <c@d>\nMessage-ID: <a@b>\n" + BODY,
    "two ids in one field": START + b"Message-ID: <a@b> <c@d>\n" + BODY,
    "two at signs": START + b"Message-ID: <a@b@c>\n" + BODY,
    "NUL": START + b"Message-ID: <a\0@b>\n" + BODY,
    "another NUL": START + b"Message-ID: <a\0\0@b>\n" + BODY,
    "0x80": START + b"Message-ID: <a\x80\x80\x80@b>\n" + BODY,
    "100 kB": START + b"Message-ID: <" + b"x" * 100_000 + b"@b>\n" + BODY,
    "100 kB, last byte another": START + b"Message-ID: <" + b"x" * 99_999 + b"y@b>\n" + BODY,
    "folded": START + b"Message-ID:\n <folded@b>\n" + BODY,
    "folded inside": START + b"Message-ID: <folded\n @b>\n" + BODY,
    "other letters": START + b"Message-ID: <A@B>\n" + BODY,
    "comment": START + b"Message-ID: (comment) <comment@b> (comment)\n" + BODY,
    "RFC 2047": START + b"Message-ID: <=?utf-8?q?abc?=@b>\n" + BODY,
    "8 bit": START + "Message-ID: <ü@b>\n".encode() + BODY,
    "quotes": START + b'Message-ID: <"a b"\\@b>\n' + BODY,
}


def test_each_is_delivered_once_and_none_is_merged_with_another(site):
    scuba = site.account()
    for name, mail in IDENTITIES.items():
        done = site.deliver(mail, scuba)
        assert done.exit == 0 and done.out.startswith("2.1.5 stored"), (name, done)
    for name, mail in IDENTITIES.items():
        done = site.deliver(mail, scuba)
        assert done.exit == 0 and done.out.startswith("2.1.5 duplicate"), (name, done)
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail) for mail in IDENTITIES.values()]
    assert site.value("SELECT count(*) FROM oncedrop.message") == len(IDENTITIES)


RECORDED = {
    "none": None,
    "empty brackets": None,
    "empty field": None,
    "no brackets": None,
    "plain": "a@b",
    "two fields": "a@b",
    "two fields, the other first": "c@d",
    "two ids in one field": "a@b> <c@d",
    "two at signs": "a@b@c",
    "folded": "folded@b",
    "comment": "comment@b",
    "RFC 2047": "=?utf-8?q?abc?=@b",
    "8 bit": "ü@b",
}


@pytest.mark.parametrize("name,id", RECORDED.items(), ids=RECORDED.keys())
def test_which_id_counts(site, name, id):
    expect.stored(site.deliver(IDENTITIES[name], site.account()))
    [row] = site.sql("SELECT message_id, lock_key, digest FROM oncedrop.message")
    assert row.message_id == id
    key = hashlib.sha256(b"oncedrop\0" + (row.digest.hex() if id is None else id).encode()).digest()[:8]
    assert row.lock_key == int.from_bytes(key, "big", signed=True)


FOLDED_ANEW = [
    (b"Message-ID: <", b"Message-ID:\n <"),
    (b"Message-ID: <", b"Message-ID: \n\t<"),
    (b"subject that", b"subject\n that"),
    (b"subject that", b"subject\n\tthat"),
    (b"subject that", b"subject \n        that"),
    (b"longer subject", b"longer\n \n subject"),
]


@pytest.mark.parametrize("id", [b"Message-ID: <1@again>\n", b""], ids=["id", "no id"])
def test_a_message_that_a_relay_has_folded_anew_is_the_same(site, id):
    """Promised by RFC 5322, 2.2.3; white space elsewhere, and in the body, is content."""
    scuba = site.account()
    start = START.replace(b"Subject: x", b"Subject: a longer subject that is folded somewhere")
    mail = start + id + b"\na longer subject that is text\n"
    expect.stored(site.deliver(mail, scuba))
    for old, new in FOLDED_ANEW:
        if id or b"Message" not in old:
            expect.duplicate(site.deliver(mail.replace(old, new, 1), scuba))
    for blanks in (b"  ", b"\t", b""):
        expect.stored(site.deliver(mail.replace(b"longer subject", b"longer" + blanks + b"subject", 1), scuba))
    expect.stored(site.deliver(mail.replace(b"subject that is text", b"subject\n that is text"), scuba))
    assert site.count(scuba) == 5


GATEWAYS = [
    "X-Received: by 2002:a17::1 with SMTP id x", "X-Gm-Message-State: AOJu0Y", "X-Forwarded-Encrypted: i=1; AJvY",
    "X-Google-Smtp-Source: AGHT", "X-Proofpoint-Spam-Details: rule=notspam\n score=0", "X-Barracuda-Start-Time: 1795",
    "X-ASG-Debug-ID: 1", "X-BESS-ID: 1", 'X-IronPort-AV: E=Sophos;i="5"', "IronPort-PHdr: A9a23", "X-Amp-Result: SKIPPED",
    "X-Mimecast-MFC-PROC-ID: x", "X-MC-Unique: x", "X-TM-AS-Result: No--1", "X-TMASE-Result: 10", "X-Halon-ID: 1",
    "X-FE-Policy-ID: 1", "X-FEAS-DEEPHEADER: 1", "X-SES-Outgoing: 2026", "X-Microsoft-Antispam: BCL:0",
    "X-Forefront-Antispam-Report: CIP:1", "X-MS-Exchange-AntiSpam-MessageData-0: x", "X-Stalwart-Spam-Status: No",
    "X-Brightmail-Tracker: H4sI", "X-KSMG-Rule-ID: 1", "X-Mailprotector-ID: 1",
]


def test_a_message_that_a_gateway_has_scanned_again_is_the_same(site):
    scuba = site.account()
    mail = message(id=new_id())
    expect.stored(site.deliver(mail, scuba))
    for field in GATEWAYS:
        expect.duplicate(site.deliver(field.encode() + b"\n" + mail, scuba))
    for field in (b"DKIM-Signature: v=1; bh=x", b"List-Id: <list.example>", b"X-Forwarded-Message-Id: <1@b>"):
        expect.stored(site.deliver(field + b"\n" + mail, scuba))


def test_the_same_id_with_another_body_is_another_message(site):
    scuba = site.account()
    id = new_id()
    mails = [message(id=id, body=f"Body {number}.\n") for number in range(3)]
    for mail in mails:
        expect.stored(site.deliver(mail, scuba))
    for mail in mails:
        expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 3
    assert site.value("SELECT count(DISTINCT lock_key) FROM oncedrop.message") == 1
    shown = site.run("show", f"<{id}>")
    assert shown.exit == 0 and shown.out.count(scuba) >= 3, shown


@pytest.mark.parametrize("count", [0, 1, 128, 129, 300])
def test_what_looks_like_a_field_behind_the_header_counts(site, count):
    """However many CRs precede the LF that ends the header."""
    scuba = site.account()
    start = START + b"Message-ID: <a@b>\n" + b"\r" * count + b"\n"
    expect.stored(site.deliver(start + b"Received: the money\n", scuba))
    expect.stored(site.deliver(start + b"Received: the letter\n", scuba))
    expect.duplicate(site.deliver(start + b"Received: the letter\n", scuba))
    assert site.count(scuba) == 2


def test_the_same_body_with_another_id_is_another_message(site):
    scuba = site.account()
    for _ in range(2):
        expect.stored(site.deliver(message(), scuba))


def test_the_same_message_for_another_recipient(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    expect.stored(site.deliver(mail, doug))
    assert site.value("SELECT count(*) FROM oncedrop.message") == 1


@pytest.mark.parametrize("change", ["Subject", "To", "X-Anything"])
def test_another_header_is_another_message(site, change):
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    expect.stored(site.deliver(f"{change}: changed\n".encode() + mail, scuba))
    assert site.count(scuba) == 2


# The Sent copy: the Message-ID alone decides.

def test_a_variant_makes_no_second_sent_copy(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    id = new_id()
    expect.stored(site.deliver(message(sender=lisa, id=id), scuba, sender=lisa))
    expect.stored(site.deliver(message(sender=lisa, id=id, body="With a footer.\n"), scuba, sender=lisa))
    assert (site.count(scuba), site.count(lisa, "Sent")) == (2, 1)


def test_a_copy_that_the_mail_program_filed_counts(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    with site.lab.dovecot.session(lisa) as session:
        session.create("Sent")
        for other in (message(sender=lisa), mail, message(sender=lisa)):
            session.append("Sent", r"\Seen", None, on_the_wire(other))
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 3
    [copy] = site.sql("SELECT state, uid FROM oncedrop.copy WHERE role = 'sent'")
    assert (copy.state, copy.uid) == ("stored", 2)


def test_without_a_message_id_the_content_decides(site):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    mails = [message(sender=lisa, id=False, body=f"Body {number}.\n") for number in range(2)]
    for mail in mails:
        for recipient in (scuba, doug):
            expect.stored(site.deliver(mail, recipient, sender=lisa))
    assert (site.count(scuba), site.count(doug), site.count(lisa, "Sent")) == (2, 2, 2)
