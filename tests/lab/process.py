# SPDX-License-Identifier: ISC
"""Processes that end with us, free ports, and waiting with a deadline instead of sleeping."""

import ctypes
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time

# Debian's, of programs that are not called like theirs.
PACKAGES = {
    "dovecot": "dovecot-imapd", "doveadm": "dovecot-imapd", "postconf": "postfix", "prlimit": "util-linux", "dd": "coreutils",
    "initdb": "postgresql", "postgres": "postgresql", "mariadbd": "mariadb-server-core",
    "mariadb-install-db": "mariadb-server-core",
}

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG = 1


def wait_until(condition, what, seconds=300):
    """Polls until condition() returns something true, and returns that; fails after this many seconds."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise TimeoutError(f"after {seconds} s still not: {what}")
        time.sleep(0.01)


def peak_until_end(process):
    """Waits for the end of a subprocess; returns its peak memory in bytes. Not ru_maxrss (wait4(2)), which starts with
    what we have when it is started."""
    most = 0
    while process.poll() is None:
        try:
            with open(f"/proc/{process.pid}/status", encoding="ascii", errors="replace") as file:
                most = max([most, *[int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")]])
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.002)
    return most


def is_listening(path):
    """Whether a unix socket accepts connections, without making one; its file exists from bind(2) on, before listen(2).
    In /proc/net/unix the flag for it is __SO_ACCEPTCON."""
    with open("/proc/net/unix", encoding="utf-8", errors="surrogateescape") as file:
        rows = [line.split(maxsplit=7) for line in file]
    return any(len(row) == 8 and row[7].rstrip("\n") == path and row[3] == "00010000" for row in rows)


def ports_for_servers():
    """Ports that the kernel never assigns to a client, which could occupy them while a server restarts."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        first, last = map(int, file.read().split())
    found = [port for port in range(10000, 65536) if not first <= port <= last]
    return found if len(found) >= 1000 else range(10000, 65536)


RESERVED = []


def free_port():
    """A port that is ours until this process ends, whether or not a server uses it: no other process that asks here
    gets it. This is marked by an abstract unix socket of that name, which the kernel removes with us."""
    for port in random.sample(ports_for_servers(), 1000):
        mark = socket.socket(socket.AF_UNIX)
        try:
            mark.bind(f"\0oncedrop port {port}")
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port))
        except OSError:
            mark.close()
            continue
        RESERVED.append(mark)
        return port
    raise RuntimeError("no port is free")


def accepts(port):
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def find_program(name, *directories):
    path = os.pathsep.join([*directories, os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
    found = shutil.which(name, path=path)
    if not found:
        raise FileNotFoundError(f"{name} is not installed; Debian's package {PACKAGES.get(name, name)} has it")
    return found


def account_for(*names):
    """As root: the first of these users that exists, to run a server as; otherwise ourselves."""
    if os.getuid() != 0:
        return pwd.getpwuid(os.getuid())
    for name in names:
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    raise LookupError(f"none of the users {names} exists")


def run_as(user):
    """Arguments for subprocess that switch from root to this user."""
    if os.getuid() != 0 or user.pw_uid == 0:
        return {}
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def private_directory(parent="/tmp"):
    """A new directory that every server's user can traverse. Its path is short because of the length limit of unix
    socket names."""
    path = tempfile.mkdtemp(prefix="oncedrop-", dir=parent)
    os.chmod(path, 0o711)
    return path


def die_with_parent(number=signal.SIGTERM):
    """For the child, before it runs the program: the kernel sends it this signal when we die. It blocks none, as we may."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    LIBC.prctl(PR_SET_PDEATHSIG, number)


class Server:
    """A server in its own directory and process group, which dies when this process does."""

    name = "server"
    stop_signal = signal.SIGTERM    # asks for an orderly end
    death_signal = signal.SIGTERM   # sent by the kernel when we die

    def __init__(self, directory):
        self.directory = os.path.join(directory, self.name)
        os.mkdir(self.directory, 0o711)
        self.process = None
        self.logged_before = 0      # characters

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    @property
    def log_file(self):
        return self.path("log")

    def log(self):
        try:
            with open(self.log_file, encoding="utf-8", errors="replace") as log:
                return log.read()
        except FileNotFoundError:
            return ""

    def new_log(self):
        """The log since its last start."""
        return self.log()[self.logged_before:]

    def spawn(self, arguments, **options):
        self.logged_before = len(self.log())
        with open(self.log_file, "ab") as log:
            self.process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/",
                                            start_new_session=True,
                                            preexec_fn=lambda: die_with_parent(self.death_signal), **options)

    def start(self):
        """Starts on free ports, or on others if another process was faster."""
        for attempt in range(5):
            self.launch()
            try:
                wait_until(self.is_up, f"{self.name} answers", 120)
                return self
            except (ChildProcessError, TimeoutError) as error:
                self.stop()
                if attempt == 4 or "in use" not in self.new_log():
                    raise RuntimeError(f"{self.name} does not start ({error}):\n{self.log()}") from None

    def launch(self):
        raise NotImplementedError

    def is_up(self):
        if self.process.poll() is not None:
            raise ChildProcessError(f"{self.name} ended with {self.process.returncode}")
        return self.answers()

    def answers(self):
        raise NotImplementedError

    def stop(self):
        """Ends the server and the rest of its process group."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.send_signal(self.stop_signal)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None
