# SPDX-License-Identifier: ISC
"""`oncedrop check --send` gives Postfix a message, and shows where it was stored, or why Postfix deferred it.

Seen to fail with: the queue not asked; nothing sent after a failure taken for a success; a login
for each look into the mailbox."""

import os
import re
import subprocess
import time

import pytest
from lab import lab as lab_module, postfix as postfix_module
from lab.ledger import SQLITE, engine
from lab.postfix_base import postconf
from lab.proxy import CLIENT, Proxy
from lab.service import Service

pytestmark = pytest.mark.skipif(postfix_module.missing() is not None, reason=str(postfix_module.missing()))


@pytest.fixture
def postfix(site):
    new = postfix_module.Postfix(site, "service")
    new.service_socket = site.settings["service.socket"] = os.path.join(site.directory, "service.socket")
    new.settings["export_environment"] = "TZ LANG MAIL_CONFIG ASAN_OPTIONS=detect_leaks=0"     # to postdrop(1)
    yield new
    new.close()


def items(site, postfix, address):
    """item: (status, text) of the lines about the message, and the exit status; with a configuration that deliveries can
    read."""
    postfix.configure()
    done = subprocess.run([lab_module.program(), "-c", postfix.path("o.conf"), "check", "--send", address], text=True,
                          env={"MAIL_CONFIG": postfix.path("etc")}, stdout=subprocess.PIPE, check=False)
    lines = [line.split(None, 2) for line in done.stdout.splitlines()]
    found = {line[1]: (line[0], line[2]) for line in lines if len(line) == 3}
    return {name: found[name] for name in ("send", "found", "log") if name in found}, done


def test_a_message_that_is_stored(postfix, site):
    [scuba] = postfix.accounts(1)
    Service(site, settings={"service.trusted_users": postconf("mail_owner")})
    postfix.start()
    found, done = items(site, postfix, scuba)
    if engine() == SQLITE:
        assert found["send"][0] == "ok" and f"stored in INBOX of account {scuba}, uid 1" in found["send"][1], done
        assert found["found"] == ("ok", "the IMAP server shows it in INBOX, uid 1"), done
    else:       # the configuration is that of deliveries, which may not read the record
        assert found["send"][0] == "ok" and found["send"][1].startswith(f"in INBOX of account {scuba}, uid 1; "), done
    [raw] = postfix.messages(scuba)
    assert b"Message-ID: <check." in raw and b"Auto-Submitted: auto-generated" in raw


def test_a_message_that_is_deferred(postfix, site):
    """Where the client is not believed."""
    [scuba] = postfix.accounts(1)
    Service(site, settings={"service.trusted_users": ""})
    postfix.start()
    found, done = items(site, postfix, scuba)
    assert found["send"][0] == "failed" and "may not deliver to" in found["send"][1], done
    assert done.returncode == 1 and "found" not in found


@pytest.mark.postgres
def test_it_waits_in_one_session(postfix, site):
    """Where the ledger cannot be read, the mailbox is looked into again and again."""
    def watch(_connection, side, data):
        if side == CLIENT and b"APPEND" in data:
            time.sleep(4)
        return data
    [scuba] = postfix.accounts(1)
    site.settings.update({"imap.port": site.lab.dovecot.port, "imap.tls": "none"})
    slow = site.use(Proxy(site.lab.dovecot.port, watch))
    Service(site, settings={"service.trusted_users": postconf("mail_owner"), "imap.port": slow.port})
    postfix.start()
    found, done = items(site, postfix, scuba)
    assert found["send"][0] == "ok", done
    pattern = rf"(?:Login|Logged in): user=<{re.escape(scuba)}>"
    logins = len(re.findall(pattern, site.lab.dovecot.log()))
    assert logins <= 6


def test_nothing_is_sent_after_a_failure(postfix, site):
    [scuba] = postfix.accounts(1)
    postfix.start()
    site.settings["imap.port"] = 1
    found, done = items(site, postfix, scuba)
    assert found == {"send": ("failed", "nothing was sent, since something above failed")} and done.returncode == 1, done
    assert postfix.is_empty() and postfix.messages(scuba) == []


def test_it_needs_an_address(site):
    done = site.run("check", "--send")
    assert done.exit == 64 and "--send needs an address" in done.err, done
