# SPDX-License-Identifier: ISC
"""`oncedrop setup` on a directory with the files of a new Debian: what it writes is what the pieces in conf/ say, a second run
finds nothing to do, --undo restores every byte, and if something unknown conflicts, nothing is changed at all.

The same on a system with its services: tests/walkthrough.

Seen to fail with: a piece left out; a setting replaced without asking; a file written before the journal; the stand-in for
an interruption taken away; a restored file that loses later changes; a password that is shown."""

import os
import re
import shutil
import subprocess

import pytest
from lab import lab as lab_module

REPOSITORY = lab_module.REPOSITORY
SCRIPT = os.path.join(REPOSITORY, "src", "setup", "oncedrop-setup")
WAYS = [("lmtp", "system"), ("lmtp", "virtual"), ("pipe", "system"), ("pipe", "virtual"), ("mailbox_command", "system")]
PIECE = {"lmtp": "service"}

# Debian's, for an "Internet Site".
MAIN = """\
# See /usr/share/postfix/main.cf.dist for a commented, more complete version
smtpd_banner = $myhostname ESMTP $mail_name (Debian/GNU)
compatibility_level = 3.6
smtpd_tls_cert_file=/etc/ssl/certs/ssl-cert-snakeoil.pem
smtpd_tls_key_file=/etc/ssl/private/ssl-cert-snakeoil.key
myhostname = mail.example.org
alias_maps = hash:/etc/aliases
mydestination = $myhostname, example.org, mail.example.org, localhost.example.org, localhost
relayhost =
recipient_delimiter = +
"""
MASTER = """\
smtp      inet  n       -       y       -       -       smtpd
local     unix  -       n       n       -       -       local
lmtp      unix  -       -       y       -       -       lmtp
"""
PASSWD = "root:x:0:0::/root:/bin/sh\nlisa:x:1000:1000::/srv/lisa:/bin/sh\ndaemon:x:1:1::/:/usr/sbin/nologin\n"

pytestmark = pytest.mark.skipif(not shutil.which("dovecot", path="/usr/sbin:/usr/bin") or not os.path.exists("/usr/sbin/postconf"),
                                reason="no Dovecot, or no Postfix")


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


class Host:
    """A directory with the files of a host, where oncedrop is installed and nothing is set up."""

    def __init__(self, directory):
        self.root = str(directory)
        self.write("etc/postfix/main.cf", MAIN)
        self.write("etc/postfix/master.cf", MASTER)
        self.write("etc/dovecot/dovecot.conf", "!include conf.d/*.conf\n")
        self.write("etc/aliases", "postmaster:    root\n")
        self.write("etc/passwd", PASSWD)
        self.write("etc/oncedrop/oncedrop.conf.sample", read(REPOSITORY, "conf", "oncedrop.conf"))
        for name in ("postfix", "dovecot", "systemd"):
            shutil.copytree(os.path.join(REPOSITORY, "conf", name), os.path.join(self.root, "usr/local/share/oncedrop", name))

    def write(self, path, text):
        whole = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(whole), exist_ok=True)
        with open(whole, "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, path):
        return read(self.root, path)

    def files(self):
        found = {}
        for directory, _, names in os.walk(os.path.join(self.root, "etc")):
            for name in names:
                path = os.path.relpath(os.path.join(directory, name), self.root)
                found[path] = (self.read(path), os.stat(os.path.join(self.root, path)).st_mode)
        return found

    def run(self, *options, first=""):
        """The script itself, with a directory of stand-ins in front of the system's programs."""
        return subprocess.run([SCRIPT, f"--root={self.root}", *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env={"PATH": f"{first}:/usr/sbin:/usr/bin:/sbin:/bin"}, text=True, check=False)

    def set_up(self, *options, domain="example.org"):
        done = self.run(f"--domain={domain}", "--postmaster=lisa@example.org", *options)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def settings(self):
        text = subprocess.run(["/usr/sbin/postconf", "-c", os.path.join(self.root, "etc/postfix"), "-n"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
        own = dict(re.findall(r"^([\w-]+) = ?(.*)$", self.read("etc/postfix/main.cf"), re.MULTILINE))
        return {**own, **dict(re.findall(r"^([\w-]+) = ?(.*)$", text, re.MULTILINE))}


@pytest.fixture(name="host")
def fixture_host(tmp_path):
    return Host(tmp_path / "host")


def logical(text):
    joined = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in text.splitlines() if line and not line.startswith("#")))
    return [" ".join(line.split()) for line in joined.splitlines()]


def pieces(way, sent):
    names = ["common", PIECE.get(way, way), *(["sent_copies"] if sent else [])]
    main, master = {}, []
    for name in names:
        path = os.path.join(REPOSITORY, "conf", "postfix")
        main.update(line.split(" = ", 1) for line in logical(read(path, f"main.cf.{name}")))
        if os.path.exists(os.path.join(path, f"master.cf.{name}")):
            master += logical(read(path, f"master.cf.{name}"))
    return main, master


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("way,accounts", WAYS)
def test_it_writes_the_pieces_and_takes_them_back(host, way, accounts, sent):
    before = host.files()
    options = [f"--transport={way}", f"--accounts={accounts}", *(["--sent-copies"] if sent else [])]
    host.set_up(*options)
    main, master = pieces(way, sent)
    found = host.settings()
    destination = [name.strip() for name in found["mydestination"].split(",")]
    assert ("example.org" in destination) == (accounts == "system") and "localhost" in destination
    del main["mydestination"]
    if accounts == "system" and "virtual_transport" in main:
        main["mailbox_transport"] = main["virtual_transport"]
        main = {name: value for name, value in main.items() if not name.startswith("virtual_")}
    assert {name: found.get(name) for name in main} == main
    assert not [name for name in found if name.startswith("virtual_")] or accounts == "virtual"
    assert set(master) <= set(logical(host.read("etc/postfix/master.cf")))
    config = host.read("etc/oncedrop/oncedrop.conf")
    assert ("\naccount = %{user}\n" in config) == (accounts == "system") and ("\ndetail = folder\n" in config) == sent
    assert "\nconninfo = " not in config     # the default
    assert host.read("etc/oncedrop/imap.password").strip() in host.read("etc/dovecot/master-users")
    assert "root: lisa@example.org\n" in host.read("etc/aliases")

    after = host.files()
    assert "Nothing to do" in host.set_up(*options)
    assert host.files() == after
    done = host.run("--undo")
    assert done.returncode == 0 and host.files() == before, done.stdout


def test_a_dry_run_shows_all_and_changes_nothing(host):
    before = host.files()
    shown = host.set_up("--sent-copies", "--dry-run", "--accounts=virtual")
    assert host.files() == before
    host.set_up("--sent-copies", "--accounts=virtual")
    new = {path: text for path, (text, _) in host.files().items()
           if (text, _) != before.get(path) and "setup.undo" not in path}
    for path in new:
        assert f"/{path}" in shown or path == "etc/postfix/main.cf", path
    for name, value in pieces("lmtp", True)[0].items():
        if name not in ("mydestination", "recipient_delimiter"):
            assert f"run: postconf -e '{name} = {value}'\n" in shown, name
    assert "run: systemctl enable --now oncedrop.socket oncedrop.service\n" in shown
    assert "oncedrop:{PLAIN}...:" in shown and new["etc/oncedrop/imap.password"].strip() not in shown


def test_the_tables_have_the_domain(host):
    host.set_up("--sent-copies", "--accounts=virtual", domain="A-site.example.com")
    for name in ("logins", "sent"):
        assert r"@(a-site\.example\.com)$/" in host.read(f"etc/postfix/oncedrop_{name}")
    assert host.settings()["virtual_mailbox_domains"] == "a-site.example.com"


# What is there already, as (file, text that is added), and a word of what is said of it.
@pytest.mark.parametrize("path,text,options,word", [
    ("etc/postfix/main.cf", "mailbox_transport = lmtp:unix:private/dovecot-lmtp\n", [], "mailbox_transport = lmtp:unix:private"),
    ("etc/postfix/main.cf", "mailbox_transport = x\n", ["--transport=mailbox_command"], "overrides mailbox_command"),
    ("etc/postfix/main.cf", "mailbox_command = procmail -a\n  $EXTENSION\n", ["--transport=mailbox_command"], "procmail -a $EXTENSION"),
    ("etc/postfix/main.cf", "virtual_transport = x\n", ["--accounts=virtual"], "virtual_transport = x"),
    ("etc/postfix/main.cf", "virtual_mailbox_domains = a.example\n", ["--accounts=virtual"], "add example.org to"),
    ("etc/postfix/main.cf", "myhostname = example.org\n", ["--accounts=virtual"], "by another name"),
    ("etc/postfix/main.cf", "smtpd_recipient_restrictions = permit\n", ["--sent-copies"], "smtpd_recipient_restrictions = permit"),
    ("etc/postfix/master.cf", "oncedrop unix - n n - 9 pipe user=x argv=/bin/true\n", [], "oncedrop/unix"),
    ("etc/postfix/master.cf", "submission inet n - y - - smtpd\n", ["--sent-copies"], "submission/inet"),
    ("etc/postfix/oncedrop_status", "/x/ y\n", [], "/etc/postfix/oncedrop_status"),
    ("etc/dovecot/conf.d/90-oncedrop.conf", "# other\n", [], "90-oncedrop.conf"),
    ("etc/dovecot/master-users", "admin:{PLAIN}x\n", [], "master-users"),
    ("etc/systemd/system/oncedrop.service", "[Unit]\n", [], "oncedrop.service"),
    ("etc/oncedrop/oncedrop.conf", "[route]\naccount = x-%{user}\n", [], "account = x-%{user}"),
    ("etc/oncedrop/oncedrop.conf", "[database]\nconninfo = sqlite:/srv/x\n", ["--conninfo=sqlite:/srv/y"], "conninfo = sqlite:/srv/x"),
])
def test_what_it_does_not_know_stays(host, path, text, options, word):
    whole = os.path.join(host.root, path)
    host.write(path, (host.read(path) if os.path.exists(whole) else "") + text)
    before = host.files()
    done = host.run("--domain=example.org", "--postmaster=lisa@example.org", *options)
    assert done.returncode == 1 and done.stdout.startswith("Nothing was changed."), done.stdout
    assert word in done.stdout and len(done.stdout.splitlines()) == 2, done.stdout
    assert host.files() == before


@pytest.mark.parametrize("path,text", [
    ("etc/postfix/main.cf", "virtual_mailbox_maps = mysql:/etc/postfix/users.cf\nvirtual_alias_maps = hash:/etc/x\n"),
    ("etc/postfix/main.cf", "virtual_mailbox_domains = a.example, example.org\n"),
    ("etc/postfix/vmailbox", "doug@example.org -\n"),
    ("etc/oncedrop/oncedrop.conf", "[database]\nconninfo = dbname=mail\n\n[route]\naccount_query = SELECT 1\n"),
])
def test_what_may_stay_stays(host, path, text):
    whole = os.path.join(host.root, path)
    host.write(path, (host.read(path) if os.path.exists(whole) else "") + text)
    host.set_up("--accounts=virtual")
    assert text in host.read(path)


def test_a_ledger_is_not_changed_for_another(host):
    """Without --conninfo it is the one of the configuration; for PostgreSQL on this host the roles are made."""
    host.write("etc/oncedrop/oncedrop.conf", "[database]\nconninfo = dbname=oncedrop\n")
    shown = host.set_up("--dry-run")
    assert "CREATE ROLE oncedrop" in shown and "runuser -u postgres -- psql" in shown and "sqlite" not in shown
    host.write("etc/oncedrop/oncedrop.conf", "[database]\nconninfo = host=db.example.org dbname=oncedrop\n")
    done = host.run("--domain=example.org", "--dry-run")
    assert done.returncode == 1 and "on another host" in done.stdout


def interrupt_at(directory, number):
    """A sync(1) that ends the set-up: what file it is about to replace is in the journal, and not replaced yet."""
    os.makedirs(directory, exist_ok=True)
    count = os.path.join(directory, "count")
    path = os.path.join(directory, "sync")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho >>{count}\n[ \"$(wc -l <{count})\" != {number} ]\n")
    os.chmod(path, 0o755)
    return directory


def test_an_interrupted_set_up(host, tmp_path):
    """Before every third of its files in turn; every other time it is finished first."""
    before = host.files()
    for number in range(1, 100, 3):
        done = host.run("--domain=example.org", "--sent-copies", first=interrupt_at(str(tmp_path / f"sync{number}"), number))
        if done.returncode == 0:
            break
        if number % 2 == 0:
            host.set_up("--sent-copies")
        assert host.run("--undo").returncode == 0
        assert host.files() == before, number
    assert number > 10


def test_what_was_changed_since_survives_the_undoing(host):
    host.set_up()
    host.write("etc/postfix/main.cf", "# ours\n" + host.read("etc/postfix/main.cf"))
    assert host.run("--undo").returncode == 0
    assert host.read("etc/postfix/main.cf") == "# ours\n" + MAIN


def test_what_cannot_be_undone_is_named(host):
    host.set_up()
    host.write("etc/postfix/oncedrop_status", "/x/ y\n")
    done = host.run("--undo")
    assert done.returncode == 1 and "/etc/postfix/oncedrop_status was changed since" in done.stdout
    assert host.read("etc/postfix/oncedrop_status") == "/x/ y\n" and host.read("etc/postfix/main.cf") == MAIN
    os.remove(os.path.join(host.root, "etc/postfix/oncedrop_status"))
    assert host.run("--undo").returncode == 0 and "Nothing to undo" in host.run("--undo").stdout


@pytest.mark.parametrize("options,word", [
    ([], "--domain is missing"), (["--domain", "a b"], "not the name of a domain"), (["--domain", "example.org", "--transport", "uucp"], "uucp"),
    (["--domain", "example.org", "--transport", "mailbox_command", "--accounts", "virtual"], "users of the system"),
    (["--domain", "example.org", "--undone"], "unknown option --undone"),
])
def test_a_wrong_command_line(host, options, word):
    done = subprocess.run([lab_module.program(), "setup", *options, "--root", host.root], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert done.returncode in (1, 64) and word in done.stdout, done
