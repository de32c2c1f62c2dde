# SPDX-License-Identifier: ISC
"""`oncedrop check` reads Postfix's settings, as postconf(1) tells them, and warns of those that do not fit ours.

Seen to fail: with each of the warnings' conditions turned round, and with settings read of the system's Postfix."""

import pytest

PIPE = "oncedrop unix - n n - {maxproc} pipe flags=R user=uucp argv=/usr/local/bin/oncedrop deliver -d ${{recipient}}\n"
SPAWN = "oncedrop-lmtp unix - n n - {maxproc} spawn user=uucp argv=/usr/local/bin/oncedrop lmtp\n"
GOOD = {"oncedrop_destination_recipient_limit": "1", "oncedrop_time_limit": "600s"}


def check(site, main=None, master=PIPE, maxproc="20"):
    """The warnings' texts."""
    settings = {"compatibility_level": "3.6", **(main or {})}
    directory = site.lab.postfix_directory("".join(f"{name} = {value}\n" for name, value in settings.items()),
                                           master.format(maxproc=maxproc))
    site.settings["lock.wait"] = "10s"
    site.settings["delivery.hold_off"] = "300s"
    done = site.check(site.account(), env={"MAIL_CONFIG": directory})
    assert done.exit == 0, done
    lines = [line.split(None, 2) for line in done.out.splitlines()]
    assert ["ok", "postfix", "settings read"] in lines, done.out
    return [text for kind, name, text in lines if (kind, name) == ("warning", "postfix")]


def test_nothing_to_say(site):
    assert check(site, GOOD) == []
    assert check(site, {"oncedrop-lmtp_time_limit": "1000s"}, SPAWN) == []
    assert check(site, {"mailbox_command": "/usr/local/bin/oncedrop deliver"}, "") == []
    assert check(site, {"default_process_limit": "5000"}, "other unix - n n - - pipe user=uucp argv=/bin/true\n") == []


@pytest.mark.parametrize("main,master,maxproc,word", [
    ({**GOOD, "oncedrop_destination_recipient_limit": "2"}, PIPE, "20", "oncedrop_destination_recipient_limit = 2"),
    ({"oncedrop_time_limit": "600s"}, PIPE, "20", "oncedrop_destination_recipient_limit = 50"),
    ({**GOOD, "oncedrop_time_limit": "120s"}, PIPE, "20", "oncedrop_time_limit = 120s"),
    ({**GOOD, "oncedrop_time_limit": "$command_time_limit", "command_time_limit": "2m"}, PIPE, "20", "oncedrop_time_limit"),
    ({**GOOD, "soft_bounce": "yes"}, PIPE, "20", "soft_bounce"),
    (GOOD, PIPE, "5000", "5000 processes"),
    ({**GOOD, "default_process_limit": "5000"}, PIPE, "-", "5000 processes"),
    ({"oncedrop-lmtp_time_limit": "700s"}, SPAWN, "20", "700s"),
    ({}, SPAWN, "5000", "5000 processes"),
    ({"mailbox_command": "/usr/local/bin/oncedrop deliver -a \"$USER\""}, "", "", "shell"),
    ({"mailbox_command": "/usr/local/bin/oncedrop deliver", "command_time_limit": "100s"}, "", "", "command_time_limit = 100s"),
])
def test_warnings(site, main, master, maxproc, word):
    warnings = check(site, main, master, maxproc)
    assert len(warnings) == 1 and word in warnings[0], warnings
