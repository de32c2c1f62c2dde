# SPDX-License-Identifier: ISC
"""Mail in, and where it is then: by the real ports, as a user's mail program does it."""

import imaplib
import json
import smtplib
import ssl
import subprocess
import time

from given import PASSWORD

MESSAGE = """\
From: Lisa <{0}>
To: Scuba <{1}>, Doug <{2}>
Subject: Cookies
Message-ID: <cookies.1@example.org>

They are in the kitchen.
"""

WAIT_SECONDS = 120


def client_context():
    """Debian's own certificate is signed by nobody."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def submit(login, sender, recipients):
    """By an authenticated user."""
    with smtplib.SMTP("localhost", 587, timeout=60) as client:
        client.starttls(context=client_context())
        client.login(login, PASSWORD)
        client.sendmail(sender, recipients, MESSAGE.format(sender, *recipients))


def count(login, mailbox):
    """How many messages are there; 0 also when there is no such mailbox."""
    client = imaplib.IMAP4("localhost", timeout=60)
    try:
        client.login(login, PASSWORD)
        status, found = client.select(mailbox, readonly=True)
        return int(found[0]) if status == "OK" else 0
    finally:
        client.logout()


def queue():
    """What Postfix still has, as postqueue tells."""
    lines = subprocess.run(["postqueue", "-j"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def wait_for_mail(login, mailbox, log):
    """Until there is a message. It is not waited for Postfix to try again."""
    end = time.monotonic() + WAIT_SECONDS
    while not count(login, mailbox):
        deferred = [message for message in queue() if message["queue_name"] == "deferred"]
        if deferred or time.monotonic() > end:
            raise AssertionError(f"no mail in {mailbox} of {login}; queued: {deferred}\n{log()}")
        time.sleep(0.1)


def wait_for_queue(log):
    end = time.monotonic() + WAIT_SECONDS
    while queue():
        if time.monotonic() > end:
            raise AssertionError(f"still queued: {queue()}\n{log()}")
        time.sleep(0.1)
