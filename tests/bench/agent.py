# SPDX-License-Identifier: ISC
"""What an administrator might write in an afternoon: agent.py CONNINFO PORT USER PASSWORD locks, records, searches, appends."""
import email
import imaplib
import sys
import time

import psycopg2

conninfo, port, user, password = sys.argv[1:]
message = sys.stdin.buffer.read()
name = email.message_from_bytes(message)["Message-ID"]
database = psycopg2.connect(conninfo)
cursor = database.cursor()
cursor.execute("SELECT pg_try_advisory_xact_lock(hashtext(%s))", (name,))
if not cursor.fetchone()[0]:
    sys.exit(75)
cursor.execute("INSERT INTO delivered VALUES (%s, %s, now())", (name, user))
imap = imaplib.IMAP4("127.0.0.1", int(port))
imap.login(user, password)
imap.select("INBOX", readonly=True)
if imap.search(None, "HEADER", "Message-ID", f'"{name}"')[1] == [b""]:
    imap.append("INBOX", None, imaplib.Time2Internaldate(time.time()), message)
database.commit()
imap.logout()
