# SPDX-License-Identifier: ISC
"""Many messages through Postfix at its default concurrency: one copy in each mailbox, no bounces, nothing left over.

ONCEDROP_POSTFIX_MESSAGES says how many (200 for a thorough run, `make postfix`)."""

import collections
import concurrent.futures
import os
import random
import re
import time

import pytest
from lab.messages import message

pytestmark = pytest.mark.xdist_group("load")    # times are measured, so these tests must not run at the same time
MESSAGES = int(os.environ.get("ONCEDROP_POSTFIX_MESSAGES") or 20)
ACCOUNTS = 10


def use_sent_copies(postfix):
    """pipe and LMTP trust Postfix's information about the login."""
    postfix.site.settings["route.sent_copy"] = "authenticated"


def message_ids(postfix, address, mailbox="INBOX"):
    return collections.Counter(re.search(rb"\r\nMessage-ID: <([^>]+)>", raw)[1].decode()
                               for raw in postfix.messages(address, mailbox))


class Traffic:
    """Messages to 1 to 10 recipients, every third from a user who is logged in, and where each must be in the end."""

    def __init__(self, postfix, seed):
        self.postfix = postfix
        self.random = random.Random(seed)
        self.addresses = postfix.accounts(ACCOUNTS)
        self.inbox = {address: collections.Counter() for address in self.addresses}
        self.sent = {address: collections.Counter() for address in self.addresses}

    def new(self, number):
        recipients = self.random.sample(self.addresses, self.random.randint(1, ACCOUNTS))
        own = number % 3 == 0
        sender = self.random.choice(self.addresses) if own else "lisa@elsewhere.example"
        message_id = f"load.{number}.{self.postfix.domain}"
        for recipient in recipients:
            self.inbox[recipient][message_id] += 1
        if own:
            self.sent[sender][message_id] += 1
        mail = message(sender=sender, to=", ".join(recipients), id=message_id,
                       body="A line of text.\n" * self.random.choice((1, 100, 10000)))
        return {"message": mail, "recipients": recipients, "sender": sender, "login": sender if own else None,
                "submission": own and self.postfix.sent_copies}

    def send(self, count):
        mails = [self.new(number) for number in range(count)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda mail: self.postfix.send(**mail), mails))

    def check(self):
        for address in self.addresses:
            assert message_ids(self.postfix, address) == self.inbox[address], address
            assert message_ids(self.postfix, address, "Sent") == self.sent[address], address
        assert {entry.status for entry in self.postfix.entries()} <= {"sent", "deferred"}
        assert self.postfix.bounces() == []
        unfinished = self.postfix.site.sql("SELECT * FROM oncedrop.copy WHERE state <> 'stored'")
        assert unfinished == []


def wait_for_locks(postfix, wait):
    """No other time limit ends before that."""
    postfix.site.settings.update({"lock.wait": wait, "delivery.deadline": "300s", "delivery.hold_off": "310s",
                                  "imap.timeout": "60s"})


@pytest.mark.parametrize("wait", ["240s", "0s"])
def test_every_message_once_in_every_mailbox(postfix, wait):
    wait_for_locks(postfix, wait)
    use_sent_copies(postfix)
    postfix.configure()
    traffic = Traffic(postfix, wait)
    postfix.start()
    traffic.send(MESSAGES)
    postfix.wait_idle(60 + 3 * MESSAGES)
    deferred = sum(entry.status == "deferred" for entry in postfix.entries())
    if wait != "0s":
        assert postfix.queue() == []
        assert deferred == 0
    rounds = postfix.flush(60 + 3 * MESSAGES)
    print(f"{postfix.way}, wait {wait}: {MESSAGES} messages, {deferred} deferrals, flushed {rounds} times")
    traffic.check()


def send_to_ten(postfix, addresses):
    """Sends one message to ten recipients; returns the log's entries and the seconds until the last one."""
    started = time.monotonic()
    queue_id = postfix.send(message(), addresses)
    entries = postfix.wait_for(10, queue_id)
    return entries, time.monotonic() - started


def send_ten(postfix, addresses):
    """Sends ten messages at once, to one recipient each: no delivery waits for a lock. Returns the same."""
    known, started = len(postfix.entries()), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        list(pool.map(lambda address: postfix.send(message(), [address]), addresses))
    entries = postfix.wait_for(known + 10)
    return entries[known:], time.monotonic() - started


def test_ten_recipients_of_one_message_do_not_wait_for_a_retry(postfix):
    """Nor long for each other: two seconds, or on a slow machine three times what ten messages take, before or
    after."""
    wait_for_locks(postfix, "240s")
    postfix.configure()
    addresses = postfix.accounts(10)
    postfix.start()
    before, usual = send_ten(postfix, addresses)
    entries, seconds = send_to_ten(postfix, addresses)
    after, later = send_ten(postfix, addresses)
    print(f"{postfix.way}: ten recipients stored in {seconds:.2f} s, ten messages in {usual:.2f} and {later:.2f} s")
    assert [entry.status for entry in before + entries + after] == ["sent"] * 30
    assert seconds < max(2, 3 * usual, 3 * later)
    assert [len(postfix.messages(address)) for address in addresses] == [3] * 10


def test_ten_recipients_of_one_message_with_the_pure_try(postfix):
    addresses = postfix.accounts(10)
    postfix.start()
    entries, seconds = send_to_ten(postfix, addresses)
    deferred = [entry for entry in entries if entry.status == "deferred"]
    print(f"{postfix.way}, pure try: {len(deferred)} of ten deferred, in {seconds:.2f} s")
    assert {entry.status for entry in entries} <= {"sent", "deferred"}
    assert all(entry.dsn == "4.3.0" and "is being delivered elsewhere" in entry.text for entry in deferred)
    if postfix.way == "lmtp":
        assert deferred == []   # one transaction, one lock
    assert postfix.flush() <= 10
    assert [len(postfix.messages(address)) for address in addresses] == [1] * 10
