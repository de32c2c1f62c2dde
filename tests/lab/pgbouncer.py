# SPDX-License-Identifier: ISC
"""A private PgBouncer in transaction pooling mode, in front of a private PostgreSQL."""

import contextlib
import os

import psycopg2

from . import process

CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={upstream}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {directory}/users
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 200
server_login_retry = 1
log_connections = 0
log_disconnections = 0
"""


class PgBouncer(process.Server):
    def __init__(self, directory, postgres, passwords, pool_size=20, name="pgbouncer"):
        """passwords: role → password, for logging in here and to the PostgreSQL behind."""
        self.name = name
        super().__init__(directory)
        self.pool_size = pool_size
        self.user = process.account_for("postgres", "nobody")
        self.postgres = postgres
        self.passwords = passwords
        self.port = None
        os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)

    def launch(self):
        self.port = process.free_port()
        with open(self.path("users"), "w", encoding="ascii") as file:
            file.writelines(f'"{role}" "{password}"\n' for role, password in self.passwords.items())
        with open(self.path("pgbouncer.ini"), "w", encoding="ascii") as file:
            file.write(self.configuration())
        self.spawn([process.find_program("pgbouncer"), self.path("pgbouncer.ini")], **process.run_as(self.user))

    def configuration(self):
        return CONFIGURATION.format(directory=self.directory, port=self.port, upstream=self.postgres.port,
                                    pool_size=self.pool_size)

    def answers(self):
        role, password = next(iter(self.passwords.items()))
        try:
            psycopg2.connect(host="127.0.0.1", port=self.port, dbname="postgres", user=role, password=password,
                             connect_timeout=60).close()
            return True
        except psycopg2.OperationalError:
            return False

    def reaches(self, database, role):
        """Whether a statement of this role reaches PostgreSQL. If one did not, those of the next server_login_retry seconds
        do not, either."""
        try:
            session = psycopg2.connect(host="127.0.0.1", port=self.port, dbname=database, user=role,
                                       password=self.passwords[role], connect_timeout=60)
            with contextlib.closing(session), session.cursor() as cursor:
                cursor.execute("SELECT 1")
            return True
        except psycopg2.Error:
            return False
