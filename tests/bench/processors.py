# SPDX-License-Identifier: ISC
"""Processor time by program, from /proc/PID/stat (proc(5)). It counts every process of these names, so the machine must be
idle otherwise, and only processes that are alive both before and after."""

import os

TICK = os.sysconf("SC_CLK_TCK")
NAMES = {"postgres": "PostgreSQL", "mariadbd": "MariaDB", "pgbouncer": "PgBouncer", "imap": "imap", "imap-login": "imap",
         "auth": "auth", "lmtp": "lmtp", "oncedrop": "oncedrop", "oncedrop-writer": "oncedrop", "bare": "bare"}
PEERS = ("PostgreSQL", "MariaDB", "imap", "lmtp", "oncedrop", "bare")      # the others are less than a tenth of a millisecond a message


def used():
    """{PID: (name, seconds)}"""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                words = file.read()
        except OSError:     # it has ended
            continue
        name = NAMES.get(words[words.index("(") + 1:words.rindex(")")])
        if name:
            times = words[words.rindex(")") + 2:].split()[11:13]
            found[pid] = (name, sum(map(int, times)) / TICK)
    return found


def between(before, after, messages):
    """{name: milliseconds for each message}"""
    spent = dict.fromkeys(PEERS, 0.0)
    for pid, (name, seconds) in after.items():
        if name in spent:
            spent[name] += (seconds - before.get(pid, (name, 0.0))[1]) * 1000 / messages
    return spent
