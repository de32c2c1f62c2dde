# SPDX-License-Identifier: ISC
"""Makes a ticket of a message in a Django project; see oncedrop-feed(1). Copy it to helpdesk/management/commands/receive_mail.py, and
give the model a unique field:

    class Ticket(models.Model):
        oncedrop_id = models.BigIntegerField(unique=True)
        subject = models.TextField()
        sender = models.TextField()
        text = models.TextField()

    oncedrop feed run --follow support -- /srv/helpdesk/manage.py receive_mail"""

import email
import email.policy
import os
import sys

from django.core.management.base import BaseCommand
from django.db import OperationalError, transaction

from helpdesk.models import Ticket


class Command(BaseCommand):
    help = "Makes a ticket of the message on standard input."

    def handle(self, *args, **options):
        message = email.message_from_binary_file(sys.stdin.buffer, policy=email.policy.default)
        part = message.get_body(("plain", "html"))
        try:
            text = part.get_content() if part else ""
        except LookupError:     # an unknown charset
            text = part.get_payload(decode=True).decode("ascii", "replace")
        found = {"subject": message["Subject"] or "", "sender": message["From"] or "", "text": text}
        try:
            # The message comes again if its row could not be removed from the feed: then the ticket is there already.
            with transaction.atomic():
                Ticket.objects.get_or_create(oncedrop_id=os.environ["ONCEDROP_ID"], defaults=found)
        except OperationalError as error:
            # The database is away, or locked. With 75 the number of tries is not limited.
            self.stderr.write(str(error))
            sys.exit(75)
