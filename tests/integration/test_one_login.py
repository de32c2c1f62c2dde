# SPDX-License-Identifier: ISC
"""imap.user with a template in route.inbox: one login delivers to everybody's mailboxes."""

import imaplib
import json
import os
import re
import signal
import threading

import expect
import pytest
from lab import one_login
from lab.fake_imap import FakeImap
from lab.lmtp import start
from lab.messages import message, on_the_wire
from lab.process import wait_until


@pytest.fixture(scope="module")
def dovecot(lab):
    directory = lab.new_directory("one")
    os.chmod(directory, 0o711)
    server = one_login.Dovecot(directory, lab.certificate)
    yield server.start()
    server.stop()


@pytest.fixture
def shared(site, dovecot):
    """A function that adds an account, to which the site delivers."""
    site.settings.update({**one_login.SETTINGS, "imap.port": dovecot.port,
                          "imap.password_file": site.write("one", dovecot.password + "\n")})

    def account(name="lisa"):
        address = f"{name}.{site.number}@example.org"
        dovecot.add_account(address)
        return address
    return account


def owned(dovecot, account, mailbox="INBOX"):
    """The mailbox as its owner sees it: [(raw, flags)]; None if there is none."""
    with imaplib.IMAP4("127.0.0.1", dovecot.port, timeout=60) as session:
        session.login(account, account)
        if session.select(f'"{mailbox}"', readonly=True)[0] != "OK":
            return None
        _, answer = session.uid("FETCH", "1:*", "(FLAGS BODY.PEEK[])")
        return [(item[1], imaplib.ParseFlags(item[0])) for item in answer if isinstance(item, tuple)]


def subscribed(dovecot, account, password):
    with imaplib.IMAP4("127.0.0.1", dovecot.port, timeout=60) as session:
        session.login(account, password)
        return [line.decode() for line in session.lsub()[1] if line]


def test_inbox_and_sent(site, dovecot, shared):
    """The first message to a user who has never logged in, too."""
    lisa, scuba = shared("lisa"), shared("scuba")
    mails = [message(sender=lisa), message(sender=lisa)]
    for mail in mails:
        expect.stored(site.deliver(mail, scuba), f"users/{scuba}")
        expect.duplicate(site.deliver(mail, scuba))
    assert [raw for raw, _ in owned(dovecot, scuba)] == [on_the_wire(mail) for mail in mails]
    sent = owned(dovecot, lisa, "Sent")
    assert [raw for raw, _ in sent] == [on_the_wire(mail) for mail in mails]
    assert all(b"\\Seen" in flags for _, flags in sent)
    assert owned(dovecot, scuba, "Sent") is None and owned(dovecot, lisa) == []
    rows = site.sql("SELECT DISTINCT account, mailbox, role FROM oncedrop.copy ORDER BY role")
    assert [tuple(row) for row in rows] == [(scuba, f"users/{scuba}", "inbox"), (lisa, f"users/{lisa}/Sent", "sent")]
    assert subscribed(dovecot, one_login.USER, dovecot.password) == []


def test_ten_recipients_take_few_logins(site, dovecot, shared):
    accounts = [shared(f"user{number}") for number in range(10)]
    site.settings["route.sent_copy"] = "off"
    seen = len(dovecot.log())
    session = start(site)
    mails = [message() for _ in range(3)]
    for mail in mails:
        assert [reply.code for reply in session.deliver(mail, *accounts)] == [250] * 10
    session.close()
    logins = wait_until(lambda: re.findall(r"user=<([^>]*)>", dovecot.log()[seen:]), "Dovecot has logged some")
    assert set(logins) == {one_login.USER} and len(re.findall("Login:|Logged in:", dovecot.log()[seen:])) <= 4
    for account in accounts:
        assert [raw for raw, _ in owned(dovecot, account)] == [on_the_wire(mail) for mail in mails]


def test_nobody_and_no_rights_are_deferred(site, dovecot, shared):
    """Never is it certain that an account does not exist."""
    lisa = shared("lisa")
    site.settings.update({"route.unknown_account": "bounce", "delivery.refuse_after": "0s"})
    line = expect.deferred(site.deliver(message(), f"nobody.{site.number}@example.org"))
    assert "rights" in line
    expect.stored(site.deliver(message(), lisa), f"users/{lisa}")


def test_killed_while_appending(site, dovecot, shared):
    lisa = shared("lisa")
    expect.stored(site.deliver(message(), lisa), f"users/{lisa}")
    site.settings.update({"delivery.deadline": "30s", "delivery.hold_off": "31s"})
    answered = threading.Event()

    def watch(_connection, _side, data):
        if b"APPENDUID" in data:
            answered.set()
            return None
        return data
    port = site.settings["imap.port"]
    site.imap_proxy(watch)
    mail = message()
    process = site.start_delivery(mail, lisa)
    assert answered.wait(30)
    process.signal(signal.SIGKILL)
    process.finish()
    site.ledger.wait_for_no_session()
    site.settings["imap.port"] = port
    site.ledger.age(minutes=1, state="appending")
    assert "found there" in site.deliver(mail, lisa).out
    assert [raw for raw, _ in owned(dovecot, lisa)].count(on_the_wire(mail)) == 1


def test_everybody_else_stays_out(dovecot, shared):
    """The sample shows the namespace to all users. The inbox is made by a delivery, not by a user without rights.

    Seen to fail with: rights for anyone; with Dovecot 2.4 also mailbox_auto = create in the namespace."""
    lisa, scuba = shared("lisa"), shared("scuba")
    with imaplib.IMAP4("127.0.0.1", dovecot.port, timeout=60) as session:
        session.login(lisa, lisa)
        for _ in "before the owner's first login", "after":
            for name in f'"users/{scuba}"', f'"users/{scuba}/Archive"':
                assert [session.select(name)[0], session.append(name, None, None, message())[0], session.create(name)[0],
                        session.setacl(name, lisa, "lri")[0]] == ["NO"] * 4, name
            assert owned(dovecot, scuba) == [] and owned(dovecot, scuba, "Archive") is None


def test_an_account_query_names_accounts_or_mailboxes(site, dovecot, shared):
    lisa, scuba = shared("lisa"), shared("scuba")
    site.settings["route.account_query"] = (f"SELECT CASE $1 WHEN 'info@example.org' THEN '{lisa}' ELSE '{scuba}' END,"
                                            f" CASE $1 WHEN 'scuba@example.org' THEN 'users/{scuba}' END")
    for address, account in ("info@example.org", lisa), ("scuba@example.org", scuba), ("x@example.org", scuba):
        expect.stored(site.deliver(message(), address), f"users/{account}")
    assert [len(owned(dovecot, account)) for account in (lisa, scuba)] == [1, 2]


@pytest.mark.parametrize("local", ["lisa/Archive", "lisa%", "*", '"lisa\\"x"', "~lisa"])
def test_an_address_names_no_other_mailbox(site, shared, local):
    shared("lisa")
    expect.deferred(site.deliver(message(), f"{local}@example.org"), r"4\.3\.0", "has a character with a meaning")


def test_dots_are_separators_without_slashes(site, shared):
    shared("lisa")
    site.settings.update({"route.inbox": "user.%{user}", "route.sent": "user.%{user}.Sent"})
    expect.deferred(site.deliver(message(), "lisa.archive@example.org"), r"4\.3\.0", "has a character with a meaning")
    assert "user.lisa (route.inbox)" in site.run("route", "lisa@example.org").out


WRONG = {
    "sent without owner": {"route.sent": "Sent"},
    "sent by use": {"route.sent": "\\Sent"},
    "the sender's choice": {"route.inbox": "users/%{address}/%{detail}"},
    "folders": {"route.detail": "folder"},
    "an unknown variable": {"route.inbox": "users/%{address}/%{host}"},
    "no user": {"imap.user": None, "imap.master_user": "oncedrop"},
}


@pytest.mark.parametrize("settings", WRONG.values(), ids=WRONG.keys())
def test_settings_that_do_not_go_together(site, shared, settings):
    lisa = shared("lisa")
    site.settings.update(settings)
    expect.deferred(site.deliver(message(), lisa), r"4\.3\.5", "[route]")


def test_a_user_without_variables_gets_all_mail(site, dovecot, shared):
    """As ever."""
    lisa, scuba = shared("lisa"), shared("scuba")
    site.settings.update({"imap.user": lisa, "imap.password_file": site.write("own", lisa + "\n"), "route.inbox": "INBOX",
                          "route.sent": "Sent"})
    expect.stored(site.deliver(message(sender=scuba), scuba))
    assert len(owned(dovecot, lisa)) == 1 and "Sent" in " ".join(subscribed(dovecot, lisa, lisa))


def items(site, *arguments):
    done = site.run("check", "--json", *arguments)
    return {(item["item"], item["status"]): item["text"] for item in json.loads(done.out)}


def test_check(site, dovecot, shared):
    lisa, nobody = shared("lisa"), f"nobody.{site.number}@example.org"
    expect.stored(site.deliver(message(sender=lisa), lisa), f"users/{lisa}")
    found = items(site, lisa)
    assert f"users/{lisa} exists" in found["inbox", "ok"] and "oncedrop" in found["imap", "ok"], found
    assert f"users/{lisa}/Sent exists" in found["sent", "ok"], found
    found = items(site, nobody)
    assert "does not exist, or" in found["inbox", "failed"], found
    found = items(site, shared("new"))
    assert "exists" in found["inbox", "ok"] and "does not exist yet" in found["sent", "ok"], found


RIGHTS = "lrswipk"
CYRUS = {
    # Within a domain, a user who has been given rights; across domains, an administrator.
    "a user": ("oncedrop@example.org", {"route.inbox": "Other Users/%{user}", "route.sent": "Other Users/%{user}/Sent"}),
    "an administrator": ("manager", {"imap.user": "manager", "imap.master_user": None, "route.inbox": "user/%{address}",
                                     "route.sent": "user/%{user}/Sent@%{domain}"}),
}


@pytest.mark.parametrize("user,settings", CYRUS.values(), ids=CYRUS.keys())
def test_cyrus(site, cyrus, user, settings):
    """Without rights an account looks like one that does not exist."""
    site.settings.update({"imap.user": user, "route.unknown_account": "bounce", **settings})
    lisa, scuba, closed = (site.account(name) for name in ("lisa", "scuba", "closed"))
    with cyrus.administration() as session:
        for account in lisa, scuba:
            assert session.setacl(f'"user/{account}"', user, RIGHTS)[0] == "OK"
    mails = [message(sender=lisa), message(sender=lisa)]
    for mail in mails:
        expect.stored(site.deliver(mail, scuba), settings["route.inbox"].split("/")[0])
        expect.duplicate(site.deliver(mail, scuba))
    for account, mailbox in (scuba, "INBOX"), (lisa, "Sent"):
        assert [one.raw for one in cyrus.messages(account, mailbox)] == [on_the_wire(mail) for mail in mails]
    assert cyrus.mailboxes(scuba) == ["INBOX"] and cyrus.mailboxes(lisa, "lsub") == []
    found = items(site, lisa)
    assert ("inbox", "ok") in found and ("sent", "ok") in found, found
    assert ("inbox", "failed") in items(site, closed)
    for account in closed, f"nobody.{site.number}@example.org":
        assert "rights" in expect.deferred(site.deliver(message(), account))


@pytest.mark.parametrize("rights,status", [("lrwsip", "ok"), ("lrw", "failed"), ("lsip", "failed")])
def test_check_of_rights(site, shared, rights, status):
    """By a server that says so. Nothing but these matters to a delivery."""
    shared("lisa")

    def myrights(client, tag, arguments):
        client.send(f"* MYRIGHTS {arguments.decode()} {rights}\r\n{tag} OK done")

    def listed(client, tag, arguments):
        client.send(f"* LIST () \"/\" {arguments.split()[1].decode()}\r\n{tag} OK done")
    server = site.use(FakeImap(script={"MYRIGHTS": myrights, "LIST": listed},
                               capabilities="IMAP4rev1 SASL-IR AUTH=PLAIN UIDPLUS ACL"))
    site.settings["imap.port"] = server.port
    found = items(site, "lisa@example.org")
    assert ("inbox", status) in found, found
    if status == "failed":
        assert "rights" in found["inbox", "failed"]
