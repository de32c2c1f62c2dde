# SPDX-License-Identifier: ISC
"""restore: what the ledger has as stored, and an IMAP server that was set back to a backup has not, is added once; what may
have been deleted is not.

Seen to fail with: what was deleted restored; UIDNEXT, UIDVALIDITY, a missing mailbox or another message under the UID unseen;
copies that a killed run had claimed forgotten; --account or --since ignored; a message appended of which only the id is known;
a failed look taken for absence, or for that of all recipients; the Sent copy not reported; another mailbox taken for the recorded
one; the date of today; what is in its place recorded; no search after a cut-off APPEND; the lock ignored."""

import contextlib
import datetime
import json
import os
import re
import shutil
import signal

import expect
import pytest
from lab import lmtp
from lab.imap_server import must
from lab.messages import message, on_the_wire
from lab.process import free_port, wait_until


@pytest.fixture
def raw(site):
    """A site that records the bytes."""
    site.settings.update({"record.level": "raw", "delivery.hold_off": "201s", "delivery.deadline": "200s"})
    return site


class Backup:
    """Of accounts' mailboxes, as a backup of Dovecot's disk has them."""

    def __init__(self, site, *accounts):
        self.server = site.imap
        self.accounts = accounts
        self.path = site.lab.new_directory("backup", 0o755)
        for account in accounts:
            site.count(account)     # its mailbox is made when it is first asked for
        self.off(lambda account: shutil.copytree(self.mail(account), os.path.join(self.path, account)))

    def mail(self, account):
        return self.server.path("mail", account)

    def off(self, copy):
        """While the server is stopped."""
        self.server.stop()
        try:
            for account in self.accounts:
                copy(account)
        finally:
            self.server.launch()
            wait_until(self.server.is_up, "Dovecot is up again")

    def put_back(self):
        def put(account):
            shutil.rmtree(self.mail(account))
            shutil.copytree(os.path.join(self.path, account), self.mail(account))
            for directory, _, files in os.walk(self.mail(account)):
                for name in (".", *files):
                    os.chown(os.path.join(directory, name), self.server.user.pw_uid, self.server.user.pw_gid)
        self.off(put)


def delivered(site, account, count=1, mailbox="INBOX", **more):
    mails = [message(**more) for _ in range(count)]
    for mail in mails:
        expect.stored(site.deliver(mail, account, sender=more.get("sender")), mailbox)
    return mails


def contents(site, account, mailbox="INBOX"):
    return sorted(stored.raw for stored in site.messages(account, mailbox))


def wire(mails):
    return sorted(map(on_the_wire, mails))


def restored(done, exit=0, **counts):
    """The counts of the closing line; those not shown are 0."""
    assert done.exit == exit, done
    last = " ".join(re.split(r"(?m)^restore", done.out)[-1].split())
    for name in ("stored", "duplicate", "deleted", "missing", "deferred", "failed"):
        assert f" {counts.get(name, 0)} {name}" in last, done


def ledger_rows(site):
    return [site.sql(f"SELECT * FROM oncedrop.{table} ORDER BY 1, 2, 3") for table in ("copy", "delivery", "attempt")]


def kill_all(pid):
    """A process and its workers, as when the machine crashes."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        workers = file.read().split()
    for one in (pid, *workers):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(one), signal.SIGKILL)


def remove(site, account, mailbox="INBOX", which="1:*"):
    with site.imap.session(account) as session:
        must(session.select(mailbox))
        must(session.store(which, "+FLAGS", "\\Deleted"))
        must(session.expunge())


def test_what_the_server_lost_is_added_once(raw):
    lisa, scuba, doug = raw.account("lisa"), raw.account("scuba"), raw.account("doug")
    before = delivered(raw, scuba, 2, sender=lisa)
    doug_keeps = delivered(raw, doug)
    backup = Backup(raw, lisa, scuba)
    after = delivered(raw, scuba, 3, sender=lisa)
    backup.put_back()
    assert (contents(raw, scuba), raw.count(lisa, "Sent")) == (wire(before), 2)
    rows = ledger_rows(raw)
    restored(raw.run("restore", "--dry-run"), stored=6, duplicate=5)
    assert ledger_rows(raw) == rows and raw.count(scuba) == 2
    restored(raw.run("restore"), stored=6, duplicate=5)
    assert contents(raw, scuba) == wire(before + after)
    assert (raw.count(lisa, "Sent"), contents(raw, doug)) == (5, wire(doug_keeps))
    rows = ledger_rows(raw)
    restored(raw.run("restore"), duplicate=11)
    assert ledger_rows(raw) == rows, "what is in its place leaves no trace"
    assert raw.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0
    assert raw.value("SELECT count(*) FROM oncedrop.copy WHERE repeated > 0") == 6


def test_the_bytes_and_the_date_are_the_first_delivery_s(raw):
    scuba = raw.account()
    backup = Backup(raw, scuba)
    [mail] = delivered(raw, scuba, body="caf\u00e9 " + "x" * 2_000_000 + "\n")
    raw.sql("UPDATE oncedrop.message SET received_at = %s",
            (datetime.datetime(2020, 2, 2, 2, 2, 2, tzinfo=datetime.timezone.utc),))
    backup.put_back()
    restored(raw.run("restore"), stored=1)
    [stored] = raw.messages(scuba)
    assert stored.raw == on_the_wire(mail) and stored.internal_date.startswith("02-Feb-2020 02:02:02")


def test_what_was_deleted_stays_deleted_unless_asked_for(raw):
    scuba = raw.account()
    mails = delivered(raw, scuba, 2)
    remove(raw, scuba, which="1")
    rows = ledger_rows(raw)
    done = raw.run("restore", "--dry-run")
    restored(done, duplicate=1, deleted=1)
    assert "not in mailbox=INBOX any more" in " ".join(done.out.split())
    restored(raw.run("restore"), duplicate=1, deleted=1)
    assert raw.count(scuba) == 1 and ledger_rows(raw) == rows
    restored(raw.run("restore", "--include-deleted"), stored=1, duplicate=1)
    assert contents(raw, scuba) == wire(mails)


def test_new_mail_took_the_uids_of_what_was_lost(raw):
    """Before the restore a user got mail: a UID that is another message's now shows that the mailbox was set back."""
    scuba = raw.account()
    backup = Backup(raw, scuba)
    lost = delivered(raw, scuba, 3)
    backup.put_back()
    new = delivered(raw, scuba, 2)
    restored(raw.run("restore"), stored=3, duplicate=2)
    assert contents(raw, scuba) == wire(lost + new)


def test_a_mailbox_that_was_made_anew(raw):
    scuba = raw.account()
    backup = Backup(raw, scuba)
    raw.settings["route.inbox"] = "Work"
    lost = delivered(raw, scuba, 2, "Work")
    backup.put_back()
    assert "Work" not in raw.imap.mailboxes(scuba)
    restored(raw.run("restore"), stored=2)
    assert contents(raw, scuba, "Work") == wire(lost)
    raw.sql("UPDATE oncedrop.copy SET uidvalidity = uidvalidity - 1")
    remove(raw, scuba, "Work")
    restored(raw.run("restore"), stored=2)
    assert contents(raw, scuba, "Work") == wire(lost)


def test_only_one_account_and_only_since(raw):
    lisa, scuba, doug = raw.account("lisa"), raw.account("scuba"), raw.account("doug")
    backup = Backup(raw, lisa, scuba, doug)
    delivered(raw, scuba)
    raw.ledger.older("copy", "stored_at", hours=50)
    recent = delivered(raw, scuba, sender=lisa)
    delivered(raw, doug)
    backup.put_back()
    restored(raw.run("restore", "--account", scuba, "--since", "1d"), stored=1)
    assert contents(raw, scuba) == wire(recent)
    assert (raw.count(doug), raw.count(lisa, "Sent")) == (0, 0)
    restored(raw.run("restore", "--account", lisa), stored=1)
    assert (raw.count(lisa, "Sent"), raw.count(scuba)) == (1, 1)
    restored(raw.run("restore"), stored=2, duplicate=2)


def test_without_bytes_it_is_only_told_what_is_missing(raw):
    scuba = raw.account()
    raw.settings["record.level"] = "headers"
    backup = Backup(raw, scuba)
    delivered(raw, scuba, 2)
    restored(raw.run("restore"), duplicate=2)
    backup.put_back()
    rows = ledger_rows(raw)
    for words in (["--dry-run"], []):
        done = raw.run("restore", *words)
        restored(done, 65, missing=2)
        assert "its bytes are not recorded" in " ".join(done.out.split())
    assert raw.count(scuba) == 0 and ledger_rows(raw) == rows


def test_json(raw):
    lisa, scuba = raw.account("lisa"), raw.account("scuba")
    backup = Backup(raw, lisa)
    delivered(raw, scuba, sender=lisa)
    backup.put_back()
    done = raw.run("restore", "--json", "--dry-run")
    [said] = map(json.loads, done.out.splitlines())
    assert [(one["recipient"], one["account"], one["mailbox"], one["uid"], one["status"]) for one in said["recipients"]] == \
        [(scuba, scuba, "INBOX", 1, "duplicate"), ("", lisa, "Sent", 0, "stored")]
    assert done.exit == 0 and said["error"] is None and raw.count(lisa, "Sent") == 0


def test_a_mailbox_that_cannot_be_looked_into(raw):
    """What is not known to be missing is not added, and the ledger keeps it as stored."""
    scuba = raw.account()
    delivered(raw, scuba)
    rows = ledger_rows(raw)
    port, raw.settings["imap.port"] = raw.settings["imap.port"], free_port()
    for words in (["--dry-run"], [], ["--include-deleted"]):
        restored(raw.run("restore", *words), 75, deferred=1)
    assert ledger_rows(raw) == rows
    raw.settings["imap.port"] = port
    restored(raw.run("restore"), duplicate=1)


def test_one_mailbox_in_trouble_does_not_keep_the_others(raw):
    scuba, doug = raw.account("scuba"), raw.account("doug")
    backup = Backup(raw, scuba, doug)
    replies = lmtp.start(raw).deliver(message(), scuba, doug)
    assert [reply.code for reply in replies] == [250, 250]
    backup.put_back()
    os.rename(raw.imap.path("users", doug), raw.imap.path("users", "gone"))
    restored(raw.run("restore"), 75, stored=1, deferred=1)
    assert raw.count(scuba) == 1
    os.rename(raw.imap.path("users", "gone"), raw.imap.path("users", doug))
    wait_until(lambda: raw.run("restore").exit == 0, "Dovecot has noticed that the account is there")
    assert (raw.count(scuba), raw.count(doug)) == (1, 1)


def test_an_address_that_leads_elsewhere_now(raw):
    scuba = raw.account()
    backup = Backup(raw, scuba)
    delivered(raw, scuba)
    backup.put_back()
    raw.settings["route.inbox"] = "Elsewhere"
    done = raw.run("restore")
    restored(done, 75, deferred=1)
    assert "leads to" in done.out and "Elsewhere" not in raw.imap.mailboxes(scuba)


def test_killed_and_run_again(raw):
    scuba = raw.account()
    backup = Backup(raw, scuba)
    lost = delivered(raw, scuba, 12)
    backup.put_back()
    for there in (3, 7):
        run = raw.start("restore", "-j", "2")
        wait_until(lambda: raw.count(scuba) >= there, f"{there} are there")
        kill_all(run.process.pid)
        run.finish()
        raw.ledger.age(seconds=195, state="appending")
    assert raw.run("restore", "-j", "2").exit == 0
    assert contents(raw, scuba) == wire(lost)
    restored(raw.run("restore"), duplicate=12)


def test_killed_after_the_server_has_stored_it(raw):
    """Its result was not recorded: the next run searches, and adds nothing."""
    scuba = raw.account()
    backup = Backup(raw, scuba)
    lost = delivered(raw, scuba)
    backup.put_back()
    right = dict(raw.settings)
    raw.settings.update({"imap.tls": "none", "imap.port": raw.imap.port})
    runs = []

    def kill(_connection, side, data):
        if side == "server" and b"APPENDUID" in data:
            kill_all(wait_until(lambda: runs, "its process is known")[0].process.pid)
            return None
        return data
    raw.imap_proxy(kill)
    runs.append(raw.start("restore"))
    assert runs[0].finish().exit == -signal.SIGKILL
    raw.ledger.wait_for_no_session()
    assert raw.value("SELECT state FROM oncedrop.copy") == "appending"
    raw.settings = right
    raw.ledger.age(seconds=195, state="appending")
    restored(raw.run("restore"), stored=1)
    assert contents(raw, scuba) == wire(lost)


def test_what_a_killed_run_has_claimed_waits_for_its_hold_off(raw):
    """The others are restored meanwhile; then it says what it waits for."""
    scuba = raw.account()
    backup = Backup(raw, scuba)
    lost = delivered(raw, scuba, 3)
    backup.put_back()
    raw.ledger.claim(seconds=171, id=raw.value("SELECT min(id) FROM oncedrop.copy"))
    raw.sql("UPDATE oncedrop.copy SET repeated = 1 WHERE state = 'appending'")
    done = raw.run("restore")
    restored(done, stored=3)
    said = " ".join(done.err.split())
    assert "restore: 1 message is left, which another delivery claimed: waiting until" in said, done
    assert contents(raw, scuba) == wire(lost)


def test_several_at_once_beside_deliveries_of_the_same(raw):
    scuba = raw.account()
    backup = Backup(raw, scuba)
    lost = delivered(raw, scuba, 12)
    backup.put_back()
    runs = [raw.start("restore", "-j", "2") for _ in range(3)]
    deliveries = [raw.start_delivery(mail, scuba) for mail in lost for _ in range(2)]
    assert {delivery.finish().exit for delivery in deliveries} <= {0, 75}
    for run in runs:
        done = run.finish()
        assert done.exit == 0, done
    assert contents(raw, scuba) == wire(lost)


def two_contents(site, lisa):
    """With one Message-ID and one Sent copy, which is recorded for both."""
    for to, body in ((site.account("scuba"), "one\n"), (site.account("doug"), "two\n")):
        expect.stored(site.deliver(message(sender=lisa, id="variant@test.example", body=body), to, sender=lisa))
        site.sql("UPDATE oncedrop.copy SET state = 'pending' WHERE role = 'sent'")
        site.ledger.age(hours=1, role="sent")
    site.sql("UPDATE oncedrop.copy SET state = 'stored' WHERE role = 'sent'")


@pytest.mark.parametrize("words", [["restore"], ["restore", "-j", "2"]])
def test_a_sent_copy_that_stands_for_two_contents(raw, words):
    """It comes back once, and is reported."""
    lisa = raw.account("lisa")
    backup = Backup(raw, lisa)
    two_contents(raw, lisa)
    assert raw.value("SELECT count(*) FROM oncedrop.copy WHERE role = 'sent'") == 2 and raw.count(lisa, "Sent") == 1
    restored(raw.run(*words), duplicate=4)
    backup.put_back()
    assert raw.count(lisa, "Sent") == 0
    missing = json.loads(raw.run("list", "--missing", "--json").out)
    assert [(row["account"], row["mailbox"]) for row in missing] == [(lisa, "Sent")] * 2
    restored(raw.run("restore", "--dry-run"), stored=2, duplicate=2)
    restored(raw.run(*words), stored=1, duplicate=3)
    assert raw.count(lisa, "Sent") == 1
    assert json.loads(raw.run("list", "--missing", "--json").out) == []
    restored(raw.run(*words), duplicate=4)
    assert raw.count(lisa, "Sent") == 1


def test_a_sent_copy_is_not_restored_while_that_of_other_content_is_under_way(raw):
    """The server may still store it. The command waits."""
    lisa = raw.account("lisa")
    backup = Backup(raw, lisa)
    two_contents(raw, lisa)
    backup.put_back()
    raw.ledger.claim(seconds=171, role="sent", message=2)
    done = raw.run("restore")
    restored(done, stored=1, duplicate=2)
    assert "which another delivery claimed: waiting until" in " ".join(done.err.split()), done
    assert raw.count(lisa, "Sent") == 1


def test_verify_in_a_dry_run_looks_too(raw):
    lisa, scuba, doug = raw.account("lisa"), raw.account("scuba"), raw.account("doug")
    [mail] = delivered(raw, scuba, sender=lisa)
    path = raw.write("mail.eml", mail.decode())
    remove(raw, scuba)
    remove(raw, lisa, "Sent")
    rows = ledger_rows(raw)
    words = ["replay", "--verify", "-f", lisa, "-d", scuba, "-d", doug, path]
    done = raw.run("replay", "--dry-run", *words[1:])
    said = " ".join(done.out.split())
    assert "would be restored in mailbox=INBOX" in said and "would be restored in mailbox=Sent" in said, done
    assert "would be stored in mailbox=INBOX (a new mailbox" in said and " 3 stored, 0 duplicate" in said
    assert ledger_rows(raw) == rows and raw.count(scuba) == 0
    assert raw.run(*words).exit == 0
    said = " ".join(raw.run("replay", "--dry-run", *words[1:]).out.split())
    assert "found there" in said and " 0 stored, 3 duplicate" in said


@pytest.mark.parametrize("arguments", [["x"], ["--since"], ["--since", "soon"], ["-j", "0"], ["--force"]])
def test_wrong_usage(site, arguments):
    assert site.run("restore", *arguments).exit == 64
