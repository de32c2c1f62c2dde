# SPDX-License-Identifier: ISC
"""Who delivers one message to one account, started again for each, as a mail server starts them."""

import itertools
import os
import re
import sys

import measure
from lab.messages import message

ACCOUNTS = 20       # of each competitor
SIZE = 3000         # bytes, about
NUMBERS = itertools.count(1)
LINE = "Sea cucumbers have no brain, and yet they always know which way is down.\n"


def mail(to, sender="lisa@elsewhere.example", size=SIZE):
    """A message of this many bytes that is new to all; the same ones in every run."""
    number = next(NUMBERS)
    head = message(sender=sender, to=to, id=f"{number}.bench@test.example", subject=f"Message {number}", body="")
    rest = max(size - len(head), 1)
    return head + (LINE * (rest // len(LINE) + 1)).encode()[:rest - 1] + b"\n"


def plain(name):
    """As part of an account's name, for Dovecot, which wants lower case."""
    return re.sub("[^a-z0-9]+", "-", name.lower())


class OneShot:
    """words(account), environment(account): how it is started; path: where it is, None if it is not installed."""

    sender = None
    path = ""

    def __init__(self, servers, runner, name, accounts=ACCOUNTS):
        self.servers, self.runner, self.name = servers, runner, name
        self.mailboxes = servers.accounts(plain(name) + "-", accounts)
        self.turn = itertools.cycle(self.mailboxes)
        self.delivered = 0

    def environment(self, account):
        return {**self.servers.environment(), "HOME": self.servers.dovecot.path("mail", account)}

    def deliver(self, **more):
        account = next(self.turn)
        done = self.runner.run(self.words(account), self.environment(account),
                               mail(account, **({"sender": self.mailboxes[0]} if self.sender else {}), **more))
        measure.must(done.exit == 0, f"{self.name}: {done}")
        self.delivered += 1
        return done.seconds

    def verify(self):
        """A figure of who loses mail would be worth nothing."""
        stored = self.servers.stored(self.mailboxes)
        measure.must(stored == self.delivered, f"{self.name}: {stored} of {self.delivered} messages are there")


class Oncedrop(OneShot):
    """more: further settings; sent: with a copy for the sender."""

    def __init__(self, servers, runner, name, program, sent=False, more=None, **rest):
        super().__init__(servers, runner, name, **rest)
        self.program, self.sender = program, sent
        self.path = program.path
        self.configuration = program.configuration(plain(name), **(more or {}), **(
            {"route.sent_copy": "authenticated"} if sent else {}))

    def words(self, account):
        login = ["-u", self.mailboxes[0]] if self.sender else []
        return [*self.program.words("deliver", configuration=self.configuration), "-f",
                self.mailboxes[0] if self.sender else "lisa@elsewhere.example", "-d", account, *login]


class Front(OneShot):
    """The same through the resident service."""

    def __init__(self, servers, runner, name, program, sent=False):
        super().__init__(servers, runner, name)
        self.program, self.sender = program, sent
        self.path = program.path

    def words(self, account):
        login = ["-u", self.mailboxes[0]] if self.sender else []
        return [self.path, "deliver", "-S", self.program.service.socket, "-f",
                self.mailboxes[0] if self.sender else "lisa@elsewhere.example", "-d", account, *login]


class DovecotLda(OneShot):
    path = measure.agents_path("dovecot-lda")

    def words(self, account):
        return [self.path, "-c", self.servers.dovecot.path("dovecot.conf"), "-o", "log_path=/dev/stderr", "-f",
                "lisa@elsewhere.example", "-d", account]


class Fdm(OneShot):
    """fdm(1) fetches from stdin and appends by IMAP. It neither locks nor records."""

    path = measure.agents_path("fdm")

    def __init__(self, servers, runner, name, **rest):
        super().__init__(servers, runner, name, **rest)
        self.directory = servers.new_directory("fdm")
        os.chown(self.directory, servers.user.pw_uid, servers.user.pw_gid)
        for account in self.mailboxes:
            self.configure(account)

    def imap_port(self):
        return self.servers.dovecot.port

    def configure(self, account):
        path = os.path.join(self.directory, account)
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(f'set no-received\nset lock-file "{path}.lock"\nset maximum-size 200M\naccount "stdin" stdin\n'
                       f'action "imap" imap server "127.0.0.1" port {self.imap_port()} user "{account}"'
                       f' pass "{account}" folder "INBOX"\nmatch all action "imap"\n')
        os.chown(path, self.servers.user.pw_uid, self.servers.user.pw_gid)

    def words(self, account):
        return [self.path, "-q", "-f", os.path.join(self.directory, account), "-a", "stdin", "fetch"]


class Maildrop(OneShot):
    """maildrop(1), into a Maildir."""

    path = measure.agents_path("maildrop")

    def __init__(self, servers, runner, name):
        super().__init__(servers, runner, name)
        self.directory = servers.new_directory("maildrop")
        for account in self.mailboxes:
            with open(os.path.join(self.directory, account), "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(f'to "{servers.maildir(account)}/"\n')
            os.chown(file.name, servers.user.pw_uid, servers.user.pw_gid)
        os.chown(self.directory, servers.user.pw_uid, servers.user.pw_gid)

    def words(self, account):
        return [self.path, os.path.join(self.directory, account)]


class Script(OneShot):
    """agent.py."""

    path = sys.executable

    def __init__(self, servers, runner, name):
        super().__init__(servers, runner, name)
        self.database = servers.postgres.create_database(f'"{servers.user.pw_name}"')
        session = servers.postgres.connect(self.database)
        with session.cursor() as cursor:
            cursor.execute("CREATE TABLE delivered (id text, account text, at timestamptz, PRIMARY KEY (id, account))")
            cursor.execute(f'ALTER TABLE delivered OWNER TO "{servers.user.pw_name}"')
        session.close()
        self.code = os.path.join(servers.new_directory("script"), "agent.py")
        os.chmod(os.path.dirname(self.code), 0o755)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "agent.py"), encoding="utf-8") as source, \
                open(self.code, "w", encoding="utf-8") as copy:
            copy.write(source.read())

    def words(self, account):
        server = self.servers.postgres
        conninfo = f"host={server.directory} port={server.port} dbname={self.database} user={self.servers.user.pw_name}"
        return [self.path, "-B", self.code, conninfo, str(self.servers.dovecot.port), account, account]


PEERS = (("dovecot-lda", DovecotLda), ("fdm, IMAP", Fdm), ("maildrop", Maildrop), ("script", Script))


def competitors(servers, runner, programs):
    """Everybody who delivers one-shot."""
    found = []
    for program in programs:
        ways = [("", False, None), (" + Sent", True, None)]
        if program.is_pooled:
            bouncer = {"database.conninfo": servers.pgbouncer.conninfo(program.database)}
            ways += [(" PgBouncer", False, bouncer), (" PgBouncer + Sent", True, bouncer)]
        for suffix, sent, more in ways:
            found.append(Oncedrop(servers, runner, program.name + suffix, program, sent, more))
        if program.service:
            found += [Front(servers, runner, f"{program.name} service{suffix}", program, sent)
                      for suffix, sent in (("", False), (" + Sent", True))]
    return found + [kind(servers, runner, name) for name, kind in PEERS if kind.path]
