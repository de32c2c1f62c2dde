# SPDX-License-Identifier: ISC
"""Workers of the service hand messages to keepers of the accounts' sessions.

Seen to fail with: every message delivered by the worker that received it; a message that waits for a keeper that is busy; a keeper
that begins what was taken back; a message handed over without its queue id; a keeper's death taken for an answer."""

import os
import signal

from lab.fake_imap import FakeImap
from lab.lmtp import stored, stuffed
from lab.messages import message
from lab.process import wait_until
from lab.service import Service

WORKERS = 2


def keeper(address):
    """As g_str_hash has it."""
    value = 5381
    for byte in address.encode():
        value = (value * 33 + byte) & 0xffffffff
    return value % WORKERS


def addresses(which, count):
    """So many addresses that one keeper has."""
    found = (f"{name}@example.org" for name in map(str, range(1000)))
    return [address for address in found if keeper(address) == which][:count]


class Stalling(FakeImap):
    """Stores at once, but not for some accounts, until it is told to."""

    def __init__(self, *accounts):
        super().__init__({"APPEND": self.append})
        self.accounts, self.waiting, self.stalls = accounts, [], True

    def append(self, client, tag, arguments):
        if self.stalls and any(account.encode() in client.credentials.encode() for account in self.accounts):
            self.waiting.append(client)
            wait_until(lambda: not self.stalls, "it may go on")
        self.do_append(client, tag, arguments)


def one(site, imap, **more):
    site.use(imap)
    site.settings.update({"imap.port": imap.port, "imap.tls": "none", "imap.master_user": None, "route.sent_copy": "off", **more})
    return imap


def test_each_account_has_one_session(site):
    """Whichever connection its mail comes by."""
    imap = one(site, FakeImap())
    service = Service(site, workers=WORKERS)
    clients = [service.connect() for _ in range(WORKERS)]
    accounts = addresses(0, 3) + addresses(1, 3)
    for account in accounts:
        for client in clients * 2:
            stored(client.deliver(message(), account)[0])
    assert imap.accepted == len(accounts)
    assert len(imap.appended) == 4 * len(accounts)


def test_nobody_waits_for_a_keeper_that_is_busy(site):
    slow, other = addresses(0, 2)
    imap = one(site, Stalling(slow))
    service = Service(site, workers=WORKERS)
    first, second = service.connect(), service.connect()
    first.envelope([slow])
    first.send(stuffed(message()))
    wait_until(lambda: imap.waiting, "it stalls")
    for _ in range(3):
        stored(second.deliver(message(), other)[0])
    imap.stalls = False
    stored(first.reply())
    assert len(imap.appended) == 4


def test_what_was_taken_back_is_not_begun(site):
    """The keeper finds it later."""
    slow, other = addresses(0, 2)
    imap = one(site, Stalling(slow))
    service = Service(site, workers=WORKERS)
    first, second = service.connect(), service.connect()
    first.envelope([slow])
    first.send(stuffed(message()))
    wait_until(lambda: imap.waiting, "it stalls")
    stored(second.deliver(message(), other)[0])
    imap.stalls = False
    stored(first.reply())
    for client in (first, second):
        for account in (slow, other):
            stored(client.deliver(message(), account)[0])
    assert len(imap.appended) == 6
    wait_until(lambda: service.log().count("to=<") >= 6, "all is in the log")
    assert service.log().count(f"to=<{other}>") == 3


def test_the_keeper_dies(site):
    """Whoever waits for it says so, and another try finds what it has begun."""
    slow, mail = addresses(0, 1)[0], message()
    imap = one(site, Stalling(slow), **{"delivery.deadline": "1s", "delivery.hold_off": "2s"})
    service = Service(site, workers=WORKERS)
    client = service.connect()
    client.envelope([slow])
    client.send(stuffed(mail))
    wait_until(lambda: imap.waiting, "it stalls")
    before = service.keepers()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    reply = client.reply()
    assert reply.code == 451 and "has ended" in reply.text
    imap.stalls = False
    wait_until(lambda: client.deliver(mail, slow)[0].code == 250, "it is stored", 60)
    wait_until(lambda: len(set(service.keepers()) - set(before)) == WORKERS, "other keepers")


def test_all_of_it_is_handed_over(site):
    imap = one(site, FakeImap())
    service = Service(site, workers=WORKERS)
    client = service.connect()
    for number, account in enumerate(addresses(0, 1) + addresses(1, 1)):
        mail = message(body="Grüße\n.dot\n\nÄ\n")
        assert client.command(f"XFORWARD IDENT=4Q{number}x").code == 250
        client.send(["MAIL FROM:<lisa@elsewhere.example> BODY=8BITMIME",
                     f"RCPT TO:<{account}> ORCPT=rfc822;Old.{number}@example.org", "DATA"])
        assert [reply.code for reply in client.replies(3)] == [250, 250, 354]
        client.send(stuffed(mail))
        stored(client.reply())
    assert site.sql("SELECT queue_id, original_recipient FROM oncedrop.delivery ORDER BY queue_id") == [
        (f"4Q{number}x", f"Old.{number}@example.org") for number in range(WORKERS)]
    first, second = (data.partition(b"\r\n\r\n")[2] for _, data in imap.appended)
    assert first == second == "Grüße\r\n.dot\r\n\r\nÄ\r\n".encode()


def test_what_does_not_fit_into_a_datagram(site):
    """Is delivered where it was received: a large message, and one with many recipients."""
    imap = one(site, FakeImap())
    client = Service(site, workers=WORKERS).connect()
    for which in range(WORKERS):
        stored(client.deliver(message(body="x" * 70000), addresses(which, 1)[0])[0])
        for count in (50, 51):
            for reply in client.deliver(message(), *addresses(which, count)):
                stored(reply)
    assert len(imap.appended) == WORKERS * (1 + 50 + 51)
