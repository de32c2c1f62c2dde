#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Makes a ticket of a message in a separate SQLite file; see oncedrop-feed(1). This works with every ledger:

    oncedrop feed run --follow support -- feed-ticket-sqlite.py /var/lib/helpdesk/ticket.db

The directory must belong to service.user. With oncedrop-feed@.service add ReadWritePaths=/var/lib/helpdesk."""

import contextlib
import email
import email.policy
import os
import sqlite3
import sys

message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
part = message.get_body(("plain", "html"))
try:
    text = part.get_content() if part else ""
except LookupError:     # an unknown charset
    text = part.get_payload(decode=True).decode("ascii", "replace")
ticket = os.environ["ONCEDROP_ID"], message["Subject"], message["From"], text

try:
    with contextlib.closing(sqlite3.connect(sys.argv[1])) as session, session:
        session.execute("CREATE TABLE IF NOT EXISTS ticket (id INTEGER PRIMARY KEY, subject TEXT, sender TEXT, text TEXT)")
        # The message comes again if its row could not be removed from the feed: then the ticket is there already.
        session.execute("INSERT INTO ticket VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING", ticket)
except sqlite3.OperationalError as error:
    # The database is locked, or the disk is full. With 75 the number of tries is not limited.
    print(f"{sys.argv[1]}: {error}", file=sys.stderr)
    sys.exit(75)
