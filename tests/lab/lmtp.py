# SPDX-License-Identifier: ISC
"""Raw LMTP: `oncedrop lmtp` on one end of a socket pair, as started by spawn(8), and a client on the other end that
shows every reply; and an inetd-style starter for clients that want to connect."""

import collections
import contextlib
import os
import re
import signal
import socket
import subprocess
import threading

from . import lab as lab_module
from .process import is_listening, wait_until
from .proxy import end_listening

Reply = collections.namedtuple("Reply", "code text")    # text: without the codes, lines joined by \n

SENDER = "lisa@elsewhere.example"
TIMEOUT = 300


class Gone(Exception):
    """The server has ended the session instead of replying."""


def stuffed(message):
    """A message as sent after DATA: CRLF line ends, dots doubled, the end mark."""
    lines = re.sub(rb"\r?\n", b"\r\n", message if message.endswith(b"\n") else message + b"\n")
    return re.sub(rb"^\.", b"..", lines, flags=re.MULTILINE) + b".\r\n"


class Client:
    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(TIMEOUT)
        self.stream = sock.makefile("rb")

    def send(self, data):
        """Sends bytes unchanged; a str is a line; a list of lines is sent in one piece."""
        if not isinstance(data, bytes):
            lines = [data] if isinstance(data, str) else data
            data = b"".join(line.encode() + b"\r\n" for line in lines)
        self.socket.sendall(data)

    def reply(self):
        """The next reply; anything else on the socket is an error."""
        lines, code = [], None
        while True:
            line = self.stream.readline()
            if not line:
                raise Gone
            found = re.fullmatch(rb"(\d{3})([- ])([^\0-\x1f\x7f]+)\r\n", line)
            if not found or code not in (None, found[1].decode()):
                raise AssertionError(f"not a reply: {line} after {lines}")
            code = found[1].decode()
            lines.append(found[3].decode())
            if found[2] == b" ":
                return Reply(int(code), "\n".join(lines))

    def replies(self, count):
        return [self.reply() for _ in range(count)]

    def command(self, line):
        self.send(line)
        return self.reply()

    def rest(self):
        """Everything that is sent until the server ends the session."""
        try:
            return self.stream.read()
        except ConnectionResetError:    # it ended with unread input
            return b""

    def hello(self):
        """Reads the greeting and sends LHLO; returns its reply."""
        greeting = self.reply()
        assert greeting.code == 220, greeting
        hello = self.command("LHLO client.test")
        assert hello.code == 250, hello
        return hello

    def envelope(self, recipients, sender=SENDER, parameters=""):
        """From MAIL up to the go-ahead for the message, in one piece."""
        self.send([f"MAIL FROM:<{sender}>{parameters}", *[f"RCPT TO:<{one}>" for one in recipients], "DATA"])
        codes = [reply.code for reply in self.replies(len(recipients) + 2)]
        assert codes == [250] * (len(recipients) + 1) + [354], codes

    def deliver(self, message, *recipients, **more):
        """One transaction; returns the reply for each recipient."""
        self.envelope(recipients, **more)
        self.send(stuffed(message))
        return self.replies(len(recipients))

    def close(self):
        self.stream.close()
        self.socket.close()


class Session(Client):
    """The program with a site's configuration. Its stderr is a file, or with merge=True the socket, as under spawn(8)."""

    def __init__(self, site, *options, arguments=(), merge=False, kind=socket.SOCK_STREAM):
        ours, theirs = socket.socketpair(type=kind)
        super().__init__(ours)
        self.log_file = os.path.join(site.directory, f"lmtp{theirs.fileno()}.log")
        words = [lab_module.program(), "-c", site.write("oncedrop.conf", site.configuration()), *options, "lmtp", *arguments]
        with theirs, open(self.log_file, "wb") as log:
            self.process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs if merge else log,
                                            env=site.environment(), cwd="/")
        site.use(self)

    def log(self):
        with open(self.log_file, encoding="utf-8") as file:
            return file.read()

    def finish(self):
        """Waits for the program's end; returns its exit status."""
        return self.process.wait(TIMEOUT)

    def close(self):
        super().close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def start(site, *options, **more):
    """A session past LHLO."""
    session = Session(site, *options, **more)
    session.hello()
    return session


def stored(reply):
    """The UID in a reply that reports success."""
    found = re.match(r"2\.1\.5 stored uid=(\d+) mailbox=", reply.text)
    assert reply.code == 250 and found, reply
    return int(found[1])


class Inetd:
    """Starts a program for each connection to a unix socket, which becomes its stdin, stdout and stderr, like inetd(8)
    and systemd's Accept=yes. The program is that of `arguments`."""

    def __init__(self, path, arguments, environment):
        self.arguments = arguments
        self.environment = environment
        self.processes = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.processes.append(subprocess.Popen(self.arguments, stdin=connection, stdout=connection,
                                                       stderr=connection, env=self.environment, cwd="/"))

    def close(self):
        end_listening(self.listener)
        for process in self.processes:
            process.kill()
            process.wait()


class Activate:
    """A program on a socket, a process for each connection, by systemd-socket-activate(1)."""

    def __init__(self, path, arguments, environment):
        names = [f"--setenv={name}" for name in environment if name != "PATH"]
        self.process = subprocess.Popen(["systemd-socket-activate", "--accept", "--inetd", f"--listen={path}", *names,
                                         *arguments], env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        wait_until(lambda: is_listening(path), "systemd-socket-activate listening")

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
