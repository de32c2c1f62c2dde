# SPDX-License-Identifier: ISC
"""imap.early_login: the login goes before the greeting, which saves a round trip.

Seen to fail with: the mutants early-login-*.patch of tests/mutants."""

import expect
import pytest
from lab.fake_imap import CAPABILITIES, FakeImap
from lab.messages import message
from test_check import check, failed, says

SCUBA = "scuba@example.org"


def fake(site, **options):
    server = site.use(FakeImap(**options))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.early_login": "yes",
                          "imap.tls": "none" if not options.get("tls") else "imaps" if server.implicit else "starttls"})
    return server


def greets_last(server):
    """A server that sends nothing before a login."""
    def greeting(client, _tag, _arguments):
        tag, name, arguments = client.line().split(b" ", 2)
        server.do_greeting(client, "*", b"")
        server.answer(client, name.decode(), tag.decode(), arguments)

    server.script["GREETING"] = greeting
    return server


@pytest.mark.parametrize("tls", [False, True])
@pytest.mark.parametrize("auth", ["plain", "login", "xoauth2"])
def test_the_greeting_is_not_waited_for(site, lab, auth, tls):
    certificate = lab.authority.issue(f"early{site.number}", "DNS:localhost") if tls else None
    server = greets_last(fake(site, tls=certificate))
    site.settings.update({"imap.auth": auth, "imap.master_user": None, "imap.password_file": site.write("own", "secret\n")})
    expect.stored(site.deliver(message(), SCUBA))
    assert len(server.credentials) == len(server.appended) == 1 and "secret" in server.credentials[0]
    assert [name for name, _ in server.commands][0] == "APPEND"


def test_without_it_the_greeting_comes_first(site):
    server = greets_last(fake(site))
    site.settings.update({"imap.early_login": "no", "imap.timeout": "1s"})
    expect.deferred(site.deliver(message(), SCUBA), r"4\.\d\.\d", "greeting")
    assert server.credentials == []


def test_after_STARTTLS_nothing_is_asked_first(site, lab):
    server = fake(site, tls=lab.authority.issue(f"early{site.number}", "DNS:localhost"), implicit=False)
    expect.stored(site.deliver(message(), SCUBA))
    assert [name for name, _ in server.commands][:2] == ["STARTTLS", "AUTHENTICATE"]


@pytest.mark.parametrize("greeting,words", [
    ("* BYE too many of you", "too many of you"), ("* PREAUTH you are in", "PREAUTH"), ("220 mx.example.org ESMTP", "220")])
def test_a_greeting_that_is_none(site, greeting, words):
    server = fake(site, script={"GREETING": lambda client, tag, arguments: client.send(greeting)})
    expect.deferred(site.deliver(message(), SCUBA), r"4\.\d\.\d", words)
    assert server.appended == []


def test_a_refused_login(site):
    """Nothing is sent behind it. A password that has changed since is tried, on another connection."""
    password = site.write("own", "old\n")
    site.settings.update({"imap.master_user": None, "imap.password_file": password})

    def refuse(client, tag, _arguments):
        site.write("own", "new\n")
        del server.script["AUTHENTICATE"]
        client.send(f"{tag} NO [AUTHENTICATIONFAILED] wrong")

    server = fake(site, script={"AUTHENTICATE": refuse})
    expect.stored(site.deliver(message(), SCUBA))
    assert server.accepted == 2 and len(server.appended) == 1
    assert sorted(name for name, _ in server.commands if name != "LOGOUT") == ["APPEND", "AUTHENTICATE", "AUTHENTICATE"]


def bad(client, tag, _arguments):
    client.send(f"{tag} BAD no initial response here")


def test_a_server_without_SASL_IR(site):
    """The error names the setting, and `check` finds it."""
    server = fake(site, script={"AUTHENTICATE": bad}, capabilities=CAPABILITIES.replace("SASL-IR ", ""))
    expect.deferred(site.deliver(message(), SCUBA), r"4\.\d\.\d", "imap.early_login")
    assert server.appended == []
    failed(check(site, SCUBA), "imap", "imap.early_login", "SASL-IR")


def test_a_server_that_ignores_the_initial_response(site):
    """Without SASL-IR; it asks for the credentials."""
    def ask(client, tag, _arguments):
        client.send("+ ")
        server.answered.append(client.line())
        client.send(f"{tag} OK logged in")

    server = fake(site, script={"AUTHENTICATE": ask}, capabilities=CAPABILITIES.replace("SASL-IR ", ""))
    server.answered = []
    expect.stored(site.deliver(message(), SCUBA))
    assert len(server.answered) == len(server.appended) == 1 and len(server.answered[0]) > 8


def test_a_method_that_is_not_offered(site):
    """It is no refusal of the account: the next delivery asks again."""
    def refuse(client, tag, _arguments):
        client.send(f"{tag} NO unsupported mechanism")

    server = fake(site, script={"AUTHENTICATE": refuse}, capabilities=CAPABILITIES.replace("AUTH=PLAIN ", ""))
    for accepted in (1, 2):
        expect.deferred(site.deliver(message(), SCUBA), r"4\.\d\.\d", "does not offer AUTH=PLAIN")
        assert server.accepted == accepted


@pytest.mark.parametrize("greeting", ["* BYE bad command: {}", "{}"])
@pytest.mark.parametrize("auth", ["plain", "login"])
def test_a_server_that_repeats_the_login(site, greeting, auth):
    """The password is neither logged nor said."""
    def repeat(client, _tag, _arguments):
        line = client.line().decode()
        server.said.append(line)
        client.send(greeting.format(line))

    server = fake(site, script={"GREETING": repeat})
    server.said = []
    site.settings.update({"imap.auth": auth, "imap.master_user": None, "imap.password_file": site.write("own", "sesame77\n"),
                          "log.to": "stderr", "log.level": "debug"})
    done = site.deliver(message(), SCUBA)
    assert done.exit == 75 and "repeat the password" in done.out and "imap.early_login" in done.out, done
    secret = server.said[0].split()[-1].strip('"')
    assert len(server.said) == 1 and secret not in done.out + done.err and "sesame77" not in done.out + done.err
    assert "imap scuba@example.org S: ****" in done.err


def test_check_of_a_real_server(site):
    site.settings["imap.early_login"] = "yes"
    says(check(site, site.account()), "capabilities", "ok", "SASL-IR")
