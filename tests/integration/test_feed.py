# SPDX-License-Identifier: ISC
"""Feeds: each copy that is stored waits once for its application, until it is taken out.

Seen to fail with the breakages tests/mutants/feed-*."""

import contextlib
import json
import os
import re
import signal

import expect
import pytest
from lab import lab as lab_module
from lab import lmtp
from lab.ledger import MARIADB, POSTGRES, engine
from lab.messages import message, new_id
from lab.process import find_program, wait_until

NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}      # a sanitizer cannot look for leaks in a process that is traced
FEEDS = {"support.recipient": "nobody@example.org support*@example.org", "all.role": "both"}


@pytest.fixture
def site(site):
    with_feeds(site, FEEDS)
    return site


def with_feeds(site, feeds):
    for name in [name for name in site.settings if name.startswith("feed ")]:
        del site.settings[name]
    site.settings.update({f"feed {name}": value for name, value in feeds.items()})


def feed(site, *words, **more):
    return site.run("feed", *words, **more)


def waiting(site):
    """{feed: [Message-ID]}"""
    rows = site.sql("SELECT f.feed, m.message_id FROM oncedrop.feed f JOIN oncedrop.message m ON m.id = f.message ORDER BY f.id")
    found = {}
    for name, id in rows:
        found.setdefault(name, []).append(id)
    return found


def deliver(site, *accounts, **more):
    id = new_id()
    for account in accounts:
        expect.stored(site.deliver(message(id=id, **more), account))
    return id


def test_each_copy_once(site):
    support, other = site.account("support"), site.account()
    first, second = deliver(site, support), deliver(site, other)
    assert waiting(site) == {"support": [first], "all": [first, second]}
    expect.duplicate(site.deliver(message(id=first), support))
    assert waiting(site) == {"support": [first], "all": [first, second]}


def test_run(site):
    support = site.account("support")
    ids = [deliver(site, support, subject=f"Number {i}", body=f"Text {i}\n") for i in range(3)]
    path = os.path.join(site.directory, "said")
    script = site.write("script", f'#!/bin/sh\ncat >>{path}\n'
                        f'echo "$ONCEDROP_FEED $ONCEDROP_ID $ONCEDROP_MESSAGE_ID $ONCEDROP_TRIES $ONCEDROP_RECIPIENTS" >>{path}\n', 0o755)
    done = feed(site, "run", "support", "--", script)
    assert done.exit == 0 and done.out == "3 finished, 0 left for later, 0 dead\n", done
    with open(path, encoding="utf-8") as file:
        said = file.read()
    lines = re.findall(r"^support (\d+) (\S+) 1 (.*)$", said, re.M)
    assert [id for _, id, _ in lines] == ids and len({number for number, _, _ in lines}) == 3
    assert [json.loads(recipients) for _, _, recipients in lines] == [[support]] * 3
    assert re.findall(r"^Text \d", said, re.M) == ["Text 0", "Text 1", "Text 2"]
    assert feed(site, "run", "support", "--", script).out == "0 finished, 0 left for later, 0 dead\n"
    assert "support" not in waiting(site)


def test_the_record_has_the_message(site):
    """Although it is not in the mailbox any more."""
    site.settings["record.level"] = "raw"
    support = site.account("support")
    deliver(site, support, body="Recorded\n")
    done = feed(site, "run", "support", "--", "grep", "-q", "^Recorded")
    assert done.exit == 0, done


@pytest.mark.parametrize("status, dead", [(75, False), (1, True)])
def test_failures(site, status, dead):
    support = site.account("support")
    id = deliver(site, support)
    done = feed(site, "run", "--tries", "1", "support", "--", "sh", "-c", f"exit {status}")
    assert done.exit == 1 and done.out == f"0 finished, {int(not dead)} left for later, {int(dead)} dead\n", done
    [row] = json.loads(feed(site, "list", "--json", "support").out)
    assert (row["tries"], row["dead"], row["message_id"]) == (1, dead, id)
    assert feed(site, "run", "support", "--", "true").out == "0 finished, 0 left for later, 0 dead\n"
    if dead:
        assert feed(site, "retry", "support", str(row["id"] + 1)).exit == 1
        assert feed(site, "retry", "support", str(row["id"])).out == "1 message tried again from now on\n"
    else:
        site.sql("UPDATE oncedrop.feed SET not_before = added_at")
    assert feed(site, "run", "support", "--", "true").out == "1 finished, 0 left for later, 0 dead\n"


def test_several_at_a_time(site):
    """Two commands that wait for each other."""
    support = site.account("support")
    for _ in range(2):
        deliver(site, support)
    path = os.path.join(site.directory, "here")
    script = site.write("script", f'#!/bin/sh\ntouch {path}.$ONCEDROP_ID\n'
                        f'until [ "$(ls {path}.* | wc -l)" = 2 ]; do sleep 0.05; done\n', 0o755)
    done = feed(site, "run", "-j", "2", "support", "--", script)
    assert (done.exit, done.out) == (0, "2 finished, 0 left for later, 0 dead\n"), done


@pytest.mark.parametrize("jobs", ["1", "3"])
def test_no_ledger(site, jobs):
    site.settings.update({"database.conninfo": "sqlite:/nonexistent/ledger.db", "service.user": ""})
    done = feed(site, "run", "--follow", "-j", jobs, "support", "--", "true")
    assert done.exit == 69 and "there is no /nonexistent/ledger.db" in done.err, done


@pytest.mark.parametrize("options", [[], ["-j", "2"]])
def test_follow_ends_cleanly(site, options):
    support = site.account("support")
    path = os.path.join(site.directory, "said")
    running = site.start("feed", "run", "--follow", *options, "support", "--", "sh", "-c", f"sleep 1; echo done >>{path}")
    deliver(site, support)
    wait_until(lambda: site.sql("SELECT tries FROM oncedrop.feed WHERE feed = 'support' AND tries = 1"), "it is taken")
    running.signal(signal.SIGTERM)
    done = running.finish()
    assert (done.exit, done.out) == (0, "1 finished, 0 left for later, 0 dead\n"), done
    assert os.path.exists(path) and "support" not in waiting(site)


@pytest.mark.parametrize("channel", ["news", ""] if engine() == POSTGRES else [""])
def test_it_is_woken(site, channel):
    """By what another process commits, if the engine notices that."""
    if channel:
        site.settings["record.notify"] = channel
    watches = engine() != MARIADB if engine() != POSTGRES else channel != ""
    support, path = site.account("support"), os.path.join(site.directory, "trace")
    running = site.start("feed", "run", "--follow", "support", "--", "true", env=NO_LEAKS,
                         under=[find_program("strace"), "-D", "-o", path, "-e", "trace=poll,ppoll"])

    def polls():
        text = read_file(path)
        return [line for line in text.splitlines() if re.search(r"\], 2, 10000\)|, 2, \{tv_sec=10, tv_nsec=0\}", line)]

    for _ in range(3):
        deliver(site, support)
        wait_until(lambda: "support" not in waiting(site), "it is taken")
    running.signal(signal.SIGTERM)
    assert running.finish().out == "3 finished, 0 left for later, 0 dead\n"
    assert bool(polls()) == watches and len([line for line in polls() if "Timeout" in line]) < 3, polls()


def test_a_kept_session_that_the_server_has_closed(site):
    """As it does after half an hour without mail: that is no try of the command's."""
    site.settings["imap.tls"] = "none"
    site.settings["imap.port"] = site.lab.dovecot.port
    proxy, support = site.imap_proxy(), site.account("support")
    path = os.path.join(site.directory, "said")
    running = site.start("feed", "run", "--follow", "support", "--", "sh", "-c", f"cat >/dev/null; echo $ONCEDROP_TRIES >>{path}")
    for _ in range(2):
        deliver(site, support)
        wait_until(lambda: "support" not in waiting(site), "it is taken")
        proxy.cut()
    running.signal(signal.SIGTERM)
    assert running.finish().out == "2 finished, 0 left for later, 0 dead\n"
    with open(path, encoding="utf-8") as file:
        assert file.read() == "1\n1\n"


def test_a_password_is_not_read_for_each_feed(site):
    """Else each delivery would take longer with each feed."""
    with_feeds(site, {f"f{number}.role": "sent" for number in range(3)})
    path = os.path.join(site.directory, "trace")
    done = site.deliver(message(), site.account(), under=[find_program("strace"), "-o", path, "-e", "trace=openat"], env=NO_LEAKS)
    assert done.exit == 0, done
    with open(path, encoding="utf-8", errors="replace") as file:
        assert file.read().count(f'"{site.password_file}"') == 1


def test_jobs_end_with_their_parent(site):
    running = site.start("feed", "run", "--follow", "-j", "2", "support", "--", "true")
    pid = running.process.pid

    def children():
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return file.read().split()

    wait_until(lambda: len(children()) == 2, "there are two jobs")
    deliver(site, site.account("support"))
    wait_until(lambda: "support" not in waiting(site), "they take what comes")
    jobs = children()
    running.signal(signal.SIGKILL)
    try:
        wait_until(lambda: not any(read(job, "cmdline") for job in jobs), "they have ended", 20)
    finally:        # else they keep the pipe, and the test waits for them
        for job in jobs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(job), signal.SIGKILL)


def read(pid, name):
    return read_file(f"/proc/{pid}/{name}")


def read_file(path):
    """What it holds, if it is there."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def test_a_runner_that_dies(site):
    """After a minute another has the row, with the same id."""
    support = site.account("support")
    deliver(site, support)
    path = os.path.join(site.directory, "said")
    script = site.write("script", f'#!/bin/sh\necho $ONCEDROP_ID >>{path}\nkill -9 $PPID\n', 0o755)
    assert feed(site, "run", "support", "--", script).exit == -9
    assert feed(site, "run", "support", "--", "true").out == "0 finished, 0 left for later, 0 dead\n"
    site.sql("UPDATE oncedrop.feed SET not_before = added_at")
    script = site.write("script", f'#!/bin/sh\necho $ONCEDROP_ID >>{path}\n', 0o755)
    assert feed(site, "run", "support", "--", script).exit == 0
    with open(path, encoding="utf-8") as file:
        first, second = file.read().split()
    assert first == second


def test_fill_and_drop(site):
    with_feeds(site, {})
    support = site.account("support")
    ids = [deliver(site, support) for _ in range(3)]
    deliver(site, site.account())
    with_feeds(site, FEEDS)
    late = deliver(site, support)
    assert waiting(site)["support"] == [late]
    assert feed(site, "fill", "--dry-run", "--since", "1d", "support").out == "3 messages would be added\n"
    assert feed(site, "fill", "--since", "1d", "support").out == "3 messages added\n"
    assert feed(site, "fill", "--since", "1d", "support").out == "0 messages added\n"
    assert waiting(site)["support"] == [late, *ids]
    listed = json.loads(feed(site, "list", "--json").out)
    assert [(row["feed"], row["waiting"], row["dead"]) for row in listed] == [("all", 1, 0), ("support", 4, 0)]
    assert feed(site, "drop", "support").out == "4 messages dropped\n"
    done = feed(site, "drop", "support", "1")
    assert (done.exit, "feed support: no row 1 waits in it" in done.err) == (1, True), done
    assert feed(site, "fill", "--since", "1d", "support").out == "0 messages added\n"


def test_show(site):
    support = site.account("support")
    id = deliver(site, support, body="Shown\n")
    [row] = json.loads(feed(site, "list", "--json", "support").out)
    shown = json.loads(feed(site, "show", "--json", str(row["id"])).out)
    assert (shown["message_id"], shown["account"], shown["recipients"]) == (id, support, [support])
    assert "Shown" in feed(site, "show", "--raw", str(row["id"])).out
    done = feed(site, "show", "999999")
    assert done.exit == 1 and "no row 999999" in done.err, done


PARTS = ("--b\nContent-Type: text/plain; charset=iso-8859-1\nContent-Transfer-Encoding: quoted-printable\n\nGr=FC=DFe\n"
         "--b\nContent-Type: application/pdf; name=bill.pdf\nContent-Disposition: attachment; filename=bill.pdf\n"
         "Content-Transfer-Encoding: base64\n\nAAEC/w==\n--b--\n")


@pytest.mark.parametrize("level", ["envelope", "raw"])
def test_what_a_message_holds(site, level):
    """From the record or from the mailbox."""
    site.settings["record.level"] = level
    support = site.account("support")
    id = deliver(site, support, body=PARTS, headers="MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n"
                 "References: <first@example.org> <second@example.org>\nIn-Reply-To: <second@example.org>\n")
    [row] = json.loads(feed(site, "list", "--json", "support").out)
    shown = json.loads(feed(site, "show", "--json", str(row["id"])).out)
    assert (shown["message_id"], shown["in_reply_to"], shown["thread"]) == (id, "second@example.org", "first@example.org")
    assert shown["references"] == ["first@example.org", "second@example.org"]
    assert [(one["role"], one["address"]) for one in shown["addresses"]][0] == ("from", "lisa@elsewhere.example")
    assert [(one["path"], one["type"], one["filename"], one["size"], one["text"]) for one in shown["parts"]] == \
        [("1", "text/plain", None, 5, "Grüße"), ("2", "application/pdf", "bill.pdf", 4, None)]
    part = site.start("feed", "show", "--part", "2", str(row["id"]))
    assert part.finish().exit == 0 and part.output[0] == b"\0\1\2\xff"
    done = feed(site, "show", "--part", "3", str(row["id"]))
    assert done.exit == 1 and "no part 3" in done.err, done


def test_wait(site):
    support = site.account("support")
    deliver(site, support, subject="Others")
    running = site.start("feed", "wait", "--json", "--subject", "Cook", "support")
    id = deliver(site, support, subject="Cookies")
    done = running.finish()
    assert (done.exit, json.loads(done.out)["message_id"]) == (0, id)
    done = feed(site, "wait", "support")
    assert done.exit == 0 and "Others" in done.out, done
    assert feed(site, "wait", "suport").exit == 64


@pytest.mark.parametrize("headers, thread", [("In-Reply-To: <second@example.org>\n", "second@example.org"), ("", None)])
def test_thread(site, headers, thread):
    id = deliver(site, site.account("support"), headers=headers)
    [row] = json.loads(feed(site, "list", "--json", "support").out)
    assert json.loads(feed(site, "show", "--json", str(row["id"])).out)["thread"] == (thread or id)


def test_a_message_that_is_gone(site):
    support = site.account("support")
    deliver(site, support)
    with site.lab.dovecot.session(support) as session:
        session.select("INBOX")
        session.store("1", "+FLAGS", r"\Deleted")
        session.expunge()
    [row] = json.loads(feed(site, "list", "--json", "support").out)
    done = feed(site, "show", "--json", str(row["id"]))
    assert done.exit == 1 and "not in mailbox INBOX" in json.loads(done.out)["unreadable"], done
    for option in (["--raw"], ["--part", "1"]):
        done = feed(site, "show", *option, str(row["id"]))
        assert done.exit == 1 and "not in mailbox INBOX" in done.err, done


def test_reset(site):
    """What the application has finished comes again, what waits is not touched."""
    support = site.account("support")
    first = deliver(site, support)
    path = os.path.join(site.directory, "said")
    take = ("run", "support", "--", "sh", "-c", f"cat >/dev/null; echo $ONCEDROP_ID >>{path}")
    assert feed(site, *take).exit == 0
    second = deliver(site, support)
    rows = site.sql("SELECT id FROM oncedrop.feed WHERE feed = 'support'")
    assert feed(site, "fill", "--since", "1d", "support").out == "0 messages added\n"
    assert feed(site, "reset", "--dry-run", "--since", "1d", "support").out == "1 message would be added\n"
    assert feed(site, "reset", "--since", "1d", "support").out == "1 message added\n"
    assert waiting(site)["support"] == [second, first]
    assert site.sql("SELECT id FROM oncedrop.feed WHERE feed = 'support' ORDER BY id")[:1] == rows
    assert feed(site, "reset", "--since", "1d", "support").out == "0 messages added\n"
    assert feed(site, *take).exit == 0
    said = read_file(path).split()
    assert said[0] == said[2] != said[1] and len(said) == 3
    assert feed(site, "fill", "--since", "1d", "support").out == "0 messages added\n"


def test_check_shows_what_waits(site):
    support = site.account("support")
    deliver(site, support)
    site.ledger.older("feed", "added_at", hours=2, feed="support")
    assert feed(site, "run", "all", "--tries", "1", "--", "false").exit == 1
    with_feeds(site, {"support.role": "both"})
    site.settings.update(site.ledger.settings(lab_module.OPERATOR))
    done = site.check("--quick", "--json")
    items = [(item["status"], item["text"]) for item in json.loads(done.out) if item["item"] == "feed"]
    assert len(items) == 2, done
    assert items[0][0] == "warning" and items[0][1].startswith("all: 0 waiting") and "oncedrop feed drop all" in items[0][1], items
    assert items[1][0] == "warning" and "support: 1 waiting, the oldest for 72" in items[1][1], items


def test_purge_spares_what_waits(site):
    support, other = site.account("support"), site.account()
    with_feeds(site, {"support.recipient": "support*"})
    kept, gone = deliver(site, support), deliver(site, other)
    site.ledger.older("message", "received_at", days=40)
    site.ledger.older("delivery", "last_at", days=40)
    assert site.run("purge", "--older-than", "30d").exit == 0
    assert [row[0] for row in site.sql("SELECT message_id FROM oncedrop.message")] == [kept]
    assert feed(site, "run", "support", "--", "true").exit == 0
    assert site.run("purge", "--older-than", "30d").exit == 0
    assert site.sql("SELECT message_id FROM oncedrop.message") == [] and gone


def test_a_message_that_was_deleted_by_other_means(site):
    """Its row is dead, and stays until it is dropped: that it is not found proves nothing."""
    support = site.account("support")
    deliver(site, support)
    site.sql("DELETE FROM oncedrop.message")
    assert feed(site, "run", "support", "--", "true").out == "0 finished, 0 left for later, 0 dead\n"
    assert site.value("SELECT dead FROM oncedrop.feed WHERE feed = 'support'")
    assert feed(site, "drop", "support").out == "1 message dropped\n"


def test_forget_spares_what_waits(site):
    with_feeds(site, {"support.recipient": "support*"})
    support = site.account("support")
    deliver(site, support)
    site.ledger.older("message", "received_at", days=40)
    site.ledger.older("delivery", "last_at", days=40)
    done = site.run("forget", "--yes", support)
    assert done.out.splitlines()[0] == "0 messages removed from the record" and "1 message is unfinished, or in a feed" in done.out, done
    assert feed(site, "drop", "support").exit == 0
    assert site.run("forget", "--yes", support).out == "1 message removed from the record\n"


def test_what_a_feed_takes(site):
    with_feeds(site, {"in.role": "inbox", "out.role": "sent", "sent.role": "both", "sent.mailbox": "Trash Sen?",
                      "lisa.role": "both", "lisa.account": "lisa.*"})
    lisa, other = site.account("lisa"), site.account()
    id = new_id()
    expect.stored(site.deliver(message(id=id, sender=lisa, to=other), other, sender=lisa))
    assert site.count(lisa, "Sent") == 1
    assert waiting(site) == {"in": [id], "out": [id], "sent": [id], "lisa": [id]}


def test_recipients_who_share_a_mailbox(site):
    """In either order, and by several deliveries."""
    site.settings["route.detail"] = "off"
    with_feeds(site, {"orders.recipient": "*+orders@*"})
    plain = site.account()
    orders = plain.replace("@", "+orders@")
    first, second = new_id(), new_id()
    expect.stored(site.deliver(message(id=first), plain))
    assert waiting(site) == {}
    expect.duplicate(site.deliver(message(id=first), orders))
    assert waiting(site) == {"orders": [first]}
    expect.stored(site.deliver(message(id=second), orders))
    expect.duplicate(site.deliver(message(id=second), plain))
    expect.duplicate(site.deliver(message(id=first), orders))
    assert waiting(site) == {"orders": [first, second]}


def test_a_duplicate_adds_nothing_of_before_the_feed(site):
    with_feeds(site, {})
    support = site.account("support")
    id = deliver(site, support)
    with_feeds(site, FEEDS)
    expect.duplicate(site.deliver(message(id=id), support))
    assert waiting(site) == {}


def test_recipients_in_any_case(site):
    session = lmtp.start(site)
    support = site.account("support")
    lmtp.stored(session.deliver(message(id=new_id()), support.replace("support", "SUPport"))[0])
    assert len(waiting(site)["support"]) == 1


@pytest.mark.parametrize("words", [["run", "suport", "true"], ["list", "suport"], ["drop", "suport"], ["retry", "suport"],
                                   ["fill", "--since", "1d", "suport"]])
def test_unknown_feeds(site, words):
    done = feed(site, *words)
    assert done.exit == 64 and "there is no [feed suport] in " in done.err, done


def test_a_feed_that_is_no_longer_configured(site):
    deliver(site, site.account("support"))
    with_feeds(site, {})
    assert len(json.loads(feed(site, "list", "--json", "support").out)) == 1
    assert feed(site, "drop", "support").out == "1 message dropped\n"


def test_stats(site):
    deliver(site, site.account("support"))
    feeds = json.loads(site.run("stats", "--json").out)["feeds"]
    assert [(entry["feed"], entry["waiting"], entry["dead"]) for entry in feeds] == [("all", 1, 0), ("support", 1, 0)]
    assert 'oncedrop_feed_waiting{feed="support"} 1\n' in site.run("stats", "--prometheus").out


@pytest.mark.parametrize("name, value, said", [
    ("a b.role", "sent", "the name of a feed consists of"),
    ("x.role", "nobody", "[feed] role = nobody"),
    ("x.colour", "red", "[feed] colour: no such setting (known are recipient, account, mailbox, role)"),
])
def test_wrong_settings(site, name, value, said):
    with_feeds(site, {name: value})
    done = feed(site, "list")
    assert done.exit == 78 and said in done.err, done
