# SPDX-License-Identifier: ISC
"""The state of the ledger after a second step: another try, another claim, an undo, a copy left for later.

Each was seen to fail, by the breakages in tests/mutants that name it."""

import contextlib
import re
import signal
import socket
import threading

import expect
import pytest
from lab import lmtp, locks
from lab.fake_imap import FakeImap
from lab.ledger import SQLITE, engine
from lab.messages import message, on_the_wire
from lab.process import free_port, wait_until
from lab.proxy import CLIENT, SERVER

SCUBA, DOUG = "scuba@example.org", "doug@example.org"


def fake(site, **script):
    """script: command name, _ for blanks, → function(client, tag, arguments)."""
    server = site.use(FakeImap(script={name.replace("_", " "): answer for name, answer in script.items()}))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.timeout": "5s"})
    return server


def plain(site):
    """Without TLS, for proxies that read the traffic."""
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "delivery.hold_off": "300s"})


def swallow(client, _tag, arguments):
    """Accepts an APPEND and closes the connection without an answer."""
    client.server.appended.append(FakeImap.read_append(client, arguments))
    client.close()


def refuse(answer):
    """Refuses an APPEND like this, after its literal."""
    def say(client, tag, arguments):
        FakeImap.read_append(client, arguments)
        client.send(f"{tag} {answer}")
    return say


def age(site, column, **time):
    site.ledger.older("copy", column, **time or {"hours": 1})
    locks.expire(site)


def copies(site):
    return site.sql("SELECT * FROM oncedrop.copy ORDER BY id")


# A second attempt


def test_each_attempt_has_a_hold_off_of_its_own(site):
    """Two answers are lost; the second APPEND gets a full hold-off like the first."""
    server = fake(site, APPEND=swallow)
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA))
    age(site, "claimed_at")
    expect.deferred(site.deliver(mail, SCUBA))
    assert [(copy.state, copy.doubt, copy.generation) for copy in copies(site)] == [("appending", True, 2)]
    expect.held(site.deliver(mail, SCUBA))
    assert len(server.appended) == 2


def test_every_column_after_a_second_try(site):
    """Each column is of the last try, of the first one, or of both, as its comment says."""
    mail = message()
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, SCUBA, "-q", "FIRST", "-a", "alias@example.org"))
    site.sql("UPDATE oncedrop.delivery SET host = 'elsewhere', complete = true")
    site.sql("UPDATE oncedrop.copy SET host = 'elsewhere', pid = 1, doubt = true, repeated = 3")
    age(site, "first_at")
    recorded = site.sql("SELECT * FROM oncedrop.message")
    [delivery], [copy] = site.sql("SELECT * FROM oncedrop.delivery"), copies(site)
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "SECOND"))
    [delivery_after], [copy_after] = site.sql("SELECT * FROM oncedrop.delivery"), copies(site)
    assert site.sql("SELECT * FROM oncedrop.message") == recorded
    own = socket.gethostname()
    changed = {name: value for name, value in delivery_after._asdict().items() if value != getattr(delivery, name)}
    assert min(changed.pop("last_at"), changed.pop("finished_at")) > delivery.last_at
    assert changed == {"queue_id": "SECOND", "host": own, "outcome": "stored", "reason": "stored uid=1 mailbox=INBOX",
                       "attempts": 2}
    changed = {name: value for name, value in copy_after._asdict().items() if value != getattr(copy, name)}
    assert changed.pop("pid") != 1 and changed.pop("claim")
    assert copy.claimed_at < changed.pop("claimed_at") < changed.pop("stored_at")
    assert changed.pop("boot_us") and changed.pop("host_us", True)     # the clocks drift
    assert changed == {"state": "stored", "doubt": False, "generation": 2, "host": own, "uidvalidity": 7, "uid": 1,
                       "error": None}


def test_what_a_later_try_is_not_told_stays_known(site):
    site.settings["imap.port"] = free_port()
    mail = message()
    for words in (["-q", "FIRST", "-a", "alias@example.org"], ["-q", "LAST"], []):
        expect.deferred(site.deliver(mail, SCUBA, *words))
    [delivery] = site.sql("SELECT * FROM oncedrop.delivery")
    assert (delivery.queue_id, delivery.original_recipient, delivery.attempts) == ("LAST", "alias@example.org", 3)


def test_a_recipient_that_leads_elsewhere_now(site):
    """The row of the delivery is updated; the copy that was begun stays unchanged."""
    mail = message()
    fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    expect.deferred(site.deliver(mail, SCUBA))
    fake(site)
    site.settings["route.inbox"] = "Other"
    expect.stored(site.deliver(mail, SCUBA), "Other")
    assert site.sql("SELECT mailbox FROM oncedrop.delivery") == [("Other",)]
    assert [(copy.mailbox, copy.state) for copy in copies(site)] == [("INBOX", "pending"), ("Other", "stored")]


def test_a_duplicate_keeps_the_time_at_which_it_was_finished(site):
    fake(site)
    mail = message()
    expect.stored(site.deliver(mail, SCUBA))
    [before] = site.sql("SELECT * FROM oncedrop.delivery")
    expect.duplicate(site.deliver(mail, SCUBA))
    [after] = site.sql("SELECT * FROM oncedrop.delivery")
    assert (after.finished_at, after.first_at, after.outcome, after.attempts) == (before.finished_at, before.first_at,
                                                                               "duplicate", 2)
    assert after.last_at > before.last_at
    [copy] = copies(site)
    assert (copy.state, copy.generation, copy.repeated) == ("stored", 1, 0)


def test_reject_after_counts_from_the_first_attempt(site):
    fake(site, APPEND=refuse("NO [LIMIT] too many"))
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    age(site, "claimed_at", days=1)
    age(site, "first_at", minutes=40)
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    age(site, "first_at", minutes=40)
    done = site.deliver(mail, SCUBA)
    assert done.exit not in (0, 75) and expect.one_line(done).startswith("5.6.0"), done
    [copy] = copies(site)
    assert (copy.state, copy.generation) == ("failed", 3)


def test_sent_retry_counts_from_the_first_attempt(site):
    """Once abandoned, the copy delays no delivery."""
    lisa = "lisa@example.org"
    mail = message(sender=lisa)

    def fail(client, tag, _arguments):
        client.send(f"{tag} NO cannot search")
    server = fake(site, FETCH=fail, EXAMINE=lambda client, tag, _: client.send(f"* 1 EXISTS\r\n{tag} OK done"))
    expect.deferred(site.deliver(mail, SCUBA, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}")
    age(site, "claimed_at", days=1)
    expect.deferred(site.deliver(mail, SCUBA, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}")
    age(site, "first_at", hours=2)
    expect.duplicate(site.deliver(mail, SCUBA, sender=lisa))
    assert [(copy.role, copy.state) for copy in copies(site)] == [("inbox", "stored"), ("sent", "failed")]
    del server.script["FETCH"]
    expect.duplicate(site.deliver(mail, SCUBA, sender=lisa))
    assert len(server.appended) == 1


def test_a_failed_look_of_verify_gives_nothing_up(site):
    """Long after it was stored, a Sent mailbox that cannot be searched is trouble for this time only."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    plain(site)
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    age(site, "first_at", days=1)
    finished = site.value("SELECT finished_at FROM oncedrop.delivery")
    path = site.write("verified.eml", mail.decode())
    right = dict(site.settings)
    site.imap_proxy(lambda _connection, side, data: None if side == CLIENT and b'EXAMINE "Sent"' in data else data)
    assert site.run("replay", "--verify", "-f", lisa, "-d", scuba, path).exit == 75
    assert {copy.role: copy.state for copy in copies(site)} == {"inbox": "stored", "sent": "pending"}
    assert site.value("SELECT finished_at FROM oncedrop.delivery") == finished
    site.settings = right
    done = site.run("replay", "--verify", "-f", lisa, "-d", scuba, path)
    assert done.exit == 0, done
    assert {copy.role: copy.state for copy in copies(site)} == {"inbox": "stored", "sent": "stored"}
    assert (site.count(scuba), site.count(lisa, "Sent")) == (1, 1)


# Doubt


@pytest.fixture
def two_in_doubt(site):
    """A message with two copies in doubt, whose hold-off is over."""
    server = fake(site, APPEND=swallow)
    mail = message()
    for recipient in (SCUBA, DOUG):
        expect.deferred(site.deliver(mail, recipient))
    assert [copy.state for copy in copies(site)] == ["appending"] * 2
    age(site, "claimed_at")
    del server.script["APPEND"]
    server.appended.clear()
    return server, mail


def test_a_copy_left_for_later_stays_in_doubt(site, two_in_doubt):
    """The first mailbox takes all the time for the message; which one is first is random."""
    server, mail = two_in_doubt
    site.settings.update({"imap.timeout": "11s", "delivery.deadline": "11s", "delivery.hold_off": "300s"})
    waiting = threading.Event()

    def slowly(client, tag, arguments):
        waiting.wait(4.6)       # not a condition: nearly half of the deadline
        client.server.do_append(client, tag, arguments)
    server.script["APPEND"] = slowly
    replies = lmtp.start(site).deliver(mail, SCUBA, DOUG)
    assert sorted(reply.code for reply in replies) == [250, 451], replies
    assert sorted((copy.state, copy.doubt) for copy in copies(site)) == [("pending", True), ("stored", False)]
    [left] = [copy for copy in copies(site) if copy.state == "pending"]
    assert "no time was left" in left.error
    assert len(server.appended) == 1


@pytest.mark.postgres
@pytest.mark.usefixtures("method")
def test_a_claim_that_is_undone_stays_in_doubt(site, two_in_doubt):
    """Between the claim's COMMIT and its hold another process takes the lock."""
    server, mail = two_in_doubt
    accepted = server.accepted
    taker = locks.Taker(site, known=True)
    site.database_proxy(taker)
    replies = lmtp.start(site).deliver(mail, SCUBA, DOUG)
    assert taker.has_taken and [reply.code for reply in replies] == [451] * 2, replies
    assert all("is being delivered elsewhere" in reply.text for reply in replies), replies
    assert [(copy.state, copy.doubt, copy.generation) for copy in copies(site)] == [("pending", True, 2)] * 2
    assert server.appended == [] and server.accepted > accepted


def test_an_undone_claim_is_free_at_once(site):
    """Nothing was in doubt: the next try need not search."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    plain(site)
    mail = message(sender=lisa)
    right = dict(site.settings)
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, scuba, sender=lisa))
    assert [(copy.role, copy.state, copy.doubt) for copy in copies(site)] == [("inbox", "pending", False),
                                                                              ("sent", "pending", False)]
    site.settings = right
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert [copy.generation for copy in copies(site)] == [2, 2]


def test_a_search_that_fails_keeps_the_doubt(site):
    server = fake(site, APPEND=swallow)
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA))
    age(site, "claimed_at")
    server.script["EXAMINE"] = lambda client, tag, _: client.send(f"{tag} NO [UNAVAILABLE] not now")
    for attempt in (2, 3):
        expect.deferred(site.deliver(mail, SCUBA))
        assert [(copy.state, copy.doubt, copy.generation) for copy in copies(site)] == [("pending", True, attempt)]
    del server.script["EXAMINE"], server.script["APPEND"]
    expect.stored(site.deliver(mail, SCUBA))
    assert [(copy.state, copy.doubt) for copy in copies(site)] == [("stored", False)]


def test_doubt_ends_with_a_search_that_finds_nothing(site):
    """And begins again with a lost answer."""
    server = fake(site, APPEND=swallow)
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA))
    age(site, "claimed_at")
    for answer, doubt in (("NO [OVERQUOTA] full", False), ("NO who knows", True), ("NO [OVERQUOTA] full", False)):
        server.script["APPEND"] = refuse(answer)
        expect.deferred(site.deliver(mail, SCUBA))
        assert [(copy.state, copy.doubt) for copy in copies(site)] == [("pending", doubt)], answer
    searches = sum(name == "UID SEARCH" or name == "EXAMINE" for name, _ in server.commands)
    expect.deferred(site.deliver(mail, SCUBA))
    assert sum(name == "UID SEARCH" or name == "EXAMINE" for name, _ in server.commands) == searches
    assert [(copy.stored_at, copy.uid) for copy in copies(site)] == [(None, None)]


def test_a_second_claim_whose_delivery_is_killed(site):
    """It searches for what its predecessor may have left, and is killed meanwhile: its row contains everything that the
    next one must know."""
    server = fake(site)
    mail = message()
    site.settings.update({"imap.timeout": "10s", "delivery.hold_off": "300s"})
    expect.stored(site.deliver(mail, SCUBA))
    site.sql("UPDATE oncedrop.copy SET doubt = false, error = 'died'")
    site.ledger.claim(days=1)
    deliveries = []
    server.script["EXAMINE"] = lambda *_: wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
    deliveries.append(site.start_delivery(mail, SCUBA))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    wait_until(lambda: copies(site)[0].generation == 2, "the claim is committed")
    [copy] = copies(site)
    assert (copy.state, copy.doubt, copy.generation, copy.error) == ("appending", True, 2, None)
    expect.held(site.deliver(mail, SCUBA))


# A second claim


def at_the_answer(site, mailbox, statement):
    """Runs an SQL statement when an APPEND to that mailbox was answered, before passing the answer on."""
    appending, run = [], []

    def watch(connection, side, data):
        if side == CLIENT and re.search(rb" APPEND \"?" + mailbox.encode(), data):
            appending.append(connection)
        if side == SERVER and b"APPENDUID" in data and connection in appending and not run:
            run.append(True)
            site.sql(statement)
        return data
    plain(site)
    site.imap_proxy(watch)
    return run


TAKEN_OVER = {"its claim": "claim = claim + 1", "attempt and claim": "generation = generation + 1, claim = claim + 1",
              "its attempt": "generation = generation + 1"}


@pytest.mark.parametrize("change", TAKEN_OVER.values(), ids=TAKEN_OVER.keys())
def test_a_copy_that_was_taken_over_is_not_settled(site, change):
    """Another delivery has claimed it meanwhile, and answers for it."""
    scuba = site.account()
    run = at_the_answer(site, "INBOX", f"UPDATE oncedrop.copy SET {change}, host = 'elsewhere', pid = 1")
    done = site.deliver(message(), scuba)
    expect.deferred(done, r"4\.3\.0", "another delivery has taken over, or the ledger was replaced")
    assert run and [(copy.state, copy.host, copy.uid) for copy in copies(site)] == [("appending", "elsewhere", None)]


def test_a_copy_that_the_ledger_has_not_any_more(site):
    """As if an older backup had been moved in its place."""
    scuba = site.account()
    run = at_the_answer(site, "INBOX", "DELETE FROM oncedrop.message")
    done = site.deliver(message(), scuba)
    expect.deferred(done, r"4\.3\.0", "another delivery has taken over, or the ledger was replaced")
    assert run and not copies(site)


def test_one_of_two_copies_that_was_taken_over(site):
    """The other one is settled and answered as usual."""
    scuba, doug = site.account("scuba"), site.account("doug")
    run = at_the_answer(site, "INBOX", f"UPDATE oncedrop.copy SET claim = claim + 1 WHERE account = '{doug}'")
    replies = lmtp.start(site).deliver(message(), scuba, doug)
    assert run and [reply.code for reply in replies] == [250, 451], replies
    assert "taken over" in replies[1].text
    assert [(copy.account, copy.state) for copy in copies(site)] == [(scuba, "stored"), (doug, "appending")]


@pytest.mark.parametrize("change", TAKEN_OVER.values(), ids=TAKEN_OVER.keys())
def test_a_sent_copy_that_was_taken_over(site, change):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    run = at_the_answer(site, "Sent", f"UPDATE oncedrop.copy SET {change} WHERE role = 'sent'")
    done = site.deliver(message(sender=lisa), scuba, sender=lisa)
    expect.deferred(done, r"4\.\d\.\d", f"Sent copy of {lisa}", "taken over")
    assert run and [(copy.role, copy.state) for copy in copies(site)] == [("inbox", "stored"), ("sent", "appending")]


@pytest.mark.parametrize("change", ["claim = claim + 1", "state = 'pending'"])
def test_a_sent_copy_that_is_not_ours_any_more_is_not_appended(site, change):
    """It is held again, after the inbox copy, so changes in between are noticed."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    run = at_the_answer(site, "INBOX", f"UPDATE oncedrop.copy SET {change} WHERE role = 'sent'")
    done = site.deliver(message(sender=lisa), scuba, sender=lisa)
    expect.deferred(done, r"4\.\d\.\d", f"Sent copy of {lisa}", "claim was lost")
    assert run and (site.count(scuba), site.count(lisa, "Sent")) == (1, 0)


@pytest.mark.skipif(engine() == SQLITE, reason="nothing comes between the claim and its hold")
@pytest.mark.parametrize("taken,recipients", [((SCUBA,), (SCUBA,)), ((SCUBA,), (SCUBA, DOUG)), ((DOUG,), (SCUBA, DOUG))])
def test_the_inbox_copies_are_held_by_their_claim(site, taken, recipients):
    """Between the claim's COMMIT and its hold another delivery claims one of them again: nothing is appended, and the
    other ones are free again."""
    server = fake(site)
    site.ledger.take_over("INSERT", f"NEW.account = '{taken[0]}'")
    replies = lmtp.start(site).deliver(message(), *recipients)
    assert [reply.code for reply in replies] == [451] * len(recipients), replies
    assert server.appended == []
    assert {copy.account: copy.state for copy in copies(site)} == \
        {recipient: "appending" if recipient in taken else "pending" for recipient in recipients}


@pytest.mark.skipif(engine() != SQLITE, reason="the hold of the others looks again")
@pytest.mark.parametrize("taken", [SCUBA, DOUG])
def test_a_copy_that_was_not_claimed_is_not_appended(site, taken):
    """With a ledger in a file the claim says whether a copy is ours. One of two is not: nothing is appended, and the other one is
    free again."""
    server = fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    mail = message()
    assert [reply.code for reply in lmtp.start(site).deliver(mail, SCUBA, DOUG)] == [452, 452]
    del server.script["APPEND"]
    with changed_at_the_claim(site, f"generation = generation + 1 WHERE account = '{taken}'"):
        replies = lmtp.start(site).deliver(mail, SCUBA, DOUG)
    assert [reply.code for reply in replies] == [451, 451], replies
    assert server.appended == []
    assert [reply.code for reply in lmtp.start(site).deliver(mail, SCUBA, DOUG)] == [250, 250]
    assert len(server.appended) == 2


@contextlib.contextmanager
def changed_at_the_claim(site, change):
    """Copies are changed behind a delivery's look, before it claims them; with a ledger in a file by its own transaction, for
    nothing else gets in between."""
    if engine() == SQLITE:
        site.sql(f"CREATE TRIGGER oncedrop.change AFTER INSERT ON attempt BEGIN UPDATE copy SET {change}; END")
        yield
        site.sql("DROP TRIGGER oncedrop.change")
        return
    right = dict(site.settings)

    def watch(_connection, side, data):
        if side == CLIENT and locks.is_claim(data):
            site.sql(f"UPDATE oncedrop.copy SET {change}")
        return data
    site.database_proxy(watch)
    yield
    site.settings = right


@pytest.mark.parametrize("change", ["generation = generation + 1", "state = 'stored'"])
@pytest.mark.usefixtures("method")
def test_a_copy_that_changes_between_look_and_claim(site, change):
    """As could happen if the lock did not exclude: the claim is for the row as it was read."""
    server = fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA))
    del server.script["APPEND"]
    with changed_at_the_claim(site, change):
        expect.held(site.deliver(mail, SCUBA))
    [copy] = copies(site)
    assert not server.appended and (copy.state, copy.generation) in [("pending", 2), ("stored", 1)]
    assert site.deliver(mail, SCUBA).exit == 0
    assert len(server.appended) == (copy.state == "pending")


def test_who_claims_sent_last_answers_for_it(site):
    """The first claim ended without a certain result; the second one's answer was lost."""
    lisa = "lisa@example.org"

    def append(client, tag, arguments):
        if not arguments.startswith(b'"Sent"'):
            client.server.do_append(client, tag, arguments)
        elif refusals:
            client.send(f"{tag} {refusals.pop()}")
        else:
            swallow(client, tag, arguments)
    refusals = ["NO [UNAVAILABLE] not now"]
    fake(site, APPEND=append)
    mail = message(sender=lisa)
    expect.deferred(site.deliver(mail, SCUBA, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}")
    expect.deferred(site.deliver(mail, DOUG, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}")
    expect.duplicate(site.deliver(mail, SCUBA, sender=lisa))
    expect.deferred(site.deliver(mail, DOUG, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}")


def test_repeats_are_counted(site):
    """Each claim of a stored copy counts, and no other; finished_at does not change."""
    fake(site)
    mail = message()
    path = site.write("repeated.eml", mail.decode())
    expect.stored(site.deliver(mail, SCUBA))
    [finished] = site.sql("SELECT first_at, finished_at FROM oncedrop.delivery")
    for repeated, way in enumerate(("--verify", "--force", "--verify"), 1):
        done = site.run("replay", way, "-d", SCUBA, path)
        assert done.exit == 0, done
        [copy] = copies(site)
        assert (copy.state, copy.generation, copy.repeated) == ("stored", 1 + repeated, repeated), way
        assert site.sql("SELECT first_at, finished_at FROM oncedrop.delivery") == [finished]


@pytest.mark.postgres
def test_only_what_is_stored_is_told(site):
    site.settings["record.notify"] = "news"
    listener = site.lab.postgres.connect(site.database)
    listener.cursor().execute("LISTEN news")
    mail = message()
    server = fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    expect.deferred(site.deliver(mail, SCUBA))
    del server.script["APPEND"]
    expect.stored(site.deliver(mail, SCUBA))
    expect.duplicate(site.deliver(mail, SCUBA))
    site.sql("NOTIFY news, 'the end'")      # in the order of the commits

    def told():
        listener.poll()
        return [note.payload for note in listener.notifies]
    wait_until(lambda: "the end" in told(), "the end is told")
    assert told() == [str(site.value("SELECT id FROM oncedrop.message")), "the end"]
    listener.close()


def test_the_hold_off_is_as_long_as_it_is_set(site):
    server = fake(site, APPEND=swallow)
    mail = message()
    site.settings.update({"delivery.hold_off": "300s"})
    expect.deferred(site.deliver(mail, SCUBA))
    del server.script["APPEND"]
    age(site, "claimed_at", seconds=240)
    expect.held(site.deliver(mail, SCUBA))
    age(site, "claimed_at", seconds=61)
    expect.stored(site.deliver(mail, SCUBA))
    assert [data for _, data in server.appended[1:]] == [on_the_wire(mail)]
