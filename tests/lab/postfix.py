# SPDX-License-Identifier: ISC
"""A private Postfix that delivers to oncedrop by one of the ways in, set up with the files of conf/postfix."""

import collections
import contextlib
import itertools
import json
import os
import pwd
import re
import shutil
import signal
import smtplib
import ssl
import subprocess
import time

from . import lab as lab_module, process
from .front import install, short_directory
from .messages import on_the_wire
from .postfix_base import MAIN_CF, MASTER_CF, make_directories, postconf

PIECES = os.path.join(lab_module.SAMPLES, "postfix")
WAYS = ("pipe", "lmtp")     # of most tests; the others need a service (lab/service.py)
TABLES = ("oncedrop_status", "oncedrop_sent", "oncedrop_logins", "oncedrop_closed")
SERVICE_USER = "uucp"   # replaces the user and group "oncedrop"; every Debian has it, and it has no mail
SUBMISSION = "submission"

Entry = collections.namedtuple("Entry", "time agent queue_id recipient dsn status text")
ENTRY = re.compile(r"^(\w+ +\d+ [\d:]+) \S+ postfix/([\w/]+)\[\d+\]: (\w+): to=<([^>]*)>,.* dsn=([\d.]+), "
                   r"status=(\w+) \((.*)\)$", re.MULTILINE)


def missing():
    """The reason why there can be no Postfix, or None. Without root it could not deliver to another user."""
    try:
        process.find_program("postconf")
    except FileNotFoundError as error:
        return str(error)
    return None if os.getuid() == 0 else "not root"


def system_users():
    """Users that every system has, for local(8) to deliver to; none of them can log in."""
    return [user.pw_name for user in pwd.getpwall() if 0 < user.pw_uid < 100 and user.pw_name != SERVICE_USER]


def client_context(certificate):
    """For a client that does not check the server's certificate, and presents its own."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.load_cert_chain(*certificate)
    return context


class Postfix(process.Server):
    """One way in, for one site.

    settings holds what a test adds to main.cf. edit, when set, is a function that gets the text of a piece (its file's
    name, its text with the values put in) and returns the text to write. Both count from the next start()."""

    name = "postfix"

    def __init__(self, site, way):
        self.directory = short_directory()
        self.process = None
        self.site = site
        self.way = way
        self.edit = lambda name, text: text
        self.settings = {}
        self.service_socket = None  # for the way "service"
        self.sent_copies = False    # with master.cf.sent_copies
        self.port = self.submission_port = None
        self.names = system_users()
        self.numbers = itertools.count(1)
        self.domain = f"s{site.number}.example.org"
        user = pwd.getpwnam(SERVICE_USER)
        self.gid = user.pw_gid
        for name in ("etc", "outside"):
            os.mkdir(self.path(name), 0o755)
        make_directories(queue_directory=self.path("queue"), data_directory=self.path("data"))
        os.chown(self.path("outside"), user.pw_uid, -1)
        site.ledger.give_to(user)
        self.program = self.install_program()
        site.settings.update({"service.user": SERVICE_USER, "log.level": "debug", "imap.password_file": self.secret("password",
                                                                                     site.lab.dovecot.password + "\n")})
        if way == "mailbox_command":
            site.settings["route.account"] = "%{user}"
        self.configure()

    # What oncedrop's own installation would do

    def install_program(self):
        """The programs with our default configuration. So master.cf needs no more arguments than in real life."""
        program, self.full_program = install(self.directory)
        return program

    def secret(self, name, text):
        """A file that only root and the service's group may read, replaced atomically."""
        path, new = self.path(name), self.path(name + ".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o640), "w", encoding="utf-8") as file:
            os.fchown(file.fileno(), 0, self.gid)
            file.write(text)
        os.rename(new, path)
        return path

    def configure(self):
        """Writes the site's settings where the program finds them."""
        self.secret("o.conf", self.site.configuration())

    def accounts(self, count, **fields):
        """The addresses of this many more accounts, which are empty. For local(8) they are users of the system. fields:
        see Dovecot.add_account."""
        dovecot = self.site.lab.dovecot
        if self.way == "mailbox_command":
            names, self.names = self.names[:count], self.names[count:]
            if len(names) < count:
                raise RuntimeError("not enough system users for mailbox_command")
            for name in names:
                dovecot.add_account(name, home=dovecot.path("mail", f"{name}.{self.site.number}"), **fields)
                # An earlier test had the same account, and Dovecot compares sizes, and times in seconds.
                os.utime(dovecot.path("users", name), (int(self.site.number), int(self.site.number)))
                process.wait_until(lambda: self.home(name).endswith(f"/{name}.{self.site.number}"), "Dovecot has seen it")
            return [f"{name}@{self.domain}" for name in names]
        addresses = [f"user{next(self.numbers)}@{self.domain}" for _ in range(count)]
        for address in addresses:
            dovecot.add_account(address, **fields)
        return addresses

    def home(self, account):
        return subprocess.run([process.find_program("doveadm"), "-c", self.site.lab.dovecot.path("dovecot.conf"), "user",
                               "-f", "home", account], check=True, capture_output=True, text=True).stdout.strip()

    def messages(self, address, mailbox="INBOX"):
        """The contents of an address's mailbox, as bytes."""
        account = address.split("@")[0] if self.way == "mailbox_command" else address
        return [stored.raw for stored in self.site.messages(account, mailbox)]

    # Configuration

    def piece(self, name):
        """A file of conf/postfix with this instance's values instead of the documented ones."""
        with open(os.path.join(PIECES, name), encoding="utf-8") as file:
            text = file.read()
        values = {
            # Not the default socket: there may be a service that is installed on this machine.
            "/usr/local/bin/oncedrop deliver": f"{self.program} deliver -S {self.service_socket or '/nonexistent'}",
            "/usr/local/bin/oncedrop": self.program,
            "/etc/postfix/": self.path("etc/"),
            "user=oncedrop ": f"user={SERVICE_USER} ",
            "example.org": self.domain,
            r"example\.org": self.domain.replace(".", r"\."),
            "submission inet": f"127.0.0.1:{self.submission_port} inet",
            "/run/oncedrop/lmtp": self.service_socket or "/nonexistent",
            "smtpd_tls_security_level=encrypt": "smtpd_tls_security_level=none",
        }
        for documented, ours in values.items():
            text = text.replace(documented, ours)
        return self.edit(name, text)

    def write(self, name, *texts):
        path = self.path("etc", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(texts))
        # Postfix waits until a file that it reads is more than a second old (dict_load_file_xt).
        os.utime(path, (time.time() - 10, time.time() - 10))

    def write_settings(self):
        own = {
            "directory": self.directory, "domain": self.domain, "port": self.port, "user": SERVICE_USER,
            "dd": process.find_program("dd"),
        }
        for name in ("command_directory", "daemon_directory", "mail_owner", "setgid_group"):
            own[name] = postconf(name)
        # A program that has a secret cannot be inspected by its own leak detector.
        settings = {
            "export_environment": "TZ LANG ASAN_OPTIONS=detect_leaks=0",
            "virtual_mailbox_maps": "", "virtual_alias_maps": "",      # every address exists
            "smtpd_sasl_type": "dovecot", "smtpd_sasl_path": self.site.lab.dovecot.path("auth"),
            **self.settings,
        }
        pieces = [MAIN_CF.format(**own), self.piece("main.cf.common"), self.piece("main.cf." + self.way)]
        if self.sent_copies:
            pieces.append(self.piece("main.cf.sent_copies"))
        lines = [line for line in "\n".join(pieces).splitlines() if line.split(" = ")[0] not in settings]
        self.write("main.cf", *lines, *[f"{name} = {value}" for name, value in settings.items()], "")
        pieces = [self.piece("master.cf." + self.way)]
        if self.sent_copies:
            pieces.append(self.piece("master.cf.sent_copies"))
        self.write("master.cf", MASTER_CF.format(**own), *pieces)
        for table in TABLES:
            self.write(table, self.piece(table))

    # Postfix itself

    def command(self, program, *arguments):
        done = subprocess.run([process.find_program(program), "-c", self.path("etc"), *arguments], cwd="/",
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "LC_ALL": "C"}, check=False)
        if done.returncode:
            raise RuntimeError(f"{program} {' '.join(arguments)}: {done}")
        return done.stdout

    @property
    def log_file(self):
        return self.path("log")

    def launch(self):
        if self.port is None or "in use" in self.new_log():
            self.port, self.submission_port = process.free_port(), process.free_port()
        self.write_settings()
        # In the foreground, so that it ends with us; `postfix start' would detach it.
        self.spawn([os.path.join(postconf("daemon_directory"), "master"), "-c", self.path("etc"), "-d"])

    def answers(self):
        try:
            smtplib.SMTP("127.0.0.1", self.port, timeout=60).quit()
            return True
        except OSError:
            return False

    def end(self, how="stop"):
        """`postfix stop' or `postfix abort'."""
        self.command("postfix", how)
        self.process.wait(120)
        self.process = None

    def restart(self):
        self.stop()
        self.start()

    def agents(self):
        """The process ids of all running copies of our program: they outlive `postfix stop', in their own sessions."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe") == self.program:
                    found.append(int(pid))
            except OSError:
                pass
        return found

    def close(self):
        self.stop()
        for pid in self.agents():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        shutil.rmtree(self.directory, ignore_errors=True)

    # Mail in, mail out, and the results

    def send(self, message, recipients, sender="lisa@elsewhere.example", login=None, submission=False,
             certificate=None):
        """Returns the queue id. login: as if the client had authenticated with it. certificate: the (certificate, key)
        that the client presents in TLS."""
        port = self.submission_port if submission else self.port
        with smtplib.SMTP("127.0.0.1", port, local_hostname="client.test", timeout=60) as client:
            client.ehlo()
            if certificate:
                client.starttls(context=client_context(certificate))
                client.ehlo()
            if login:
                code, answer = client.docmd("XCLIENT", f"LOGIN={login}")
                if code != 220:
                    raise RuntimeError(f"XCLIENT: {code} {answer}")
                client.ehlo()
            client.mail(sender)
            for recipient in recipients:
                code, answer = client.rcpt(recipient)
                if code != 250:
                    raise RuntimeError(f"RCPT TO {recipient}: {code} {answer}")
            code, answer = client.data(on_the_wire(message))
            if code != 250:
                raise RuntimeError(f"DATA: {code} {answer}")
            return re.search(rb"queued as (\w+)", answer)[1].decode()

    def queue(self):
        """Everything in the queue, as printed by postqueue -j."""
        return [json.loads(line) for line in self.command("postqueue", "-j").splitlines()]

    def entries(self, queue_id=None):
        """Postfix's own log entries about its deliveries, without those to addresses elsewhere."""
        entries = [Entry(*match) for match in ENTRY.findall(self.log())]
        return [entry for entry in entries if entry.recipient.endswith(self.domain)
                and queue_id in (None, entry.queue_id)]

    def wait_for(self, count, queue_id=None, seconds=60):
        """Waits for this many log entries; returns them."""
        process.wait_until(lambda: len(self.entries(queue_id)) >= count, f"{count} deliveries in the log", seconds)
        return self.entries(queue_id)

    def idle(self):
        """Checks twice: a message that moves from one queue to another meanwhile may be seen in neither."""
        return all(message["queue_name"] in ("deferred", "hold") for _ in range(2) for message in self.queue())

    def is_empty(self):
        return not any(self.queue() for _ in range(2))

    def tried(self):
        """How many deliveries are in the log, to any address."""
        return len(ENTRY.findall(self.log()))

    def wait_idle(self, seconds=60):
        """Waits until every message is gone or deferred."""
        process.wait_until(self.idle, "Postfix has tried everything", seconds)

    def try_again(self, count, queue_id=None, seconds=60):
        """Retries deferred messages until the log has this many entries about them; returns these. Asking once is not
        enough: Postfix skips what it has not quite put away yet."""
        end = time.monotonic() + seconds
        while len(self.entries(queue_id)) < count:
            if time.monotonic() > end:
                raise TimeoutError(f"after {seconds} s not {count} deliveries in the log: {self.entries(queue_id)}")
            self.wait_idle(seconds)
            self.command("postqueue", "-f")
            with contextlib.suppress(TimeoutError):
                self.wait_for(count, queue_id, seconds=3)
        return self.entries(queue_id)

    def flush(self, seconds=60):
        """Retries everything that is deferred until the queue is empty. Returns how often."""
        end = time.monotonic() + seconds
        rounds = 0
        self.wait_idle(seconds)
        while not self.is_empty():
            if time.monotonic() > end:
                raise TimeoutError(f"still queued after {seconds} s: {self.queue()}")
            rounds += 1
            tried = self.tried()
            self.command("postqueue", "-f")
            with contextlib.suppress(TimeoutError):     # Postfix skips what it has not quite put away yet
                process.wait_until(lambda: self.tried() > tried, "Postfix tries again", 5)
            self.wait_idle(seconds)
        return rounds

    def bounces(self):
        """Mail that went elsewhere, as bytes."""
        found = []
        for name in sorted(os.listdir(self.path("outside"))):
            with open(self.path("outside", name), "rb") as file:
                found.append(file.read())
        return found
