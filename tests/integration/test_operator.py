# SPDX-License-Identifier: ISC
"""show, list, locks and purge: their output is right, and they are quick on a large ledger.

ONCEDROP_LEDGER_ROWS says how large (a million with `make replay-load`; `make check-all` takes fewer).

Seen to fail with: `why` without the duplicates; --since taken for seconds; the delay of what is pending taken from its last
attempt; --sender with the case as it came; purge by received_at alone; purge without the lock; options only before the
arguments; the index for queue ids dropped (tables read from end to end); a delay
from the first attempt though Postfix had received it before; reasons printed in every section of `show`."""

import collections
import contextlib
import datetime
import email.header
import email.utils
import json
import os
import re
import signal
import socket
import statistics
import threading
import time

import expect
import psycopg2
import pytest
from lab import lab as lab_module, locks
from lab.ledger import MARIADB, POSTGRES, engine
from lab.messages import message, new_id
from lab.process import free_port, wait_until
from lab.site import new_site

ROWS = int(os.environ.get("ONCEDROP_LEDGER_ROWS", "20000"))
QUICK = 0.05    # not noticeable for a person; the tests allow ten times as much, for a busy machine,
SLACK = 10      # or ten times what a command takes there that asks for next to nothing
AUGUST = datetime.datetime(2025, 8, 1, 10, tzinfo=datetime.timezone.utc)


def answers(site, *arguments, exit=0):
    """The JSON printed by a command, in a zone where a day is one in UTC."""
    done = site.run(arguments[0], "--json", *arguments[1:], env={"TZ": "UTC0"})
    assert done.exit == exit, done
    return json.loads(done.out)


def as_owner(site):
    """The settings of the same site for the owner of the schema."""
    return [word for name, value in site.ledger.settings(lab_module.OWNER).items() for word in ("-o", f"{name}={value}")]


# show

def test_show_of_a_duplicate(site):
    scuba = site.account()
    id = new_id()
    mail = message(id=id, headers="References: <a@x> <b@x>\nCc: G: One <one@x>;\n")
    expect.stored(site.deliver(mail, scuba, "-q", "4abcDEF", "-a", "alias@example.org"))
    expect.duplicate(site.deliver(mail, scuba, "-q", "4abcDEF", "-a", "alias@example.org"))
    said = answers(site, "show", id)
    [one] = said["messages"]
    assert (one["message_id"], one["subject"], one["references"]) == (id, "Hello", ["a@x", "b@x"])
    assert one["lock_key"] == said["lock_key"]
    [delivery] = one["deliveries"]
    assert [delivery[name] for name in ("recipient", "original_recipient", "outcome", "attempts", "queue_id")] == \
        [scuba, "alias@example.org", "duplicate", 2, "4abcDEF"]
    [copy] = one["copies"]
    assert [copy[name] for name in ("account", "state", "doubt", "uid", "role")] == [scuba, "stored", False, 1, "inbox"]


def test_options_may_come_last(site):
    scuba = site.account()
    id = new_id()
    done = site.run("replay", "-", "-d", scuba, "--json", stdin=message(id=id))
    assert done.exit == 0 and json.loads(done.out.splitlines()[0])["message_id"] == id, done
    assert id in site.run("show", id, "--json").out
    assert json.loads(site.run("check", scuba, "--json").out)


def test_show_by_every_name(site):
    scuba = site.account()
    id = new_id()
    expect.stored(site.deliver(message(id=id), scuba, "-q", "4abcDEF"))
    digest = site.value("SELECT digest FROM oncedrop.message").hex()
    for words in ([id], [f"<{id}>"], ["4abcDEF"], [digest], ["--digest", digest], ["--digest", digest.upper()]):
        assert [one["message_id"] for one in answers(site, "show", *words)["messages"]] == [id], words
    assert site.run("show", "--digest", id).exit == 64
    assert site.run("show", "--digest", digest[:-1]).exit == 64
    assert answers(site, "show", "--digest", "0" * 64, exit=1)["messages"] == []


def test_show_of_an_id_that_is_no_text(site):
    """Ids are bytes. An id that is not UTF-8 is recorded differently, but its key is right."""
    scuba = site.account()
    expect.stored(site.deliver(message(id=b"caf\xe9@test.example"), scuba))
    done = site.run("show", b"caf\xe9@test.example")
    assert done.exit == 0 and scuba in done.out, done


def why(site, id):
    return "\n".join(row["text"] for one in answers(site, "show", id)["messages"] for row in one["why"])


def test_show_says_everything_once(site):
    """The reason of a failure is in `why`, and the only key is the message's: a queue id has none."""
    id = new_id()
    site.settings["imap.port"] = free_port()
    expect.deferred(site.deliver(message(id=id), site.account(), "-q", "4ONCE"))
    for asked in (id, "4ONCE"):
        done = site.run("show", asked)
        assert done.exit == 0 and done.out.startswith("id: ") and done.out.count("cannot connect") == 1, done
        assert re.findall("^lock_key: (.*)", done.out, re.M) == [str(lock_of(site, id))], done
    [one] = answers(site, "show", id)["messages"]
    assert all("cannot connect" in row["reason"] for row in one["deliveries"] + one["attempts"])
    assert "cannot connect" in one["copies"][0]["error"]


def test_why_it_was_a_duplicate(site):
    scuba = site.account()
    id = new_id()
    uid = expect.stored(site.deliver(message(id=id), scuba))
    assert why(site, id) == ""
    expect.duplicate(site.deliver(message(id=id), scuba))
    stored, duplicate = why(site, id).splitlines()
    assert re.fullmatch(rf"\S+Z for <{scuba}>: stored uid={uid} mailbox=INBOX", stored)
    assert re.fullmatch(rf"\S+Z for <{scuba}>: duplicate uid={uid} mailbox=INBOX: this content was in {scuba} INBOX already,"
                        r" stored \S+Z by \S+", duplicate)


def test_why_it_was_delivered_although_its_id_was_known(site):
    scuba = site.account()
    id = new_id()
    for body in ("One.\n", "Two.\n", "Three.\n"):
        expect.stored(site.deliver(message(id=id, body=body), scuba))
    messages = answers(site, "show", id)["messages"]
    assert len(messages) == 3
    assert all(one["why"][0]["text"].startswith("2 other messages have this Message-ID and other content, the first received 20")
               for one in messages)


def test_why_it_is_not_there(site):
    """Half done, in doubt, abandoned, repeated: the states that a copy can be left in."""
    scuba = site.account()
    id = new_id()
    expect.stored(site.deliver(message(id=id), scuba))

    def said_when(change, *moments):
        site.sql(f"UPDATE oncedrop.copy SET {change}", moments)
        return why(site, id)
    said = said_when("state = 'appending', claimed_at = %s, pid = 4711", AUGUST)
    assert said == (f"the copy in {scuba} INBOX was claimed 2025-08-01T10:00:00Z by {socket.gethostname()}[4711], which could"
                    " not find out whether it was stored; the next try searches the mailbox for it, and appends it only if it"
                    " is not there")
    said = said_when("claimed_at = %s", AUGUST.replace(year=2125))
    assert "; it is left alone until 2125-08-01T10:05:20Z, then the next try searches" in said  # hold_off is 320 s
    said = said_when("state = 'pending', doubt = true, error = 'imap: Disk quota exceeded'")
    assert said.splitlines() == [
        f"the copy in {scuba} INBOX may have been stored by an earlier try: the next one searches the mailbox first",
        f"the copy in {scuba} INBOX is not stored yet: imap: Disk quota exceeded"]
    said = said_when("state = 'failed', doubt = false, claimed_at = %s", AUGUST)
    assert said == f"the copy in {scuba} INBOX failed 2025-08-01T10:00:00Z: imap: Disk quota exceeded"
    said = said_when("state = 'stored', repeated = 2")
    assert "claimed again on purpose" in said and said.endswith("2 times")


def test_what_is_not_known(site):
    scuba = site.account()
    id = new_id()
    done = site.run("show", id)
    assert done.exit == 1 and "lock_key: " in done.out, done
    assert done.err == f"oncedrop: {id}: no such message\n", done
    expect.stored(site.deliver(message(id=id), scuba))
    expect.stored(site.deliver(message(), scuba))
    site.sql("UPDATE oncedrop.message SET received_at = %s WHERE message_id = %s", (AUGUST, id))
    done = site.run("show", "something-else-entirely@nowhere.example")
    assert done.err == "oncedrop: something-else-entirely@nowhere.example: no such message; the record goes back to 2025-08-01 10:00:00+00:00\n", done
    elsewhere, said = site.ledger.out_of_reach()
    site.settings.update(elsewhere)
    done = site.run("show", id)
    assert done.exit == 69 and "lock_key: " in done.out and said in done.err, done


# list

def test_list_and_its_filters(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    ids = [new_id() for _ in range(4)]
    for id, to in zip(ids, (scuba, scuba, doug, doug)):
        expect.stored(site.deliver(message(id=id), to))
    for id, change, *moment in zip(ids, ("first_at = %s", "state = 'pending', error = 'quota'",
                                         "state = 'failed', first_at = %s", "state = 'appending'"),
                                   (site.ledger.ago(days=3), None, site.ledger.ago(hours=2), None)):
        site.sql(f"UPDATE oncedrop.copy SET {change} WHERE message ="
                 " (SELECT id FROM oncedrop.message WHERE message_id = %s)", (*filter(None, moment), id))
    yesterday = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=1)).strftime("%Y-%m-%d")
    cases = [([], [3, 2, 1, 0]), (["--state", "stored"], [0]), (["--state", "failed"], [2]),
             (["--state", "unfinished"], [3, 1]),
             (["--since", "1h"], [3, 1]), (["--since", "7d"], [3, 2, 1, 0]), (["--since", yesterday], [3, 2, 1]),
             (["--since", yesterday + "T00:00Z"], [3, 2, 1]), (["--recipient", scuba], [1, 0]),
             (["--recipient", doug.upper()], [3, 2]), (["--recipient", "nobody@example.org"], []),
             (["--until", "1h"], [2, 0]), (["--until", yesterday], [0]),
             (["--until", "1m"], [2, 0]), (["--until", "30d"], []), (["--since", "7d", "--until", "1d"], [0]),
             (["--limit", "2"], [3, 2]),
             (["--recipient", scuba, "--state", "pending", "--since", "1h", "--limit", "1"], [1])]
    for words, expected in cases:
        rows = answers(site, "list", *words)
        assert [ids.index(row["message_id"]) for row in rows] == expected, words
        assert all(row.keys() == {"at", "state", "queue_id", "account", "error", "subject", "delay", "from", "sender",
                                  "message_id", "mailbox", "uid", "role", "recipients", "generation"} for row in rows)
    assert "no matching copies" in site.run("list", "--recipient", "nobody@example.org").out
    assert "--limit" in site.run("list", "--limit", "2").err


def test_list_counts_from_the_receipt(site):
    """What Postfix tried in vain for ten minutes, before there was anything to be recorded, is late."""
    scuba = site.account()
    for queue_id, ago in (("4LATE", 600), ("4QUICK", 0)):
        date = email.utils.formatdate(time.time() - ago)
        field = f"Received: by mail.example (Postfix, from userid 1000)\n\tid {queue_id}; {date}\n"
        expect.stored(site.deliver(field.encode() + message(), scuba, "-q", queue_id))
    [late] = answers(site, "list", "--min-delay", "9m")
    assert late["queue_id"] == "4LATE" and 599 <= late["delay"] < 900, late
    at = datetime.datetime.strptime(late["at"], "%Y-%m-%dT%H:%M:%S%z")
    stored_at = site.value("SELECT stored_at FROM oncedrop.copy ORDER BY id LIMIT 1")
    assert abs((stored_at - at).total_seconds() - late["delay"]) <= 1, (late, stored_at)
    site.sql("UPDATE oncedrop.copy SET first_at = stored_at")
    site.ledger.older("copy", "first_at", seconds=0.02)
    site.sql("UPDATE oncedrop.attempt SET queued_at = (SELECT first_at FROM oncedrop.copy WHERE copy.claim = attempt.claim)"
             " WHERE queue_id = '4QUICK'")
    site.ledger.older("attempt", "queued_at", seconds=0.9, queue_id="4QUICK")       # a field has whole seconds
    assert [row["delay"] for row in answers(site, "list", "--queue-id", "4QUICK")] == [0.02]


def test_list_by_recipient_finds_what_was_routed_elsewhere(site):
    scuba = site.account()
    site.settings["route.account_query"] = f"SELECT '{scuba}' WHERE $1 = 'alias@example.org'"
    expect.stored(site.deliver(message(), "alias@example.org"))
    [row] = answers(site, "list", "--recipient", "alias@example.org")
    assert (row["account"], row["recipients"]) == (scuba, "alias@example.org")


def test_list_by_queue_id(site):
    """All copies of its message, including the Sent copy; by any of its deliveries."""
    lisa, doug = site.account("lisa"), site.account("doug")
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, lisa, "-q", "4abcDEF"))
    expect.stored(site.deliver(mail, doug, "-q", "4abcDEG"))
    expect.stored(site.deliver(message(), doug, "-q", "4abcDEH"))
    copies = [(row["account"], row["role"], row["queue_id"]) for row in answers(site, "list", "--queue-id", "4abcDEF")]
    assert sorted(copies) == sorted([(lisa, "inbox", "4abcDEF"), (lisa, "sent", "4abcDEF"), (doug, "inbox", "4abcDEG")])
    assert answers(site, "list", "--queue-id", "4abcDEG") == answers(site, "list", "--queue-id", "4abcDEF")
    assert answers(site, "list", "--queue-id", "4ABCDEF") == []
    expect.duplicate(site.deliver(mail, lisa, "-q", "4abcDEJ"))     # that of the last delivery
    assert answers(site, "list", "--queue-id", "4abcDEF") == answers(site, "list", "--queue-id", "4abcDEJ")
    assert sorted(row["queue_id"] for row in answers(site, "list", "--queue-id", "4abcDEJ")) == \
        ["4abcDEF", "4abcDEF", "4abcDEG"]


def test_list_by_sender(site):
    scuba = site.account()
    for number, sender in enumerate(["Lisa@elsewhere.example", "", "bounces@list.example"]):
        mail = message(subject=str(number), sender="doug@elsewhere.example" if number < 2 else "lisa@elsewhere.example")
        expect.stored(site.deliver(mail, scuba, sender=sender))
    for words, expected in ((["lisa@ELSEWHERE.example"], "20"), (["<>"], "1"), ([""], "1"), (["doug@elsewhere.example"], "10"),
                            (["bounces@list.example"], "2"), (["lisa"], "")):
        rows = answers(site, "list", "--sender", *words)
        assert "".join(row["subject"] for row in rows) == expected, words


SUBJECTS = ["100% Rabatt", "100 Rabatt", "a_b", "axb", "R\u00c4UMUNG", "[1] a.b (c|d) {2} $x ^y \\z 'q' *?+", "TOKYO \u6771\u4eac"]


@pytest.mark.parametrize("part, found", [
    ("rabatt", [0, 1]), ("0% r", [0]), ("%", [0]), ("_", [2]), ("A_B", [2]), ("r\u00e4umung", [4]), ("R\u00c4um", [4]),
    ("raumung", []), ("[1]", [5]), ("[2]", []), ("A.B", [5]), (".", [5]), ("(C|D)", [5]), ("{2}", [5]), ("$X", [5]), ("^Y", [5]),
    ("^1", []), ("\\Z", [5]), ("\\", [5]), ("'Q'", [5]), ("*", [5]), ("*?+", [5]), ("?", [5]), ("]", [5]), ("\u4eac", [6]),
    ("o \u6771", [6]), ("a", [0, 1, 2, 3, 5])])
def test_list_by_a_part_of_the_subject(subjects, part, found):
    """Literally, regardless of case, and the same on each engine: no character has a meaning."""
    rows = answers(subjects, "list", "--subject", part)
    assert sorted(SUBJECTS.index(row["subject"]) for row in rows) == found, part


@pytest.fixture(scope="module")
def subjects(lab, ledgers):
    site = new_site(lab, ledgers)
    scuba = site.account()
    for subject in SUBJECTS:
        expect.stored(site.deliver(message(subject=email.header.Header(subject, "utf-8").encode()), scuba))
    expect.stored(site.deliver(b"From: <a@b.example>\n\nno subject\n", scuba))
    yield site
    site.close()


def test_list_by_a_part_of_the_message_id(site):
    scuba = site.account()
    for id in ("One.%5@host.example", "one.x5@HOST.example", "two@other.example"):
        expect.stored(site.deliver(message(id=id), scuba))
    expect.stored(site.deliver(b"From: <a@b.example>\n\nno id\n", scuba))
    for part, expected in (("@host.", [0, 1]), (".%5", [0]), ("ONE.", [0, 1]), ("<two@other.example>", [2]), ("two@other", [2]),
                           ("two@host", [])):
        ids = [row["message_id"] for row in answers(site, "list", "--message-id", part)]
        assert sorted(ids) == sorted(["One.%5@host.example", "one.x5@HOST.example", "two@other.example"][i] for i in expected), part


def test_list_by_mailbox(site):
    lisa = site.account("lisa")
    expect.stored(site.deliver(message(sender=lisa), lisa))
    for name, roles in (("INBOX", ["inbox"]), ("inbox", ["inbox"]), ("Sent", ["sent"]), ("INBO_", []), ("INB%", []), ("Inbox.x", [])):
        assert [row["role"] for row in answers(site, "list", "--mailbox", name)] == roles, name


def test_list_combines_what_it_looks_for(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    for subject, to in (("One", scuba), ("one more", doug), ("Two", doug)):
        expect.stored(site.deliver(message(subject=subject), to))
    rows = answers(site, "list", "--subject", "ONE", "--recipient", doug, "--mailbox", "INBOX", "--since", "1h", "--state",
                   "stored", "--message-id", "@")
    assert [row["subject"] for row in rows] == ["one more"]
    assert [row["subject"] for row in answers(site, "list", "--subject", "o", "--limit", "2")] == ["Two", "one more"]


def test_list_by_delay(site):
    """Until it was stored or abandoned; for unfinished copies, until now."""
    scuba = site.account()
    for subject in ("quick", "late", "failed", "waiting"):
        expect.stored(site.deliver(message(subject=subject), scuba))
    for subject, change, columns, so_long in (
            ("quick", "stored_at = first_at", ["first_at", "stored_at"], {"days": 2}),
            ("late", "first_at = stored_at", ["first_at"], {"minutes": 10}),
            ("failed", "state = 'failed', stored_at = NULL, first_at = claimed_at", ["first_at"], {"hours": 1}),
            ("waiting", "state = 'pending', stored_at = NULL", ["first_at", "claimed_at"], {"hours": 3})):
        of = site.value("SELECT id FROM oncedrop.message WHERE subject = %s", (subject,))
        site.sql(f"UPDATE oncedrop.copy SET {change} WHERE message = %s", (of,))
        site.ledger.older("copy", *columns, message=of, **so_long)
    for delay, expected in (("0s", ["waiting", "failed", "late", "quick"]), ("600s", ["waiting", "failed", "late"]),
                            ("11m", ["waiting", "failed"]), ("2h", ["waiting"]), ("1d", [])):
        assert [row["subject"] for row in answers(site, "list", "--min-delay", delay)] == expected, delay
    delays = {row["subject"]: row["delay"] for row in answers(site, "list")}
    assert (delays["late"], delays["failed"]) == (600, 3600) and delays["quick"] < 60 and 10800 <= delays["waiting"] < 14000


@pytest.mark.parametrize("words", [["--state", "done"], ["--since", "banana"], ["--since", "5"], ["--since", ""],
                                   ["--min-delay", "long"], ["--min-delay", ""], ["--queue-id"], ["--sender"],
                                   ["--limit", "0"], ["--limit", "-1"], ["--limit", "many"],
                                   ["--limit", "99999999999999999999"], ["x"], ["--nonsense"],
                                   ["--since", "2025-13-45"], ["--until", "banana"], ["--subject", ""], ["--mailbox"],
                                   ["--subject", b"caf\xe9"], ["--message-id", b"\xff"], ["--mailbox", ""]])
def test_list_refuses(site, words):
    done = site.run("list", *words)
    assert done.exit == 64 and done.err and not done.out, done


# locks

def lock_of(site, id):
    return int(site.run("show", id).out.split("lock_key: ")[1].split()[0])


def held_claim(site):
    """What `locks` says of a delivery, once it has its claim and its lock: the literal waits for them, not the command."""
    [row] = wait_until(lambda: [row for row in answers(site, "locks") if row["lock"] == "held" and row["state"]], "it is held")
    return row


@pytest.mark.usefixtures("method")
def test_locks_of_a_delivery_under_way(site):
    """Its APPEND waits: there are the claim and the lock."""
    scuba = site.account()
    id = new_id()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "60s",
                          "delivery.deadline": "80s"})
    waits = threading.Event()
    go_on = threading.Event()

    def watch(_connection, _side, data):
        if b"APPEND" in data:
            waits.set()
            go_on.wait(80)
        return data
    site.imap_proxy(watch)
    run = site.start_delivery(message(id=id), scuba)
    assert waits.wait(60)
    row = held_claim(site)
    assert (row["ours"], row["waiting"]) == (True, [])
    assert row["user"] in (site.ledger.USER, None if engine() == MARIADB else site.ledger.USER)  # operators lack PROCESS
    assert (row["key"], row["message_id"], row["account"], row["state"], row["pid"]) == \
        (lock_of(site, id), id, scuba, "appending", run.process.pid)
    assert row["session"].startswith("oncedrop") and 0 <= row["age"] < 80
    go_on.set()
    expect.stored(run.finish())
    assert answers(site, "locks") == []


@pytest.mark.parametrize("method", [method for method in locks.METHODS if method != "lease"], indirect=True)
@pytest.mark.usefixtures("method")
def test_locks_of_a_delivery_that_was_killed(site):
    """Its lock is gone with its connection, and with a ledger in a file at once."""
    scuba = site.account()
    id = new_id()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    waits = threading.Event()
    proxy = site.imap_proxy(lambda _connection, _side, data: (waits.set(), b"")[1] if b"APPEND" in data else data)
    run = site.start_delivery(message(id=id), scuba)
    assert waits.wait(60) and proxy
    held_claim(site)
    held = re.search("^lock: held\nsession: .*(?:\n.+)*", site.run("locks").out, re.M)[0]
    assert f"[{run.process.pid}]" in held and ("\nuser: " in held) == (engine() == POSTGRES), held
    run.signal(signal.SIGKILL)
    run.finish()
    rows = wait_until(lambda: [row for row in answers(site, "locks") if row["lock"] == "free"], "the lock has gone")
    assert [(row["message_id"], row["pid"], row["session"]) for row in rows] == [(id, run.process.pid, None)]


@pytest.mark.postgres
def test_locks_before_the_claim_is_recorded(site):
    """Only the lock and its holder are known then; other programs' locks are not listed."""
    key = lock_of(site, new_id())
    conninfo = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)
    ours = psycopg2.connect(f"{conninfo} application_name='oncedrop 4abcDEF 1'")
    other = site.lab.postgres.connect(site.database)
    try:
        with ours.cursor() as cursor, other.cursor() as another:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", (key,))
            another.execute("SELECT pg_advisory_lock(42)")
            [row] = answers(site, "locks")
    finally:
        ours.close()
        other.close()
    assert (row["key"], row["message_id"], row["lock"], row["session"]) == (key, None, "held", "oncedrop 4abcDEF 1")


def session(site, application, role=lab_module.DELIVERY):
    conninfo = site.lab.postgres.conninfo(site.database, role)
    return site.use(psycopg2.connect(f"{conninfo} application_name='{application}'"))


def wait_for(site, waiter, key):
    """Makes a session wait for a lock, in a thread that ends with it."""
    def wait():
        with contextlib.suppress(psycopg2.Error):
            locks.take(site, waiter, key)
    pid = waiter.info.backend_pid
    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    wait_until(lambda: site.value("SELECT count(*) FROM pg_locks WHERE pid = %s AND NOT granted", (pid,)), "it waits")


@pytest.mark.postgres
@pytest.mark.parametrize("method", locks.OF_TRANSACTIONS, indirect=True)
def test_locks_that_others_hold(site, method):
    """Held by psql: the lock of a recorded message, and of one that was not recorded because of that."""
    scuba, ids = site.account(), [new_id() for _ in range(2)]
    expect.stored(site.deliver(message(id=ids[0]), scuba))
    psql = session(site, "psql")
    for id in ids:
        locks.take(site, psql, lock_of(site, id))
    expect.held(site.deliver(message(id=ids[1]), scuba))
    rows = {row["key"]: row for row in answers(site, "locks")}
    keys = [locks.place(site, lock_of(site, id)) for id in ids]
    assert rows.keys() == set(keys)
    assert [rows[key]["message_id"] for key in keys] == [ids[0] if method != "row" else None, None]
    for row in rows.values():
        assert [row[name] for name in ("lock", "session", "ours", "user", "backend", "state")] == \
            ["held", "psql", False, lab_module.DELIVERY, psql.info.backend_pid, None]
        assert (row["hidden"], row["held"], row["client"]) == (True, None, None)    # its login is not a member of this role
    done = site.run("locks")
    assert f"session: psql\nours: no\nbackend: {psql.info.backend_pid}\nuser: {lab_module.DELIVERY}\n" in done.out, done
    assert "GRANT pg_read_all_stats TO oncedrop_operator" in done.err


@pytest.mark.postgres
def test_locks_with_the_right_to_see_all(site):
    psql = session(site, "psql")
    psql.cursor().execute("SELECT pg_advisory_lock(%s)", (lock_of(site, new_id()),))
    psql.commit()       # a lock of the session outlives its transaction
    site.lab.postgres.admin(f"GRANT pg_read_all_stats TO {lab_module.OPERATOR}")
    try:
        [row] = answers(site, "locks")
        done = site.run("locks")
    finally:
        site.lab.postgres.admin(f"REVOKE pg_read_all_stats FROM {lab_module.OPERATOR}")
    assert (row["hidden"], row["client"]) == (False, "127.0.0.1") and 0 <= row["held"] < 600
    assert re.search(r"\nclient: 127\.0\.0\.1\nheld: [\d.]+\n", done.out) and not done.err, done


@pytest.mark.postgres
@pytest.mark.parametrize("method", locks.OF_TRANSACTIONS, indirect=True)
@pytest.mark.usefixtures("method")
def test_locks_between_claim_and_hold(site):
    """The claim is committed but the lock not taken again yet: the delivery waits for it, or is about to, or is
    dead."""
    scuba, id = site.account(), new_id()
    site.settings["lock.wait"] = "50s"
    expect.stored(site.deliver(message(id=id), scuba))
    site.ledger.claim()
    [row] = answers(site, "locks")
    assert (row["lock"], row["state"], row["session"]) == ("claimed", "appending", None)
    assert "lock: claimed\n" in site.run("locks").out
    site.ledger.claim(seconds=51)
    [row] = answers(site, "locks")
    assert row["lock"] == "free" and "lock: free\n" in site.run("locks").out
    waiter, psql = session(site, "oncedrop mail1[1] 4abcDEF"), session(site, "psql")    # closed first: psql
    locks.take(site, psql, lock_of(site, id))
    wait_for(site, waiter, lock_of(site, id))
    [row] = answers(site, "locks")
    assert (row["lock"], row["session"], row["message_id"]) == ("held", "psql", id)
    [one] = row["waiting"]
    assert (one["session"], one["user"], one["backend"]) == \
        ("oncedrop mail1[1] 4abcDEF", lab_module.DELIVERY, waiter.info.backend_pid) and one["seconds"] >= 0
    said = site.run("locks").out
    assert "session: psql\nours: no\n" in said and re.search(r"^waiting: .*oncedrop mail1\[1\] 4abcDEF", said, re.M)


# purge

def left(site):
    return {row.message_id for row in site.sql("SELECT message_id FROM oncedrop.message")}


@pytest.mark.usefixtures("method")
def test_purge(site):
    """Old and finished messages are removed, and no others."""
    scuba = site.account()
    site.settings["record.expire_after"] = "100d"
    names = ["old", "young", "unfinished", "appending", "pending", "replayed", "failed", "held"]
    for name in names:
        expect.stored(site.deliver(message(id=f"{name}@x", body=f"{name}\n"), scuba))
    old = site.ledger.ago(days=40)
    site.sql("UPDATE oncedrop.message SET received_at = %s WHERE message_id <> 'young@x'", (old,))
    site.sql("UPDATE oncedrop.delivery SET first_at = %s, last_at = %s"
             " WHERE message <> (SELECT id FROM oncedrop.message WHERE message_id = 'replayed@x')", (old, old))
    of = "message = (SELECT id FROM oncedrop.message WHERE message_id = %s)"
    site.sql(f"UPDATE oncedrop.delivery SET finished_at = NULL WHERE {of}", ("unfinished@x",))
    for state in ("appending", "pending", "failed"):
        site.sql(f"UPDATE oncedrop.copy SET state = %s WHERE {of}", (state, f"{state}@x"))
    before = left(site)
    assert answers(site, "purge", "--older-than", "30d", "--dry-run") == {"messages": 3, "expired": 0, "dry_run": True}
    assert left(site) == before
    with locks.held(site, lock_of(site, "held@x")):
        done = site.run("purge", "--older-than", "30d", "--json", options=as_owner(site))
    assert done.exit == 0 and json.loads(done.out) == {"messages": 2, "expired": 0, "dry_run": False}, done
    assert before - left(site) == {"old@x", "failed@x"}
    done = site.run("purge", "--older-than", "30d", options=as_owner(site))
    assert done.exit == 0 and done.out == "1 message removed from the record\n", done
    assert left(site) == {f"{name}@x" for name in ("young", "unfinished", "appending", "pending", "replayed")}
    for table in ("address", "part", "delivery", "copy"):
        assert site.value(f"SELECT count(*) FROM oncedrop.{table} WHERE message NOT IN"
                          " (SELECT id FROM oncedrop.message)") == 0
    assert site.count(scuba) == len(names)


def test_purge_leaves_what_is_just_claimed_without_the_lock(site):
    """As by a delivery whose lease has run out: the rows that it has written refer to the message."""
    expect.stored(site.deliver(message(), site.account()))
    site.sql("UPDATE oncedrop.message SET received_at = %s", (site.ledger.ago(days=40),))
    site.sql("UPDATE oncedrop.delivery SET last_at = %s", (site.ledger.ago(days=40),))
    claimer = site.ledger.connect()
    try:
        claimer.cursor().execute("INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, host, outcome, first_at,"
                                 " last_at) SELECT id, 'a@b', 'a', 'INBOX', 'h', 'claimed', %s, %s FROM oncedrop.message",
                                 [site.ledger.now()] * 2)
        purge = site.start("purge", "--older-than", "30d", options=as_owner(site))
        wait_until(lambda: not purge.reader.is_alive() or site.ledger.waiting_sessions(), "it has ended, or waits")
        claimer.commit()
        done = purge.finish()
    finally:
        claimer.close()
    assert done.exit == 0 and done.out.startswith("0 messages"), done
    assert site.value("SELECT count(*) FROM oncedrop.delivery") == 2


@pytest.mark.parametrize("words", [["--older-than", "6d"], ["--older-than", "0s"], [], ["--older-than", "x"],
                                   ["--older-than", "-9d"], ["--older-than", "30d", "x"]])
def test_purge_refuses(site, words):
    done = site.run("purge", *words, options=as_owner(site))
    assert done.exit == 64 and done.err and not done.out, done
    if "6d" in words:
        assert "7 days" in done.err


@pytest.mark.postgres
def test_purge_without_the_right_names_the_remedy(site):
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    site.sql("UPDATE oncedrop.message SET received_at = %s", (site.ledger.ago(days=40),))
    site.sql("UPDATE oncedrop.delivery SET last_at = %s", (site.ledger.ago(days=40),))
    site.sql("REVOKE DELETE ON oncedrop.message FROM oncedrop_operator")
    done = site.run("purge", "--older-than", "30d")
    assert done.exit == 69 and "grant the role oncedrop_operator" in " ".join(done.err.split()), done
    assert site.value("SELECT count(*) FROM oncedrop.message") == 1


# A large ledger

DAYS = 60
ONE_WORKER = pytest.mark.xdist_group("large")     # filled once


@pytest.fixture(scope="module")
def large(lab, ledgers):
    """A site whose ledger has many messages, evenly over the last 60 days."""
    site = new_site(lab, ledgers)
    site.settings["record.expire_after"] = "3650d"
    site.ledger.fill(ROWS, DAYS)
    done = site.run("purge", "--older-than", f"{2 * DAYS}d")    # as each day
    assert done.exit == 0 and done.out.startswith("0 messages"), done
    yield site
    site.close()


# Medians, in seconds: of a command, and of one that asks for next to nothing
Figure = collections.namedtuple("Figure", "seconds usual")


def figure(site, *arguments, exit=0):
    """Of seven runs, alternating with three of the other command."""
    times, usual = [], []
    for number in range(7):
        if number % 3 == 0:
            known = site.run("ledger", "version")
            assert known.exit == 0, known
            usual.append(known.seconds)
        done = site.run(*arguments)
        assert done.exit == exit, done
        times.append(done.seconds)
    return Figure(statistics.median(times), statistics.median(usual))


def slow(figures, times=1):
    return {name: figure for name, figure in figures.items()
            if figure.seconds > times * SLACK * max(QUICK, figure.usual)}


def questions(large):
    known, account = f"bulk.{ROWS // 2}@test.example", "user17@example.org"
    digest = large.value("SELECT digest FROM oncedrop.message WHERE message_id = %s", (known,)).hex()
    return {"show": ["show", f"Q{ROWS // 2}"], "show --digest": ["show", "--digest", digest], "locks": ["locks"],
            "list": ["list"],
             "list --state stored": ["list", "--state", "stored"], "list --state failed": ["list", "--state", "failed"],
             "list --state pending": ["list", "--state", "pending"],
             "list --state unfinished": ["list", "--state", "unfinished"],
             "list --state appending": ["list", "--state", "appending"], "list --since": ["list", "--since", "1h"],
             "list --since (long ago)": ["list", "--since", "50d"], "list --recipient": ["list", "--recipient", account],
             "list --recipient --state": ["list", "--recipient", account, "--state", "failed"],
             "list --recipient (nobody)": ["list", "--recipient", "nobody"],
             "list --queue-id": ["list", "--queue-id", f"Q{ROWS // 2}"], "resume": ["resume"],
             "list --subject (many)": ["list", "--subject", "NUMBER"],
             "list --mailbox (many)": ["list", "--mailbox", "INBOX"],
             "list --until": ["list", "--until", "50d"], "list --since --until": ["list", "--since", "31d", "--until", "30d"],
             "list --state expired": ["list", "--state", "expired"],
             "expire --dry-run": ["expire", "--dry-run"]}


@ONE_WORKER
def test_questions_to_a_large_ledger_are_quick(large, capsys):
    figures = {name: figure(large, *words) for name, words in questions(large).items()}
    figures["show (unknown)"] = figure(large, "show", f"bulk.{ROWS // 2}x@test.example", exit=1)
    slower = {"stats": figure(large, "stats"), "list --min-delay": figure(large, "list", "--min-delay", "5m", "--state", "stored"),
              "list --sender": figure(large, "list", "--sender", "nobody@example.org"),
              "list --subject": figure(large, "list", "--subject", "nothing of this"),
              "list --message-id": figure(large, "list", "--message-id", "nothing-of-this"),
              "list --mailbox": figure(large, "list", "--mailbox", "Nowhere"),
              "purge --dry-run": figure(large, "purge", "--older-than", "30d", "--dry-run")}
    with capsys.disabled():
        print(f"\nA ledger of {ROWS} messages, ms: " +
              ", ".join(f"{name} {figure.seconds * 1000:.0f}" for name, figure in {**figures, **slower}.items()))
    assert not slow(figures)
    assert not slow(slower, times=20)


def read_from_end_to_end(site):
    """How often each table was scanned so far: a session reports that when it ends."""
    wait_until(lambda: site.value("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                                  " AND usename <> 'admin'") == 0, "every session has ended")
    # These tables have few rows, however large the ledger is; purge scans event and feed once.
    rows = site.sql("SELECT relname, seq_scan FROM pg_stat_user_tables"
                    " WHERE schemaname = 'oncedrop' AND relname NOT IN ('schema_version', 'server', 'event', 'counter_bucket', 'counter',"
                    " 'setting', 'lease', 'refusal', 'feed')")
    return {row.relname: row.seq_scan for row in rows}


@pytest.fixture
def no_autovacuum(large):
    """It would count as a reader of the table whose BRIN index it updates."""
    def switch(to):
        for row in large.sql("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'oncedrop'"):
            large.sql(f"ALTER TABLE oncedrop.{row.relname} {to}")

    switch("SET (autovacuum_enabled = off)")    # and ends the one in progress
    yield
    switch("RESET (autovacuum_enabled)")


@pytest.fixture
def backlog(large):
    """In a feed, the newest messages wait."""
    large.sql("INSERT INTO oncedrop.feed (feed, copy, message) SELECT 'support', id, message FROM oncedrop.copy"
              " WHERE state = 'stored' ORDER BY id DESC LIMIT 5000")
    large.sql("ANALYZE oncedrop.feed")
    yield
    large.sql("DELETE FROM oncedrop.feed")


@pytest.mark.postgres
@ONE_WORKER
@pytest.mark.usefixtures("no_autovacuum", "backlog")
def test_no_table_is_read_from_end_to_end(large):
    """Neither by a query nor by a delivery, however large a table must be for that to matter."""
    scuba = large.account()
    mail = message()
    asked = {name: lambda words=words: large.run(*words) for name, words in questions(large).items()}
    asked["show (unknown)"] = lambda: large.run("show", f"bulk.{ROWS // 2}x@test.example")
    asked["a delivery"] = lambda: large.deliver(mail, scuba)
    asked["a duplicate"] = lambda: large.deliver(mail, scuba)
    asked["a batch of purge"] = lambda: large.run("purge", "--older-than", f"{DAYS - 1}d", options=as_owner(large))
    found = []
    for name, ask in asked.items():
        before = read_from_end_to_end(large)
        ask()
        after = read_from_end_to_end(large)
        found += [(name, table, after[table] - before[table]) for table in after if after[table] != before[table]]
    assert not found


@pytest.mark.postgres
@ONE_WORKER
@pytest.mark.usefixtures("no_autovacuum")
def test_a_delivery_does_not_read_what_is_unfinished(large):
    """The indexes of what is not stored are small, but full of rows that every delivery leaves behind."""
    scuba = large.account()
    mail = message()

    def searched():
        read_from_end_to_end(large)     # every session has ended
        return {row.indexrelname: row.idx_scan for row in large.sql(
            "SELECT indexrelname, idx_scan FROM pg_stat_user_indexes JOIN pg_index USING (indexrelid)"
            " WHERE schemaname = 'oncedrop' AND indpred IS NOT NULL")}

    before = searched()
    assert len(before) >= 3
    expect.stored(large.deliver(mail, scuba))
    expect.duplicate(large.deliver(mail, scuba))
    assert searched() == before


@ONE_WORKER
def test_purge_of_half_of_a_large_ledger_holds_up_no_delivery(large, capsys):
    """The usual time of a delivery, alone, then during the purge, and alone once more, since the machine may have
    become busy."""
    scuba = large.account()

    def deliver():
        done = large.deliver(message(), scuba)
        expect.stored(done)
        return done.seconds
    usual = sorted(deliver() for _ in range(20))
    half = f"{DAYS // 2}d"
    old, started = (large.ledger.ago(days=30),), time.monotonic()
    due = large.value("SELECT count(*) FROM oncedrop.message m WHERE received_at < %s AND NOT EXISTS"
                      " (SELECT 1 FROM oncedrop.delivery d WHERE d.message = m.id AND finished_at IS NULL)", old)
    before = large.value("SELECT count(*) FROM oncedrop.message")
    assert due > ROWS * 0.4
    purge = large.start("purge", "--older-than", half, "--json", options=as_owner(large))
    meanwhile = []
    while purge.process.poll() is None or len(meanwhile) < 5:
        meanwhile.append(deliver())
    done = purge.finish(600)
    aged = ROWS * (time.monotonic() - started) / (DAYS * 86400) + 1     # have become old since
    assert done.exit == 0 and due <= json.loads(done.out)["messages"] <= due + aged, (done, due)
    removed = json.loads(done.out)["messages"]
    assert large.value("SELECT count(*) FROM oncedrop.message") == before - removed + len(meanwhile)
    assert large.value("SELECT count(*) FROM oncedrop.message WHERE received_at < %s", old) == \
        large.value("SELECT count(*) FROM oncedrop.message WHERE received_at < %s AND id %% 5000 = 0", old)
    meanwhile.sort()
    usual = max(usual, sorted(deliver() for _ in range(20)), key=statistics.median)
    with capsys.disabled():
        print(f"\npurge of {removed} of {before} messages in {done.seconds:.1f} s; a delivery takes {usual[10] * 1000:.0f} ms"
              f" at the median, {usual[-1] * 1000:.0f} at most; meanwhile {statistics.median(meanwhile) * 1000:.0f} and"
              f" {meanwhile[-1] * 1000:.0f} of {len(meanwhile)}")
    assert statistics.median(meanwhile) < max(10 * usual[10], 1)
