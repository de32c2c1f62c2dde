# SPDX-License-Identifier: ISC
"""The front as it is installed, with our own default configuration, and a service that follows a script."""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading

from . import lab as lab_module
from .proxy import end_listening
from .site import Running

DEFAULT_CONFIGURATION = b"/etc/oncedrop/oncedrop.conf"


def short_directory():
    """A directory whose file "o.conf" has a name no longer than that of the default configuration."""
    path = tempfile.mkdtemp(prefix="od-", dir="/tmp")
    os.chmod(path, 0o711)
    return path


def install(directory):
    """Copies of the programs under test; the default configuration is o.conf in this directory: the same bytes except for
    the name of that file. Returns the paths of the front and the full program."""
    paths = os.path.join(directory, "oncedrop"), os.path.join(directory, "oncedrop-main.so")
    with open(lab_module.full_program(), "rb") as file:
        code = file.read()
    ours = os.path.join(directory, "o.conf").encode()
    if DEFAULT_CONFIGURATION + b"\0" not in code or len(ours) > len(DEFAULT_CONFIGURATION):
        raise RuntimeError(f"no room for {ours} in {lab_module.full_program()}")
    lab_module.copy_program(directory)
    with open(paths[1], "wb") as file:
        file.write(code.replace(b"\0" + DEFAULT_CONFIGURATION + b"\0",
                                b"\0" + ours.ljust(len(DEFAULT_CONFIGURATION), b"\0") + b"\0"))
    return paths


class Gone(Exception):
    """The connection has ended."""


class Client:
    """One connection, as a script sees it."""

    def __init__(self, sock):
        self.socket = sock
        self.stream = sock.makefile("rb")
        self.parameters = None      # of XDELIVER
        self.message = None

    def send(self, line):
        self.socket.sendall(line.encode() + b"\r\n" if isinstance(line, str) else line)

    def line(self):
        line = self.stream.readline()
        if not line.endswith(b"\r\n"):
            raise Gone
        return line[:-2].decode("ascii")

    def command(self):
        """Reads XDELIVER."""
        verb, *parameters = self.line().split(" ")
        assert verb == "XDELIVER", verb
        self.parameters = dict(parameter.split("=", 1) for parameter in parameters)

    def chunk(self):
        """Reads BDAT with the message."""
        size = re.fullmatch(r"BDAT (\d+)", self.line())
        self.message = self.stream.read(int(size[1]))
        if len(self.message) < int(size[1]):
            raise Gone

    def take(self, ms=60000):
        """From the greeting to the final mark."""
        self.send("220 fake")
        self.command()
        self.send(f"354 {ms}")
        self.chunk()
        self.mark()

    def mark(self):
        line = self.line()
        assert line == "BDAT 0 LAST", line

    def wait_for_end(self):
        """False: something came instead."""
        try:
            return self.stream.read(1) == b""
        except ConnectionResetError:    # it ended with unread input
            return True

    def close(self):
        self.socket.close()
        self.stream.close()


class FakeService:
    """Runs script(client) for each connection. ends: what ended each script, True or an exception."""

    def __init__(self, path, script):
        self.script, self.clients, self.ends = script, [], []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        os.chmod(path, 0o666)
        self.socket.listen()
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    def accept(self):
        while True:
            try:
                client = Client(self.socket.accept()[0])
            except OSError:
                return
            self.clients.append(client)
            self.threads.append(threading.Thread(target=self.serve, args=[client], daemon=True))
            self.threads[-1].start()

    def serve(self, client):
        try:
            self.script(client)
            self.ends.append(True)
        except Exception as error:      # pylint: disable=broad-except
            self.ends.append(error)
        finally:
            client.close()

    def finished(self):
        """Waits until every connection is over; returns what ended them."""
        for thread in self.threads[1:]:
            thread.join(60)
            assert not thread.is_alive()
        return self.ends

    def close(self):
        end_listening(self.socket)


class Front:
    """The installed front of a site."""

    def __init__(self, site):
        self.site = site
        self.directory = short_directory()
        self.program, self.full_program = install(self.directory)
        self.socket = os.path.join(self.directory, "lmtp")

    def path(self, name):
        return os.path.join(self.directory, name)

    def configure(self):
        path = self.path("o.conf")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(self.site.configuration())

    def service(self, script):
        return self.site.use(FakeService(self.socket, script))

    def start(self, mail, *arguments, env=None, before=(), merge=True, service=True, words=None):
        """`deliver -S SOCKET`; service: with that option."""
        self.configure()
        options = ["-S", self.socket] if service else []
        words = [*before, self.program, *(words or ["deliver", *options]), *arguments]
        running = Running(words, mail, self.site.environment(env), merge)
        self.site.running.append(running)
        return running

    def deliver(self, mail, *arguments, **more):
        return self.start(mail, *arguments, **more).finish()

    def popen(self, *arguments, **more):
        """Like start(), with standard descriptors given by the caller."""
        self.configure()
        return subprocess.Popen([self.program, "deliver", "-S", self.socket, *arguments], env=self.site.environment(), cwd="/",
                                **more)

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)
