# SPDX-License-Identifier: ISC
"""The set-group-ID installation made by `make install`, and an ordinary user who runs it."""

import contextlib
import grp
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import threading

from . import lab as lab_module
from .proxy import end_listening
from .site import Running

USER, OTHER, GROUP = "games", "news", "mail"     # on every Debian; the user is in no group but its own

# Not to the default socket: there may be a service that is installed on this machine.
DELIVER = ["deliver", "-S", "/nonexistent"]

BECOME = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


def available():
    """Only root can install it and become another user."""
    return os.getuid() == 0


class Listener:
    """Counts connections."""

    def __init__(self):
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.accepted = 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                self.socket.accept()[0].close()
            except OSError:
                return
            self.accepted += 1

    def close(self):
        end_listening(self.socket)


@contextlib.contextmanager
def installation():
    """Returns the prefix, a private directory. Built without optimisation, which would take the most time."""
    parents = [parent for parent in ("/tmp", "/var/tmp") if not os.statvfs(parent).f_flag & os.ST_NOSUID]
    directory = tempfile.mkdtemp(prefix="oncedrop-setgid-", dir=parents[0])
    try:
        os.chmod(directory, 0o755)
        done = subprocess.run(
            ["make", "-s", f"-j{os.cpu_count()}", f"BUILD={directory}/build", "CFLAGS=-O0", "HARDENING=",
             f"PREFIX={directory}", f"SYSCONFDIR={directory}/etc", f"SETGID_GROUP={GROUP}", "install"],
            cwd=lab_module.REPOSITORY, env={"PATH": os.environ["PATH"]}, check=False, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise RuntimeError(f"make install: {done.returncode}\n{done.stdout}")
        yield directory
    finally:
        shutil.rmtree(directory)


class Installed:
    """The installed program with a site's settings, run by an ordinary user."""

    def __init__(self, site, prefix):
        self.site = site
        self.program = os.path.join(prefix, "bin", "oncedrop")
        self.full_program = os.path.join(prefix, "libexec", "oncedrop", "oncedrop-main")
        self.configuration = os.path.join(prefix, "etc", "oncedrop", "oncedrop.conf")
        self.password_file = os.path.join(prefix, "etc", "oncedrop", "password")
        self.gid = grp.getgrnam(GROUP).gr_gid
        self.directory = tempfile.mkdtemp(dir=prefix)   # the user's own
        user = pwd.getpwnam(USER)
        os.chown(self.directory, user.pw_uid, user.pw_gid)
        self.address = f"{USER}@example.org"
        self.account, self.other = f"{USER}.{site.number}", f"{OTHER}.{site.number}"
        site.settings.update({"route.account": "%{user}." + site.number, "imap.password_file": self.password_file})
        self.private(self.password_file, site.lab.dovecot.password + "\n")
        for account in (self.account, self.other):
            site.lab.dovecot.add_account(account)

    def private(self, path, text):
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o640), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o640)
            os.fchown(file.fileno(), 0, self.gid)
            file.write(text)

    def own(self, name, text, mode=0o600):
        """A file that belongs to the user."""
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        user = pwd.getpwnam(USER)
        os.chown(path, user.pw_uid, user.pw_gid)
        os.chmod(path, mode)
        return path

    def environment(self, recipient=None, more=None):
        """As set by local(8)."""
        recipient = recipient or self.address
        user, _, domain = recipient.partition("@")
        return {"PATH": "/usr/bin:/bin", "USER": user, "LOGNAME": user, "HOME": "/", "SHELL": "/bin/sh", "LOCAL": recipient,
                "SENDER": "lisa@elsewhere.example", "RECIPIENT": recipient, "ORIGINAL_RECIPIENT": recipient,
                "EXTENSION": "", "DOMAIN": domain, "CLIENT_ADDRESS": "127.0.0.1", **(more or {})}

    def start(self, *arguments, stdin=b"", recipient=None, env=None, before=(), merge=False, words=None):
        """Runs `oncedrop ARGUMENTS` as the user. before: a command that runs it, such as prlimit(1)."""
        self.private(self.configuration, self.site.configuration())
        variables = [f"{name}={value}" for name, value in self.environment(recipient, env).items()]
        # The variables are for the program alone: setpriv(1), run by root, would obey LD_PRELOAD.
        running = Running([*BECOME, *before, "env", "-i", *variables, *(words or [self.program]), *arguments], stdin,
                          {"PATH": os.environ["PATH"]}, merge)
        self.site.running.append(running)
        return running

    def run(self, *arguments, **more):
        done = self.start(*arguments, **more).finish()
        self.check_secrets(done.out + done.err)
        return done

    def deliver_as_root(self, mail, recipient):
        self.private(self.configuration, self.site.configuration())
        running = Running([self.program, *DELIVER], mail, self.environment(recipient), False)
        self.site.running.append(running)
        return running.finish()

    def deliver(self, mail, recipient=None, arguments=(), **more):
        return self.run(*DELIVER, *arguments, stdin=mail, recipient=recipient, **more)

    def check_secrets(self, text):
        for secret in (self.site.lab.dovecot.password, f"password={lab_module.DELIVERY}"):
            assert secret not in text, text
