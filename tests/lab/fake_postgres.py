# SPDX-License-Identifier: ISC
"""A server that speaks as much of PostgreSQL's protocol 3 as a script needs, for what a real one would never do; and
one that adds TLS to a real one."""

import select
import socket
import ssl
import struct
import threading

from .proxy import end_listening

SSL_REQUEST, GSS_REQUEST = 80877103, 80877104


class Gone(Exception):
    """The client has closed the connection."""


def own_address():
    """An address of this machine outside its loopback interface, or None. Nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


def packet(kind, body=b""):
    return kind + struct.pack("!i", len(body) + 4) + body


def notice(text):
    return packet(b"N", b"SNOTICE\0C00000\0M" + text + b"\0\0")


def description(*names):
    return packet(b"T", struct.pack("!h", len(names)) + b"".join(
        name.encode() + b"\0" + struct.pack("!ihihih", 0, 0, 25, -1, -1, 0) for name in names))


def row(*values):
    return packet(b"D", struct.pack("!h", len(values)) + b"".join(struct.pack("!i", len(value)) + value for value in values))


class Client:
    """One connection, as a script sees it."""

    def __init__(self, server, sock):
        self.server = server
        self.socket = sock
        self.stream = sock.makefile("rb")

    def exactly(self, size):
        data = self.stream.read(size)
        if len(data) != size:
            raise Gone
        return data

    def startup(self):
        """Refuses TLS and GSSAPI; returns the first real packet."""
        while True:
            [size] = struct.unpack("!i", self.exactly(4))
            body = self.exactly(size - 4)
            self.server.heard.append(body)
            if struct.unpack("!i", body[:4])[0] not in (SSL_REQUEST, GSS_REQUEST):
                return body
            self.socket.sendall(b"N")

    def packet(self):
        kind = self.exactly(1)
        [size] = struct.unpack("!i", self.exactly(4))
        return kind, self.exactly(size - 4)

    def greet(self):
        """Asks for the password in the clear, and accepts any."""
        self.socket.sendall(packet(b"R", struct.pack("!i", 3)))
        kind, body = self.packet()
        if kind == b"p":
            self.server.passwords.append(body.rstrip(b"\0").decode())
        self.socket.sendall(packet(b"R", struct.pack("!i", 0)) + packet(b"S", b"server_version\00015.0\0") +
                            packet(b"S", b"client_encoding\0UTF8\0") + packet(b"Z", b"I"))

    def batch(self):
        """Reads to the end of a pipeline; returns its statements."""
        statements = []
        while True:
            kind, body = self.packet()
            if kind == b"P":
                statements.append(body.split(b"\0")[1].decode())
            if kind == b"S":
                return statements
            if kind == b"X":
                raise Gone


class FakePostgres:
    """script: function(client), after the greeting. heard: what arrived before it; passwords: those received."""

    def __init__(self, script=None, address="127.0.0.1"):
        self.script = script
        self.heard, self.passwords = [], []
        self.accepted = 0
        self.listener = socket.create_server((address, 0))
        self.port = self.listener.getsockname()[1]
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            threading.Thread(target=self.serve, args=(sock,), daemon=True).start()

    def serve(self, sock):
        with sock:
            try:
                self.talk(sock)
            except (Gone, OSError):
                pass

    def talk(self, sock):
        client = Client(self, sock)
        client.startup()
        client.greet()
        if self.script:
            self.script(client)

    def close(self):
        end_listening(self.listener)
        self.thread.join()


class TlsFront(FakePostgres):
    """PostgreSQL with TLS, at its own address: certificate is (certificate, key)."""

    def __init__(self, port, certificate, address):
        self.behind = port
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(*certificate)
        super().__init__(address=address)

    def talk(self, sock):
        while True:
            request = sock.recv(8, socket.MSG_WAITALL)
            if len(request) < 8:
                return
            if struct.unpack("!ii", request)[1] == SSL_REQUEST:
                break
            sock.sendall(b"N")
        sock.sendall(b"S")
        with self.tls.wrap_socket(sock, server_side=True) as inside, \
             socket.create_connection(("127.0.0.1", self.behind)) as outside:
            self.copy(inside, outside)

    @staticmethod
    def copy(inside, outside):
        """Copies both ways until one of them ends, in one thread: a reading and a writing thread would collide in
        OpenSSL."""
        other = {inside: outside, outside: inside}
        while True:
            for source in [inside] if inside.pending() else select.select(other, [], [])[0]:
                data = source.recv(65536)
                if not data:
                    return
                other[source].sendall(data)
