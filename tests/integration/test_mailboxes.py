# SPDX-License-Identifier: ISC
"""Mailboxes: looking far into them, which of two is Sent, making one, and going away from a server that is silent.

Each was seen to fail, by the breakages in tests/mutants that name it."""

import expect
import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message, on_the_wire

SCUBA, LISA = "scuba@example.org", "lisa@example.org"


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    return server


def fill(site, account, mailbox, mail, count):
    """So many copies of a message at least, by doubling."""
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
    """The message is there; its delivery died without a word, long ago."""
    expect.stored(site.deliver(mail, recipient, **more))
    site.sql("UPDATE oncedrop.copy SET state = 'appending', uid = NULL, stored_at = NULL,"
             " attempt_at = attempt_at - interval '1 day' WHERE role = %s", (role,))


# Looking


def test_the_last_of_very_many_with_its_id(site):
    """Newer ones with this Message-ID are other messages: it is behind all of them."""
    scuba = site.account()
    id = "many@test.example"
    mail = message(id=id)
    in_doubt(site, mail, scuba, "inbox")
    made = fill(site, scuba, "INBOX", message(id=id, body="another\n"), 300)
    assert expect.stored(site.deliver(mail, scuba)) == 1
    assert site.value("SELECT uid FROM oncedrop.copy") == 1
    assert site.count(scuba) == made + 1


def test_a_sent_copy_in_doubt_is_looked_for_everywhere(site):
    """Not only among the newest, where one is looked for that others may have filed."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    in_doubt(site, mail, scuba, "sent", sender=lisa)
    made = fill(site, lisa, "Sent", message(sender=lisa), 512)
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    assert site.sql("SELECT state, uid, doubt FROM oncedrop.copy WHERE role = 'sent'") == [("stored", 1, False)]
    assert site.count(lisa, "Sent") == made + 1


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
        session.store("502:*", "+FLAGS", r"\Deleted")   # 499 behind it stay
        session.expunge()
    assert site.count(lisa, "Sent") == 501
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 501
    expect.stored(site.deliver(older, scuba, sender=lisa))
    assert site.count(lisa, "Sent") == 502
    assert [uid for uid, in site.sql("SELECT uid FROM oncedrop.copy WHERE role = 'sent' ORDER BY id")] == [2, 515]


# Which one is Sent


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
    """Other people's Sent is not the sender's."""
    server = fake(site, capabilities=CAPABILITIES + more, script={"LIST": listing(*lines)})
    site.settings["route.sent"] = r"\Sent"
    expect.stored(site.deliver(message(sender=LISA), SCUBA, sender=LISA))
    assert [mailbox for mailbox, _ in server.appended] == ["INBOX", chosen]


# Making one


def missing_at_first(server):
    """Every mailbox is missing until somebody says CREATE."""
    def append(client, tag, arguments):
        if "CREATE" in [name for name, _ in server.commands]:
            client.server.do_append(client, tag, arguments)
        else:
            client.send(f"{tag} NO [TRYCREATE] no such mailbox")
    return append


@pytest.mark.parametrize("answer,subscribes", [("OK done", "OK done"), ("OK done", "NO not here"),
                                               ("NO [ALREADYEXISTS] somebody was faster", "OK done")])
def test_a_mailbox_that_is_made(site, answer, subscribes):
    """Or was made by another delivery at the same moment; a subscription that fails is no matter."""
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


# Going away


@pytest.mark.parametrize("search", ["doubt", "always"])
def test_a_logout_is_not_waited_for(site, search):
    """Neither behind a delivery nor behind a search: the message is settled, and others wait for this process."""
    fake(site, script={"LOGOUT": lambda *_: None})
    site.settings.update({"imap.timeout": "20s", "imap.search": search})
    done = site.deliver(message(), SCUBA)
    expect.stored(done)
    assert done.seconds < 15
