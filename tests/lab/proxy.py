# SPDX-License-Identifier: ISC
"""A TCP proxy on 127.0.0.1 that counts connections and can disturb them."""

import socket
import struct
import threading

CLIENT, SERVER = "client", "server"
BLOCKED = 1     # seconds after which a send is taken to wait for the other side


def end_listening(listener):
    """close(2) alone would let a thread that is blocked in accept(2) take one more connection."""
    if listener.fileno() >= 0:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def without_early_literals(data):
    """What a server sends, for a client that then waits for its go-ahead: without LITERAL+."""
    return data.replace(b"LITERAL+", b"LITERALX")


class Connection:
    """One client's connection and the one to the server behind it."""

    def __init__(self, number, client, server):
        self.number = number
        self.sockets = {CLIENT: client, SERVER: server}
        self.passed = {CLIENT: 0, SERVER: 0}    # bytes that arrived from each side and were passed on
        self.ended = {CLIENT: False, SERVER: False}     # everything that arrived from this side was read
        self.in_call = {CLIENT: threading.Lock(), SERVER: threading.Lock()}     # held while it receives or sends
        self.mute = False                       # nothing more is passed on, not even an end of file

    def fall_silent(self):
        """Passes on nothing more; both connections stay open."""
        self.mute = True

    def end(self):
        """Ends both connections in order, by FIN: what was sent before arrives; later data is dropped."""
        self.mute = True
        for sock in self.sockets.values():
            try:
                sock.shutdown(socket.SHUT_WR)
            except OSError:
                pass

    def reset(self):
        """Ends both connections as a network failure would: by RST, not in order.

        Both have ended when it returns: the kernel sends RST only when no thread is in a call on the socket any
        more. A thread whose send is blocked is not waited for."""
        self.mute = True
        for sock in self.sockets.values():
            try:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.shutdown(socket.SHUT_RD)
            except OSError:
                pass
            sock.close()
        for lock in self.in_call.values():
            if lock.acquire(timeout=BLOCKED):
                lock.release()


class Proxy:
    """Passes bytes to a port and back.

    watch(connection, side, data), when given, sees all data of a side (CLIENT or SERVER) before it is passed
    on. It returns the bytes to be passed on, or None after which the connection is reset."""

    def __init__(self, target_port, watch=None, address="127.0.0.1", target="127.0.0.1"):
        """address: where it listens; target: of the server."""
        self.target, self.target_port = target, target_port
        self.watch = watch or (lambda connection, side, data: data)
        self.connections = []
        self.flowing = threading.Event()
        self.flowing.set()
        self.listener = socket.create_server((address, 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def accepted(self):
        return len(self.connections)

    def stall(self):
        """From now on nothing is passed on; connections are accepted and stay open."""
        self.flowing.clear()

    def resume(self):
        self.flowing.set()

    def cut(self):
        for connection in self.connections:
            connection.reset()

    def close(self):
        end_listening(self.listener)
        self.resume()
        self.cut()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection((self.target, self.target_port))
            except OSError:
                client.close()
                continue
            for sock in (client, server):   # pieces must not wait for the acknowledgement of earlier ones
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = Connection(len(self.connections) + 1, client, server)
            self.connections.append(connection)
            for side, other in ((CLIENT, SERVER), (SERVER, CLIENT)):
                threading.Thread(target=self.pump, args=(connection, side, other), daemon=True).start()

    def pump(self, connection, side, other):
        source, sink = connection.sockets[side], connection.sockets[other]
        try:
            while True:
                with connection.in_call[side]:
                    data = source.recv(65536)
                self.flowing.wait()
                if not data:
                    if not connection.mute:
                        sink.shutdown(socket.SHUT_WR)
                    return
                if connection.mute:
                    continue
                data = self.watch(connection, side, data)
                if data is None:
                    connection.reset()
                    return
                with connection.in_call[side]:
                    sink.sendall(data)
                connection.passed[side] += len(data)
        except OSError:
            if not connection.mute:
                connection.reset()
        finally:
            connection.ended[side] = True
