# SPDX-License-Identifier: ISC
"""The same cases on every kind of server: Dovecot, Cyrus, Courier, each from Debian's package. What a server does
differently is a note in the table of oncedrop-imap(7); each case says what it saw, and that has to be what the table says.
Prints the table at the end.

Seen to fail: on each of the servers, when a new claim sets no doubt; on Courier, when the comparison in doubt is only
the strict one, and when names are not mapped into its namespace; when a note is taken from the manual."""

import os
import re
import time

import expect
import pytest
from lab import certificates, corpus, lmtp, manual
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER
from test_changed_by_server import forget_hold_off, without_bare_cr
from test_replay import counted

SERVERS = ["Dovecot", "Cyrus", "Courier"]
TABLE = manual.table("oncedrop-imap.7")


@pytest.fixture(params=SERVERS)
def server(site, request):
    """Each of them, as the site's."""
    if request.param != "Dovecot":
        request.getfixturevalue(request.param.lower())
    return site.imap


@pytest.fixture
def seen(server, request):
    """A function: what was seen, a word and the numbers of the notes in the manual. Goes to the printed table."""
    case = request.node.originalname.removeprefix("test_").replace("_", " ")

    def see(word="ok", *notes):
        cell = f"{word} ({', '.join(map(str, notes))})" if notes else word
        column = f"{server.title} {'.'.join(server.version().split('.')[:2])}"
        request.node.user_properties.append(("matrix", (case, f"{server.title} {server.version()}", cell)))
        assert TABLE[case].get(column, cell) == cell, (case, column)    # other versions were not looked at
    return see


def arrived(site, account, mail, mailbox="INBOX"):
    assert [stored.raw for stored in site.messages(account, mailbox)] == [on_the_wire(mail)]


def test_delivery(site, server, seen):
    """The server is probed as well: whether it opens the account that is named."""
    site.trusting = False
    scuba = site.account("scuba")
    mail = message(subject="Gr\xfc\xdfe", body="one\n.\n\n" + "x" * 200_000 + "\n")
    expect.stored(site.deliver(mail, scuba))
    arrived(site, scuba, mail)
    [stored] = site.messages(scuba)
    assert stored.flags == set()
    assert site.value("SELECT uid FROM oncedrop.copy") == stored.uid
    assert site.run("show", mail.split(b"Message-ID: <")[1].split(b">")[0].decode()).exit == 0
    done = site.check(scuba)
    assert "failed" not in done.out.replace("0 failed", ""), done
    seen()


def test_duplicate(site, server, seen):
    scuba = site.account("scuba")
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    expect.stored(site.deliver(mail + b"another\n", scuba))
    assert site.count(scuba) == 2
    seen()


def test_Sent(site, server, seen):
    """It is created, and subscribed to."""
    lisa, scuba, sent = site.account("lisa"), site.account("scuba"), server.prefix + "Sent"
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    arrived(site, lisa, mail, sent)
    [stored] = site.messages(lisa, sent)
    assert stored.flags == {"\\Seen"}
    assert sent in server.mailboxes(lisa)
    assert sent in server.mailboxes(lisa, "lsub")
    seen("ok", *([1] if server.prefix else []))


def test_special_use(site, server, seen):
    r"""route.sent = \Sent: the mailbox that is marked so; without one that is marked, and without marks, Sent."""
    site.settings["route.sent"] = r"\Sent"
    lisa, lou, scuba = site.account("lisa"), site.account("lou"), site.account("scuba")
    if server.special_use:
        server.create_sent(lisa, "Gesendet")
    for sender in (lisa, lou):
        mail = message(sender=sender)
        expect.stored(site.deliver(mail, scuba, sender=sender))
        arrived(site, sender, mail, "Gesendet" if server.special_use and sender == lisa else server.prefix + "Sent")
    seen("ok", *([] if server.special_use else [2]))


# What some servers change: in doubt, it must be found nevertheless.
CONTENTS = {
    "plain": lambda: message(body="line\n" * 20_000),
    "8-bit header": lambda: message(subject="Gr\xfc\xdfe", headers="X-Name: \xe9\n".encode("latin-1"),
                                    body="line\n" * 20_000),
    "bare CR": lambda: message(body="one\rtwo\r\r\n" + "line\n" * 20_000 + "and no end"),
    "no id": lambda: message(id=False, subject=f"no id, {time.time_ns()}", body="line\n" * 20_000),
}
# How much of the message was sent; ONCEDROP_MOMENTS: how many such moments.
COUNT = int(os.environ.get("ONCEDROP_MOMENTS", "1"))
LAST_BYTE = "last byte"     # all of the message but that
MOMENTS = ["stored", LAST_BYTE, *((number + 1) / (COUNT + 1) for number in range(COUNT))]


def kill_at(site, moment, mail, account):
    """A delivery that dies by SIGKILL: when the server has answered the APPEND but the answer has not arrived; or when
    this part of the message was sent, and the claim is committed."""
    running, sent, wire = [], [b""], on_the_wire(mail)
    enough = 0 if moment == "stored" else len(wire) - 1 if moment == LAST_BYTE else int(moment * len(wire))

    def too_much(side, data):
        """How many of these bytes are more than is to arrive; None: it is not the moment yet."""
        if moment == "stored":
            return len(data) if side == SERVER and b"APPENDUID" in data else None
        sent[0] += data if side == CLIENT else b""
        begin = sent[0].find(wire[:50])
        return len(sent[0]) - begin - enough if begin >= 0 and len(sent[0]) >= begin + enough else None

    def watch(connection, side, data):
        more = too_much(side, data)
        if more is None:
            return data
        wait_until(lambda: running, "it is running")
        if side == CLIENT:
            connection.sockets[SERVER].sendall(data[:len(data) - more])
            wait_until(lambda: site.sql("SELECT 1 FROM oncedrop.copy"), "the claim")
        running[0].signal(9)
        if moment != LAST_BYTE:
            return None
        connection.end()    # in order, so that the server reads all that it has
        return b""
    settings = dict(site.settings)
    plain(site)
    proxy = site.imap_proxy(watch)
    site.trust_server(proxy.port)
    running.append(site.start_delivery(mail, account))
    assert running[0].finish().exit == -9
    site.settings = settings


def plain(site):
    """Without TLS, over which Courier has no SASL PLAIN."""
    site.settings.update({"imap.tls": "none", "imap.port": site.imap.port})
    if site.imap.title == "Courier":
        site.settings["imap.auth"] = "login"


def kept(server, mail):
    """What the server makes of it."""
    change = {"Courier": without_bare_cr, "Dovecot": corpus.one_cr}.get(server.title, lambda data: data)
    return change(on_the_wire(mail))


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("moment", MOMENTS)
def test_in_doubt(site, server, seen, content, moment):
    """Neither doubled nor lost."""
    scuba = site.account("scuba")
    mail = CONTENTS[content]()
    kill_at(site, moment, mail, scuba)
    assert site.sql("SELECT state FROM oncedrop.copy") == [("appending",)]
    expect.deferred(site.deliver(mail, scuba))      # the hold-off
    forget_hold_off(site)
    done = site.deliver_with_retries(mail, scuba)[-1]
    assert done.exit == 0 and ("(found there)" in done.out) == (moment == "stored"), done
    assert [corpus.one_cr(stored.raw) for stored in site.messages(scuba)] == [corpus.one_cr(kept(server, mail))]
    expect.duplicate(site.deliver(mail, scuba))
    seen()


def cyrus_refuses(data):
    """It wants fields from the first line to the first that begins with CR: a name without blanks or control
    characters, and a colon; or a line that begins with `From '."""
    lines = data.split(b"\n")
    for line in lines:
        if line.startswith(b"\r"):
            return False
        if line.startswith(b":") or (line and not line.startswith((b" ", b"\t", b"From ")) and
                                     any(byte <= 32 for byte in line.split(b":")[0])):
            return True
    return lines[-1] != b""


def test_corpus(site, server, seen):
    """Every message of the corpus: byte for byte, or what the server makes of it."""
    scuba = site.account("scuba")
    site.settings["record.level"] = "envelope"
    done = site.run("replay", "-d", scuba, "-f", "lisa@example.org", *corpus.FILES)
    wires = {path: on_the_wire(corpus.read(path)) for path in corpus.FILES}
    refused = {path for path in wires if server.title == "Cyrus" and cyrus_refuses(wires[path])}
    assert set(re.findall(r"^deferred +(\S+) .*NO Message contains invalid header", done.out, re.M)) == refused
    assert done.exit == (75 if refused else 0), done
    found = [stored.raw for stored in site.messages(scuba)]
    wanted = list(dict.fromkeys(wires[path] for path in wires if path not in refused))  # two of the others' are the same
    if found == wanted:
        return seen(*(["no", 4] if refused else []))
    change = {"Courier": without_bare_cr, "Dovecot": corpus.one_cr}[server.title]
    assert sorted(map(change, found)) == sorted(map(change, wanted))
    if server.title == "Courier":
        assert sorted(found) == sorted(map(change, wanted))
    seen("ok", {"Courier": 5, "Dovecot": 3}[server.title])
    return None


def test_quota(site, server, seen):
    scuba = site.account("scuba", quota=100_000)
    small, large = message(), message(body="line\n" * 40_000)
    expect.stored(site.deliver(small, scuba))
    expect.deferred(site.deliver(large, scuba), r"4\.2\.2")
    site.settings["delivery.overquota"] = "bounce"
    done = site.deliver(large, scuba)
    if done.exit == 75:
        expect.deferred(done, r"4\.2\.2")
    else:
        expect.bounced(done, 69, "5.2.2")
    arrived(site, scuba, small)
    seen("ok", *([7] if done.exit == 75 else []))


def test_unknown_account(site, server, seen):
    """The server does not say it reliably, so the message is deferred, and nothing is created; the query says it."""
    stranger = f"stranger{site.number}@example.org"
    done = site.deliver(message(), stranger)
    expect.deferred(done)
    site.settings["route.account_query"] = "SELECT 'somebody' WHERE $1 = ''"
    expect.bounced(site.deliver(message(), stranger), 67, "5.1.1")
    assert server.accepts_strangers == ("no INBOX" in done.out), done
    if server.accepts_strangers:
        assert server.mailboxes(stranger) == []
    seen("ok", *([6] if server.accepts_strangers else []))


def test_detail_folder(site, server, seen):
    site.settings.update({"route.detail": "folder", "route.account": "%{user}@%{domain}"})
    scuba, lists = site.account("scuba"), server.prefix + "lists"
    mail = message()
    user, domain = scuba.split("@")
    expect.stored(site.deliver(mail, f"{user}+lists@{domain}"), "lists")
    arrived(site, scuba, mail, lists)
    assert lists in server.mailboxes(scuba, "lsub")
    assert site.count(scuba) == 0
    seen("ok", *([1] if server.prefix else []))


def test_TLS(site, server, seen):
    """imaps, and STARTTLS; a certificate of another server is refused."""
    scuba = site.account("scuba")
    expect.stored(site.deliver(message(), scuba))
    site.settings.update({"imap.tls": "starttls", "imap.port": server.port})
    site.trust_server()
    expect.stored(site.deliver(message(), scuba))
    site.settings["imap.ca_file"] = certificates.Authority(site.directory, "stranger").certificate
    for tls, port in (("starttls", server.port), ("imaps", server.tls_port)):
        site.settings.update({"imap.tls": tls, "imap.port": port})
        expect.deferred(site.deliver(message(), scuba), r"4\.\d\.\d", "certificate")
    assert site.count(scuba) == 2
    seen()


def test_LMTP(site, server, seen):
    """Ten recipients, twice: and the connections are kept."""
    accounts = [site.account(f"scuba{number}") for number in range(10)]
    session = lmtp.start(site)
    mail = message()
    for reply in session.deliver(mail, *accounts):
        lmtp.stored(reply)
    for reply in session.deliver(mail, *accounts):
        assert reply.code == 250 and "duplicate" in reply.text, reply
    for reply in session.deliver(message(), *accounts):
        lmtp.stored(reply)
    session.close()
    assert [site.count(account) for account in accounts] == [2] * 10
    seen()


def test_replay(site, server, seen):
    scuba = site.account("scuba")
    mails = [message(body=f"number {number}\n") for number in range(5)]
    paths = [site.write(f"{number}.eml", mail.decode()) for number, mail in enumerate(mails)]
    expect.stored(site.deliver(mails[0], scuba))
    counted(site.run("replay", "-d", scuba, *paths), stored=4, duplicate=1)
    counted(site.run("replay", "-d", scuba, *paths), duplicate=5)
    assert sorted(stored.raw for stored in site.messages(scuba)) == sorted(map(on_the_wire, mails))
    seen()


def test_the_table_is_whole():
    """Each of its rows is a case of ours."""
    cases = {name.removeprefix("test_").replace("_", " ") for name in globals() if name.startswith("test_")}
    assert set(TABLE) == cases - {"the table is whole"}
    assert {column.split()[0] for row in TABLE.values() for column in row} == set(SERVERS)
