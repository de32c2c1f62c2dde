# SPDX-License-Identifier: ISC
"""Mailboxes: searching large ones, choosing Sent, creating them, and leaving an unresponsive server.

Each was seen to fail, by the breakages in tests/mutants that name it."""

import datetime
import os
import re
import signal

import expect
import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message, on_the_wire
from lab.proxy import CLIENT
from lab.process import wait_until

SCUBA, LISA = "scuba@example.org", "lisa@example.org"


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    return server


def fill(site, account, mailbox, mail, count):
    """Stores at least this many copies of a message, by doubling."""
    with site.lab.dovecot.session(account) as session:
        session.append(mailbox, "", None, on_the_wire(mail))
        session.select(mailbox)
        [uid] = session.uid("SEARCH", "ALL")[1][0].split()[-1:]
        made = 1
        while made < count:
            assert session.uid("COPY", uid.decode() + ":*", mailbox)[0] == "OK"
            made *= 2
        return made


def in_doubt(site, mail, recipient, role, **more):
    """The message is there; its delivery died without a result, long ago."""
    expect.stored(site.deliver(mail, recipient, **more))
    site.ledger.claim(days=1, role=role)


# Searching


def test_the_last_of_very_many_with_its_id(site):
    """Newer messages with this Message-ID are different: it is behind all of them."""
    scuba = site.account()
    id = "many@test.example"
    mail = message(id=id)
    in_doubt(site, mail, scuba, "inbox")
    made = fill(site, scuba, "INBOX", message(id=id, body="another\n"), 300)
    assert expect.stored(site.deliver(mail, scuba)) == 1
    assert site.value("SELECT uid FROM oncedrop.copy") == 1
    assert site.count(scuba) == made + 1


def test_a_sent_copy_in_doubt_is_looked_for_everywhere(site):
    """Not only among the newest messages, where copies filed by others are searched."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    in_doubt(site, mail, scuba, "sent", sender=lisa)
    made = fill(site, lisa, "Sent", message(sender=lisa), 512)
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    assert site.sql("SELECT state, uid, doubt FROM oncedrop.copy WHERE role = 'sent'") == [("stored", 1, False)]
    assert site.count(lisa, "Sent") == made + 1


def test_a_copy_by_another_name_is_looked_for_everywhere(site):
    """It was stored before, however many messages came after it."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"route.detail": "folder", "route.sent": r"\Sent"})
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, lisa.replace("@", "+Gesendet@"), sender=lisa, options=["-o", "route.sent_copy=off"]),
                  "Gesendet")
    made = fill(site, lisa, "Gesendet", message(sender=lisa), 512)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert site.sql("SELECT state, uid FROM oncedrop.copy WHERE role = 'sent'") == [("stored", 1)]
    assert site.count(lisa, "Gesendet") == made + 1


def test_what_others_filed_is_looked_for_among_the_newest(site):
    """The 500th from the end counts as the Sent copy, the 501st does not."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail, older = message(sender=lisa), message(sender=lisa)
    with site.lab.dovecot.session(lisa) as session:
        session.create("Sent")
        session.append("Sent", "", None, on_the_wire(older))
        session.append("Sent", "", None, on_the_wire(mail))
    fill(site, lisa, "Sent", message(sender=lisa), 512)
    with site.lab.dovecot.session(lisa) as session:
        session.select("Sent")
        session.store("502:*", "+FLAGS", r"\Deleted")   # 499 newer ones remain
        session.expunge()
    assert site.count(lisa, "Sent") == 501
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 501
    expect.stored(site.deliver(older, scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 502
    assert [uid for uid, in site.sql("SELECT uid FROM oncedrop.copy WHERE role = 'sent' ORDER BY id")] == [2, 515]


@pytest.mark.parametrize("role", ["inbox", "sent"])
def test_what_a_search_by_text_does_not_find(site, role):
    """Indexes divide ids into words: the message is there all the same, among others of its day."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    in_doubt(site, mail, scuba, role, sender=lisa)
    account, mailbox = (scuba, "INBOX") if role == "inbox" else (lisa, "Sent")
    made = fill(site, account, mailbox, message(sender=lisa), 512)
    asked = []

    def miss(_connection, side, data):
        if side == CLIENT:
            asked.extend(re.findall(rb"UID SEARCH \S+|UID FETCH \d+ ", data))
        return data.replace(b'HEADER Message-ID "', b'HEADER Message-ID "x') if side == CLIENT else data
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    site.imap_proxy(miss)
    site.deliver(mail, scuba, sender=lisa)
    assert site.sql("SELECT state, uid, doubt FROM oncedrop.copy WHERE role = %s", (role,)) == [("stored", 1, False)]
    assert site.count(account, mailbox) == made + 1
    assert b"UID SEARCH HEADER" in asked, asked
    assert len(asked) <= 3      # by id, by date, and one message as a whole, or its piece of the ids


def mistake(site, account, mailbox, own, other):
    """The server's cache has another Message-ID, of the same length, for the messages with this one. Dovecot 2.3 was seen
    to do that after it was killed while it stored messages."""
    dovecot = site.lab.dovecot

    def ids():
        with dovecot.session(account) as session:
            session.select(mailbox, readonly=True)
            return str(session.fetch("1:*", "(BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])")[1])
    assert own in ids()     # and is in the cache from now on
    directory = dovecot.path("mail", account, "Maildir", *([] if mailbox == "INBOX" else ["." + mailbox]))
    with open(os.path.join(directory, "dovecot.index.cache"), "r+b") as file:
        data = file.read()
        file.seek(0)
        file.write(data.replace(own.encode(), other.encode()))
    assert other in ids() and own not in ids()


@pytest.mark.parametrize("match", ["content", "message-id"])
def test_a_server_s_wrong_cache_does_not_show_absence(site, match):
    scuba = site.account()
    site.settings["imap.match"] = match
    mail = message(id="ours.01@test.example")
    in_doubt(site, mail, scuba, "inbox")
    mistake(site, scuba, "INBOX", "ours.01@test.example", "another@test.example")
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


def test_a_server_s_wrong_cache_does_not_show_a_sent_copy(site):
    """Of two messages the first takes the place of the second there, which is not stored yet."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mails = [message(id=id, sender=lisa) for id in ("first1@test.example", "second@test.example")]
    expect.stored(site.deliver(mails[0], scuba, sender=lisa))
    mistake(site, lisa, "Sent", "first1@test.example", "second@test.example")
    expect.stored(site.deliver(mails[1], scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 2


def test_a_candidate_over_the_size_limit_is_passed_over(site):
    """It is not ours, and does not interfere with the search."""
    scuba = site.account()
    id = "large@test.example"
    mail = message(id=id)
    site.settings["delivery.size_limit"] = "10K"
    in_doubt(site, mail, scuba, "inbox")
    fill(site, scuba, "INBOX", message(id=id, body="0123456789abcde\n" * 10_000), 1)
    assert expect.stored(site.deliver(mail, scuba)) == 1
    assert site.count(scuba) == 2


def searching(site, **script):
    """A server whose mailboxes contain one message: a different one with the id searched for."""
    server = fake(site, script={name.replace("_", " "): answer for name, answer in script.items()})
    server.script["EXAMINE"] = lambda client, tag, _: client.send(f"* 1 EXISTS\r\n{tag} OK done")
    server.script.setdefault("UID SEARCH", lambda client, tag, _: client.send(f"* SEARCH 3\r\n{tag} OK done"))
    site.settings["imap.search"] = "always"
    return server


def fetched(uid, data):
    return f"* 1 FETCH (UID {uid} BODY[] {{{len(data)}}}\r\n".encode() + data + b")\r\n"


def test_a_message_that_was_not_asked_for(site):
    """A server may send information about other messages at any time."""
    mail = message()
    other = on_the_wire(message())

    def fetch(client, tag, _arguments):
        client.send(fetched(4, on_the_wire(mail)) + fetched(3, other) + f"{tag} OK done\r\n".encode())
    server = searching(site, UID_FETCH=fetch)
    expect.stored(site.deliver(mail, SCUBA))
    assert len(server.appended) == 1


def test_a_search_changes_nothing(site):
    """The mailbox is not opened for writing, and no message is marked as seen."""
    other = on_the_wire(message())
    server = searching(site, UID_FETCH=lambda client, tag, _: client.send(fetched(3, other) + f"{tag} OK\r\n".encode()))
    expect.stored(site.deliver(message(), SCUBA))
    names = [name for name, _ in server.commands]
    assert "EXAMINE" in names and "SELECT" not in names
    assert [arguments for name, arguments in server.commands if name == "UID FETCH"] == [
        b"3 (UID BODY.PEEK[])", b"3 (UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])"]


def test_a_day_is_not_the_same_everywhere(site):
    """Without a Message-ID the search goes by date, which a server compares in its own time zone."""
    server = searching(site, UID_SEARCH=lambda client, tag, _: client.send(f"* SEARCH\r\n{tag} OK done"))
    before = datetime.datetime.now(datetime.timezone.utc).date()
    expect.stored(site.deliver(message(id=False), SCUBA))
    after = datetime.datetime.now(datetime.timezone.utc).date()
    [keys] = [arguments.decode() for name, arguments in server.commands if name == "UID SEARCH"]
    since, until = (datetime.datetime.strptime(re.search(rf"{key} (\S+)", keys)[1], "%d-%b-%Y").date()
                    for key in ("SINCE", "BEFORE"))
    day = datetime.timedelta(days=1)
    assert before - 3 * day <= since <= after - 2 * day     # one day for the zone, and one to be sure
    assert before + 2 * day <= until <= after + 3 * day     # BEFORE excludes its own day


def test_an_empty_search_may_be_answered_by_its_end_alone(site):
    """hoodiecrow leaves out the empty SEARCH."""
    server = searching(site, UID_SEARCH=lambda client, tag, _: client.send(f"{tag} OK done"))
    expect.stored(site.deliver(message(), SCUBA))
    assert len(server.appended) == 1


# Choosing Sent


def listing(*lines):
    def answer(client, tag, _arguments):
        for line in lines:
            client.send(f"* LIST {line}")
        client.send(f"{tag} OK done")
    return answer


OWN, SHARED = r'(\Sent) "/" Sent', r'(\Sent) "/" Shared/doug/Sent'
LISTS = {"own first": ([OWN, SHARED], "Sent"), "own last": ([SHARED, OWN], "Sent"),
         "one that cannot be selected": ([r'(\Noselect \Sent) "/" S', r'(\NonExistent \Sent) "/" T', OWN], "Sent"),
         "one of another use": ([r'(\Drafts) "/" D', r'(\Sent) "/" Gesendet'], "Gesendet"),
         "none": ([r'() "/" INBOX'], "Sent")}


@pytest.mark.parametrize("more", ["", " SPECIAL-USE LIST-EXTENDED"], ids=["plain", "by special use"])
@pytest.mark.parametrize("lines,chosen", LISTS.values(), ids=LISTS.keys())
def test_which_mailbox_is_sent(site, lines, chosen, more):
    """Other users' Sent mailboxes are not the sender's."""
    server = fake(site, capabilities=CAPABILITIES + more, script={"LIST": listing(*lines)})
    site.settings["route.sent"] = r"\Sent"
    expect.stored(site.deliver(message(sender=LISA), SCUBA, sender=LISA))
    assert [mailbox for mailbox, _ in server.appended] == ["INBOX", chosen]


def test_what_a_server_can_only_do_after_the_login(site):
    """It announces this only then, and only when asked."""
    def capability(client, tag, _arguments):
        able = " SPECIAL-USE LIST-EXTENDED" if server.credentials else ""
        client.send(f"* CAPABILITY {CAPABILITIES}{able}\r\n{tag} OK done")
    server = fake(site, script={"CAPABILITY": capability, "LIST": listing(OWN)})
    site.settings["route.sent"] = r"\Sent"
    expect.stored(site.deliver(message(sender=LISA), SCUBA, sender=LISA))
    assert all(b"(SPECIAL-USE)" in arguments for name, arguments in server.commands if name == "LIST")


# Creating


def missing_at_first(server):
    """Every mailbox is missing until CREATE."""
    def append(client, tag, arguments):
        if "CREATE" in [name for name, _ in server.commands]:
            client.server.do_append(client, tag, arguments)
        else:
            client.send(f"{tag} NO [TRYCREATE] no such mailbox")
    return append


@pytest.mark.parametrize("answer,subscribes", [("OK done", "OK done"), ("OK done", "NO not here"),
                                               ("NO [ALREADYEXISTS] somebody was faster", "OK done")])
def test_a_mailbox_that_is_made(site, answer, subscribes):
    """Or was created by another delivery at the same moment; a failing subscription does not matter."""
    server = fake(site, script={"CREATE": lambda client, tag, _: client.send(f"{tag} {answer}"),
                                "SUBSCRIBE": lambda client, tag, _: client.send(f"{tag} {subscribes}")})
    server.script["APPEND"] = missing_at_first(server)
    site.settings["route.inbox"] = "Lists"
    expect.stored(site.deliver(message(), SCUBA), "Lists")
    names = [name for name, _ in server.commands]
    assert (names.count("APPEND"), names.count("CREATE"), names.count("SUBSCRIBE")) == (2, 1, 1)
    assert [mailbox for mailbox, _ in server.appended] == ["Lists"]


def test_a_mailbox_that_cannot_be_made(site):
    server = fake(site, script={"CREATE": lambda client, tag, _: client.send(f"{tag} NO [NOPERM] not you")})
    server.script["APPEND"] = lambda client, tag, _: client.send(f"{tag} NO [TRYCREATE] no such mailbox")
    site.settings["route.inbox"] = "Lists"
    mail = message()
    for _ in range(2):
        expect.deferred(site.deliver(mail, SCUBA), r"4\.\d\.\d", "CREATE")
        assert site.sql("SELECT state, doubt FROM oncedrop.copy") == [("pending", False)]


def once_without_answer(server, name, how):
    """The first of these commands gets no answer: the connection is lost, or the server is unresponsive."""
    polite = server.script.get(name)

    def answer(client, tag, arguments):
        if [told for told, _ in server.commands].count(name) == 1:
            if how == "lost":
                client.close()
            return
        if polite:
            polite(client, tag, arguments)
        else:
            getattr(server, "do_" + name.lower(), lambda client, tag, _: client.send(f"{tag} OK done"))(
                client, tag, arguments)
    server.script[name] = answer


QUESTIONS = ["CAPABILITY", "NAMESPACE", "LIST", "APPEND", "STATUS", "CREATE", "SUBSCRIBE"]


@pytest.mark.parametrize("how", ["lost", "silent"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_without_an_answer(site, name, how):
    """No answer has neither a code nor a text: it is no refusal, and the next try finds its way."""
    server = fake(site, capabilities=CAPABILITIES + " NAMESPACE SPECIAL-USE CREATE-SPECIAL-USE")
    server.script.update({
        "AUTHENTICATE": lambda client, tag, _: client.send(f"{tag} OK done"),    # it does not announce anything
        "NAMESPACE": lambda client, tag, _: client.send(f'* NAMESPACE (("" "/")) NIL NIL\r\n{tag} OK done'),
        "APPEND": missing_at_first(server)})
    once_without_answer(server, name, how)
    site.settings.update({"route.inbox": "Lists", "route.sent": r"\Sent", "imap.timeout": "1s"})
    mail = message(sender=LISA)
    done = site.deliver(mail, SCUBA, sender=LISA)
    if done.exit != 0:
        expect.deferred(done)
        done = site.deliver(mail, SCUBA, sender=LISA)
    assert done.exit == 0, done
    assert name in [told for told, _ in server.commands]
    assert sorted(mailbox for mailbox, _ in server.appended) == ["Lists", "Sent"]
    assert site.sql("SELECT DISTINCT state FROM oncedrop.copy") == [("stored",)]


# Leaving


def ends(site, mail, act):
    """How the connection of an APPEND ends for the server: "in order" or "by a reset". act(client, tag, arguments) is
    called first, when the literal is requested but not read."""
    ended = []

    def append(client, tag, arguments):
        client.send("+ go on")
        act(client, tag, arguments)
        try:
            while client.socket.recv(65536):
                pass
            ended.append("in order")
        except ConnectionResetError:
            ended.append("by a reset")
    fake(site, script={"APPEND": append})
    delivery = site.start_delivery(mail, SCUBA)
    wait_until(lambda: ended, "the connection's end")
    return ended[0], delivery.finish()


def test_what_is_not_sent_dies_with_the_process(site):
    """Otherwise the kernel would go on sending, and the server would store a message that is already claimed again."""
    def kill(client, _tag, _arguments):
        assert client.socket.recv(1)    # the literal is being sent
        [delivery] = wait_until(lambda: site.running, "its process is known")
        delivery.signal(signal.SIGKILL)
        delivery.process.wait()
    ended, done = ends(site, message(body="0123456789abcde\n" * 200_000), kill)
    assert (ended, done.exit) == ("by a reset", -signal.SIGKILL)


def test_the_session_ends_in_order(site):
    """Once the server has everything there is nothing to discard, and its log shows no error."""
    def take(client, tag, arguments):
        FakeImap.read_literal(client, arguments)
        client.line()
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
        assert client.line().endswith(b"LOGOUT")
    ended, done = ends(site, message(), take)
    expect.stored(done)
    assert ended == "in order"



@pytest.mark.parametrize("search", ["doubt", "always"])
def test_a_logout_is_not_waited_for(site, search):
    """Neither after a delivery nor after a search: the message is settled, and others wait for this process."""
    fake(site, script={"LOGOUT": lambda *_: None})
    site.settings.update({"imap.timeout": "50s", "imap.search": search})
    done = site.deliver(message(), SCUBA)
    expect.stored(done)
    assert done.seconds < 40
