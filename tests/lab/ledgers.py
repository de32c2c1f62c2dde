# SPDX-License-Identifier: ISC
"""Databases with an empty ledger. If a test left nothing but rows in one, it is emptied and reused under another name:
that takes a tenth of the time of creating one."""

from . import lab as lab_module, process

FIRST_USER_OID = 16384      # FirstNormalObjectId: objects that did not come with PostgreSQL
LARGE = 4 << 20             # bytes; anything larger is dropped faster than emptied

# Everything that can change except rows. VACUUM and ANALYZE write the relations' other columns.
PARTS = [f"SELECT string_agg(t::text, ';' ORDER BY oid) FROM {catalogue} t WHERE oid >= {FIRST_USER_OID}"
         for catalogue in ("pg_proc", "pg_trigger", "pg_constraint", "pg_attrdef", "pg_rewrite", "pg_type", "pg_policy",
                           "pg_event_trigger", "pg_extension")]
PARTS += [
    "SELECT string_agg(concat_ws(' ', oid, relname, relnamespace, relowner, relkind, relpersistence, relrowsecurity,"
    f" relacl, reloptions), ';' ORDER BY oid) FROM pg_class WHERE oid >= {FIRST_USER_OID}",
    "SELECT string_agg(t::text, ';' ORDER BY attrelid, attnum) FROM pg_attribute t"
    f" WHERE attrelid >= {FIRST_USER_OID}",
    f"SELECT string_agg(t::text, ';' ORDER BY indexrelid) FROM pg_index t WHERE indexrelid >= {FIRST_USER_OID}",
    "SELECT string_agg(t::text, ';' ORDER BY oid) FROM pg_namespace t WHERE nspname !~ '^pg_(toast_)?temp'",
    "SELECT string_agg(t::text, ';' ORDER BY oid) FROM pg_default_acl t",
    "SELECT string_agg(concat_ws(' ', setrole, setconfig), ';' ORDER BY setrole) FROM pg_db_role_setting"
    " WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
    "SELECT concat_ws(' ', datdba, datallowconn, datconnlimit, datacl) FROM pg_database"
    " WHERE datname = current_database()",
    "SELECT string_agg(t::text, ';' ORDER BY version) FROM oncedrop.schema_version t",
]
FINGERPRINT = "SELECT md5(concat_ws('|', " + ", ".join(f"coalesce(({part}), '')" for part in PARTS) + "))"

SIZE = f"SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND oid >= {FIRST_USER_OID}"
OTHERS = "FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type = 'client backend'"
EMPTY = """
    DELETE FROM oncedrop.message;
    DELETE FROM oncedrop.feed;
    DELETE FROM oncedrop.server;
    DELETE FROM oncedrop.event;
    DELETE FROM oncedrop.counter_bucket;
    DELETE FROM oncedrop.lease;
    DELETE FROM oncedrop.refusal;
    UPDATE oncedrop.setting SET lock_method = 'advisory' WHERE lock_method <> 'advisory';
    SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'oncedrop'::regnamespace;
"""

# A large ledger; some of its copies are pending, and some have failed.
FILL = """
    INSERT INTO oncedrop.message (identity, digest, lock_key, message_id, sender, "from", subject, size, in_reply_to,
                                  received_at)
    SELECT sha256(convert_to('i' || n, 'UTF8')), sha256(convert_to('d' || n, 'UTF8')), n * 7919::bigint,
           'bulk.' || n || '@test.example', 'lisa@elsewhere.example', 'lisa@elsewhere.example', 'Number ' || n,
           1000 + n %% 5000,
           CASE WHEN n %% 5 = 0 THEN 'bulk.' || n - 1 || '@test.example' END,
           now() - (%(rows)s - n) * %(step)s * interval '1 second'
      FROM generate_series(1, %(rows)s) AS n;
    INSERT INTO oncedrop.address (message, role, position, address)
    SELECT id, 'from', 1, 'lisa@elsewhere.example' FROM oncedrop.message;
    INSERT INTO oncedrop.part (message, path, type, size, sha256, text)
    SELECT id, '1', 'text/plain', 6, digest, 'Number ' || id FROM oncedrop.message;
    INSERT INTO oncedrop.raw (message, chunk, data) SELECT id, 0, digest FROM oncedrop.message WHERE id %% 5000 <> 0;
    INSERT INTO oncedrop.delivery (message, recipient, account, mailbox, queue_id, host, outcome, first_at, last_at,
                                   finished_at, complete)
    SELECT id, 'user' || id %% 1000 || '@example.org', 'user' || id %% 1000 || '@example.org', 'INBOX', 'Q' || id,
           'host', 'stored', received_at, received_at, CASE WHEN id %% 5000 <> 0 THEN received_at END, true
      FROM oncedrop.message;
    INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid, first_at,
                               claimed_at, stored_at, uidvalidity, uid)
    SELECT message, account, mailbox, 'inbox',
           CASE WHEN id %% 5000 = 0 THEN 'pending' WHEN id %% 7777 = 0 THEN 'failed' ELSE 'stored' END,
           1, id, 'host', 1, first_at, first_at, first_at, 1, id FROM oncedrop.delivery;
    INSERT INTO oncedrop.attempt (delivery, claim, started_at, ended_at, queue_id, host, pid, outcome, read_ms, lock_ms,
                              database_ms, imap_ms)
    SELECT id, 1, first_at, first_at, queue_id, host, 1, outcome, 1, 1, 1, 1 FROM oncedrop.delivery;
"""

# The same in a file: its moments are microseconds.
FILL_SQLITE = """
    CREATE TEMPORARY TABLE number AS WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :rows)
    SELECT n, CAST(:now - (:rows - n) * :step AS INTEGER) AS at FROM numbers;
    INSERT INTO oncedrop.message (id, identity, digest, lock_key, message_id, sender, "from", subject, size, in_reply_to,
                                  received_at)
    SELECT n, sha256('i' || n), sha256('d' || n), n * 7919, 'bulk.' || n || '@test.example', 'lisa@elsewhere.example',
           'lisa@elsewhere.example', 'Number ' || n, 1000 + n % 5000,
           CASE WHEN n % 5 = 0 THEN 'bulk.' || (n - 1) || '@test.example' END, at FROM number;
    INSERT INTO oncedrop.address (message, role, position, address) SELECT n, 'from', 1, 'lisa@elsewhere.example' FROM number;
    INSERT INTO oncedrop.part (message, path, type, size, sha256, text)
    SELECT n, '1', 'text/plain', 6, sha256('d' || n), 'Number ' || n FROM number;
    INSERT INTO oncedrop.raw (message, chunk, data) SELECT n, 0, sha256('d' || n) FROM number WHERE n % 5000 <> 0;
    INSERT INTO oncedrop.delivery (id, message, recipient, account, mailbox, queue_id, host, outcome, first_at, last_at,
                                   finished_at, complete)
    SELECT n, n, 'user' || n % 1000 || '@example.org', 'user' || n % 1000 || '@example.org', 'INBOX', 'Q' || n, 'host',
           'stored', at, at, CASE WHEN n % 5000 <> 0 THEN at END, 1 FROM number;
    INSERT INTO oncedrop.copy (id, message, account, mailbox, role, state, claim, claimed_by, host, pid, first_at, claimed_at,
                               stored_at, uidvalidity, uid)
    SELECT n, n, 'user' || n % 1000 || '@example.org', 'INBOX', 'inbox',
           CASE WHEN n % 5000 = 0 THEN 'pending' WHEN n % 7777 = 0 THEN 'failed' ELSE 'stored' END, 1, n, 'host', 1, at, at, at,
           1, n FROM number;
    INSERT INTO oncedrop.attempt (delivery, claim, started_at, ended_at, queue_id, host, pid, outcome, read_ms, lock_ms,
                              database_ms, imap_ms)
    SELECT n, 1, at, at, 'Q' || n, 'host', 1, 'stored', 1, 1, 1, 1 FROM number;
    DROP TABLE number
"""

# The same in MariaDB, whose engine SEQUENCE has the numbers as tables.
FILL_MARIADB = """
    INSERT INTO oncedrop.message (id, identity, digest, lock_key, message_id, sender, "from", subject, size, in_reply_to,
                                  "references", received_at)
    SELECT seq, unhex(sha2(concat('i', seq), 256)), unhex(sha2(concat('d', seq), 256)), seq * 7919,
           concat('bulk.', seq, '@test.example'), 'lisa@elsewhere.example', 'lisa@elsewhere.example', concat('Number ', seq),
           1000 + seq %% 5000, CASE WHEN seq %% 5 = 0 THEN concat('bulk.', seq - 1, '@test.example') END, '[]',
           %(now)s - INTERVAL (%(rows)s - seq) * %(step)s MICROSECOND FROM seq_1_to_ROWS;
    INSERT INTO oncedrop.address (message, role, "position", address)
    SELECT seq, 'from', 1, 'lisa@elsewhere.example' FROM seq_1_to_ROWS;
    INSERT INTO oncedrop.part (message, path, type, size, sha256, text)
    SELECT id, '1', 'text/plain', 6, digest, concat('Number ', id) FROM oncedrop.message;
    INSERT INTO oncedrop.raw (message, chunk, data) SELECT id, 0, digest FROM oncedrop.message WHERE id %% 5000 <> 0;
    INSERT INTO oncedrop.delivery (id, message, recipient, account, mailbox, queue_id, host, outcome, first_at, last_at,
                                   finished_at, complete)
    SELECT id, id, concat('user', id %% 1000, '@example.org'), concat('user', id %% 1000, '@example.org'), 'INBOX',
           concat('Q', id), 'host', 'stored', received_at, received_at, CASE WHEN id %% 5000 <> 0 THEN received_at END, TRUE
      FROM oncedrop.message;
    INSERT INTO oncedrop.copy (id, message, account, mailbox, role, state, claim, claimed_by, host, pid, first_at, claimed_at,
                               stored_at, uidvalidity, uid)
    SELECT id, id, account, mailbox, 'inbox',
           CASE WHEN id %% 5000 = 0 THEN 'pending' WHEN id %% 7777 = 0 THEN 'failed' ELSE 'stored' END, 1, id, 'host', 1,
           first_at, first_at, first_at, 1, id FROM oncedrop.delivery;
    INSERT INTO oncedrop.attempt (delivery, claim, started_at, ended_at, queue_id, host, pid, outcome, read_ms, lock_ms,
                              database_ms, imap_ms)
    SELECT id, 1, first_at, first_at, queue_id, host, 1, outcome, 1, 1, 1, 1 FROM oncedrop.delivery;
    ANALYZE TABLE oncedrop.message, oncedrop.delivery, oncedrop.copy, oncedrop.attempt
"""


def fill(cursor, rows, days):
    """Records this many messages, evenly over the last days, for 1,000 accounts."""
    cursor.execute(FILL, {"rows": rows, "step": days * 86400 / rows})


class Ledgers:
    def __init__(self, postgres, template):
        self.postgres = postgres
        self.template = template
        self.spare = []
        self.fingerprint = None

    def take(self):
        """The name of a database like the template, which no other test uses or has used."""
        if not self.spare:
            return self.postgres.create_database(lab_module.OWNER, self.template)
        old, new = self.spare.pop(), self.postgres.new_name()
        with self.postgres.session("postgres") as session, session.cursor() as cursor:
            self.end_sessions(cursor, old)
            cursor.execute(f"ALTER DATABASE {old} RENAME TO {new}")
        return new

    def give_back(self, name):
        if self.empty(name):
            self.spare.append(name)
        else:
            self.postgres.drop_database(name)

    @staticmethod
    def end_sessions(cursor, name):
        def none_left():
            cursor.execute(f"SELECT pg_terminate_backend(pid) {OTHERS}", (name,))
            return cursor.rowcount == 0

        process.wait_until(none_left, f"nobody is connected to {name}")

    def empty(self, name):
        """Removes the rows; False if that would not restore the original state."""
        with self.postgres.session(name) as session, session.cursor() as cursor:
            self.end_sessions(cursor, name)
            if self.fingerprint is None:
                self.fingerprint = self.fingerprint_of(self.template)
            same = self.ask(cursor, FINGERPRINT) == self.fingerprint and self.ask(cursor, SIZE) <= LARGE
            if same:
                cursor.execute(EMPTY)
        self.postgres.forget(name)
        return same

    def fingerprint_of(self, database):
        with self.postgres.session(database) as session, session.cursor() as cursor:
            return self.ask(cursor, FINGERPRINT)

    @staticmethod
    def ask(cursor, query):
        cursor.execute(query)
        return cursor.fetchone()[0]
