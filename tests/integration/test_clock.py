# SPDX-License-Identifier: ISC
"""The clock is set while a delivery has left a claim behind: back, so that the claim is from the future, or forwards.

Seen to fail with: a claim from the future left alone until that time; a hold-off that the database's clock alone ends; the time
of the first attempt by that clock alone; a negative age."""

import datetime

import expect
import pytest
from lab import locks
from lab.messages import message
from test_operator import answers
from test_second_try import SCUBA, fake, refuse

HOUR = 3600
HOLD_OFF = 300      # seconds


@pytest.fixture
def left(site):
    """A delivery that died has left a claim behind, and the copy is there: account, message."""
    site.settings["delivery.hold_off"] = f"{HOLD_OFF}s"
    account, mail = site.account(), message()
    expect.stored(site.deliver(mail, account))
    site.ledger.claim(seconds=0)
    return account, mail


def attempt_at(site):
    return site.value("SELECT claimed_at FROM oncedrop.copy")


def clock_was_set(site, seconds):
    """The ledger's clock, forwards by so much: all that it recorded is as much older."""
    site.ledger.older("copy", "claimed_at", "first_at", seconds=seconds)
    us = seconds * 1_000_000
    site.sql("UPDATE oncedrop.copy SET boot_us = boot_us - %s, host_us = host_us - %s", (us, us))


@pytest.mark.parametrize("ahead", [HOUR, 10 * 366 * 24 * HOUR])
def test_a_claim_from_the_future_ends_one_hold_off_after_it_was_seen(site, left, ahead):
    account, mail = left
    clock_was_set(site, -ahead)
    before = site.ledger.now()
    expect.deferred(site.deliver(mail, account), r"4\.3\.0", "being delivered elsewhere", f"left alone for another {HOLD_OFF} s")
    assert before <= attempt_at(site) <= site.ledger.now()
    assert site.value("SELECT first_at FROM oncedrop.copy") <= site.ledger.now()
    seen = attempt_at(site)
    site.ledger.age(seconds=HOLD_OFF - 60)
    expect.held(site.deliver(mail, account))
    assert attempt_at(site) == seen - datetime.timedelta(seconds=HOLD_OFF - 60), "only the first one writes"
    site.ledger.age(seconds=61)
    expect.stored(site.deliver(mail, account))
    assert site.count(account) == 1


def test_what_is_from_the_future_has_no_age(site, left):
    clock_was_set(site, -HOUR)
    site.ledger.older("delivery", "first_at", seconds=-HOUR)
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL")
    assert [row["age"] for row in answers(site, "locks")] == [0]
    assert answers(site, "stats")["oldest_unfinished"] == 0


def test_a_dry_run_leaves_it_as_it_is(site, left):
    account, mail = left
    clock_was_set(site, -HOUR)
    before = attempt_at(site)
    done = site.run("replay", "--dry-run", "-f", "a@b.example", "-d", account, site.write("mail.eml", mail.decode()))
    assert done.exit == 75 and f"for another {HOLD_OFF} s" in " ".join(done.out.split()), done
    assert attempt_at(site) == before


def test_a_jump_forwards_does_not_end_a_hold_off(site, left):
    """Not while the machine that made the claim, or the hosts' clocks, show that no time has passed."""
    account, mail = left
    clock_was_set(site, HOUR)
    expect.held(site.deliver(mail, account))
    boot = site.value("SELECT boot FROM oncedrop.copy")
    site.sql("UPDATE oncedrop.copy SET boot = boot - 1, host = 'another.example'")
    expect.held(site.deliver(mail, account))
    site.sql("UPDATE oncedrop.copy SET boot = %s, host_us = NULL", (boot,))
    expect.held(site.deliver(mail, account))
    site.ledger.age(seconds=HOLD_OFF)
    expect.stored(site.deliver(mail, account))
    assert site.count(account) == 1


def test_a_jump_back_and_forwards_does_not_either(site, left):
    account, mail = left
    clock_was_set(site, -HOUR)
    expect.held(site.deliver(mail, account))
    clock_was_set(site, HOUR)
    expect.held(site.deliver(mail, account))


def test_without_another_clock_the_database_s_counts(site, left):
    """As where the machine has no boot_id, and on hosts whose clocks differ."""
    account, mail = left
    clock_was_set(site, HOUR)
    site.sql("UPDATE oncedrop.copy SET boot = NULL, boot_us = NULL, host_us = %s", (-10 * HOUR * 1_000_000,))
    expect.stored(site.deliver(mail, account))
    assert site.count(account) == 1


@pytest.mark.postgres
def test_a_lease_from_the_future_is_nobodys(site):
    locks.agree(site, "lease")
    account, mail, id = site.account(), message(id="lease@clock.example"), "lease@clock.example"
    key = locks.key_of(site, id)
    site.sql("INSERT INTO oncedrop.lease (key, owner, taken_at, expires_at, host, pid, session)"
             " VALUES (%s, 1, now() + interval '1 hour', now() + interval '62 minutes', 'h', 1, 's')", (key,))
    expect.stored(site.deliver(mail, account))
    assert site.count(account) == 1


def test_one_refusal_after_a_jump_is_not_final(site):
    fake(site, APPEND=refuse("NO [LIMIT] too many"))
    mail = message()
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    clock_was_set(site, 2 * HOUR)
    expect.deferred(site.deliver(mail, SCUBA), r"4\.6\.0")
    done = site.deliver(mail, SCUBA)
    assert done.exit not in (0, 75) and expect.one_line(done).startswith("5.6.0"), done
