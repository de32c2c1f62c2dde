# SPDX-License-Identifier: ISC
"""show --verify: what is certain of each copy, and nothing else.

Seen to fail with: any message with the id taken for this one; a failed search, or a login that fails, taken for absence; other
content under the id not counted; a Sent copy compared by content; the explanation in place of a message not looked for; a copy
that is filed elsewhere called absent; all copies of a message missing if one is, or those of which it is not known; a login for each
copy, also after one that was refused; a session that is lost, and not replaced."""

import json
import re

import expect
import pytest
from lab.fake_imap import FakeImap
from lab.keeping_imap import KeepingImap
from lab.lmtp import start, stored
from lab.messages import message, new_id
from lab.process import free_port, wait_until


def looked(site, asked, exit=0):
    """mailbox: (what became of the copy, its reason), of each message."""
    done = site.run("show", "--verify", "--json", asked)
    assert done.exit == exit, done
    return [{row["mailbox"]: (row["copy"], row["reason"]) for row in one["verify"]} for one in json.loads(done.out)["messages"]]


def remove(site, account, mailbox="INBOX"):
    with site.lab.dovecot.session(account) as session:
        session.select(mailbox)
        session.store("1:*", "+FLAGS", r"\Deleted")
        session.expunge()


def put(site, account, mail, mailbox="INBOX"):
    with site.lab.dovecot.session(account) as session:
        assert session.append(mailbox, None, None, mail.replace(b"\n", b"\r\n"))[0] == "OK"


@pytest.mark.parametrize("id", [None, False, 'q"uote@test.example'])
def test_there_and_not_there(site, id):
    """With an id to search for, without, and with one that no server finds."""
    scuba = site.account()
    for _ in range(2):      # it is neither the first nor the last
        expect.stored(site.deliver(message(body="another\n"), scuba))
    expect.stored(site.deliver(message(id=id), scuba, "-q", "4LOOK"))
    expect.stored(site.deliver(message(body="another\n"), scuba))
    done = site.run("show", "--verify", "4LOOK")
    assert re.search(r"^verify\n.*\n.*  present +3 *$", done.out, re.M), done
    assert looked(site, "4LOOK") == [{"INBOX": ("present", None)}]
    with site.lab.dovecot.session(scuba) as session:
        session.select("INBOX")
        session.uid("store", "3", "+FLAGS", r"\Deleted")
        session.expunge()
    [found] = looked(site, "4LOOK")
    # Without an id, any of the others may be this one, changed by the server.
    assert found["INBOX"][0] == ("missing" if id is None else "unknown"), found
    remove(site, scuba)
    assert looked(site, "4LOOK") == [{"INBOX": ("missing", None)}]
    assert "verify" not in json.loads(site.run("show", "--json", "4LOOK").out)["messages"][0]


def test_nothing_is_changed(site):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba, "-q", "4LOOK"))
    remove(site, scuba)
    before = site.sql("SELECT * FROM oncedrop.copy"), site.sql("SELECT * FROM oncedrop.delivery")
    assert looked(site, "4LOOK") == [{"INBOX": ("missing", None)}]
    assert (site.sql("SELECT * FROM oncedrop.copy"), site.sql("SELECT * FROM oncedrop.delivery")) == before
    assert site.count(scuba) == 0


def test_what_cannot_be_told(site):
    scuba, id = site.account(), new_id()
    expect.stored(site.deliver(message(id=id), scuba))
    port = site.settings["imap.port"]
    site.settings["imap.port"] = free_port()
    [found] = looked(site, id)
    assert found["INBOX"][0] == "unknown" and "cannot connect" in found["INBOX"][1], found
    site.settings["imap.port"] = port
    remove(site, scuba)
    put(site, scuba, message(id=id, body="other\n"))
    [found] = looked(site, id)
    assert found["INBOX"][0] == "unknown" and "other content" in found["INBOX"][1], found


def test_of_variants_each_is_looked_for(site):
    """Other content under its id is no reason for doubt, if it is that of another message on record."""
    scuba, id = site.account(), new_id()
    for body in ("one\n", "two\n"):
        expect.stored(site.deliver(message(id=id, body=body), scuba))
    assert looked(site, id) == [{"INBOX": ("present", None)}, {"INBOX": ("present", None)}]
    with site.lab.dovecot.session(scuba) as session:
        session.select("INBOX")
        session.uid("store", "1", "+FLAGS", r"\Deleted")
        session.expunge()
    assert looked(site, id) == [{"INBOX": ("missing", None)}, {"INBOX": ("present", None)}]


def test_a_sent_copy_is_known_by_its_id(site):
    """A mail program may have stored it, with its own header."""
    lisa, id = site.account("lisa"), new_id()
    expect.stored(site.deliver(message(id=id, sender=lisa), lisa))
    assert looked(site, id) == [{"INBOX": ("present", None), "Sent": ("present", None)}]
    remove(site, lisa, "Sent")
    assert looked(site, id) == [{"INBOX": ("present", None), "Sent": ("missing", None)}]
    put(site, lisa, message(id=id, sender=lisa, headers="X-Mailer: x\n"), "Sent")
    assert looked(site, id) == [{"INBOX": ("present", None), "Sent": ("present", None)}]


def test_a_copy_that_is_filed_elsewhere(site):
    """Where there is an explanation of the copy, its absence from the mailbox means little."""
    scuba, id = site.account(), new_id()
    expect.stored(site.deliver(message(id=id), scuba))
    site.sql("UPDATE oncedrop.copy SET error = 'stored in another mailbox'")
    assert looked(site, id) == [{"INBOX": ("present", None)}]
    remove(site, scuba)
    [found] = looked(site, id)
    assert found["INBOX"][0] == "unknown" and "stored in another mailbox" in found["INBOX"][1], found


def test_a_mailbox_that_is_gone(site):
    lisa, id = site.account("lisa"), new_id()
    expect.stored(site.deliver(message(id=id, sender=lisa), lisa))
    site.sql("UPDATE oncedrop.copy SET mailbox = 'Gone' WHERE role = 'sent'")
    assert looked(site, id) == [{"INBOX": ("present", None), "Gone": ("missing", None)}]


def missing(site, *words):
    """(account, mailbox, queue id) of the copies, and what is said of others."""
    done = site.run("list", "--missing", "--json", *words)
    assert done.exit == 0, done
    return [(row["account"], row["mailbox"], row["queue_id"]) for row in json.loads(done.out)], done.err


def test_what_is_missing_is_listed(site):
    """All that was recorded, with and without a Message-ID; not what was never stored, or was not asked for."""
    site.settings.update({"record.level": "envelope", "route.sent_copy": "from"})
    scuba, doug = site.account(), site.account("doug")
    expect.stored(site.deliver(message(body="without an id\n", id=None), doug, "-q", "4NOID"))
    expect.stored(site.deliver(message(sender=doug), scuba, "-q", "4BOTH"))
    expect.stored(site.deliver(message(), scuba, "-q", "4GONE"))
    assert missing(site) == ([], "")
    assert site.run("list", "--missing").out == "no missing copies\n"
    remove(site, doug)
    remove(site, doug, "Sent")
    with site.lab.dovecot.session(scuba) as session:
        session.select("INBOX")
        session.store("2", "+FLAGS", r"\Deleted")
        session.expunge()
    site.settings["imap.port"], port = free_port(), site.settings["imap.port"]
    expect.deferred(site.deliver(message(), scuba, "-q", "4WAITS"))
    site.settings["imap.port"] = port
    found = [(scuba, "INBOX", "4GONE"), (doug, "Sent", "4BOTH"), (doug, "INBOX", "4NOID")]
    assert missing(site) == (found, "")
    assert missing(site, "--recipient", doug, "--mailbox", "INBOX") == (found[2:], "")
    assert missing(site, "--limit", "1") == (found[:1], "The newest 1 were looked for; --limit looks for more.\n")
    assert "4GONE" in site.run("list", "--missing", "--utc").out
    wrong = site.run("list", "--missing", "--state", "unfinished")
    assert wrong.exit == 64 and "--missing is of stored copies" in wrong.err


def test_a_variant_that_waits_is_not_missing(site):
    """Nor is the other one."""
    scuba, id, port = site.account(), new_id(), site.settings["imap.port"]
    expect.stored(site.deliver(message(id=id, body="one\n"), scuba))
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(message(id=id, body="two\n"), scuba))
    site.settings["imap.port"] = port
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 2
    assert missing(site) == ([], "")


def test_of_what_is_not_certain_it_is_not_said_to_be_missing(site):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    site.settings["imap.port"] = free_port()
    assert missing(site) == ([], "1 could not be checked; oncedrop show --verify says why.\n")


def logins(site, account):
    return len(re.findall(rf"(?:Login|Logged in): user=<{re.escape(account)}>", site.lab.dovecot.log()))


@pytest.mark.parametrize("how", ["show", "list"])
def test_fifty_copies_cost_one_login(site, how):
    """Variants of one message, or several; two accounts in turns."""
    scuba, doug = site.account(), site.account("doug")
    id, session = new_id() if how == "show" else None, start(site)
    for number in range(25):
        mail = message(id=id or new_id(), body=f"{number}\n")
        for reply in session.deliver(mail, scuba, doug):
            stored(reply)
    session.close()
    wait_until(lambda: logins(site, scuba) == logins(site, doug) == 1, "Dovecot has logged it")
    remove(site, doug)      # which is a login, too
    if how == "show":
        found = [row["copy"] for one in json.loads(site.run("show", "--verify", "--json", id).out)["messages"] for row in one["verify"]]
        assert sorted(found) == ["missing"] * 25 + ["present"] * 25
    else:
        assert [account for account, _, _ in missing(site)[0]] == [doug] * 25
    wait_until(lambda: logins(site, scuba) >= 2 and logins(site, doug) >= 3, "Dovecot has logged it")
    assert (logins(site, scuba), logins(site, doug)) == (2, 3)


def test_a_refused_login_is_not_tried_for_each_copy(site):
    """Many of them lock an account, or a host, out."""
    server = site.use(FakeImap())
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.master_user": None})
    for account in ("scuba@example.org", "doug@example.org"):
        for _ in range(3):
            expect.stored(site.deliver(message(), account))
    server.commands.clear()
    server.script["AUTHENTICATE"] = lambda client, tag, _: client.send(f"{tag} NO [AUTHENTICATIONFAILED] who?")
    assert missing(site) == ([], "6 could not be checked; oncedrop show --verify says why.\n")
    assert [name for name, _ in server.commands].count("AUTHENTICATE") == 2


def test_a_session_that_is_lost_is_replaced(site):
    """What it was used for is looked for again."""
    server = site.use(KeepingImap())
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.master_user": None})
    for _ in range(3):
        expect.stored(site.deliver(message(), "scuba@example.org"))
    server.commands.clear()

    def examine(client, tag, arguments):
        client.examined = getattr(client, "examined", 0) + 1
        if client.examined == 2:
            client.close()
        server.do_examine(client, tag, arguments)
    server.script["EXAMINE"] = examine
    assert missing(site) == ([], "")
    assert [name for name, _ in server.commands].count("AUTHENTICATE") == 3
