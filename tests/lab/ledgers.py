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
    DELETE FROM oncedrop.server;
    DELETE FROM oncedrop.event;
    DELETE FROM oncedrop.total;
    SELECT setval(oid::regclass, 1, false) FROM pg_class WHERE relkind = 'S' AND relnamespace = 'oncedrop'::regnamespace;
"""


class Ledgers:
    def __init__(self, postgres, template):
        self.postgres = postgres
        self.template = template
        self.spare = []
        self.fingerprint = None

    def take(self):
        """The name of a database like the template, which nobody else uses or has used."""
        if not self.spare:
            return self.postgres.create_database(lab_module.OWNER, self.template)
        old, new = self.spare.pop(), self.postgres.new_name()
        session = self.postgres.connect("postgres")
        try:
            with session.cursor() as cursor:
                self.end_sessions(cursor, old)
                cursor.execute(f"ALTER DATABASE {old} RENAME TO {new}")
        finally:
            session.close()
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
        session = self.postgres.connect(name)
        try:
            with session.cursor() as cursor:
                self.end_sessions(cursor, name)
                if self.fingerprint is None:
                    self.fingerprint = self.fingerprint_of(self.template)
                if self.ask(cursor, FINGERPRINT) != self.fingerprint or self.ask(cursor, SIZE) > LARGE:
                    return False
                cursor.execute(EMPTY)
                return True
        finally:
            session.close()

    def fingerprint_of(self, database):
        session = self.postgres.connect(database)
        try:
            with session.cursor() as cursor:
                return self.ask(cursor, FINGERPRINT)
        finally:
            session.close()

    @staticmethod
    def ask(cursor, query):
        cursor.execute(query)
        return cursor.fetchone()[0]
