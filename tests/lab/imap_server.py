# SPDX-License-Identifier: ISC
"""What the tests ask of every private IMAP server, in IMAP."""

import collections
import datetime
import imaplib
import os
import re
import socket

from . import process

Stored = collections.namedtuple("Stored", "uid flags internal_date raw")


def quoted(name):
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def must(answer):
    """The data of an answer of imaplib, which has to be OK."""
    status, data = answer
    if status != "OK":
        raise RuntimeError(f"{status} {data}")
    return data


def stored(head, raw):
    uid = int(re.search(rb"UID (\d+)", head)[1])
    flags = set(re.search(rb"FLAGS \(([^)]*)\)", head)[1].decode().split()) - {r"\Recent"}
    return Stored(uid, flags, in_utc(re.search(rb'INTERNALDATE "([^"]*)"', head)[1].decode()), raw)


def in_utc(date):
    """An IMAP date; servers use their own time zones."""
    form = "%d-%b-%Y %H:%M:%S %z"
    return datetime.datetime.strptime(date.strip(), form).astimezone(datetime.timezone.utc).strftime(form)


class ImapServer(process.Server):
    """A server with the ports `port` and `tls_port`, whose accounts a `session` opens."""

    title = "server"
    master_user = None
    prefix = ""                 # of mailboxes except INBOX
    special_use = True          # RFC 6154
    accepts_strangers = False   # the master user's login for an account that does not exist

    def __init__(self, directory):
        super().__init__(directory)
        self.port = self.tls_port = None

    def write(self, name, text, mode=0o644):
        with open(self.path(name), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        return self.path(name)

    def greeting(self):
        """The line that it greets clients with, or an empty one."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), 5) as client, client.makefile() as lines:
                return lines.readline()
        except OSError:
            return ""

    def plain_session(self, account, user, password):
        """A logged-in imaplib session."""
        session = imaplib.IMAP4("127.0.0.1", self.port, timeout=120)
        session.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # imaplib sends bare line ends
        session.authenticate("PLAIN", lambda _: f"{account}\0{user}\0{password}".encode())
        return session

    def login_session(self, account, password):
        session = imaplib.IMAP4("127.0.0.1", self.port, timeout=120)
        session.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        session.login(account, password)
        return session

    def session(self, account):
        """A logged-in imaplib session of this account."""
        raise NotImplementedError

    def create_sent(self, account, name):
        """Creates a mailbox with the special use \\Sent."""
        raise NotImplementedError

    def version(self):
        """Such as 3.6.1."""
        raise NotImplementedError

    def mailboxes(self, account, list_command="list"):
        """The names of all mailboxes, in modified UTF-7."""
        with self.session(account) as session:
            return sorted(re.sub(rb'.*\) (NIL|"[^"]*") ', b"", line).strip(b'"').decode()
                          for line in getattr(session, list_command)()[1] if line)

    def messages(self, account, mailbox="INBOX"):
        """The contents of a mailbox, in order of arrival; an empty list if there is no such mailbox."""
        with self.session(account) as session:
            status, _ = session.select(quoted(mailbox), readonly=True)
            if status != "OK":
                return []
            answer = must(session.uid("FETCH", "1:*", "(UID FLAGS INTERNALDATE BODY.PEEK[])"))
            return [stored(*item) for item in answer if isinstance(item, tuple)]

    def count(self, account, mailbox="INBOX"):
        return len(self.messages(account, mailbox))
