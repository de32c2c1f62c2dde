# SPDX-License-Identifier: ISC
"""The log has a line for each recipient and for the Sent copy, for success and every failure; delays add up.

Seen to fail with: replies to LMTP that nothing is logged of; the recipient taken from the environment only with the
message; the Sent copy left out; a phase's time not counted; a holder of the lock that is not asked for; the wait for a lock behind
the claim counted to the database; a closed pipe taken for trouble of the IMAP server; a warning without its queue id."""

import contextlib
import json
import os
import re
import subprocess

import psycopg2
import pytest
from lab import lab as lab_module, lmtp, locks
from lab.fake_imap import FakeImap
from lab.messages import message, new_id
from lab.process import free_port, wait_until
from test_history import take
from test_output import fields
from test_second_try import age, fake, refuse, swallow

LISA, SCUBA, DOUG = "lisa@example.org", "scuba@example.org", "doug@example.org"
NAMES = ["message-id", "to", "account", "mailbox", "uid", "size", "delay", "delays", "dsn", "status"]
SENT = ["message-id", "from", *NAMES[2:]]


def lines(log):
    """Each line of a delivery: its queue id, and its fields and text. Their delays add up."""
    found = []
    for line in log.splitlines():
        if ", status=" not in line:
            continue
        one = dict(fields(line))
        one["queue id"], one["text"] = line.split(": ")[2], line.split(" (", 1)[1][:-1]
        if "delays" in one:
            assert [*one][:-2] in (NAMES, SENT), line
            parts = [round(float(part) * 1000) for part in one["delays"].split("/")]
            assert len(parts) == 4 and sum(parts) == round(float(one["delay"]) * 1000), line
        found.append(one)
    return found


def deliver(site, mail, *words, **more):
    """The lines logged by `deliver`."""
    site.settings["log.to"] = "stderr"
    return lines(site.deliver(mail, *words, **more).err)


@pytest.fixture
def session(site):
    """Opens an LMTP session, and returns its log lines once there are this many."""
    def begin():
        site.settings["log.to"] = "stderr"
        session = lmtp.start(site)
        session.lines = lambda count: wait_until(
            lambda: len(lines(session.log())) >= count and lines(session.log()), "the lines in the log")
        return session
    return begin


def test_without_a_database_each_recipient_has_a_line(site, session):
    site.settings.update({**site.ledger.out_of_reach()[0], "log.to": "stderr"})
    queued = b"Received: by mail.example (Postfix, from userid 0)\n\tid 4QUEUED; Fri, 1 Aug 2025 10:00:00 +0200\n"
    id = new_id()
    over = session()
    replies = over.deliver(queued + message(id=id), SCUBA, DOUG)
    assert [reply.code for reply in replies] == [451, 451]
    for to, line in zip((SCUBA, DOUG), over.lines(2), strict=True):
        assert (line["queue id"], line["message-id"], line["to"], line["status"]) == ("4QUEUED", id, to, "deferred")
    [line] = deliver(site, queued + message(id=id), SCUBA)
    assert (line["queue id"], line["message-id"], line["to"], line["status"]) == ("4QUEUED", id, SCUBA, "deferred")
    assert line["text"] == replies[0].text.split(" ", 1)[1]


@pytest.mark.parametrize("words, environment", [(["-d", SCUBA], {}), ([], {"RECIPIENT": SCUBA})])
@pytest.mark.parametrize("wrong", ["configuration", "option", "message"])
def test_before_the_message_is_read(site, words, environment, wrong):
    site.settings.update({"log.to": "stderr", "lock.wait": "a while" if wrong == "configuration" else "0s"})
    more = ["--nonsense"] if wrong == "option" else []
    done = site.run("deliver", *words, "-q", "4EARLY", *more, options=["-v"], env=environment)
    assert done.exit == 75, done
    [line] = lines(done.err)
    assert (line["queue id"], line["to"], line["status"]) == ("4EARLY", SCUBA, "deferred"), line
    assert line["dsn"] == ("4.3.0" if wrong == "message" else "4.3.5"), line


def test_what_lmtp_refuses(site, session):
    fake(site)
    site.settings["delivery.size_limit"] = "2000"
    over = session()
    assert over.command(f"MAIL FROM:<{LISA}> SIZE=3000").code == 552
    assert over.command(f"MAIL FROM:<{LISA}>").code == 250
    assert over.command("RCPT TO:<nonsense@>").code == 501
    assert over.command("RSET").code == 250
    assert [reply.code for reply in over.deliver(message(body="x" * 3000 + "\n"), SCUBA, DOUG)] == [552, 552]
    sender, recipient, *too_large = over.lines(4)
    assert (sender["from"], sender["dsn"], sender["status"]) == (LISA, "5.3.4", "bounced")
    assert (recipient["to"], recipient["dsn"], recipient["status"]) == ("nonsense@", "5.1.3", "bounced")
    assert [(line["to"], line["dsn"], line["status"]) for line in too_large] == [
        (SCUBA, "5.3.4", "bounced"), (DOUG, "5.3.4", "bounced")]


def test_the_sent_copy_has_a_line(site):
    """Stored; not again with the next recipient; deferred, and failed."""
    fake(site)
    mail = message(sender=LISA)
    [inbox, sent] = deliver(site, mail, SCUBA, "-q", "4ONE", sender="bounces@example.org")
    assert (inbox["to"], inbox["account"], inbox["mailbox"], inbox["status"]) == (SCUBA, SCUBA, "INBOX", "stored")
    assert (sent["from"], sent["account"]) == ("bounces@example.org", LISA)
    assert (sent["mailbox"], sent["status"]) == ("Sent", "stored")
    assert (sent["queue id"], sent["message-id"]) == ("4ONE", inbox["message-id"]) and int(sent["uid"]) > 0
    assert "to" not in sent and sent["text"].startswith("Sent copy: stored uid=")
    assert len(deliver(site, mail, DOUG)) == 1

    server = fake(site)
    refusing = refuse("NO [NOPERM] not here")

    def refuse_sent(client, tag, arguments):
        if b"Sent" in arguments:
            refusing(client, tag, arguments)
        else:
            server.do_append(client, tag, arguments)
    server.script["APPEND"] = refuse_sent
    mail = message(sender=LISA)
    [inbox, sent] = deliver(site, mail, SCUBA)
    assert (inbox["status"], sent["status"]) == ("deferred", "deferred") and "not here" in sent["text"]
    age(site, "first_at", hours=2)
    [inbox, sent] = deliver(site, mail, SCUBA)
    assert (inbox["status"], sent["status"]) == ("duplicate", "failed")
    assert re.match("Sent copy failed: .*not here", sent["text"]), sent


@pytest.mark.parametrize("way", ["deliver", "lmtp"])
def test_a_delivery_that_is_ended_has_a_line(site, session, way):
    """By its deadline, while the IMAP server accepts the message but does not answer."""
    server = fake(site, APPEND=take)
    site.settings.update({"delivery.deadline": "2s", "delivery.hold_off": "300s", "imap.timeout": "60s"})
    id = new_id()
    if way == "deliver":
        [line] = deliver(site, message(id=id), SCUBA, "-q", "4DEADLINE")
    else:
        over = session()
        over.command("XFORWARD IDENT=4DEADLINE")
        over.envelope([SCUBA])
        over.send(lmtp.stuffed(message(id=id)))
        [line] = over.lines(1)
    assert (line["queue id"], line["message-id"], line["to"], line["status"]) == ("4DEADLINE", id, SCUBA, "deferred")
    assert line["text"] == "the deadline is over (delivery.deadline)" and len(server.appended) == 1


def test_a_log_that_nobody_reads_does_not_keep_a_delivery_from_its_end(site):
    """The line is written by a signal handler: what stderr has no room for is dropped."""
    fake(site, APPEND=take)
    site.settings.update({"delivery.deadline": "2s", "delivery.hold_off": "300s", "imap.timeout": "60s", "log.to": "stderr"})
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while os.write(writer, b"x" * 65536):
            pass
    os.set_blocking(writer, True)
    configuration = site.write("oncedrop.conf", site.configuration())
    try:
        done = subprocess.run([lab_module.program(), "-c", configuration, "deliver", "-d", SCUBA], input=message(), check=False,
                              stdout=subprocess.PIPE, stderr=writer, env=site.environment(), cwd="/", timeout=60)
    finally:
        os.close(writer)
        os.close(reader)
    assert done.returncode == 75, done


def test_without_an_imap_server_both_have_a_line(site):
    fake(site)
    site.settings["imap.port"] = free_port()
    found = deliver(site, message(sender=LISA), SCUBA)
    assert [line["status"] for line in found] == ["deferred", "deferred"], found


# Why it was deferred, and by whom

@pytest.mark.postgres
def test_a_lock_that_is_held_names_its_holder(site, method):
    """A stranger's session, and another delivery; Postfix gets the same reply as ever."""
    fake(site)
    id = new_id()
    key = locks.key_of(site, id)
    conninfo = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)
    site.settings["log.to"] = "stderr"
    for name, said in (("psql", rf"psql (database user {lab_module.DELIVERY}, process %s)"),
                       ("oncedrop mail1[1] 4OTHER", "oncedrop mail1[1] 4OTHER")):
        holder = psycopg2.connect(f"{conninfo} application_name='{name}'")
        with contextlib.closing(holder):
            locks.take(site, holder, key)
            process = "1 on stranger" if method == "lease" else holder.info.backend_pid
            said = said % process if "%s" in said else said
            done = site.deliver(message(id=id), SCUBA)
            locks.leave(site, holder)
        answer = f"message <{id}> is being delivered elsewhere"
        assert done.out == f"4.3.0 {answer}\n"
        [line] = lines(done.err)
        assert line["text"] == f"{answer}; its lock is held by {said}"
    assert [line["status"] for line in lines(site.deliver(message(id=id), SCUBA).err)] == ["stored"]


@pytest.mark.postgres
@pytest.mark.parametrize("method", locks.OF_TRANSACTIONS, indirect=True)
@pytest.mark.usefixtures("method")
def test_a_lock_lost_behind_the_claim(site):
    """A stranger has taken it meanwhile: the time went into waiting for the lock, and the log says for whom."""
    fake(site)
    site.settings["lock.wait"] = "1s"
    site.database_proxy(locks.Taker(site))
    [line] = deliver(site, message(), SCUBA, "-q", "4LOST")
    assert line["status"] == "deferred" and "; its lock is held by a session without a name" in line["text"], line
    [row] = site.sql("SELECT lock_ms, outcome FROM oncedrop.attempt")
    assert row.outcome == "busy" and row.lock_ms >= 900, row


def test_a_fresh_claim_says_how_long_it_is_left_alone(site):
    fake(site, APPEND=swallow)
    site.settings["delivery.hold_off"] = "1000s"
    mail = message()
    deliver(site, mail, SCUBA)
    age(site, "claimed_at", seconds=300)
    [line] = deliver(site, mail, SCUBA)
    found = re.search(r"or was when its delivery died: claimed (\d+) s ago, left alone for another (\d+) s$", line["text"])
    assert found and 300 <= int(found[1]) <= 900 and 999 <= int(found[1]) + int(found[2]) <= 1001, line


def test_a_pipe_that_is_cut_at_the_last_moment(site):
    """The IMAP server is ready for the message when its reader goes: it is not stored, and the log says why."""
    read, write = os.pipe()

    def close(client, _tag, _arguments):
        os.close(read)
        client.send("+ go on")
        client.line()
    fake(site, APPEND=close)
    site.settings["log.to"] = "stderr"
    path = site.write("oncedrop.conf", site.configuration())
    done = subprocess.run([lab_module.program(), "-c", path, "deliver", "-d", SCUBA, "-q", "4CUT"], input=message(),
                          stdout=write, stderr=subprocess.PIPE, env=site.environment(), check=False, timeout=300)
    os.close(write)
    assert done.returncode == 75
    [line] = lines(done.stderr.decode())
    assert (line["dsn"], line["text"]) == ("4.3.0", "Postfix has gone away: the message may be cut short")
    [one] = json.loads(site.run("show", "--json", "4CUT").out)["messages"]
    assert one["attempts"][0]["outcome"] == "tempfail" and not one["deliveries"][0]["complete"], one
    assert f"what came for <{SCUBA}> may have been cut short" in one["why"][-1]["text"], one


@pytest.mark.postgres
def test_a_settling_that_fails_is_found_by_its_queue_id(site):
    id = new_id()
    site.settings["log.to"] = "stderr"
    database = site.database_proxy()

    def lose(client, tag, arguments):
        FakeImap.read_append(client, arguments)
        database.close()
        client.send(f"{tag} OK [APPENDUID 7 1] done")
    fake(site, APPEND=lose)
    done = site.deliver(message(id=id), SCUBA, "-q", "4SETTLE")
    [warning] = [line for line in done.err.splitlines() if ": warning: " in line]
    assert f": warning: 4SETTLE: message-id=<{id}>: the result could not be recorded, trying once more" in warning, done
    assert [line["status"] for line in lines(done.err)] == ["deferred"]


def test_purge_has_a_line(site):
    fake(site)
    deliver(site, message(), SCUBA)
    site.sql("UPDATE oncedrop.message SET received_at = %s", (site.ledger.ago(days=40),))
    site.sql("UPDATE oncedrop.delivery SET last_at = %s", (site.ledger.ago(days=40),))
    said = "purge: 1 message older than 30d removed from the record"
    assert said not in site.run("purge", "--older-than", "30d", "--dry-run").err
    assert said in site.run("purge", "--older-than", "30d").err
    assert "removed" not in site.run("purge", "--older-than", "30d").err
