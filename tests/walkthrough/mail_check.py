# SPDX-License-Identifier: ISC
"""Sends mail and looks where it is, on the real ports, like a user's mail program."""

import imaplib
import json
import smtplib
import ssl
import subprocess
import time

from prerequisites import PASSWORD

MESSAGE = """\
From: Lisa <lisa@example.org>
To: Doug <doug@example.org>, Lisa <lisa@example.org>
Subject: Cookies
Message-ID: <cookies.1@example.org>

They are in the kitchen.
"""

WAIT_SECONDS = 120
FAILURES = (OSError, imaplib.IMAP4.error)   # what is raised here in addition to AssertionError; smtplib's are of the first kind


def client_context():
    """Debian's certificate is signed by itself."""
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
    """Postfix's answer, code and text, to a stranger who has mail for a recipient."""
    with smtplib.SMTP("localhost", 25, timeout=60) as client:
        client.ehlo()
        client.mail("stranger@example.com")
        return client.rcpt(recipient)


def count(login, mailbox):
    """How many messages a mailbox has; 0 also if it does not exist."""
    client = imaplib.IMAP4("localhost", timeout=60)
    try:
        client.login(login, PASSWORD)
        status, found = client.select(mailbox, readonly=True)
        return int(found[0]) if status == "OK" else 0
    finally:
        client.logout()


def queue():
    """What is in Postfix's queue."""
    lines = subprocess.run(["postqueue", "-j"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return [json.loads(line) for line in lines]


def wait_until_empty():
    """Waits until Postfix has delivered everything. Mail that it defers is a failure: it should go at the first try."""
    end = time.monotonic() + WAIT_SECONDS
    while any(queue() for _ in range(2)):   # one look misses what is on its way between two queues
        if time.monotonic() > end or any(message["queue_name"] == "deferred" for message in queue()):
            raise AssertionError(f"Postfix could not deliver: {queue()}")
        time.sleep(0.1)
