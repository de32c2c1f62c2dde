# SPDX-License-Identifier: ISC
"""A real Dovecot stores a message long after the delivery that appended it was killed, because another program holds a
lock of the mailbox, or because the process that serves the APPEND does not get to run. Other deliveries of the message
come meanwhile; they answer 75 until the hold-off is over; then the message is there. It is there once.

A mailbox at rest, in which nothing changed of late, can be looked into without its lock: a search before the
message is stored finds nothing, and that is what the hold-off is for. If the search needs the lock, too, it is not
misled, only delayed. An mbox file is locked before Dovecot asks for the message: nothing comes late there.

Seen to fail with: no hold-off (plan.c: find_reason); doubt not set by a new claim (plan.c: append_or_search)."""

import collections
import contextlib
import fcntl
import os
import signal
import subprocess
import time

import death
from bench import PATIENT, Bench, Wrong, check_ledger, finish, run_points
from lab.imap_server import quoted
from lab.messages import on_the_wire
from lab.process import wait_until
from lab.proxy import CLIENT, Proxy

ALL = os.environ.get("ONCEDROP_FAULTS") == "all"
REPEATED = 3        # deliveries while the lock is held

# lock: how to hold it; file: what, in the account's home; mail: the account's mail_location; blind: who looks for the
# message while it is held finds nothing
Kind = collections.namedtuple("Kind", "lock file mail blind")


@contextlib.contextmanager
def uid_list(appending, _path):
    with appending.dovecot.uid_list_locked(appending.account):
        yield


@contextlib.contextmanager
def kernel_lock(appending, path):
    with open(appending.dovecot.path("mail", appending.account, path), "r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def stopped(appending, _path):
    """As good as a lock: the process that has received the message is stopped."""
    pid = appending.pid()
    os.kill(pid, signal.SIGSTOP)
    yield
    os.kill(pid, signal.SIGCONT)


KINDS = {
    "list of UIDs": Kind(uid_list, None, None, True),
    "index": Kind(kernel_lock, "Maildir/dovecot.index.log", None, True),
    "sdbox": Kind(kernel_lock, "sdbox/mailboxes/INBOX/dbox-Mails/dovecot.index.log", "sdbox:~/sdbox", False),
    "stopped process": Kind(stopped, None, None, True),
}


def make_case(bench, kind):
    case = bench.deliver(sent=False)
    [inbox], dovecot = case.inboxes, bench.site.lab.dovecot
    if kind.mail:
        dovecot.add_account(inbox, location=kind.mail)
    put_to_rest(dovecot, inbox)
    return case


def put_to_rest(dovecot, account):
    """A mailbox without recent changes, as Dovecot sees it by the directories' times."""
    look_into(dovecot, account)
    for folder, _, _ in os.walk(dovecot.path("mail", account)):
        if os.path.basename(folder) in ("cur", "new"):
            os.utime(folder, (time.time() - 600,) * 2)
    look_into(dovecot, account)


def look_into(dovecot, account):
    with dovecot.session(account) as session:
        session.select("INBOX")


class Appending:
    """A delivery with its own connection to Dovecot, to be killed when it has sent its message."""

    def __init__(self, bench, case):
        self.dovecot, self.account = bench.site.lab.dovecot, case.inboxes[0]
        self.end = on_the_wire(case.mail)[-40:] + b"\r\n"
        self.said = b""
        self.proxy = Proxy(self.dovecot.port, self.watch)
        self.before = len(self.dovecot.log())
        self.on_ready = lambda: None
        self.words = bench.with_options(case, *PATIENT, *bench.by_port(self.proxy.port))
        self.stdin = case.stdin

    def watch(self, _connection, side, data):
        if side == CLIENT:
            if b" APPEND " in data:
                self.on_ready()
            self.said += data
        return data

    def pid(self):
        """The process that serves it."""
        return self.dovecot.newest_process(self.account, self.before)

    def run_and_kill(self):
        with subprocess.Popen(self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              cwd="/", env=death.environment()) as child:
            child.stdin.write(self.stdin)
            child.stdin.close()
            wait_until(lambda: self.end in self.said and self.proxy.connections[-1].passed[CLIENT] == len(self.said),
                       "the message has been sent")
            child.kill()
            out = child.stdout.read()
        self.proxy.close()
        return subprocess.CompletedProcess(self.words, child.returncode, out, b"")


def count_without_lock(dovecot, account):
    """The result for others who search."""
    with dovecot.session(account) as session:
        return int(session.select(quoted("INBOX"), readonly=True)[1][0])


def try_kind(bench, kind):
    case = make_case(bench, kind)
    [inbox], dovecot = case.inboxes, bench.site.lab.dovecot
    appending = Appending(bench, case)
    with contextlib.ExitStack() as held:
        def lock():
            held.enter_context(kind.lock(appending, kind.file))
        if kind.lock is stopped:
            appending.on_ready = lock
        else:
            lock()
        first = appending.run_and_kill()
        if first.returncode != -signal.SIGKILL:
            return Wrong("other", f"the APPEND was answered under the lock: {first}")
        others = [death.run(bench.with_options(case, *PATIENT), case.stdin) for _ in range(REPEATED)]
        early = kind.blind and count_without_lock(dovecot, inbox)
    wait_until(lambda: bench.site.count(inbox), "the message is stored late")
    return finish(bench, case, first) or not_held(others) or \
        (early and Wrong("other", f"{early} messages were there before the lock was free"))


def not_held(others):
    """The deliveries that met a recent claim have logged why they ended."""
    for done in others:
        if done.returncode != 75 or b"is being delivered elsewhere" not in done.stdout:
            return Wrong("other", f"within the hold-off: {done}")
    return None


def test_stored_after_its_delivery_died(site, tally):
    bench = Bench(site)
    chosen = list(KINDS) * (4 if ALL else 1)
    wrong = run_points(lambda name: try_kind(bench, KINDS[name]), chosen)
    tally("late APPENDs", len(chosen), wrong)
    check_ledger(site)
