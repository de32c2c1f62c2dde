# SPDX-License-Identifier: ISC
"""The disturbances: connections cut, processes killed and stopped, servers restarted, all at random."""

import collections
import heapq
import os
import signal
import threading
import time

from lab.process import wait_until
from lab.proxy import CLIENT, SERVER, Proxy
from traffic import TAG

KILLED = 0.10       # of all attempts
STOPPED = 0.015
CUT = 0.004         # of all pieces of data that pass
CUT_AT_END = 0.05   # of the answers to an APPEND or COMMIT, and what asks for them
LATE = 0.08         # of the beginnings of a message on its way to IMAP
LATEST = 4          # seconds of its delay
TICK = 0.05


class Counted(collections.Counter):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()

    def one(self, what):
        with self.lock:
            self[what] += 1


class Cutter(Proxy):
    """A proxy that cuts connections, and forgets those that are over."""

    def __init__(self, trouble, target_port, marks, late=False):
        """marks: found in data where a cut hurts most. late: messages may be delayed."""
        self.trouble, self.marks, self.late = trouble, marks, late
        super().__init__(target_port, self.look)

    def look(self, connection, side, data):
        trouble = self.trouble
        if not trouble.on:
            return data
        if side == CLIENT and self.late and TAG.encode() in data and trouble.random.random() < LATE:
            return trouble.delay(self, connection, data)
        likely = any(mark in data for mark in self.marks)
        if trouble.random.random() >= (CUT_AT_END if likely else CUT):
            return data
        return trouble.cut(self, connection, side, data, likely)

    def sweep(self):
        for connection in list(self.connections):
            ended = connection.ended
            if ended[CLIENT] and (ended[SERVER] or connection.mute):
                connection.reset()
                self.connections.remove(connection)


class Trouble:
    """tick() is called from the main thread, which the servers' processes take for their parent."""

    def __init__(self, random, hold_off):
        self.random, self.hold_off = random, hold_off
        self.on = False
        self.count = Counted()
        self.lock = threading.Lock()
        self.signals = []           # heap of (time, number, process, signal)
        self.numbers = 0
        self.running = None
        self.proxies = []
        self.timed = []             # [next time, shortest, longest, act]

    # Deliveries

    def disturb(self, process):
        """For each new attempt: perhaps it will be killed, or stopped and continued, at some time."""
        if not self.on:
            return
        kind, delay = self.random.random(), self.random.expovariate(2)
        if kind < KILLED:
            self.later(delay, process, signal.SIGKILL)
        elif kind < KILLED + STOPPED:
            self.later(delay, process, signal.SIGSTOP)
            self.later(delay + self.asleep(), process, signal.SIGCONT)

    def asleep(self):
        """How many seconds a process is stopped: now and then longer than the hold-off."""
        return self.random.uniform(0.1, self.hold_off + 3)

    def later(self, delay, process, number):
        with self.lock:
            self.numbers += 1
            heapq.heappush(self.signals, (time.monotonic() + delay, self.numbers, process, number))

    def send_signals(self):
        while True:
            with self.lock:
                if not self.signals or self.signals[0][0] > time.monotonic():
                    return
                _, _, process, number = heapq.heappop(self.signals)
            self.send(process, number)

    def send(self, process, number):
        """To the process, or to its group; a stopped group continues as a whole."""
        if process.poll() is not None:
            return
        try:
            if self.random.random() < 0.5 or number == signal.SIGCONT:
                os.killpg(process.pid, number)
            else:
                os.kill(process.pid, number)
        except ProcessLookupError:
            return
        if number != signal.SIGCONT:
            self.count.one("kills" if number == signal.SIGKILL else "stops")

    # Connections

    def cut(self, proxy, connection, side, data, likely):
        """What to pass on instead of data: see Proxy.watch."""
        kind = self.random.random()
        if likely and kind < 0.5:
            if process := self.owner(proxy, connection):
                self.send(process, signal.SIGKILL if kind < 0.35 else signal.SIGSTOP)
                self.later(self.asleep(), process, signal.SIGCONT)
            return data
        self.count.one("cuts")
        sink = connection.sockets[SERVER if side == CLIENT else CLIENT]
        if 0.7 <= kind < 0.8:       # a part of it arrives
            sink.sendall(data[:self.random.randrange(len(data))])
        elif 0.8 <= kind < 0.9:     # all of it arrives, but no answer comes back
            sink.sendall(data)
        elif 0.9 <= kind < 0.95:
            connection.end()
            return b""
        elif kind >= 0.95:
            connection.fall_silent()
            return b""
        return None

    def delay(self, proxy, connection, data):
        """A message that reaches the server some time after the delivery that sent it has died."""
        process = self.owner(proxy, connection)
        if not process or self.random.random() < 0.2:
            return data
        self.send(process, signal.SIGKILL)
        time.sleep(self.random.uniform(0.2, LATEST))
        self.count.one("late messages")
        connection.sockets[SERVER].sendall(data)
        connection.end()
        return b""

    def owner(self, proxy, connection):
        """The attempt at the other end of a connection, or None."""
        try:
            port = connection.sockets[CLIENT].getpeername()[1]
        except OSError:
            return None
        inode = inode_of(port, proxy.port)
        return next((process for process in self.running.now() if inode and has_socket(process.pid, inode)), None)

    def sweep(self):
        for proxy in self.proxies:
            proxy.sweep()

    # Everything that is due

    def every(self, shortest, longest, act):
        self.timed.append([time.monotonic() + self.random.uniform(0, longest), shortest, longest, act])

    def tick(self):
        self.send_signals()
        now = time.monotonic()
        for entry in self.timed:
            if self.on and entry[0] <= now:
                entry[0] = now + self.random.uniform(entry[1], entry[2])
                entry[3]()

    def end(self):
        """No trouble from now on: stopped processes continue, stalled connections resume."""
        self.on = False
        for proxy in self.proxies:
            proxy.resume()
        with self.lock:
            left, self.signals = sorted(self.signals, key=lambda entry: entry[:2]), []
        for _, _, process, number in left:
            if number == signal.SIGCONT:
                self.send(process, number)


def inode_of(port, peer):
    """The inode of the socket 127.0.0.1:port that is connected to 127.0.0.1:peer."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        for line in table:
            words = line.split()
            if words[1].endswith(f":{port:04X}") and words[2].endswith(f":{peer:04X}"):
                return words[9]
    return None


def has_socket(pid, inode):
    directory = f"/proc/{pid}/fd"
    try:
        return any(os.readlink(f"{directory}/{name}") == f"socket:[{inode}]" for name in os.listdir(directory))
    except OSError:
        return False


def kill_server(server, between=lambda: None):
    """Kills all of it with SIGKILL, and starts a new one."""
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()
    between()
    server.start()


def crash_postgres(server):
    """Like `pg_ctl stop -m immediate`, then starts it again."""
    server.process.send_signal(signal.SIGQUIT)
    wait_until(lambda: server.process.poll() is not None, "PostgreSQL's end", 30)
    server.start()
