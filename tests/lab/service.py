# SPDX-License-Identifier: ISC
"""A private `oncedrop serve`: started on a socket of its own for a site, and clients for it."""

import contextlib
import os
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


def exists(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


class Service:
    """`oncedrop serve` with a site's configuration; it logs to a file. workers, settings: for this service alone. Started
    at once, and ready when the constructor returns, unless wait=False."""

    def __init__(self, site, workers=2, settings=(), name="service", wait=True, program=None, **popen):
        self.site = site
        self.socket = os.path.join(site.directory, f"{name}.socket")
        self.settings = {"service.user": "", "service.socket": self.socket, "service.workers": workers,
                         "log.to": "stderr", **dict(settings)}
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
            return self.site.write(self.configuration, self.site.configuration())
        finally:
            self.site.settings = before

    def start(self, wait=True):
        path = self.write_configuration()
        options = {"env": self.site.environment(), "cwd": "/", **self.popen}
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen([self.program, "-c", path, "serve"], stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, **options)
        if wait:
            self.await_ready()
        return self

    def await_ready(self):
        def ready():
            assert self.process.poll() is None, self.log()
            return len(self.workers()) == int(self.settings["service.workers"]) and self.listens()

        wait_until(ready, "the service is ready")

    def listens(self):
        return not self.socket or is_listening(self.socket)

    def log(self):
        with open(self.log_file, encoding="utf-8", errors="replace") as file:
            return file.read()

    def workers(self):
        return children(self.process.pid)

    def worker_of(self, client):
        """The process that serves a client: the one that has the other end of its socket. There is one connection to
        look for at a time."""
        number = os.fstat(client.socket.fileno()).st_ino
        out = subprocess.run(["ss", "-xpnH"], check=True, capture_output=True, text=True).stdout
        for line in out.splitlines():
            words = line.split()
            if len(words) > 8 and words[7] == str(number):
                return int(line.partition("pid=")[2].partition(",")[0])
        raise LookupError(f"nobody serves {number}:\n{out}")

    def connect(self, hello=True):
        """A client, past LHLO."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.socket)
        return self.client(sock, hello)

    def client(self, sock, hello=True):
        client = self.site.use(Client(sock))
        if hello:
            client.hello()
        return client

    def deliver(self, message, *recipients, **more):
        """One message on a connection of its own; returns the replies."""
        client = self.connect()
        replies = client.deliver(message, *recipients, **more)
        client.close()
        return replies

    def signal(self, number):
        self.process.send_signal(number)

    def reload(self, more=()):
        """SIGHUP, with these settings; returns when new workers serve."""
        before = set(self.workers())
        self.write_configuration(more)
        self.signal(signal.SIGHUP)
        wait_until(lambda: len(set(self.workers()) - before) == int(self.settings["service.workers"]), "new workers")

    def finish(self, seconds=TIMEOUT):
        """Waits for its end; returns the exit status."""
        return self.process.wait(seconds)

    def stop(self, seconds=TIMEOUT):
        self.signal(signal.SIGTERM)
        return self.finish(seconds)

    def close(self):
        if self.process is None or self.process.poll() is not None:
            return
        left = self.workers()
        self.process.kill()
        self.process.wait()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not any(map(exists, left)), "the workers are gone")
