# SPDX-License-Identifier: ISC
"""From an address to an account and its mailboxes, and who gets a Sent copy."""

import json

import expect
import pytest
from lab.fake_imap import FakeImap
from lab.messages import message


@pytest.fixture
def directory(site):
    """A table of addresses for account_query."""
    table = site.ledger.create_table("address", "address varchar(200) PRIMARY KEY, account text, inbox text, sent text")
    site.settings["route.account_query"] = f"SELECT account, inbox, sent FROM {table} WHERE address = $1"

    def add(*row):
        site.sql(f"INSERT INTO {table} VALUES (%s, %s, %s, %s)", row)
    return add


def test_template(site):
    scuba = site.account()
    user = scuba.split("@")[0]
    site.settings["route.account"] = "%{user}@example.org"
    expect.stored(site.deliver(message(), f"{user}+detail@elsewhere.org"))
    assert site.count(scuba) == 1


def test_addresses_are_compared_without_case(site):
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba.upper()))
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


def test_query(site, directory):
    scuba = site.account()
    directory("info@example.org", scuba, None, None)
    directory("sales@example.org", scuba, "Sales", None)
    expect.stored(site.deliver(message(), "info@example.org"))
    expect.stored(site.deliver(message(), "Sales@Example.ORG"), "Sales")
    assert (site.count(scuba), site.count(scuba, "Sales")) == (1, 1)


def test_query_with_sent_mailbox(site, directory):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    directory(scuba, scuba, None, None)
    directory("lisa@example.org", lisa, None, "Outbox")
    expect.stored(site.deliver(message(sender="lisa@example.org"), scuba))
    assert site.count(lisa, "Outbox") == 1


def test_no_sent_copies_for_one_account(site, directory):
    """An empty name: its mail program saves its own."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    directory(scuba, scuba, None, None)
    directory("lisa@example.org", lisa, None, "")
    expect.stored(site.deliver(message(sender="lisa@example.org"), scuba))
    expect.stored(site.deliver(message(), "lisa@example.org"))
    assert site.count(lisa, "Sent") == 0 and site.count(lisa) == 1
    assert "sent: no copies (route.account_query)" in site.run("route", "lisa@example.org").out


def test_query_without_a_row(site, directory):
    mail = message()
    nobody = site.account()
    expect.bounced(site.deliver(mail, nobody), 67, "5.1.1", nobody)
    site.settings["route.unknown_account"] = "defer"
    expect.deferred(site.deliver(mail, nobody), r"4\.1\.1", nobody)
    directory(nobody, nobody, None, None)
    expect.stored(site.deliver(mail, nobody))


@pytest.mark.parametrize("query", ["SELECT nonsense", "SELECT account FROM nowhere WHERE a = $1", "SELECT 1; SELECT $1",
                                   "SELECT a FROM (VALUES ('x'), ('y')) t(a) WHERE $1 <> ''", "DROP SCHEMA oncedrop CASCADE",
                                   "DELETE FROM server WHERE server = $1", "SELECT $2 WHERE $1 <> ''",
                                   *(pytest.param(query, marks=pytest.mark.postgres) for query in (
                                       "SELECT pg_sleep(100)::text || $1", "CREATE TEMPORARY TABLE t AS SELECT $1::text"))])
def test_a_query_that_fails_never_bounces(site, query):
    site.settings["route.account_query"] = query
    site.settings["delivery.deadline"] = "2s"
    site.settings["delivery.hold_off"] = "300s"
    done = site.deliver(message(), "scuba@example.org")
    expect.deferred(done)
    assert site.value("SELECT count(*) FROM oncedrop.message") == 0


def test_an_account_unknown_to_imap_is_trouble_of_ours(site):
    expect.deferred(site.deliver(message(), "nobody@example.org"))


def test_detail_as_folder(site):
    scuba = site.account()
    user, domain = scuba.split("@")
    site.settings["route.detail"] = "folder"
    expect.stored(site.deliver(message(), f"{user}+Lists@{domain}"), "Lists")
    expect.stored(site.deliver(message(), f"{user}+a/b*@{domain}"))
    expect.stored(site.deliver(message(), f"{user}+@{domain}"))
    site.settings["route.detail"] = "off"
    expect.stored(site.deliver(message(), f"{user}+Lists@{domain}"))
    assert (site.count(scuba, "Lists"), site.count(scuba)) == (1, 3)


def test_inbox_has_one_name(site):
    """RFC 3501, 5.1: in any case it is the same mailbox, and contains a message once."""
    scuba = site.account()
    user, domain = scuba.split("@")
    site.settings["route.detail"] = "folder"
    mail = message()
    expect.stored(site.deliver(mail, f"{user}+Inbox@{domain}"))
    expect.duplicate(site.deliver(mail, f"{user}+inbox@{domain}"))
    expect.duplicate(site.deliver(mail, scuba))
    site.settings["route.inbox"] = "iNBOX"
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 1
    assert site.sql("SELECT mailbox FROM oncedrop.copy") == [("INBOX",)]
    assert set(site.sql("SELECT mailbox FROM oncedrop.delivery")) == {("INBOX",)}


def test_inbox_has_one_name_in_the_query_too(site, directory):
    scuba = site.account()
    directory("a@example.org", scuba, "inbox", "SENT")
    directory("b@example.org", scuba, "Inbox", None)
    mail = message()
    expect.stored(site.deliver(mail, "a@example.org"))
    expect.duplicate(site.deliver(mail, "b@example.org"))
    assert site.sql("SELECT mailbox FROM oncedrop.copy") == [("INBOX",)]


def test_a_quoted_local_part(site):
    """RFC 5321, 4.1.2: the quotes are not part of the name."""
    scuba = site.account()
    user, domain = scuba.split("@")
    mail = message()
    expect.stored(site.deliver(mail, f'"{user}+two words"@{domain}'))
    expect.duplicate(site.deliver(mail, f'"{user}"@{domain}'))
    site.settings["route.detail"] = "folder"
    expect.stored(site.deliver(message(), f'"{user}+two words"@{domain}'), "two words")
    assert site.count(scuba) == 1 and site.count(scuba, "two words") == 1


# sent_copy. The message claims to be from lisa; is that trusted?

AUTHENTICATED = "Received: from host (host [192.0.2.1])\n\t(Authenticated sender: {})\n" \
    "\tby mx.example.org (Postfix) with ESMTPSA id 4A1; Fri, 1 Aug 2025 10:00:00 +0200\n"
PLAIN = "Received: from host (host [192.0.2.1])\n\tby mx.example.org (Postfix) with ESMTP id 4A2; " \
    "Fri, 1 Aug 2025 10:00:00 +0200\n"
CERTIFICATE = AUTHENTICATED.replace("(A", '(Client CN "x (A').replace(")\n\tby", ') y", Issuer "z" (not verified))\n\tby')

SENT_COPIES = {
    "off": ("off", ["-u", "LISA"], {}, "", 0),
    "from": ("from", [], {}, "", 1),
    "not authenticated": ("authenticated", [], {}, "", 0),
    "-u": ("authenticated", ["-u", "LISA"], {}, "", 1),
    "-u of somebody else": ("authenticated", ["-u", "SCUBA"], {}, "", 0),
    "SASL_USERNAME": ("authenticated", [], {"SASL_USERNAME": "LISA"}, "", 1),
    "SASL_USERNAME of somebody else": ("authenticated", [], {"SASL_USERNAME": "SCUBA"}, "", 0),
    "empty -u, Received": ("authenticated", ["-u", ""], {}, AUTHENTICATED.format("LISA"), 0),
    "empty SASL_USERNAME, Received": ("authenticated", [], {"SASL_USERNAME": ""}, AUTHENTICATED.format("LISA"), 0),
    "empty -u, SASL_USERNAME": ("authenticated", ["-u", ""], {"SASL_USERNAME": "LISA"}, "", 0),
    "Received of this queue id": ("authenticated", ["-q", "4A1"], {}, AUTHENTICATED.format("LISA"), 1),
    "Received of another queue id": ("authenticated", ["-q", "4A3"], {}, AUTHENTICATED.format("LISA"), 0),
    "name in a certificate": ("authenticated", [], {}, CERTIFICATE.format("LISA"), 0),
    "topmost Received": ("authenticated", [], {}, AUTHENTICATED.format("LISA") + PLAIN, 1),
    "Received below": ("authenticated", [], {}, PLAIN + AUTHENTICATED.format("LISA"), 0),
    "Received of somebody else": ("authenticated", [], {}, AUTHENTICATED.format("SCUBA"), 0),
}


@pytest.mark.parametrize("setting,arguments,environment,header,count", SENT_COPIES.values(), ids=SENT_COPIES.keys())
def test_sent_copy(site, setting, arguments, environment, header, count):
    lisa, scuba = site.account("lisa"), site.account("scuba")

    def named(text):
        return text.replace("LISA", lisa).replace("SCUBA", scuba)
    site.settings["route.sent_copy"] = setting
    done = site.deliver(named(header).encode() + message(sender=lisa, to=scuba), scuba, *map(named, arguments),
                        env={name: named(value) for name, value in environment.items()}, sender=lisa)
    expect.stored(done)
    assert site.count(scuba) == 1
    assert site.count(lisa, "Sent") == count
    assert site.count(scuba, "Sent") == 0


def test_from_a_stranger_makes_no_sent_copy(site):
    scuba = site.account()
    expect.stored(site.deliver(message(sender="stranger@elsewhere.example"), scuba))
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 1


# oncedrop route, and the item of check

def test_the_command_says_where_and_by_which_rule(site, directory):
    directory("info@example.org", "desk", "Eingang", None)
    directory("lisa@example.org", "lisa", None, "Outbox")
    site.settings["route.detail"] = "folder"
    done = site.run("route", "<Info@Example.org>", "lisa+work@example.org")
    assert done.exit == 0 and done.out.split("\n\n") == [
        "address: <Info@Example.org>\naccount: desk (route.account_query)\ninbox: Eingang (route.account_query)\n"
        "sent: Sent (route.sent)",
        "address: lisa+work@example.org\naccount: lisa (route.account_query)\ninbox: work (route.detail)\n"
        "sent: Outbox (route.account_query)\n"], done
    site.settings["route.account_query"] = None
    site.settings["database.conninfo"] = "host=127.0.0.1 port=1 dbname=x user=x"      # not queried
    [row] = json.loads(site.run("route", "--json", "lisa@example.org").out)
    assert row == {"address": "lisa@example.org", "account": "lisa@example.org", "inbox": "INBOX", "sent": "Sent",
                   "account_by": "route.account", "inbox_by": "route.inbox", "sent_by": "route.sent"}


def test_the_command_ends_as_postmap_does(site, directory):
    directory("info@example.org", "desk", None, None)
    done = site.run("route", "nobody@example.org", "info@example.org", "@")
    assert done.exit == 1 and "account: desk" in done.out and "nobody@example.org: no such account" in done.err, done
    rows = json.loads(site.run("route", "--json", "nobody@example.org", "info@example.org").out)
    assert [row["account"] for row in rows] == [None, "desk"] and "no such account" in rows[0]["error"]
    site.settings["route.account_query"] = "SELECT nonsense"
    done = site.run("route", "info@example.org")
    assert done.exit == 69 and "account_query" in done.err, done


def test_check_goes_through_the_route(site, directory):
    scuba = site.account()
    directory("info@example.org", scuba, "Eingang", None)
    said = {item["item"]: item for item in json.loads(site.check("--json", "Info+x@example.org").out)}
    assert said["route"]["status"] == "ok" and scuba in said["route"]["text"], said
    assert scuba in said["imap"]["text"] and "Eingang" in said["inbox"]["text"], said
    done = site.check("--json", "nobody@example.org")
    said = {item["item"]: item["status"] for item in json.loads(done.out)}
    assert done.exit == 1 and (said["route"], said["imap"]) == ("failed", "warning"), said


def test_a_login_that_is_refused_without_a_word(site):
    """Dovecot closes the connection for half of the accounts that do not exist."""
    server = site.use(FakeImap(script={"AUTHENTICATE": lambda client, *_: client.close()}))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.4\.1", "check that this account exists")
