# SPDX-License-Identifier: ISC
"""Chain, validity and host name are verified before any credential is sent."""

import expect
import pytest
from lab import certificates
from lab.fake_imap import FakeImap
from lab.messages import message
from lab.service import Service


@pytest.fixture(scope="module")
def stranger(lab):
    return certificates.Authority(lab.directory, "stranger")


BAD = {
    "other name": lambda lab, stranger: lab.authority.issue("other", "DNS:imap.example.org", "imap.example.org"),
    "name in the subject only": lambda lab, stranger: lab.authority.issue("subject", "DNS:other.example", "localhost"),
    "wildcard too wide": lambda lab, stranger: lab.authority.issue("wildcard", "DNS:*", "*"),
    "expired": lambda lab, stranger: lab.authority.issue("expired", days=-1),
    "unknown authority": lambda lab, stranger: stranger.issue("unknown"),
    "self-signed": lambda lab, stranger: stranger.self_signed("self"),
}


@pytest.mark.parametrize("tls", ["imaps", "starttls"])
@pytest.mark.parametrize("make", BAD.values(), ids=BAD.keys())
def test_a_bad_certificate_gets_no_credential(site, lab, stranger, make, tls):
    server = site.use(FakeImap(tls=make(lab, stranger), implicit=tls == "imaps"))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": tls})
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.\d\.\d", "certificate")
    assert server.accepted == 1
    assert server.credentials == []
    assert not any(name in ("LOGIN", "AUTHENTICATE", "APPEND") for name, _ in server.commands)


GOOD = {
    "name": ("localhost", "DNS:localhost", ""),
    "address": ("127.0.0.1", "IP:127.0.0.1", ""),
    "server_name": ("127.0.0.1", "DNS:imap.example.org", "imap.example.org"),
    "wildcard": ("127.0.0.1", "DNS:*.example.org", "imap.example.org"),
}


@pytest.mark.parametrize("tls", ["imaps", "starttls"])
@pytest.mark.parametrize("host,names,server_name", GOOD.values(), ids=GOOD.keys())
def test_a_good_certificate(site, lab, host, names, server_name, tls):
    certificate = lab.authority.issue(f"good{site.number}", names, "whatever")
    server = site.use(FakeImap(tls=certificate, implicit=tls == "imaps"))
    site.settings.update({"imap.host": host, "imap.port": server.port, "imap.tls": tls,
                          "imap.server_name": server_name})
    expect.stored(site.deliver(message(), "scuba@example.org"))
    assert server.credentials == [f"scuba@example.org\0oncedrop\0{lab.dovecot.password}"]
    expected_name = server_name or host
    assert server.server_names == [None if expected_name == "127.0.0.1" else expected_name]


@pytest.mark.parametrize("capabilities", ["IMAP4rev1 AUTH=PLAIN", "IMAP4rev1 AUTH=PLAIN LOGINDISABLED"])
def test_starttls_that_is_not_offered_gets_no_credential(site, capabilities):
    server = site.use(FakeImap(capabilities=capabilities,
                               script={"STARTTLS": lambda client, tag, _: client.send(f"{tag} BAD what?")}))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "starttls"})
    expect.deferred(site.deliver(message(), "scuba@example.org"))
    assert server.credentials == []


def test_starttls_refused_gets_no_credential(site, lab):
    server = site.use(FakeImap(tls=lab.certificate, implicit=False,
                               script={"STARTTLS": lambda client, tag, _: client.send(f"{tag} NO not now")}))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "starttls"})
    expect.deferred(site.deliver(message(), "scuba@example.org"))
    assert server.credentials == []


def test_plaintext_injected_after_starttls_is_refused(site, lab):
    def inject(client, tag, _arguments):
        client.send(f"{tag} OK begin\r\n* CAPABILITY IMAP4rev1 AUTH=LOGIN".encode() + b"\r\n")
        client.start_tls()
    server = site.use(FakeImap(tls=lab.certificate, implicit=False, script={"STARTTLS": inject}))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "starttls"})
    expect.deferred(site.deliver(message(), "scuba@example.org"))
    assert server.credentials == []


def test_what_was_told_before_starttls_is_forgotten(site, lab):
    """An attacker may have inserted it: the server is asked again."""
    server = site.use(FakeImap(tls=lab.certificate, implicit=False, script={
        "GREETING": lambda client, *_: client.send("* OK [CAPABILITY IMAP4rev1 STARTTLS LOGINDISABLED AUTH=X] hello")}))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "starttls"})
    expect.stored(site.deliver(message(), "scuba@example.org"))
    assert [name for name, _ in server.commands][:2] == ["STARTTLS", "CAPABILITY"]


def test_preauth_before_starttls_is_refused(site, lab):
    """A greeting that claims to be logged in would prevent TLS."""
    server = site.use(FakeImap(tls=lab.certificate, implicit=False,
                               script={"GREETING": lambda client, *_: client.send("* PREAUTH [CAPABILITY IMAP4rev1] hi")}))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "starttls"})
    expect.deferred(site.deliver(message(), "scuba@example.org"))
    assert server.appended == []


def test_without_tls_only_to_loopback(site):
    site.settings.update({"imap.host": "192.0.2.1", "imap.port": 143, "imap.tls": "none", "imap.timeout": "50s"})
    done = site.deliver(message(), "scuba@example.org")
    expect.deferred(done, r"4\.\d\.\d", "clear")
    assert done.seconds < 30     # it did not try: no server answers there, until imap.timeout


@pytest.mark.parametrize("tls", ["imaps", "starttls", "none"])
def test_a_real_server(site, tls):
    scuba = site.account()
    site.settings["imap.tls"] = tls
    if tls != "imaps":
        site.settings["imap.port"] = site.lab.dovecot.port
    expect.stored(site.deliver(message(), scuba))
    assert site.count(scuba) == 1


@pytest.mark.parametrize("tls", ["none", "imaps"])
def test_the_library_is_loaded_only_if_it_is_needed(site, tls):
    """Loading it takes longer than a delivery's whole dialogue."""
    scuba = site.account("scuba")
    if tls == "none":
        site.settings.update({"imap.tls": tls, "imap.port": site.lab.dovecot.port})
    else:
        site.settings["imap.tls"] = tls
    service = Service(site, workers=1)
    assert [reply.code for reply in service.deliver(message(), scuba)] == [250]
    with open(f"/proc/{service.workers()[0]}/maps", encoding="utf-8") as file:
        loaded = file.read()
    assert "libglib" in loaded and ("libetpan" in loaded) == (tls == "imaps")
