# SPDX-License-Identifier: ISC
"""delivery.refused = quarantine: what is stored in place of a message that the IMAP server refuses for its content.

The server is a fake that refuses what Cyrus refuses, and stores the rest. In addition to the breakages
in tests/mutants, tests were seen to fail by a bounce, and by a Sent copy with the recipient's envelope."""

import base64
import email
import email.policy
import json
import os
import re
import signal
import threading

import expect
import pytest
from lab import corpus
from lab.fake_imap import FakeImap
from lab.lmtp import start
from lab.messages import message, on_the_wire
from test_operator import AUGUST

SCUBA, LISA = "scuba@example.org", "lisa@example.org"
REFUSAL = "NO Message contains invalid header"
BAD = "this line is no field of a header\n"


class Picky(FakeImap):
    """Refuses messages with that line in the header, unless tolerant; keeps the rest in self.boxes, by account and
    mailbox, and finds it by Message-ID. explained: function(client, tag) for a message of ours that was stored, in place
    of the answer."""

    def __init__(self, refusal=REFUSAL, explained=None, **more):
        self.refusal, self.explained, self.tolerant = refusal, explained, False
        self.boxes, self.dates = {}, []
        self.offered = []
        super().__init__(**more)

    def do_authenticate(self, client, tag, arguments):
        client.account = base64.b64decode(arguments.split()[1]).decode().split("\0")[0]
        super().do_authenticate(client, tag, arguments)

    def box(self, client, mailbox):
        return self.boxes.setdefault((client.account, mailbox.strip('"')), [])

    def do_append(self, client, tag, arguments):
        mailbox, data = self.read_append(client, arguments)
        header = data.partition(b"\r\n\r\n")[0]
        self.offered.append(header)
        if BAD.encode().strip() in header and not getattr(client, "tolerant", self.tolerant):
            client.send(f"{tag} {self.refusal}")
            return
        self.box(client, mailbox).append(data)
        self.dates.append(re.search(rb'"(\d\d?-\w+-\d+ [^"]+)"', arguments)[1])
        if self.explained and b"Subject: Quarantined:" in header:
            self.explained(client, tag)
        else:
            client.send(f"{tag} OK [APPENDUID 7 {len(self.box(client, mailbox))}] stored")

    def do_examine(self, client, tag, arguments):
        client.selected = self.box(client, arguments.decode())
        client.send(f"* {len(client.selected)} EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n{tag} OK [READ-ONLY] done")

    def do_uid_search(self, client, tag, arguments):
        """By date it finds all."""
        id = re.search(rb'Message-ID "([^"]+)"', arguments)
        field = rb"^Message-ID: <" + re.escape(id[1]) + rb">" if id else b""
        found = [str(place + 1) for place, data in enumerate(client.selected)
                 if re.search(field, data.partition(b"\r\n\r\n")[0], re.I | re.M)]
        client.send(f"* SEARCH {' '.join(found)}".rstrip() + f"\r\n{tag} OK done")

    def do_uid_fetch(self, client, tag, arguments):
        """All of it: more than was asked for, as it may be the ids only."""
        for number in map(int, arguments.split()[0].split(b",")):
            data = client.selected[number - 1]
            part = re.search(rb"\[.*\]", arguments)[0].decode()
            client.send(f"* {number} FETCH (UID {number} BODY{part} {{{len(data)}}}".encode() + b"\r\n" + data + b")\r\n")
        client.send(f"{tag} OK done")

    def do_fetch(self, client, tag, arguments):
        first, last = map(int, arguments.split()[0].split(b":"))
        self.do_uid_fetch(client, tag, b",".join(b"%d" % n for n in range(first, last + 1)) + b" [HEADER]")


def picky(site, **options):
    server = site.use(Picky(**options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "route.sent_copy": "off",
                          "delivery.refused": "quarantine", "delivery.refuse_after": "0s"})
    return server


def bad(**more):
    return message(headers=BAD, **more)


def quarantined(done):
    assert done.exit == 0, done
    line = expect.one_line(done)
    assert re.match(r"2\.1\.5 stored uid=\d+ mailbox=\S+ \((found there, )?quarantined", line), done
    return line


def read(raw):
    """The explanation: (message, text, bytes of the attachment)."""
    assert raw.isascii() and max(map(len, raw.split(b"\r\n"))) <= 998 and raw.count(b"\n") == raw.count(b"\r\n")
    parsed = email.message_from_bytes(raw, policy=email.policy.default)
    assert parsed.get_content_type() == "multipart/mixed" and not parsed.defects
    text, attached = parsed.iter_parts()
    assert text.get_content_type() == "text/plain"
    assert attached.get_content_type() == "application/octet-stream" and attached.get_filename() == "message.eml"
    return parsed, text.get_content(), attached.get_content()


CONTENTS = {
    "plain": bad(),
    "8 bit": bad(subject="Grüße \xff".encode("latin-1"), body=b"\xe4\xf6\n"),
    "encoded": bad(subject="=?utf-8?q?Gr=C3=BC=C3=9Fe_aus_?= =?utf-8?b?8J+QrQ==?=", to="=?utf-8?q?J=C3=BCrgen?= <j@example.org>"),
    "bare CR": bad(body=b"a\rb\r\r\nc\0d"),
    "a fold, a boundary": bad(subject="--=_oncedrop_explanation\n --=_oncedrop_explanation--", body="--=_oncedrop_explanation\n" * 9),
    "no id": bad(id=False),
    "empty body": bad(body="")[:-1],
    "full lines": bad(body="0123456789" * 57 * 3),
}


def test_show_finds_the_explanation(site):
    server = picky(site)
    quarantined(site.deliver(bad(), SCUBA, "-q", "4LOOK"))
    [one] = json.loads(site.run("show", "--verify", "--json", "4LOOK").out)["messages"]
    assert [(row["copy"], row["reason"]) for row in one["verify"]] == [("present", "attached to an explanation")]
    server.boxes[SCUBA, "INBOX"].clear()
    [one] = json.loads(site.run("show", "--verify", "--json", "4LOOK").out)["messages"]
    assert one["verify"][0]["copy"] == "unknown", one["verify"]


@pytest.mark.parametrize("mail", CONTENTS.values(), ids=CONTENTS.keys())
def test_the_message_is_attached_byte_for_byte(site, mail):
    server = picky(site)
    quarantined(site.deliver(mail, SCUBA))
    [raw] = server.boxes[SCUBA, "INBOX"]
    parsed, text, attached = read(raw)
    assert attached == on_the_wire(mail)
    assert parsed["From"] == "oncedrop <postmaster@example.org>" and parsed["To"] == SCUBA
    original = email.message_from_bytes(mail.replace(BAD.encode(), b""), policy=email.policy.default)
    assert parsed["Subject"].startswith("Quarantined:") and parsed["Auto-Submitted"] == "auto-generated"
    if str(original["Subject"]).isascii():
        assert str(original["Subject"]).replace("\n", "") in parsed["Subject"]
    if "=?" in mail.decode("latin-1"):
        assert parsed["Subject"] == "Quarantined: Grüße aus 🐭" and "Jürgen <j@example.org>" in text
    assert re.search(r"answer:\s+IMAP server .*" + REFUSAL, text) and "lisa@elsewhere.example" in text, text


def test_first_it_is_deferred_and_the_date_is_the_first(site):
    server = picky(site)
    site.settings["delivery.refuse_after"] = "1h"
    mail = bad()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    assert server.boxes.get((SCUBA, "INBOX"), []) == []
    site.ledger.older("copy", "first_at", hours=2)
    site.sql("UPDATE oncedrop.message SET received_at = %s", (AUGUST.replace(hour=12),))
    quarantined(site.deliver(mail, SCUBA))
    parsed, _, _ = read(server.boxes[SCUBA, "INBOX"][0])
    assert parsed["Date"] == "Fri, 01 Aug 2025 12:00:00 +0000" and server.dates == [b"01-Aug-2025 12:00:00 +0000"]
    expect.duplicate(site.deliver(mail, SCUBA))
    assert len(server.boxes[SCUBA, "INBOX"]) == 1


def test_a_server_that_has_changed_its_mind_gets_the_message(site):
    server = picky(site)
    site.settings["delivery.refuse_after"] = "1h"
    mail = bad()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    site.settings["delivery.refuse_after"] = "0s"
    server.tolerant = True
    expect.stored(site.deliver(mail, SCUBA))
    assert server.boxes[SCUBA, "INBOX"] == [on_the_wire(mail)]


@pytest.mark.parametrize("how", ["killed", "cut off"])
def test_an_explanation_in_doubt_is_found(site, how):
    """Regardless of the server's response this time, and though Postfix delivers the message again."""
    stored = threading.Event()

    def explained(client, tag):
        stored.set()
        if how == "cut off":
            client.close()
    server = picky(site, explained=explained)
    site.settings.update({"delivery.deadline": "30s", "delivery.hold_off": "31s"})
    mail = bad()
    process = site.start_delivery(mail, SCUBA)
    assert stored.wait(30)
    if how == "killed":
        process.signal(signal.SIGKILL)
    done = process.finish()
    assert done.exit == (75 if how == "cut off" else -signal.SIGKILL), done
    site.ledger.wait_for_no_session()
    expect.held(site.deliver(mail, SCUBA))
    site.ledger.age(minutes=1)
    server.refusal = "NO [LIMIT] something else"
    line = quarantined(site.deliver(b"Received: from elsewhere\n" + mail, SCUBA))
    assert "found there" in line
    assert len(server.boxes[SCUBA, "INBOX"]) == 1
    assert [tuple(row) for row in site.sql("SELECT state, doubt, uid FROM oncedrop.copy")] == [("stored", False, 1)]


def test_a_refused_message_that_was_stored_all_the_same(site):
    server = picky(site)

    def append(client, tag, arguments):
        client.tolerant = True
        mailbox, data = server.read_append(client, arguments)
        server.box(client, mailbox).append(data)
        client.send(f"{tag} {REFUSAL}")
    server.script["APPEND"] = append
    mail = bad()
    expect.stored(site.deliver(mail, SCUBA))
    assert server.boxes[SCUBA, "INBOX"] == [on_the_wire(mail)]


def test_an_explanation_of_another_message_does_not_count(site):
    """Nor does one that another user wrote under that Message-ID."""
    server = picky(site, explained=lambda client, tag: client.close())
    site.settings.update({"delivery.deadline": "30s", "delivery.hold_off": "31s"})
    mail = bad()
    expect.deferred(site.deliver(mail, SCUBA))
    box = server.boxes[SCUBA, "INBOX"]
    [raw] = box
    half = raw[:raw.rindex(b"\r\n--")]
    box[:] = [half, re.sub(rb"(?s)(message\.eml\"\r\n\r\n).{8}", rb"\1AAAAAAAA", raw)]
    site.ledger.age(minutes=1)
    server.explained = None
    quarantined(site.deliver(mail, SCUBA))
    assert read(box[2])[2] == on_the_wire(mail)


def test_verify_finds_the_explanation(site):
    server = picky(site)
    mail = bad()
    quarantined(site.deliver(mail, SCUBA))
    path = site.write("bad.eml", mail.decode())
    done = site.run("replay", "--verify", "-d", SCUBA, path)
    assert done.exit == 0 and len(server.boxes[SCUBA, "INBOX"]) == 1, done
    server.boxes[SCUBA, "INBOX"].clear()
    done = site.run("replay", "--verify", "-d", SCUBA, path)
    assert done.exit == 0 and len(server.boxes[SCUBA, "INBOX"]) == 1, done


@pytest.mark.parametrize("answer,code", [(REFUSAL, "4.6.0"), ("NO [TOOBIG] too big", "4.6.0"), ("NO [LIMIT] no", "4.6.0"),
                                         ("NO [OVERQUOTA] full", "4.2.2"), ("NO [SERVERBUG] disk", "4.4.1")])
def test_an_explanation_that_is_refused_bounces_nothing(site, answer, code):
    server = picky(site, explained=lambda client, tag: client.send(f"{tag} {answer}"))
    site.settings["delivery.overquota"] = "bounce"
    mail = bad()
    for _ in range(2):
        expect.deferred(site.deliver(mail, SCUBA), re.escape(code), "explanation")
        server.boxes.clear()
    assert site.value("SELECT state FROM oncedrop.copy") == "pending"
    server.explained = None
    quarantined(site.deliver(mail, SCUBA))


def test_a_sent_copy(site):
    """Without the envelope, which is the recipient's, and after sent_expire_after if that is shorter."""
    server = picky(site)
    site.settings.update({"route.sent_copy": "from", "delivery.refuse_after": "1h", "delivery.sent_expire_after": "0s"})
    mail = b"Delivered-To: secret@example.org\n" + bad(sender=LISA)

    def append(client, tag, arguments):
        client.tolerant = b"Sent" not in arguments
        Picky.do_append(server, client, tag, arguments)
    server.script["APPEND"] = append
    expect.stored(site.deliver(mail, SCUBA))
    assert server.boxes[SCUBA, "INBOX"] == [on_the_wire(mail)]
    parsed, _, attached = read(server.boxes[LISA, "Sent"][0])
    assert attached == on_the_wire(mail.partition(b"\n")[2]) and parsed["To"] == LISA
    assert site.value("SELECT state FROM oncedrop.copy WHERE role = 'sent'") == "stored"
    shown = " ".join(site.run("show", site.value("SELECT message_id FROM oncedrop.message")).out.split())
    assert f"the copy in {LISA} Sent: stored uid=1 mailbox=Sent (quarantined: IMAP server" in shown, shown


def test_lmtp(site):
    """One of three does not accept it."""
    server = picky(site)

    def append(client, tag, arguments):
        client.tolerant = client.account != SCUBA
        Picky.do_append(server, client, tag, arguments)
    server.script["APPEND"] = append
    mail, session = bad(), start(site)
    replies = session.deliver(mail, LISA, SCUBA, "jon@example.org")
    assert [reply.code for reply in replies] == [250, 250, 250]
    assert ["quarantined" in str(reply) for reply in replies] == [False, True, False]
    assert [read(raw)[2] for raw in server.boxes[SCUBA, "INBOX"]] == [on_the_wire(mail)]
    assert server.boxes[LISA, "INBOX"] == server.boxes["jon@example.org", "INBOX"] == [on_the_wire(mail)]


def test_what_the_record_says(site):
    picky(site)
    mail = bad(id="odd@test.example")
    site.settings["log.to"] = "stderr"
    done = site.deliver(mail, SCUBA)
    assert re.search(r"dsn=2\.1\.5, status=stored \(stored uid=1 mailbox=INBOX \(quarantined: .*invalid header\)\)",
                     done.out + done.err), done
    site.settings["log.to"] = None
    shown = site.run("show", "odd@test.example").out
    said = " ".join(shown.split())
    assert "stored uid=1 mailbox=INBOX (quarantined: IMAP server" in said and said.count("invalid header") == 1, shown
    [known] = json.loads(site.run("show", "--json", "odd@test.example").out)["messages"]
    assert known["deliveries"][0]["outcome"] == "quarantined" and known["copies"][0]["state"] == "stored"
    assert "invalid header" in known["copies"][0]["error"]
    listed = site.run("list").out
    assert "stored" in listed and "invalid header" in listed, listed
    assert re.search(r'deliveries_total\{outcome="quarantined"\} 1', site.run("stats", "--prometheus").out)
    assert re.search(r"^deliveries:.* quarantined 1,", site.run("stats").out, re.M)
    assert site.value("SELECT finished_at IS NOT NULL FROM oncedrop.delivery")


def test_a_large_message_takes_no_memory(site):
    server = picky(site)
    site.settings.update({"delivery.memory": "64M", "imap.timeout": "60s"})
    mail = bad(body=b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0\n" * (1 << 20))
    quarantined(site.deliver(mail, SCUBA))
    assert read_attachment(server.boxes[SCUBA, "INBOX"][0]) == on_the_wire(mail)


def read_attachment(raw):
    """email(5) would take minutes."""
    return base64.b64decode(raw.rpartition(b"message.eml\"\r\n\r\n")[2].partition(b"\r\n--")[0])


def test_cyrus_takes_everything_within_an_explanation(site, cyrus):
    """Each message with an unusual header is in the mailbox, as it is or attached; the second time it is a duplicate."""
    site.settings.update({"route.sent_copy": "off", "delivery.refused": "quarantine", "delivery.refuse_after": "0s"})
    account = site.account()
    attached = {}
    for path in corpus.FILES:
        if not path.startswith(os.path.join(corpus.OURS, "header-")):
            continue
        raw = corpus.read(path)
        done = site.deliver(raw, account)
        assert done.exit == 0, (path, done)
        if "(quarantined: " in done.out:
            attached[on_the_wire(raw)] = path
        expect.duplicate(site.deliver(raw, account))
    stored = site.messages(account)
    found = [read_attachment(one.raw) for one in stored if one.raw.startswith(b"From: oncedrop <postmaster@")]
    assert len(attached) >= 4 and sorted(found) == sorted(attached), sorted(attached.values())
    assert len(stored) == site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'stored'")


def test_an_explanation_in_doubt_is_found_at_cyrus(site, cyrus):
    site.settings.update({"route.sent_copy": "off", "delivery.refused": "quarantine", "delivery.refuse_after": "0s",
                          "imap.tls": "none", "imap.port": cyrus.port})
    account, mail, lost = site.account(), bad(), []

    def watch(_connection, _side, data):
        if b"APPENDUID" in data and not lost:
            lost.append(data)
            return None
        return data
    site.imap_proxy(watch)
    expect.deferred(site.deliver(mail, account))
    site.ledger.age(days=1)
    assert "found there, quarantined" in quarantined(site.deliver(mail, account))
    assert site.count(account) == 1
