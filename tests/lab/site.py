# SPDX-License-Identifier: ISC
"""A mail site with its own configuration, database and accounts, and the program to test with them."""

import collections
import glob
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time

from . import dovecot, lab as lab_module, locks
from .ledger import MARIADB, SQLITE, PostgresLedger, SqliteLedger, SqliteLedgers, engine
from .ledgers import Ledgers
from .proxy import Proxy

Done = collections.namedtuple("Done", "exit out err seconds")

PROCESS_TIMEOUT = 300

# The output of `check` when one of its limits was exceeded.
SILENCE = ("not done within", "no answer within", "no answer in time")

# From a leak check whose process was killed by a test.
KILLED_MEANWHILE = re.compile(r"^==\d+==Unable to get registers from thread \d+\.\n", re.M)

OPERATORS = {"show", "list", "locks", "feed", "stats", "resume", "restore", "purge", "expire", "export", "forget"}     # commands that log in with that role


class Running:
    """A process of the program. stdin: bytes, passed through a pipe, or an open file."""

    def __init__(self, arguments, stdin, environment, merge):
        self.started = time.monotonic()
        self.ended = None
        self.stdin = stdin if isinstance(stdin, bytes) else None
        self.process = subprocess.Popen(
            arguments, stdin=stdin if self.stdin is None else subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge else subprocess.PIPE, env=environment, cwd="/")
        self.output = None
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        self.output = self.process.communicate(self.stdin)
        self.ended = time.monotonic()

    def finish(self, seconds=PROCESS_TIMEOUT):
        """Waits for its end. exit is negative after death by a signal, as in subprocess."""
        self.reader.join(seconds)
        if self.reader.is_alive():
            self.process.kill()
            self.reader.join()
            raise TimeoutError(f"{self.process.args} took more than {seconds} s; output: {self.output}")
        out, err = (text.decode(errors="backslashreplace") if text is not None else "" for text in self.output)
        return Done(self.process.returncode, out, err, self.ended - self.started)

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.reader.join()


class Site:
    """settings holds the configuration, "group.name" → value; it is written again before every run. The lab's servers
    are reached directly unless a test puts something in between. ledgers: who lent the database and has it back.
    trusting: the ledger has it that the IMAP server looks at the account that is named; else a delivery finds that out."""

    def __init__(self, lab, database=None, ledgers=None):
        self.lab = lab
        self.ledgers, self.lent = ledgers, database
        self.directory = lab.new_directory("site")
        self.number = os.path.basename(self.directory)[len("site"):]
        self.database = database
        self.file = None
        self.closing = []
        self.running = []
        self.trusting = True
        self.leaks = 1
        self.trusted = set()
        self.imap = lab.dovecot
        self.password_file = self.write("password", lab.dovecot.password + "\n")
        self.settings = {
            "service.user": "",     # the user who runs the tests
            **self.ledger.settings(lab_module.DELIVERY),
            "imap.host": "127.0.0.1",
            "imap.port": lab.dovecot.tls_port,
            "imap.ca_file": lab.authority.certificate,
            "imap.master_user": dovecot.MASTER,
            "imap.password_file": self.password_file,
            "imap.timeout": "25s",
            "route.sent_copy": "from",
            "delivery.deadline": "60s",
            "log.unrecorded_file": "",   # not that of this machine
        }

    def write(self, name, text, mode=0o600):
        """Replaces a file atomically, so that a process started meanwhile reads either version."""
        path = os.path.join(self.directory, name)
        descriptor, new = tempfile.mkstemp(dir=self.directory)
        with open(descriptor, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), mode)
            file.write(text)
        os.rename(new, path)
        return path

    def server(self, port=None):
        """The IMAP server's name in the ledger, or None if nothing is kept about it. port: instead of the setting."""
        setting = {**self.settings, "imap.port": port or self.settings.get("imap.port")}.get
        user = setting("imap.master_user") or ("a token" if setting("imap.auth") in ("xoauth2", "oauthbearer") else None)
        if setting("imap.command") or not setting("imap.port") or not user:
            return None
        return f"{setting('imap.host')} port {setting('imap.port')} on {socket.gethostname()} as {user}"

    def trust_server(self, port=None):
        server = self.server(port)
        if not self.trusting or server is None or server in self.trusted:
            return
        self.trusted.add(server)
        self.ledger.trust(server)

    def configuration(self):
        """The configuration file's text: settings that are None are left out."""
        self.trust_server()
        groups = collections.defaultdict(list)
        for key, value in self.settings.items():
            group, name = key.rsplit(".", 1)
            if value is not None:
                groups[group].append(f"{name}={value}\n")
        return "".join(f"[{group}]\n" + "".join(lines) for group, lines in groups.items())

    def write_configuration(self, command):
        """Operators' commands log in as the operator; with this configuration they would log in like deliveries."""
        if not OPERATORS.intersection(command[:1]):
            return self.write("oncedrop.conf", self.configuration())
        delivery, operator = map(self.ledger.login, (lab_module.DELIVERY, lab_module.OPERATOR))
        return self.write("operator-oncedrop.conf", self.configuration().replace(delivery, operator))

    def use_server(self, server):
        """From now on an ImapServer other than the lab's Dovecot is the site's."""
        self.imap = server
        self.password_file = self.write("password", server.password + "\n")
        self.settings.update({"imap.port": server.tls_port, "imap.master_user": server.master_user})

    def account(self, name="user", **fields):
        """A new account; returns its address. fields: see the server's add_account."""
        address = f"{name}.{self.number}.{os.getpid()}@example.org"
        self.imap.add_account(address, **fields)
        return address

    # Running the program

    def environment(self, more=None):
        kept = {name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_PRELOAD") if name in os.environ}
        # A separate exit status, and a file, so that a sanitizer's finding is never taken for an outcome.
        sanitizer = f"exitcode=99:log_path={os.path.join(self.directory, 'sanitizer')}"
        kept["UBSAN_OPTIONS"] = sanitizer + ":print_stacktrace=1"
        # The search for leaks takes longer than all else that a process does: each test's first has it, or none.
        # The block of a module's thread-local variables is searched as any other of the heap: at some addresses the
        # leak search of gcc 12 misreads where it begins, and crashes.
        leaks = os.environ.get("ASAN_OPTIONS", f"detect_leaks={self.leaks}:intercept_tls_get_addr=0")
        kept["ASAN_OPTIONS"], self.leaks = f"{kept['UBSAN_OPTIONS']}:{leaks}", 0
        kept["MAIL_CONFIG"] = self.lab.postfix_settings     # not those of this machine
        return {**kept, **(more or {})}

    def start(self, *arguments, stdin=b"", env=None, options=(), merge=False, config=True, under=(), program=None):
        """Starts `oncedrop -c CONFIGURATION OPTIONS ARGUMENTS`. merge: stderr goes to stdout, as under Postfix. under: words
        before the command line. program: another than the one under test."""
        words = [*under, program or lab_module.program()]
        if config:
            words += ["-c", self.write_configuration(arguments)]
        process = Running([*words, *options, *arguments], stdin, self.environment(env), merge)
        self.running.append(process)
        return process

    def run(self, *arguments, **more):
        return self.start(*arguments, **more).finish()

    def check(self, *arguments, unresponsive=False, **more):
        """`check`. A busy machine may exceed its limits: then it is repeated. unresponsive: some server is meant not to
        answer."""
        for _ in range(5):
            done = self.run("check", *arguments, **more)
            said = " ".join(done.out.split())
            if unresponsive or not any(text in said for text in SILENCE):
                break
        return done

    def start_delivery(self, message, recipient, *arguments, sender=None, **more):
        words = ["deliver"]
        if sender is not None:
            words += ["-f", sender]
        if recipient is not None:
            words += ["-d", recipient]
        return self.start(*words, *arguments, stdin=message, **more)

    def deliver(self, message, recipient, *arguments, **more):
        return self.start_delivery(message, recipient, *arguments, **more).finish()

    def deliver_with_retries(self, message, recipient, *arguments, seconds=60, **more):
        """As Postfix does, only faster: retries while the status is 75. Returns the result of every try."""
        end = time.monotonic() + seconds
        tries = [self.deliver(message, recipient, *arguments, **more)]
        while tries[-1].exit == 75 and time.monotonic() < end:
            time.sleep(0.05)
            tries.append(self.deliver(message, recipient, *arguments, **more))
        return tries

    # Examining the servers

    def messages(self, account, mailbox="INBOX"):
        return self.imap.messages(account, mailbox)

    def count(self, account, mailbox="INBOX"):
        return len(self.messages(account, mailbox))

    @property
    def ledger(self):
        if engine() == SQLITE:
            path = self.database or os.path.join(self.directory, "no-ledger.db")
            if self.file is None or self.file.database != path:
                self.file = SqliteLedger(path)
            return self.file
        return self.ledger_of(self.database)

    def ledger_of(self, database):
        """Another, which `ledgers` has lent; to be closed."""
        if engine() == SQLITE:
            return SqliteLedger(database)
        if engine() == MARIADB:
            from .ledger_mariadb import MariaLedger
            return MariaLedger(self.database_server, database)
        return PostgresLedger(self.database_server, database)

    @property
    def database_server(self):
        """Of the engine's servers, the lab's."""
        return self.lab.mariadb if engine() == MARIADB else self.lab.postgres

    def sql(self, query, parameters=None):
        return self.ledger.sql(query, parameters)

    def value(self, query, parameters=None):
        return self.ledger.value(query, parameters)

    # Proxies

    def imap_proxy(self, watch=None):
        """From now on IMAP goes through a new proxy, which is returned."""
        proxy = self.use(Proxy(int(self.settings["imap.port"]), watch))
        self.settings["imap.port"] = proxy.port
        return proxy

    def database_proxy(self, watch=None):
        server = self.database_server
        proxy = self.use(Proxy(server.port, watch))
        self.settings["database.conninfo"] = server.conninfo(self.database, lab_module.DELIVERY, port=proxy.port)
        return proxy

    def database_proxy_if_any(self, watch=None):
        """database_proxy(), or None: nothing can be put between the program and a file."""
        return self.database_proxy(watch) if engine() != SQLITE else None

    def use(self, thing):
        """Closes it when the test is over."""
        self.closing.append(thing)
        return thing

    def close_used(self):
        while self.closing:
            self.closing.pop().close()

    def sanitizer_reports(self):
        reports = []
        for path in glob.glob(os.path.join(self.directory, "sanitizer.*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                reports.append(KILLED_MEANWHILE.sub("", file.read()))
        return "\n".join(filter(None, reports))

    def close(self):
        for process in self.running:
            process.stop()
        self.close_used()
        self.ledger.close()
        if self.ledgers:
            self.ledgers.give_back(self.lent)


def install_schema(lab):
    """Lets the program itself install the schema in a database, and returns Ledgers that are copied from it."""
    if engine() == SQLITE:
        return install_sqlite(lab)
    if engine() == MARIADB:
        from .ledger_mariadb import MariaLedgers
        return MariaLedgers(lab.mariadb, lambda database: install_mariadb(lab, database))
    database = lab.postgres.create_database(lab_module.OWNER)
    site = Site(lab, database)
    site.settings["database.conninfo"] = lab.postgres.conninfo(database, lab_module.OWNER)
    done = site.run("ledger", "install")
    if done.exit:
        raise RuntimeError(f"ledger install: {done}\n{site.sanitizer_reports()}")
    lab.postgres.admin(f"GRANT oncedrop_delivery TO {lab_module.DELIVERY}")
    lab.postgres.admin(f"GRANT oncedrop_operator TO {lab_module.OPERATOR}")
    return Ledgers(lab.postgres, database)


def install_sqlite(lab):
    path = os.path.join(lab.new_directory("ledger"), "template.db")
    site = Site(lab, path)
    site.trusting = False   # which would open the file
    done = site.run("ledger", "install")
    if done.exit:
        raise RuntimeError(f"ledger install: {done}\n{site.sanitizer_reports()}")
    return SqliteLedgers(lab, path)


def install_mariadb(lab, database):
    """Lets the program install the schema in this database, and gives its roles to the lab's users."""
    site = Site(lab, database)
    site.trusting = False   # that table is not there yet
    site.settings["database.conninfo"] = lab.mariadb.conninfo(database, lab_module.OWNER)
    done = site.run("ledger", "install")
    if done.exit:
        raise RuntimeError(f"ledger install: {done}\n{site.sanitizer_reports()}")


def new_site(lab, ledgers):
    """A site with an empty ledger."""
    site = Site(lab, ledgers.take(), ledgers)
    if locks.of_environment() != locks.METHODS[0]:
        locks.agree(site, locks.of_environment())
    return site
