# SPDX-License-Identifier: ISC
"""(d) What grows with the mailbox, the ledger, the number of recipients and the size of a message."""

import os
import subprocess
import time

import bare
import competitors as agents
import measure
import part_lmtp
from lab import process

ROUNDS = 20
SELDOM = 5
MAILBOXES = (0, 10000)          # and with LONG
LARGE_MAILBOX = 100000
LEDGERS = (0, 100000)
LARGE_LEDGER = 1000000
DEAD = 0.4              # dead rows for each message
DAYS = 60
LMTP_MESSAGES = 200
RECIPIENTS = (1, 2, 10, 50, 100)
KIB, MIB = 1 << 10, 1 << 20
SIZES = {"1 kB": 1000, "100 KiB": 100 * KIB, "1 MiB": MIB, "10 MiB": 10 * MIB, "100 MiB": 100 * MIB}

REMEMBERED = ("1 kB", "1 MiB", "100 MiB")      # with memory


def measure_part(bench, results):
    count = bench.rounds or ROUNDS
    mailboxes(bench, results, count)
    ledgers(bench, results, count)
    recipients(bench, results, count)
    sizes(bench, results, count)


# Mailboxes

def fill_mailbox(bench, account, messages):
    """As if they had been there for long: Dovecot has its index of them."""
    directory = os.path.join(bench.servers.maildir(account), "cur")
    data = agents.mail(account, size=1000)
    sizes = f"S={len(data)},W={len(data) + data.count(bytes([10]))}"
    user = bench.servers.user
    for number in range(messages):
        # Names as various as real ones: Dovecot has a hash table of them.
        name = f"{1700000000 + number * 37}.M{number * 7919 % 1000000:06}P{1000 + number * 13 % 30000}.bench"
        path = os.path.join(directory, f"{name},{sizes}:2,S")
        with open(path, "wb") as file:
            file.write(data)
        os.chown(path, user.pw_uid, user.pw_gid)
    # Dovecot looks again and again at a directory that has changed a moment ago.
    os.utime(directory, (1700000000, 1700000000))
    with bench.servers.dovecot.session(account) as session:
        session.select("INBOX")
        session.uid("FETCH", "1:*", "(UID)")


def mailboxes(bench, results, count):
    """fdm is there to see what grows on the server."""
    here = []
    for number in (*MAILBOXES, *([LARGE_MAILBOX] if bench.long else [])):
        for program in bench.programs:
            name = f"{program.name} box {number}"
            here.append((number, agents.Oncedrop(bench.servers, bench.runner, name, program, accounts=1), program.name))
        if agents.Fdm.path:
            here.append((number, agents.Fdm(bench.servers, bench.runner, f"fdm box {number}", accounts=1), "fdm, IMAP"))
    for number, agent, _ in here:
        fill_mailbox(bench, agent.mailboxes[0], number)

    def once(competitor, number):
        messages, agent, name = competitor
        seconds = agent.deliver()
        if number >= 0:
            results.add("growth", f"deliver, mailbox of {messages:,}", name, "ms", seconds * 1000)

    measure.rounds(here, count, once, warm=2)


# Ledgers

def ledgers(bench, results, count):
    accounts = bench.servers.accounts("ledger-", 20)
    here = []
    for program in bench.programs:
        for rows in (*LEDGERS, *([LARGE_LEDGER] if bench.long else [])):
            other = program.with_new_ledger()
            try:
                if rows:
                    other.fill(rows, DAYS, DEAD)
            except Exception as error:      # pylint: disable=broad-except
                if program.name != "other":
                    raise
                results.note(f"{program.name} has no ledger of {rows:,}: its schema is another one ({error})")
                continue
            name = f"{program.name} ledger {rows}"
            here.append((rows, other, agents.Oncedrop(bench.servers, bench.runner, name, other)))

    def once(competitor, number):
        rows, program, agent = competitor
        name = f"ledger of {rows:,}"
        took = agent.deliver()
        if number >= 0:
            results.add("growth", f"deliver, {name}", program.name, "ms", took * 1000)

    def seldom(competitor, number):
        rows, program, _ = competitor
        name = f"ledger of {rows:,}"
        rate, _ = part_lmtp.rate(bench, part_lmtp.Oncedrop(bench, program), accounts, LMTP_MESSAGES, 1, True)
        words = program.words("stats", configuration=program.operator())
        done = bench.runner.run(words, bench.servers.environment(), b"")
        measure.must(done.exit == 0, f"stats: {done}")
        if number >= 0:
            results.add("growth", f"lmtp, {name}", program.name, "/s", rate, larger=True)
            results.add("growth", f"stats, {name}", program.name, "s", done.seconds)

    measure.rounds(here, count, once, warm=agents.ACCOUNTS)
    measure.rounds(here, bench.rounds or SELDOM, seldom)


# Recipients

class Loop:
    """Bare APPENDs, one after the other, on sessions that are kept."""

    name = "bare APPEND"

    def __init__(self, bench, accounts):
        self.sessions = [bare.Session(bench.servers.dovecot, account) for account in accounts]

    def transaction(self, accounts):
        message = agents.mail(accounts[0])
        started = time.perf_counter()
        for session in self.sessions[:len(accounts)]:
            session.append(message)
        return time.perf_counter() - started

    def close(self):
        for session in self.sessions:
            session.close()


class Lmtp:
    """One connection that is kept."""

    def __init__(self, competitor):
        self.name, self.competitor = competitor.name, competitor
        self.connection = competitor.connect()

    def transaction(self, accounts):
        envelope = part_lmtp.envelope(accounts)
        started = time.perf_counter()
        self.connection.deliver([envelope])
        return time.perf_counter() - started

    def close(self):
        self.connection.close()
        self.competitor.ended()


def recipients(bench, results, count):
    accounts = bench.servers.accounts("recipients-", max(RECIPIENTS))
    here = [Loop(bench, accounts), *[Lmtp(competitor) for competitor in part_lmtp.competitors(bench)]]

    def once(competitor, number):
        took = {size: competitor.transaction(accounts[:size]) * 1000 for size in RECIPIENTS}
        if number < 0:
            return
        for size, milliseconds in took.items():
            results.add("growth", f"{size} recipient{'s' * (size > 1)}", competitor.name, "ms", milliseconds)
        few, many = 2, max(RECIPIENTS)
        results.add("growth", "one recipient more", competitor.name, "ms", (took[many] - took[few]) / (many - few))

    try:
        measure.rounds(here, max(count // 4, 1), once, warm=2)
    finally:
        for competitor in here:
            competitor.close()


# Sizes

def tree(pid):
    found = [pid]
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            for word in file.read().split():
                found += tree(int(word))
    except (FileNotFoundError, ProcessLookupError):
        pass
    return found


def status(pid):
    """The sizes in /proc/PID/status by name, in KiB."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:
            return {line.split(":")[0]: int(line.split()[1]) for line in file if line.endswith(" kB\n")}
    except (FileNotFoundError, ProcessLookupError):
        return {}


def peak(bench, agent, message):
    """The most memory of a delivery's processes in MiB, added up: of all their memory (with the programs' code, and the
    files that they have mapped), and of the anonymous alone."""
    account = agent.mailboxes[0]
    with subprocess.Popen(agent.words(account), env=agent.environment(account), stdin=subprocess.PIPE, cwd="/",
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          **process.run_as(bench.servers.user)) as running:
        feeder = measure.in_background(measure.pour, running.stdin.fileno(), message, False)
        most, data = {}, 0
        while running.poll() is None:
            now = {pid: status(pid) for pid in tree(running.pid)}
            most.update({pid: max(most.get(pid, 0), fields.get("VmHWM", 0)) for pid, fields in now.items()})
            data = max(data, sum(fields.get("RssAnon", 0) for fields in now.values()))
            if feeder and not feeder.is_alive():
                running.stdin.close()
                feeder = None
            time.sleep(0.002)
        measure.must(running.returncode == 0, f"{agent.name}: {running.returncode}")
    return sum(most.values()) / KIB, data / KIB


def sizes(bench, results, count):
    here = [agents.Oncedrop(bench.servers, bench.runner, f"{program.name} size", program,
                            more={"delivery.size_limit": "300M"}) for program in bench.programs]
    names = {agent.name: program.name for agent, program in zip(here, bench.programs)}
    here += [kind(bench.servers, bench.runner, f"{name} size") for name, kind in agents.PEERS[:2] if kind.path]
    names.update({f"{name} size": name for name, _ in agents.PEERS})
    for size, its_bytes in SIZES.items():
        if bench.tiny and its_bytes > MIB:
            continue

        def once(competitor, number):
            seconds = competitor.deliver(size=its_bytes)
            if number >= 0:
                results.add("growth", f"deliver, {size}", names[competitor.name], "ms", seconds * 1000)

        def memory(competitor, number):
            message = agents.mail(competitor.mailboxes[0], size=its_bytes)
            whole, data = peak(bench, competitor, message)
            results.add("growth", f"memory, {size}", names[competitor.name], "MiB", whole)
            results.add("growth", f"anonymous memory, {size}", names[competitor.name], "MiB", data)

        measure.rounds(here, count if its_bytes < 10 * MIB else max(count // 4, 1), once)
        if size in REMEMBERED:
            measure.rounds(here, 1, memory, warm=0)
