# SPDX-License-Identifier: ISC
"""A site's ledger in MariaDB, as tests see it: what lab/ledger.py says of each engine."""

import collections
import contextlib
import datetime
import json
import re

import pymysql

from . import lab as lab_module, ledgers
from .ledger import MICROSECOND, Ledger, row_type
from .process import free_port

TRUTHS = ("doubt", "complete", "verified")
NAMES = ("account", "mailbox")
OURS = " FROM information_schema.processlist p WHERE p.db = %s AND p.user <> 'admin'"


def to_mariadb(value):
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value


def in_mariadb(database, query):
    """The database is called oncedrop in SQL, as PostgreSQL's schema is."""
    return re.sub(r"\boncedrop\.(?=\w)", f"{database}.", query)


def from_mariadb(name, value):
    """The value of a column, or of a function of it, by that name."""
    column = re.search(r'(\w*)"?\)*$', name)[1]
    if isinstance(value, datetime.datetime):
        return value.replace(tzinfo=datetime.timezone.utc)
    if isinstance(value, int) and name in TRUTHS:
        return bool(value)
    if isinstance(value, str) and name in ("references", "recipients"):
        return json.loads(value)
    # Names are compared byte by byte, and therefore kept as bytes.
    return value.decode() if isinstance(value, bytes) and column in NAMES else value


class MariaLedger(Ledger):
    """A database of lab/mariadb.py."""

    USER = lab_module.DELIVERY      # by what a delivery's session is known there

    def __init__(self, server, database):
        self.server, self.database = server, database

    def execute(self, cursor, query, parameters=None):
        cursor.execute(in_mariadb(self.database, query),
                       None if parameters is None else [to_mariadb(value) for value in parameters])

    def sql(self, query, parameters=None):
        """Runs one statement as the database's administrator; rows are named tuples."""
        with self.server.session(self.database) as session, session.cursor() as cursor:
            self.execute(cursor, query, parameters)
            names = [column[0] for column in cursor.description or ()]
            rows = cursor.fetchall()
        # As PostgreSQL calls them: a function's result has the function's name.
        row = row_type(tuple(re.match(r"\w*", name)[0] or "_" for name in names))
        return [row(*map(from_mariadb, names, values)) for values in rows]

    def settings(self, role):
        """With these the program logs in there as one of lab.ROLES."""
        return {"database.conninfo": self.server.conninfo(self.database, role)}

    def login(self, role):
        """What in a conninfo says that it is this role."""
        return f"//{role}:{role}@"

    def out_of_reach(self):
        """Settings for an unreachable ledger, and what the error then says."""
        return {"database.conninfo": self.server.conninfo(self.database, lab_module.DELIVERY, port=free_port())}, \
            "Can't connect to"

    def connect(self, user="admin"):
        """A session of the test's own, for transactions."""
        return MariaSession(self, user)

    def create_application(self, name):
        """A user to whom the rights of an application are given."""
        self.server.create_role(name)
        with contextlib.closing(self.server.connect(None, lab_module.OWNER)) as owner, owner.cursor() as cursor:
            cursor.execute(f"GRANT oncedrop_feed TO {name}")
        self.server.admin(f"SET DEFAULT ROLE oncedrop_feed FOR {name}")

    def drop_application(self, name):
        self.server.admin(f"DROP USER {name}")

    def now(self):
        return self.value("SELECT utc_timestamp(6)")

    def put_back(self, table, columns, time, where, parameters):
        changes = ", ".join(f"{column} = {column} - INTERVAL %s MICROSECOND" for column in columns)
        for _ in range(20):
            try:
                return self.sql(f"UPDATE oncedrop.{table} SET {changes}{where}", [*[time // MICROSECOND] * len(columns), *parameters])
            except pymysql.err.OperationalError as error:   # deliveries change these rows, too
                if error.args[0] != pymysql.constants.ER.LOCK_DEADLOCK:
                    raise
        raise TimeoutError(f"nothing but deadlocks with table {table}")

    def trust(self, server):
        """This IMAP server is known to look at the account that is named."""
        with contextlib.suppress(pymysql.Error):    # no database, or none with this table
            self.sql("INSERT IGNORE INTO oncedrop.server VALUES (%s, 1, %s, %s)", (server, self.now(), self.now()))

    def create_table(self, name, columns):
        """Creates a table of the site's own that deliveries may read; returns what it is called in SQL."""
        self.sql(f"CREATE TABLE oncedrop.site_{name} ({columns})")
        self.sql(f"GRANT SELECT ON oncedrop.site_{name} TO {lab_module.DELIVERY}")
        return f"site_{name}"

    def number_messages(self, first):
        """The next message gets this id, those after it the next ones."""
        self.sql(f"ALTER TABLE oncedrop.message AUTO_INCREMENT = {first}")

    def fill(self, rows, days):
        """Records this many messages, evenly over the last days, for 1,000 accounts."""
        values = {"rows": rows, "now": to_mariadb(self.now()), "step": days * 86400e6 / rows}
        with contextlib.closing(self.server.connect(self.database)) as session, session.cursor() as cursor:
            for statement in ledgers.FILL_MARIADB.replace("ROWS", str(rows)).split(";\n"):
                cursor.execute(in_mariadb(self.database, statement), values)

    def damage(self):
        """What the engine itself finds wrong with its tables."""
        names = ", ".join(f"oncedrop.{name}" for name in self.columns())
        return [f"{row.Table}: {row.Msg_text}" for row in self.sql(f"CHECK TABLE {names}") if row.Msg_text != "OK"]

    def columns(self):
        """{table: [column]}."""
        found = collections.defaultdict(list)
        for table, column in self.sql("""
                SELECT table_name, column_name FROM information_schema.columns
                  JOIN information_schema.tables USING (table_schema, table_name)
                 WHERE table_schema = %s AND table_type = 'BASE TABLE' ORDER BY 1, 2""", (self.database,)):
            found[table].append(column)
        return dict(found)

    def sessions(self):
        """How many sessions the program has."""
        return self.value("SELECT count(*)" + OURS, (self.database,))

    def in_transaction(self, mark=", ACTIVE "):
        """The numbers of the sessions in whose transaction's status this mark is, and 0, as no list may be empty. Not by table
        innodb_trx, which is renewed only if it was not read for a tenth of a second."""
        [status] = self.sql("SHOW ENGINE INNODB STATUS")
        transactions = [one for one in status.Status.split("---TRANSACTION ")[1:] if mark in one]
        return 0, *(int(found[1]) for one in transactions if (found := re.search(r"MariaDB thread id (\d+),", one)))

    def busy_sessions(self):
        """How many of them have a statement or a transaction under way."""
        return self.value(f"SELECT count(*) {OURS} AND (p.command NOT IN ('Sleep', 'Killed') OR p.id IN %s)",
                          (self.database, self.in_transaction()))

    def waiting_sessions(self):
        """How many sessions, anybody's, wait for a lock."""
        return self.value("SELECT count(*) FROM information_schema.processlist p WHERE p.db = %s"
                          " AND (p.state = 'User lock' OR p.state LIKE 'Waiting for %%lock' OR p.id IN %s)",
                          (self.database, self.in_transaction("LOCK WAIT")))

    def tell_sessions_to_end(self):
        return sum(self.server.kill(number) for number, in self.sql("SELECT p.id" + OURS, (self.database,)))

    def locked(self):
        """The keys of messages in the ledger that are locked, with lock.method = session."""
        return [key for key, in self.sql("SELECT lock_key FROM oncedrop.message") if self.locker(key) is not None]

    def locker(self, key):
        """The number of the session that has the lock of a message, or None."""
        return self.value("SELECT is_used_lock(%s)", (self.lock_name(key),))

    def lock_name(self, key):
        """As the engine calls the lock of a message."""
        return f"oncedrop.{key & (1 << 64) - 1:x}"

    def take_over(self, event, condition):
        """From now on another delivery claims each copy again, as soon as an INSERT or UPDATE makes NEW fulfil this."""
        self.sql(f"CREATE TRIGGER take_over BEFORE {event} ON oncedrop.copy FOR EACH ROW"
                 f" IF {condition} THEN SET NEW.claim = NEW.claim + 1; END IF")

    def close(self):
        pass    # the server's sessions stay, for the next site


class MariaSession:
    """As one of psycopg2 is used: a transaction begins with its first statement; each result's rows are those of fetchall()."""

    def __init__(self, ledger, user):
        self.ledger, self.session = ledger, ledger.server.connect(ledger.database, user)
        self.session.autocommit(False)

    @property
    def number(self):
        """By which others know it."""
        return self.session.thread_id()

    def cursor(self):
        return MariaCursor(self.ledger, self.session.cursor())

    def commit(self):
        self.session.commit()

    def rollback(self):
        self.session.rollback()

    def close(self):
        self.session.close()


class MariaCursor:
    def __init__(self, ledger, cursor):
        self.ledger, self.cursor = ledger, cursor

    def execute(self, query, parameters=None):
        self.ledger.execute(self.cursor, query, parameters)

    def fetchall(self):
        return self.cursor.fetchall()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.cursor.close()


# Everything that can change except rows.
PARTS = (
    "SELECT table_name, engine, row_format, table_collation, create_options FROM information_schema.tables"
    " WHERE table_schema = %s ORDER BY 1",
    "SELECT table_name, column_name, column_type, column_default, is_nullable, collation_name, extra"
    " FROM information_schema.columns WHERE table_schema = %s ORDER BY 1, 2",
    "SELECT table_name, index_name, seq_in_index, column_name, sub_part, non_unique FROM information_schema.statistics"
    " WHERE table_schema = %s ORDER BY 1, 2, 3",
    # By this column: by any other, the server goes through all databases, and is in each meanwhile, whose sessions may be ended.
    "SELECT trigger_name, action_statement FROM information_schema.triggers WHERE event_object_schema = %s ORDER BY 1",
    "SELECT routine_name, routine_definition FROM information_schema.routines WHERE routine_schema = %s ORDER BY 1",
    "SELECT user, host, select_priv, insert_priv, update_priv, delete_priv, create_priv FROM mysql.db WHERE db = %s"
    " ORDER BY 1, 2",
    "SELECT user, host, table_name, table_priv, column_priv FROM mysql.tables_priv WHERE db = %s ORDER BY 1, 2, 3",
    "SELECT user, host, table_name, column_name, column_priv FROM mysql.columns_priv WHERE db = %s ORDER BY 1, 2, 3, 4",
)
EMPTY = ("DELETE FROM oncedrop.message", "DELETE FROM oncedrop.server", "DELETE FROM oncedrop.event", "DELETE FROM oncedrop.counter_bucket",
         "DELETE FROM oncedrop.lease", "DELETE FROM oncedrop.refusal", "DELETE FROM oncedrop.feed",
         "UPDATE oncedrop.counter SET last_message = 0, messages = 0, bytes = 0, last_copy = 0, copies = 0",
         "UPDATE oncedrop.setting SET lock_method = 'session' WHERE lock_method <> 'session'")
NUMBERED = ("message", "delivery", "copy", "event")     # their rows begin again with number 1
MANY = 1000     # messages; anything with more is dropped faster than emptied


class MariaLedgers:
    """Databases with an empty ledger, as Ledgers of lab/ledgers.py: if a test left nothing but rows in one, it is emptied and
    used again. install(database) installs the schema."""

    def __init__(self, server, install):
        self.server, self.install = server, install
        self.spare = []
        self.fingerprint = None
        self.spare.append(self.create())

    def create(self):
        name = self.server.create_database(lab_module.OWNER)
        self.install(name)
        if self.fingerprint is None:
            self.fingerprint = self.fingerprint_of(name)
        return name

    def take(self):
        return self.spare.pop() if self.spare else self.create()

    def give_back(self, name):
        if self.empty(name):
            self.spare.append(name)
        else:
            self.server.drop_database(name)

    def empty(self, name):
        """Removes the rows; False if that would not restore the original state."""
        self.server.end_sessions(name)
        if self.fingerprint_of(name) != self.fingerprint:
            return False
        ledger = MariaLedger(self.server, name)
        if ledger.value("SELECT count(*) FROM oncedrop.message") > MANY:
            return False
        for statement in EMPTY:
            ledger.sql(statement)
        for table in NUMBERED:
            ledger.sql(f"ALTER TABLE oncedrop.{table} AUTO_INCREMENT = 1")
        self.server.forget(name)
        return True

    def fingerprint_of(self, database):
        return [self.server.admin(part, (database,)) for part in PARTS]
