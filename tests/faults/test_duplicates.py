# SPDX-License-Identifier: ISC
"""Pairs of messages, and what may be suppressed: only what is already in that very mailbox, and never by the Message-ID
alone (except the Sent copy, for which it decides).

Each row is tried in both orders, by `deliver`, by LMTP and by both, in its own accounts. Nothing disturbs these
deliveries: each has to say its verdict at once.

Seen to fail with: the digest left out of the identity (targets.c: set_identity; what follows is a false duplicate),
Subject left out of the digest (message_digest.c: transport_fields; a false duplicate), Received kept in it (doubled),
and any message with this Message-ID taken for this one (ledger_state.c: both queries without the digest; a false
duplicate)."""

import base64
import collections
import itertools
import quopri
import re

import death
import pytest
from bench import Bench, Wrong, check_ledger, run_points
from lab.lmtp import stuffed
from lab.messages import new_id, on_the_wire
from lab.proxy import SERVER

STORED, DUPLICATE = "stored", "duplicate"
DELIVER, LMTP = "deliver", "lmtp"
STRANGER = "lisa@elsewhere.example"

# The sites' own addresses, where an alias belongs to another user's mailbox.
QUERY = ("SELECT CASE WHEN $1 LIKE 'alias-%' THEN substr($1, 7) ELSE $1 END AS account"
         " WHERE $1 LIKE '%@example.org'")


class People:
    """The accounts of one row, and what its messages have in common."""

    def __init__(self, bench, sender):
        self.a, self.b, self.s = (bench.account() for _ in range(3))
        self.sender = self.s if sender else STRANGER
        self.id = new_id()

    def address(self, template):
        """`a` is an account, `alias-a` or `a+x` an address that maps to it."""
        before, name, after = re.fullmatch(r"(alias-)?([absABS])(\+\w+)?", template).groups("")
        user, domain = getattr(self, name.lower()).split("@")
        address = f"{before}{user}{after}@{domain}"
        return address.upper() if name.isupper() else address


def encode(text):
    return text if isinstance(text, bytes) else text.encode()


def mail(it, on_top="", fields="", body="Hello.\n", subject="Subject: Hello\n", id_field=None):
    """on_top, fields: further header lines, before and after the others; id_field: the whole field, with {id}."""
    id_field = encode("Message-ID: <{id}>\n" if id_field is None else id_field).replace(b"{id}", it.id.encode())
    start = f"From: {it.sender}\nTo: {it.a}, {it.b}\n"
    return b"".join(encode(part) for part in (on_top, start, subject, "Date: Fri, 1 Aug 2025 10:00:00 +0200\n",
                                              id_field, fields, "\n", body))


def made(**changes):
    return lambda it: mail(it, **changes)


# name; first, second: functions of People; verdict: said of the second; holds: the mailboxes and which of the two is in
# each (no other one holds anything); to, then_to: who the first and the second are for; sender: a local user has sent
# them; ids: how many Message-IDs these are; ways: these, not all.
Row = collections.namedtuple("Row", "name first second verdict holds to then_to sender ids ways")


def row(name, first, second, verdict, to="a", then_to=None, holds=None, sender=False, ids=1, ways=None):
    if holds is None:
        holds = {"a": (1, 2) if verdict == STORED else (1,)}
    return Row(name, first, second, verdict, holds, to.split(), (then_to or to).split(), sender, ids, ways)


def other(name, ids=1, **changes):
    """A different message: the first is plain, the second has these changes."""
    return row(name, mail, made(**changes), STORED, ids=ids)


def same(name, **changes):
    return row(name, mail, made(**changes), DUPLICATE)


CONTENT = [
    row("the very same", mail, mail, DUPLICATE),
    other("another body", body="Good bye.\n"),
    other("one byte more", body="Hello..\n"),
    other("another Subject", subject="Subject: Good bye\n"),
    other("no Subject", subject=""),
    other("a list's copy", subject="Subject: [people] Hello\n", body="Hello.\n-- \nThe list of people\n",
          fields="List-Id: <people.example.org>\nList-Unsubscribe: <https://people.example.org>\n"),
    other("a list's copy with one field more", fields="List-Id: <people.example.org>\n"),
    other("resent", on_top=f"Resent-From: {STRANGER}\nResent-To: a@example.org\nResent-Message-ID: <resent@b>\n"),
    other("resent with a date only", on_top="Resent-Date: Sat, 2 Aug 2025 10:00:00 +0200\n"),
    other("DKIM-Signature", on_top="DKIM-Signature: v=1; b=abc\n"),
    other("a field that is named nearly so", fields="Receiver: x\n"),
    other("Received in the body", body="Received: from x\nHello.\n"),
    other("no end of line at the end, and one", body="Hello.\n\n"),
    other("fields in another order", subject="", on_top="Subject: Hello\n"),
    same("a folded Subject", subject="Subject:\n Hello\n"),
    other("a Subject in capitals", subject="SUBJECT: Hello\n"),
    other("two blanks", subject="Subject:  Hello\n"),
]

TEXT = "Gr\u00fc\u00dfe.\n".encode()


def encoded(name, body):
    return made(body=body, fields="MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n"
                                  f"Content-Transfer-Encoding: {name}\n")


ENCODED = {"8bit": encoded("8bit", TEXT), "quoted-printable": encoded("quoted-printable", quopri.encodestring(TEXT)),
           "base64": encoded("base64", base64.encodebytes(TEXT))}
CONTENT += [row(f"{one} and {two}", ENCODED[one], ENCODED[two], STORED)
            for one, two in itertools.combinations(ENCODED, 2)]


def as_attachment(received):
    return made(fields="Content-Type: message/rfc822\n", body=f"Received: {received}\nSubject: x\n\nx\n")


CONTENT.append(row("Received in an attached message", as_attachment("one"), as_attachment("two"), STORED))

# Fields added by transport.
TRACE = [*[row(f"another {field}", made(on_top=f"{field}: 1\n"), made(on_top=f"{field}: 2\n\tmore\n"), DUPLICATE)
           for field in ("Return-Path", "Received", "Delivered-To", "X-Original-To", "Authentication-Results",
                         "ARC-Seal", "ARC-Message-Signature", "ARC-Authentication-Results", "X-Spam-Status",
                         "X-Spam-Score", "Envelope-To", "Received-SPF", "X-Rspamd-Server", "X-Virus-Scanned",
                         "X-Spamd-Result", "X-Greylist", "Delivery-date", "X-Received", "X-Gm-Message-State",
                         "X-Proofpoint-GUID", "X-IronPort-AV")],
         *[row(f"a field folded by {fold!r}", made(fields="X-Topic: one two\n"),
               made(fields=f"X-Topic: one{fold}two\n"), DUPLICATE)
           for fold in ("\n ", "\n\t", " \n ")],
         row("two blanks for one", made(fields="X-Topic: one two\n"), made(fields="X-Topic: one  two\n"), STORED),
         same("Received, more", on_top="Received: from x\n\tby y; Fri, 1 Aug 2025 10:00:00 +0200\nRECEIVED: from z\n"),
         same("Received, at the end", fields="Received: from x\n"),
         same("all that a Postfix adds", on_top="Return-Path: <x@y>\nX-Original-To: a@b\nDelivered-To: a@b\n"
                                                "Received: by c\n"),
         same("From_ line of an mbox", on_top="From lisa@elsewhere.example Fri Aug  1 10:00:00 2025\n"),
         same("the same, quoted", on_top=">From lisa@elsewhere.example Fri Aug  1 10:00:00 2025\n"),
         row("CRLF line ends", mail, lambda it: mail(it).replace(b"\n", b"\r\n"), DUPLICATE,
             ways=[(DELIVER, DELIVER), (LMTP, DELIVER)]),
         row("NUL, which is stored as 0x80", made(body=b"a\0b\n"), made(body=b"a\x80b\n"), DUPLICATE),
         row("no end of line at the end", mail, made(body="Hello."), STORED, ways=[(DELIVER, DELIVER)])]

BOTH = "Message-ID: <{id}>\nMessage-ID: <other.{id}>\n"


def again(name, id_field, ids=1):
    """Such a field does not turn the same message into another one, nor a changed one into the same."""
    first = made(id_field=id_field)
    return [row(f"{name}, the same", first, made(id_field=id_field, on_top="Received: x\n"), DUPLICATE),
            row(f"{name}, another body", first, made(id_field=id_field, body="Good bye.\n"), STORED, ids=ids)]


# The id of another message is never taken for this one's; the field's bytes are content, too.
IDENTITY = [
    *again("no Message-ID", "", ids=2),
    *again("an empty Message-ID", "Message-ID: <>\n", ids=2),
    *again("a Message-ID without brackets", "Message-ID: {id}\n", ids=2),
    *again("two Message-IDs", BOTH),
    *again("an id of 8-bit bytes", b"Message-ID: <\xfc{id}>\n"),
    *again("an id that is folded", "Message-ID:\n <{id}>\n"),
    *again("an id that is folded inside", "Message-ID: <{id}\n .x>\n"),
    *again("an id longer than what is searched", "Message-ID: <" + "x" * 900 + "{id}>\n"),
    other("another id", ids=2, id_field="Message-ID: <other.{id}>\n"),
    row("an id in other letters", made(id_field="Message-ID: <x{id}>\n"), made(id_field="Message-ID: <X{id}>\n"),
        STORED, ids=2),
    row("8-bit ids that are one as text", made(id_field=b"Message-ID: <\xfe{id}>\n"),
        made(id_field=b"Message-ID: <\xff{id}>\n"), STORED, ids=2),
    other("an id, and none", ids=2, id_field=""),
    other("an id, and an empty one", ids=2, id_field="Message-ID: <>\n"),
    other("an id with a comment", id_field="Message-ID: (x) <{id}> (y)\n"),
    other("an id with blanks around", id_field="Message-ID:   <{id}>  \n"),
    other("an id with blanks inside", ids=2, id_field="Message-ID: < {id} >\n"),
    row("a folded id", made(), made(id_field="Message-ID:\n <{id}>\n"), DUPLICATE),
    other("a second Message-ID", id_field=BOTH),
    row("two Message-IDs in another order", made(id_field=BOTH),
        made(id_field="Message-ID: <other.{id}>\nMessage-ID: <{id}>\n"), STORED, ids=2),
]


def forged(it):
    return b"Subject: Forged\n" + mail(it, subject="", body="Forged.\n")


def bcc(it):
    return mail(it, fields=f"Bcc: {it.b}\n")


ONE_EACH = {"a": (1,), "b": (2,)}
BOTH_HAVE_IT = {"a": (1,), "b": (1,)}

RECIPIENTS = [
    row("two recipients", mail, mail, STORED, to="a", then_to="b", holds=ONE_EACH),
    row("two recipients, then both again", mail, mail, DUPLICATE, to="a b", holds=BOTH_HAVE_IT, ways=[(LMTP, LMTP)]),
    row("two recipients, one of them again", mail, mail, DUPLICATE, to="a b", then_to="b", holds=BOTH_HAVE_IT,
        ways=[(LMTP, DELIVER), (LMTP, LMTP)]),
    row("a forged one to another first", forged, mail, STORED, to="b", then_to="a", holds={"b": (1,), "a": (2,)}),
    row("a forged one to the same first", forged, mail, STORED),
    row("Bcc in a queue entry of its own", mail, mail, STORED, to="a", then_to="b", sender=True,
        holds={**ONE_EACH, "s/Sent": (1,)}),
    row("Bcc with the field", mail, bcc, STORED, to="a", then_to="b", sender=True, holds={**ONE_EACH, "s/Sent": (1,)}),
    row("Bcc with the field, to one who has it", mail, bcc, STORED, sender=True, holds={"a": (1, 2), "s/Sent": (1,)}),
    row("two addresses of one account", mail, mail, DUPLICATE, to="a+x", then_to="a"),
    row("two details of one account", mail, mail, DUPLICATE, to="a+x", then_to="a+y"),
    row("both in one transaction", mail, mail, DUPLICATE, to="a a+x", then_to="a+x a", ways=[(LMTP, LMTP)]),
    row("an address in capitals", mail, mail, DUPLICATE, to="a", then_to="A"),
    row("two addresses, another body", mail, made(body="Good bye.\n"), STORED, to="a+x", then_to="a"),
]

SENT = [
    row("from somebody here, again", mail, mail, DUPLICATE, sender=True, holds={"a": (1,), "s/Sent": (1,)}),
    row("a variant of the same id: one in Sent", mail, made(body="Good bye.\n"), STORED, sender=True,
        holds={"a": (1, 2), "s/Sent": (1,)}),
    row("another id: both in Sent", mail, made(id_field="Message-ID: <other.{id}>\n"), STORED, sender=True,
        holds={"a": (1, 2), "s/Sent": (1, 2)}, ids=2),
    row("no id, another body: both in Sent", made(id_field=""), made(id_field="", body="Good bye.\n"), STORED,
        sender=True, holds={"a": (1, 2), "s/Sent": (1, 2)}, ids=2),
    row("no id, the same: one in Sent", made(id_field=""), made(id_field="", on_top="Received: x\n"), DUPLICATE,
        sender=True, holds={"a": (1,), "s/Sent": (1,)}),
    row("to oneself", mail, mail, DUPLICATE, to="s", sender=True, holds={"s": (1,), "s/Sent": (1,)}),
    row("to oneself and another", mail, mail, DUPLICATE, to="s a", sender=True, ways=[(LMTP, LMTP)],
        holds={"s": (1,), "a": (1,), "s/Sent": (1,)}),
    row("to oneself, then to another", mail, mail, STORED, to="s", then_to="a", sender=True,
        holds={"s": (1,), "a": (2,), "s/Sent": (1,)}),
    row("to oneself, and back from a list", mail, made(fields="List-Id: <people.example.org>\n"), STORED, to="s",
        sender=True, holds={"s": (1, 2), "s/Sent": (1,)}),
]

ROWS = CONTENT + TRACE + IDENTITY + RECIPIENTS + SENT

ALIASES = [
    row("an alias by account_query", mail, mail, DUPLICATE, to="alias-a", then_to="a"),
    row("an alias and a detail", mail, mail, DUPLICATE, to="alias-a", then_to="a+x"),
    row("an alias in one transaction", mail, mail, DUPLICATE, to="alias-a a", then_to="a alias-a", ways=[(LMTP, LMTP)]),
    row("an alias, another body", mail, made(body="Good bye.\n"), STORED, to="alias-a", then_to="a"),
    row("an alias of another", mail, mail, STORED, to="alias-a", then_to="b", holds=ONE_EACH),
    row("an alias of the sender", mail, mail, DUPLICATE, to="alias-s", then_to="s", sender=True,
        holds={"s": (1,), "s/Sent": (1,)}),
]

class Try(collections.namedtuple("Try", "row ways backwards")):
    def __str__(self):
        return f"{self.row.name}{', backwards' if self.backwards else ''} ({' then '.join(self.ways)})"


def tries(rows):
    """Each row in both orders; the ways in turn."""
    turns = itertools.cycle([(DELIVER, DELIVER), (DELIVER, LMTP), (LMTP, DELIVER), (LMTP, LMTP), (LMTP, DELIVER)])
    return [Try(one, one.ways[backwards % len(one.ways)] if one.ways else next(turns), bool(backwards))
            for one in rows for backwards in range(2)]


def hand_over(bench, it, way, message, recipients):
    """One message to all of them. Returns the verdict of each, or the answer instead."""
    if way == DELIVER:
        words, stdin = ["deliver", "-f", it.sender, "-d", recipients[0]], message
    else:
        lines = ["LHLO x", f"MAIL FROM:<{it.sender}>", *[f"RCPT TO:<{one}>" for one in recipients], "DATA", ""]
        words, stdin = ["lmtp"], "\r\n".join(lines).encode() + stuffed(message) + b"QUIT\r\n"
    done = death.run([*bench.program, *words], stdin)
    said = re.findall(rb"^(?:250 )?2\.1\.5 (stored|duplicate)", done.stdout, re.MULTILINE)
    return [word.decode() for word in said] if len(said) == len(recipients) and done.returncode == 0 else done


def look_into(bench, it, holds, messages):
    """What is in each mailbox that is not empty, and what should be."""
    for where, due in holds.items():
        name, _, sent = where.partition("/")
        expected = collections.Counter(sent_form(messages[number - 1], sent) for number in due)
        found = collections.Counter(stored.raw for stored in bench.site.messages(getattr(it, name), sent or "INBOX"))
        yield where, expected, found


def sent_form(message, sent):
    """The bytes as they should be found; in Sent without the fields that name a recipient."""
    raw = on_the_wire(message)
    names_a_recipient = rb"^(?:Return-Path|Delivered-To|X-Original-To):.*\r\n(?:[ \t].*\r\n)*"
    return re.sub(names_a_recipient, b"", raw, flags=re.MULTILINE) if sent else raw


def compare(bench, it, one, messages):
    for where, expected, found in look_into(bench, it, one.holds, messages):
        missing, more = expected - found, found - expected
        if missing and sum(found.values()) < sum(expected.values()):
            return Wrong("false duplicate", f"{where} lacks {list(missing)}")
        if missing:
            return Wrong("lost", f"{where} has {list(more)} instead of {list(missing)}")
        if more:
            return Wrong("doubled", f"{where} has {dict(found)}")
    return None


def lock_row(bench, trial):
    one = trial.row
    it = People(bench, one.sender)
    messages = [one.first(it), one.second(it)]
    if trial.backwards:
        messages.reverse()
    said = []
    for way, mails, names in zip(trial.ways, messages, (one.to, one.then_to)):
        said.append(hand_over(bench, it, way, mails, [it.address(name) for name in names]))
        if not isinstance(said[-1], list):
            return Wrong("other", f"no success: {said[-1]}")
    wrong = compare(bench, it, one, messages)
    if wrong:
        return wrong
    if said != [[STORED] * len(one.to), [one.verdict] * len(one.then_to)]:
        return Wrong("other", f"said {said}")
    [counts] = bench.site.sql("SELECT count(DISTINCT m.identity) AS ids, count(*) AS copies FROM oncedrop.message m"
                              " JOIN oncedrop.copy c ON c.message = m.id WHERE c.account IN (%s, %s, %s)",
                              (it.a, it.b, it.s))
    if counts != (one.ids, sum(len(due) for due in one.holds.values())):
        return Wrong("other", f"in the ledger: {counts}")
    return None


def run_rows(site, tally, rows):
    """Nothing needs a wait, and a slow or busy machine must not reach a deadline."""
    bench = Bench(site)
    bench.site.settings.update({"delivery.deadline": "60s", "delivery.hold_off": "300s", "imap.timeout": "30s"})
    site.write("oncedrop.conf", site.configuration())
    chosen = tries(rows)
    wrong = run_points(lambda trial: lock_row(bench, trial), chosen)
    tally("duplicate verdicts", len(chosen), wrong)
    check_ledger(site)


def test_what_is_a_duplicate(site, tally):
    run_rows(site, tally, ROWS)


def test_aliases_of_one_mailbox(site, tally):
    site.settings["route.account_query"] = QUERY
    run_rows(site, tally, ALIASES)


# The same message comes in once more, the first try of which is in doubt; its size is another then. What is looked for
# without a Message-ID must be found nevertheless.

UNSEARCHABLE = {"no Message-ID": "", "an id of 8-bit bytes": b"Message-ID: <\xfc{id}>\n",
                "a long id": "Message-ID: <" + "x" * 300 + "{id}>\n"}


def left_in_doubt(site, mail, recipient):
    """The answer to its APPEND is cut off, and its hold-off is over."""
    right = dict(site.settings)
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    site.imap_proxy(lambda _connection, side, data: None if side == SERVER and b"APPENDUID" in data else data)
    assert site.deliver(mail, recipient).exit == 75
    site.settings = right
    site.ledger.age(hours=1)


@pytest.mark.parametrize("id_field", UNSEARCHABLE.values(), ids=UNSEARCHABLE.keys())
@pytest.mark.parametrize("first,second,to", [("", "Received: from x\n", "a"),
                                             ("Delivered-To: a+x\n", "Delivered-To: a\n", "a+x")],
                         ids=["another queue entry", "another address of the account"])
def test_what_is_in_doubt_is_found_in_another_form(site, first, second, to, id_field):
    it = People(Bench(site), sender=False)
    left_in_doubt(site, mail(it, on_top=first, id_field=id_field), it.address(to))
    done = site.deliver(mail(it, on_top=second, id_field=id_field), it.a)
    assert (done.exit, site.count(it.a)) == (0, 1), done


def test_replay_finds_another_form(site):
    """--verify of a file as it was before its delivery."""
    it = People(Bench(site), sender=False)
    assert site.deliver(mail(it, on_top="Delivered-To: a\n", id_field=""), it.a).exit == 0
    path = site.write("a.eml", mail(it, id_field="").decode())
    done = site.run("replay", "--verify", "-d", it.a, path)
    assert (done.exit, site.count(it.a)) == (0, 1), done
