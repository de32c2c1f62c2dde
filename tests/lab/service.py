# SPDX-License-Identifier: ISC
"""A private `oncedrop serve`: started on a separate socket for a site, and clients for it."""

import contextlib
import os
import pwd
import signal
import socket
import subprocess

from . import lab as lab_module
from .lmtp import Client
from .process import is_listening, wait_until

TIMEOUT = 60


def children(pid):
    """Its child processes, oldest first."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    return []


def is_writer(pid):
    """Whether it is the process that writes to a ledger in a file for the workers."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/comm", encoding="ascii") as file:
            return file.read() == "oncedrop-writer\n"
    return False


def exists(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


@contextlib.contextmanager
def connecting_as(user):
    """Sockets that are connected meanwhile belong to this user (a name or a number); only for root."""
    uid = user if isinstance(user, int) else pwd.getpwnam(user).pw_uid
    os.seteuid(uid)
    try:
        yield
    finally:
        os.seteuid(0)


# The first process of a container: without syslog's socket, a terminal, a home directory; when it ends, so do all others.
CONTAINER = ["unshare", "--fork", "--pid", "--mount", "--kill-child", "setsid", "sh", "-c",
             'unset HOME; [ ! -e /dev/log ] || mount --bind /dev/null /dev/log; exec "$@"', "sh"]

# For an argv that is appended: passes standard input on as systemd passes a listening socket.
PASS_SOCKET = ["sh", "-c", 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@" 3<&0 </dev/null', "sh"]


class Service:
    """`oncedrop serve` with a site's configuration; it logs to a file. workers, settings: for this service alone. Started
    at once, and ready when the constructor returns, unless wait=False. listener: a socket to pass as systemd does.
    inside: words before the command line, for a process whose only child is the service."""

    def __init__(self, site, workers=2, settings=(), name="service", wait=True, program=None, listener=None, inside=(), **popen):
        os.chmod(site.directory, 0o711)     # for clients of other users
        self.site = site
        self.listener = listener
        self.inside = inside
        self.socket = os.path.join(site.directory, f"{name}.socket")
        self.settings = {"service.user": site.settings.get("service.user", ""), "service.socket": self.socket,
                         "service.workers": workers, "log.to": "stderr", **dict(settings)}
        self.configuration = f"{name}.conf"
        self.log_file = os.path.join(site.directory, f"{name}.log")
        self.program = program or lab_module.program()
        self.process = None
        self.popen = popen
        site.use(self)
        self.start(wait)

    def write_configuration(self, more=()):
        """Puts the site's settings, and these, into the service's configuration file, for the next start or reload."""
        self.settings.update(more)
        before = dict(self.site.settings)
        self.site.settings.update(self.settings)
        try:
            path = self.site.write(self.configuration, self.site.configuration())
        finally:
            self.site.settings = before
        if self.settings["service.user"]:       # who must be able to read it
            os.chown(path, -1, pwd.getpwnam(self.settings["service.user"]).pw_gid)
            os.chmod(path, 0o640)
        return path

    def start(self, wait=True):
        path = self.write_configuration()
        options = {"env": self.site.environment(), "cwd": "/", **self.popen}
        words = [*self.inside, *(PASS_SOCKET if self.listener else []), self.program, "-c", path, "serve"]
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(words, stdin=self.listener or subprocess.DEVNULL, stdout=log, stderr=log,
                                            **options)
        if wait:
            self.await_ready()
        return self

    def await_ready(self):
        def ready():
            if self.process.poll() is not None:
                raise RuntimeError(self.log())
            return self.has_started() and self.listens()

        wait_until(ready, "the service is ready")

    def listens(self):
        return "serving on" in self.log() and (self.settings["service.socket"] != self.socket or self.listener is not None
                                               or is_listening(self.socket))

    def log(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as file:
            return file.read()

    @property
    def pid(self):
        return (children(self.process.pid) or [self.process.pid])[0] if self.inside else self.process.pid

    def workers(self):
        return [pid for pid in children(self.pid) if not is_writer(pid)]

    def has_started(self, before=()):
        """All processes, none of which is one of these. A writer has its name once workers use it."""
        new = set(children(self.pid)) - set(before)
        writers = sum(map(is_writer, new))
        count = int(self.settings["service.workers"])
        return writers == (count > 1 and self.site.ledger.HAS_WRITER) and len(new) == count + writers

    def await_replaced(self, worker):
        """Until another has begun in the place of one that has ended, which the log says before."""
        def replaced():
            workers = self.workers()    # looked at once: what ends may be there for the first look and gone for a second
            return worker not in workers and len(workers) == int(self.settings["service.workers"])

        wait_until(replaced, f"worker {worker} is replaced")

    def worker_of(self, client):
        """The process that serves a client on a unix socket."""
        inode = os.fstat(client.socket.fileno()).st_ino
        lines = subprocess.run(["ss", "-xpH"], check=True, capture_output=True, text=True).stdout.splitlines()
        for words in map(str.split, lines):     # ... local address, its inode, peer's address, its inode, processes
            if words[7] == str(inode) and "pid=" in words[-1]:
                return int(words[-1].partition("pid=")[2].partition(",")[0])
        raise LookupError(f"nobody serves {inode}: {lines}")

    def connect(self, hello=True, user=None):
        """A client, past LHLO. user: see connecting_as."""
        sock = socket.socket(socket.AF_UNIX)
        with connecting_as(user) if user is not None else contextlib.nullcontext():
            sock.connect(self.socket)
        return self.client(sock, hello)

    def client(self, sock, hello=True):
        client = self.site.use(Client(sock))
        if hello:
            client.hello()
        return client

    def deliver(self, message, *recipients, user=None, **more):
        """One message on a separate connection; returns the replies."""
        client = self.connect(user=user)
        replies = client.deliver(message, *recipients, **more)
        client.close()
        return replies

    def signal(self, number):
        os.kill(self.pid, number)

    def reload(self, more=()):
        """SIGHUP, with these settings; returns when new workers serve."""
        before = children(self.pid)
        self.write_configuration(more)
        self.signal(signal.SIGHUP)
        wait_until(lambda: self.has_started(before), "new workers")

    def renew(self, more=()):
        """Like reload(); returns when only new workers are left, since until then an old one may take the next client."""
        before = set(children(self.pid))
        self.reload(more)
        wait_until(lambda: not before & set(children(self.pid)), "the old workers have ended")

    def finish(self, seconds=TIMEOUT):
        """Waits for its end; returns the exit status."""
        return self.process.wait(seconds)

    def stop(self, seconds=TIMEOUT):
        self.signal(signal.SIGTERM)
        return self.finish(seconds)

    def close(self):
        if self.process is None or self.process.poll() is not None:
            return
        left = [self.pid, *children(self.pid)]      # the service first: it would start other workers
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.kill()
        self.process.wait()
        wait_until(lambda: not any(map(exists, left)), "the workers are gone")
