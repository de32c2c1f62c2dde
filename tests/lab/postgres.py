# SPDX-License-Identifier: ISC
"""A private PostgreSQL: TCP on 127.0.0.1 with password authentication (SCRAM), and a unix socket."""

import base64
import glob
import hashlib
import hmac
import os
import pwd
import secrets
import select
import signal
import subprocess

import psycopg2

from . import process
from .database_server import DatabaseServer


ROUNDS = 1      # of SCRAM; with PostgreSQL's 4096, deliveries of the tests would spend much of their time on them


def verifier(password):
    """What PostgreSQL stores of a password (RFC 5803), but of fewer rounds; scram_iterations came with PostgreSQL 16."""
    salt = secrets.token_bytes(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, ROUNDS)
    client, server = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    encoded = (base64.b64encode(part).decode() for part in (salt, hashlib.sha256(client).digest(), server))
    return "SCRAM-SHA-256${}:{}${}:{}".format(ROUNDS, *encoded)


class Postgres(DatabaseServer):
    name = "postgres"
    errors = (psycopg2.Error,)
    stop_signal = signal.SIGINT     # fast shutdown
    death_signal = signal.SIGQUIT   # at once; the data is not needed

    def __init__(self, directory):
        super().__init__(directory, process.account_for("postgres", "nobody"))
        self.password = secrets.token_urlsafe()
        self.initdb_options = []

    def program(self, name):
        newest_first = sorted(glob.glob("/usr/lib/postgresql/*/bin"), reverse=True)
        return process.find_program(name, *newest_first)

    def initialise(self):
        password_file = self.path("password")
        with open(password_file, "w", encoding="ascii") as file:
            file.write(self.password)
        os.chown(password_file, self.user.pw_uid, self.user.pw_gid)
        subprocess.run([self.program("initdb"), "-D", self.path("data"), "-U", "admin", "-A", "scram-sha-256",
                        "--pwfile", password_file, "-E", "UTF8", "--locale=C.UTF-8", "--no-sync",
                        *self.initdb_options],
                       check=True, cwd="/", stdout=subprocess.DEVNULL, **process.run_as(self.user))
        # On the unix socket we are the administrator, without the time that SCRAM takes; two users can log in as on Debian.
        self.put_first("pg_hba.conf", "local all,replication admin peer map=tests\nlocal all root,games peer\n")
        self.put_first("pg_ident.conf", f"tests {pwd.getpwuid(os.getuid()).pw_name} admin\n")

    def let_pooler_in(self, login):
        """The lines that conf/pgbouncer asks for: who may be this role, by the unix socket."""
        self.put_first("pg_hba.conf", f"local all {login} peer map=pooled\n")
        self.put_first("pg_ident.conf", f"pooled {login} {login}\npooled {self.user.pw_name} {login}\n")

    def put_first(self, name, line):
        with open(self.path("data", name), "r+", encoding="utf-8") as file:
            text = file.read()
            file.seek(0)
            file.write(line + text)

    def launch(self):
        if not os.path.exists(self.path("data")):
            self.initialise()
            self.port = None
        if self.port is None or "in use" in self.new_log():
            self.port = process.free_port()
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.directory,
            "max_connections": 150,
            "shared_buffers": "32MB",
            "fsync": "off",     # these rows must survive the processes, but not the machine
            "log_line_prefix": "%m [%p] %u@%d ",
            "log_lock_waits": "on",
            "timezone": "UTC",
            **self.settings,
        }
        self.spawn([self.program("postgres"), "-D", self.path("data"),
                    *[f"--{name}={value}" for name, value in settings.items()]], **process.run_as(self.user))

    def answers(self):
        try:
            self.connect("postgres").close()
            return True
        except psycopg2.OperationalError:
            return False

    def connect(self, database, user="admin", password=None):
        """A session in autocommit mode."""
        host = self.directory if user == "admin" else "127.0.0.1"
        session = psycopg2.connect(host=host, port=self.port, dbname=database, user=user, password=password,
                                   connect_timeout=60)
        session.autocommit = True
        return session

    def still_exists(self, session):
        return not session.closed and not select.select([session], [], [], 0)[0]

    def admin(self, statement, parameters=None, database="postgres"):
        with self.session(database) as session, session.cursor() as cursor:
            cursor.execute(statement, parameters)

    def as_admin(self):
        """A shell prefix that runs PostgreSQL's programs as the administrator."""
        return f"-h {self.directory} -p {self.port} -U admin"

    def create_role(self, name, rounds_as_usual=False):
        """Creates a role that may only log in; its password is its name."""
        self.admin(f"CREATE ROLE {name} LOGIN PASSWORD %s", (name if rounds_as_usual else verifier(name),))

    def grant(self, role, user):
        self.admin(f"GRANT {role} TO {user}")

    def create_database(self, owner, template="template0"):
        name = self.new_name()
        self.forget(template)
        self.admin(f"CREATE DATABASE {name} OWNER {owner} TEMPLATE {template}")
        return name

    def drop_database(self, name):
        self.forget(name)
        self.admin(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def conninfo(self, database, user, password=None, port=None):
        return (f"host=127.0.0.1 port={port or self.port} dbname={database} user={user} "
                f"password={password or user} sslmode=disable")
