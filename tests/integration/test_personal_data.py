# SPDX-License-Identifier: ISC
"""export and forget: what the ledger has about one address, and its removal, after which nothing is found by it, while no
delivery that Postfix may still repeat is stored twice."""

import datetime
import json
import os
import signal
import stat

import expect
import pytest
from lab import locks
from lab.ledger import MARIADB, engine
from lab.messages import message, new_id, on_the_wire
from lab.process import wait_until
from test_expire import age, defer
from test_operator import lock_of

ADA = "ada.lovelace@elsewhere.example"


def export(site, address, *options):
    done = site.run("export", *options, address)
    assert done.exit == 0 and not done.err, done
    return [json.loads(line) for line in done.out.splitlines()]


def exported_ids(site, address):
    return [one["message_id"] for one in export(site, address)]


def forget(site, address, exit=0):
    done = site.run("forget", "--yes", address)
    assert done.exit == exit, done
    return done.out


def dump(site, *without):
    """Every value of every table, as text."""
    tables = {}
    for table, columns in site.ledger.columns().items():
        if table not in without:
            rows = site.sql("SELECT {} FROM oncedrop.{}".format(", ".join(map('"{}"'.format, columns)), table))
            tables[table] = sorted(str([bytes(one) if isinstance(one, memoryview) else one for one in row]) for row in rows)
    return tables


def of_messages(site):
    """Like dump(), of what is recorded of messages."""
    return dump(site, "counter_bucket", "counter", "server", "lease")


def left(site):
    return {row.message_id for row in site.sql("SELECT message_id FROM oncedrop.message")}


def deliver_roles(site):
    """A message for each role that the address can have, and one that has nothing to do with it: {role: Message-ID}."""
    scuba, ids = site.account("scuba"), {}
    for role, sender, options, fields in (
            ("envelope sender", ADA.upper(), [], {}),
            ("from", "x@y", [], {"sender": f"Ada <{ADA.capitalize()}>"}),
            ("to", "x@y", [], {"to": ADA}),
            ("cc", "x@y", [], {"headers": f"Cc: Ada <{ADA}>\n"}),
            ("original recipient", "x@y", ["-a", ADA], {}),
            ("nobody", "x@y", [], {})):
        ids[role] = new_id()
        expect.stored(site.deliver(message(id=ids[role], **fields), scuba, *options, sender=sender))
    return ids


def test_export_finds_each_role(site):
    ids = deliver_roles(site)
    assert exported_ids(site, ADA) == [id for role, id in ids.items() if role != "nobody"]
    assert exported_ids(site, f"<{ADA.upper()}>") == exported_ids(site, ADA)
    assert len(exported_ids(site, site.value("SELECT min(recipient) FROM oncedrop.delivery"))) == len(ids)


def test_without_the_header_from_is_still_recorded(site):
    site.settings["record.level"] = "envelope"
    expect.stored(site.deliver(message(sender=f"Ada <{ADA}>"), site.account(), sender="x@y"))
    [one] = export(site, ADA)
    assert (one["from"], one["addresses"], one["parts"]) == (ADA, [], [])


def test_an_account_is_found_by_its_copies(site):
    """Also the one of a Sent copy, and by another name than an address."""
    lisa, scuba, id = site.account("lisa"), site.account("scuba"), new_id()
    expect.stored(site.deliver(message(sender=lisa, id=id), scuba, sender=lisa))
    [one] = export(site, lisa)
    assert [(copy["account"], copy["role"]) for copy in one["copies"]] == [(lisa, "sent")] and one["deliveries"] == []
    [one] = export(site, scuba)
    assert [(copy["account"], copy["role"]) for copy in one["copies"]] == [(scuba, "inbox")]
    site.sql("UPDATE oncedrop.copy SET account = 'lis' WHERE role = 'sent'")
    assert exported_ids(site, "Lis") == [id]


def test_what_is_exported(site):
    """The other recipient is not disclosed."""
    scuba, doug, mail = site.account("scuba"), site.account("doug"), message(subject="Grüße", body="Blau — 蓝\n")
    for recipient in (scuba, doug):
        expect.stored(site.deliver(mail, recipient, "-q", "4abcDEF", sender=ADA))
    [one] = export(site, scuba)
    assert one.keys() == {"id", "message_id", "identity", "digest", "sender", "from", "subject", "date", "size",
                          "in_reply_to", "references", "received_at", "addresses", "parts", "deliveries", "attempts", "copies"}
    assert (one["sender"], one["subject"], one["references"]) == (ADA, "Grüße", [])
    assert [part["text"].strip() for part in one["parts"]] == ["Blau — 蓝"]
    assert [row["recipient"] for row in one["deliveries"]] == [row["recipient"] for row in one["attempts"]] == [scuba]
    assert [row["account"] for row in one["copies"]] == [scuba] and one["attempts"][0]["queue_id"] == "4abcDEF"
    assert doug not in json.dumps(one)


def test_nothing_is_recorded(site):
    expect.stored(site.deliver(message(), site.account(), sender=""))
    for command in ("export", "forget"):
        done = site.run(command, "nobody@example.org")
        assert done.exit == 1 and "nothing is recorded about nobody@example.org" in done.err and not done.out, done
        for wrong in ("", "<>"):    # the sender of every bounce
            done = site.run(command, wrong)
            assert done.exit == 64 and "ADDRESS must be" in done.err and not done.out, done


def test_raw_files_are_the_recorded_bytes(site):
    site.settings["record.level"] = "raw"
    scuba, mails = site.account(), [message(body="x" * 3_000_000 + "\0\xff\n"), message()]
    for mail in mails:
        expect.stored(site.deliver(mail, scuba))
    site.settings["record.level"] = "text"
    expect.stored(site.deliver(message(), scuba))
    directory = os.path.join(site.directory, "raw")
    found = export(site, scuba, "--raw", directory)
    assert [one["raw"] for one in found] == [f"{found[0]['digest']}.eml", f"{found[1]['digest']}.eml", None]
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o700 and len(os.listdir(directory)) == 2
    for one, mail in zip(found, mails):
        path = os.path.join(directory, one["raw"])
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        with open(path, "rb") as file:
            assert file.read() == on_the_wire(mail)
    os.chmod(directory, 0o755)
    done = site.run("export", "--raw", directory, scuba)
    assert stat.S_IMODE(os.stat(directory).st_mode) == 0o755    # it may be /etc
    assert done.exit == 73 and "new or empty" in done.err and not done.out, done


def test_forget_is_a_dry_run(site):
    deliver_roles(site)
    age(site, days=10)
    before = dump(site)
    for options in ([], ["--dry-run"]):
        done = site.run("forget", *options, ADA)
        assert done.exit == 0 and done.out.startswith("5 messages would be removed from the record\n"), done
        assert "--yes" in done.out
    assert site.run("forget", "--yes", "--dry-run", ADA).exit == 64
    assert dump(site) == before


def test_all_traces_are_removed(site):
    """What others have recorded stays, as do the mailboxes; the log does not name whom it is about."""
    site.settings["record.level"] = "raw"
    scuba, ids = site.account("scuba"), deliver_roles(site)
    expect.stored(site.deliver(message(sender=ADA, subject="Xylophone", body="Zeppelin\n"), scuba, sender=ADA))
    age(site, days=10)
    assert "Xylophone" in str(dump(site)) and "lovelace" in str(dump(site)).lower()
    done = site.run("forget", "--yes", ADA, options=["-o", "log.to=stderr"])
    assert done.exit == 0 and done.out == "6 messages removed from the record\n", done
    assert "6 messages removed" in done.err and "lovelace" not in done.err
    assert left(site) == {ids["nobody"]}
    for word in ("lovelace", "xylophone", "zeppelin", ids["cc"]):
        assert word not in str(dump(site)).lower()
    assert site.count(scuba) == 7 and json.loads(site.run("stats", "--json").out)["messages"] == 1
    assert site.run("export", ADA).exit == site.run("forget", "--yes", ADA).exit == 1


def test_a_young_message_keeps_what_a_retry_needs(site):
    """However it comes in again, it is not stored twice; once it is old, it goes."""
    scuba, mail = site.account(), message()
    expect.stored(site.deliver(mail, scuba))
    age(site, days=6, hours=23)
    before = of_messages(site)
    said = forget(site, scuba, exit=75)
    assert said.startswith("0 messages removed") and "1 message is too young" in said, said
    assert of_messages(site) == before
    at = datetime.datetime.strptime(said.split("run it again after ")[1].strip(), "%Y-%m-%dT%H:%M:%SZ")
    assert 0 < (at - site.ledger.now().replace(tzinfo=None)).total_seconds() <= 3600
    expect.duplicate(site.deliver(mail, scuba))
    done = site.run("replay", "-d", scuba, site.write("mail", mail.decode()))
    assert done.exit == 0 and site.count(scuba) == 1, done
    assert "too young" in forget(site, scuba, exit=75)      # since it was tried now
    age(site, days=8)
    forget(site, scuba)
    assert left(site) == set()


def test_an_unfinished_message_stays(site):
    """However old. Postfix, or resume, delivers it as if nothing had happened."""
    site.settings["record.level"] = "raw"
    scuba, mail = site.account(), message()
    defer(site, mail, scuba)
    age(site, days=9)
    before = of_messages(site)
    said = forget(site, scuba, exit=75)
    assert "1 message is unfinished" in said and of_messages(site) == before
    assert site.run("resume").exit == 0 and site.count(scuba) == 1
    age(site, days=9)
    forget(site, scuba)
    assert left(site) == set()
    assert site.run("resume").exit == 0 and site.count(scuba) == 1      # nothing is left to finish


@pytest.mark.usefixtures("method")
def test_a_message_that_is_being_delivered_stays(site):
    scuba, ids = site.account(), [new_id(), new_id()]
    for id in ids:
        expect.stored(site.deliver(message(id=id), scuba))
    age(site, days=9)
    with locks.held(site, lock_of(site, ids[0])):
        said = forget(site, scuba, exit=75)
    assert said == "1 message removed from the record\n1 message is being delivered: run it again\n", said
    assert left(site) == {ids[0]}
    assert forget(site, scuba) == "1 message removed from the record\n"


def test_interrupted_and_run_again(site):
    """A batch is removed as a whole, or not at all."""
    site.ledger.fill(3000, 90)
    site.sql("UPDATE oncedrop.delivery SET finished_at = last_at")
    site.sql("UPDATE oncedrop.copy SET state = 'stored'")
    age(site, days=9)
    count = "SELECT count(*) FROM oncedrop.message"
    process = site.start("forget", "--yes", "lisa@elsewhere.example")
    wait_until(lambda: site.value(count) < 3000, "a batch is removed")
    process.signal(signal.SIGKILL)
    process.finish()
    site.ledger.wait_for_no_session()
    assert site.value(count) % 500 == 0
    for table in ("address", "part", "raw", "delivery", "copy"):
        assert site.value(f"SELECT count(*) FROM oncedrop.{table} WHERE message NOT IN (SELECT id FROM oncedrop.message)") == 0
    assert site.run("forget", "--yes", "lisa@elsewhere.example").exit in (0, 1)
    assert site.value(count) == 0


def test_only_that_address(site):
    """Letters that look alike are other ones, and an address is more than its beginning."""
    ada, other, adam = map(site.account, ("ada", "other", "adam"))
    for account in (ada, other, adam):
        expect.stored(site.deliver(message(to=account), account))
    alike = ada.replace("a", "\u00e4", 1).encode() if engine() == MARIADB else ada.replace("a", "\u00e4", 1)
    of = "message = (SELECT message FROM (SELECT message FROM oncedrop.delivery WHERE recipient = %s) d)"
    site.sql(f"UPDATE oncedrop.copy SET account = %s WHERE {of}", (alike, other))
    site.sql("UPDATE oncedrop.delivery SET account = %s WHERE recipient = %s", (alike, other))
    age(site, days=9)
    assert forget(site, ada) == "1 message removed from the record\n" and len(left(site)) == 2
