# SPDX-License-Identifier: ISC
"""resume: deliveries that were recorded but never finished are finished from the database, each message by one process.

Seen to fail with: `complete` not asked for; finished recipients taken too; the digest of the recorded bytes not compared; the
sender asked for again. Also with a From_ line looked for in the recorded bytes, and held messages not tried again. Also with a
message taken for complete although its reader went right before the APPEND; an earlier answer forgotten when another finished
meanwhile."""

import datetime
import json
import os
import signal
import subprocess

import expect
import pytest
from lab import lab as lab_module, lmtp, locks
from lab.messages import message, on_the_wire
from lab.process import free_port, wait_until
from lab.proxy import without_early_literals


@pytest.fixture
def raw(site):
    """A site that records the bytes, and whose IMAP server is down."""
    site.settings.update({"record.level": "raw", "delivery.hold_off": "201s", "delivery.deadline": "200s"})
    site.right = dict(site.settings)
    site.settings["imap.port"] = free_port()
    return site


def mend(site):
    site.settings = dict(site.right)


def nearly_over(site):
    """Six seconds remain of the hold-off of copies that are appending."""
    site.ledger.age(seconds=195, state="appending")


def unfinished(site):
    return site.value("SELECT count(*) FROM oncedrop.delivery WHERE finished_at IS NULL")


def resumed(done, exit=0, **counts):
    """The counts of the closing line, by recipient; those not shown are 0."""
    assert done.exit == exit, done
    for name in ("stored", "duplicate", "deferred", "failed"):
        assert f" {counts.get(name, 0)} {name}" in done.out.splitlines()[-1], done


def test_what_was_recorded_is_finished(raw):
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    mail = message(sender=lisa, body="x" * 3_000_000 + "\n")
    expect.deferred(raw.deliver(mail, scuba, "-q", "QUEUE1", sender=lisa))
    assert raw.sql("SELECT DISTINCT complete FROM oncedrop.delivery") == [(True,)]
    mend(raw)
    resumed(raw.run("resume"), stored=1)
    assert [stored.raw for stored in raw.messages(scuba)] == [on_the_wire(mail)]
    assert raw.count(lisa, "Sent") == 1
    assert unfinished(raw) == 0
    [delivery] = raw.sql("SELECT outcome, queue_id FROM oncedrop.delivery")
    assert (delivery.outcome, delivery.queue_id) == ("stored", "QUEUE1")
    resumed(raw.run("resume"))
    expect.duplicate(raw.deliver(mail, scuba, sender=lisa))
    assert (raw.count(scuba), raw.count(lisa, "Sent")) == (1, 1)


def test_its_date_is_that_of_the_first_try(raw):
    scuba = raw.account()
    expect.deferred(raw.deliver(message(), scuba))
    raw.sql("UPDATE oncedrop.message SET received_at = %s",
            (datetime.datetime(2020, 2, 2, 2, 2, 2, tzinfo=datetime.timezone.utc),))
    mend(raw)
    resumed(raw.run("resume"), stored=1)
    assert raw.messages(scuba)[0].internal_date.startswith("02-Feb-2020 02:02:02")


def test_a_login_that_only_postfix_told_still_makes_the_sent_copy(raw):
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    raw.settings["route.sent_copy"] = raw.right["route.sent_copy"] = "authenticated"
    expect.deferred(raw.deliver(message(sender=lisa), scuba, "-u", lisa, sender=lisa))
    mend(raw)
    resumed(raw.run("resume"), stored=1)
    assert raw.count(lisa, "Sent") == 1


def test_no_sent_copy_where_none_was_due(raw):
    """The settings may allow more now, but the earlier decision counts."""
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    raw.settings["route.sent_copy"] = "off"
    expect.deferred(raw.deliver(message(sender=lisa), scuba, sender=lisa))
    mend(raw)
    resumed(raw.run("resume"), stored=1)
    assert raw.count(lisa, "Sent") == 0


def test_only_the_recipients_that_are_open(raw):
    mend(raw)
    scuba, doug, full = raw.account("scuba"), raw.account("doug"), raw.account("full", quota=1024)
    mail = message(body="x" * 4000 + "\n")
    replies = lmtp.start(raw).deliver(mail, scuba, full, doug)
    assert [reply.code for reply in replies] == [250, 452, 250]
    resumed(raw.run("resume"), 75, deferred=1)
    raw.lab.dovecot.add_account(full)
    wait_until(lambda: raw.run("resume").exit == 0, "Dovecot has noticed that there is no quota any more")
    assert [raw.count(account) for account in (scuba, full, doug)] == [1, 1, 1]
    assert raw.sql("SELECT recipient FROM oncedrop.delivery WHERE attempts > 1") == [(full,)]


def test_nobody_reads_there_who_else_got_it(raw):
    """The recorded bytes are those of the first delivery, to another recipient."""
    scuba, doug = raw.account("scuba"), raw.account("doug")
    mail = message(to="undisclosed")

    def as_piped(recipient):
        return f"Return-Path: <lisa@elsewhere.example>\nX-Original-To: {recipient}\nDelivered-To: {recipient}\n".encode() + mail
    for recipient in (scuba, doug):
        expect.deferred(raw.deliver(as_piped(recipient), recipient))
    mend(raw)
    resumed(raw.run("resume"), stored=2)
    for recipient in (scuba, doug):
        [stored] = raw.messages(recipient)
        assert stored.raw == b"Return-Path: <lisa@elsewhere.example>\r\n" + on_the_wire(mail)


def test_what_is_refused_for_good_is_said_so(raw):
    raw.settings["delivery.overquota"] = raw.right["delivery.overquota"] = "bounce"
    full = raw.account("full", quota=1024)
    expect.deferred(raw.deliver(message(body="x" * 4000 + "\n"), full))
    mend(raw)
    done = raw.run("resume")
    resumed(done, 65, failed=1)
    assert full in done.out and "quota" in done.out.lower()
    assert unfinished(raw) == 0


def test_trouble_is_deferred_and_says_how_to_go_on(raw):
    scuba = raw.account()
    expect.deferred(raw.deliver(message(), scuba))
    done = raw.run("resume")
    resumed(done, 75, deferred=1)
    assert "run it again" in done.err
    mend(raw)
    resumed(raw.run("resume"), stored=1)


@pytest.mark.parametrize("level", ["envelope", "headers", "text"])
def test_without_bytes_it_is_left_to_postfix(raw, level):
    scuba = raw.account()
    raw.settings["record.level"] = level
    expect.deferred(raw.deliver(message(), scuba))
    mend(raw)
    done = raw.run("resume")
    resumed(done)
    assert done.err.startswith("1 more unfinished") and raw.count(scuba) == 0


@pytest.mark.postgres
def test_what_may_be_cut_short_is_never_resumed(raw):
    """The delivery dies while it waits for the result of the claim: the reader of its answer was not checked
    after that."""
    scuba = raw.account()
    mend(raw)
    claims, deliveries = [], []

    def stop_at_the_claims_result(connection, side, data):
        if side == "client" and locks.CLAIM in data:
            claims.append(connection)
        elif connection in claims:
            wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
        return data
    raw.database_proxy(stop_at_the_claims_result)
    deliveries.append(raw.start_delivery(message(), scuba))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    wait_until(lambda: raw.sql("SELECT 1 FROM oncedrop.copy"), "the claim is committed")
    raw.ledger.age(hours=1)
    mend(raw)
    done = raw.run("resume")
    resumed(done)
    assert done.err.startswith("1 more unfinished") and raw.count(scuba) == 0


def test_a_reader_that_goes_right_before_the_append(raw):
    """It was there after the claim; the rest of the message may be missing."""
    scuba = raw.account()
    mend(raw)
    raw.settings.update({"imap.tls": "none", "imap.port": raw.lab.dovecot.port})
    read, write = os.pipe()

    def go_away(_connection, side, data):
        if side == "server" and data.startswith(b"+ OK"):
            os.close(read)
        return without_early_literals(data) if side == "server" else data
    raw.imap_proxy(go_away)
    path = raw.write("oncedrop.conf", raw.configuration())
    process = subprocess.Popen([lab_module.program(), "-c", path, "deliver", "-d", scuba], stdin=subprocess.PIPE,
                               stdout=write, stderr=write, env=raw.environment())
    os.close(write)
    process.communicate(message())
    assert process.returncode == 75 and raw.count(scuba) == 0
    assert [row.state for row in raw.sql("SELECT state FROM oncedrop.copy")] == ["pending"]
    mend(raw)
    done = raw.run("resume")
    resumed(done)
    assert done.err.startswith("1 more unfinished") and raw.count(scuba) == 0


def test_what_others_finish_meanwhile_is_said(raw):
    """One of two copies is held; before it is retried, its delivery is over."""
    scuba, doug = raw.account("scuba"), raw.account("doug")
    replies = lmtp.start(raw).deliver(message(), scuba, doug)
    assert [reply.code for reply in replies] == [451, 451]
    raw.ledger.claim(account=doug)
    mend(raw)
    raw.settings.update({"delivery.hold_off": "300s", "delivery.deadline": "200s"})
    run = raw.start("resume")
    wait_until(lambda: raw.count(scuba) == 1, "the free one is in its mailbox")
    raw.sql("UPDATE oncedrop.delivery SET finished_at = %s WHERE finished_at IS NULL AND recipient = %s",
            (raw.ledger.now(), doug))
    resumed(run.finish(), stored=1, duplicate=1)


def test_bytes_that_are_not_those_recorded_are_not_delivered(raw):
    scuba = raw.account()
    expect.deferred(raw.deliver(message(), scuba))
    [data] = raw.sql("SELECT data FROM oncedrop.raw")
    raw.sql("UPDATE oncedrop.raw SET data = %s", (bytes(data[0]) + b"more",))
    mend(raw)
    done = raw.run("resume")
    resumed(done, 65, failed=1)
    assert "digest" in done.out and raw.count(scuba) == 0


def test_a_second_from_line_stays(raw):
    """The first one was the mbox's and is not among the recorded bytes."""
    scuba = raw.account()
    mail = b"From a@example.org Fri Aug  1 10:00:00 2025\nFrom b: a field of sorts\n" + message()
    expect.deferred(raw.deliver(mail, scuba))
    mend(raw)
    resumed(raw.run("resume"), stored=1)
    assert [stored.raw for stored in raw.messages(scuba)] == [on_the_wire(mail)]


def test_an_attempt_that_may_be_under_way_is_waited_for(raw):
    """The first delivery was killed after its message was stored; the copy is found, not made again."""
    scuba = raw.account()
    mend(raw)
    raw.settings.update({"imap.tls": "none", "imap.port": raw.lab.dovecot.port})
    expect.deferred(raw.deliver(message(id="other"), scuba + "x"))     # an account that does not exist
    deliveries = []

    def kill(_connection, side, data):
        if side == "server" and b"APPENDUID" in data:
            wait_until(lambda: deliveries, "its process is known")[0].signal(signal.SIGKILL)
            return None
        return data
    raw.imap_proxy(kill)
    deliveries.append(raw.start_delivery(message(), scuba))
    assert deliveries[0].finish().exit == -signal.SIGKILL
    nearly_over(raw)
    raw.sql("UPDATE oncedrop.delivery SET complete = true")
    mend(raw)
    done = raw.run("resume", "--json")
    assert done.exit == 75, done
    said = [json.loads(line) for line in done.out.splitlines()]
    statuses = {recipient["recipient"]: recipient["status"] for object in said for recipient in object["recipients"]}
    assert statuses == {scuba: "stored", scuba + "x": "deferred"}
    assert raw.count(scuba) == 1


def test_several_at_once_each_message_by_one(raw):
    accounts = [raw.account(f"a{number}") for number in range(4)]
    mails = [message(sender=accounts[0]) for _ in range(20)]
    deliveries = [raw.start_delivery(mail, accounts[number % 4], sender=accounts[0]) for number, mail in enumerate(mails)]
    assert all(delivery.finish().exit == 75 for delivery in deliveries)
    mend(raw)
    runs = [raw.start("resume", "-j", "2") for _ in range(4)]
    for run in runs:
        done = run.finish()
        assert done.exit == 0, done.out + done.err
    assert [raw.count(account) for account in accounts] == [5] * 4
    assert raw.count(accounts[0], "Sent") == 20
    assert unfinished(raw) == 0
    assert raw.value("SELECT max(generation) FROM oncedrop.copy") == 2     # the one that failed, and one by resume


def test_a_held_message_holds_up_no_other_and_takes_no_lock(raw):
    scuba = raw.account()
    for id in ("held@test.example", "free@test.example"):
        expect.deferred(raw.deliver(message(id=id), scuba))
    mend(raw)
    with locks.held(raw, raw.value("SELECT lock_key FROM oncedrop.message WHERE message_id = 'held@test.example'")):
        run = raw.start("resume")
        wait_until(lambda: raw.count(scuba) == 1, "the free one is in its mailbox")
    resumed(run.finish(), stored=2)
    assert raw.count(scuba) == 2


def test_killed_and_run_again(raw):
    scuba = raw.account()
    mails = [message() for _ in range(12)]
    deliveries = [raw.start_delivery(mail, scuba) for mail in mails]
    assert all(delivery.finish().exit == 75 for delivery in deliveries)
    mend(raw)
    for stored in (3, 7):
        run = raw.start("resume", "-j", "2")
        wait_until(lambda: raw.count(scuba) >= stored, f"{stored} are there")
        run.signal(signal.SIGKILL)
        run.finish()
        nearly_over(raw)
    done = raw.run("resume", "-j", "2")
    assert done.exit == 0, done
    assert sorted(stored.raw for stored in raw.messages(scuba)) == sorted(map(on_the_wire, mails))


@pytest.mark.parametrize("arguments", [["x"], ["-j"], ["-j", "0"], ["-j", "x"], ["-x"]])
def test_wrong_usage(site, arguments):
    assert site.run("resume", *arguments).exit == 64
