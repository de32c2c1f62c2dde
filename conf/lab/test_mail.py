#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""A test of an application that sends mail, here smtplib:

    oncedrop-lab python3 test_mail.py"""

import email.message
import email.utils
import imaplib
import os
import smtplib
import time
import unittest

HOST, PASSWORD = os.environ["ONCEDROP_HOST"], os.environ["ONCEDROP_PASSWORD"]
LISA, SCUBA = os.environ["ONCEDROP_ACCOUNTS"].split()[:2]
PATIENCE = 30   # seconds


def count(account, mailbox, message_id):
    """How many messages with this Message-ID are in a mailbox."""
    with imaplib.IMAP4(HOST, int(os.environ["ONCEDROP_IMAP_PORT"])) as session:
        session.login(account, PASSWORD)
        status, _ = session.select(mailbox, readonly=True)
        if status != "OK":      # it is made for the first message
            return 0
        return len(session.search(None, "HEADER", "Message-ID", message_id)[1][0].split())


def count_when_there(*where):
    end = time.monotonic() + PATIENCE
    while not count(*where) and time.monotonic() < end:
        time.sleep(0.05)
    return count(*where)


class Mail(unittest.TestCase):
    def test_arrives_exactly_once(self):
        message = email.message.EmailMessage()
        message["From"], message["To"], message["Subject"] = LISA, SCUBA, "Cookies"
        message["Date"], message["Message-ID"] = email.utils.localtime(), email.utils.make_msgid(domain="example.org")
        message.set_content("They are in the kitchen.\n")
        with smtplib.SMTP(HOST, int(os.environ["ONCEDROP_SUBMISSION_PORT"])) as client:
            client.login(LISA, PASSWORD)
            client.send_message(message)
        self.assertEqual(count_when_there(SCUBA, "INBOX", message["Message-ID"]), 1)
        self.assertEqual(count_when_there(LISA, "Sent", message["Message-ID"]), 1)
        self.assertEqual(count(LISA, "INBOX", message["Message-ID"]), 0)


if __name__ == "__main__":
    unittest.main()
