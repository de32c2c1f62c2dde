# SPDX-License-Identifier: ISC
"""What PostgreSQL says of a ledger's sessions, locks and sizes."""

import contextlib
import re
import subprocess
import threading

import measure

PAUSE = 0.02        # seconds between two counts of the sessions

SIZES = """SELECT CASE WHEN c.relkind = 'i' THEN 'indexes' ELSE 'tables' END, sum(pg_relation_size(c.oid))
             FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
             LEFT JOIN pg_class t ON t.reltoastrelid = coalesce(i.indrelid, c.oid)
            WHERE c.relkind IN ('r', 'i', 't')
              AND 'oncedrop'::regnamespace IN (c.relnamespace, t.relnamespace) GROUP BY 1"""
OTHERS = "datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
# At the end of each transaction that has claimed or settled, and of each DELETE of a purge; those of the triggers themselves do
# not count.
NOTE_LOCKS = """
    CREATE TABLE public.noted (complete bigint, shared bigint);
    CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
        INSERT INTO public.noted SELECT count(*), count(*) FILTER (WHERE NOT fastpath) FROM pg_locks
         WHERE pid = pg_backend_pid() AND relation IS DISTINCT FROM 'pg_locks'::regclass
           AND relation IS DISTINCT FROM 'public.noted'::regclass;
        RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER note AFTER INSERT OR UPDATE ON oncedrop.copy DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION public.note();
    CREATE TRIGGER note AFTER DELETE ON oncedrop.message FOR EACH STATEMENT EXECUTE FUNCTION public.note();
"""
LOCKS = f"""SELECT count(*), count(*) FILTER (WHERE NOT fastpath) FROM pg_locks
             WHERE pid IN (SELECT pid FROM pg_stat_activity WHERE {OTHERS})"""


def sizes(program):
    """{"tables", "indexes": bytes}; what is kept elsewhere because it is long belongs to its table."""
    return {name: int(size) for name, size in program.sql(SIZES)}


def both(before, after):
    return {name: (before[name], after[name]) for name in ("tables", "indexes")}


def note_locks(program):
    program.sql(NOTE_LOCKS)


def locks(program):
    """All those of the only delivery there is, and those in the shared table: where the first 16 of relations are not."""
    return program.sql(LOCKS)[0]


def backends(program):
    return [pid for pid, in program.sql(f"SELECT pid FROM pg_stat_activity WHERE {OTHERS}")]


def private_mib(pid):
    """Memory that this process of PostgreSQL does not share."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return sum(int(size) for size in re.findall(r"^Private_\w+: +(\d+) kB", file.read(), re.MULTILINE)) / 1024


@contextlib.contextmanager
def most(program):
    """Yields a list, to which the number of sessions in this database is added again and again."""
    found, stop = [], threading.Event()
    session = program.servers.postgres.connect(program.database)

    def look():
        with session.cursor() as cursor:
            while True:
                cursor.execute(f"SELECT count(*) FROM pg_stat_activity WHERE {OTHERS}")
                found.append(cursor.fetchone()[0])
                if stop.wait(PAUSE):
                    return

    thread = measure.in_background(look)
    try:
        yield found
    finally:
        stop.set()
        thread.join()
        session.close()


def commits_per_second(server, clients, each):
    """pgbench(1): each client inserts a row and waits for the disk, this many times."""
    database = server.create_database("admin")
    server.admin("CREATE TABLE one (n bigint)", database=database)
    script = server.path("commit.sql")
    with open(script, "w", encoding="ascii") as file:
        file.write("INSERT INTO one VALUES (1);\n")
    done = subprocess.run(
        [server.program("pgbench"), "-n", "-M", "prepared", "-f", script, "-c", str(clients), "-j", str(min(clients, 2)),
         "-t", str(each), "-h", server.directory, "-p", str(server.port), "-U", "admin", database],
        capture_output=True, text=True, check=False, cwd="/")
    found = re.search(r"^tps = ([\d.]+)", done.stdout, re.MULTILINE)
    measure.must(found, f"pgbench: {done}")
    server.drop_database(database)
    return float(found[1])
