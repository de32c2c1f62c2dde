#!/usr/bin/python3
# SPDX-License-Identifier: ISC
"""Makes a ticket of each message of a feed, exactly once, in the ledger's PostgreSQL database; see oncedrop-feed(1).
It needs python3-psycopg2, record.level text or raw for the text, and these, created by the owner of the schema or a superuser:

    CREATE ROLE helpdesk LOGIN PASSWORD '...';
    GRANT oncedrop_feed TO helpdesk;
    INSERT INTO oncedrop.feed_reader VALUES ('helpdesk', 'support');
    CREATE TABLE public.ticket (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, subject text, sender text, text text);
    GRANT INSERT ON public.ticket TO helpdesk;

    feed-ticket.py CONNINFO FEED

It ends when the connection is lost; let systemd start it again. Several may run at the same time."""

import sys
import time

import psycopg2

TAKE = """SELECT id FROM oncedrop.waiting WHERE feed = %s AND dead = FALSE AND due
           ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED"""
TICKET = """INSERT INTO public.ticket (subject, sender, text)
            SELECT subject, coalesce("from", sender),
                   (SELECT text FROM oncedrop.waiting_part WHERE message = m.message AND text IS NOT NULL
                       AND disposition IS DISTINCT FROM 'attachment' ORDER BY string_to_array(path, '.')::int[] LIMIT 1)
              FROM oncedrop.waiting_message m WHERE id = %s"""
DONE = "DELETE FROM oncedrop.waiting WHERE id = %s"
LATER = "UPDATE oncedrop.waiting SET not_before = now() + interval '1 hour', tries = tries + 1, error = %s WHERE id = %s"

session = psycopg2.connect(sys.argv[1])
cursor = session.cursor()
while True:
    cursor.execute(TAKE, (sys.argv[2],))
    row = cursor.fetchone()
    try:
        if row:
            cursor.execute(TICKET, row)
            cursor.execute(DONE, row)
    except (psycopg2.DataError, psycopg2.IntegrityError) as error:
        # The table refuses this ticket. The others do not wait for it.
        session.rollback()
        cursor.execute(LATER, (str(error), row[0]))
    session.commit()    # the ticket is there, and the row is not: both or neither
    if not row:
        time.sleep(1)
