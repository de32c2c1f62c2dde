# SPDX-License-Identifier: ISC
"""A TCP server far away: a proxy on 127.0.0.1 that delays what it passes on, as a line with this round trip time would.

The client's kernel is connected at once, which takes a round trip in reality. So what the client sends leaves a round trip
after it connected at the earliest, and the server sees the connection only half a round trip after that."""

import queue
import select
import socket
import threading
import time

from .proxy import end_listening


class Line:
    """One direction: bytes arrive `delay` seconds after they were sent, but none was sent before `since`: what is there already
    was sent then. sent, arrived: are called then."""

    def __init__(self, source, sink, delay, since=0.0, sent=lambda: None, arrived=lambda: None):
        self.source, self.sink, self.delay, self.since = source, sink, delay, since
        self.sent, self.arrived = sent, arrived
        self.under_way = queue.SimpleQueue()
        for work in (self.read, self.write):
            threading.Thread(target=work, daemon=True).start()

    def read(self):
        data = b"-"
        left = self.since if select.select([self.source], [], [], 0)[0] else 0
        while data:
            try:
                data = self.source.recv(1 << 20)
            except OSError:
                data = b""
            if data:
                self.sent()
            self.under_way.put(((left or time.monotonic()) + self.delay, data))
            left = 0

    def write(self):
        data = b"-"
        try:
            while data:
                due, data = self.under_way.get()
                time.sleep(max(due - time.monotonic(), 0))
                if data:
                    self.arrived()
                    self.sink.sendall(data)
            self.sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Distant:
    """seconds: the round trip time. round_trips: how many there were, one for each connection and one whenever the client sent
    something after it had received something."""

    def __init__(self, target_port, seconds, target="127.0.0.1"):
        self.target, self.seconds = (target, target_port), seconds
        self.round_trips = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.connect, args=(client, time.monotonic() + self.seconds), daemon=True).start()

    def connect(self, client, established):
        self.round_trips += 1
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        time.sleep(max(established + self.seconds / 2 - time.monotonic(), 0))
        try:
            server = socket.create_connection(self.target)
        except OSError:
            client.close()
            return
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = threading.Event()

        def sent():
            if received.is_set():
                received.clear()
                self.round_trips += 1

        Line(client, server, self.seconds / 2, established, sent=sent)
        Line(server, client, self.seconds / 2, arrived=received.set)

    def close(self):
        end_listening(self.listener)
