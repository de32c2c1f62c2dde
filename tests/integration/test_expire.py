# SPDX-License-Identifier: ISC
"""Messages that Postfix gave up, or that were removed from its queue, do not stay unfinished for ever; and such a
message is still delivered once if it comes in after all.

Seen to fail with: the age of the message taken for that of its last try; a copy expired while its APPEND may be under
way, or its lock is held; the doubt of an APPEND that was cut off forgotten; a delivery that stays finished when it is
tried again; a purge that does not expire first."""

import json

import expect
import pytest
from lab import locks
from lab.messages import message, new_id
from lab.process import free_port
from test_operator import answers, lock_of, why
from test_second_try import copies


def age(site, **time):
    """Makes everything this old."""
    site.ledger.older("message", "received_at", **time)
    site.ledger.older("delivery", "first_at", "last_at", "finished_at", **time)
    site.ledger.older("copy", "first_at", "claimed_at", **time)


def defer(site, mail, recipient, *options):
    """A try without an IMAP server."""
    right = dict(site.settings)
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(mail, recipient, *options))
    site.settings = right


def outcomes(site):
    return [row.outcome for row in site.sql("SELECT outcome FROM oncedrop.delivery ORDER BY id")]


def test_what_left_the_queue_expires(site):
    scuba, id = site.account(), new_id()
    defer(site, message(id=id), scuba, "-q", "4abcDEF")
    age(site, days=11)
    [row] = answers(site, "list", "--state", "unfinished")
    assert row["message_id"] == id
    said = answers(site, "expire", "--dry-run")
    assert (said["messages"], said["dry_run"]) == (1, True) and outcomes(site) == ["mailbox"]
    done = site.run("expire", "--json", options=["-o", "log.to=stderr"])
    said = json.loads(done.out)
    assert done.exit == 0 and (said["messages"], said["dry_run"]) == (1, False), done
    [row] = said["expired"]
    assert row.keys() == {"last_at", "queue_id", "recipients", "message_id", "reason"}
    assert (row["queue_id"], row["recipients"], row["message_id"]) == ("4abcDEF", scuba, id) and "127.0.0.1" in row["reason"]
    assert f"4abcDEF: message-id=<{id}>, to=<{scuba}>, status=expired (not retried since {row['last_at']}: " in done.err
    assert [(copy.state, copy.doubt) for copy in copies(site)] == [("expired", False)]
    assert answers(site, "list", "--state", "unfinished") == []
    assert [row["message_id"] for row in answers(site, "list", "--state", "expired")] == [id]
    said = answers(site, "stats")
    assert (said["expired"], said["unfinished"], said["oldest_unfinished"], said["pending"]) == (1, 0, 0, 0)
    tried, ended, left = why(site, id).splitlines()
    assert "127.0.0.1" in tried and f"for <{scuba}>: expired; the last attempt was {row['last_at']}" in ended
    assert left.startswith(f"the copy in {scuba} INBOX is not known to be stored")
    assert site.run("expire").out == "0 messages expired\n"


def test_it_is_the_last_try_that_counts(site):
    """The age of the message and other recipients' results do not matter."""
    scuba, doug, mail = site.account("scuba"), site.account("doug"), message()
    defer(site, mail, scuba)
    age(site, days=30)
    defer(site, mail, scuba)
    assert answers(site, "expire")["messages"] == 0 and outcomes(site) == ["mailbox"]
    age(site, days=9)
    assert answers(site, "expire")["messages"] == 0
    age(site, days=2)
    expect.stored(site.deliver(mail, doug))
    assert answers(site, "expire")["messages"] == 1
    assert outcomes(site) == ["expired", "stored"]
    assert [copy.state for copy in copies(site)] == ["expired", "stored"]


def test_it_is_delivered_when_it_comes_after_all(site):
    """If the first try then fails, it is unfinished again."""
    scuba, mail = site.account(), message()
    defer(site, mail, scuba)
    age(site, days=11)
    assert answers(site, "expire")["messages"] == 1
    defer(site, mail, scuba)
    assert site.value("SELECT count(*) FROM oncedrop.delivery WHERE finished_at IS NULL") == 1
    assert [(copy.state, copy.generation) for copy in copies(site)] == [("pending", 2)]
    assert answers(site, "expire")["messages"] == 0
    age(site, days=11)
    assert answers(site, "expire")["messages"] == 1
    expect.stored(site.deliver(mail, scuba))
    assert outcomes(site) == ["stored"] and [copy.state for copy in copies(site)] == ["stored"]
    assert site.value("SELECT finished_at FROM oncedrop.delivery") > site.ledger.ago(days=1)
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


@pytest.mark.parametrize("state", ["appending", "pending"])
def test_its_doubt_is_kept(site, state):
    """It is in the mailbox, but the answer did not arrive."""
    scuba, mail = site.account(), message()
    uid = expect.stored(site.deliver(mail, scuba))
    site.sql("UPDATE oncedrop.copy SET state = %s, doubt = %s, uid = NULL, stored_at = NULL", (state, state == "pending"))
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL, outcome = 'claimed'")
    age(site, days=11)
    assert answers(site, "expire")["messages"] == 1
    assert [(copy.state, copy.doubt) for copy in copies(site)] == [("expired", True)]
    assert expect.stored(site.deliver(mail, scuba)) == uid
    assert site.count(scuba) == 1


def test_purge_expires_first(site):
    """Old messages are removed at once; younger ones stay, as expired."""
    scuba = site.account()
    for name, days in (("oldest", 30), ("older", 15), ("young", 5)):
        defer(site, message(id=f"{name}@x", body=name), scuba)
        age(site, days=days)    # and the lines before it
    before = {"messages": 1, "expired": 2}
    site.settings["record.expire_after"] = "18d"
    assert answers(site, "purge", "--older-than", "40d", "--dry-run") == {**before, "dry_run": True}
    assert "expired" not in outcomes(site)
    assert answers(site, "purge", "--older-than", "40d") == {**before, "dry_run": False}
    rest = site.sql("SELECT m.message_id, c.state FROM oncedrop.message m JOIN oncedrop.copy c ON c.message = m.id"
                    " ORDER BY m.id")
    assert [tuple(row) for row in rest] == [("older@x", "expired"), ("young@x", "pending")]
    assert site.run("purge", "--older-than", "40d").out == "0 messages removed from the record\n"


def test_by_its_name(site):
    """After `postsuper -d`: it is known to have left the queue, however young it is."""
    scuba, ids = site.account(), [new_id() for _ in range(4)]
    for number, id in enumerate(ids):
        defer(site, message(id=id), scuba, "-q", f"QUEUE{number}")
    assert answers(site, "expire", "--dry-run", "QUEUE0")["messages"] == 1
    said = answers(site, "expire", "QUEUE0", f"<{ids[1]}>", ids[2])
    assert [row["message_id"] for row in said["expired"]] == ids[:3]
    assert outcomes(site) == ["expired"] * 3 + ["mailbox"]
    assert answers(site, "expire", "QUEUE0")["messages"] == 0
    done = site.run("expire", "QUEUE9", "QUEUE3")
    assert done.exit == 1 and "QUEUE9: no such message" in done.err and "1 message expired" in done.out, done
    assert outcomes(site) == ["expired"] * 4
    assert answers(site, "expire", "QUEUE9", exit=1) == {"messages": 0, "dry_run": False, "expired": []}


def test_what_is_being_delivered_is_left_alone(site):
    """Because of its lock, or of an APPEND that the server may still store."""
    scuba, id = site.account(), new_id()
    defer(site, message(id=id), scuba, "-q", "QUEUE")
    with locks.held(site, lock_of(site, id)):
        done = site.run("expire", "QUEUE")
        assert done.exit == 75 and "QUEUE: skipped" in done.err, done
        age(site, days=11)
        assert answers(site, "expire")["messages"] == 0
    site.ledger.claim(seconds=300)
    done = site.run("expire", "QUEUE")
    assert done.exit == 75 and outcomes(site) == ["mailbox"], done
    age(site, seconds=21)       # the hold-off's default is 320 s
    assert site.run("expire", "QUEUE").exit == 0 and outcomes(site) == ["expired"]


def test_its_age_is_more_than_a_queue_lifetime(site):
    done = site.run("expire", options=["-o", "record.expire_after=6d"])
    assert done.exit == 78 and "7d" in done.err, done


def test_a_sent_copy_expires_with_its_message(site):
    """If the message comes in after all, another recipient's delivery makes the Sent copy."""
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    mail = message(sender=lisa)
    defer(site, mail, scuba)
    age(site, days=11)
    assert answers(site, "expire")["messages"] == 1
    assert [copy.state for copy in copies(site)] == ["expired", "expired"]
    expect.stored(site.deliver(mail, doug, sender=lisa))
    assert [site.count(lisa, "Sent"), site.count(doug), site.count(scuba)] == [1, 1, 0]
    assert {(copy.role, copy.state) for copy in copies(site)} == {("inbox", "expired"), ("sent", "stored"), ("inbox", "stored")}
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    assert [site.count(lisa, "Sent"), site.count(scuba)] == [1, 1]


@pytest.mark.postgres
def test_an_older_schema_names_the_remedy(site):
    defer(site, message(), site.account())
    age(site, days=11)
    site.sql("ALTER TABLE oncedrop.copy DROP CONSTRAINT copy_state_check")
    site.sql("ALTER TABLE oncedrop.copy ADD CONSTRAINT copy_state_check"
             " CHECK (state IN ('pending', 'appending', 'stored', 'failed'))")
    done = site.run("expire")
    assert done.exit == 69 and "ledger upgrade" in " ".join(done.err.split()), done
    assert outcomes(site) == ["mailbox"]
