# SPDX-License-Identifier: ISC
"""Where is my mail, and why was it late? Each try has a row; `show` prints them in order, and finds the message by
every queue id.

Seen to fail with: the row left out of the claim; the settling of another claim's row; tries found by delivery.queue_id
alone; the time of the lock counted to another phase; queued_at of a field with another queue id; `why`
in another order, with a try that its copy reports, or with a sentence for each of many like tries."""

import email.utils
import json
import os
import re
import signal
import socket
import time

import expect
import pytest
from lab import lab as lab_module, lmtp, locks
from lab.fake_imap import FakeImap
from lab.messages import message, new_id
from lab.process import free_port, wait_until
from test_concurrent import count_tries, wait_until_it_waits
from test_second_try import age, fake, refuse, swallow

SCUBA, DOUG = "scuba@example.org", "doug@example.org"


def show(site, id):
    """The only message that `show` finds."""
    done = site.run("show", "--json", id)
    assert done.exit == 0, done
    [one] = json.loads(done.out)["messages"]
    return one


def why(site, id):
    return "\n".join(row["text"] for row in show(site, id)["why"])


def take(client, _tag, arguments):
    """Accepts an APPEND, and never answers."""
    client.server.appended.append(FakeImap.read_append(client, arguments))


def received(queue_id, seconds_ago):
    date = email.utils.formatdate(time.time() - seconds_ago, localtime=False)
    return f"Received: by mail.example (Postfix, from userid 1000)\n\tid {queue_id}; {date}\n".encode()


def test_every_try_and_every_queue_id(site):
    """Two tries that failed, one that stored, a duplicate; the first reason is kept, and each id finds all of them."""
    id = new_id()
    mail = message(id=id)
    fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4FIRST"))
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4FIRST"))
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "4FIRST"))
    expect.duplicate(site.deliver(mail, SCUBA, "-q", "4AGAIN"))
    for asked in (id, "4FIRST", "4AGAIN"):
        one = show(site, asked)
        assert [(row["outcome"], row["queue_id"], row["recipient"]) for row in one["attempts"]] == [
            ("overquota", "4FIRST", SCUBA), ("mailbox", "4FIRST", SCUBA), ("stored", "4FIRST", SCUBA),
            ("duplicate", "4AGAIN", SCUBA)], asked
    first = one["attempts"][0]
    assert "full" in first["reason"] and first["host"] == socket.gethostname() and first["pid"] > 0, first
    assert all(row["at"] <= row["ended_at"] for row in one["attempts"])
    assert one["deliveries"][0]["attempts"] == 4
    told = why(site, id).splitlines()
    assert [re.sub(r"^\S+Z for (<.*?>, queue id \S+): .*?(full|Connection refused|stored|duplicate).*", r"\1 \2", line) for line in told] == [
        f"<{SCUBA}>, queue id 4FIRST full", f"<{SCUBA}>, queue id 4FIRST Connection refused", f"<{SCUBA}>, queue id 4FIRST stored",
        f"<{SCUBA}>, queue id 4AGAIN duplicate"], told
    printed = site.run("show", "4AGAIN").out.split("\nattempts\n")[1].split("\n\n")[0].splitlines()[1:]
    assert [line.split()[2] for line in printed] == ["overquota", "mailbox", "stored", "duplicate"], printed


@pytest.mark.postgres
def test_the_query_of_the_manual(site):
    with open(os.path.join(lab_module.REPOSITORY, "man", "oncedrop-record.7"), encoding="utf-8") as file:
        query = re.search(r"more than one attempt.*?^\.Bd [^\n]*\n(.*?)^\.Ed", file.read(), re.S | re.M)[1]
    mail = message()
    fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4TWICE"))
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "4TWICE"))
    expect.stored(site.deliver(message(), SCUBA))
    assert [(row.queue_id, row.outcome) for row in site.sql(query)] == [("4TWICE", "overquota"), ("4TWICE", "stored")]


def test_a_try_that_was_cut_off_stays(site):
    """The next delivery finishes its own row, not that of the other."""
    id = new_id()
    mail = message(id=id)
    server = fake(site, APPEND=take)
    killed = site.start_delivery(mail, SCUBA, "-q", "4KILLED")
    wait_until(lambda: server.appended, "the APPEND")
    killed.signal(signal.SIGKILL)
    killed.finish()
    site.ledger.wait_for_no_session()
    [row] = show(site, "4KILLED")["attempts"]
    assert (row["outcome"], row["ended_at"], row["reason"]) == ("claimed", None, None)
    age(site, "claimed_at")
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "4NEXT"))
    rows = show(site, id)["attempts"]
    assert [(row["queue_id"], row["outcome"], row["ended_at"] is None) for row in rows] == [
        ("4KILLED", "claimed", True), ("4NEXT", "stored", False)]
    assert "4KILLED: cut off" in why(site, id)


def test_a_held_lock_is_in_the_log_only(site):
    """It writes nothing; but the time in Postfix's field shows that there were earlier tries."""
    id = new_id()
    fake(site)
    mail = received("4LATE", 600) + message(id=id)
    with locks.held(site, locks.key_of(site, id)):
        expect.held(site.deliver(mail, SCUBA))
    assert site.value("SELECT count(*) FROM oncedrop.attempt") == 0
    expect.stored(site.deliver(mail, SCUBA))
    [row] = show(site, "4LATE")["attempts"]
    assert 595 <= row["queued"] <= 1200, row
    assert re.search(rf"for <{SCUBA}>, queue id 4LATE: stored .*; Postfix had received it \d+ s before: earlier tries, if any,",
                     why(site, id)), why(site, id)


def test_the_time_in_the_queue_is_that_of_this_queue(site):
    fake(site)
    expect.stored(site.deliver(received("4OTHER", 600) + message(), SCUBA, "-q", "4THIS"))
    [row] = show(site, "4THIS")["attempts"]
    assert row["queued"] is None, row


def test_what_took_the_time(site):
    """The wait for the lock, and a slow APPEND; in the log the delays add up."""
    def slow(client, tag, arguments):
        take(client, tag, arguments)
        time.sleep(0.6)
        client.send(f"{tag} OK [APPENDUID 7 1] done")

    id = new_id()
    fake(site, APPEND=slow)
    site.settings.update({"lock.wait": "50s", "log.to": "stderr"})
    with locks.held(site, locks.key_of(site, id)):
        tries = count_tries(site)
        delivery = site.start_delivery(message(id=id), SCUBA, "-q", "4SLOW")
        wait_until_it_waits(delivery, tries)
        time.sleep(0.4)     # the times measured
    done = delivery.finish()
    [row] = show(site, "4SLOW")["attempts"]
    assert row["lock"] >= 0.3 and row["imap"] >= 0.6, row
    found = re.search(r"delay=([\d.]+), delays=([\d.]+)/([\d.]+)/([\d.]+)/([\d.]+),", done.err)
    delay, *delays = [round(float(number) * 1000) for number in found.groups()]
    assert delay == sum(delays), found[0]
    assert delays[1] >= 300 and delays[2] >= 600, found[0]


def test_recipients_of_one_transaction(site):
    """Each has its own row, with the same process and queue id."""
    fake(site)
    site.settings["route.account_query"] = "SELECT $1 WHERE $1 <> 'nobody@example.org'"
    session = lmtp.start(site)
    assert session.command("XFORWARD IDENT=4BOTH").code == 250
    replies = session.deliver(message(), SCUBA, "nobody@example.org", DOUG)
    assert [reply.code for reply in replies] == [250, 550, 250]
    rows = show(site, "4BOTH")["attempts"]
    assert sorted(row["recipient"] for row in rows) == [DOUG, SCUBA]
    assert {(row["outcome"], row["pid"]) for row in rows} == {("stored", session.process.pid)}


def test_history_goes_with_its_message(site):
    fake(site)
    expect.stored(site.deliver(message(), SCUBA))
    site.sql("UPDATE oncedrop.message SET received_at = %s", (site.ledger.ago(days=40),))
    site.sql("UPDATE oncedrop.delivery SET last_at = %s", (site.ledger.ago(days=40),))
    assert site.value("SELECT count(*) FROM oncedrop.attempt") == 1
    done = site.run("purge", "--older-than", "30d")
    assert done.exit == 0, done
    assert site.value("SELECT count(*) FROM oncedrop.attempt") == 0


def test_spans(site):
    """With record.trace: one trace for the message, a span for each try; without it none."""
    id = new_id()
    mail = message(id=id)
    fake(site, APPEND=swallow)
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4NONE"))
    assert show(site, id)["spans"] == []
    age(site, "claimed_at")
    site.settings["record.trace"] = "yes"
    fake(site, APPEND=refuse("NO [OVERQUOTA] full"))
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4SPAN"))
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "4SPAN"))
    expect.stored(site.deliver(mail, DOUG, "-q", "4SPAN"))
    spans = show(site, id)["spans"]
    assert [span["outcome"] for span in spans] == ["overquota", "stored", "stored"]
    assert len({span["span_id"] for span in spans}) == 3 and len({span["trace_id"] for span in spans}) == 1
    now = time.time_ns()
    for span in spans:
        assert re.fullmatch("[0-9a-f]{32}", span["trace_id"]) and re.fullmatch("[0-9a-f]{16}", span["span_id"]), span
        assert now - 600 * 10**9 < span["start_time_unix_nano"] <= span["end_time_unix_nano"] < now + 60 * 10**9, span
        assert (span["message_id"], span["queue_id"], span["mailbox"]) == (id, "4SPAN", "INBOX"), span
        assert all(span[phase] >= 0 for phase in ("read_ms", "lock_ms", "database_ms", "imap_ms")), span
    assert [(span["recipient"], span["uidvalidity"], span["uid"]) for span in spans] == [
        (SCUBA, None, None), (SCUBA, 7, 1), (DOUG, 7, 2)]
    other = new_id()
    expect.stored(site.deliver(message(id=other), SCUBA))
    assert show(site, other)["spans"][0]["trace_id"] != spans[0]["trace_id"]


# `why` says what happened in order, each thing once


def shift(site, **time):
    """All that is recorded was so long ago."""
    site.ledger.older("attempt", "started_at", "ended_at", **time)
    site.ledger.older("delivery", "first_at", "last_at", **time)
    site.ledger.older("copy", "first_at", "claimed_at", "stored_at", **time)


def test_like_tries_are_one_sentence(site):
    """However often Postfix retried: a server's timing does not make a reason another one."""
    id = new_id()
    mail = message(id=id)
    for number in range(3):
        fake(site, APPEND=refuse(f"NO [OVERQUOTA] full (0.00{number} secs)"))
        expect.deferred(site.deliver(mail, SCUBA, "-q", "4FULL"))
        shift(site, hours=1)
    full, now = why(site, id).splitlines()
    assert re.fullmatch(rf"\S+Z to \S+Z, 3 tries for <{SCUBA}>, queue id 4FULL: .*full \(0\.002 secs\)", full), full
    assert now == f"the copy in {SCUBA} INBOX is not stored yet"
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, SCUBA, "-q", "4FULL"))
    fake(site)
    expect.stored(site.deliver(mail, SCUBA, "-q", "4FULL"))
    full, refused, stored = why(site, id).splitlines()
    assert ", 3 tries for" in full and "refused" in refused and "stored uid=" in stored
    assert sorted(re.search(r"\S+Z", line)[0] for line in (full, refused, stored)) == [
        re.search(r"\S+Z", line)[0] for line in (full, refused, stored)]


def test_what_the_copy_says_is_not_said_twice(site):
    """Of a try that could not find out what became of its APPEND, and of one that was killed."""
    fake(site, APPEND=swallow)
    id = new_id()
    expect.deferred(site.deliver(message(id=id), SCUBA, "-q", "4DOUBT"))
    tried, now = why(site, id).splitlines()
    assert "may be stored" in tried
    assert re.fullmatch(rf"the copy in {SCUBA} INBOX was claimed \S+Z by \S+, which could not find out whether it was stored;"
                        r" it is left alone until \S+Z, then the next try searches the mailbox for it, and appends it only"
                        r" if it is not there", now), now
    site.sql("UPDATE oncedrop.attempt SET ended_at = NULL, outcome = 'claimed', reason = NULL")
    [now] = why(site, id).splitlines()
    assert "which is storing it, or has died" in now, now


def test_a_slow_try_says_what_took_the_time(site):
    fake(site)
    id = new_id()
    expect.stored(site.deliver(message(id=id), SCUBA, "-q", "4QUICK"))
    assert why(site, id) == ""
    site.sql("UPDATE oncedrop.attempt SET read_ms = 10, lock_ms = 2000, database_ms = 20, imap_ms = 31040")
    assert re.fullmatch(rf"\S+Z for <{SCUBA}>, queue id 4QUICK: stored uid=\d+ mailbox=INBOX; it took 33\.1 s"
                        r" \(the lock 2\.0 s, IMAP 31\.0 s\)", why(site, id)), why(site, id)
