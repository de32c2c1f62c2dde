# SPDX-License-Identifier: ISC
"""imap.password_command, and bearer tokens that expire.

Seen to fail: without asking again; with an answer kept for one login used for another; with a login for each answer, no matter
what it is; without the end of the challenge; without the limit of time."""

import base64
import os
import signal
import time

import pytest
from integration import expect
from lab import oauth2
from lab.fake_imap import CAPABILITIES, NOBODY, FakeImap
from lab.lmtp import stored
from lab.messages import message
from lab.process import wait_until
from lab.service import Service

SCUBA = "scuba@example.org"
ANY = r"4\.\d\.\d"


class Commanded:
    """A site whose password is what a script prints: it appends its arguments to a file first."""

    def __init__(self, site, server, auth="plain", arguments="", **settings):
        self.site, self.server = site, server
        self.asked_file = site.write("asked", "")
        self.script = site.write("command", f'#!/bin/sh\necho "$*" >>{self.asked_file}\ncat {site.directory}/answer$1\n', 0o700)
        site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.auth": auth, "imap.master_user": None,
                              "imap.password_file": None, "imap.password_command": f"sh {self.script} {arguments}",
                              **settings})

    def answer(self, text, name=""):
        self.site.write(f"answer{name}", text)

    def asked(self):
        with open(self.asked_file, encoding="ascii") as file:
            return file.read().splitlines()


class Guarded(FakeImap):
    """Lets in a client that sends its password. said: the passwords since they were last asked for."""

    def __init__(self, password):
        super().__init__()
        self.password, self.said = password, []

    def do_authenticate(self, client, tag, arguments):
        self.said.append(base64.b64decode(arguments.split()[1]).decode().split("\0")[-1])
        client.send(f"{tag} OK come in" if self.said[-1] == self.password else f"{tag} NO who are you?")

    def logins(self):
        said, self.said = self.said, []
        return said


def fake(site, server):
    site.use(server)
    return server


def test_it_is_asked_again_only_after_a_refusal(site):
    server = fake(site, Guarded("first"))
    commanded = Commanded(site, server)
    commanded.answer("first\nand no more\n")
    service = Service(site, workers=1)
    numbers = iter(range(100))

    def deliver():
        return service.deliver(message(), f"scuba{next(numbers)}@example.org")[0]
    stored(deliver())
    stored(deliver())
    assert commanded.asked() == [""] and server.logins() == ["first", "first"]
    server.password = "second"
    assert deliver().code == 451
    assert len(commanded.asked()) == 2 and server.logins() == ["first"]     # the same answer is not tried twice
    commanded.answer("second\n")
    stored(deliver())
    stored(deliver())
    assert len(commanded.asked()) == 3 and server.logins() == ["first", "second", "second"]


def test_each_login_has_its_own(site):
    server = fake(site, FakeImap())
    commanded = Commanded(site, server, arguments="%{user}")
    accounts = ["lisa@example.org", SCUBA]
    for account in accounts:
        commanded.answer(f"of {account}\n", account)
    service = Service(site, workers=1, settings={"imap.idle_timeout": "0s"})
    for account in accounts * 2:
        stored(service.deliver(message(), account)[0])
    assert commanded.asked() == accounts
    assert [text.split("\0")[-1] for text in server.credentials] == [f"of {account}" for account in accounts] * 2


@pytest.mark.parametrize("script, why", [
    ("exit 3", "ended with status 3"),
    ("kill -9 $$", "killed by signal 9"),
    ("echo", "first line is empty"),
    ("head -c 100000 /dev/zero | tr '\\0' x", "more than 65536 bytes"),
])
def test_a_command_that_fails(site, script, why):
    server = fake(site, FakeImap())
    commanded = Commanded(site, server)
    site.write("command", f"{script}\n", 0o700)
    expect.deferred(site.deliver(message(), SCUBA), ANY, "imap.password_command", why)
    assert server.credentials == []
    site.settings["imap.password_command"] = os.path.join(site.directory, "missing")
    expect.deferred(site.deliver(message(), SCUBA), ANY, "imap.password_command: cannot run", "missing")
    assert commanded.asked() == []


def test_a_command_that_hangs(site):
    """It is ended, and what it has started."""
    fake(site, FakeImap())
    Commanded(site, site.imap, **{"imap.timeout": "300ms"})
    left = os.path.join(site.directory, "left")
    site.write("command", f"sleep 1000 & echo $! >{left}; wait\n", 0o700)
    expect.deferred(site.deliver(message(), SCUBA), ANY, "imap.password_command: it has not ended in time")
    with open(left, encoding="ascii") as file:
        pid = int(file.read())
    wait_until(lambda: not is_running(pid), "what the command has started is ended")


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_what_ends_the_process_ends_the_command(site, number):
    """The deadline, or a signal; and what it has started. Seen to fail without that."""
    fake(site, FakeImap())
    Commanded(site, site.imap, **{"imap.timeout": "60s", "delivery.deadline": "120s" if number else "1s"})
    left = os.path.join(site.directory, "left")
    site.write("command", f"sleep 1000 & echo $! >{left}.new; mv {left}.new {left}; wait\n", 0o700)
    running = site.start_delivery(message(), SCUBA)
    wait_until(lambda: os.path.exists(left), "the command runs", 60)
    if number:
        running.signal(number)
    expect.deferred(running.finish(), r"4\.3\.0", "ended by a signal" if number else "the deadline is over")
    with open(left, encoding="ascii") as file:
        pid = int(file.read())
    try:
        wait_until(lambda: not is_running(pid), "what the command has started is ended", 20)
    finally:
        if is_running(pid):
            os.kill(pid, signal.SIGKILL)


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("auth, ends_with", [("xoauth2", b""), ("oauthbearer", b"AQ==")])
def test_the_reason_of_a_refusal(site, auth, ends_with):
    """RFC 7628, section 3.2.3."""
    ends = []

    def refuse(client, tag, _arguments):
        client.send("+ " + base64.b64encode(b'{"status":"invalid_token","scope":"mail"}').decode())
        ends.append(client.line())
        client.send(f"{tag} NO [AUTHENTICATIONFAILED] no")
    server = fake(site, FakeImap({"AUTHENTICATE": refuse}, capabilities=f"{CAPABILITIES} AUTH={auth.upper()}"))
    commanded = Commanded(site, server, auth, "%{user}")
    commanded.answer("bearer-token\n", SCUBA)
    expect.deferred(site.deliver(message(), SCUBA), ANY, "invalid_token")
    assert ends == [ends_with] and commanded.asked() == [SCUBA] * 2


def test_the_name_in_oauthbearer(site):
    server = fake(site, FakeImap(capabilities=f"{CAPABILITIES} AUTH=OAUTHBEARER"))
    Commanded(site, server, "oauthbearer", **{"imap.user": "a=b,c"}).answer("bearer-token\n")
    expect.stored(site.deliver(message(), SCUBA))
    assert server.credentials == ["n,a=a=3Db=2Cc,\1auth=Bearer bearer-token\1\1"]


def test_an_expired_token_proves_no_trust(site):
    """It expires between the account's login and the probe's, and the command is late with the next one. That the probe
    was refused does not show that the server looks at the account that is named."""
    answers = iter(["first", "first", "second"])
    server = fake(site, FakeImap(capabilities=f"{CAPABILITIES} AUTH=XOAUTH2"))
    commanded = Commanded(site, server, "xoauth2")
    site.write("command", f"echo >>{commanded.asked_file}; cat {site.directory}/answer$(wc -l <{commanded.asked_file})\n", 0o700)
    for number, answer in enumerate(answers, 1):
        commanded.answer(f"{answer}\n", number)
    said = []

    def log_in(client, tag, arguments):
        said.append(base64.b64decode(arguments.split()[1]).decode())
        valid = "second" if any(NOBODY in text for text in said) else "first"
        client.send(f"{tag} OK come in" if valid in said[-1] else f"{tag} NO who are you?")
    server.script["AUTHENTICATE"] = log_in
    site.trusting = False
    expect.deferred(site.deliver(message(), SCUBA), ANY, "was replaced")
    assert len(said) == 4 and server.appended == []


@pytest.fixture(name="tokens")
def tokens_fixture(site):
    """A Dovecot that wants tokens."""
    lab = site.lab
    server = oauth2.Dovecot(lab.new_directory("oauth2", 0o755), lab.certificate)
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("auth", ["xoauth2", "oauthbearer"])
def test_a_token_that_expires(site, tokens, auth):
    """A real server; the service keeps the token, and gets another when the server takes it no more."""
    site.use_server(tokens)
    scuba, now = site.account("scuba"), time.time()
    commanded = Commanded(site, tokens, auth, "%{user}")
    commanded.answer(tokens.token(scuba, now - 5), scuba)
    expect.deferred(site.deliver(message(), scuba), ANY, "IMAP login of")
    short = tokens.token(scuba, time.time() + 4)
    commanded.answer(short, scuba)
    service = Service(site, workers=1, settings={"imap.idle_timeout": "0s"})
    stored(service.deliver(message(), scuba)[0])
    asked = len(commanded.asked())
    wait_until(lambda: not tokens.takes(scuba, short), "the token has expired")
    commanded.answer(tokens.token(scuba, now + 3600), scuba)
    stored(service.deliver(message(), scuba)[0])
    assert len(commanded.asked()) == asked + 1 and site.count(scuba) == 2
