# SPDX-License-Identifier: ISC
"""Postfix as the client of the resident service, by `lmtp:unix:`, set up with the files of conf/postfix."""

import os
import signal
import smtplib
import socket

import pytest
from lab import postfix as postfix_module
from lab.messages import message, on_the_wire
from lab.postfix_base import postconf
from lab.process import wait_until
from lab.service import Service


@pytest.fixture
def postfix(site):
    new = postfix_module.Postfix(site, "service")
    new.service_socket = os.path.join(site.directory, "service.socket")
    yield new
    new.close()


def everything_arrived(postfix, mails, recipients):
    """Each of them once in each mailbox."""
    for recipient in recipients:
        got = sorted(raw.partition(b"\r\nFrom: ")[2] for raw in postfix.messages(recipient))
        assert got == sorted(on_the_wire(mail).partition(b"From: ")[2] for mail in mails)


def test_end_to_end(postfix, site):
    """Postfix's own user is believed by default. The queue id and the login are known."""
    scuba, doug = postfix.accounts(2)
    site.settings["route.sent_copy"] = "authenticated"
    service = Service(site, settings={"service.trusted_users": postconf("mail_owner")})
    postfix.start()
    mail = message(sender=doug)
    queue_id = postfix.send(mail, [scuba, doug], sender=doug, login=doug)
    entries = postfix.wait_for(2, queue_id)
    assert {(entry.dsn, entry.status) for entry in entries} == {("2.1.5", "sent")}, entries
    everything_arrived(postfix, [mail], [scuba])
    assert len(postfix.messages(doug)) == len(postfix.messages(doug, "Sent")) == 1
    assert postfix.is_empty() and postfix.bounces() == []
    wait_until(lambda: service.log().count(f"{queue_id}: message-id=") >= 3, "they are logged, after the answers")
    assert service.log().count(f"{queue_id}: message-id=") == 3
    assert b"\r\nReturn-Path: " not in postfix.messages(doug, "Sent")[0]


def test_the_lab_s_postfix_is_not_believed_without_the_setting(postfix, site):
    """What its user would see: mail waits, and does not bounce."""
    [scuba] = postfix.accounts(1)
    Service(site, settings={"service.trusted_users": ""})
    postfix.start()
    queue_id = postfix.send(message(), [scuba])
    [entry] = postfix.wait_for(1, queue_id)
    assert entry.status == "deferred" and "may not deliver to" in entry.text, entry
    assert postfix.bounces() == []


def test_postfix_asks_before_it_accepts_an_address(postfix, site):
    """main.cf.verify: an address whose account was refused is deferred during SMTP, without another login. Another
    domain's addresses are not asked for."""
    [scuba] = postfix.accounts(1)
    gone = f"gone@{postfix.domain}"
    settings = (line.split(" = ", 1) for line in postfix.piece("main.cf.verify").splitlines() if " = " in line)
    postfix.settings.update(settings)
    service = Service(site, workers=1, settings={"service.trusted_users": postconf("mail_owner")})
    postfix.start()
    assert service.deliver(message(), gone)[0].code == 451
    site.ledger.older("refusal", "refused_at", seconds=20)      # Dovecot's reply may mean trouble: a later one counts
    assert service.deliver(message(), gone)[0].code == 451
    refused = site.sql("SELECT refusals FROM oncedrop.refusal")
    with smtplib.SMTP("127.0.0.1", postfix.port, timeout=60) as client:
        client.ehlo()
        client.mail("lisa@elsewhere.example")
        code, text = client.rcpt(gone)
        assert code == 450 and b"could not be opened" in text, (code, text)
        assert client.rcpt(scuba)[0] == 250
        assert client.rcpt("anybody@elsewhere.example")[0] == 250
    assert site.sql("SELECT refusals FROM oncedrop.refusal") == refused
    assert postfix.messages(scuba) == []
    assert {entry.recipient for entry in postfix.entries()} == {gone, scuba}    # the probes


ANEW = ["reload", "restart", "kill"]     # by SIGHUP, by systemd's restart, by a worker's death
ANEW_SETTINGS = {"lock.wait": "5s", "delivery.deadline": "10s", "delivery.hold_off": "11s"}
PATIENT = {"lock.wait": "100s", "delivery.deadline": "200s", "delivery.hold_off": "201s"}


def send_while_it_starts_anew(postfix, service, how, count, recipients):
    """Sends this many messages, and meanwhile starts the service again, every ten of them; returns them."""
    mails = [message(subject=f"Mail {number}") for number in range(count)]
    for number, mail in enumerate(mails):
        postfix.send(mail, recipients)
        if number % 10 != 5:
            continue
        if how == "reload":
            service.reload()
        elif how == "restart":
            assert service.stop() == 0
            service.start()
        else:
            os.kill(wait_until(service.workers, "a worker")[0], signal.SIGKILL)
    return mails


@pytest.mark.parametrize("how", ANEW)
def test_a_service_that_starts_anew_under_load(postfix, site, how):
    """Nothing is lost, doubled or bounced; without a death nothing is deferred either. Nearly always more clients than workers are connected."""
    scuba, doug = postfix.accounts(2)
    site.settings.update(ANEW_SETTINGS if how == "kill" else PATIENT)
    postfix.settings["oncedrop_destination_concurrency_limit"] = "8"
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(postfix.service_socket)
        os.chmod(postfix.service_socket, 0o666)
        listener.listen()
        service = Service(site, workers=2, listener=listener, settings={"service.trusted_users": postconf("mail_owner")})
        postfix.start()
        mails = send_while_it_starts_anew(postfix, service, how, 40, [scuba, doug])
        postfix.wait_idle()
        deferred = [entry for entry in postfix.entries() if entry.status == "deferred"]
        assert how == "kill" or not deferred, deferred
        postfix.flush()
    everything_arrived(postfix, mails, [scuba, doug])
    assert {entry.status for entry in postfix.entries()} <= {"sent", "deferred"} and postfix.bounces() == []
