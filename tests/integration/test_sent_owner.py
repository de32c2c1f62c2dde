# SPDX-License-Identifier: ISC
"""A Sent copy whose APPEND was cut off: the delivery that claimed it, and nobody else, is deferred until it is certain.

Seen to fail: with the first recipient deferred instead of the one that claimed the copy (copies.c: decide_sent), with
nobody deferred (sent_waits never set), and with a bounced owner left to wait for (claimed_by_finished ignored)."""

from lab import lmtp
from lab.messages import message
from lab.proxy import CLIENT


def cut_sent(site, lisa, times=1):
    """A proxy that resets the session with which the Sent copy is appended, behind its literal. The settings are such
    that an answer comes soon, and that hold-offs do not end during a test."""
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "5s",
                          "delivery.hold_off": "300s"})
    cut = []

    def watch(_connection, side, data):
        if side == CLIENT and b"Subject: Hello" in data and cut_now[0] and len(cut) < times:
            cut.append(True)
            return None
        if side == CLIENT and b' APPEND "Sent"' in data:
            cut_now[0] = True
        return data
    cut_now = [False]
    return site.imap_proxy(watch)


def over_hold_off(site):
    site.sql("UPDATE oncedrop.copy SET attempt_at = attempt_at - interval '1 hour' WHERE state = 'appending'")


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


def test_an_owner_that_bounced_is_not_waited_for(site):
    """scuba is over quota and bounces, having claimed the Sent copy: doug, who is stored, comes again for it."""
    lisa, doug = site.account("lisa"), site.account("doug")
    scuba = site.account("scuba", quota_rule="*:storage=1k")
    cut_sent(site, lisa)
    site.settings["delivery.overquota"] = "bounce"
    mail = message(sender=lisa, body="A line of text.\n" * 200)
    assert codes(site, mail, lisa, scuba, doug) == [552, 451]
    assert codes(site, mail, lisa, doug) == [451]
    over_hold_off(site)
    assert codes(site, mail, lisa, doug) == [250]
    assert [site.count(lisa, "Sent"), site.count(doug)] == [1, 1]
