# SPDX-License-Identifier: ISC
"""How mailboxes are named on the server: prefixes and separators of its namespaces, names that it does not accept, and a
master user without rights.

Seen to fail by the breakages in tests/mutants that name it. The rest was seen to fail by a NAMESPACE that is always asked for,
or by a mailbox that is missing only if TRYCREATE is said. Also by `check` without its experiments, and by LIST with the plain
name."""

import json
import os
import re

import expect
import pytest
from lab import dovecot_config, lmtp
from lab.dovecot import Dovecot
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message, on_the_wire
from test_concurrent import count_tries, wait_until_it_waits

SCUBA, LISA = "scuba@example.org", "lisa@example.org"


class Configured(Dovecot):
    """Dovecot with more settings."""

    def __init__(self, lab, name, more):
        directory = lab.new_directory(name)
        os.chmod(directory, 0o711)
        super().__init__(directory, lab.certificate, special_sent="Gesendet")
        self.more = more

    def configuration(self, **values):
        return super().configuration(**values) + self.more


def server_fixture(name, more):
    def server(lab):
        dovecot = Configured(lab, name, more)
        yield dovecot.start()
        dovecot.stop()
    return pytest.fixture(scope="module")(server)


prefixed = server_fixture("prefixed", dovecot_config.PREFIX)
hiding = server_fixture("hiding", dovecot_config.acl(owner=False))
showing = server_fixture("showing", dovecot_config.acl(owner=True))


def move(site, dovecot):
    """From now on the site's IMAP server is this one. Returns a function that creates an account there."""
    site.settings.update({"imap.tls": "none", "imap.port": dovecot.port,
                          "imap.password_file": site.write("moved", dovecot.password + "\n")})

    def account(name="user"):
        address = f"{name}.{site.number}@example.org"
        dovecot.add_account(address)
        return address
    return account


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    return server


def recorded(site):
    return site.sql("SELECT mailbox, state, doubt FROM oncedrop.copy ORDER BY id")


# A prefix, at a real server


def test_sent_and_folders_below_a_prefix(site, prefixed):
    """The ledger has the names as they are written; a second delivery knows them."""
    account = move(site, prefixed)
    lisa, scuba = account("lisa"), account("scuba")
    site.settings["route.detail"] = "folder"
    mail, address = message(sender=lisa), scuba.replace("@", "+lists@")
    expect.stored(site.deliver(mail, address, sender=lisa), "lists")
    expect.duplicate(site.deliver(mail, address, sender=lisa))
    assert [stored.raw for stored in prefixed.messages(scuba, "INBOX.lists")] == [on_the_wire(mail)]
    assert [stored.raw for stored in prefixed.messages(lisa, "INBOX.Sent")] == [on_the_wire(mail)]
    assert recorded(site) == [("lists", "stored", False), ("Sent", "stored", False)]
    assert prefixed.mailboxes(scuba) == ["INBOX", "INBOX.lists"]
    with prefixed.session(lisa) as session:
        assert b"INBOX.Sent" in b" ".join(session.lsub()[1])


@pytest.mark.parametrize("name,there", [("INBOX.Lists", "INBOX.Lists"), ("inbox.Lists", "INBOX.Lists"),
                                        ("INBOX/Lists/work", "INBOX.Lists.work"), ("Lists/work", "INBOX.Lists.work"),
                                        ("Gelöscht/x", "INBOX.Gel&APY-scht.x"), ("INBOXES", "INBOX.INBOXES")])
def test_names_that_are_written_in_other_ways(site, prefixed, name, there):
    scuba = move(site, prefixed)()
    site.settings["route.inbox"] = name
    expect.stored(site.deliver(message(), scuba), name)
    assert there in prefixed.mailboxes(scuba)
    assert prefixed.count(scuba, there) == 1


def test_a_separator_without_a_prefix(site):
    """Dovecot's Maildir has '.' where people write '/'."""
    scuba = site.account()
    site.settings["route.inbox"] = "Lists/work"
    expect.stored(site.deliver(message(), scuba), "Lists/work")
    assert site.count(scuba, "Lists.work") == 1


def test_a_search_below_a_prefix(site, prefixed):
    """In doubt it is searched for where it is."""
    scuba = move(site, prefixed)()
    site.settings["route.inbox"] = "Lists"
    mail = message()
    expect.stored(site.deliver(mail, scuba), "Lists")
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = true, uid = NULL, stored_at = NULL")
    expect.stored(site.deliver(mail, scuba), "Lists")
    assert prefixed.count(scuba, "INBOX.Lists") == 1


@pytest.mark.parametrize("marked", [True, False])
def test_sent_by_its_use_below_a_prefix(site, prefixed, marked):
    """If no mailbox is marked, it is Sent."""
    account = move(site, prefixed)
    lisa, scuba = account("lisa"), account("scuba")
    if marked:
        with prefixed.session(lisa) as session:
            session.create("INBOX.Gesendet")
    site.settings["route.sent"] = r"\Sent"
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert prefixed.mailboxes(lisa) == ["INBOX", "INBOX.Gesendet" if marked else "INBOX.Sent"]
    assert prefixed.count(lisa, "INBOX.Gesendet" if marked else "INBOX.Sent") == 1


# What servers say of their namespaces

CYRUS = '(("INBOX." ".")) (("user." ".")) (("" "."))'
TOLD = {
    "none": ('(("" "/")) NIL NIL', "Lists/work", "Lists/work"),
    "Courier": ('(("INBOX." ".")) NIL (("#shared." ".")("shared." "."))', "Lists/work", "INBOX.Lists.work"),
    "Courier's shared": ('(("INBOX." ".")) NIL (("#shared." ".")("shared." "."))', "shared/a", "shared.a"),
    "Cyrus": (CYRUS, "Lists", "INBOX.Lists"),
    "Cyrus, another user's": (CYRUS, "user/fred/x", "user.fred.x"),
    "Cyrus, almost another user's": (CYRUS, "username", "INBOX.username"),
    "an own one without prefix": ('(("INBOX." ".")("" "/")) NIL NIL', "Lists/work", "Lists/work"),
    "several": ('(("INBOX/" "/")("#mh/" "/")) NIL NIL', "Lists", "INBOX/Lists"),
    "another of several": ('(("INBOX/" "/")("mh/" "/")) NIL NIL', "mh/inbox", "mh/inbox"),
    "no hierarchy": ('(("" NIL)) NIL NIL', "a/b", "a/b"),
    "an extension": ('(("INBOX." "." "X-P" ("a" "b"))) NIL NIL', "x", "INBOX.x"),
    "no own ones": ('NIL NIL (("" "."))', "a/b", "a/b"),
    "not in upper case": ('(("Inbox/" "/")) NIL NIL', "INBOX/x", "INBOX/x"),
    "nothing that can be read": ('(("INBOX." ', "x", "x"),
}


def telling(site, answer):
    def namespace(client, tag, _arguments):
        client.send((f"* NAMESPACE {answer}\r\n" if answer else "") + f"{tag} OK done")
    return fake(site, capabilities=CAPABILITIES + " NAMESPACE", script={"NAMESPACE": namespace})


@pytest.mark.parametrize("answer,name,there", TOLD.values(), ids=TOLD.keys())
def test_what_a_server_tells(site, answer, name, there):
    server = telling(site, answer)
    site.settings["route.inbox"] = name
    expect.stored(site.deliver(message(), SCUBA), name)
    assert [mailbox for mailbox, _ in server.appended] == [there]


def test_it_is_asked_only_for_what_is_not_the_inbox(site):
    server = telling(site, CYRUS)
    expect.stored(site.deliver(message(), SCUBA))
    assert "NAMESPACE" not in [name for name, _ in server.commands]


def test_it_is_not_asked_if_it_has_no_namespaces(site):
    def authenticate(client, tag, _arguments):
        client.send(f"{tag} OK [CAPABILITY IMAP4rev1 UIDPLUS] logged in")
    server = telling(site, CYRUS)
    server.script["AUTHENTICATE"] = authenticate
    site.settings["route.inbox"] = "Lists"
    expect.stored(site.deliver(message(), SCUBA), "Lists")
    assert "NAMESPACE" not in [name for name, _ in server.commands]
    assert [mailbox for mailbox, _ in server.appended] == ["Lists"]


@pytest.mark.parametrize("answer,exit", [("BAD what?", 0), ("NO [SERVERBUG] later", 75)])
def test_a_server_that_does_not_tell(site, answer, exit):
    """BAD: it cannot; any other name would be made in the wrong place."""
    server = telling(site, CYRUS)
    server.script["NAMESPACE"] = lambda client, tag, _: client.send(f"{tag} {answer}")
    site.settings["route.inbox"] = "Lists"
    done = site.deliver(message(), SCUBA)
    assert done.exit == exit, done
    assert len(server.appended) == (exit == 0)
    if exit:
        expect.deferred(done, r"4\.4\.1", "NAMESPACE")
        assert recorded(site) == [("Lists", "pending", False)]


# A missing mailbox, without TRYCREATE


class Lacking(FakeImap):
    """A server that has only INBOX at first, and its own answer to APPEND for what is missing. after: given only after the
    message was sent."""

    def __init__(self, answer, after, **options):
        super().__init__(**options)
        self.answer_to_missing, self.after, self.mailboxes = answer, after, ["INBOX"]

    def do_append(self, client, tag, arguments):
        name = re.match(rb'"([^"]*)"', arguments)[1].decode()
        if name in self.mailboxes:
            super().do_append(client, tag, arguments)
            return
        if self.after:
            self.read_append(client, arguments)
        client.send(f"{tag} {self.answer_to_missing}")

    def do_list(self, client, tag, arguments):
        for name in self.mailboxes:
            if f'"{name}"'.encode() in arguments:
                client.send(f'* LIST () "/" "{name}"')
        client.send(f"{tag} OK done")

    def do_create(self, client, tag, arguments):
        self.mailboxes.append(arguments.decode().strip('"'))
        client.send(f"{tag} OK done")


def lacking(site, answer, after=False, **options):
    server = site.use(Lacking(answer, after, **options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "route.inbox": "Lists"})
    return server


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("answer", ["NO no such mailbox", "BAD no such mailbox", "NO [NONEXISTENT] none"])
def test_a_missing_mailbox_without_trycreate(site, answer, after):
    server = lacking(site, answer, after)
    expect.stored(site.deliver(message(), SCUBA), "Lists")
    names = [name for name, _ in server.commands]
    assert [names.count(name) for name in ("APPEND", "LIST", "CREATE")] == [2, 1, 1]
    assert len(server.appended) == 1


@pytest.mark.parametrize("answer", ["NO System I/O error", "BAD internal error"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_trouble_with_a_mailbox_that_is_listed(site, answer, after):
    """A full disk makes no mailbox."""
    server = lacking(site, answer, after)
    server.script["LIST"] = lambda client, tag, _: client.send(f'* LIST () "/" "Lists"\r\n{tag} OK done')
    expect.deferred(site.deliver(message(), SCUBA), r"4\.4\.1", answer.split(" ", 1)[1])
    assert "CREATE" not in [name for name, _ in server.commands]
    assert recorded(site) == [("Lists", "pending", after)]


@pytest.mark.parametrize("code", ["SERVERBUG", "UNAVAILABLE", "INUSE", "CONTACTADMIN", "OVERQUOTA", "LIMIT", "NOPERM"])
def test_trouble_that_has_a_code(site, code):
    """The program does not ask whether the mailbox is missing."""
    server = lacking(site, f"NO [{code}] no")
    assert site.deliver(message(), SCUBA).exit == 75
    assert not {"LIST", "CREATE"} & {name for name, _ in server.commands}


@pytest.mark.parametrize("answer", ["NO try later", "BAD LIST"])
def test_a_list_that_is_refused(site, answer):
    server = lacking(site, "NO something")
    server.script["LIST"] = lambda client, tag, _: client.send(f"{tag} {answer}")
    expect.deferred(site.deliver(message(), SCUBA), r"4\.4\.1", "something")
    assert "CREATE" not in [name for name, _ in server.commands]


@pytest.mark.parametrize("after,stored", [(False, True), (True, False)], ids=["before", "after"])
def test_a_mailbox_that_another_delivery_makes_meanwhile(site, after, stored):
    """If the message was sent already, it may have been stored there: it is searched for at the next try."""
    server = lacking(site, "NO no such mailbox", after)

    def create(client, tag, _arguments):
        server.mailboxes.append("Lists")
        client.send(f"{tag} NO it exists")
    server.script["CREATE"] = create
    mail = message()
    done = site.deliver(mail, SCUBA)
    assert (done.exit == 0) == stored, done
    if not stored:
        assert recorded(site) == [("Lists", "pending", True)]
        expect.stored(site.deliver(mail, SCUBA), "Lists")
        assert "EXAMINE" in [name for name, _ in server.commands]
    assert len(server.appended) == 1


def test_a_mailbox_that_cannot_be_made_without_trycreate(site):
    server = lacking(site, "NO no such mailbox")
    server.script["CREATE"] = lambda client, tag, _: client.send(f"{tag} NO disk is full")
    for _ in range(2):
        expect.deferred(site.deliver(message(), SCUBA), r"4\.4\.1", "disk is full")
    names = [name for name, _ in server.commands]
    assert names.count("APPEND") == 2


# A folder that cannot be made


def folders(site):
    site.settings.update({"route.detail": "folder", "route.sent_copy": "off"})
    return lambda account, detail: account.replace("@", f"+{detail}@")


def to(site, message, *addresses):
    """One delivery to all of them, by LMTP; returns the replies."""
    session = lmtp.start(site)
    return session.deliver(message, *addresses)


@pytest.fixture(scope="module")
def narrow(lab):
    """A server that does not accept every name: its separator is '^', and it refuses a part of a name that is empty."""
    dovecot = Configured(lab, "narrow", dovecot_config.PREFIX.replace("separator = .", "separator = ^").replace("INBOX.", "INBOX^"))
    yield dovecot.start()
    dovecot.stop()


def test_a_folder_that_cannot_be_made_is_the_inbox(site, narrow):
    """The record has it that this is the folder's copy, and where it is; every further delivery is a duplicate."""
    scuba = move(site, narrow)()
    address, mail = folders(site)(scuba, "a^^b"), message()
    done = site.deliver(mail, address)
    expect.stored(done, "INBOX")
    assert "(instead of a^^b: " in done.out and "CREATE refused" in done.out
    assert recorded(site) == [("a^^b", "stored", False)]
    [copy] = site.sql("SELECT uid, uidvalidity, error FROM oncedrop.copy")
    assert (copy.uid, copy.uidvalidity) == (None, None) and "mailbox=INBOX" in copy.error
    expect.duplicate(site.deliver(mail, address))
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = true, stored_at = NULL")
    expect.stored(site.deliver(mail, address), "INBOX")
    assert narrow.count(scuba) == 1
    assert narrow.mailboxes(scuba) == ["INBOX"]


def test_the_log_tells_where_it_is(site, narrow):
    scuba = move(site, narrow)()
    site.settings["log.to"] = "stderr"
    done = site.deliver(message(), folders(site)(scuba, "a^^b"))
    assert "mailbox=INBOX, uid=1," in done.err and "instead of a^^b" in done.err


@pytest.mark.parametrize("count", [2, 10])
def test_one_copy_for_the_folder_and_the_inbox(site, narrow, count):
    """In any order they are made, in one transaction."""
    account = move(site, narrow)
    scubas = [account(f"user{number}") for number in range(count // 2)]
    with_folder = folders(site)
    mail = message()
    replies = to(site, mail, *(address for scuba in scubas for address in (scuba, with_folder(scuba, "a^^b"))))
    assert [reply.code for reply in replies] == [250] * count, replies
    assert [narrow.count(scuba) for scuba in scubas] == [1] * len(scubas)


@pytest.mark.parametrize("folder_first", [True, False])
def test_one_copy_for_the_folder_and_the_inbox_one_after_the_other(site, narrow, folder_first):
    scuba = move(site, narrow)()
    addresses = [folders(site)(scuba, "a^^b"), scuba]
    mail = message()
    for address in addresses if folder_first else reversed(addresses):
        expect.stored(site.deliver(mail, address), "INBOX")
    assert narrow.count(scuba) == 1


def test_two_copies_for_a_folder_and_the_inbox(site):
    """One that can be made: each mailbox gets its own."""
    scuba = site.account()
    mail = message()
    for replies in (to(site, mail, scuba, folders(site)(scuba, "lists")), to(site, mail, scuba)):
        assert {reply.code for reply in replies} == {250}
    assert (site.count(scuba), site.count(scuba, "lists")) == (1, 1)


@pytest.mark.parametrize("folder_first", [True, False])
def test_a_copy_that_may_still_come_to_the_inbox_keeps_others_from_it(site, narrow, folder_first):
    """As when its delivery has lost its lock. In what order they come does not matter; a folder that can be made has its copy."""
    scuba, mail = move(site, narrow)(), message()
    addresses = [folders(site)(scuba, "a^^b"), scuba]
    first, second = addresses if folder_first else reversed(addresses)
    expect.stored(site.deliver(mail, first))
    with narrow.session(scuba) as session:
        session.select()
        session.store("1", "+FLAGS", r"\Deleted")
        session.expunge()
    site.ledger.claim(seconds=5)
    done = site.deliver(mail, second)
    expect.deferred(done, r"4\.3\.0", "elsewhere" if folder_first else f"another copy for {scuba} may be on its way to INBOX")
    assert not folder_first or re.search(r"claimed ([5-9]|\d\d+) s ago, left alone for another [1-9]", done.out), done
    assert narrow.count(scuba) == 0
    expect.stored(site.deliver(mail, folders(site)(scuba, "lists")), "lists")
    site.ledger.claim(hours=1, mailbox=("INBOX", "a^^b"))
    expect.stored(site.deliver(mail, second))
    assert narrow.count(scuba) == 1


def test_lock_wait_is_for_the_other_copy_too(site):
    """Whose delivery is between its claim and its hold, and so without the lock."""
    site.settings["lock.wait"] = "50s"
    scuba, mail = site.account(), message()
    expect.stored(site.deliver(mail, folders(site)(scuba, "lists")), "lists")
    site.ledger.claim()
    tries = count_tries(site)
    delivery = site.start_delivery(mail, scuba)
    wait_until_it_waits(delivery, tries)
    site.sql("UPDATE oncedrop.copy SET state = 'stored', stored_at = %s", (site.ledger.now(),))
    expect.stored(delivery.finish())
    assert site.count(scuba) == 1


def test_lock_wait_is_for_a_copy_by_another_name_too(site):
    """Seen to fail with lock.wait for folders only."""
    site.settings.update({"lock.wait": "50s", "route.inbox": "Sent", "route.sent": r"\Sent"})
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, scuba, sender=lisa), "Sent")
    site.ledger.claim(role="sent")
    tries = count_tries(site)
    delivery = site.start_delivery(mail, lisa)
    wait_until_it_waits(delivery, tries)
    site.sql("UPDATE oncedrop.copy SET state = 'stored', stored_at = %s", (site.ledger.now(),))
    expect.stored(delivery.finish(), "Sent")
    assert site.count(lisa, "Gesendet") + site.count(lisa, "Sent") == 1


class Late(FakeImap):
    """A server that has only INBOX, makes no folder, and is slow: of the first message, or of the first explanation instead of one,
    it does not say what became of it. It is stored when the test says so."""

    def __init__(self, answer, explained):
        super().__init__()
        self.answer_to_first, self.explained, self.late = answer, explained, None

    def do_create(self, client, tag, _arguments):
        client.send(f"{tag} NO [CANNOT] not that name")

    def do_append(self, client, tag, arguments):
        if not arguments.startswith((b'"INBOX"', b"INBOX ")):
            client.send(f"{tag} NO [TRYCREATE] none")
            return
        _, data = self.read_append(client, arguments)
        if self.explained and b"oncedrop_explanation" not in data:
            client.send(f"{tag} NO [LIMIT] not this content")
        elif self.late is None:
            self.late = data
            if not self.answer_to_first:
                client.close()
            client.send(f"{tag} {self.answer_to_first}")
        else:
            self.appended.append(data)
            client.send(f"{tag} OK [APPENDUID 7 {len(self.appended)}] stored")

    def do_uid_search(self, client, tag, arguments):
        id = re.search(rb'HEADER Message-ID "([^"]*)"', arguments)
        found = [str(uid) for uid, data in enumerate(self.appended, 1) if not id or id[1] in data.partition(b"\r\n\r\n")[0]]
        client.send(" ".join(["* SEARCH", *found]))
        client.send(f"{tag} OK done")

    def do_uid_fetch(self, client, tag, arguments):
        for uid in map(int, arguments.split()[0].split(b",")):
            data, part = self.appended[uid - 1], b""
            if b"HEADER.FIELDS" in arguments:
                part = b"HEADER.FIELDS (MESSAGE-ID)"
                data = re.search(rb"(?im)^Message-ID:.*\r\n", data)[0] + b"\r\n"
            client.send(b"* %d FETCH (UID %d BODY[%s] {%d}\r\n%s)\r\n" % (uid, uid, part, len(data), data))
        client.send(f"{tag} OK done")


@pytest.mark.parametrize("details", [["", "+lists"], ["+lists", "+news"]], ids=["inbox and folder", "two folders"])
@pytest.mark.parametrize("explained", [False, True], ids=["message", "explanation"])
@pytest.mark.parametrize("answer", [None, "NO [UNAVAILABLE] my backend does not answer"], ids=["lost", "refused"])
def test_a_copy_whose_fate_is_unknown_keeps_a_fallback_from_the_inbox(site, details, explained, answer):
    """Within one transaction, in which it cannot be found yet; later it is."""
    server = site.use(Late(answer, explained))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "route.detail": "folder", "route.sent_copy": "off",
                          "delivery.refused": "quarantine", "delivery.refuse_after": "0s"})
    addresses, mail = [SCUBA.replace("@", f"{detail}@") for detail in details], message()
    replies = to(site, mail, *addresses)
    assert [reply.code for reply in replies] == [451, 451], replies
    assert sum("may be on its way to INBOX" in reply.text for reply in replies) == 1, replies
    assert server.appended == []
    server.appended.append(server.late)
    site.ledger.age(hours=1, state="appending")
    replies = to(site, mail, *addresses)
    assert [reply.code for reply in replies] == [250, 250], replies
    assert len(server.appended) == 1


class LateByAnyName(Late):
    """All names are of one mailbox."""

    def do_append(self, client, tag, arguments):
        super().do_append(client, tag, b"INBOX " + arguments.split(b" ", 1)[1])

    def do_examine(self, client, tag, _arguments):
        client.send(f"* {len(self.appended)} EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n{tag} OK done")

    def do_fetch(self, client, tag, arguments):
        """UIDs are sequence numbers here."""
        first, last = map(int, arguments.split()[0].split(b":"))
        self.do_uid_fetch(client, tag, b",".join(b"%d" % n for n in range(first, last + 1)) + b" HEADER.FIELDS")


@pytest.mark.parametrize("details,sender", [(["+lists", "+INBOX^lists"], "x@elsewhere.example"), (["+Sent"], SCUBA)],
                         ids=["two folders", "folder and Sent"])
@pytest.mark.parametrize("answer", [None, "NO [UNAVAILABLE] my backend does not answer"], ids=["lost", "refused"])
def test_a_copy_whose_fate_is_unknown_keeps_others_from_its_mailbox(site, details, sender, answer):
    """By any name that may be another one of it. Seen to fail without what fences an inbox, and what fences Sent."""
    server = site.use(LateByAnyName(answer, False))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "route.detail": "folder", "route.sent": r"\Sent"})
    addresses, mail = [SCUBA.replace("@", f"{detail}@") for detail in details], message(sender=sender)
    for stored in (0, 1):
        replies = lmtp.start(site).deliver(mail, *addresses, sender=sender)
        assert [reply.code for reply in replies] == [250 if stored else 451] * len(details), replies
        assert len(server.appended) == stored
        if not stored:
            server.appended.append(server.late)
            site.ledger.age(hours=1, state="appending")
    assert site.sql("SELECT DISTINCT state FROM oncedrop.copy") == [("stored",)]
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 2


def cannot(client, tag, _arguments):
    client.send(f"{tag} NO [CANNOT] not that name")


def test_a_folder_that_can_be_made_by_the_next_try(site):
    """The first one died when the inbox had the message: the next one finds it there, though it could make the folder."""
    scuba = site.account()
    address, mail = folders(site)(scuba, "lists"), message()
    site.settings["imap.create"] = "no"
    expect.stored(site.deliver(mail, address), "INBOX")
    site.ledger.claim(days=1)
    site.settings["imap.create"] = "yes"
    expect.stored(site.deliver(mail, address), "INBOX")
    assert site.lab.dovecot.mailboxes(scuba) == ["INBOX"]
    assert site.count(scuba) == 1


def test_trouble_makes_no_copy_in_the_inbox(site):
    """A full disk, for example: the folder's copy waits."""
    server = lacking(site, "NO [TRYCREATE] none")
    server.script["CREATE"] = lambda client, tag, _: client.send(f"{tag} NO [SERVERBUG] no space")
    address = folders(site)(SCUBA, "lists")
    expect.deferred(site.deliver(message(), address), r"4\.\d\.\d", "no space")
    assert server.appended == []


def test_an_inbox_that_fails_too(site):
    """The folder's copy is deferred, and in doubt if it may be in the inbox."""
    server = lacking(site, "NO [TRYCREATE] none", capabilities=CAPABILITIES)
    site.settings["route.inbox"] = "INBOX"
    server.script["CREATE"] = cannot
    plain = server.do_append

    def append(client, tag, arguments):
        if arguments.startswith(b'"INBOX"'):
            FakeImap.read_append(client, arguments)
            client.send(f"{tag} NO [SERVERBUG] no space")
        else:
            plain(client, tag, arguments)
    server.script["APPEND"] = append
    address, mail = folders(site)(SCUBA, "lists"), message()
    expect.deferred(site.deliver(mail, address), r"4\.4\.1", "no space")
    assert recorded(site) == [("lists", "pending", True)]
    del server.script["APPEND"]
    expect.stored(site.deliver(mail, address), "INBOX")
    assert [arguments for name, arguments in server.commands if name == "EXAMINE"] == [b'"lists"', b'"INBOX"']
    assert len(server.appended) == 1


@pytest.mark.parametrize("setting", ["inbox", "sent"])
def test_a_configured_mailbox_has_no_fallback(site, setting):
    """Only what a stranger has named: here the administrator must learn it."""
    server = lacking(site, "NO [TRYCREATE] none")
    server.script["CREATE"] = cannot
    if setting == "sent":
        site.settings["route.inbox"] = "INBOX"
    expect.deferred(site.deliver(message(sender=LISA), SCUBA, sender=LISA), r"4\.\d\.\d", "not that name")
    assert [mailbox for mailbox, _ in server.appended] == ["INBOX"] * (setting == "sent")


# Names of all kinds

LONG, LONGER = "x" * 64, "x" * 65
DETAILS = {'a"b': 'a"b', "a\\b": "a\\b", "\\Sent": None, "\\Seen": None, "50%": None, "{3}": "{3}", "x{3}": "x{3}",
           "{3+}": "{3+}", "😀": "&2D3eAA-", "&": "&-", "a&b": "a&-b", "&2D3eAA-": "&-2D3eAA-", "~x": None, "~": None,
           "x~": "x~", "a\x01b": "a&,,0-b", "a\x7fb": "a&,,0-b", "a\tb": "a&,,0-b", "é": "&AOk-", " x": " x", "x ": "x ", "(x)": "(x)",
           "[x]": "[x]", "*": None, "a.b": None, "a/b": None, "inbox": None, "NIL": "NIL", LONG: LONG, LONGER: None}


@pytest.mark.parametrize("detail,folder", DETAILS.items(), ids=map(ascii, DETAILS))
def test_details_of_all_kinds(site, detail, folder):
    """Stored in a folder of that name, or in the inbox; searched for as well, and known. U+FFFD stands for control
    characters."""
    scuba = site.account()
    user, domain = scuba.split("@")
    site.settings.update({"route.detail": "folder", "route.sent_copy": "off"})
    quoted = (user + "+" + detail).replace("\\", "\\\\").replace('"', '\\"')
    address, mail = f'"{quoted}"@{domain}', message()
    mailbox = folder or "INBOX"
    for _ in range(2):
        expect.stored(site.deliver(mail, address), "")
        site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = true, uid = NULL, stored_at = NULL")
    expect.stored(site.deliver(mail, address), "")
    expect.duplicate(site.deliver(mail, address))
    assert site.count(scuba, mailbox) == 1
    names = [name.replace("\\\\", "\\").replace('\\"', '"') for name in site.lab.dovecot.mailboxes(scuba)]
    assert set(names) == {"INBOX", mailbox}


def test_a_detail_that_is_not_text(site):
    scuba = site.account()
    site.settings["route.detail"] = "folder"
    address = os.fsencode(scuba).replace(b"@", b"+\xff@")
    expect.stored(site.deliver(message(), address), "\N{REPLACEMENT CHARACTER}")
    assert site.count(scuba, "&,,0-") == 1


NAMES = {"~x": "Begins with '~'", "a//b": "Invalid mailbox name", "x" * 300: "too long", "/a": "Invalid mailbox name"}


@pytest.mark.parametrize("name,reason", NAMES.items(), ids=[name[:9] for name in NAMES])
def test_names_that_a_server_does_not_accept(site, name, reason):
    """The reason is the server's; nothing is in doubt."""
    scuba = site.account()
    site.settings["route.inbox"] = name
    mail = message()
    for _ in range(2):
        expect.deferred(site.deliver(mail, scuba), r"4\.\d\.\d", reason)
    assert [row[1:] for row in recorded(site)] == [("pending", False)]
    assert site.lab.dovecot.mailboxes(scuba) == ["INBOX"]


@pytest.mark.parametrize("name", ['a"b', "a\\b", "50%", "x*", "{3}", "😀", "a&b", "&", "x y ", "%user"])
def test_names_that_are_configured(site, name):
    """A '%' in the name of a mailbox is one."""
    scuba = site.account()
    site.settings.update({"route.inbox": f"{name}", "imap.search": "always"})
    if name.endswith(" "):
        site.settings["route.inbox"] = name[:-1] + r"\s"
    mail = message()
    expect.stored(site.deliver(mail, scuba), "")
    expect.duplicate(site.deliver(mail, scuba))
    [made] = set(site.lab.dovecot.mailboxes(scuba)) - {"INBOX"}
    assert made


def test_a_pattern_lists_other_mailboxes(site):
    """There are mailboxes that it matches, but not this one: it is missing, and not in trouble."""
    scuba = site.account()
    site.settings.update({"route.inbox": "x%", "imap.search": "always"})
    with site.lab.dovecot.session(scuba) as session:
        session.create("xy")
    expect.stored(site.deliver(message(), scuba), "x%")
    assert sorted(site.lab.dovecot.mailboxes(scuba)) == ["INBOX", "x%", "xy"]


@pytest.mark.parametrize("user", ['a\\"b', "a b", "50%", "{3}", "😀", "~x", "a&b", "é", "a*b"])
@pytest.mark.parametrize("auth", ["plain", "login"])
def test_accounts_of_all_kinds(site, user, auth):
    """Stored, or refused with a word about the account."""
    server = fake(site)
    site.settings.update({"imap.auth": auth, "imap.master_user": None})
    site.trusting = False
    expect.stored(site.deliver(message(), f'"{user}"@example.org'))
    assert len(server.appended) == 1


@pytest.mark.parametrize("user", ['a\\"b', "50%", "{3}", "😀", "~x", "a\x01b"])
def test_an_account_that_the_server_refuses(site, user):
    expect.deferred(site.deliver(message(), f'"{user}"@example.org'), r"4\.4\.1", "check that this account exists")


# A master user without rights


@pytest.mark.parametrize("mailbox", ["INBOX", "Lists"])
def test_a_master_user_without_rights(site, hiding, mailbox):
    """Dovecot answers TRYCREATE, lists the INBOX, and would say of CREATE that it exists. What is to be done is said.
    Dovecot 2.4 lets the master user in."""
    if not dovecot_config.is_old():
        pytest.skip("only Dovecot 2.3 does that")
    scuba = move(site, hiding)()
    with hiding.session(scuba) as session:
        session.list()
    site.settings["route.inbox"] = mailbox
    for _ in range(2):
        expect.deferred(site.deliver(message(), scuba), r"4\.3\.0", "lists the account's INBOX", "acl_user")
    said = " ".join(site.check(scuba).out.split())
    assert "acl_user" in said
    assert "CREATE" not in hiding.log()


def test_a_master_user_with_rights(site, showing):
    account = move(site, showing)
    lisa, scuba = account("lisa"), account("scuba")
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert (showing.count(scuba), showing.count(lisa, "Sent")) == (1, 1)


def test_check_tells_what_is_below_a_prefix(site, prefixed):
    scuba = move(site, prefixed)()
    site.settings["route.detail"] = "folder"
    done = site.check(scuba, "--json")
    said = {item["item"]: item["text"] for item in json.loads(done.out) if item["item"] in ("inbox", "sent", "detail")}
    assert '"INBOX.Sent" does not exist yet' in said["sent"] and "folder can be created" in said["detail"]
    assert prefixed.mailboxes(scuba) == ["INBOX"]


# Two names of one mailbox


@pytest.mark.parametrize("sent,detail", [(r"\Sent", "Gesendet"), ("INBOX.Sent", "Sent")])
@pytest.mark.parametrize("id", [None, False], ids=["Message-ID", "none"])
@pytest.mark.parametrize("order", ["sent first", "folder first", "together"])
def test_one_copy_under_two_names(site, prefixed, sent, detail, id, order):
    """The Sent copy, and the one for a sender with a copy to the folder."""
    account = move(site, prefixed)
    lisa, scuba = account("lisa"), account("scuba")
    site.settings.update({"route.detail": "folder", "route.sent": sent})
    with prefixed.session(lisa) as session:
        session.create("INBOX." + detail)
    mail, folder = message(sender=lisa, id=id), lisa.replace("@", f"+{detail}@")
    if order == "together":
        assert [reply.code for reply in lmtp.start(site).deliver(mail, scuba, folder, sender=lisa)] == [250, 250]
    for address in [folder, scuba] if order == "folder first" else [scuba, folder]:
        assert site.deliver(mail, address, sender=lisa).exit == 0
    assert (prefixed.count(scuba), prefixed.count(lisa, "INBOX." + detail)) == (1, 1)


def test_a_copy_under_way_by_another_name_is_waited_for(site):
    """Of whichever came first, by whichever comes then."""
    lisa, scuba = site.account(), site.account()
    site.settings.update({"route.detail": "folder", "route.sent": r"\Sent"})
    mail, folder = message(sender=lisa), lisa.replace("@", "+Gesendet@")
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    site.ledger.claim(role="sent")
    expect.deferred(site.deliver(mail, folder, sender=lisa), r"4\.3\.0", "elsewhere")
    site.ledger.age(hours=1, role="sent")
    expect.stored(site.deliver(mail, folder, sender=lisa), "Gesendet")
    assert site.count(lisa, "Gesendet") == 1


# On other servers, which accept other names

OTHERS = ['a"b', "a\\b", "{3}", "x{3+}", "😀", "a&b", "&2D3eAA-", "x~", "a\x01b", "é", " x", "(x)", "[x]", "NIL", "a^b", "a!b", "a|b",
          "a<b", "$x", "a`b", "user", LONG]
REFUSED = {"cyrus": {'a"b', "a\\b", "{3}", "x{3+}", "a^b", "a|b", "a<b", "a`b"}, "courier": {"😀"}}


@pytest.mark.parametrize("name", REFUSED)
def test_details_of_all_kinds_on_other_servers(site, request, name):
    """In a folder, or in the inbox if the server does not accept the name; searched for where it is. Cyrus dies of some of these
    names in LIST, and Courier refuses some there."""
    server = request.getfixturevalue(name)
    scuba = site.account()
    user, domain = scuba.split("@")
    site.settings.update({"route.detail": "folder", "route.sent_copy": "off", "imap.search": "always"})
    mails = [(detail, message()) for detail in OTHERS]
    for detail, mail in mails:
        quoted = (user + "+" + detail).replace("\\", "\\\\").replace('"', '\\"')
        address = f'"{quoted}"@{domain}'
        done = site.deliver(mail, address)
        expect.stored(done, "")
        assert ("instead of" in done.out) == (detail in REFUSED[name]), done
        site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = true, uid = NULL, stored_at = NULL")
        expect.stored(site.deliver(mail, address), "INBOX" if detail in REFUSED[name] else "")
    assert site.count(scuba) == len(REFUSED[name])
    assert len(server.mailboxes(scuba)) == 1 + len(OTHERS) - len(REFUSED[name])
