# SPDX-License-Identifier: ISC
"""A private Dovecot: IMAP with STARTTLS and IMAP over TLS on 127.0.0.1, users in a file, a master user."""

import contextlib
import grp
import os
import re
import resource
import secrets
import socket

from . import dovecot_config, imap_server, process

MASTER = "oncedrop"
# auth keeps the file of each account open; a login shell's soft limit of open files is often 1024.
OPEN_FILES = min(resource.getrlimit(resource.RLIMIT_NOFILE)[1], 20000)
MANY_ACCOUNTS = OPEN_FILES // 4
LOGGED_IN = "(?:Login|Logged in):"  # 2.3, 2.4


class Dovecot(imap_server.ImapServer):
    name = "dovecot"
    title = "Dovecot"
    master_user = MASTER

    def __init__(self, directory, certificate, location="maildir:~/Maildir", special_sent="Sent"):
        """certificate: (certificate, key) files; special_sent: the mailbox that has the special use \\Sent."""
        super().__init__(directory)
        self.certificate = certificate
        self.location = location
        self.special_sent = special_sent
        self.user = process.account_for("nobody")
        self.password = secrets.token_urlsafe()
        self.accounts = 0
        for name in ("run", "state", "mail", "users"):
            os.mkdir(self.path(name), 0o755)
        os.chown(self.path("mail"), self.user.pw_uid, self.user.pw_gid)
        self.write("masters", f"{MASTER}:{self.password}\n")

    def launch(self):
        if self.port is None or "in use" in self.new_log():
            self.port, self.tls_port = process.free_port(), process.free_port()
        owner = {}
        if os.getuid() != 0:
            owner = {"user": self.user.pw_name, "group": grp.getgrgid(self.user.pw_gid).gr_name}
        self.write("dovecot.conf", self.configuration(
            directory=self.directory, certificate=self.certificate[0], key=self.certificate[1], location=self.location,
            port=self.port, tls_port=self.tls_port, uid=self.user.pw_uid, gid=self.user.pw_gid,
            special_sent=self.special_sent, **owner))
        self.spawn([process.find_program("prlimit"), f"--nofile={OPEN_FILES}:", process.find_program("dovecot"), "-F",
                    "-c", self.path("dovecot.conf")])

    def configuration(self, **values):
        return dovecot_config.configuration(**values)

    def renew(self):
        """Restarts it when it has many accounts, before its auth process runs out of open files."""
        if self.accounts > MANY_ACCOUNTS:
            self.stop()
            self.accounts = 0
            self.launch()
            process.wait_until(self.is_up, "Dovecot is up again")

    def answers(self):
        # The port may belong to another process: it counts that Dovecot itself says so, once it has bound the port.
        return "starting up for imap" in self.new_log()

    def command(self, account):
        """Words of a command that speaks IMAP on stdin and stdout, already logged in (PREAUTH)."""
        # As root and on a socket, Dovecot's imap takes inetd(8) for its parent and refuses.
        user = self.user
        words = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        return [*(words if os.getuid() == 0 else []), process.find_program("doveadm"), "-c", self.path("dovecot.conf"),
                "exec", "imap", "-u", account]

    def show_command(self, account, mailbox):
        """A command line that prints the contents of a mailbox."""
        return f"doveadm -c {self.path('dovecot.conf')} fetch -u {account} 'uid date.received text' mailbox {mailbox}"

    def add_account(self, account, quota=None, location=None, home=None, password=None):
        """An account whose password is its name, if none is given. quota: bytes; location: "DRIVER:PATH" of its mailboxes.

        In a separate file: Dovecot does not notice what is added to a file in the second in which it was read."""
        self.accounts += 1
        fields = dovecot_config.user_fields(quota, location, home)
        self.write(f"users/{account}", f"{account}:{password or account}::::::{fields}\n")

    def session(self, account):
        """A logged-in imaplib session, as the master user."""
        return self.plain_session(account, MASTER, self.password)

    def create_sent(self, account, name):
        if name != self.special_sent:
            raise ValueError(f"only {self.special_sent} has that use here")
        with self.session(account) as session:
            imap_server.must(session.create(imap_server.quoted(name)))

    def version(self):
        return ".".join(map(str, dovecot_config.version()))

    def newest_process(self, account, logged_before=0, sessions=1):
        """The process that serves the newest session of an account, once the log reports this many after this many
        characters; it is written shortly after they begin."""
        pattern = rf"{LOGGED_IN} user=<{re.escape(account)}>.* mpid=(\d+)"

        def logged():
            found = re.findall(pattern, self.log()[logged_before:])
            return found if len(found) >= sessions else None
        return int(process.wait_until(logged, f"login of {account} in the log")[-1])

    @contextlib.contextmanager
    def uid_list_locked(self, account, maildir="Maildir"):
        """As if another program had locked a Maildir's list of UIDs."""
        path = self.path("mail", account, maildir, "dovecot-uidlist.lock")
        with open(path, "w", encoding="ascii") as file:
            file.write(f"{os.getpid()}:{socket.gethostname()}")     # Dovecot checks whether that process is alive
        try:
            yield
        finally:
            os.unlink(path)
