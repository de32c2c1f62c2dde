# SPDX-License-Identifier: ISC
"""Replay of what is on record: nothing is written. A message that is not plainly stored and recorded is delivered, in each
test after some messages that are.

Seen to fail with: a message that counts as known if its first recipient has it, before its delivery is finished, or before it is known to be
whole; and what is never recorded again."""

import json
import os

import pytest
from lab.messages import message, new_id

MANY = 3    # known messages before the one that matters


class Archive:
    """Files for two accounts: MANY that are known, and then one more."""

    def __init__(self, site, last=None):
        self.site = site
        self.scuba, self.doug = site.account("scuba"), site.account("doug")
        self.directory = os.path.join(site.directory, "archive")
        os.mkdir(self.directory)
        for number in range(MANY):
            self.write(number, message(subject="Grüße", headers="MIME-Version: 1.0\n"))
        self.last = last or message()

    def write(self, number, mail):
        with open(os.path.join(self.directory, f"{number}.eml"), "wb") as file:
            file.write(mail)

    def add_last(self):
        self.write(MANY, self.last)

    def replay(self, *recipients, exit=0):
        """The statuses of each file's recipients, in the order of the files."""
        to = [word for recipient in recipients or (self.scuba, self.doug) for word in ("-d", recipient)]
        done = self.site.run("replay", "-j", "1", "--json", *to, self.directory)
        assert done.exit == exit, done
        return [[one["status"] for one in answer["recipients"]] for answer in map(json.loads, done.out.splitlines())]

    def tries(self):
        """What is recorded of each delivery, and how many rows the history has."""
        return (self.site.sql("SELECT message, recipient, attempts, outcome FROM oncedrop.delivery"
                              " ORDER BY message, recipient"),
                self.site.value("SELECT count(*) FROM oncedrop.attempt"))


ALL_KNOWN = [["duplicate", "duplicate"]] * MANY


@pytest.fixture
def archive(site):
    site.settings["route.sent_copy"] = "off"
    return Archive(site)


def test_what_is_on_record_is_not_recorded_again(archive):
    assert archive.replay() == [["stored", "stored"]] * MANY
    before = archive.tries()
    assert archive.replay() == ALL_KNOWN
    assert archive.tries() == before
    assert archive.site.count(archive.scuba) == MANY


def test_a_message_known_for_one_recipient_only(archive):
    archive.add_last()
    archive.replay(archive.scuba)
    os.unlink(os.path.join(archive.directory, f"{MANY}.eml"))
    archive.replay()
    archive.add_last()
    assert archive.replay() == ALL_KNOWN + [["duplicate", "stored"]]
    assert [archive.site.count(account) for account in (archive.scuba, archive.doug)] == [MANY + 1, MANY + 1]


def test_other_content_with_a_known_message_id(site):
    site.settings["route.sent_copy"] = "off"
    id = new_id()
    archive = Archive(site, message(id=id, body="Another.\n"))
    archive.write(0, message(id=id))
    archive.replay()
    archive.add_last()
    assert archive.replay() == ALL_KNOWN + [["stored", "stored"]]


def test_another_address_of_the_same_mailbox(archive):
    """Is recorded, though its copy is there."""
    archive.replay(archive.scuba)
    name, _, domain = archive.scuba.partition("@")
    assert archive.replay(archive.scuba, f"{name}+list@{domain}") == ALL_KNOWN
    assert archive.site.value("SELECT count(*) FROM oncedrop.delivery") == 2 * MANY


@pytest.mark.parametrize("state", ["pending", "failed"])
def test_a_copy_that_is_not_stored(archive, state):
    archive.add_last()
    archive.replay()
    archive.site.sql("UPDATE oncedrop.copy SET state = %s, uid = NULL, stored_at = NULL WHERE account = %s AND message ="
                     " (SELECT message FROM (SELECT max(message) AS message FROM oncedrop.copy) last)", (state, archive.doug))
    assert archive.replay() == ALL_KNOWN + [["duplicate", "stored"]]


def test_a_delivery_that_is_not_finished_is_finished(archive):
    archive.replay()
    archive.site.sql("UPDATE oncedrop.delivery SET finished_at = NULL, outcome = 'claimed' WHERE recipient = %s", (archive.doug,))
    assert archive.replay() == ALL_KNOWN
    assert archive.site.value("SELECT count(*) FROM oncedrop.delivery WHERE finished_at IS NULL OR outcome = 'claimed'") == 0


def test_that_the_message_is_whole_is_recorded(archive):
    """Another recipient of it may have died on the way: `resume` delivers to that one only if the message is known to be whole."""
    archive.replay()
    archive.site.sql("UPDATE oncedrop.delivery SET complete = %s", (False,))
    assert archive.replay() == ALL_KNOWN
    assert archive.site.value("SELECT count(*) FROM oncedrop.delivery WHERE NOT complete") == 0


def test_what_was_recorded_a_day_ago_is_recorded_again(archive):
    """So that purge keeps it."""
    archive.replay()
    archive.site.ledger.older("delivery", "finished_at", "last_at", hours=23)
    before = archive.tries()
    archive.replay()
    assert archive.tries() == before
    archive.site.ledger.older("delivery", "finished_at", "last_at", hours=25)
    assert archive.replay() == ALL_KNOWN
    assert {row.attempts for row in archive.tries()[0]} == {2}


def test_a_sent_copy_that_is_missing(site):
    site.settings["route.sent_copy"] = "from"
    lisa = site.account("lisa")
    archive = Archive(site, message(sender=lisa))
    for number in range(MANY):
        archive.write(number, message(sender=lisa))
    archive.add_last()
    archive.replay()
    assert site.count(lisa, "Sent") == MANY + 1
    before = archive.tries()
    archive.replay()
    assert archive.tries() == before
    site.sql("UPDATE oncedrop.copy SET state = 'pending', uid = NULL, stored_at = NULL WHERE role = 'sent' AND message ="
             " (SELECT message FROM (SELECT max(message) AS message FROM oncedrop.copy) last)")
    assert archive.replay() == ALL_KNOWN + [["duplicate", "duplicate"]]
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE role = 'sent' AND state = 'stored'") == MANY + 1
    assert site.count(lisa, "Sent") == MANY + 1
