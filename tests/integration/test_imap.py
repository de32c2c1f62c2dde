# SPDX-License-Identifier: ISC
"""Logging in, and the possible answers of an IMAP server to an APPEND."""

import sys

import expect
import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message, on_the_wire
from lab.proxy import SERVER

SCUBA = "scuba@example.org"


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.host": "127.0.0.1", "imap.port": server.port, "imap.tls": "none"})
    return server


def test_master_user_is_the_authentication_id(site):
    server = fake(site)
    expect.stored(site.deliver(message(), SCUBA))
    assert server.credentials == [f"{SCUBA}\0oncedrop\0{site.lab.dovecot.password}"]


def test_plain_without_master_user(site):
    server = fake(site)
    site.settings["imap.master_user"] = None
    expect.stored(site.deliver(message(), SCUBA))
    assert server.credentials in ([f"{SCUBA}\0{SCUBA}\0{site.lab.dovecot.password}"],
                                  [f"\0{SCUBA}\0{site.lab.dovecot.password}"])


def test_login(site):
    server = fake(site)
    site.settings.update({"imap.auth": "login", "imap.master_user": None,
                          "imap.password_file": site.write("special", 'pass "word" \\\n')})
    expect.stored(site.deliver(message(), SCUBA))
    assert server.credentials == [f'"{SCUBA}" "pass \\"word\\" \\\\"']


def test_xoauth2(site):
    server = fake(site, capabilities=CAPABILITIES + " AUTH=XOAUTH2")
    site.settings.update({"imap.auth": "xoauth2", "imap.master_user": None,
                          "imap.password_file": site.write("token", "bearer-token\n")})
    expect.stored(site.deliver(message(), SCUBA))
    assert server.credentials == [f"user={SCUBA}\1auth=Bearer bearer-token\1\1"]


def test_plain_and_login_at_a_real_server(site):
    for auth in ("plain", "login"):
        scuba = site.account(auth)
        site.settings.update({"imap.auth": auth, "imap.master_user": None,
                              "imap.password_file": site.write("own", scuba + "\n")})
        expect.stored(site.deliver(message(), scuba))
        assert site.count(scuba) == 1


def test_logindisabled_gets_no_password(site):
    server = fake(site, capabilities="IMAP4rev1 LOGINDISABLED")
    site.settings.update({"imap.auth": "login", "imap.master_user": None})
    expect.deferred(site.deliver(message(), SCUBA))
    assert server.credentials == []


def test_preauth_command(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    script = site.write("imap", f"#!/bin/sh\nexec {' '.join(site.lab.dovecot.command(scuba))}\n", 0o700)
    for name in ("imap.host", "imap.port", "imap.ca_file", "imap.master_user", "imap.password_file"):
        site.settings[name] = None
    # It could not be started by name while another process, forked while it was being written, has it open for writing.
    site.settings.update({"imap.command": f"sh {script}", "route.sent_copy": "off"})
    small, large = message(sender=lisa), message(sender=lisa, body=b"0123456789abcde\n" * 200_000)
    for mail in (small, large):
        expect.stored(site.deliver(mail, scuba))
        expect.duplicate(site.deliver(mail, scuba))
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(small), on_the_wire(large)]


@pytest.mark.parametrize("command", ["/nowhere/imap", "false", "sh -c 'echo no IMAP at all'", "sleep 100"])
def test_a_command_that_does_not_work(site, command):
    site.settings.update({"imap.command": command, "imap.timeout": "1s", "imap.host": None, "imap.port": None,
                          "imap.ca_file": None, "imap.master_user": None, "imap.password_file": None})
    done = site.deliver(message(), SCUBA)
    expect.deferred(done)
    assert done.seconds < 40    # the deadline is 60 s


# The server's answer to APPEND, before or after the literal: (answer, exit, code, state in the ledger, doubt).
CLEAN, DOUBT = ("pending", False), ("pending", True)
ANSWERS = {
    "overquota": ("NO [OVERQUOTA] full", 75, "4.2.2", CLEAN, CLEAN),
    "toobig": ("NO [TOOBIG] too big", 69, "5.3.4", None, None),
    "limit": ("NO [LIMIT] too many", 75, "4.6.0", None, DOUBT),
    "noperm": ("NO [NOPERM] not you", 75, "4.", CLEAN, CLEAN),
    "unavailable": ("NO [UNAVAILABLE] later", 75, "4.4.1", CLEAN, DOUBT),
    "plain NO": ("NO I do not like it", 75, "4.4.1", CLEAN, DOUBT),
    "BAD": ("BAD what?", 75, "4.4.1", CLEAN, DOUBT),
    "BAD with a code": ("BAD [OVERQUOTA] what?", 75, "4.4.1", CLEAN, DOUBT),
    "NO and something of a quota": ("NO cannot update quota", 75, "4.", CLEAN, DOUBT),
}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("answer,exit,code,before,after", ANSWERS.values(), ids=ANSWERS.keys())
def test_refused_appends(site, place, answer, exit, code, before, after):
    def refuse(client, tag, arguments):
        if place == "after":
            FakeImap.read_append(client, arguments)
        client.send(f"{tag} {answer}")
    server = fake(site, script={"APPEND": refuse})
    mail = message()
    done = site.deliver(mail, SCUBA)
    assert done.exit == exit, done
    assert expect.one_line(done).startswith(code), done
    expected = before if place == "before" else after
    if expected:
        [copy] = site.sql("SELECT state, doubt FROM oncedrop.copy")
        assert (copy.state, copy.doubt) == expected
    del server.script["APPEND"]
    done = site.deliver(mail, SCUBA)
    if exit == 75:
        expect.stored(done)
        assert [data for _, data in server.appended] == [on_the_wire(mail)]


# What may finally bounce: the message is older than refuse_after, and overquota = bounce.
FINAL = {
    "overquota": ("NO [OVERQUOTA] Quota exceeded (mailbox for user is full)", "5.2.2", "5.2.2"),
    "toobig": ("NO [TOOBIG] too big", "5.3.4", "5.3.4"),
    "limit": ("NO [LIMIT] too many", "5.6.0", "5.6.0"),
    "content": ("NO Message contains invalid header", "4.4.1", "5.6.0"),
    "Courier's quota": ("NO [ALERT] You exceeded your mail quota.", "4.4.1", "4.2.2"),
    "some quota": ("NO cannot update quota", "4.4.1", "4.2.2"),
    "quota of a disk": ("NO [OVERQUOTA] Not enough disk quota", "4.4.1", "4.2.2"),
    "full disk": ("NO [SERVERBUG] Internal error occurred. Refer to server log for more information.", "4.4.1", "4.4.1"),
    "full disk at Courier": ("NO [ALERT] Cannot create message - no write permission or out of disk space.", "4.4.1",
                             "4.4.1"),
    "full disk at Cyrus": ("NO System I/O error", "4.4.1", "4.4.1"),
    "content or trouble": ("NO invalid message", "4.4.1", "4.4.1"),
    "in use": ("NO [INUSE] later", "4.4.1", "4.4.1"),
    "ask the administrator": ("NO [CONTACTADMIN] broken", "4.4.1", "4.4.1"),
    "unknown code": ("NO [X-MOON] full", "4.4.1", "4.4.1"),
    "no right": ("NO [NOPERM] not you", "4.3.0", "4.3.0"),
    "no mailbox": ("NO [TRYCREATE] none", "4.3.0", "4.3.0"),
    "BAD": ("BAD [TOOBIG] what?", "4.4.1", "4.4.1"),
}


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("answer,before,after", FINAL.values(), ids=FINAL.keys())
def test_only_what_certainly_speaks_of_the_message_or_the_mailbox_bounces(site, place, answer, before, after):
    def refuse(client, tag, arguments):
        if place == "after":
            FakeImap.read_append(client, arguments)
        client.send(f"{tag} {answer}")
    server = fake(site, script={"APPEND": refuse})
    site.settings.update({"delivery.refuse_after": "0s", "delivery.overquota": "bounce"})
    code = before if place == "before" else after
    mail = message()
    done = site.deliver(mail, SCUBA)
    assert expect.one_line(done).startswith(code + " ") and (done.exit == 75) == code.startswith("4"), done
    if done.exit == 75:
        expect.deferred(site.deliver(mail, SCUBA), code)
        del server.script["APPEND"]
        expect.stored(site.deliver(mail, SCUBA))


def test_content_refused_for_long_bounces(site):
    def refuse(client, tag, arguments):
        FakeImap.read_append(client, arguments)
        client.send(f"{tag} NO Message contains invalid header")
    fake(site, script={"APPEND": refuse})
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    site.settings["delivery.refuse_after"] = "0s"
    expect.bounced(site.deliver(mail, SCUBA), 65, "5.6.0", "invalid header")


def test_trycreate_is_tried_once(site):
    def refuse(client, tag, _arguments):
        client.send(f"{tag} NO [TRYCREATE] no such mailbox")
    server = fake(site, script={"APPEND": refuse})
    site.settings["route.inbox"] = "Lists"
    expect.deferred(site.deliver(message(), SCUBA))
    names = [name for name, _ in server.commands]
    assert names.count("CREATE") == 1
    assert names.count("APPEND") == 2


def test_no_uidplus(site):
    def append(client, tag, arguments):
        FakeImap.read_append(client, arguments)
        client.send(f"{tag} OK done")
    fake(site, capabilities="IMAP4rev1 AUTH=PLAIN SASL-IR", script={"APPEND": append})
    mail = message()
    done = site.deliver(mail, SCUBA)
    assert done.exit == 0 and done.out.startswith("2.1.5 stored"), done
    expect.duplicate(site.deliver(mail, SCUBA))


@pytest.mark.parametrize("noise", ["* 5 EXISTS", "* OK Still here", "* CAPABILITY IMAP4rev1", "* 3 FETCH (FLAGS ())"])
@pytest.mark.parametrize("place", ["before", "after"])
def test_untagged_answers_are_passed_over(site, place, noise):
    """libetpan's own append would wait for ever if one came before the go-ahead."""
    def append(client, tag, arguments):
        if place == "before":
            client.send(noise)
        mailbox, data = FakeImap.read_append(client, arguments)
        if place == "after":
            client.send(noise)
        client.server.appended.append((mailbox, data))
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    server = fake(site, script={"APPEND": append})
    mail = message()
    expect.stored(site.deliver(mail, SCUBA))
    assert [data for _, data in server.appended] == [on_the_wire(mail)]


def test_an_answer_that_never_comes_is_in_doubt(site):
    def swallow(client, _tag, arguments):
        client.server.appended.append(FakeImap.read_append(client, arguments))
        client.close()
    server = fake(site, script={"APPEND": swallow})
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA))
    assert [copy.state for copy in site.sql("SELECT state FROM oncedrop.copy")] == ["appending"]
    expect.held(site.deliver(mail, SCUBA))
    del server.script["APPEND"]
    server.script["UID SEARCH"] = server.script["SEARCH"] = lambda client, tag, _: client.send(f"{tag} NO cannot search")
    site.ledger.age(days=1)
    for _ in range(2):
        expect.deferred(site.deliver(mail, SCUBA), r"4\.\d\.\d", "cannot search")   # which does not mean "not there"
    assert len(server.appended) == 1


def test_hostile_answers_reach_neither_the_line_nor_the_log(site):
    def refuse(client, tag, _arguments):
        client.send(tag.encode() + b" NO \x1b[31m5.1.1 bounce me\x07\x80\xff " + b"x" * 3000 + b"\r\n")
    fake(site, script={"APPEND": refuse})
    site.settings["log.to"] = "stderr"
    done = site.deliver(message(), SCUBA)
    assert done.exit == 75, done
    for text in (done.out, done.err):
        assert not any(ord(letter) < 32 and letter != "\n" for letter in text), done
    assert done.out.startswith("4.") and done.out.count("\n") == 1, done
    assert sys.getsizeof(done.out) < 1200


@pytest.mark.parametrize("greeting", ["* BYE go away", "HTTP/1.1 400 Bad Request", "* NO", "", "x" * 100_000],
                         ids=["BYE", "HTTP", "NO", "empty", "long"])
def test_strange_greetings(site, greeting):
    fake(site, script={"GREETING": lambda client, *_: client.send(greeting)})
    done = site.deliver(message(), SCUBA)
    expect.deferred(done)
    assert done.seconds < 40


def test_search_always_looks_first(site):
    scuba = site.account()
    mail = message()
    with site.lab.dovecot.session(scuba) as session:
        session.append("INBOX", "", None, on_the_wire(message()))
        session.append("INBOX", "", None, on_the_wire(mail))
    site.settings["imap.search"] = "always"
    done = site.deliver(mail, scuba)
    assert done.exit == 0, done
    assert site.count(scuba) == 2
    [copy] = site.sql("SELECT state, uid FROM oncedrop.copy")
    assert (copy.state, copy.uid) == ("stored", 2)
    expect.stored(site.deliver(message(), scuba))
    assert site.count(scuba) == 3


def test_a_mailbox_made_while_it_is_looked_for(site):
    """The delivery of another message creates the sender's first Sent mailbox between our EXAMINE and LIST."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    made = []

    def watch(_connection, side, data):
        if side == SERVER and b"Mailbox doesn't exist: Sent" in data and not made:
            with site.lab.dovecot.session(lisa) as session:
                made.append(session.create("Sent"))
        return data
    site.imap_proxy(watch)
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert made and [site.count(scuba), site.count(lisa, "Sent")] == [1, 1]


def test_a_mailbox_that_is_listed_and_cannot_be_opened(site):
    """It is tried twice, and never counts as missing."""
    def refuse(client, tag, _arguments):
        asked.append(tag)
        client.send(f"{tag} NO no such mailbox")

    def listed(client, tag, _arguments):
        client.send('* LIST () "/" INBOX')
        client.send(f"{tag} OK done")
    asked = []
    server = fake(site, script={"EXAMINE": refuse, "LIST": listed})
    site.settings["imap.search"] = "always"
    expect.deferred(site.deliver(message(), SCUBA), r"4\.\d\.\d", "EXAMINE refused")
    assert len(asked) == 2 and not server.appended
