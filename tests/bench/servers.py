# SPDX-License-Identifier: ISC
"""The private servers of the benchmark: the lab's, with both commits synchronous, and tuned as conf/ recommends."""

import contextlib
import functools
import hashlib
import os
import re
import subprocess

import machine
import measure
from lab import dovecot, dovecot_config, lab as lab_module, ledger, ledger_mariadb, ledgers, mariadb, one_login, \
    pgbouncer_sample, postgres, process

# What conf/postgresql and conf/dovecot recommend. UNTUNED=yes leaves all of it out. For Dovecot:
# settings at the top level, then those of services. In 2.4 service_count is called
# restart_request_count, and 0 "unlimited".
TUNED = {
    "postgresql": {"commit_delay": "5000", "commit_siblings": "5", "checkpoint_timeout": "30min",
                   "max_wal_size": "4GB", "wal_compression": "on"},
    "dovecot": {
        "auth_cache_size": "10M",
        "imap-login": {"service_count": "0", "process_min_avail": "2"},
        "imap": {"service_count": "200", "process_min_avail": "2", "process_limit": "12000"},
        "lmtp": {"process_min_avail": "2"},
    },
}

# Always: what makes a commit and a stored message durable. The lab's other tests do without.
DURABLE = {"postgresql": {"fsync": "on", "shared_buffers": "128MB", "synchronous_commit": "on",
                          "max_connections": "200", "autovacuum_naptime": "10s"},
           "dovecot": {"mail_fsync": "optimized"}}

QUOTA_2_4 = """
mail_plugins {
  quota = no
}
protocol imap {
  mail_plugins {
    quota = no
    imap_quota = no
  }
}
"""
# Both delivery agents look up their users as the one user who owns all mail.
DOVECOT = """
postmaster_address = postmaster@bench.example
hostname = bench.example
service auth {{
  client_limit = 16384
  unix_listener auth-userdb {{
    mode = 0666
  }}
}}
service stats {{
  client_limit = 16384
  unix_listener stats-writer {{
    mode = 0666
  }}
}}
"""
# Where dovecot-lmtpd is installed.
LMTP_2_3 = """
protocols = imap lmtp
lmtp_save_to_detail_mailbox = no
"""
LMTP_2_4 = """
protocols {
  lmtp = yes
}
"""
LMTP = """
service lmtp {{
  unix_listener {directory}/lmtp {{
    mode = 0666
  }}
}}
"""


def settings_in(block, old):
    """The lines of a block of Dovecot's configuration; a dictionary in it is a service."""
    lines = []
    for name, value in block.items():
        if isinstance(value, dict):
            lines += [f"service {name} {{", *settings_in(value, old), "}"]
        elif name == "service_count" and not old:
            lines.append(f"restart_request_count = {'unlimited' if value == '0' else value}")
        else:
            lines.append(f"{name} = {value}")
    return lines


class Dovecot(dovecot.Dovecot):
    tuned = True

    @functools.cached_property
    def has_lmtp(self):
        return measure.agents_path("lmtp") is not None

    def settings(self):
        tuned = TUNED["dovecot"] if self.tuned else {}
        return {**DURABLE["dovecot"], **{name: value for name, value in tuned.items() if name != "lmtp" or self.has_lmtp}}

    def configuration(self, **values):
        old = dovecot_config.is_old()
        text = super().configuration(**values, many_logins=False)
        if old:     # no quota; what stands later would not count within an earlier block
            text = text.replace("mail_plugins = quota\n", "").replace("mail_plugins = $mail_plugins imap_quota\n", "")
        lmtp = [LMTP_2_3 if old else LMTP_2_4, LMTP.format(directory=self.directory)] if self.has_lmtp else []
        return "\n".join([text, "" if old else QUOTA_2_4, DOVECOT.format(directory=self.directory), *lmtp,
                          *settings_in(self.settings(), old), ""])

    @property
    def lmtp_socket(self):
        return self.path("lmtp")


class OneLogin(Dovecot):
    """Another one for the same mailboxes, where one login opens all of them; so the plugin that this takes costs the others
    nothing."""

    has_lmtp = False

    def __init__(self, directory, certificate, other):
        os.mkdir(directory, 0o711)
        super().__init__(directory, certificate)
        for name in ("mail", "users"):
            os.rmdir(self.path(name))
            os.symlink(other.path(name), self.path(name))

    def configuration(self, **values):
        # As conf/dovecot says, the path itself is faster where it is the same for everybody.
        sample = one_login.sample(self.directory, lookup=False).replace("%%h", self.path("mail") + "/%%u")
        sample = sample.replace("%{owner_home}", self.path("mail") + "/%{owner_user}")
        self.write("oncedrop.acl", f"* user={one_login.USER} lrwsipk\n")
        return super().configuration(**values) + "namespace inbox {\n  separator = /\n}\n" + sample

    def start(self):
        self.write(f"users/{one_login.USER}", f"{one_login.USER}:{self.password}::::::\n")
        return super().start()


class Postgres(postgres.Postgres):
    def __init__(self, directory, client, tuned):
        super().__init__(directory)
        self.client = client
        self.settings = {**DURABLE["postgresql"], **(TUNED["postgresql"] if tuned else {})}

    def initialise(self):
        super().initialise()
        # As on a real site deliveries come by the unix socket, and so does PgBouncer.
        self.let_pooler_in(self.client)


class MariaDB(mariadb.MariaDB):
    options = []        # it waits for the disk


class Servers(lab_module.Lab):
    """All of it, started when first used. user: who delivers, and owns the mail. apart: the database servers have the last
    processor for themselves, as if on another machine, and everything else the others."""

    def __init__(self, tuned=True, apart=False):
        # On a file system in memory a commit would cost nothing.
        super().__init__("/tmp" if machine.file_system("/tmp") not in ("tmpfs", "ramfs") else "/var/tmp")
        self.tuned, self.apart = tuned, apart
        self.user = process.account_for("nobody")
        self.processors = sorted(os.sched_getaffinity(0))
        if apart:
            os.sched_setaffinity(0, self.processors[:-1])   # and of all that is started

    def start_database(self, server):
        here = os.sched_getaffinity(0)
        if self.apart:
            os.sched_setaffinity(0, self.processors[-1:])
        try:
            return self.start(server)
        finally:
            os.sched_setaffinity(0, here)

    @functools.cached_property
    def postgres(self):
        server = self.start_database(Postgres(self.directory, self.user.pw_name, self.tuned))
        server.create_role(lab_module.OWNER, rounds_as_usual=True)
        server.admin(f"ALTER ROLE {lab_module.OWNER} CREATEROLE")
        server.create_role(f'"{self.user.pw_name}"', rounds_as_usual=True)
        for name in (lab_module.DELIVERY, lab_module.OPERATOR):
            server.create_role(name, rounds_as_usual=True)
        return server

    @functools.cached_property
    def mariadb(self):
        server = MariaDB(self.directory)
        server.settings = {"innodb-buffer-pool-size": "128M"}
        lab_module.with_users(self.start_database(server))
        # As on a real site deliveries come by the unix socket.
        user = f"{self.user.pw_name}@localhost"
        server.admin(f"CREATE USER {user} IDENTIFIED VIA unix_socket")
        with contextlib.closing(server.connect(None, lab_module.OWNER)) as owner, owner.cursor() as cursor:
            cursor.execute(f"GRANT oncedrop_delivery TO {user}")
        server.admin(f"SET DEFAULT ROLE oncedrop_delivery FOR {user}")
        return server

    @functools.cached_property
    def dovecot(self):
        server = Dovecot(self.directory, self.certificate)
        server.tuned = self.tuned
        return self.start(server)

    @functools.cached_property
    def one_login(self):
        server = OneLogin(os.path.join(self.directory, "one"), self.certificate, self.dovecot)
        server.tuned = self.tuned
        return self.start(server)

    @functools.cached_property
    def pgbouncer(self):
        return self.start(pgbouncer_sample.PgBouncer(self.directory, self.postgres, self.user.pw_name))

    def accounts(self, prefix, count):
        """New accounts with empty INBOXes."""
        names = [f"{prefix}{number:04}@bench.example" for number in range(count)]
        for name in names:
            self.dovecot.add_account(name)
        return names

    def maildir(self, account):
        """The account's Maildir, made if it is not there."""
        path = self.dovecot.path("mail", account, "Maildir")
        for name in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(path, name), exist_ok=True)
        for name in (os.path.dirname(path), path, *[os.path.join(path, one) for one in ("cur", "new", "tmp")]):
            os.chown(name, self.user.pw_uid, self.user.pw_gid)
        return path

    def stored(self, accounts):
        """How many messages their INBOXes have."""
        paths = [self.dovecot.path("mail", account, "Maildir", name) for account in accounts for name in ("cur", "new")]
        return sum(len(os.listdir(path)) for path in paths if os.path.isdir(path))

    def stop(self):
        super().stop()
        assert not os.path.exists(self.directory), self.directory

    def environment(self):
        return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LC_ALL": "C",
                "MAIL_CONFIG": self.postfix_settings}


def lock_key(message):
    """As oncedrop.conf(5) has it, under lock.namespace."""
    name = re.search(rb"Message-ID: <(.*)>", message)[1]
    return int.from_bytes(hashlib.sha256(b"oncedrop\0" + name).digest()[:8], "big", signed=True)


class Program:
    """A build of oncedrop with its own ledger, in PostgreSQL; name: "oncedrop", or "other" for the older one."""

    is_pooled = True

    def __init__(self, servers, name, path):
        self.servers, self.name = servers, name
        self.directory = servers.new_directory(name)
        os.chmod(self.directory, 0o755)
        self.path = lab_module.copy_program(self.directory, path)   # the delivering user might not reach the original
        self.password = self.write("password", servers.dovecot.password + "\n")
        self.database = None
        self.install()

    def with_new_ledger(self):
        """The same program with another, empty ledger."""
        return Program(self.servers, self.name, self.path)

    def install(self):
        self.database = self.servers.postgres.create_database(lab_module.OWNER)
        owner = self.servers.postgres.conninfo(self.database, lab_module.OWNER)
        done = subprocess.run([self.path, "-c", self.configuration("owner", **{"database.conninfo": owner}), "ledger",
                               "install"], env=self.servers.environment(), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"ledger install: {done}")
        self.servers.postgres.admin(f'GRANT oncedrop_delivery TO "{self.servers.user.pw_name}", {lab_module.DELIVERY}')
        self.servers.postgres.admin(f"GRANT oncedrop_operator TO {lab_module.OPERATOR}")

    @functools.cached_property
    def service(self):
        """`oncedrop serve`; None if this program is too old for it."""
        done = subprocess.run([self.path, "help", "serve"], capture_output=True, env=self.servers.environment(), check=False)
        return self.servers.start(Service(self)) if done.returncode == 0 else None

    def keeping(self):
        """A new service that keeps a session for each of many accounts; its caller stops it."""
        return self.servers.start(Service(self, "keeping", **{"imap.sessions": 1000, "imap.idle_timeout": "15m"}))

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(text)
        os.chown(path, self.servers.user.pw_uid, self.servers.user.pw_gid)
        return path

    def conninfo(self, pooler=None):
        """By the unix socket, to the server itself or to this PgBouncer."""
        if pooler:
            return pooler.conninfo(self.database)
        server = self.servers.postgres
        return f"host={server.directory} port={server.port} dbname={self.database} user={self.servers.user.pw_name}"

    def configuration(self, name="oncedrop", **settings):
        """Writes a configuration as README sets it up: IMAP without TLS on this host; returns its path."""
        dovecot_server = self.servers.dovecot
        settings = {"database.conninfo": self.conninfo(), "imap.host": "127.0.0.1", "imap.port": dovecot_server.port,
                    "imap.tls": "none", "imap.master_user": dovecot.MASTER, "imap.password_file": self.password,
                    "route.sent_copy": "off", "lock.wait": "10s", "log.to": "stderr", **settings}
        groups = {}
        for key, value in settings.items():
            group, _, setting = key.partition(".")
            if value is not None:
                groups.setdefault(group, []).append(f"{setting}={value}\n")
        return self.write(f"{name}.conf", "".join(f"[{group}]\n{''.join(lines)}" for group, lines in groups.items()))

    def one_login(self):
        """The settings for servers.one_login."""
        server = self.servers.one_login
        return {**one_login.SETTINGS, "imap.port": server.port,
                "imap.password_file": self.write("one-login", server.password + "\n")}

    def operator(self):
        """The configuration of an operator who runs `stats`."""
        return self.configuration("operator", **{"database.conninfo": self.servers.postgres.conninfo(
            self.database, lab_module.OPERATOR)})

    def words(self, *arguments, configuration=None):
        return [self.path, "-c", configuration or self.configuration(), *arguments]

    @contextlib.contextmanager
    def held(self, message):
        """Another process delivers this message."""
        session = self.servers.postgres.connect(self.database)
        session.autocommit = False
        with session.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", (lock_key(message),))
            measure.must(cursor.fetchone()[0], "the lock is held already")
        try:
            yield
        finally:
            session.close()

    def fill(self, rows, days, dead):
        """Records this many messages of these days, analysed, and then for each this many dead rows that no vacuum has removed
        yet."""
        session = self.servers.postgres.connect(self.database)
        with session.cursor() as cursor:
            cursor.execute("ALTER TABLE oncedrop.delivery SET (autovacuum_enabled = off);"
                           "ALTER TABLE oncedrop.copy SET (autovacuum_enabled = off)")
            ledgers.fill(cursor, rows, days)
            cursor.execute("VACUUM ANALYZE")
            for table in ("delivery", "copy"):
                cursor.execute(f"UPDATE oncedrop.{table} SET first_at = first_at WHERE id %% 10 < %s", (dead * 10,))
            cursor.execute("CHECKPOINT")
        session.close()

    def sql(self, query, parameters=None):
        session = self.servers.postgres.connect(self.database)
        try:
            with session.cursor() as cursor:
                cursor.execute(query, parameters)
                return cursor.fetchall() if cursor.description else []
        finally:
            session.close()


class FileProgram(Program):
    """One whose ledger is a file of the delivering user's."""

    is_pooled = False

    def with_new_ledger(self):
        return FileProgram(self.servers, self.name, self.path)

    def install(self):
        directory = self.servers.new_directory("ledger")
        os.chown(directory, self.servers.user.pw_uid, self.servers.user.pw_gid)
        self.database = os.path.join(directory, "ledger.db")
        subprocess.run(self.words("ledger", "install"), env=self.servers.environment(), check=True, cwd="/",
                       stdout=subprocess.DEVNULL, **process.run_as(self.servers.user))

    def conninfo(self, pooler=None):
        return f"sqlite:{self.database}"

    def configuration(self, name="oncedrop", **settings):
        return super().configuration(name, **{"service.user": "", **settings})

    def operator(self):
        return self.configuration()

    @functools.cached_property
    def ledger(self):
        return ledger.SqliteLedger(self.database)

    def held(self, message):
        return self.ledger.held(lock_key(message))

    def fill(self, rows, days, dead):
        self.ledger.fill(rows, days)
        self.ledger.give_to(self.servers.user)


class MariaProgram(Program):
    """One whose ledger is in MariaDB."""

    is_pooled = False

    def with_new_ledger(self):
        return MariaProgram(self.servers, self.name, self.path)

    def install(self):
        server = self.servers.mariadb
        self.database = server.create_database(lab_module.OWNER)
        owner = self.configuration("owner", **{"database.conninfo": server.conninfo(self.database, lab_module.OWNER)})
        subprocess.run([self.path, "-c", owner, "ledger", "install"], env=self.servers.environment(), check=True,
                       stdout=subprocess.DEVNULL)

    def conninfo(self, pooler=None):
        server = self.servers.mariadb
        return f"mariadb://{self.servers.user.pw_name}@localhost/{self.database}?socket={server.socket}"

    def operator(self):
        conninfo = self.servers.mariadb.conninfo(self.database, lab_module.OPERATOR)
        return self.configuration("operator", **{"database.conninfo": conninfo})

    @functools.cached_property
    def ledger(self):
        return ledger_mariadb.MariaLedger(self.servers.mariadb, self.database)

    @contextlib.contextmanager
    def held(self, message):
        session = self.ledger.connect()
        try:
            session.cursor().execute("SELECT get_lock(%s, 0)", (self.ledger.lock_name(lock_key(message)),))
            yield
        finally:
            session.close()

    def fill(self, rows, days, dead):
        self.ledger.fill(rows, days)

    def sql(self, query, parameters=None):
        return self.ledger.sql(query, parameters)


class Service(process.Server):
    """`oncedrop serve` of a program, as the user who delivers."""

    def __init__(self, program, name="service", **settings):
        self.name = name
        super().__init__(program.directory)
        self.user, self.environment = program.servers.user, program.servers.environment()
        os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.socket = self.path("lmtp")
        self.words = program.words("serve", configuration=program.configuration(name, **{
            "service.user": "", "service.socket": self.socket, "route.sent_copy": "authenticated", **settings}))

    def launch(self):
        self.spawn(self.words, env=self.environment, **process.run_as(self.user))

    def answers(self):
        return process.is_listening(self.socket)
