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
From: Lisa <lisa@example.org>
To: Doug <doug@example.org>, Lisa <lisa@example.org>
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


def submit(login):
    """Lisa, logged in to Postfix, writes to Doug and to herself."""
    with smtplib.SMTP("localhost", 587, timeout=60) as client:
        client.starttls(context=client_context())
        client.login(login, PASSWORD)
        client.sendmail("lisa@example.org", ["doug@example.org", "lisa@example.org"], MESSAGE)


def refusal(recipient):
    """What a stranger is answered who has mail for somebody; (250, ...) if it is taken."""
    with smtplib.SMTP("localhost", 25, timeout=60) as client:
        client.ehlo()
        client.mail("stranger@example.com")
        return client.rcpt(recipient)


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
    """What Postfix still has."""
    lines = subprocess.run(["postqueue", "-j"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def wait_until_empty():
    """Until Postfix has nothing left. It is not waited for its next try."""
    end = time.monotonic() + WAIT_SECONDS
    while any(queue() for _ in range(2)):   # one look may miss what goes from one queue to another
        if time.monotonic() > end or any(message["queue_name"] == "deferred" for message in queue()):
            raise AssertionError(f"Postfix could not deliver: {queue()}")
        time.sleep(0.1)
