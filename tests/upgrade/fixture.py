# SPDX-License-Identifier: ISC
"""A ledger as text: the schema as `ledger print` of its release has it, then the rows, one a line. A dump of the engine's own tools
would hold what only their newer versions read."""

import contextlib
import datetime
import glob
import os
import re
import socket
import sqlite3

from lab import lab as lab_module
from lab.ledger import MARIADB, MICROSECOND, POSTGRES, SQLITE, engine

HERE = os.path.dirname(os.path.abspath(__file__))
HOST = "mail.example.org"
FIRST = datetime.datetime(2026, 1, 5, 8, 0, tzinfo=datetime.timezone.utc)   # when the oldest row was written
# In the order in which rows can be inserted, each with its key. Not slot, of which an installation makes all.
TABLES = {"schema_version": "1", "message": "1", "address": "1, 2, 3", "part": "1, 2", "raw": "1, 2", "delivery": "1", "attempt": "1, 2",
          "copy": "1", "feed": "1", "feed_reader": "1, 2", "server": "1", "refusal": "1", "event": "1", "counter_bucket": "1, 2, 3",
          "counter": "1", "setting": "1", "lease": "1"}
NUMBERED = ("message", "delivery", "copy", "feed", "event")
INSTALLED = ("schema_version", "counter", "setting")    # with rows in them


def releases():
    """Those that have a ledger of this engine here."""
    return sorted(os.path.basename(os.path.dirname(path)) for path in glob.glob(os.path.join(HERE, "*", f"{engine()}.sql")))


def path_of(release, name):
    return os.path.join(HERE, release, name)


def messages(release):
    """{name: bytes}, as Postfix would pipe them."""
    found = {}
    for path in sorted(glob.glob(path_of(release, "*.eml"))):
        with open(path, "rb") as file:
            found[os.path.basename(path)[:-len(".eml")]] = file.read()
    return found


# Writing

# Views keep the collation of the session that makes them.
SESSION = "SET NAMES utf8mb4 COLLATE utf8mb4_nopad_bin;\n" if engine() == MARIADB else ""


def is_moment(column):
    return column.endswith("_at") or column in ("at", "not_before")


class Rewriter:
    """Of what differs between two runs: rows keep their times' distances, and the host, its ports and its files have other names."""

    def __init__(self, site):
        self.site = site
        self.shift = (FIRST - site.value("SELECT min(received_at) FROM oncedrop.message")) // MICROSECOND
        self.ports = {}

    def value(self, table, column, value):
        if isinstance(value, datetime.datetime) and is_moment(column):
            return value + self.shift * MICROSECOND
        if isinstance(value, int) and (is_moment(column) or column == "boot_us" or self.is_counted_until(table, value)):
            return value + self.shift
        if column == "host":
            return HOST
        return self.text(value) if value is not None and column in ("server", "session", "error", "reason") else value

    @staticmethod
    def is_counted_until(table, value):
        """The only one of the counters that is a time."""
        return table == "counter_bucket" and value > 10 ** 15

    def text(self, text):
        text = text.replace(f" {socket.gethostname()}", f" {HOST}").replace(self.site.directory, "/etc/oncedrop")
        return re.sub(r"( port |127\.0\.0\.1:)(\d+)",
                      lambda found: f"{found[1]}{self.ports.setdefault(found[2], 993 + len(self.ports))}", text)


def text_literal(text):
    quoted = text.replace("'", "''")
    escaped = quoted.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")
    if engine() == MARIADB:
        return f"'{escaped}'"
    if engine() == POSTGRES:
        return f"E'{escaped}'" if "\\" in escaped else f"'{quoted}'"
    lines = quoted.replace("\r\n", "\n")
    if "\r" not in quoted:
        return f"'{quoted}'"
    assert lines.replace("\n", "\r\n") == quoted, text
    return f"replace('{lines}', char(10), char(13, 10))"


def bytes_literal(column, value):
    """Names and messages as text."""
    if column in ("account", "mailbox"):
        return text_literal(value.decode())
    if column != "data":
        return rf"'\x{value.hex()}'" if engine() == POSTGRES else f"X'{value.hex()}'"
    text = text_literal(value.decode())
    return {POSTGRES: f"convert_to({text}, 'UTF8')", SQLITE: f"CAST({text} AS BLOB)", MARIADB: text}[engine()]


def literal(column, value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower() if engine() == POSTGRES else str(int(value))
    if isinstance(value, int):
        return str(value)
    if isinstance(value, datetime.datetime):
        text = value.astimezone(datetime.timezone.utc).replace(tzinfo=None).isoformat(" ", "microseconds")
        return f"'{text}{'+00' if engine() == POSTGRES else ''}'"
    if isinstance(value, list):
        return f"ARRAY[{', '.join(map(text_literal, value))}]::text[]"
    if isinstance(value, (bytes, memoryview)):
        return bytes_literal(column, bytes(value))
    return text_literal(value)


def rows_of(session, query):
    """(columns, rows), as the engine's library returns them."""
    cursor = session.cursor()
    cursor.execute(query)
    return [column[0] for column in cursor.description], cursor.fetchall()


def table_text(session, table, rewriter):
    prefix = "oncedrop." if engine() == POSTGRES else ""
    columns, rows = rows_of(session, f"SELECT * FROM {prefix}{table} ORDER BY {TABLES[table]}")
    text = f"DELETE FROM {prefix}{table};\n" if table in INSTALLED else ""
    if rows:
        numbers = " OVERRIDING SYSTEM VALUE" if engine() == POSTGRES else ""
        lines = [", ".join(literal(column, rewriter.value(table, column, value)) for column, value in zip(columns, row))
                 for row in rows]
        names = ", ".join(f'"{column}"' for column in columns)
        text += f"INSERT INTO {prefix}{table} ({names}){numbers} VALUES\n" + ",\n".join(f"({line})" for line in lines) + ";\n"
    return text


def numbers_text(session):
    """So that the number of a deleted row is not given again."""
    if engine() == POSTGRES:
        numbers = [(table, rows_of(session, f"SELECT last_value, is_called FROM oncedrop.{table}_id_seq")[1]) for table in NUMBERED]
        return "".join(f"SELECT setval('oncedrop.{table}_id_seq', {last}, {str(called).lower()});\n" for table, [(last, called)] in numbers)
    if engine() == MARIADB:
        numbers = rows_of(session, "SELECT table_name, auto_increment FROM information_schema.tables"
                          " WHERE table_schema = DATABASE() AND auto_increment IS NOT NULL ORDER BY 1")[1]
        return "".join(f"ALTER TABLE {table} AUTO_INCREMENT = {number};\n" for table, number in numbers)
    numbers = rows_of(session, "SELECT name, seq FROM sqlite_sequence ORDER BY 1")[1]
    return "DELETE FROM sqlite_sequence;\n" + "".join(f"INSERT INTO sqlite_sequence VALUES {row};\n" for row in numbers)


def reading(site):
    """A session that sees the ledger's own values."""
    if engine() == SQLITE:
        return contextlib.closing(sqlite3.connect(f"file:{site.database}?mode=ro", uri=True))
    return contextlib.closing(site.database_server.connect(site.database))


def write(site, release, mails):
    """The site's ledger becomes that of a release, and so do these messages, by their names."""
    printed = site.run("ledger", "print")
    assert printed.exit == 0, printed
    os.makedirs(path_of(release, ""), exist_ok=True)
    rewriter = Rewriter(site)
    with reading(site) as session:
        there = site.ledger.columns()
        text = [SESSION, printed.out, "" if printed.out.endswith(";\n") else ";\n", "\n"]
        text += [table_text(session, table, rewriter) for table in TABLES if table in there] + [numbers_text(session)]
    unknown = set(there).difference(TABLES, ("slot", "sqlite_sequence"))
    assert not unknown, f"not in TABLES: {unknown}"
    with open(path_of(release, f"{engine()}.sql"), "w", encoding="utf-8") as file:
        file.write(f"-- SPDX-License-Identifier: ISC\n-- A ledger that version {release} wrote: tests/upgrade/write-fixture.\n\n")
        file.writelines(text)
    for name, mail in mails.items():
        with open(path_of(release, f"{name}.eml"), "wb") as file:
            file.write(mail)


# Reading

def restore(site, release):
    """Makes the site's new database, which is empty, the ledger of a release."""
    with open(path_of(release, f"{engine()}.sql"), encoding="utf-8") as file:
        text = file.read()
    if engine() == SQLITE:
        with contextlib.closing(sqlite3.connect(site.database)) as session:
            session.execute("PRAGMA journal_mode = WAL")
            session.executescript(text)
    elif engine() == POSTGRES:
        with contextlib.closing(site.database_server.connect(site.database, lab_module.OWNER, lab_module.OWNER)) as session:
            session.cursor().execute(text)
    else:
        restore_mariadb(site, text)


def restore_mariadb(site, text):
    from pymysql.constants import CLIENT
    with contextlib.closing(site.database_server.connect(site.database, lab_module.OWNER, client_flag=CLIENT.MULTI_STATEMENTS)) as session:
        cursor = session.cursor()
        cursor.execute(text)
        while cursor.nextset():
            pass
