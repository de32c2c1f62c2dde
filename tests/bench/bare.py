# SPDX-License-Identifier: ISC
"""The least that a delivery by IMAP can be: a kept session, and APPEND after APPEND. And the least with a ledger:
bare_delivery.c."""

import base64
import os
import socket
import subprocess

import competitors as agents
import measure
from lab import dovecot, process
from lab.messages import on_the_wire

NAMES = {"embedded": "bare protocol", "oncedrop": "bare on PostgreSQL"}
SOURCES = {"embedded": ("bare_sqlite.c", ["sqlite3"]), "oncedrop": ("bare_postgres.c", ["libpq"])}


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


class Program:
    """bare_delivery.c with a separate ledger, of the same engine as this program's."""

    def __init__(self, bench, program):
        source, libraries = SOURCES[program.name]
        self.bench, self.name, self.ledger = bench, NAMES[program.name], program.with_new_ledger()
        self.path = os.path.join(bench.servers.new_directory("bare"), "bare")
        os.chmod(os.path.dirname(self.path), 0o755)
        here = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["cc", "-D_GNU_SOURCE", "-O2", "-o", self.path, os.path.join(here, "bare_delivery.c"),
                        os.path.join(here, source), *subprocess.check_output(["pkg-config", "--cflags", "--libs", *libraries],
                                                                             text=True).split()], check=True)

    def words(self, command, *arguments, port=None, conninfo=None):
        imap = self.bench.servers.dovecot
        where = conninfo or self.ledger.conninfo().removeprefix("sqlite:")
        return [self.path, command, where, str(port or imap.port), dovecot.MASTER, imap.password, *arguments]


def programs(bench):
    """One for each engine that has a source, for all parts."""
    if not bench.bare:
        bench.bare = {one.name: Program(bench, one) for one in bench.programs if one.name in SOURCES}
    return list(bench.bare.values())


class Service(process.Server):
    """As a service for LMTP."""

    def __init__(self, program, workers):
        super().__init__(program.bench.servers.new_directory("bare"))
        self.user, self.socket, self.name = program.bench.servers.user, self.path("lmtp"), program.name
        os.chmod(os.path.dirname(self.directory), 0o711)
        os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.words = program.words("lmtp", self.socket, str(workers))
        program.bench.servers.start(self)

    def launch(self):
        self.spawn(self.words, **process.run_as(self.user))

    def answers(self):
        return process.is_listening(self.socket)


class Delivery(agents.OneShot):
    """A process for each message: it delivers by itself, or hands the message over to a service. There: settings of words()
    for a server far away."""

    def __init__(self, program, service=None, name=None, **there):
        super().__init__(program.bench.servers, program.bench.runner,
                         name or (f"{program.name} service" if service else program.name))
        self.program, self.service, self.there = program, service, there

    def words(self, account):
        if self.service:
            return [self.program.path, "hand-over", account, self.service.socket]
        return self.program.words("deliver", account, **self.there)
