# SPDX-License-Identifier: ISC
"""Each file of an installation absent, unreadable, cut short, empty, or of another build: every command says which file it is and what
to do, a delivery is deferred, and no process dies by a signal, or with a status at which Postfix returns mail.

Seen to fail with: an engine that is asked although it is not loaded; modules that are opened after root's rights are dropped; files
that are mapped regardless of their size; the program of another installation in place of one that may not be read; a decoder of
which nothing is said but that it is missing; `lmtp` behind -c answered as a delivery; a program that is executed, instead of
loaded; a cut library that ends the process.

Left out: a damaged front program. Nothing of ours runs then: pipe(8) and local(8) defer what they cannot execute, except for what
is cut so that the kernel executes it; the service does not need the front."""

import itertools
import json
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest
from lab import embedded as embedded_module, lab as lab_module, user as ordinary
from lab.ledger import SQLITE, engine
from lab.lmtp import stored
from lab.messages import message
from lab.process import find_program, wait_until
from lab.service import Service

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")

ENGINE = "-engine.so"     # the same name with every engine: tests/essential lists tests by it
PARTS = {name: f"libexec/oncedrop/oncedrop{name.replace('engine', engine())}" for name in ("-main.so", ENGINE, "-decode.so", "-tls.so")}
HINT = re.compile(r"install it again, by `make install' or Debian's package oncedrop|it comes with `make install'|let user \d+ read it")
BUILD = re.compile(rb"\x00\d[^\x00 ]* (?=\d+ \d+\x00)")
# A message that needs the decoder.
MAIL = message(headers="MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n", body="--x\n\nx\n--x--\n")


def mapped(path):
    """How much of an ELF file is mapped: behind it are only symbols for debuggers."""
    with open(path, "rb") as file:
        data = file.read()
    [start], [size, count] = struct.unpack_from("<Q", data, 32), struct.unpack_from("<HH", data, 54)
    segments = (struct.unpack_from("<IIQQQQ", data, start + i * size) for i in range(count))
    return max(offset + length for kind, _, offset, _, _, length in segments if kind == 1)


def unreadable(path):
    os.chmod(path, 0o600)


def cut(path):
    os.truncate(path, mapped(path) // 2)


def of_another_build(path):
    with open(path, "r+b") as file:
        data = file.read()
        assert BUILD.search(data), path
        file.seek(0)
        file.write(BUILD.sub(lambda found: found[0][:1] + b"9" * (len(found[0]) - 2) + b" ", data))


def empty(path):
    os.truncate(path, 0)


FAULTS = {"absent": os.unlink, "unreadable": unreadable, "cut": cut, "empty": empty, "other": of_another_build}


def lmtp(recipient):
    lines = ["LHLO x", "MAIL FROM:<>", f"RCPT TO:<{recipient}>", "DATA", *MAIL.decode().splitlines(), ".", "QUIT", ""]
    return "\r\n".join(lines).encode()


class Installation:
    """As `make install` makes it, of the program under test; with a ledger of the engine under test, and a server with TLS."""

    def __init__(self, site):
        self.embedded = embedded_module.Embedded(site, ordinary.USER).install()
        self.site = site
        self.account = site.account()
        if engine() != SQLITE:
            site.settings.update(site.ledger.settings(lab_module.DELIVERY))
        site.settings.update({"imap.tls": "imaps", "imap.port": site.lab.dovecot.tls_port, "log.to": "stderr",
                              "route.sent_copy": "off"})
        self.directory = site.lab.new_directory("installation")
        for part in ("bin", "libexec/oncedrop"):
            os.makedirs(self.path(part))
        lab_module.copy_program(self.path("libexec/oncedrop"))
        os.rename(self.path("libexec/oncedrop/oncedrop"), self.path("bin/oncedrop"))
        for part in ("", "bin", "libexec", "libexec/oncedrop"):
            os.chmod(self.path(part), 0o755)
        self.file = None

    def path(self, name):
        return os.path.join(self.directory, name)

    def break_(self, name, fault):
        self.file = {"configuration": self.embedded.configuration(), "password": self.site.password_file,
                     **{part: self.path(path) for part, path in PARTS.items()}}[name]
        if fault == "unreadable" and name == "configuration":
            os.chmod(self.file, 0o600)
        else:
            FAULTS[fault](self.file)

    def run(self, words, become=(), env=None):
        """With the configuration unchanged."""
        said = MAIL if words[0] == "deliver" else lmtp(self.account) if words[0] == "lmtp" else b""
        done = subprocess.run([*become, self.path("bin/oncedrop"), "-c", os.path.join(self.site.directory, "embedded.conf"), *words],
                              input=said, capture_output=True, env=self.site.environment(env), cwd="/", timeout=60, check=False)
        return done.returncode, done.stdout.decode(), done.stderr.decode()


@pytest.fixture
def installation(site):
    return Installation(site)


USERS = {"root": [], "user": ordinary.BECOME}


def says(text, path, fault):
    """One line with the file and the hint. A file that is absent may be sought elsewhere, too."""
    name = os.path.basename(path) if fault == "absent" else path.partition("/libexec/")[2] or path
    return [line for line in text.splitlines() if name in line and (HINT.search(line) or path.endswith((".conf", "password")))]


def is_harmless(name, fault, who):
    """Root opens it before it becomes another user. A configuration and a password others must be able to read: `check` says so."""
    return fault == "unreadable" and who == "root" and name in PARTS


@pytest.mark.parametrize("who", USERS)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("name", PARTS)
def test_a_delivery(installation, name, fault, who):
    installation.embedded.configuration()
    installation.break_(name, fault)
    status, out, err = installation.run(["deliver", "-d", installation.account], USERS[who])
    if is_harmless(name, fault, who):
        assert (status, out[:13]) == (0, "2.1.5 stored "), (out, err)
        return
    assert status == 75 and re.fullmatch(r"4\.3\.[05] [^\n]+\n|4\.4\.1 [^\n]+\n", out) and len(out) < 500, (status, out, err)
    if name != "-main.so":
        assert len(says(err, installation.file, fault)) == 1 or fault == "other", err     # the log's line
        assert "status=deferred" in err, err
    assert says(out, installation.file, fault), out
    assert installation.site.count(installation.account) == 0


COMMANDS = [["lmtp"], ["list"], ["show", "x@y"], ["stats"], ["locks"], ["purge", "--older-than", "30d"], ["expire"], ["resume"],
            ["restore"], ["ledger", "version"], ["ledger", "print"], ["ledger", "upgrade"], ["ledger", "check"],
            ["ledger", "backup", "COPY"], ["route", "ACCOUNT"], ["check", "ACCOUNT"], ["check", "--quick"], ["config", "--test"],
            ["replay", "-d", "ACCOUNT", "FILE"], ["export", "ACCOUNT"], ["forget", "--dry-run", "ACCOUNT"],
            ["ledger", "copy", "TARGET"], ["setup", "--dry-run", "--domain", "example.org", "--root", "ROOT"], ["version"],
            ["help"]]


def every(installation, who):
    """{command: what it says}"""
    with_names = {"ACCOUNT": installation.account, "COPY": os.path.join(installation.embedded.directory, "copy"),
                  "TARGET": "host=localhost port=1" if engine() == SQLITE else "sqlite:/nowhere", "ROOT": installation.directory,
                  "FILE": installation.site.write("one.eml", MAIL.decode(), 0o644)}
    done = {}
    for command in COMMANDS:
        done[" ".join(command)] = installation.run([with_names.get(word, word) for word in command], USERS[who])
        if os.path.exists(with_names["COPY"]):
            os.unlink(with_names["COPY"])
    return done


LABELS = {"-decode.so": "decode", "-tls.so": "tls", ENGINE: engine()}


@pytest.mark.parametrize("name, fault", itertools.product(LABELS, FAULTS))
def test_the_version_of_what_cannot_be_loaded(installation, name, fault):
    """Seen to fail with: the error printed of an absent module; the labels of two modules exchanged."""
    _, whole, _ = installation.run(["version"], USERS["user"])
    installation.break_(name, fault)
    status, out, err = installation.run(["version"], USERS["user"])
    differs = [line for line in out.splitlines() if line not in whole.splitlines()]
    assert (status, err, len(differs), len(out.splitlines())) == (0, "", 1, len(whole.splitlines())), (out, err)
    assert differs[0].startswith(LABELS[name] + ": "), differs
    assert differs[0].endswith(": not installed") if fault == "absent" else says(out, installation.file, fault), differs
    _, out, _ = installation.run(["version", "--json"], USERS["user"])
    assert (json.loads(out)[LABELS[name]] is None) == (fault == "absent"), out


def failed(status, out):
    """LMTP's replies are its status."""
    return status != 0 or re.search(r"^4\d\d ", out, re.M)


@pytest.mark.parametrize("who", USERS)
@pytest.mark.parametrize("name, fault", [*itertools.product(PARTS, FAULTS),
                                         *itertools.product(["configuration", "password"], ["absent", "unreadable", "empty"])])
def test_every_command(installation, name, fault, who):
    installation.embedded.configuration()
    whole = every(installation, who)
    if engine() == SQLITE:
        assert [command for command, (status, _, _) in whole.items() if status > 1] == ["ledger copy TARGET"], whole
    installation.break_(name, fault)
    for command, (status, out, err) in every(installation, who).items():
        said = (command, status, out, err)
        assert 0 <= status < 126, said
        if command == "lmtp":
            assert status in (0, 75), said
        if failed(status, out) and status != whole[command][0]:
            assert says(out + err, installation.file, fault), said
        if is_harmless(name, fault, who):
            assert status == whole[command][0], said
        if name == "-main.so" and fault != "unreadable":
            assert status == 75, said


@pytest.mark.parametrize("name, fault", itertools.product([ENGINE, "-decode.so", "-tls.so"], FAULTS))
def test_the_service_does_not_start(installation, name, fault):
    installation.site.settings["service.socket"] = os.path.join(installation.embedded.directory, "lmtp")
    installation.embedded.configuration()
    installation.break_(name, fault)
    status, _, err = installation.run(["serve"], USERS["user"])
    assert status == 69 and says(err, installation.file, fault), (status, err)


def test_a_folder_that_may_not_be_searched(installation):
    """As a checkout below a folder of mode 0700: root delivers, and becomes another user meanwhile."""
    os.chmod(installation.directory, 0o700)
    installation.embedded.configuration()
    status, out, err = installation.run(["deliver", "-d", installation.account])
    assert (status, out[:13]) == (0, "2.1.5 stored "), (out, err)


def test_a_reload_for_which_a_module_is_missing(installation):
    """Else each worker would defer everything. Seen to fail without that."""
    site = installation.site
    plain = {"imap.tls": "none", "imap.port": site.lab.dovecot.port}
    service = Service(site, settings=plain, program=installation.path("bin/oncedrop"))
    installation.break_("-tls.so", "absent")
    workers = service.workers()
    service.write_configuration({"imap.tls": "imaps", "imap.port": site.lab.dovecot.tls_port})
    service.signal(signal.SIGHUP)
    wait_until(lambda: "the old configuration stays in force: cannot load TLS" in service.log(), "it says so", 60)
    assert says(service.log(), installation.file, "absent") and service.workers() == workers
    stored(service.deliver(MAIL, installation.account)[0])


# The libraries of the full program. A program that is executed without one ends with status 127

LIBRARY = re.compile(r"\blib(?:jansson|pcre2-8)\.so\.\d\S*(?:: file too short; let user \d+ read it, or"
                     r"|: cannot open shared object file: [^;]+; let user \d+ read it, or"
                     r"| is cut short;) install its package again")


def library(installation, name):
    """Where ld.so(8) finds it."""
    done = subprocess.run(["ldd", installation.path(PARTS["-main.so"])], capture_output=True, text=True, check=True)
    found = re.search(rf"{re.escape(name)}\.so\S* => (/\S+)", done.stdout)
    if not found:
        pytest.skip(f"the program does not need {name} here")
    return os.path.realpath(found[1])


def in_place_of(path, other):
    """For one process, a file that all others see unchanged."""
    before = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" "$1" && shift && exec "$@"', other, path]
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounts are not possible here")
    return before


def defers(installation, words, why, before=()):
    status, out, err = installation.run(words, [*before, *ordinary.BECOME])
    line = re.compile(r"421 4\.3\.5 [^\r\n]+\r\n" if words == ["lmtp"] else r"4\.3\.5 [^\n]+\n")
    assert status == 75 and line.fullmatch(out), (status, out, err)
    assert "cannot load the program: " in out and why.search(out), out
    assert installation.site.count(installation.account) == 0


def rename(path, old, new):
    """In a file, the library that it needs or is."""
    assert len(old) == len(new)
    with open(path, "r+b") as file:
        code = file.read()
        assert b"\0" + old in code
        file.seek(0)
        file.write(code.replace(b"\0" + old, b"\0" + new))


def delivery(installation):
    return ["deliver", "-d", installation.account]


@pytest.mark.parametrize("way", [delivery, lambda _: ["lmtp"]], ids=["deliver", "lmtp"])
@pytest.mark.parametrize("fault", ["empty", "cut", "unreadable"])
@pytest.mark.parametrize("name", ["libjansson", "libpcre2-8"])     # of the program; of one of its libraries
def test_a_library_that_cannot_be_loaded(installation, name, fault, way):
    installation.embedded.configuration()
    path, other = library(installation, name), installation.path("library")
    shutil.copy(path, other)
    os.chmod(other, 0o644)
    FAULTS[fault](other)
    defers(installation, way(installation), LIBRARY, in_place_of(path, other))


@pytest.mark.parametrize("way", [delivery, lambda _: ["lmtp"]], ids=["deliver", "lmtp"])
def test_a_library_that_is_absent(installation, way):
    installation.embedded.configuration()
    rename(installation.path(PARTS["-main.so"]), b"libjansson.so", b"no-jansson.so")
    defers(installation, way(installation), re.compile(r"no-jansson\.so\.\d+: [^;]+; let user \d+ read it, or install its package again"))


def test_a_library_that_is_elsewhere(installation):
    """Where only ld.so(8) finds it."""
    installation.embedded.configuration()
    os.mkdir(installation.path("lib"))
    os.chmod(installation.path("lib"), 0o755)
    copy = shutil.copy(library(installation, "libjansson"), installation.path("lib/my-jansson.so.4"))
    for path in (installation.path(PARTS["-main.so"]), copy):
        rename(path, b"libjansson.so", b"my-jansson.so")
    status, out, err = installation.run(delivery(installation), ordinary.BECOME, {"LD_LIBRARY_PATH": installation.path("lib")})
    assert (status, out[:13]) == (0, "2.1.5 stored "), (out, err)


@pytest.mark.skipif(lab_module.is_sanitized(), reason="strace is in the way of a sanitizer")
def test_nothing_is_executed(installation):
    """That would take as long as the start of the full program."""
    installation.embedded.configuration()
    path = installation.path("trace")
    strace = [find_program("strace"), "-o", path, "-e", "trace=execve,execveat"]
    status, out, err = installation.run(delivery(installation), strace)
    assert (status, out[:13]) == (0, "2.1.5 stored "), (out, err)
    with open(path, encoding="utf-8", errors="replace") as file:
        calls = [line.partition("(")[0] for line in file]
    assert calls.count("execve") == 1 and "execveat" not in calls, calls
