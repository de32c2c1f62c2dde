# SPDX-License-Identifier: ISC
"""What README takes for granted: Debian's packages as they are when just installed, their services running, and users of
example.org whose mail is in Dovecot. All of this is done in a private copy of a system."""

import os
import subprocess
import tempfile

from lab.dovecot_config import is_old, user_fields

PASSWORD = "in the kitchen"
PEOPLE = ("lisa", "doug")
MAIL_OWNER = "vmail"    # of the mail of users whom Dovecot alone knows
CERTIFICATE, KEY = "/etc/ssl/certs/ssl-cert-snakeoil.pem", "/etc/ssl/private/ssl-cert-snakeoil.key"

SYSTEMCTL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "systemctl")
ANSWERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "postfix.answers")

# Users who have no account on the system. They come before PAM, which takes two seconds to refuse them.
DOVECOT_USERS = ("""
passdb {
  driver = passwd-file
  args = /etc/dovecot/users
}
userdb {
  driver = passwd-file
  args = /etc/dovecot/users
}
""", """
passdb site {
  driver = passwd-file
  passwd_file_path = /etc/dovecot/users
}
userdb site {
  driver = passwd-file
  passwd_file_path = /etc/dovecot/users
}
""")


def run(*arguments, text=""):
    """Runs a command, which must succeed; returns its output. Not through a pipe: daemons keep their output open."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        done = subprocess.run(arguments, input=text, stdout=output, stderr=subprocess.STDOUT, text=True, check=False)
        output.seek(0)
        said = output.read()
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: exit {done.returncode}\n{said}")
    return said


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def exists(*command):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def make_dovecot_new():
    """With the certificate of the package ssl-cert, which Debian's Postfix uses too; images come without it."""
    run("rm", "-rf", "/etc/dovecot")
    os.makedirs("/etc/dovecot/conf.d")
    os.mkdir("/etc/dovecot/private", 0o700)
    run("env", "UCF_FORCE_CONFFMISS=1", "dpkg-reconfigure", "dovecot-core", "dovecot-imapd")
    if not os.path.exists(CERTIFICATE):
        run("make-ssl-cert", "generate-default-snakeoil")
    os.symlink(CERTIFICATE, "/etc/dovecot/private/dovecot.pem")
    os.symlink(KEY, "/etc/dovecot/private/dovecot.key")


def make_postfix_new():
    run("rm", "-rf", "/etc/postfix/main.cf", "/etc/postfix/master.cf", "/etc/aliases", "/etc/mailname")
    run("find", "/var/spool/postfix", "-xdev", "-type", "f", "-delete")
    run("debconf-set-selections", ANSWERS)
    run("dpkg-reconfigure", "postfix")


def make_empty(path):
    """Mounts an empty directory of the same owner and mode there."""
    old = os.stat(path)
    run("mount", "-t", "tmpfs", "tmpfs", path)
    os.chown(path, old.st_uid, old.st_gid)
    os.chmod(path, old.st_mode & 0o7777)


def make_mariadb_new():
    make_empty("/var/lib/mysql")
    run("mariadb-install-db", "--user=mysql", "--skip-test-db")


def make_packages_new(mariadb):
    """The packages as they are when just installed, regardless of changes here, and no trace of oncedrop."""
    for name in ("oncedrop", MAIL_OWNER, *PEOPLE):
        if exists("getent", "passwd", name):
            run("userdel", name)
    run("rm", "-rf", "/etc/oncedrop", "/usr/local/bin/oncedrop", "/usr/local/libexec/oncedrop")
    write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755)
    make_dovecot_new()
    make_postfix_new()
    for path in ("/etc/postgresql", "/var/lib/postgresql", "/var/mail"):
        make_empty(path)
    run("pg_createcluster", max(os.listdir("/usr/lib/postgresql"), key=int), "main")
    if mariadb:
        make_mariadb_new()


def make_virtual_users():
    """Users whom Dovecot alone knows, as lisa@example.org."""
    run("useradd", "--system", "--create-home", "--home-dir", "/srv/vmail", MAIL_OWNER)
    location = user_fields(location="maildir:~/Maildir")
    if not is_old():
        location += " userdb_mail_inbox_path="
    ids = run("id", "-u", MAIL_OWNER).strip() + ":" + run("id", "-g", MAIL_OWNER).strip()
    lines = [f"{name}@example.org:{{PLAIN}}{PASSWORD}:{ids}::/srv/vmail/{name}::{location}\n" for name in PEOPLE]
    write("/etc/dovecot/users", "".join(lines))
    write("/etc/dovecot/conf.d/00-site.conf", DOVECOT_USERS[0 if is_old() else 1])


def make_system_users():
    """Users of the system, whose mail is where Debian's Dovecot has it."""
    for name in PEOPLE:
        run("useradd", "--create-home", "--base-dir", "/srv", name)
        run("chpasswd", text=f"{name}:{PASSWORD}\n")


def prepare(accounts):
    """accounts: "virtual" or "system". Services may be started from then on."""
    write("/etc/hosts", "127.0.0.1 localhost\n127.0.1.1 mail.example.org mail\n::1 localhost\n")
    if accounts == "virtual":
        make_virtual_users()
    else:
        make_system_users()
    write("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 0\n", 0o755)
    if os.path.isdir("/run/systemd/system"):
        return
    os.makedirs("/etc/systemd/system", exist_ok=True)
    run("install", "-m", "755", SYSTEMCTL, "/usr/bin/systemctl")


def start_services(services):
    for service in services:
        if os.path.exists(f"/etc/init.d/{service}") and not exists("service", service, "status"):
            run("service", service, "start")


def follow_demo():
    """Runs what was printed when `make demo` had installed the packages. Of Postfix's questions the first is left with what
    is offered, the others are answered beforehand."""
    with open(ANSWERS, encoding="utf-8") as file:
        run("debconf-set-selections", text="".join(line for line in file if "main_mailer_type" not in line))
    with open("/after-demo", encoding="utf-8") as file:
        commands = file.read().splitlines()
    if not commands:
        raise RuntimeError("`make demo` printed nothing of the services that it left")
    for command in commands:
        print(f"== make demo: {command}", flush=True)
        run("bash", "-c", command)
