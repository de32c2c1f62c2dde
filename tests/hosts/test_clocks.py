# SPDX-License-Identifier: ISC
"""A host whose clock is an hour fast or slow. How long others wait after a delivery that died is counted by the
database's clock, and a deadline by one that is only counted from its start: neither notices. With a ledger in a file the
host's clock is the database's: it is set while a delivery has left a claim behind.

ONCEDROP_HOSTS=all takes both hosts and both directions; `make check-all` one.

Seen to fail with: the age of a claim by the host's clock (ledger_state.c: add_copies); with a file also: by the ledger's clock
alone; a claim from the future left alone until then."""

import os
import time

import flow
import pytest
from lab.ledger import SQLITE, engine
from lab.messages import message
from lab.process import find_program
from lab.proxy import SERVER, Proxy

ALL = os.environ.get("ONCEDROP_HOSTS") == "all"
DEADLINE, HOLD_OFF = 2, 600     # seconds
SLOW = 10                       # more, of a busy machine


def faketime():
    try:
        return find_program("faketime")
    except FileNotFoundError:
        return None


def wrong_by(fast):
    """Words before a program's: only the time of day is another, as after a clock was set. Not the times of files, nor the time
    since boot."""
    return ["env", "NO_FAKE_STAT=1", "DONT_FAKE_MONOTONIC=1", faketime(), "-f", fast]


pytestmark = pytest.mark.skipif(faketime() is None, reason="faketime is not installed")


def forget_answer(connection, side, data):
    """The message is stored, and the client never hears of it."""
    if side == SERVER and b"APPENDUID" in data:
        connection.fall_silent()
        return b""
    return data


@pytest.mark.parametrize("fast", ["+1h", "-1h"] if ALL else ["+1h"])
@pytest.mark.parametrize("whose", ["second", "first"] if ALL else ["second"])
def test_clock_is_wrong(site, whose, fast):
    """A delivery ends at its deadline; another host waits for the hold-off, and finds the message."""
    account = site.account()
    mail = message(to=account)
    proxy = site.use(Proxy(site.lab.dovecot.port, forget_answer))
    settings = {"imap__tls": "none", "delivery__deadline": f"{DEADLINE}s", "delivery__hold_off": f"{HOLD_OFF}s"}
    first, second = (flow.Host(name, site, wrong_by(fast) if name == whose else [], imap__port=port, **settings)
                     for name, port in (("first", proxy.port), ("second", site.lab.dovecot.port)))
    start = time.monotonic()
    status, text = first.deliver(mail, account)
    assert status == 75 and DEADLINE <= time.monotonic() - start < DEADLINE + SLOW, text
    [row] = site.sql("SELECT state, claimed_at FROM oncedrop.copy")
    assert row.state == "appending"
    assert engine() == SQLITE or abs((site.ledger.now() - row.claimed_at).total_seconds()) < 60
    status, text = second.deliver(mail, account)
    assert status == 75 and "left alone for another" in text, text
    site.ledger.age(seconds=HOLD_OFF)
    status, text = second.deliver(mail, account)
    assert status == 0 and "found there" in text, text
    status, text = first.deliver(mail, account)
    assert status == 0 and "duplicate" in text and site.count(account) == 1
