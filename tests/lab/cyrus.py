# SPDX-License-Identifier: ISC
"""A private Cyrus: IMAP with STARTTLS and IMAP over TLS on 127.0.0.1, passwords in a SASL database, a proxy user.

Its settings are those of conf/cyrus, and what makes it private. Root runs it as another user, as Cyrus does itself."""

import contextlib
import os
import secrets
import shutil
import subprocess

from . import imap_server, process
from .unpacked import Unpacked, REPOSITORY

PROXY, ADMIN = "oncedrop", "manager"
PROGRAMS = Unpacked("cyrus")

# skiplist_unsafe: without fsync.
IMAPD_CONF = """
configdirectory: {directory}/lib
partition-default: {directory}/spool
defaultpartition: default
sievedir: {directory}/sieve
proc_path: {directory}/lib/proc
mboxname_lockpath: {directory}/lib/lock
servername: {name}
defaultdomain: {name}
admins: {admin}
allowplaintext: yes
allowstarttls: yes
sasl_pwcheck_method: auxprop
sasl_auxprop_plugin: sasldb
sasl_sasldb_path: {directory}/passwords
sasl_mech_list: PLAIN
tls_server_cert: {directory}/certificate.pem
tls_server_key: {directory}/certificate.key
skiplist_unsafe: yes
maxlogins_per_user: 0
duplicatesuppression: no
"""

CYRUS_CONF = """
START {{
  recover cmd="{programs}/ctl_cyrusdb -C {directory}/imapd.conf -r"
}}
SERVICES {{
  imap cmd="{programs}/imapd -C {directory}/imapd.conf" listen="127.0.0.1:{port}" prefork=1
  imaps cmd="{programs}/imapd -s -C {directory}/imapd.conf" listen="127.0.0.1:{tls_port}" prefork=0
}}
EVENTS {{
}}
"""


def missing():
    """Why it cannot be started here, or None."""
    return PROGRAMS.missing()


class Cyrus(imap_server.ImapServer):
    name = "cyrus"
    title = "Cyrus"
    accepts_strangers = True
    master_user = PROXY

    def __init__(self, directory, certificate, munge8bit="no", more=""):
        """certificate: (certificate, key) files; munge8bit: that setting; more: lines for imapd.conf."""
        super().__init__(directory)
        PROGRAMS.be_reachable(os.path.dirname(self.directory))
        self.munge8bit, self.more = munge8bit, more
        self.user = process.account_for("nobody")
        self.password = secrets.token_urlsafe()
        self.host_name = f"cyrus-{secrets.token_hex(4)}.example"
        os.chmod(self.directory, 0o755)
        for source, name in zip(certificate, ("certificate.pem", "certificate.key")):
            shutil.copy(source, self.path(name))
        for name in ("lib", "spool", "sieve", "lib/db", "lib/socket", "lib/proc", "lib/lock"):
            os.mkdir(self.path(name), 0o755)
        for user in (PROXY, ADMIN):
            subprocess.run([PROGRAMS.path("/usr/sbin/saslpasswd2"), "-p", "-c", "-f", self.path("passwords"),
                            "-u", self.host_name, user],
                           input=self.password.encode(), env=PROGRAMS.environment(), check=True)
        self.give_away()

    def give_away(self):
        if os.getuid() == 0:
            for place, _, files in os.walk(self.directory):
                for path in (place, *(os.path.join(place, name) for name in files)):
                    os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def launch(self):
        if self.port is None or self.process is None:
            self.port, self.tls_port = process.free_port(), process.free_port()
        programs = os.path.dirname(PROGRAMS.path("/usr/lib/cyrus/bin/master"))
        values = {"directory": self.directory, "programs": programs, "port": self.port, "tls_port": self.tls_port,
                  "name": self.host_name, "admin": ADMIN}
        with open(os.path.join(REPOSITORY, "conf", "cyrus", "imapd.conf"), encoding="utf-8") as file:
            sample = file.read().replace("munge8bit: no", f"munge8bit: {self.munge8bit}")
        self.write("imapd.conf", sample + IMAPD_CONF.format(**values) + self.more)
        self.write("cyrus.conf", CYRUS_CONF.format(**values))
        self.spawn([os.path.join(programs, "master"), "-D", "-C", self.path("imapd.conf"),
                    "-M", self.path("cyrus.conf"), "-p", self.path("master.pid")],
                   env=PROGRAMS.environment(CYRUS_USER=self.user.pw_name))

    def answers(self):
        # The port may belong to another process: the greeting has our name.
        return self.host_name in self.greeting()

    def session(self, account, user=PROXY):
        return self.plain_session(account, user, self.password)

    @contextlib.contextmanager
    def administration(self):
        session = self.session("", ADMIN)
        try:
            yield session
        finally:
            session.logout()

    def add_account(self, account, quota=None):
        """quota: bytes, rounded up to KiB."""
        mailbox = imap_server.quoted(f"user/{account}")
        with self.administration() as session:
            imap_server.must(session.create(mailbox))
            if quota is not None:
                imap_server.must(session.setquota(mailbox, f"(STORAGE {-(-quota // 1024)})"))

    def create_sent(self, account, name):
        with self.session(account) as session:
            imap_server.must(session.xatom("CREATE", imap_server.quoted(name), r"(USE (\Sent))"))

    def version(self):
        return PROGRAMS.version()
