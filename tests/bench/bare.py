# SPDX-License-Identifier: ISC
"""The least that a delivery by IMAP can be: a kept session, and APPEND after APPEND. And the least with a ledger in a file:
bare_delivery.c."""

import base64
import os
import socket
import subprocess

import competitors as agents
import measure
from lab import dovecot, process
from lab.messages import on_the_wire

NAME = "bare protocol"


class Session:
    def __init__(self, server, account):
        self.socket = socket.create_connection(("127.0.0.1", server.port), 120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream = self.socket.makefile("rb")
        self.stream.readline()
        self.socket.sendall(b"a AUTHENTICATE PLAIN\r\n")
        self.until(b"+")
        self.socket.sendall(base64.b64encode(f"{account}\0{dovecot.MASTER}\0{server.password}".encode()) + b"\r\n")
        self.until(b"a OK")

    def until(self, start):
        while True:
            line = self.stream.readline()
            if line.startswith(start):
                return
            measure.must(line.startswith(b"* "), f"{line} instead of {start}")

    def append(self, message):
        wire = on_the_wire(message)
        self.socket.sendall(b"b APPEND INBOX {%d}\r\n" % len(wire))
        self.until(b"+")
        self.socket.sendall(wire + b"\r\n")
        self.until(b"b OK")

    def close(self):
        self.stream.close()
        self.socket.close()


class Service(process.Server):
    """bare_delivery.c, as a service for LMTP."""

    def __init__(self, bench, workers):
        super().__init__(bench.servers.new_directory("bare"))
        self.user = bench.servers.user
        os.chmod(os.path.dirname(self.directory), 0o711)
        os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.program, self.socket = self.path("bare"), self.path("lmtp")
        source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bare_delivery.c")
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O2", "-o", self.program, source, "-lsqlite3"], check=True)
        imap = bench.servers.dovecot
        self.imap = [str(imap.port), dovecot.MASTER, imap.password]
        [program] = [one for one in bench.programs if one.name == "embedded"]
        self.words = [self.program, "lmtp", program.with_new_ledger().database, *self.imap, self.socket, str(workers)]
        bench.servers.start(self)
        self.database = program.with_new_ledger().database

    def launch(self):
        self.spawn(self.words, **process.run_as(self.user))

    def answers(self):
        return process.is_listening(self.socket)


def service(bench, workers):
    """One for all parts."""
    if workers not in bench.bare:
        bench.bare[workers] = Service(bench, workers)
    return bench.bare[workers]


class Delivery(agents.OneShot):
    """A process for each message; own: it delivers by itself, else it hands the message over."""

    def __init__(self, bench, own):
        super().__init__(bench.servers, bench.runner, NAME if own else f"{NAME} service")
        self.bare, self.own = service(bench, 1), own

    def words(self, account):
        if self.own:
            return [self.bare.program, "deliver", self.bare.database, *self.bare.imap, account]
        return [self.bare.program, "hand-over", account, self.bare.socket]
