# SPDX-License-Identifier: ISC
"""A private MariaDB: TCP on 127.0.0.1 and a unix socket, with passwords."""

import os
import secrets
import select
import signal
import subprocess

import pymysql

from . import process
from .database_server import DatabaseServer

# fsync(2) does nothing, as in lab/postgres.py: what is committed must survive the processes, but not the machine. The
# program sees the setting of a durable server, without which it delivers nothing.
UNSYNCED = ["--debug-no-sync", "--innodb-flush-method=nosync"]
SMALL = ["--innodb-log-file-size=8M"]
# Of the test's own sessions: as the program's are (sql_mode = ANSI), so that names can stand in double quotes.
SESSION = "SET SESSION sql_mode = 'ANSI,STRICT_ALL_TABLES', time_zone = '+00:00', tx_isolation = 'READ-COMMITTED'"


class MariaDB(DatabaseServer):
    name = "mariadb"
    errors = (pymysql.Error,)
    death_signal = signal.SIGKILL   # at once; the data is not needed
    options = [*UNSYNCED, *SMALL]

    def __init__(self, directory):
        super().__init__(directory, process.account_for("mysql", "nobody"))
        self.template = os.path.join(directory, "mariadb-template")
        self.password = secrets.token_hex()

    @property
    def socket(self):
        return self.path("socket")

    def make_template(self):
        """A data directory with nothing but the system's tables, which all servers of this lab begin with: to make it takes
        seconds. No user can log in."""
        making = self.template + ".new"
        os.mkdir(making, 0o700)
        os.chown(making, self.user.pw_uid, self.user.pw_gid)
        # As root it changes to the user itself, after it has made directories that are root's.
        subprocess.run([process.find_program("mariadb-install-db"), "--no-defaults", f"--datadir={making}", "--skip-test-db",
                        "--skip-name-resolve", f"--auth-root-socket-user={self.user.pw_name}", f"--tmpdir={making}",
                        *UNSYNCED, *SMALL],
                       check=True, cwd="/", stdout=subprocess.DEVNULL, **process.run_as(self.user))
        os.rename(making, self.template)

    def initialise(self):
        if not os.path.exists(self.template):
            self.make_template()
        subprocess.run(["cp", "-a", self.template, self.path("data")], check=True)
        os.mkdir(self.path("tmp"), 0o700)
        os.chown(self.path("tmp"), self.user.pw_uid, self.user.pw_gid)
        with open(self.path("init.sql"), "w", encoding="ascii") as file:
            os.fchmod(file.fileno(), 0o600)
            os.fchown(file.fileno(), self.user.pw_uid, self.user.pw_gid)
            file.write(f"CREATE USER IF NOT EXISTS admin@localhost IDENTIFIED BY '{self.password}';\n"
                       "GRANT ALL ON *.* TO admin@localhost WITH GRANT OPTION;\n")

    def launch(self):
        if not os.path.exists(self.path("data")):
            self.initialise()
            self.port = None
        if self.port is None or "in use" in self.new_log():
            self.port = process.free_port()
        self.spawn(self.command(), **process.run_as(self.user))

    def command(self):
        settings = {
            "bind-address": "127.0.0.1",
            "port": self.port,
            "socket": self.socket,
            "tmpdir": self.path("tmp"),     # a server that starts deletes any temporary tables in it
            "pid-file": self.path("pid"),
            "init-file": self.path("init.sql"),
            "max-connections": 150,
            "innodb-buffer-pool-size": "32M",
            "innodb-buffer-pool-load-at-startup": "OFF",
            "innodb-buffer-pool-dump-at-shutdown": "OFF",
            "default-time-zone": "+00:00",
            **self.settings,
        }
        return [process.find_program("mariadbd"), "--no-defaults", f"--datadir={self.path('data')}", *self.options,
                "--skip-name-resolve", *[f"--{name}={value}" for name, value in settings.items()]]

    def answers(self):
        try:
            self.connect(None).close()
            return True
        except pymysql.OperationalError:
            return False

    def connect(self, database, user="admin", password=None, **options):
        """A session in autocommit mode. options: as its library has them."""
        where = {"unix_socket": self.socket} if user == "admin" else {"host": "127.0.0.1", "port": self.port}
        return pymysql.connect(**where, **options, user=user, password=password or (self.password if user == "admin" else user),
                               database=database, charset="utf8mb4", init_command=SESSION, autocommit=True,
                               connect_timeout=60)

    def still_exists(self, session):
        sock = session._sock    # pylint: disable=protected-access
        return sock is not None and not select.select([sock], [], [], 0)[0]

    def admin(self, statement, parameters=None, database=None):
        with self.session(database) as session, session.cursor() as cursor:
            cursor.execute(statement, parameters)
            return cursor.fetchall()

    def create_role(self, name):
        """Creates a user who may only log in; the password is the name."""
        self.admin(f"CREATE USER {name} IDENTIFIED BY %s", (name,))

    def grant(self, role, user):
        """Nothing: lab.with_users has done it, since it is for the owner to do."""

    def create_database(self, owner):
        """A new database, in which this user may do everything, and give rights to others."""
        name = self.new_name()
        self.admin(f"CREATE DATABASE {name}")
        self.admin(f"GRANT ALL ON {name}.* TO {owner} WITH GRANT OPTION")
        return name

    def drop_database(self, name):
        self.forget(name)
        self.end_sessions(name)
        self.admin(f"DROP DATABASE IF EXISTS {name}")

    def end_sessions(self, database):
        """Ends everybody's sessions there, also those that a name in a pool keeps; returns when none is left."""
        def none_left():
            others = self.admin("SELECT id FROM information_schema.processlist WHERE db = %s AND id <> connection_id()",
                                (database,))
            for number, in others:
                self.kill(number)
            return not others

        process.wait_until(none_left, f"nobody is connected to {database}")

    def kill(self, number):
        """Ends a session; False if it had ended by itself."""
        try:
            self.admin(f"KILL {number}")
        except pymysql.Error as error:
            if error.args[0] != pymysql.constants.ER.NO_SUCH_THREAD:
                raise
            return False
        return True

    def conninfo(self, database, user, password=None, port=None):
        return f"mariadb://{user}:{password or user}@127.0.0.1:{port or self.port}/{database}"
