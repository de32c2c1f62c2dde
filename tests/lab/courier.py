# SPDX-License-Identifier: ISC
"""A private Courier: IMAP with STARTTLS and IMAP over TLS on 127.0.0.1, accounts in a file, one password for them all.

Its settings are Debian's, those of conf/courier, and what makes it private. The places of its files are fixed, as is
its user, so private_paths.c leads it to others. Root runs the accounts as another user, as Courier does itself."""

import os
import secrets
import shutil
import subprocess

from . import imap_server, process
from .unpacked import Unpacked, REPOSITORY

PROGRAMS = Unpacked("courier")
SAMPLES = os.path.join(REPOSITORY, "conf", "courier")

IMAPD_SSL = """
TLS_CERTFILE={directory}/certificate.pem
TLS_CACHEFILE=
TLS_TRUSTCERTS=
COURIERTLS={couriertls}
IMAPDSTARTTLS=YES
IMAP_TLS_REQUIRED=0
IMAP_ENHANCEDIDLE=0
"""

# One process for each port, in its own group, and the one that knows the accounts; they end together, and with us.
START = """
trap 'kill $(jobs -p); wait' EXIT
trap exit HUP INT TERM
set -a
. {directory}/etc/authdaemonrc
. {directory}/etc/imapd
. {directory}/etc/imapd-ssl
run='setpriv --pdeathsig TERM'
$run {authdaemond} &
umask $IMAP_UMASK
IMAP_STARTTLS=$IMAPDSTARTTLS
tcpd="{tcpd} -address=127.0.0.1 -maxprocs=$MAXDAEMONS -maxperip=$MAXPERIP $TCPDOPTS"
$run $tcpd {port} {login} {imapd} $MAILDIRPATH &
IMAP_TLS=1
$run $tcpd {tls_port} {couriertls} -server -tcpd {login} {imapd} $MAILDIRPATH &
wait -n
"""


def missing():
    """Why it cannot be started here, or None."""
    return PROGRAMS.missing()


def text_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def sample(name):
    return text_of(os.path.join(SAMPLES, name))


class Courier(imap_server.ImapServer):
    name = "courier"
    title = "Courier"
    prefix = "INBOX."
    special_use = False

    def __init__(self, directory, certificate, more=""):
        """certificate: (certificate, key) files; more: lines for etc/imapd."""
        super().__init__(directory)
        PROGRAMS.be_reachable(os.path.dirname(self.directory))
        self.more = more
        self.user = process.account_for("nobody")
        self.password = secrets.token_urlsafe()
        os.chmod(self.directory, 0o755)
        for name in ("etc", "run", "run/authdaemon", "mail"):
            os.mkdir(self.path(name), 0o755)
        os.chown(self.path("mail"), self.user.pw_uid, self.user.pw_gid)
        self.write("certificate.pem", "".join(map(text_of, certificate)), 0o600)
        os.chown(self.path("certificate.pem"), self.user.pw_uid, self.user.pw_gid)
        self.write("etc/userdb", "", 0o600)
        self.write("etc/oncedrop-password", self.password + "\n", 0o600)
        shutil.copy(os.path.join(SAMPLES, "authProg"), self.path("etc"))
        self.paths = self.path("private_paths.so")
        subprocess.run([process.find_program("cc"), "-D_GNU_SOURCE", "-O", "-shared", "-fPIC", "-o", self.paths,
                        os.path.join(os.path.dirname(__file__), "private_paths.c")], check=True)

    def environment(self):
        return PROGRAMS.environment(LD_PRELOAD=self.paths, PRIVATE_USER=self.user.pw_name, PRIVATE_PATHS=(
            f"/etc/courier={self.path('etc')}:/run/courier={self.path('run')}:/var/run/courier={self.path('run')}"))

    def launch(self):
        if self.port is None or "in use" in self.new_log():
            self.port, self.tls_port = process.free_port(), process.free_port()
        values = {name: PROGRAMS.path(path) for name, path in {
            "authdaemond": "/usr/lib/courier/courier-authlib/authdaemond", "tcpd": "/usr/sbin/couriertcpd",
            "couriertls": "/usr/bin/couriertls", "login": "/usr/lib/courier/courier/imaplogin",
            "imapd": "/usr/bin/imapd"}.items()}
        values.update(directory=self.directory, port=self.port, tls_port=self.tls_port)
        for name, more in (("imapd", sample("imapd") + self.more), ("authdaemonrc", sample("authdaemonrc")),
                           ("imapd-ssl", IMAPD_SSL.format(**values))):
            self.write(f"etc/{name}", text_of(PROGRAMS.path(f"/etc/courier/{name}")) + more)
        self.write("start", START.format(**values))
        self.spawn([process.find_program("bash"), self.path("start")], env=self.environment())

    def answers(self):
        return "Courier-IMAP ready" in self.greeting()

    def command(self):
        """Words of imap.command: conf/courier/oncedrop-imapd, with our paths."""
        text = sample("oncedrop-imapd")
        variables = [f"{name}='{value}'" for name, value in self.environment().items()]
        for old, new in (("/etc/courier/imapd", self.path("etc", "imapd")),
                         ("set -a", "\n".join(["set -a", *variables])),
                         ("/usr/bin/imapd", PROGRAMS.path("/usr/bin/imapd")), ("/var/mail/", self.path("mail/"))):
            if old not in text:
                raise ValueError(f"conf/courier/oncedrop-imapd without {old}")
            text = text.replace(old, new)
        self.write("oncedrop-imapd", text, 0o755)
        words = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        return [*(words if os.getuid() == 0 else []), self.path("oncedrop-imapd")]

    def session(self, account):
        return self.login_session(account, self.password)

    def add_account(self, account, quota=None):
        """quota: bytes."""
        home = self.path("mail", account)
        os.mkdir(home, 0o700)
        os.chown(home, self.user.pw_uid, self.user.pw_gid)
        for options in [], *([["-q", f"{quota}S"]] if quota is not None else []):     # one after the other
            subprocess.run([PROGRAMS.path("/usr/bin/maildirmake.courier"), *options, f"{home}/Maildir"],
                           env=self.environment(), check=True, **process.run_as(self.user))
        fields = [f"uid={self.user.pw_uid}", f"gid={self.user.pw_gid}", f"home={home}", f"mail={home}/Maildir"]
        with open(self.path("etc/userdb"), "a", encoding="utf-8") as file:
            file.write(f"{account}\t{'|'.join(fields)}\n")

    def version(self):
        return PROGRAMS.version()
