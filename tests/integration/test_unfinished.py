# SPDX-License-Identifier: ISC
"""What is open in the record, and what is known to be complete, after tries that ended in the middle: `resume` depends
on both.

Each was seen to fail, by the breakages in tests/mutants that name it."""

import os
import signal
import subprocess

import expect
import pytest
from lab import lab as lab_module, lmtp, locks
from lab.ledger import SQLITE, engine
from lab.messages import message, on_the_wire
from lab.process import free_port, wait_until
from lab.proxy import CLIENT, SERVER, without_early_literals
from test_second_try import age, at_the_answer, copies


@pytest.fixture
def raw(site):
    """A site that records the bytes, and whose IMAP traffic can be read."""
    site.settings.update({"record.level": "raw", "imap.tls": "none", "imap.port": site.lab.dovecot.port,
                          "delivery.hold_off": "300s"})
    return site


def open_deliveries(site):
    return [recipient for recipient, in site.sql("SELECT recipient FROM oncedrop.delivery WHERE finished_at IS NULL")]


def whole_and_deferred(site, mail, recipient):
    """Its first try found no IMAP server, and knew that the message was complete."""
    right = dict(site.settings)
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, recipient))
    site.settings = right
    assert site.value("SELECT complete FROM oncedrop.delivery")


def resume(site, account, mail):
    done = site.run("resume")
    assert done.exit == 0 and " 1 stored" in done.out.splitlines()[-1], done
    assert [stored.raw for stored in site.messages(account)] == [on_the_wire(mail)]


# Complete


@pytest.mark.postgres
@pytest.mark.usefixtures("method")
def test_a_second_try_that_is_killed_leaves_the_mark(raw):
    """The reader of its answer was not checked; but the first try had."""
    scuba, mail = raw.account(), message()
    whole_and_deferred(raw, mail, scuba)
    right = dict(raw.settings)
    claims, deliveries = [], []

    def stop_at_the_claims_result(connection, side, data):
        if side == CLIENT and locks.is_claim(data):
            claims.append(connection)
        elif connection in claims:
            wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
        return data
    raw.database_proxy(stop_at_the_claims_result)
    deliveries.append(raw.start_delivery(mail, scuba))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    wait_until(lambda: raw.value("SELECT attempts FROM oncedrop.delivery") == 2, "the claim is committed")
    raw.ledger.wait_for_no_session()
    raw.settings = right
    age(raw, "claimed_at")
    resume(raw, scuba, mail)


def deliver_to(site, mail, recipient, reader, writer):
    """`deliver`, whose answer `reader` is to read; returns its exit status."""
    path = site.write("oncedrop.conf", site.configuration())
    process = subprocess.Popen([lab_module.program(), "-c", path, "deliver", "-d", recipient], stdin=subprocess.PIPE,
                               stdout=writer, stderr=writer, env=site.environment())
    os.close(writer)
    process.communicate(mail)
    return process.returncode


def at_the_go_ahead(site, act):
    def watch(_connection, side, data):
        if side == SERVER and data.startswith(b"+ OK"):
            act()
        return without_early_literals(data) if side == SERVER else data
    site.imap_proxy(watch)


def at_the_first_claim(site, act):
    site.database_proxy(lambda _connection, side, data: (side == CLIENT and locks.CLAIM in data and act()) or data)


def at_the_claim(site, act):
    site.database_proxy(lambda _connection, side, data: (side == CLIENT and locks.is_claim(data) and act()) or data)


@pytest.mark.parametrize("when", [pytest.param(at_the_claim, marks=pytest.mark.postgres), at_the_go_ahead])
def test_a_second_try_without_a_reader_leaves_the_mark(raw, when):
    """It may have been incomplete; but the recorded bytes are those of the first try."""
    scuba, mail = raw.account(), message()
    whole_and_deferred(raw, mail, scuba)
    right = dict(raw.settings)
    reader, writer = os.pipe()
    when(raw, lambda: os.close(reader))
    assert deliver_to(raw, mail, scuba, reader, writer) == 75
    assert [(copy.state, copy.generation) for copy in copies(raw)] == [("pending", 2)]
    raw.settings = right
    resume(raw, scuba, mail)


@pytest.mark.parametrize("when", [pytest.param(at_the_first_claim, marks=pytest.mark.postgres), at_the_go_ahead])
def test_a_reader_that_goes(raw, when):
    """While the message is claimed, or right before the APPEND: it may be incomplete, and is never resumed."""
    scuba = raw.account()
    right = dict(raw.settings)
    reader, writer = os.pipe()
    when(raw, lambda: os.close(reader))
    assert deliver_to(raw, message(), scuba, reader, writer) == 75
    assert [copy.state for copy in copies(raw)] == ["pending"]
    raw.settings = right
    done = raw.run("resume")
    assert done.exit == 0 and done.err.startswith("1 more unfinished") and raw.count(scuba) == 0, done


@pytest.mark.usefixtures("method")
def test_what_came_by_lmtp_is_whole_from_its_claim_on(raw):
    """It has an end mark: a session that is killed during a delivery leaves a message that can be finished."""
    scuba, mail = raw.account(), message()
    right = dict(raw.settings)

    def kill(_connection, side, data):
        if side == CLIENT and b" APPEND " in data:
            session.process.kill()
            return None
        return data
    raw.imap_proxy(kill)
    session = lmtp.start(raw)
    session.envelope([scuba], sender="lisa@elsewhere.example")
    session.send(lmtp.stuffed(mail))
    assert session.rest() == b""
    wait_until(lambda: raw.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'") == 1, "its claim")
    raw.ledger.wait_for_no_session()
    raw.settings = right
    age(raw, "claimed_at")
    resume(raw, scuba, mail)


# Open


def sent_again_open(site, mail, scuba, lisa):
    """The inbox copy is stored; the Sent copy must still be made, so the delivery is open."""
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        session.delete("Sent")
    site.sql("UPDATE oncedrop.copy SET state = 'pending', stored_at = NULL, uid = NULL WHERE role = 'sent'")
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL")


@pytest.mark.parametrize("inbox", ["stored", "duplicate"])
def test_a_sent_copy_that_is_open_keeps_its_delivery_open(raw, inbox):
    """The delivery is killed while at the Sent mailbox: that copy is not forgotten."""
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    mail = message(sender=lisa)
    if inbox == "duplicate":
        sent_again_open(raw, mail, scuba, lisa)
    right, deliveries = dict(raw.settings), []

    def kill(_connection, side, data):
        if side == CLIENT and b' APPEND "Sent"' in data:
            wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
            return None
        return data
    raw.imap_proxy(kill)
    deliveries.append(raw.start_delivery(mail, scuba, sender=lisa))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    raw.ledger.wait_for_no_session()
    assert open_deliveries(raw) == [scuba] and raw.count(scuba) == 1
    raw.settings = right
    age(raw, "claimed_at")
    raw.sql("UPDATE oncedrop.delivery SET complete = true")
    assert raw.run("resume").exit == 0
    assert open_deliveries(raw) == []
    assert (raw.count(scuba), raw.count(lisa, "Sent")) == (1, 1)


def taken_over_at_the_claim(site):
    """The Sent copy is: with a ledger in a file by the claim's own transaction, for nothing else gets in between."""
    if engine() == SQLITE:
        site.sql("CREATE TRIGGER oncedrop.take_over AFTER INSERT ON attempt"
                 " BEGIN UPDATE copy SET generation = generation + 1 WHERE role = 'sent'; END")
    else:
        site.ledger.take_over("UPDATE", "NEW.role = 'sent'")


@pytest.mark.parametrize("inbox", ["stored", "duplicate"])
def test_a_sent_copy_that_was_not_held_keeps_its_delivery_open(raw, inbox):
    """Another delivery has claimed it since, and may die in turn."""
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    mail = message(sender=lisa)
    taken_over = "claim = claim + 1"
    if inbox == "stored":
        at_the_answer(raw, "INBOX", f"UPDATE oncedrop.copy SET {taken_over} WHERE role = 'sent'")
    else:
        sent_again_open(raw, mail, scuba, lisa)
        taken_over_at_the_claim(raw)
    why = "claim was lost" if inbox == "stored" else "is being delivered elsewhere"
    expect.deferred(raw.deliver(mail, scuba, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}", why)
    assert open_deliveries(raw) == [scuba]
    assert (raw.count(scuba), raw.count(lisa, "Sent")) == (1, 0)


def test_the_sent_copy_where_it_was_last_recorded(raw):
    """The settings were changed between two tries: resume uses those of the second."""
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    mail = message(sender=lisa)
    right = dict(raw.settings)
    raw.settings["imap.port"] = free_port()
    for name in ("Sent", "Gone"):
        raw.settings["route.sent"] = name
        expect.deferred(raw.deliver(mail, scuba, sender=lisa))
    raw.settings = right
    assert raw.run("resume").exit == 0
    assert (raw.count(scuba), raw.count(lisa, "Gone"), raw.count(lisa, "Sent")) == (1, 1, 0)
