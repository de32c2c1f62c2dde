# SPDX-License-Identifier: ISC
"""Whose mail it is according to Postfix: users who logged in get a Sent copy, others who only claim it do not.

Seen to fail: with "Authenticated sender" looked for anywhere in the field (received.c)."""

import pytest
from lab import postfix as postfix_module
from lab.messages import message, new_id


@pytest.fixture(params=["pipe", "lmtp"])
def postfix(site, request):
    """With all settings that put more text into the Received field. (With mailbox_command there are no Sent copies.)"""
    new = postfix_module.Postfix(site, request.param)
    certificate, key = site.lab.certificate
    new.settings.update({
        "smtpd_tls_security_level": "may", "smtpd_tls_cert_file": certificate, "smtpd_tls_key_file": key,
        "smtpd_tls_ask_ccert": "yes", "smtpd_tls_received_header": "yes",
    })
    site.settings["route.sent_copy"] = "authenticated"
    new.configure()
    yield new
    new.close()


def received(postfix, address, id):
    """The topmost Received field of the message in a mailbox, unfolded."""
    [raw] = [raw for raw in postfix.messages(address) if id.encode() in raw]
    fields = raw.split(b"\r\n\r\n")[0].replace(b"\r\n\t", b" ").decode().split("\r\n")
    return next(field for field in fields if field.startswith("Received: "))


def send(postfix, name, lisa, scuba, **more):
    """Sends mail with lisa as its author; name: what the client's certificate says. Returns its Received field."""
    id = new_id()
    certificate = postfix.site.lab.authority.issue(id, common_name=name) if name else None
    postfix.send(message(sender=lisa, to=scuba, id=id), [scuba], sender=lisa, certificate=certificate, **more)
    postfix.wait_idle()
    return received(postfix, scuba, id)


def test_only_a_login_makes_a_sent_copy(postfix):
    lisa, scuba, doug = postfix.accounts(3)
    claim = f"(Authenticated sender: {lisa})"
    postfix.start()
    assert f"{claim} y" in send(postfix, f"x {claim} y", lisa, scuba)
    field = send(postfix, f"x {claim} y", lisa, scuba, login=doug)
    assert f"{claim} y" in field and f"(Authenticated sender: {doug}) by " in field
    assert postfix.messages(lisa, "Sent") == postfix.messages(doug, "Sent") == []
    assert claim + " by " in send(postfix, None, lisa, scuba, login=lisa)
    assert claim + " by " in send(postfix, "x (doug)", lisa, scuba, login=lisa)
    assert len(postfix.messages(lisa, "Sent")) == 2
    assert postfix.queue() == []


def test_a_field_below_is_not_looked_at(postfix):
    """From a server that was configured to write no logins: the topmost field is ours, and has none."""
    lisa, scuba = postfix.accounts(2)
    postfix.settings.update({"smtpd_sasl_authenticated_header": "no"})
    postfix.start()
    claim = f"Received: from a (b [192.0.2.1])\n\t(Authenticated sender: {lisa})\n\tby postfix.test (Postfix) with ESMTPSA " \
        "id 4A1; Fri, 1 Aug 2025 10:00:00 +0200\n"
    login = lisa if postfix.way == "lmtp" else None     # pipe(8) gets the login in addition
    postfix.send(claim.encode() + message(sender=lisa), [scuba], sender=lisa, login=login)
    postfix.wait_idle()
    assert len(postfix.messages(scuba)) == 1
    assert postfix.messages(lisa, "Sent") == []
