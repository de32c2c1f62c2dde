# SPDX-License-Identifier: ISC
"""A server that speaks as much of MariaDB's protocol as a script needs, for what a real one would never do."""

import struct

from .fake_postgres import FakePostgres, Gone

# Of what client and server can do; those without which a client of today does not go on, and those that tests ask about.
LOCAL_FILES, SSL = 0x80, 0x800
NEEDED = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x10000 | 0x20000 | 0x80000
AUTOCOMMIT = 2
QUERY = 3


class Client:
    """One connection, as a script sees it."""

    def __init__(self, server, sock):
        self.server, self.socket = server, sock
        self.stream = sock.makefile("rb")
        self.number = 0     # of the next packet

    def exactly(self, size):
        data = self.stream.read(size)
        if len(data) != size:
            raise Gone
        return data

    def packet(self):
        size, self.number = struct.unpack("<I", self.exactly(4))[0] & 0xffffff, self.number + 1
        return self.exactly(size)

    def send(self, body):
        self.socket.sendall(struct.pack("<I", len(body) | self.number << 24) + body)
        self.number += 1

    def greet(self, version, able):
        able |= NEEDED
        self.send(b"\x0a" + version.encode() + b"\0" + struct.pack("<I", 1) + b"12345678\0" +
                  struct.pack("<HBHHB", able & 0xffff, 45, AUTOCOMMIT, able >> 16, 21) + bytes(10) + b"123456789012\0" +
                  b"mysql_native_password\0")

    def ok(self):
        self.send(b"\0\0\0" + struct.pack("<HH", AUTOCOMMIT, 0))

    def error(self, number, text):
        self.send(b"\xff" + struct.pack("<H", number) + b"#HY000" + text.encode())

    def query(self):
        """The next statements."""
        self.number = -1
        body = self.packet()
        self.number = 1
        if body[0] != QUERY:
            raise Gone
        return body[1:]


class FakeMariaDB(FakePostgres):
    """script: function(client), instead of the greeting. By default it greets, and lets everybody in. logins: the clients' first
    packets."""

    def __init__(self, script=None, address="127.0.0.1", version="10.11.6-MariaDB", able=0):
        self.version, self.able, self.logins = version, able, []
        super().__init__(script, address)

    def talk(self, sock):
        client = Client(self, sock)
        if self.script:
            self.script(client)
            return
        self.let_in(client)
        client.query()

    def let_in(self, client):
        client.greet(self.version, self.able)
        self.logins.append(client.packet())
        client.ok()
