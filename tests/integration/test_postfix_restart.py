# SPDX-License-Identifier: ISC
"""Postfix is stopped in the middle of large messages: they arrive complete, and once.

ONCEDROP_POSTFIX_CYCLES says how often (30 for a thorough run, `make postfix`)."""

import contextlib
import os
import signal
import time

from lab.messages import message, on_the_wire
from lab.process import wait_until

CYCLES = int(os.environ.get("ONCEDROP_POSTFIX_CYCLES") or 4)
SIZE = 3000000


def large(number):
    line = f"Line of message {number}: " + "x" * 50 + "\n"
    return message(body=line * (SIZE // len(line)))


def state(pid):
    """The letter shown by ps(1), '' if the process is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return ""


def signal_all(pids, number):
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def caught(postfix):
    """Stops the current deliveries; returns them when one of them stands still. One of an earlier round may be about to
    end just then; with sanitizers its own leak checker stops it, which has the same executable."""
    agents = postfix.agents()
    signal_all(agents, signal.SIGSTOP)
    wait_until(lambda: all(state(pid) not in ("R", "S", "D") for pid in agents), "they stand still", 30)
    if any(state(pid) == "T" for pid in agents):
        return agents
    signal_all(agents, signal.SIGCONT)
    return None


def begun(send, found):
    """Returns the result of found() once a delivery has begun; sends another message if the earlier ones were too quick
    for us."""
    for _ in range(5):
        send()
        with contextlib.suppress(TimeoutError):
            return wait_until(found, "a delivery has begun", 10)
    raise TimeoutError("no delivery was seen to begin")


def stop_in_the_middle(postfix, send, how):
    """Catches a delivery before it has read the message, and lets it continue when Postfix is gone."""
    stopped = begun(send, lambda: caught(postfix))
    time.sleep(0.2)     # the pipe fills up
    postfix.end(how)
    signal_all(stopped, signal.SIGCONT)


def stop_somewhere(postfix, send, how, delay):
    begun(send, postfix.agents)
    time.sleep(delay)
    postfix.end(how)


def test_no_message_is_cut_and_none_comes_twice(postfix):
    stop_again_and_again(postfix)


def stop_again_and_again(postfix):
    site = postfix.site
    site.settings.update({"lock.wait": "2s", "delivery.deadline": "10s", "delivery.hold_off": "10100ms"})
    postfix.configure()
    addresses = postfix.accounts(2)
    postfix.start()
    mails = []

    def send():
        mails.append(large(len(mails)))
        postfix.send(mails[-1], addresses)
    for cycle in range(CYCLES):
        how = "abort" if cycle % 4 < 2 else "stop"
        if cycle % 2 == 0:
            stop_in_the_middle(postfix, send, how)
        else:
            stop_somewhere(postfix, send, how, cycle * 0.01)
        wait_until(lambda: not postfix.agents(), "every delivery has come to its end", 30)
        for address in addresses:
            check_whole(postfix, address, mails)
        postfix.start()
    postfix.flush(60 + 10 * CYCLES)
    assert {entry.status for entry in postfix.entries()} <= {"sent", "deferred"}
    assert postfix.bounces() == []
    for address in addresses:
        assert check_whole(postfix, address, mails) == sorted(on_the_wire(mail) for mail in mails)


def check_whole(postfix, address, mails):
    """Every message in a mailbox is one of these, to its last byte; returns them in order."""
    whole = {on_the_wire(mail) for mail in mails}
    found = sorted(raw[raw.index(b"From: lisa@"):] for raw in postfix.messages(address))
    for raw in found:
        assert raw in whole or raw.removesuffix(b"\r\n") in whole, f"cut to {len(raw)} bytes: …{raw[-100:]}"
    assert len(set(found)) == len(found), "a message is there twice"
    return found
