# SPDX-License-Identifier: ISC
"""What `oncedrop purge` costs when it deletes the oldest of twelve months, and what the same rows would cost in partitions
by month: those are dropped at once, but a message is looked for in each of them, and no index across them can be
unique."""

import statistics
import time

import measure
import psycopg2
import sessions
import wal
from lab import ledgers

ROWS, LARGE, TINY = 60000, 1000000, 1200
MONTHS, DAYS = 12, 360
TABLES = ("message", "address", "part", "raw", "delivery", "copy", "attempt")
LOOKUPS = 200
# Rows of a child table belong to the month of their message.
MONTH_OF = {"message": "SELECT x.* FROM oncedrop.message x",
            "attempt": "SELECT x.*, m.received_at AS month FROM oncedrop.attempt x JOIN oncedrop.delivery d ON d.id = x.delivery"
                   " JOIN oncedrop.message m ON m.id = d.message",
            **{table: f"SELECT x.*, m.received_at AS month FROM oncedrop.{table} x JOIN oncedrop.message m ON m.id = x.message"
               for table in ("address", "part", "raw", "delivery", "copy")}}
INDEXES = "SELECT indexdef FROM pg_indexes WHERE schemaname = 'oncedrop' AND tablename = %s"
SIZE = """SELECT sum(pg_total_relation_size(oid)) FROM pg_class
           WHERE relkind = 'r' AND relnamespace = 'oncedrop'::regnamespace"""
# The claim's question: is this message known?
LOOKUP = "SELECT id FROM {}.message WHERE identity = %s AND digest = %s"


def fill(bench, program):
    """A ledger of this many messages, which it returns."""
    rows = TINY if bench.tiny else LARGE if bench.long else ROWS
    session = program.servers.postgres.connect(program.database)
    with session.cursor() as cursor:
        ledgers.fill(cursor, rows, DAYS)
        cursor.execute("VACUUM ANALYZE")
    session.close()
    return rows


def partitioned(cursor):
    """Schema parts: the same rows and indexes, in a partition for each month. Returns the bounds of the months."""
    cursor.execute("CREATE SCHEMA parts")
    cursor.execute("SELECT min(received_at) + n * interval '30 days' FROM oncedrop.message, generate_series(0, %s) n"
                   " GROUP BY n ORDER BY n", (MONTHS,))
    bounds = [bound for bound, in cursor.fetchall()]
    for table in TABLES:
        key = "received_at" if table == "message" else "month"
        more = "" if table == "message" else ", month timestamptz NOT NULL"
        cursor.execute(f"CREATE TABLE parts.{table} (LIKE oncedrop.{table}{more}) PARTITION BY RANGE ({key})")
        for number in range(MONTHS):
            first = f"'{bounds[number]}'" if number else "MINVALUE"
            last = f"'{bounds[number + 1]}'" if number + 1 < MONTHS else "MAXVALUE"
            cursor.execute(f"CREATE TABLE parts.{table}_{number} PARTITION OF parts.{table}"
                           f" FOR VALUES FROM ({first}) TO ({last})")
        cursor.execute(f"INSERT INTO parts.{table} {MONTH_OF[table]}")
        cursor.execute(INDEXES, (table,))
        for definition, in cursor.fetchall():
            definition = definition.replace("CREATE UNIQUE INDEX", "CREATE INDEX").replace(" ONLY ", " ")
            cursor.execute(definition.replace("oncedrop.", "parts."))
    cursor.execute("ANALYZE")
    return bounds


def refused(cursor):
    """What PostgreSQL says to a unique index on what makes two messages the same."""
    try:
        cursor.execute("CREATE UNIQUE INDEX ON parts.message (identity, digest)")
    except psycopg2.Error as error:
        return error.diag.message_primary
    raise RuntimeError("a unique index across partitions")


def lookup(session, schema):
    """The median of its milliseconds, and the locks of a transaction that has looked."""
    took = []
    with session.cursor() as cursor:
        cursor.execute("SELECT identity, digest FROM oncedrop.message ORDER BY identity LIMIT %s", (LOOKUPS,))
        for identity in cursor.fetchall():
            started = time.perf_counter()
            cursor.execute(LOOKUP.format(schema), identity)
            took.append((time.perf_counter() - started) * 1000)
            measure.must(cursor.rowcount == 1, f"{schema}: {cursor.rowcount} rows")
        cursor.execute("BEGIN")
        cursor.execute(LOOKUP.format(schema), identity)
        cursor.execute("SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid()"
                       " AND relation IS DISTINCT FROM 'pg_locks'::regclass")
        locks, = cursor.fetchone()
        cursor.execute("COMMIT")
    return statistics.median(took), locks


def again(cursor, rows, bound):
    """As many new messages as were deleted, with other numbers and ids: do they fit where those were?"""
    for table in TABLES:
        cursor.execute("SELECT column_name FROM information_schema.columns WHERE table_schema = 'oncedrop'"
                       " AND table_name = %s ORDER BY ordinal_position", (table,))
        columns = [column for column, in cursor.fetchall()]
        values = [f'"{column}" + {rows}' if column in ("id", "message", "delivery", "claimed_by")
                  else f'sha256("{column}")' if column in ("identity", "digest")
                  else f"""'new.' || "{column}" """ if column in ("message_id", "queue_id") else f'"{column}"'
                  for column in columns]
        names = ", ".join(f'"{column}"' for column in columns)
        cursor.execute(f"INSERT INTO oncedrop.{table} ({names}) OVERRIDING SYSTEM VALUE SELECT {', '.join(values)}"
                       f" FROM parts.{table} WHERE {'received_at' if table == 'message' else 'month'} < %s", (bound,))


def measure_purge(bench, program, results):
    own = program.with_new_ledger()
    rows = fill(bench, own)
    session = own.servers.postgres.connect(own.database)
    counter = wal.Counter(own.servers.postgres)

    def add(case, unit, sample, competitor="purge"):
        results.add("scale", case, f"{program.name} {competitor}", unit, sample)

    def cost(competitor, messages, work):
        session.cursor().execute("CHECKPOINT")
        seconds = []

        def timed():
            started = time.perf_counter()
            work()
            seconds.append(time.perf_counter() - started)

        done = counter.during(timed)
        case = f"a month gone, {messages:,} of {rows:,} messages"
        add(f"{case}: time", "s", seconds[0], competitor)
        add(f"{case}: log", "MB", (done.records + done.images) / 1e6, competitor)

    with session.cursor() as cursor:
        def ask(query, *parameters):
            cursor.execute(query, parameters)
            return cursor.fetchone()[0]

        bounds = partitioned(cursor)
        for schema, name in (("oncedrop", "one table"), ("parts", "partitions")):
            milliseconds, locks = lookup(session, schema)
            add("is this message known?", "ms", milliseconds, name)
            add("is this message known? Its locks", "locks", locks, name)
        size = ask(SIZE)
        old = ask("SELECT count(*) FROM oncedrop.message WHERE received_at < %s", bounds[1])
        days = ask("SELECT floor(extract(epoch FROM now() - %s) / 86400)::int", bounds[1])

        def purge():
            words = own.words("purge", "--older-than", f"{days}d", configuration=own.operator())
            done = bench.runner.run(words, bench.servers.environment(), b"")
            measure.must(done.exit == 0, f"purge: {done}")

        sessions.note_locks(own)
        cost("purge", old, purge)
        whole, shared = own.sql("SELECT max(complete), max(shared) FROM public.noted")[0]
        add("most locks of a transaction, purge", "locks", whole, "all")
        add("most locks of a transaction, purge", "locks", shared, "in the shared table")
        left = ask("SELECT count(*) FROM oncedrop.message WHERE received_at < %s", bounds[1])
        measure.must(left < old / 100, f"purge left {left} of {old}")
        started = time.perf_counter()
        cursor.execute("VACUUM")
        add(f"a month gone, {old:,} of {rows:,} messages: time", "s", time.perf_counter() - started, "VACUUM after that")
        add("size: before = 1", "of it", float(ask(SIZE) / size), "purge, VACUUM")
        again(cursor, rows, bounds[1])
        add("size: before = 1", "of it", float(ask(SIZE) / size), "and a new month")
        results.note(f"A unique index on Message-ID and content across partitions: {refused(cursor)}.")
        drop = ", ".join(f"parts.{table}_0" for table in TABLES)
        cost("DROP of partitions", old, lambda: session.cursor().execute(f"DROP TABLE {drop}"))
    session.close()
