# SPDX-License-Identifier: ISC
"""The dialogues with IMAP and PostgreSQL, divided into the pieces of their protocols, and a proxy that ends or silences
them within or after a chosen piece.

A point is named by the piece and by the place in it, not by the byte's number in the stream: names and numbers in a
dialogue are not of the same length in each run."""

import collections
import re
import struct
import threading

import death
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER, Proxy

RESET, CLOSE = "reset", "close"                                 # by RST; in order, by FIN
GONE = "reset, and new ones, too"                               # every new connection of the same run
SILENT, ALL_SILENT = "silent", "silent to new ones, too"        # new connections of the same run

ROLLED_BACK = "rolled back"                                     # a COMMIT: ROLLBACK goes in its place
HELD_BACK = "held back"                                         # the piece, while the wire's action is done

WRITING = threading.Lock()
TURNS = threading.Semaphore(6)      # on their way to their point: more would be too slow for the deadline

# number: of the piece among those of its side and connection
Unit = collections.namedtuple("Unit", "connection side number kind size")

# end: how much of the piece still passes, as in bytes[:end]
Point = collections.namedtuple("Point", "manner unit end")


class Imap:
    """Pieces of IMAP: lines, and literals."""

    def __init__(self):
        self.left = {CLIENT: 0, SERVER: 0}      # bytes of the literal that comes next
        self.inside = {CLIENT: None, SERVER: None}
        self.commands = {}
        self.newest = None

    def take(self, side, data):
        """The (size, kind) of the piece at the beginning of data, or None while it is incomplete."""
        if self.left[side]:
            size = self.left[side]
            if len(data) < size:
                return None
            self.left[side] = 0
            return size, f"literal of {self.inside[side]}"
        size = data.find(b"\r\n") + 2
        if size < 2:
            return None
        line = data[:size - 2]
        kind = f"end of {self.inside[side]}" if self.inside[side] else self.name(side, line)
        literal = re.search(rb"\{(\d+)\+?\}$", line)
        self.left[side] = int(literal[1]) if literal else 0
        self.inside[side] = (self.inside[side] or kind) if literal else None
        return size, kind

    def name(self, side, line):
        words = line.decode(errors="replace").split()
        if side == CLIENT:
            if len(words) < 2:
                return f"answer within {self.newest}"
            self.newest = " ".join(words[1:3] if words[1] == "UID" else words[1:2])
            self.commands[words[0]] = self.newest
            return self.newest
        if words[0] == "+":
            return f"go-ahead for {self.newest}"
        if words[0] == "*":
            return f"untagged {words[2] if words[1].isdigit() else words[1]} to {self.newest}"
        self.refuse_literal()
        return f"{words[1]} to {self.commands.get(words[0])}"

    def refuse_literal(self):
        """A tagged answer instead of the go-ahead: the literal will not follow."""
        self.left[CLIENT], self.inside[CLIENT] = 0, None


FRONTEND = {"P": "Parse", "B": "Bind", "D": "Describe", "E": "Execute", "S": "Sync", "H": "Flush", "p": "Password",
            "X": "Terminate", "Q": "Query", "C": "Close"}
BACKEND = {"R": "Authentication", "S": "ParameterStatus", "K": "BackendKeyData", "Z": "ReadyForQuery",
           "1": "ParseComplete", "2": "BindComplete", "n": "NoData", "T": "RowDescription", "D": "DataRow",
           "C": "CommandComplete", "I": "EmptyQueryResponse", "E": "ErrorResponse", "N": "NoticeResponse"}


class Postgres:
    """Pieces of PostgreSQL's protocol: its messages. Those of a COMMIT are named accordingly."""

    def __init__(self):
        self.started = False
        self.parsed = None
        self.running = collections.deque()

    def take(self, side, data):
        head = 5 if self.started or side == SERVER else 4
        if len(data) < head:
            return None
        size = struct.unpack("!I", data[head - 4:head])[0] + head - 4
        if len(data) < size:
            return None
        if head == 4:
            self.started = True
            return size, "Startup"
        letter, body = chr(data[0]), data[head:size]
        return size, self.of_frontend(letter, body) if side == CLIENT else self.of_backend(letter, body)

    def of_frontend(self, letter, body):
        if letter == "P":
            self.parsed = body.split(b"\0")[1].strip()
            self.running.append(self.parsed)
        return FRONTEND[letter] + (" of COMMIT" if letter in "PBDE" and self.parsed == b"COMMIT" else "")

    def of_backend(self, letter, body):
        if letter == "Z":
            return f"{BACKEND[letter]} {chr(body[0])}"
        commit = letter in "12nC" and self.running and self.running[0] == b"COMMIT"
        if letter == "C" and self.running:
            self.running.popleft()
        return BACKEND[letter] + (" of COMMIT" if commit else "")


class Wire:
    """Stands in front of a server for one run of a case, and disturbs it at a point, if there is one.

    server: "imap" or "database"; port: of what stands behind; database_port: where the database is reached when this
    is IMAP's. action: called with the wire, before a piece that is HELD_BACK goes on; when it gives False the piece
    does not go on, and the connection is reset. name: of this run, in pg_stat_activity."""

    def __init__(self, bench, server, port, database_port, point=None, action=None):
        self.point, self.action, self.failed = point, action, None
        self.pieces = Imap if server == "imap" else Postgres
        self.reached = threading.Event()
        self.units = []
        self.lock = threading.Lock()
        self.of = {}    # connection's number → (pieces, bytes not passed on yet by side, number of pieces by side)
        self.proxy = Proxy(port, self.watch)
        self.name = f"wire {self.proxy.port}"
        database = database_port if server == "imap" else self.proxy.port
        changed = {"database.conninfo": f"{bench.conninfo(database)} application_name='{self.name}'"}
        if server == "imap":
            changed["imap.port"] = self.proxy.port
        site = bench.site
        with WRITING:
            whole, site.settings = site.settings, {**site.settings, **changed}
            self.configuration = site.write(f"wire{self.proxy.port}.conf", site.configuration())
            site.settings = whole

    def watch(self, connection, side, data):
        """Passes on what has arrived as a whole piece, itself, so that everything stays in order."""
        with self.lock:
            if self.point and self.reached.is_set():
                {ALL_SILENT: connection.fall_silent, GONE: connection.reset}.get(self.point.manner, bool)()
            pieces, held, numbers = self.of.setdefault(
                connection.number, (self.pieces(), {CLIENT: b"", SERVER: b""}, collections.Counter()))
            held[side] += data
            while not connection.mute:
                taken = pieces.take(side, held[side])
                if taken is None:
                    break
                size, kind = taken
                piece, held[side] = held[side][:size], held[side][size:]
                numbers[side] += 1
                self.pass_on(connection, Unit(connection.number, side, numbers[side], kind, size), piece)
        return b""

    def pass_on(self, connection, unit, piece):
        self.units.append(unit)
        point = self.point
        here = point and unit[:4] == point.unit[:4]
        if here and point.manner == ROLLED_BACK:
            piece = rolled_back(piece)
        if here and point.manner == HELD_BACK:
            if self.act() is False:
                connection.reset()
                return
        sink = connection.sockets[SERVER if unit.side == CLIENT else CLIENT]
        try:
            sink.sendall(piece[:point.end] if here else piece)
        except OSError:
            pass    # it was already gone
        if here:
            self.arrive()
            {RESET: connection.reset, GONE: connection.reset, CLOSE: connection.end, ROLLED_BACK: bool,
             HELD_BACK: bool}.get(point.manner, connection.fall_silent)()

    def arrive(self):
        if not self.reached.is_set():
            self.reached.set()
            TURNS.release()

    def act(self):
        self.arrive()
        try:
            return self.action(self)
        except Exception as error:  # signalled by run(): this is the proxy's thread
            self.failed = error
        return None

    def run(self, case, run=death.run):
        """Runs the case's program to its end; by then all its output has gone through watch(). run: starts the
        program."""
        words = [self.configuration if word.endswith("oncedrop.conf") else word for word in case.words]
        TURNS.acquire()
        try:
            done = run(words, case.stdin)
        finally:
            with self.lock:
                if not self.reached.is_set():
                    TURNS.release()
        wait_until(lambda: all(connection.ended[CLIENT] for connection in self.proxy.connections), "all was read")
        if self.failed:
            raise self.failed
        return done

    def close(self):
        self.proxy.close()


def rolled_back(parse):
    """The Parse of a COMMIT as one of ROLLBACK, as the server treats it in a transaction that failed."""
    body = parse[5:].replace(b"\0COMMIT\0", b"\0ROLLBACK\0")
    return b"P" + struct.pack("!I", len(body) + 4) + body


def units(wire):
    """The pieces of a whole dialogue, without the answers to a farewell, which nobody waits for."""
    return [unit for unit in wire.units if unit.side == CLIENT or not unit.kind.endswith(" LOGOUT")]


def ends(unit):
    """Every point in a piece where the dialogue can end, as bytes[:end], counted from the nearer end; None: all."""
    half = (unit.size + 1) // 2
    return ([0] if unit.number == 1 else []) + list(range(1, half)) + list(range(half - unit.size, 0)) + [None]
