# SPDX-License-Identifier: ISC
"""Permanent and temporary refusals, as they appear in Postfix's log and in the bounce message."""

import re

import pytest
from lab.messages import message

QUOTA = {"quota": 20480}
LARGE = message(body="A line of text.\n" * 5000)


def unknown(postfix):
    postfix.site.settings["route.account_query"] = "SELECT $1 WHERE false"


def unknown_deferred(postfix):
    unknown(postfix)
    postfix.site.settings["route.unknown_account"] = "defer"


def over_quota(postfix):
    postfix.site.settings["delivery.overquota"] = "defer"


def over_quota_bounced(postfix):
    postfix.site.settings["delivery.overquota"] = "bounce"


def too_large(postfix):
    postfix.site.settings["delivery.size_limit"] = "64K"


REFUSALS = [
    (unknown, {}, "5.1.1", "no such account"),
    (unknown_deferred, {}, "4.1.1", "no such account"),
    (over_quota, QUOTA, "4.2.2", "Quota exceeded"),
    (over_quota_bounced, QUOTA, "5.2.2", "Quota exceeded"),
    (too_large, {}, "5.3.4", "size"),
]


@pytest.mark.parametrize("refusal,fields,dsn,words", REFUSALS, ids=[case[0].__name__ for case in REFUSALS])
def test_refusal_has_the_documented_status(postfix, refusal, fields, dsn, words):
    refusal(postfix)
    postfix.configure()
    [address] = postfix.accounts(1, **fields)
    postfix.start()
    queue_id = postfix.send(LARGE, [address])
    [entry] = postfix.wait_for(1, queue_id)
    assert (entry.dsn, entry.status) == (dsn, "bounced" if dsn[0] == "5" else "deferred"), entry
    assert words in entry.text
    assert postfix.messages(address) == []
    postfix.wait_idle()
    if dsn[0] == "4":
        assert [message["queue_name"] for message in postfix.queue()] == ["deferred"]
        assert postfix.bounces() == []
        return
    assert postfix.queue() == []
    [bounce] = postfix.bounces()
    assert re.search(rf"^Final-Recipient: rfc822; {re.escape(address)}$", bounce.decode(), re.MULTILINE)
    assert re.search(rf"^Action: failed\nStatus: {re.escape(dsn)}$", bounce.decode(), re.MULTILINE)
    assert words in bounce.decode()


def test_one_bad_recipient_does_not_hold_up_the_others(postfix):
    postfix.site.settings["lock.wait"] = "20s"
    postfix.site.settings["delivery.overquota"] = "bounce"
    [full] = postfix.accounts(1, **QUOTA)
    addresses = postfix.accounts(3)
    postfix.configure()
    postfix.start()
    queue_id = postfix.send(LARGE, [addresses[0], full, *addresses[1:]])
    entries = postfix.wait_for(4, queue_id)
    expected = {full: "5", **{address: "2" for address in addresses}}
    assert {entry.recipient: entry.dsn[0] for entry in entries} == expected
    postfix.wait_idle()
    assert [len(postfix.messages(address)) for address in [full, *addresses]] == [0, 1, 1, 1]
    [bounce] = postfix.bounces()
    assert bounce.count(b"Final-Recipient:") == 1
