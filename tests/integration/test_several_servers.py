# SPDX-License-Identifier: ISC
"""Several IMAP servers: groups [imap NAME] in addition to [imap], and who has which account.

Seen to fail with: sessions found by their account alone; one answer about the trust in all servers; a server without a name that is
taken for [imap]; unresponsive servers that are asked again at once; sessions of another server that make room; [imap] command in
force for a server with a host; TLS loaded for [imap] alone; a sender without a server taken for a stranger; the time that [imap]
gives its server given to others; and, only with a server that is dead for long, an APPEND that was not sent taken for one that was
stored."""

import base64
import json
import os
import re
import time

import expect
import pytest
from integration.test_server import Server
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.ledger import SQLITE, engine
from lab.lmtp import stored
from lab.messages import message, new_id
from lab.process import free_port, wait_until
from lab.service import Service
from lab.second_imap import SecondImap

NORTH, SOUTH = "lisa@north.example", "scuba@south.example"


class Silent(FakeImap):
    """Accepts connections, and says nothing until it is released."""

    def __init__(self):
        super().__init__({"GREETING": self.greet})
        self.silent = True

    def greet(self, client, _tag, _arguments):
        if self.silent:
            client.line()
        client.send("* OK ready")


def two(site, south, north=None, **more):
    """[imap] is the north."""
    north = site.use(north or FakeImap())
    site.use(south)
    site.settings.update({"imap.port": north.port, "imap.tls": "none", "imap south.port": south.port,
                          "imap.master_user": None, "route.sent_copy": "off", "route.account_query": query_of_domains(), **more})
    return north, south


def query_of_domains():
    return "SELECT lower($1), NULL, NULL, CASE WHEN lower($1) LIKE '%south.example' THEN 'south' ELSE '' END"


def test_each_account_is_on_its_server(site):
    north, south = two(site, FakeImap())
    service = Service(site, workers=1)
    for _ in range(2):
        for reply in service.deliver(message(), NORTH, SOUTH):
            stored(reply)
    assert len(north.appended) == len(south.appended) == 2
    assert {text.split("\0")[1] for text in north.credentials} == {NORTH}
    assert {text.split("\0")[1] for text in south.credentials} == {SOUTH}


def test_by_domain(site):
    north, south = two(site, FakeImap(), **{"route.account_query": None, "route.server": "%{domain}",
                                            "imap south.port": None})
    site.settings.update({"imap south.example.port": south.port, "imap north.example.port": north.port})
    expect.stored(site.deliver(message(), SOUTH))
    expect.stored(site.deliver(message(), NORTH))
    assert len(north.appended) == len(south.appended) == 1
    expect.deferred(site.deliver(message(), "bob@west.example"), r"4\.3\.\d", "[imap west.example]", "route.server")
    site.settings["route.sent_copy"] = "from"
    expect.stored(site.deliver(message(sender="bob@west.example"), SOUTH))
    assert len(south.appended) == 2


@pytest.mark.parametrize("settings, login", [
    ({"route.account_query": "SELECT lower($1)", "route.sent_copy": "from"}, None),
    ({"route.account_query": None, "route.sent_copy": "authenticated"}, "Bob@west.example"),
])
def test_a_sender_whose_server_is_not_known(site, settings, login):
    """Who has an account here is no stranger: the Sent copy is not left out."""
    two(site, FakeImap(), **{"route.server": "%{domain}", **settings})
    site.settings.update({"imap south.example.port": site.settings["imap.port"]})
    words = ["-u", login] if login else []
    expect.deferred(site.deliver(message(sender="bob@west.example"), SOUTH, *words), r"4\.3\.\d", "[imap west.example]")
    site.settings["imap west.example.host"] = "127.0.0.1"
    expect.stored(site.deliver(message(sender="bob@west.example"), SOUTH, *words))


def test_an_account_that_moves(site):
    """The service's session with the old server is not used any more, and what is stored is not stored again."""
    north, south = two(site, FakeImap())
    mail = message()
    service = Service(site, workers=1)
    stored(service.deliver(message(), SOUTH)[0])
    stored(service.deliver(mail, SOUTH)[0])
    site.settings["route.account_query"] = "SELECT lower($1)"
    moved = Service(site, workers=1, name="moved")
    assert moved.deliver(mail, SOUTH)[0].code == 250
    stored(moved.deliver(message(), SOUTH)[0])
    assert len(south.appended) == 2 and len(north.appended) == 1


def test_the_sent_copy_is_on_the_senders_server(site):
    north, south = two(site, FakeImap(), **{"route.sent_copy": "from"})
    expect.stored(site.deliver(message(sender=NORTH), SOUTH))
    assert [mailbox for mailbox, _ in south.appended] == ["INBOX"]
    assert [mailbox for mailbox, _ in north.appended] == ["Sent"]


class Slow(Silent):
    """Takes its time for the greeting."""

    seconds = 0.2

    def greet(self, client, _tag, _arguments):
        if self.silent:
            client.line()
        time.sleep(self.seconds)
        client.send("* OK ready")


def test_a_slow_server_is_reached_in_the_end(site):
    """It was unresponsive, and then needs longer than it gets at first."""
    north, south = two(site, Slow(), **{"imap.timeout": "1s"})
    service = Service(site, workers=1)
    assert service.deliver(message(), SOUTH)[0].code == 451
    south.silent = False
    wait_until(lambda: service.deliver(message(), SOUTH)[0].code == 250, "its mail is delivered", 60)
    assert south.appended and not north.appended


def test_a_refusal_is_no_silence(site):
    """However long it takes: it concerns one account."""
    def refuse(client, tag, arguments):
        if b"bob" in base64.b64decode(arguments.split()[1]):
            time.sleep(0.5)
            client.send(f"{tag} NO [AUTHENTICATIONFAILED] who?")
        else:
            client.send(f"{tag} OK come in")
    south = two(site, FakeImap({"AUTHENTICATE": refuse}), **{"imap.timeout": "3s"})[1]
    service = Service(site, workers=1)
    assert service.deliver(message(), "bob@south.example")[0].code == 451
    stored(service.deliver(message(), SOUTH)[0])
    assert len(south.appended) == 1


@pytest.mark.parametrize("when", ["authenticate", "append"])
@pytest.mark.parametrize("words", [[SOUTH], [SOUTH, NORTH], [NORTH, SOUTH]], ids=["alone", "first", "second"])
def test_a_server_has_its_own_time(site, words, when):
    """More than [imap] gives its server, for the login and for asking for a message."""
    def late(client, tag, arguments):
        time.sleep(1.5)
        getattr(south, f"do_{when}")(client, tag, arguments)
    north, south = two(site, FakeImap({when.upper(): late}), **{"imap.timeout": "1s", "imap south.timeout": "20s"})
    for reply in Service(site, workers=1).deliver(message(), *words):
        stored(reply)
    assert len(south.appended) == 1 and len(north.appended) == len(words) - 1


def test_nobody_waits_for_a_silent_server(site):
    """Only the first message does."""
    north, south = two(site, Silent(), **{"imap.timeout": "3s"})
    service = Service(site, workers=1)
    first, second = service.deliver(message(), SOUTH, NORTH)
    assert first.code == 451 and second.code == 250, (first, second)
    started = time.monotonic()
    for _ in range(5):
        answers = service.deliver(message(), SOUTH, NORTH)
        assert answers[0].code == 451 and "south timed out" in answers[0].text, answers
        assert answers[1].code == 250, answers
    assert time.monotonic() - started < 3, "each message waits"
    assert len(north.appended) == 6 and not south.appended


def test_settings_of_one_server(site):
    """Its own password, in place of the other's command; all else is as in [imap]."""
    own = site.write("own", "of-south\n")
    north, south = two(site, FakeImap(capabilities=CAPABILITIES + " AUTH=XOAUTH2"),
                       **{"imap.password_file": None, "imap.password_command": "echo of-north", "imap south.password_file": own,
                          "imap south.auth": "xoauth2"})
    expect.stored(site.deliver(message(), NORTH))
    expect.stored(site.deliver(message(), SOUTH))
    assert [text.split("\0")[2] for text in north.credentials] == ["of-north"]
    assert south.credentials[-1].endswith("auth=Bearer of-south\1\1")
    printed = site.run("config", "-n").out
    assert f"imap south.port = {south.port}\n" in printed and "imap south.password_command =\n" in printed, printed
    assert "imap south.timeout" not in printed


def test_a_host_in_place_of_a_command(site):
    north, south = two(site, FakeImap(), **{"imap.command": "false", "imap south.host": "127.0.0.1"})
    expect.stored(site.deliver(message(), SOUTH))
    expect.deferred(site.deliver(message(), NORTH), r"4\.\d\.\d", "imap.command ended with status 1")
    assert len(south.appended) == 1 and north.accepted == 0


def test_room_is_made_by_the_server_that_wants_it(site):
    north, south = two(site, FakeImap({"AUTHENTICATE": lambda client, tag, _: client.send(f"{tag} NO [LIMIT] too many")}))
    service = Service(site, workers=1)
    stored(service.deliver(message(), NORTH)[0])
    assert service.deliver(message(), SOUTH)[0].code == 451 and south.accepted == 1
    stored(service.deliver(message(), NORTH)[0])
    assert north.accepted == 1


def failing_for(account):
    """A query that works for all other accounts."""
    error = "json('x')" if engine() == SQLITE else "(SELECT 'a' UNION SELECT 'b')"
    return f"SELECT CASE WHEN lower($1) = '{account}' THEN {error} ELSE lower($1) END, NULL, 'Sent', ''"


def test_a_query_that_fails_does_not_say_that_nobody_has_an_account(site):
    """resume and show --verify learn from the account's name on which server it is."""
    id, accounts = new_id(), "SELECT lower($1), NULL, 'Sent', ''"
    north, _ = two(site, FakeImap(), **{"route.sent_copy": "from", "record.level": "raw", "route.account_query": accounts})
    expect.stored(site.deliver(message(sender=NORTH, id=id), SOUTH, sender=NORTH))
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL, outcome = 'deferred', complete = %s", (True,))
    site.sql("UPDATE oncedrop.copy SET state = 'pending' WHERE role = 'sent'")
    for query, named in ((failing_for(NORTH), False), (accounts + f" WHERE lower($1) <> '{NORTH}'", True)):
        site.settings["route.account_query"] = query
        done, look = site.run("resume"), site.run("show", "--verify", "--json", id)
        assert done.exit == 75 and ("no address leads" in " ".join(done.out.split())) == named, done
        [reason] = [copy["reason"] for copy in json.loads(look.out)["messages"][0]["verify"] if copy["mailbox"] == "Sent"]
        assert ("no address of that name" in reason) == named, reason
    site.settings["route.account_query"] = accounts
    assert site.run("resume").exit == 0
    assert [mailbox for mailbox, _ in north.appended] == ["INBOX", "Sent", "Sent"]


def test_tls_is_loaded_at_once(site):
    """For later the service may not be allowed to, by its user or its confinement."""
    two(site, FakeImap(), **{"imap south.tls": "imaps"})
    service = Service(site, workers=1)
    with open(f"/proc/{service.process.pid}/maps", "rb") as maps:
        assert b"-tls.so" in maps.read()


@pytest.fixture(name="far")
def far_fixture(site):
    server = SecondImap(site.lab).start()
    site.settings.update({"imap.port": site.imap.port, "imap.tls": "none", "delivery.deadline": "4s", "delivery.hold_off": "5s",
                          **server.settings(server.port)})
    yield server
    server.stop()


def test_a_server_that_is_dead_for_long(site, far):
    """Real servers. What is for the other one is delivered meanwhile, and all else when it is back."""
    near, away = site.account("north"), f"south.{site.number}.{os.getpid()}@example.org"
    far.add_account(away)
    far.renew([away], 3600)
    service = Service(site, workers=1)
    mails = [message(sender=sender) for sender in (near, away, "lisa@elsewhere.example", near, away)]
    queue = [(mail, {near, away}) for mail in mails]

    def run_queue():
        for mail, left in queue:
            recipients = sorted(left)
            replies = service.deliver(mail, *recipients) if left else []
            left.difference_update(one for one, reply in zip(recipients, replies) if reply.code == 250)
        return not any(left for _, left in queue)

    def counts():
        return [server.count(account, mailbox) for server, account in ((site.imap, near), (far, away))
                for mailbox in ("INBOX", "Sent")]
    for reply in service.deliver(message(), near, away):    # sessions with both are kept
        stored(reply)
    assert counts() == [1, 0, 1, 0]
    far.stop()
    for _ in range(3):
        assert not run_queue() and all(away in left for _, left in queue)
    assert site.count(near) == 6 and site.count(near, "Sent") == 2
    far.start()
    wait_until(run_queue, "all is delivered")
    assert counts() == [6, 2, 6, 2]
    assert not site.sql("SELECT * FROM oncedrop.copy WHERE state <> 'stored'")
    assert not site.sql("SELECT * FROM oncedrop.delivery WHERE finished_at IS NULL")


@pytest.mark.parametrize("setting, value, why", [
    ("imap south.sessions", "7", "there is one number for all servers"),
    ("imap south.ports", "7", "no such setting"),
    ("imap south.port", "x", "imap"),
    ("imap a b.port", "7", "the name of a server"),
    ("imap south.host", "mail.example.org", "IMAP server south"),
    ("route.server", "%{what}", "route"),
])
def test_what_is_wrong_is_named(site, setting, value, why):
    two(site, FakeImap(), **{setting: value})
    done = site.run("config", "--test")
    assert done.exit == 78 and why in done.err, done


def test_the_trust_is_in_each_server(site):
    """One that opens the same INBOX for every login keeps only its own mail waiting."""
    site.trusting = False
    north, south = two(site, Server(), **{"imap.master_user": "oncedrop"})
    site.ledger.trust(site.server(north.port))
    service = Service(site, workers=1)
    first, second = service.deliver(message(), SOUTH, NORTH)
    assert first.code == 451 and "same INBOX" in first.text, first
    stored(second)
    first, second = service.deliver(message(), SOUTH, NORTH)
    assert first.code == 451, first
    stored(second)
    assert len(north.appended) == 2 and not south.appended


def test_check_and_route(site):
    silent = Silent()
    silent.silent = False
    _, south = two(site, silent)
    done = site.run("route", "--json", SOUTH, NORTH)
    found = json.loads(done.out)
    assert [each.get("server") for each in found] == ["south", None] and found[0]["server_by"] == "route.account_query"
    text = site.run("check", SOUTH).out
    assert "server south (route.account_query)" in text and "[imap] answers" in text, text
    south.close()
    text = site.run("check", NORTH).out
    assert "failed" in text and f"south IMAP server 127.0.0.1:{south.port}" in text, text


def test_check_of_more_servers_than_its_report_has_room_for(site):
    """Seen to fail with: the end of the process by SIGABRT."""
    closed = free_port()
    site.settings.update({"imap.port": closed, "imap.tls": "none", **{f"imap s{i}.port": closed for i in range(300)}})
    done = site.run("check")
    assert done.exit == 1 and re.search(r"\nfailed +check +there is more to report than \d+ items: [^\n]+\n[^\n]+\n$", done.out), done
