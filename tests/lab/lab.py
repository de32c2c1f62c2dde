# SPDX-License-Identifier: ISC
"""What the tests, the demo and oncedrop-lab share: servers started on first use, stopped together. Modules that need more
than Python's own library are imported with the server that needs them."""

import contextlib
import functools
import itertools
import os
import shutil

from . import certificates, dovecot, process

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Where the program and conf/ are: here, or, if this was installed with oncedrop-lab, where they are installed.
BUILT, SAMPLES = os.path.join(REPOSITORY, "build", "oncedrop"), os.path.join(REPOSITORY, "conf")
if not os.path.isdir(SAMPLES):
    BUILT, SAMPLES = "/usr/local/bin/oncedrop", "/usr/local/share/oncedrop"
# Roles: the one that installs the schema, the one that deliveries log in as, and the operator's.
ROLES = OWNER, DELIVERY, OPERATOR = "owner", "mailer", "operator"


def program():
    """The binary under test."""
    return os.path.abspath(os.environ.get("ONCEDROP") or BUILT)


def build():
    """The directory in which it was built, with programs of the tests; program() may be a copy."""
    return os.environ.get("ONCEDROP_BUILD") or os.path.dirname(program())


def example(*name, **values):
    """The text of a file in conf/, with our values in place of the documented ones."""
    with open(os.path.join(SAMPLES, *name), encoding="utf-8") as file:
        text = file.read()
    for documented, ours in values.items():
        assert documented in text, (name, documented)
        text = text.replace(documented, ours)
    return text


def full_program():
    """What it loads for everything but a delivery that it hands over."""
    return program() + "-main.so"


def copy_program(directory, path=None):
    """Copies a program, the one under test if none is given, with what it loads, if it has that. Returns the path of the copy."""
    path = path or program()
    copy = os.path.join(directory, "oncedrop")
    for part in ("", "-main.so", "-tls.so", "-decode.so", "-postgres.so", "-sqlite.so", "-mariadb.so",
                 "-setup", "-setup-files", "-setup-postfix"):
        if os.path.exists(path + part):
            shutil.copy(path + part, copy + part)
            os.chmod(copy + part, 0o755)
    return copy


def is_sanitized():
    """A sanitizer keeps freed memory, so memory sizes mean nothing."""
    with open(program(), "rb") as file:
        return b"__asan_init" in file.read()


def with_users(server):
    """A MariaDB; its administrator has created the lab's users, and the schema's roles, which the owner gives them."""
    for role in ROLES:
        server.create_role(role)
    with contextlib.closing(server.connect(None, OWNER)) as owner, owner.cursor() as cursor:
        for user, role in ((DELIVERY, "oncedrop_delivery"), (OPERATOR, "oncedrop_operator")):
            server.admin(f"CREATE ROLE {role} WITH ADMIN {OWNER}")
            cursor.execute(f"GRANT {role} TO {user}")
            server.admin(f"SET DEFAULT ROLE {role} FOR {user}")
        server.admin(f"CREATE ROLE oncedrop_feed WITH ADMIN {OWNER}")
    return server


class Lab:
    def __init__(self, parent="/tmp", special_sent="Gesendet"):
        """special_sent: see Dovecot."""
        os.umask(0o022)     # as root the servers are other users, and must read what is made for them
        self.directory = process.private_directory(parent)
        self.numbers = itertools.count(1)
        self.servers = []
        self.special_sent = special_sent

    def start(self, server):
        self.servers.append(server)
        return server.start()

    def new_postgres(self):
        from . import postgres
        return postgres.Postgres(self.directory)

    @functools.cached_property
    def postgres(self):
        server = self.start(self.new_postgres())
        server.create_role(OWNER)
        server.admin(f"ALTER ROLE {OWNER} CREATEROLE")
        server.create_role(DELIVERY)
        server.create_role(OPERATOR)
        return server

    @functools.cached_property
    def mariadb(self):
        from . import mariadb
        return with_users(self.start(mariadb.MariaDB(self.directory)))

    @functools.cached_property
    def authority(self):
        return certificates.Authority(self.directory)

    @functools.cached_property
    def certificate(self):
        return self.authority.issue("server")

    @functools.cached_property
    def dovecot(self):
        return self.start(dovecot.Dovecot(self.directory, self.certificate, special_sent=self.special_sent))

    @functools.cached_property
    def cyrus(self):
        """To be asked for only if cyrus.missing() says that nothing is."""
        from . import cyrus
        return self.start(cyrus.Cyrus(self.directory, self.certificate))

    @functools.cached_property
    def courier(self):
        """To be asked for only if courier.missing() says that nothing is."""
        from . import courier
        return self.start(courier.Courier(self.directory, self.certificate))

    @functools.cached_property
    def pgbouncer(self):
        from . import pgbouncer
        users = {role: role for role in ROLES}
        return self.start(pgbouncer.PgBouncer(self.directory, self.postgres, users))

    @functools.cached_property
    def postfix_settings(self):
        """Directory with the settings of a Postfix that knows nothing of oncedrop."""
        return self.postfix_directory("compatibility_level = 3.6\n", "")

    def postfix_directory(self, main, master):
        """A new directory with these main.cf and master.cf."""
        directory = self.new_directory("postfix")
        for name, text in (("main.cf", main), ("master.cf", master)):
            with open(os.path.join(directory, name), "w", encoding="utf-8") as file:
                file.write(text)
        return directory

    def new_directory(self, name, mode=0o700):
        path = os.path.join(self.directory, f"{name}{next(self.numbers)}")
        os.mkdir(path, mode)
        return path

    def logs(self):
        return {server.name: server.log() for server in self.servers}

    def stop(self):
        for server in reversed(self.servers):
            server.stop()
        shutil.rmtree(self.directory, ignore_errors=True)
