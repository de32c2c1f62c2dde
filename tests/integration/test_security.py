# SPDX-License-Identifier: ISC
"""SECURITY.md's promises: who may read, write, stop or watch what. Each cell of the table is tried by a process of that user.

Seen to fail with: the ledger or the counter open to the group for writing, lock files for reading; a socket for its owner alone;
processes that can be traced; no filter in the decoder, or descriptors that it keeps; capabilities that stay; an environment that
stays; a descriptor of root's; a feed's command that root runs."""

import ctypes
import errno
import os
import pwd
import re
import socket
import stat
import subprocess

import expect
import pytest
from lab import embedded as embedded_module, lab as lab_module, user as ordinary
from lab.lmtp import stored
from lab.messages import message
from lab.process import wait_until
from lab.service import Service, children, is_writer

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")

SERVICE, OTHER = ordinary.USER, ordinary.OTHER
TRUSTED, GROUPED = "uucp", "man"        # on every Debian, too
# GROUPED is in the group of the service's user.
USERS = ["root", SERVICE, TRUSTED, GROUPED, OTHER]

# r, w: read, write; of a directory: list, and make a file in it. c: connect. k: send signals. m: read and write memory, and
# trace. Nothing else is allowed. A service that root started does not trace itself; by systemd, service.user could.
TABLE = """
                        root  service  trusted  grouped  other
configuration           rw    r        -        r        -
password                rw    r        -        r        -
ledger's directory      rw    rw       -        r        -
ledger.db               rw    rw       -        r        -
ledger.db-wal           rw    rw       -        r        -
ledger.db-shm           rw    rw       -        r        -
ledger.db-lock          rw    rw       -        -        -
unrecorded              rw    rw       -        r        -
socket                  c     c        c        c        c
socket's directory      rw    -        -        -        -
socket's lock           rw    -        -        -        -
parent                  km    k        -        -        -
worker                  km    k        -        -        -
writer                  km    k        -        -        -
decoder                 km    k        -        -        -
user's delivery         km    -        -        -        km
its message in memory   rw    -        -        -        rw
its message in a file   rw    -        -        -        rw
"""

REFUSED = {errno.EACCES, errno.EPERM}
PTRACE_SEIZE = 0x4206       # does not stop the process; ends with ours
NEEDS_DECODER = b"Subject: =?koi8-r?q?=D4?=\n"


def seize(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def list_names(path):
    os.listdir(path)


def make_file(path):
    new = os.path.join(path, "new")
    os.close(os.open(new, os.O_CREAT | os.O_EXCL))
    os.unlink(new)


def connect(path):
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(path)


def opens(flags):
    return lambda path: os.close(os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY))


ON_FILE = {"r": [opens(os.O_RDONLY)], "w": [opens(os.O_WRONLY), opens(os.O_RDWR)]}
ON_DIRECTORY = {"r": [list_names], "w": [make_file]}
ON_SOCKET = {"c": [connect]}
ON_PROCESS = {"k": [lambda pid: os.kill(pid, 0)],
              "m": [lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)),
                    lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)),
                    lambda pid: os.listdir(f"/proc/{pid}/fd"), lambda pid: os.listdir(f"/proc/{pid}/map_files"),
                    lambda pid: os.close(os.open(f"/proc/{pid}/environ", os.O_RDONLY)), seize]}


def actions_on(what):
    if isinstance(what, int):
        return ON_PROCESS
    mode = os.stat(what).st_mode
    return ON_SOCKET if stat.S_ISSOCK(mode) else ON_DIRECTORY if stat.S_ISDIR(mode) else ON_FILE


def attempt(name, action, what):
    """The errno, or 0, of what a process of this user tries."""
    user = pwd.getpwnam(name)
    child = os.fork()
    if child == 0:
        number = 255
        try:
            if name != "root":
                os.setgroups([user.pw_gid] + [pwd.getpwnam(SERVICE).pw_gid] * (name == GROUPED))
                os.setresgid(*[user.pw_gid] * 3)
                os.setresuid(*[user.pw_uid] * 3)
            action(what)
            number = 0
        except OSError as error:
            number = error.errno
        finally:
            os._exit(number)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def rows_of(table):
    """{object: {user: letters}}"""
    found = {}
    for line in table.strip().splitlines()[1:]:
        what, cells = line[:24].strip(), line[24:].split()
        found[what] = dict(zip(USERS, cells, strict=True))
    return found


def status(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def descriptors(pid):
    return {int(name): os.readlink(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")}


def decoder_of(service):
    """The child of the worker that has decoded a message; it is kept for the next one."""
    return next(child for worker in service.workers() for child in children(worker))


class Guarded:
    """A service as root starts it without systemd, for SERVICE, with a ledger in a file; it has decoded a message."""

    def __init__(self, site):
        self.embedded = embedded_module.Embedded(site, SERVICE)
        site.settings["log.unrecorded_file"] = os.path.join(self.embedded.directory, "unrecorded")
        self.embedded.install()
        self.site = site
        account = site.account()
        away = ["-o", "database.conninfo=sqlite:/nonexistent/ledger.db"]
        expect.deferred(site.run("deliver", "-d", account, stdin=message(), config=False,
                                 options=["-c", self.embedded.configuration(), *away]), r"4\.3\.0")
        self.service = Service(site, settings={"service.trusted_users": TRUSTED})
        stored(self.service.deliver(NEEDS_DECODER + message(), account)[0])

    def processes(self):
        [writer] = filter(is_writer, children(self.service.pid))
        return {"parent": self.service.pid, "worker": self.service.workers()[0], "writer": writer,
                "decoder": decoder_of(self.service)}


@pytest.fixture
def guarded(site):
    return Guarded(site)


def reads_message(site, path, size):
    """`deliver` of OTHER, as mailbox_command, that has read so much and waits for more: the pid, and the file's path."""
    words = ["setpriv", f"--reuid={OTHER}", f"--regid={OTHER}", "--clear-groups", lab_module.program(), "deliver", "-S", path]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd="/", env={"PATH": os.environ["PATH"]})
    site.closing.append(Ended(process))
    process.stdin.write(b"x" * size)
    process.stdin.flush()

    def message_file():
        return [fd for fd, name in descriptors(process.pid).items()
                if name.endswith(" (deleted)") and os.stat(f"/proc/{process.pid}/fd/{fd}").st_size > size // 2]
    [fd] = wait_until(message_file, "the message is in a file without a name")
    return process.pid, f"/proc/{process.pid}/fd/{fd}"


class Ended:
    """To be ended with the test."""

    def __init__(self, process):
        self.process = process

    def close(self):
        self.process.kill()
        self.process.stdin.close()
        self.process.wait()


def objects(guarded):
    """{what the table calls it: path or pid}"""
    site, service = guarded.site, guarded.service
    names = {"configuration": os.path.join(site.directory, service.configuration), "password": site.password_file,
             "ledger's directory": guarded.embedded.directory, "socket": service.socket, "socket's directory": site.directory,
             "socket's lock": f"{service.socket}.lock", **guarded.processes()}
    names.update({name: os.path.join(guarded.embedded.directory, name) for name in guarded.embedded.files()})
    names["user's delivery"], names["its message in memory"] = reads_message(site, service.socket, 300_000)
    _, names["its message in a file"] = reads_message(site, service.socket, 20_000_000)
    return names


@pytest.mark.sqlite
def test_who_may_do_what(guarded):
    """Prints all cells that are wrong, with the number of the action."""
    wrong, wanted = [], rows_of(TABLE)
    for what, it in objects(guarded).items():
        for name in USERS:
            for letter, actions in actions_on(it).items():
                allowed = letter in wanted[what][name]
                for number, action in enumerate(actions):
                    result = attempt(name, action, it)
                    if (result == 0) != allowed or (result and result not in REFUSED):
                        wrong.append(f"{what}: {name} {letter}{number}: {errno.errorcode.get(result, result)}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sqlite
def test_what_the_processes_are(guarded):
    """No capability is left, and of what root opened only what the service's user could not have: the lock of the socket."""
    user = pwd.getpwnam(SERVICE)
    for name, pid in guarded.processes().items():
        fields = status(pid)
        assert set(fields["Uid"].split()) == {str(user.pw_uid)} and set(fields["Gid"].split()) == {str(user.pw_gid)}, name
        assert fields["Groups"].split() == [str(user.pw_gid)], name
        assert {int(fields[f"Cap{which}"], 16) for which in ("Prm", "Eff", "Amb")} == {0}, (name, fields)
        for fd, path in descriptors(pid).items():
            if fd > 2 and path.startswith("/") and not path.endswith(".lock"):
                assert attempt(SERVICE, opens(os.O_RDWR), path) == 0, (name, fd, path)


@pytest.mark.sqlite
@pytest.mark.skipif(lab_module.is_sanitized(), reason="sanitizers make calls of their own, so there is no filter")
def test_the_decoder_of_a_service(guarded):
    pid = decoder_of(guarded.service)
    fields, opened = status(pid), descriptors(pid)
    assert (fields["Seccomp"], fields["NoNewPrivs"]) == ("2", "1"), fields
    assert len(opened) == 1 and next(iter(opened.values())).startswith("socket:["), opened
    with open(f"/proc/{pid}/limits", encoding="ascii") as file:
        limits = dict(re.findall(r"^Max (.+?)  +(\S+) ", file.read(), re.M))
    assert limits["core file size"] == limits["file size"] == "0", limits
    assert limits["cpu time"].isdigit() and limits["data size"].isdigit(), limits


@pytest.mark.parametrize("command", ["deliver", "lmtp", "serve"])
def test_the_environment_is_cleared(site, command):
    """What [imap] command inherits is what libraries find."""
    path = os.path.join(site.directory, "environment")
    for name in ("imap.host", "imap.port", "imap.ca_file", "imap.master_user", "imap.password_file"):
        site.settings[name] = None
    script = site.write("imap", f"#!/bin/sh\nenv >{path}.new; mv {path}.new {path}\n")
    site.settings.update({"imap.command": f"sh {script}", "route.sent_copy": "off"})
    hostile = {"PGHOST": "elsewhere", "PGOPTIONS": "-c synchronous_commit=off", "OPENSSL_CONF": "/tmp/x", "BASH_ENV": "/tmp/x",
               "SQLITE_TMPDIR": "/tmp/x", "MARIADB_TLS_DISABLE_PEER_VERIFICATION": "1", "LD_BIND_NOW": "1"}
    lines = b"LHLO x\r\nMAIL FROM:<>\r\nRCPT TO:<a@example.org>\r\nDATA\r\nX: y\r\n\r\n.\r\nQUIT\r\n"
    if command == "serve":
        Service(site, workers=1, env=site.environment(hostile)).deliver(message(), "a@example.org")
    else:
        words = ["-d", "a@example.org"] if command == "deliver" else []
        site.run(command, *words, env=hostile, stdin=message() if words else lines)
    with open(path, encoding="utf-8") as file:
        names = set(re.findall(r"^(\w+)=", file.read(), re.M))
    assert "PATH" in names and not names & set(hostile), names


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_command_of_a_feed_has_no_rights_of_root(site, jobs):
    user = pwd.getpwnam(SERVICE)
    os.chmod(site.directory, 0o711)
    site.settings["feed all.role"] = "both"
    expect.stored(site.deliver(message(), site.account()))
    site.ledger.give_to(user)
    os.chown(site.password_file, user.pw_uid, user.pw_gid)
    site.settings["service.user"] = SERVICE
    done = site.run("feed", "run", "-j", jobs, "all", "--", "grep", "-E", "^(Uid|Gid|Groups|Cap...):", "/proc/self/status")
    fields = dict(re.findall(r"^(\w+):\s+(.*)", done.out, re.M))
    assert done.exit == 0 and set(fields["Uid"].split()) == {str(user.pw_uid)}, done
    assert set(fields["Gid"].split()) == {str(user.pw_gid)} and fields["Groups"].split() == [str(user.pw_gid)], done
    assert {int(fields[f"Cap{which}"], 16) for which in ("Prm", "Eff", "Amb")} == {0}, done


def test_a_command_of_a_feed_never_runs_as_root_for_want_of_a_user(site):
    path = os.path.join(site.directory, "run")
    site.settings["feed all.role"] = "both"
    expect.stored(site.deliver(message(), site.account()))
    site.settings["service.user"] = "nosuchuser"
    done = site.run("feed", "run", "all", "--", "touch", path)
    assert done.exit == 71 and "there is no user nosuchuser (service.user)" in done.err, done
    assert not os.path.exists(path)
