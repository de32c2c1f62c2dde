# SPDX-License-Identifier: ISC
"""A Sent copy whose APPEND was cut off: the delivery that claimed it, and no other, is deferred until the result is
certain.

Seen to fail with the first recipient deferred instead of the one that claimed the copy (plan.c: plan_sent), and with no
recipient deferred (sent_waits never set). Also with the Sent copy appended whether or not it is held or there is time
(sent.c: sent_deliver). Also with a bounced owner left to wait for (owner_finished ignored); with the rows of other variants left
open; with a duplicate reported that could not be recorded."""

import threading

import expect
import pytest
from lab import lmtp, locks
from lab.messages import message
from lab.proxy import CLIENT, SERVER


def cut_sent(site, lisa, times=1):
    """A proxy that resets the session that appends the Sent copy, when the literal's last byte comes; not after NO, which
    makes the message certainly not stored. The settings make answers come soon, and hold-offs last longer than a test."""
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "5s",
                          "delivery.hold_off": "300s"})
    cut = []

    def watch(_connection, side, data):
        if side == CLIENT and b' APPEND "Sent"' in data:
            cut_now[0] = True
        if side == SERVER and b" NO [TRYCREATE]" in data:
            cut_now[0] = False
        if side == CLIENT and data.endswith(b"\n\r\n") and cut_now[0] and len(cut) < times:   # with the last byte
            cut.append(True)
            return None
        return data
    cut_now = [False]
    return site.imap_proxy(watch)


def over_hold_off(site):
    site.ledger.age(hours=1, state="appending")


def codes(site, mail, sender, *recipients):
    session = lmtp.start(site)
    return [reply.code for reply in session.deliver(mail, *recipients, sender=sender)]


def test_it_is_the_claiming_recipient_that_comes_again(site):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    cut_sent(site, lisa)
    mail = message(sender=lisa)
    assert codes(site, mail, lisa, scuba, doug) == [451, 250]
    assert site.count(scuba) == site.count(doug) == 1
    assert codes(site, mail, lisa, doug, scuba) == [250, 451]
    assert codes(site, mail, lisa, doug) == [250]
    assert codes(site, mail, lisa, scuba) == [451]
    over_hold_off(site)
    assert codes(site, mail, lisa, scuba) == [250]
    assert site.count(lisa, "Sent") == 1
    assert site.count(scuba) == site.count(doug) == 1


def test_deliver_too(site):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    cut_sent(site, lisa)
    mail = message(sender=lisa)
    assert site.deliver(mail, scuba, sender=lisa).exit == 75
    assert site.deliver(mail, doug, sender=lisa).exit == 0
    assert site.deliver(mail, scuba, sender=lisa).exit == 75
    over_hold_off(site)
    assert site.deliver(mail, scuba, sender=lisa).exit == 0
    assert [site.count(lisa, "Sent"), site.count(scuba), site.count(doug)] == [1, 1, 1]


def test_an_inbox_that_leaves_no_time(site):
    """So little of the deadline is left after its answer that one more unresponsive server would take the rest, including the
    time for settling."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "10s",
                          "delivery.deadline": "12s", "delivery.hold_off": "300s"})
    late = []

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not late:
            late.append(True)
            threading.Event().wait(5)
        return data
    site.imap_proxy(watch)
    mail = message(sender=lisa)
    expect.deferred(site.deliver(mail, scuba, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}", "delivery.deadline")
    assert late and [site.count(scuba), site.count(lisa, "Sent")] == [1, 0]
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    assert [site.count(scuba), site.count(lisa, "Sent")] == [1, 1]


@pytest.mark.postgres
def test_a_slow_claim_does_not_put_off_sent_for_ever(site):
    """Only Sent is left to be made, and each time nearly half of the deadline has passed before it is claimed."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        session.delete("Sent")
    site.sql("UPDATE oncedrop.copy SET state = 'pending', stored_at = NULL, uid = NULL WHERE role = 'sent'")
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL")
    site.settings.update({"imap.timeout": "13s", "delivery.deadline": "16s", "delivery.hold_off": "300s"})

    def watch(_connection, side, data):
        if side == CLIENT and locks.TRY[locks.method_of(site)] in data:
            threading.Event().wait(7)
        return data
    site.database_proxy(watch)
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    assert [site.count(scuba), site.count(lisa, "Sent")] == [1, 1]


@pytest.mark.postgres
@pytest.mark.usefixtures("method")
def test_a_sent_copy_alone_that_is_held_elsewhere_says_so(site):
    """Only Sent is left to be made, and another process takes the lock after its claim."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    expect.stored(site.deliver(mail, scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        session.delete("Sent")
    site.sql("UPDATE oncedrop.copy SET state = 'pending', stored_at = NULL, uid = NULL WHERE role = 'sent'")
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL")
    taker = locks.Taker(site)
    site.database_proxy(taker)
    expect.held(site.deliver(mail, scuba, sender=lisa))
    assert taker.has_taken and [site.count(scuba), site.count(lisa, "Sent")] == [1, 0]
    taker.leave()
    assert site.deliver_with_retries(mail, scuba, sender=lisa)[-1].exit == 0
    assert [site.count(scuba), site.count(lisa, "Sent")] == [1, 1]


@pytest.mark.postgres
@pytest.mark.usefixtures("method")
def test_nothing_is_appended_to_sent_without_the_lock(site):
    """Between the settling of the inbox and the Sent copy another process takes the lock."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"delivery.hold_off": "300s"})
    taker = locks.Taker(site, after=2)
    site.database_proxy(taker)
    mail = message(sender=lisa)
    expect.deferred(site.deliver(mail, scuba, sender=lisa), r"4\.\d\.\d", f"Sent copy of {lisa}", "claim was lost")
    assert taker.has_taken and [site.count(scuba), site.count(lisa, "Sent")] == [1, 0]
    taker.leave()
    assert site.deliver_with_retries(mail, scuba, sender=lisa)[-1].exit == 0
    assert [site.count(scuba), site.count(lisa, "Sent")] == [1, 1]


def test_an_owner_that_bounced_is_not_waited_for(site):
    """scuba is over quota and bounces, having claimed the Sent copy: doug, who is stored, is deferred for it."""
    lisa, doug = site.account("lisa"), site.account("doug")
    scuba = site.account("scuba", quota=1024)
    cut_sent(site, lisa)
    site.settings["delivery.overquota"] = "bounce"
    mail = message(sender=lisa, body="A line of text.\n" * 200)
    assert codes(site, mail, lisa, scuba, doug) == [552, 451]
    assert codes(site, mail, lisa, doug) == [451]
    over_hold_off(site)
    assert codes(site, mail, lisa, doug) == [250]
    assert [site.count(lisa, "Sent"), site.count(doug)] == [1, 1]


def test_an_owner_that_bounced_alone_stays_bounced(site):
    """There is no other recipient to be deferred for the Sent copy: it justifies neither a second bounce nor a deferral."""
    lisa, scuba = site.account("lisa"), site.account("scuba", quota=1024)
    cut_sent(site, lisa)
    site.settings["delivery.overquota"] = "bounce"
    assert codes(site, message(sender=lisa, body="A line of text.\n" * 200), lisa, scuba) == [552]
    assert site.value("SELECT count(*) FROM oncedrop.delivery WHERE outcome = 'overquota'") == 1


@pytest.mark.parametrize("state", ["appending", "pending"])
def test_what_was_claimed_for_a_variant_is_settled_with_the_copy(site, state):
    """A Sent copy was claimed for one content, and its delivery died or failed; another content with this Message-ID
    made it."""
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    first, second = (message(sender=lisa, id="variant@test.example", body=body) for body in ("one\n", "two\n"))
    expect.stored(site.deliver(first, scuba, sender=lisa))
    site.sql("UPDATE oncedrop.copy SET state = %s, uid = NULL WHERE role = 'sent'", (state,))
    site.ledger.age(hours=1, role="sent")
    expect.stored(site.deliver(second, doug, sender=lisa))
    assert [(row.state, row.uid) for row in site.sql("SELECT state, uid FROM oncedrop.copy WHERE role = 'sent'")] == \
        [("stored", 1), ("stored", 1)]
    assert site.count(lisa, "Sent") == 1


def test_a_variant_whose_copy_is_under_way_is_waited_for(site):
    """Perhaps no delivery answers for it, even if its hold-off is not over by any clock: recipients of both contents may have
    been finished, since each content was left to the other, before the clocks were set back."""
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    first, second = (message(sender=lisa, id="variant@test.example", body=body) for body in ("one\n", "two\n"))
    expect.stored(site.deliver(first, scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        session.delete("Sent")
    site.ledger.claim(role="sent")
    for _ in range(2):
        expect.deferred(site.deliver(second, doug, sender=lisa), r"4\.3\.0", "Sent copy")
    assert [site.count(lisa, "Sent"), site.count(doug)] == [0, 1]
    assert site.sql("SELECT state FROM oncedrop.copy WHERE role = 'sent'") == [("appending",)]
    over_hold_off(site)
    expect.duplicate(site.deliver(second, doug, sender=lisa))
    assert site.count(lisa, "Sent") == 1
    assert site.sql("SELECT DISTINCT state FROM oncedrop.copy WHERE role = 'sent'") == [("stored",)]


@pytest.mark.parametrize("doubt", [True, False])
def test_a_variant_whose_copy_was_given_up_a_moment_ago(site, doubt):
    """In doubt: the server may still be storing it."""
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    first, second = (message(sender=lisa, id="variant@test.example", body=body) for body in ("one\n", "two\n"))
    expect.stored(site.deliver(first, scuba, sender=lisa))
    with site.lab.dovecot.session(lisa) as session:
        session.delete("Sent")
    site.sql("UPDATE oncedrop.copy SET state = 'failed', doubt = %s, uid = NULL, claimed_at = %s WHERE role = 'sent'",
             (doubt, site.ledger.now()))
    done = site.deliver(second, doug, sender=lisa)
    if doubt:
        expect.deferred(done, r"4\.3\.0", "Sent copy")
    else:
        expect.stored(done)
    assert site.count(lisa, "Sent") == (0 if doubt else 1)
    site.ledger.age(hours=1)
    expect.duplicate(site.deliver(second, doug, sender=lisa))
    assert site.count(lisa, "Sent") == 1


@pytest.mark.postgres
def test_a_duplicate_that_cannot_be_recorded_comes_again(site):
    """Otherwise its delivery would stay open in the record for ever."""
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL")
    right = dict(site.settings)
    site.database_proxy(lambda _connection, side, data: None if side == "client" and locks.CLAIM in data else data)
    expect.deferred(site.deliver(mail, scuba), r"4\.3\.0", "database")
    site.ledger.wait_for_no_session()
    site.settings = right
    expect.duplicate(site.deliver(mail, scuba))
    assert site.value("SELECT count(*) FROM oncedrop.delivery WHERE finished_at IS NULL") == 0
