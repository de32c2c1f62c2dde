# SPDX-License-Identifier: ISC
"""`oncedrop check --send` gives Postfix a message, and shows where it was stored, or why Postfix deferred it.

Seen to fail with: the queue not asked; nothing sent after a failure taken for a success."""

import os

import pytest
from lab import postfix as postfix_module
from lab.postfix_base import postconf
from lab.service import Service

pytestmark = pytest.mark.skipif(postfix_module.missing() is not None, reason=str(postfix_module.missing()))


@pytest.fixture
def postfix(site):
    new = postfix_module.Postfix(site, "service")
    new.service_socket = os.path.join(site.directory, "service.socket")
    yield new
    new.close()


def items(site, postfix, address, *options):
    """item: (status, text) of the lines about the message, and the exit status."""
    done = site.check("--send", *options, address, env={"MAIL_CONFIG": postfix.path("etc")})
    lines = [line.split(None, 2) for line in done.out.splitlines()]
    found = {line[1]: (line[0], line[2]) for line in lines if len(line) == 3}
    return {name: found[name] for name in ("send", "found", "log") if name in found}, done


def test_a_message_that_is_stored(postfix, site):
    [scuba] = postfix.accounts(1)
    Service(site, settings={"service.clients": postconf("mail_owner")})
    postfix.start()
    found, done = items(site, postfix, scuba)
    assert found["send"][0] == "ok" and f"stored in INBOX of account {scuba}, uid 1" in found["send"][1], done
    assert found["found"] == ("ok", "the IMAP server shows it in INBOX, uid 1"), done
    [raw] = postfix.messages(scuba)
    assert b"Message-ID: <check." in raw and b"Auto-Submitted: auto-generated" in raw


def test_a_message_that_is_deferred(postfix, site):
    """Where the client is not believed."""
    [scuba] = postfix.accounts(1)
    Service(site, settings={"service.clients": ""})
    postfix.start()
    found, done = items(site, postfix, scuba)
    assert found["send"][0] == "failed" and "may not deliver to" in found["send"][1], done
    assert done.exit == 1 and "found" not in found


def test_nothing_is_sent_after_a_failure(postfix, site):
    [scuba] = postfix.accounts(1)
    postfix.start()
    site.settings["imap.port"] = 1
    found, done = items(site, postfix, scuba)
    assert found == {"send": ("failed", "nothing was sent, since something failed")} and done.exit == 1, done
    assert postfix.is_empty() and postfix.messages(scuba) == []


def test_it_needs_an_address(site):
    done = site.run("check", "--send")
    assert done.exit == 64 and "--send needs an address" in done.err, done
