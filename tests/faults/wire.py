# SPDX-License-Identifier: ISC
"""The dialogues with IMAP, PostgreSQL and MariaDB, divided into the pieces of their protocols, and a proxy that ends or silences
them within or after a chosen piece.

A point is named by the piece and by the place in it, not by the byte's number in the stream. Names and numbers in a
dialogue are not of the same length in each run."""

import collections
import re
import struct
import threading

import death
from lab.ledger import MARIADB, engine
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER, Proxy, without_early_literals

RESET, CLOSE = "reset", "close"                                 # by RST; in order, by FIN
GONE = "reset, and new ones, too"                               # every new connection of the same run
SILENT, ALL_SILENT = "silent", "silent to new ones, too"        # new connections of the same run

ROLLED_BACK = "rolled back"                                     # a COMMIT: it has no effect, and is answered so
LAST_ROLLED_BACK = "the last one rolled back"                   # of a query with several; only with MariaDB
HELD_BACK = "held back"                                         # the piece, while the wire's action is done

ROWS = "rows"       # of a result: what comes next

WRITING = threading.Lock()
TURNS = threading.Semaphore(6)      # on their way to their point: more would be too slow for the deadline

# number: of the piece among those of its side and connection
Unit = collections.namedtuple("Unit", "connection side number kind size")

# end: how much of the piece still passes, as in bytes[:end]
Point = collections.namedtuple("Point", "manner unit end")


class Imap:
    """Pieces of IMAP: lines, and literals. The last byte of an early literal belongs to the line behind it."""

    def __init__(self):
        self.left = {CLIENT: 0, SERVER: 0}      # bytes of the literal that comes next
        self.inside = {CLIENT: None, SERVER: None}
        self.awaited = False                    # the client's literal waits for the server's go-ahead
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
        self.left[side] = int(literal[1]) - line.endswith(b"+}") if literal else 0
        self.inside[side] = (self.inside[side] or kind) if literal else None
        if side == CLIENT:
            self.awaited = literal is not None and not line.endswith(b"+}")
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
            self.awaited = False
            return f"go-ahead for {self.newest}"
        if words[0] == "*":
            return f"untagged {words[2] if words[1].isdigit() else words[1]} to {self.newest}"
        self.refuse_literal()
        return f"{words[1]} to {self.commands.get(words[0])}"

    def refuse_literal(self):
        """A tagged answer instead of the go-ahead: the literal will not follow. An early one does, also after such an answer."""
        if self.awaited:
            self.left[CLIENT], self.inside[CLIENT], self.awaited = 0, None, False


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


class Maria:
    """Pieces of MariaDB's protocol: its packets. Of what is sent, those with a COMMIT among their statements are named
    accordingly; of what is answered, those to a COMMIT."""

    HEADER = 4

    def __init__(self):
        self.begun = False          # logged in
        self.running = collections.deque()
        self.result = None          # the one that is arriving

    def take(self, side, data):
        size = int.from_bytes(data[:3], "little") + self.HEADER
        if len(data) < max(size, self.HEADER):
            return None
        body = data[self.HEADER:size]
        return size, self.of_client(body) if side == CLIENT else self.of_server(body)

    def of_client(self, body):
        if not self.begun:
            return "Login"
        if body[:1] != b"\3":
            return "Quit" if body[:1] == b"\1" else "Command"
        found = statements(body)
        self.running.extend(found)
        return "Query with COMMIT" if any(map(COMMITS.search, found)) else "Query"

    def of_server(self, body):
        kind = self.name(body)
        commit = self.running and COMMITS.search(self.running[0])
        if kind in ("OK", "End of rows") and self.running:
            self.running.popleft()
        if kind == "Error":
            self.running.clear()    # the server stops there
        return kind + (" of COMMIT" if commit else "")

    def name(self, body):
        """Columns of a result, then their end, rows, and their end."""
        letter, end = body[0], body[0] == 0xfe and len(body) < 9
        if not self.begun:
            self.begun = letter == 0
            return {0: "OK to Login", 0xff: "Error", 10: "Greeting"}.get(letter, "More of Login")
        if letter == 0xff:
            self.result = None
            return "Error"
        if self.result is None:
            self.result = letter or None
            return "Columns" if letter else "OK"
        if self.result == ROWS:
            self.result = None if end else ROWS
            return "End of rows" if end else "Row"
        self.result = ROWS if end else self.result
        return "End of columns" if end else "Column"


COMMITS = re.compile(rb"^COMMIT(?=;?$)", re.M)      # of a statement, also of a compound one


def statements(query):
    """The statements of a COM_QUERY, as maria_batch.c puts them together: a compound one has one answer."""
    found, inside = [], False
    for part in query[1:].split(b";\n"):
        if inside:
            found[-1] += b";\n" + part
        else:
            found.append(part)
        inside = (inside or part.startswith(b"BEGIN NOT ATOMIC\n")) and part != b"END"
    return found


class Wire:
    """Stands in front of a server for one run of a case, and disturbs it at a point, if there is one.

    server: "imap", "imap south" or "database"; port: of what stands behind; database_port: where the database is reached
    when this is IMAP's. action: called with the wire, before a piece that is HELD_BACK goes on; when it gives False the piece
    does not go on, and the connection is reset. name: of this run, in pg_stat_activity. announced: the server's LITERAL+
    is not seen, so that its go-ahead is waited for."""

    announced = False

    def __init__(self, bench, server, port, database_port, point=None, action=None):
        self.point, self.action, self.failed = point, action, None
        imap = server != "database"
        self.pieces = Imap if imap else Maria if engine() == MARIADB else Postgres
        self.reached = threading.Event()
        self.units = []
        self.lock = threading.Lock()
        self.of = {}    # connection's number → (pieces, bytes not passed on yet by side, number of pieces by side)
        self.proxy = Proxy(port, self.watch)
        self.name = f"wire {self.proxy.port}"
        # MariaDB shows no name, but where a session comes from.
        self.beside = Proxy(database_port) if imap and engine() == MARIADB else None
        database = self.beside.port if self.beside else database_port if imap else self.proxy.port
        name = f" application_name='{self.name}'" if engine() != MARIADB else ""
        changed = {"database.conninfo": bench.conninfo(database) + name}
        if imap:
            changed[f"{server}.port"] = self.proxy.port
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
        if self.announced and unit.side == SERVER:
            piece = without_early_literals(piece)
        if here and point.manner in (ROLLED_BACK, LAST_ROLLED_BACK):
            piece = refused(piece, point.manner) if engine() == MARIADB else rolled_back(piece)
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
             LAST_ROLLED_BACK: bool, HELD_BACK: bool}.get(point.manner, connection.fall_silent)()

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
        """Runs the case's program to its end; all its output has then gone through watch(). run: starts the
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

    def database_ports(self):
        """Of the connections to MariaDB, on our side."""
        found = []
        for connection in (self.beside or self.proxy).connections:
            try:
                found.append(connection.sockets[SERVER].getsockname()[1])
            except OSError:
                pass    # it is closed
        return found

    def close(self):
        self.proxy.close()
        if self.beside:
            self.beside.close()


def rolled_back(parse):
    """The Parse of a COMMIT as one of ROLLBACK, as the server treats it in a transaction that failed."""
    body = parse[5:].replace(b"\0COMMIT\0", b"\0ROLLBACK\0")
    return b"P" + struct.pack("!I", len(body) + 4) + body


def refused(query, manner):
    """A query whose first, or last, COMMIT is answered with an error, as on a cluster where another node was first."""
    found = statements(query[Maria.HEADER:])
    number = [number for number, one in enumerate(found) if COMMITS.search(one)][0 if manner == ROLLED_BACK else -1]
    found[number] = COMMITS.sub(b"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213", found[number])
    body = query[Maria.HEADER:Maria.HEADER + 1] + b";\n".join(found)
    return len(body).to_bytes(3, "little") + query[3:Maria.HEADER] + body


def units(wire):
    """The pieces of a whole dialogue, without the responses to LOGOUT or QUIT, which are not waited for."""
    return [unit for unit in wire.units if unit.side == CLIENT or not unit.kind.endswith(" LOGOUT")]


def ends(unit):
    """Every point in a piece where the dialogue can end, as bytes[:end], counted from the nearer end; None: all."""
    half = (unit.size + 1) // 2
    return ([0] if unit.number == 1 else []) + list(range(1, half)) + list(range(half - unit.size, 0)) + [None]
