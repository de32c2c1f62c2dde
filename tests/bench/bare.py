# SPDX-License-Identifier: ISC
"""The least that a delivery by IMAP can be: a kept session, and APPEND after APPEND."""

import base64
import socket

import measure
from lab import dovecot
from lab.messages import on_the_wire


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
