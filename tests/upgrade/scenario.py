# SPDX-License-Identifier: ISC
"""What a ledger can hold, by deliveries that succeed, fail and die. The mailboxes are then as test_upgrade.py makes them: by the
ledger, and with the message `found`."""

import signal
import threading

from lab import locks
from lab.ledger import SQLITE, engine
from lab.process import wait_until
from lab.proxy import CLIENT

DOUG, SCUBA, LISA = "doug@upgrade.example", "scuba@upgrade.example", "lisa@upgrade.example"
SUPPORT, FULL, LOCKED = "support@upgrade.example", "full@upgrade.example", "locked@upgrade.example"
ACCOUNTS = DOUG, SCUBA, LISA, SUPPORT, FULL, LOCKED
FEEDS = {"feed support.recipient": SUPPORT, "feed sent.role": "sent"}
RAW = {"record.level": "raw", "record.trace": "yes"}

STRANGER = "stranger@elsewhere.example"
SUBJECT = "=?utf-8?q?Gr=C3=BC=C3=9Fe=2C_=D0=96=2C?= =?utf-8?b?IPCfmIA=?="
PARTS = """MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=b
References: <first@elsewhere.example> <second@elsewhere.example>
In-Reply-To: <second@elsewhere.example>
Cc: Group: "Doug \\\\ D." <doug@upgrade.example>;
"""
TWO_PARTS = """--b
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: 8bit

Grüße, Ж, €, 😀, it's "quoted" \\ and more.

--b
Content-Type: application/octet-stream; name="=?utf-8?q?B=C3=A4r.bin?="
Content-Disposition: attachment
Content-Transfer-Encoding: base64

AAECAwQFBgcICQ==

--b--
"""
# (sender, recipient, what else). Those called support- are for the feed.
MAILS = {
    "stored": (LISA, DOUG, {"subject": SUBJECT, "headers": PARTS, "body": TWO_PARTS}),
    "without-id": (STRANGER, DOUG, {"id": False}),
    "envelope": (STRANGER, SCUBA, {}),
    "found": (STRANGER, DOUG, {}),
    "absent": (STRANGER, DOUG, {}),
    "sent-absent": (LISA, SCUBA, {}),
    "sent-failed": (FULL, DOUG, {}),
    "pending": (STRANGER, FULL, {}),
    "bounced": (STRANGER, FULL, {}),
    "expired": (STRANGER, FULL, {}),
    "refused": (STRANGER, LOCKED, {}),
    "support-taken": (STRANGER, SUPPORT, {}),
    "support-waiting": (STRANGER, SUPPORT, {}),
    "support-tried": (STRANGER, SUPPORT, {}),
    "support-dead": (STRANGER, SUPPORT, {}),
}


def mail(name):
    sender, recipient, more = MAILS[name]
    fields = [f"From: {sender}\nTo: {recipient}\nSubject: {more.get('subject', name)}\nDate: Fri, 1 Aug 2025 10:00:00 +0200\n"]
    if more.get("id", True):
        fields.append(f"Message-ID: <{name}@upgrade.example>\n")
    return ("".join(fields) + more.get("headers", "") + "\n" + more.get("body", f"This is {name}.\n")).encode()


class Story:
    def __init__(self, site):
        self.site = site
        site.settings.update({**RAW, **FEEDS, "imap.port": site.imap.port, "imap.tls": "none"})   # for a proxy to read
        for account in ACCOUNTS:
            # Room for nothing.
            site.imap.add_account(account, quota=1 if account == FULL else None)

    def deliver(self, name, *options, recipient=None, says="2.1.5 stored", **more):
        sender, usual, _ = MAILS[name]
        done = self.site.deliver(mail(name), recipient or usual, "-q", f"Q{list(MAILS).index(name)}", sender=sender,
                                 options=[word for option in options for word in ("-o", option)], **more)
        assert done.out.startswith(says), done

    def die(self, name, mark, generation=1):
        """The delivery is killed when it has sent what has this mark, which the server never gets, and one copy has this claim."""
        sent = threading.Event()

        def watch(connection, side, data):
            if side == CLIENT and mark in data:
                connection.fall_silent()
                sent.set()
                return b""
            return data
        site, port = self.site, self.site.settings["imap.port"]
        site.imap_proxy(watch)
        sender, recipient, _ = MAILS[name]
        running = site.start_delivery(mail(name), recipient, "-q", "QDIED", sender=sender)
        wait_until(lambda: sent.is_set() or running.ended, "its command")
        assert sent.is_set(), running.finish()
        wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy c JOIN oncedrop.message m ON m.id = c.message"
                                      " WHERE c.state = 'appending' AND c.generation = %s AND m.message_id = %s",
                                      (generation, f"{name}@upgrade.example")) == 1, "its claim")
        running.signal(signal.SIGKILL)
        running.finish()
        site.ledger.wait_for_no_session()
        site.settings["imap.port"] = port

    def meet_a_lock(self):
        with locks.held(self.site, locks.key_of(self.site, "envelope@upgrade.example")):
            self.deliver("envelope", recipient=DOUG, says="4.3.0")

    def run(self, *words, exit=0, **more):
        done = self.site.run(*words, **more)
        assert done.exit == exit, done
        return done

    def older(self, **time):
        """All that was written until now."""
        ledger = self.site.ledger
        for table, columns in (("message", ["received_at"]), ("delivery", ["first_at", "last_at", "finished_at"]),
                               ("attempt", ["started_at", "ended_at"]), ("copy", ["first_at", "claimed_at", "stored_at"]),
                               ("event", ["at"])):
            ledger.older(table, *columns, **time)


def play(site):
    """Returns the messages, by their names."""
    story = Story(site)
    finish(story)
    story.older(days=1)
    story.run("purge", "--older-than", "30d")   # which adds up what is older than an hour
    fail(story)
    feed(story)
    if engine() != SQLITE:
        site.ledger.insert("feed_reader", ("reader", "feed"), [("helpdesk", "support")])
    return {name: mail(name) for name in MAILS}


def finish(story):
    site = story.site
    for recipient in (DOUG, SCUBA):
        story.deliver("stored", recipient=recipient)
    story.deliver("stored", says="2.1.5 duplicate")
    story.deliver("without-id")
    story.deliver("envelope", "record.level=envelope", "record.trace=no")
    story.meet_a_lock()
    path = site.write("envelope.eml", mail("envelope").decode())
    story.run("replay", "--verify", "-d", SCUBA, "-f", STRANGER, path)


def fail(story):
    site = story.site
    story.meet_a_lock()
    story.deliver("expired", says="4.2.2")
    story.run("expire", "expired@upgrade.example")
    story.deliver("pending", says="4.2.2")
    story.deliver("pending", says="4.2.2")
    story.deliver("bounced", "delivery.overquota=bounce", says="5.2.2")
    story.deliver("sent-failed", "delivery.sent_expire_after=0s")
    wrong = site.write("wrong-password", "wrong\n")
    story.deliver("refused", "imap.master_user=", f"imap.password_file={wrong}", says="4.4.1")
    story.die("found", b"APPEND")
    site.ledger.age(hours=1, state="appending")
    story.die("found", b"APPEND", generation=2)
    if engine() != SQLITE:
        locks.agree(site, "lease")
    story.die("absent", b"APPEND")
    if engine() != SQLITE:
        locks.agree(site, locks.METHODS_OF[engine()][0])
        del site.settings["lock.method"]
    story.die("sent-absent", b"APPEND \"Sent\"")


def feed(story):
    for name in ("support-taken", "support-tried", "support-dead"):
        story.deliver(name)
    script = "case $ONCEDROP_MESSAGE_ID in support-taken@*) exit 0;; support-dead@*) exit 1;; esac; exit 75"
    story.run("feed", "run", "--tries", "1", "support", "--", "sh", "-c", script, exit=1)
    story.deliver("support-waiting")
