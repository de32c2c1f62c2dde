# SPDX-License-Identifier: ISC
"""Processes timed as the delivering user, samples, and rounds in which everybody has a turn."""

import collections
import contextlib
import multiprocessing
import os
import random
import signal
import statistics
import threading
import time

from lab import process

Done = collections.namedtuple("Done", "exit seconds output")

ROOM = 60000     # bytes that a pipe surely takes without a reader


class Runner:
    """A small process of the delivering user's that starts the programs and times them: without an interpreter between
    the fork and the program, and with pipes for stdin and stdout, as Postfix has them."""

    def __init__(self, user):
        self.ours, theirs = multiprocessing.Pipe()
        self.child = multiprocessing.get_context("fork").Process(target=self.serve, args=(theirs, user), daemon=True)
        self.child.start()
        theirs.close()

    def serve(self, pipe, user):
        # The parent handles an interrupt and ends us. A process that it forks later has its end of the
        # pipe, too, so the end of the pipe does not mean that the parent has ended.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(user.pw_gid)
            os.setuid(user.pw_uid)
        process.LIBC.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)    # not before setuid(2), which clears it
        os.chdir("/")
        while True:
            try:
                pipe.send(run(*pipe.recv()))
            except (EOFError, TypeError):   # our parent died, or said None
                os._exit(0)

    def run(self, words, environment, message):
        """Starts a program with this message on stdin; returns when it has ended."""
        self.ours.send((words, environment, message))
        return self.ours.recv()

    def close(self):
        with contextlib.suppress(OSError):
            self.ours.send(None)
        self.child.join(5)
        self.child.kill()
        self.child.join()
        self.ours.close()


def run(words, environment, message):
    feeding, (stdin, feed), (output, stdout) = None, os.pipe(), os.pipe()
    actions = [(os.POSIX_SPAWN_DUP2, stdin, 0), (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stdout, 2)]
    if len(message) <= ROOM:
        os.write(feed, message)
        os.close(feed)
    else:
        feeding = True
    started = time.perf_counter()
    pid = os.posix_spawn(words[0], words, environment, file_actions=actions)
    feeder = in_background(pour, feed, message) if feeding else None
    os.close(stdin)
    os.close(stdout)
    with open(output, "rb") as file:
        said = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    seconds = time.perf_counter() - started
    if feeder:
        feeder.join()
    return Done(status, seconds, said)


def in_background(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def pour(descriptor, message, close=True):
    try:
        with open(descriptor, "wb", closefd=close) as file:
            file.write(message)
    except BrokenPipeError:
        pass


def rounds(competitors, count, once, warm=1):
    """Calls once(competitor, round) for each competitor in each round, in an order that changes, always the same. The
    rounds with negative numbers come first and are not to be counted."""
    dice = random.Random(1)
    for number in range(-warm, count):
        order = list(competitors)
        if number:      # the first that counts says in which order the table is
            dice.shuffle(order)
        for competitor in order:
            once(competitor, number)


class Results:
    """Samples by (part, case, competitor), in the order in which they came first. larger: whether more is better."""

    def __init__(self):
        self.rows = {}
        self.notes = []

    def add(self, part, case, competitor, unit, sample, larger=False):
        row = self.rows.setdefault((part, case, competitor), {"unit": unit, "larger": larger, "samples": []})
        row["samples"].append(sample)

    def note(self, text):
        self.notes.append(text)

    def median(self, key):
        return statistics.median(self.rows[key]["samples"]) if key in self.rows else None


def must(condition, what):
    """Stops the benchmark: a figure of something that failed is worth nothing."""
    if not condition:
        raise RuntimeError(what)


def agents_path(name):
    """Where a peer is, or None."""
    try:
        return process.find_program(name, "/usr/lib/dovecot", "/usr/libexec/dovecot")
    except FileNotFoundError:
        return None
