# SPDX-License-Identifier: ISC
"""The ratios of medians that matter, by the names of what is compared, and their targets. {} is the program."""

import collections
import statistics

import bare

# above, below: (part, case, competitor) of a row; below None: the median itself. most, least: the target.
Target = collections.namedtuple("Target", "name above below most least", defaults=(None, None))


def deliver(competitor):
    return "deliver", "3 kB", competitor


def lmtp(case, competitor):
    return "lmtp", case, competitor


ONE, FOUR = "{} accounts, 1 connection", "{} accounts, 4 connections"

TARGETS = [
    Target("deliver: service ÷ fdm, IMAP", deliver("{} service"), deliver("fdm, IMAP"), most=0.5),
    Target("deliver: service ÷ dovecot-lda", deliver("{} service"), deliver("dovecot-lda"), most=0.5),
    Target("deliver: service, with Sent ÷ without", deliver("{} service + Sent"), deliver("{} service")),
    Target("deliver ÷ fdm, IMAP", deliver("{}"), deliver("fdm, IMAP")),
    Target("deliver ÷ dovecot-lda", deliver("{}"), deliver("dovecot-lda")),
    Target("deliver: PgBouncer ÷ fdm, IMAP", deliver("{} PgBouncer"), deliver("fdm, IMAP"), most=1.5),
    Target("deliver: PgBouncer ÷ dovecot-lda", deliver("{} PgBouncer"), deliver("dovecot-lda")),
    *[Target(f"deliver: {name}{way} ÷ fdm, IMAP", deliver(f"{name}{way}"), deliver("fdm, IMAP"))
      for name in bare.NAMES.values() for way in ("", " service", " PgBouncer")],
    Target("deliver ÷ maildrop", deliver("{}"), deliver("maildrop")),
    Target("deliver ÷ the script", deliver("{}"), deliver("script")),
    Target("deliver, with Sent ÷ fdm, IMAP", deliver("{} + Sent"), deliver("fdm, IMAP")),
    Target("deliver: with Sent ÷ without", deliver("{} + Sent"), deliver("{}")),
    Target("deliver: PgBouncer, with Sent ÷ without", deliver("{} PgBouncer + Sent"), deliver("{} PgBouncer")),
    *[Target(f"lmtp ÷ Dovecot, {case.format(count)}", lmtp(case.format(count), "{}"),
             lmtp(case.format(count), "dovecot"))
      for case, count in ((ONE, "20"), (FOUR, "20"), (ONE, "1,000"), (FOUR, "1,000"))],
    *[Target(f"lmtp: service ÷ Dovecot, {case.format(count)}", lmtp(case.format(count), "{} service"),
             lmtp(case.format(count), "dovecot"), least=least)
      for case, count, least in ((ONE, "20", 0.75), (FOUR, "20", 0.75), (ONE, "1,000", 0.45), (FOUR, "1,000", 0.35))],
    *[Target(f"lmtp: service, kept ÷ Dovecot, {case}", lmtp(case, "{} service, kept"), lmtp(case, "dovecot"), least=least)
      for way in ("", " (Zipf)") for case, least in ((f"1,000 accounts kept{way}, 1 connection", 0.75),
                                                     (f"1,000 accounts kept{way}, 4 connections", 0.55))],
    *[Target(f"lmtp: {name} ÷ Dovecot, {case.format(count)}", lmtp(case.format(count), name), lmtp(case.format(count), "dovecot"))
      for name in bare.NAMES.values() for count in ("20", "1,000") for case in (ONE, FOUR)],
    *[Target(f"lmtp: one login ÷ Dovecot, {case.format(count)}", lmtp(case.format(count), "{} one login"),
             lmtp(case.format(count), "dovecot")) for case, count in ((ONE, "20"), (FOUR, "20"), (ONE, "1,000"), (FOUR, "1,000"))],
    Target("lmtp: with a feed ÷ without", ("feed", "lmtp, 1 connection", "{} with a feed"), ("feed", "lmtp, 1 connection", "{}"),
           least=0.97),
    Target("feed run: a command, 10,000 wait ÷ 10", ("feed", "a command, 10,000 wait", "{}"), ("feed", "a command, 10 wait", "{}"),
           most=1.05),
    Target("Postfix: LMTP ÷ LMTP + Dovecot", ("postfix", "to empty queue", "lmtp {}"),
           ("postfix", "to empty queue", "lmtp dovecot"), least=0.8),
    Target("Postfix: LMTP, service ÷ LMTP + Dovecot", ("postfix", "to empty queue", "lmtp {} service"),
           ("postfix", "to empty queue", "lmtp dovecot"), least=0.8),
    Target("Postfix: pipe, service ÷ pipe + dovecot-lda", ("postfix", "to empty queue", "pipe {} service"),
           ("postfix", "to empty queue", "pipe dovecot-lda")),
    Target("Postfix: pipe ÷ pipe + dovecot-lda", ("postfix", "to empty queue", "pipe {}"),
           ("postfix", "to empty queue", "pipe dovecot-lda")),
    *[Target(f"deliver: mailbox of {count} ÷ of none", ("growth", f"deliver, mailbox of {count}", "{}"),
             ("growth", "deliver, mailbox of 0", "{}"), most=1.1) for count in ("10,000", "100,000")],
    *[Target(f"fdm: mailbox of {count} ÷ of none", ("growth", f"deliver, mailbox of {count}", "fdm, IMAP"),
             ("growth", "deliver, mailbox of 0", "fdm, IMAP")) for count in ("10,000", "100,000")],
    *[Target(f"deliver: ledger of {count} ÷ of none", ("growth", f"deliver, ledger of {count}", "{}"),
             ("growth", "deliver, ledger of 0", "{}"), most=1.1) for count in ("100,000", "1,000,000")],
    *[Target(f"lmtp: ledger of {count} ÷ of none", ("growth", f"lmtp, ledger of {count}", "{}"),
             ("growth", "lmtp, ledger of 0", "{}"), least=0.95) for count in ("100,000", "1,000,000")],
    *[Target(f"stats, ledger of {count}: seconds", ("growth", f"stats, ledger of {count}", "{}"), None, most=0.3)
      for count in ("100,000", "1,000,000")],
    Target("one more recipient ÷ one more bare APPEND", ("growth", "one recipient more", "{}"),
           ("growth", "one recipient more", "bare APPEND"), most=1.0),
    *[Target(f"deliver: {size} ÷ fdm, IMAP", ("growth", f"deliver, {size}", "{}"),
             ("growth", f"deliver, {size}", "fdm, IMAP"),
             most=1.0 if size == "100 MiB" else None) for size in ("1 kB", "1 MiB", "100 MiB")],
    Target("memory: 100 MiB ÷ fdm, IMAP", ("growth", "memory, 100 MiB", "{}"),
           ("growth", "memory, 100 MiB", "fdm, IMAP")),
    Target("exit 75 on a held lock ÷ a delivery", ("contention", "lock held, exit 75", "{}"),
           ("contention", "a delivery", "{}"), most=0.5),
    *[Target(f"round trips, {case}: {way}", ("distance", f"{case} distant", competitor), None, most=most)
      for case, way, competitor, most in (("IMAP", "deliver", "{}", 4.3), ("IMAP", "early login", "{}, early login", 3.3),
                                          ("IMAP", "service", "{} service", 1.2), ("database", "deliver", "{}", 5),
                                          ("database", "service", "{} service", 2.2))],
    *[Target(f"round trips, {case}: {name}", ("distance", f"{case} distant", name), None)
      for name in bare.NAMES.values() for case in ("IMAP", "database")],
    Target("20 at once ÷ fdm, IMAP", ("crowd", "20 at once", "{}"), ("crowd", "20 at once", "fdm, IMAP")),
    Target("20 at once: longest wait for the writer, ms", ("crowd", "longest wait for the writer, 20 at once", "{}"), None),
    Target("syncs per message, alone", ("crowd", "syncs, alone", "{}"), None),
    Target("syncs per message, 20 at once", ("crowd", "syncs, 20 at once", "{}"), None),
    Target("replay -j 1 ÷ bare APPEND", ("replay", "stored", "{} -j 1"), ("replay", "stored", "bare APPEND")),
    Target("replay -j 4 ÷ bare APPEND", ("replay", "stored", "{} -j 4"), ("replay", "stored", "bare APPEND"),
           least=0.65),
    *[Target(f"replay: {name} ÷ bare APPEND", ("replay", "stored", name), ("replay", "stored", "bare APPEND"))
      for name in bare.NAMES.values()],
    Target("replay -j 4, known: messages/s", ("replay", "known", "{} -j 4"), None, least=5000),
    Target("WAL syncs per message, lmtp, 20 at a time", ("commits", "syncs, lmtp", "{}"), None, most=0.5),
    Target("WAL syncs per message, deliver, 20 at a time", ("commits", "syncs, deliver", "{}"), None, most=0.5),
    Target("commits, 50 recipients", ("commits", "commits, 50 recipients", "{}"), None, most=2),
    Target("commits, 50 recipients + Sent", ("commits", "commits, 50 recipients + Sent", "{}"), None, most=3),
    Target("shared locks of a delivery, 50 recipients", ("scale", "most locks of a transaction, 50 recipients",
                                                         "{} in the shared table"), None, most=64),
    *[Target(f"deliver beside {count} idle ÷ beside nobody", ("scale", f"a delivery beside {count} idle", "{}"),
             ("scale", "a delivery beside nobody", "{}")) for count in (10, 100)],
    *[Target(f"deliver beside {count} at work: PgBouncer ÷ direct",
             ("scale", f"a delivery beside {count} at work", "{} PgBouncer"),
             ("scale", f"a delivery beside {count} at work", "{}")) for count in (10, 100)],
    Target("is it known? 12 partitions ÷ one table", ("scale", "is this message known?", "{} partitions"),
           ("scale", "is this message known?", "{} one table")),
]

# Of a ledger in a file, by name: most, least.
OF_A_FILE = {
    "deliver ÷ fdm, IMAP": (0.95, None),
    "deliver ÷ dovecot-lda": (0.85, None),
    "deliver, with Sent ÷ fdm, IMAP": (1.4, None),
    "deliver: service ÷ fdm, IMAP": (0.40, None),
    "deliver: service ÷ dovecot-lda": (0.37, None),
    "lmtp: service ÷ Dovecot, 20 accounts, 1 connection": (None, 0.9),
    "lmtp: service ÷ Dovecot, 20 accounts, 4 connections": (None, 0.9),
    "lmtp: service ÷ Dovecot, 1,000 accounts, 1 connection": (None, 0.45),
    "lmtp: service ÷ Dovecot, 1,000 accounts, 4 connections": (None, 0.35),
    "lmtp: service, kept ÷ Dovecot, 1,000 accounts kept, 1 connection": (None, 0.75),
    "lmtp: service, kept ÷ Dovecot, 1,000 accounts kept, 4 connections": (None, 0.55),
    "replay -j 4 ÷ bare APPEND": (None, 0.65),
    "Postfix: LMTP, service ÷ LMTP + Dovecot": (None, 0.9),
    "Postfix: pipe, service ÷ pipe + dovecot-lda": (None, 1.75),
    "exit 75 on a held lock ÷ a delivery": (0.4, None),
    "20 at once ÷ fdm, IMAP": (None, 1.0),
    "20 at once: longest wait for the writer, ms": (25, None),
    "syncs per message, alone": (2.1, None),
    "syncs per message, 20 at once": (1.2, None),
    "deliver: ledger of 1,000,000 ÷ of none": (1.05, None),
    "lmtp: ledger of 1,000,000 ÷ of none": (None, 0.95),
}


def filled(key, program):
    return key and (*key[:2], key[2].format(program))


def spread(above, below):
    """The quartiles of the ratios of each round, in which both had the same conditions; None if there are too few."""
    if not below or len(above) != len(below) or len(above) < 2 or 0 in below:
        return None
    quartiles = statistics.quantiles([one / other for one, other in zip(above, below)], n=4, method="inclusive")
    return quartiles[0], quartiles[2]


# With a ledger in MariaDB: compared with one in PostgreSQL.
OF_MARIADB = [
    Target("deliver ÷ deliver with PostgreSQL", deliver("{}"), deliver("oncedrop"), most=0.6),
    *[Target(f"lmtp: service ÷ the same with PostgreSQL, {case.format(20)}", lmtp(case.format(20), "{} service"),
             lmtp(case.format(20), "oncedrop service"), least=0.85) for case in (ONE, FOUR)],
]


def found(rows, program):
    """rows: of a document. Yields (target, ratio of medians, spread, whether it is met) of what was measured."""
    by_key = {(row["part"], row["case"], row["competitor"]): row for row in rows}
    for target in [*TARGETS, *(OF_MARIADB if program == "mariadb" else [])]:
        if program == "mariadb" and target not in OF_MARIADB:
            target = target._replace(most=None, least=None)
        if program == "embedded":
            most, least = OF_A_FILE.get(target.name, (None, None))
            target = target._replace(most=most, least=least)
        if program != "oncedrop" and "{}" not in target.above[2]:
            continue    # has been said
        above, below = by_key.get(filled(target.above, program)), by_key.get(filled(target.below, program))
        if above is None or (target.below and (below is None or not below["median"])):
            continue
        ratio = above["median"] / (below["median"] if below else 1)
        met = None
        if target.most is not None or target.least is not None:
            met = (target.most is None or ratio <= target.most) and (target.least is None or ratio >= target.least)
        yield target, ratio, spread(above["samples"], below["samples"] if below else []), met
