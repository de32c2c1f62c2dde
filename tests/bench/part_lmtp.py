# SPDX-License-Identifier: ISC
"""(b) LMTP on one and on four connections, to 20 and to 1,000 accounts, compared with Dovecot's LMTP server: the same client,
the same accounts, and Dovecot stores for both. Also whose processor time it takes. 1,000 accounts are measured twice: with a
login for nearly each message, and by a service that keeps a session for each account. bare_delivery.c shows what the protocol
costs by itself."""

import concurrent.futures
import contextlib
import itertools
import os
import random
import re
import socket
import subprocess
import threading
import time

import bare
import measure
import processors
from competitors import mail
from lab import process
from lab.lmtp import stuffed

ROUNDS = 5
MESSAGES = {20: 300, 1000: 600}
TIMEOUT = 120


class Connection:
    """Pipelines (RFC 2920): the next envelope goes with the end of a message."""

    def __init__(self, sock):
        self.socket = sock
        self.socket.settimeout(TIMEOUT)
        self.stream = sock.makefile("rb")
        self.reply(b"220")
        self.socket.sendall(b"LHLO client.test\r\n")
        self.reply(b"250")

    def reply(self, code):
        while True:
            line = self.stream.readline()
            measure.must(line.startswith(code), f"LMTP: {line!r} instead of {code!r}")
            if line[3:4] == b" ":
                return

    def deliver(self, envelopes):
        """envelopes: (start, stuffed message, how many recipients), ready to be sent. Each reply must be a success."""
        self.socket.sendall(envelopes[0][0])
        for number, (_, data, recipients) in enumerate(envelopes):
            for _ in range(recipients + 1):
                self.reply(b"250")
            self.reply(b"354")
            following = envelopes[number + 1][0] if number + 1 < len(envelopes) else b""
            self.socket.sendall(data + following)
            for _ in range(recipients):
                self.reply(b"250")

    def close(self):
        with contextlib.suppress(OSError):
            self.socket.sendall(b"QUIT\r\n")
            self.stream.readline()
        self.stream.close()
        self.socket.close()


def envelope(recipients, **more):
    to = b"".join(b"RCPT TO:<%s>\r\n" % one.encode() for one in recipients)
    return (b"MAIL FROM:<lisa@elsewhere.example>\r\n" + to + b"DATA\r\n", stuffed(mail(recipients[0], **more)),
            len(recipients))


class Oncedrop:
    """`oncedrop lmtp` on one end of a socket pair, as spawn(8) starts it."""

    stores = True

    def __init__(self, bench, program, name="", **settings):
        self.bench, self.name = bench, program.name + name
        configuration = program.configuration(f"lmtp{name.replace(' ', '-')}", **settings)
        self.words = program.words("lmtp", configuration=configuration)
        self.processes = []

    def connect(self):
        ours, theirs = socket.socketpair()
        with theirs:
            self.processes.append(subprocess.Popen(
                self.words, stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL, cwd="/",
                env=self.bench.servers.environment(), **process.run_as(self.bench.servers.user)))
        return Connection(ours)

    def ended(self):
        """After the connections are closed: none of it is still running with the next competitor."""
        while self.processes:
            self.processes.pop().wait(TIMEOUT)


class Server:
    """An LMTP server that is there already, on a unix socket."""

    def __init__(self, name, path, stores=True):
        self.name, self.path, self.stores = name, path, stores

    def connect(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        return Connection(sock)

    def ended(self):
        pass


def competitors(bench, **settings):
    """Everybody who speaks LMTP."""
    found = [Oncedrop(bench, program, **settings) for program in bench.programs]
    found += [Oncedrop(bench, program, " one login", **{**settings, **program.one_login()}) for program in bench.programs[:1]]
    found += [Server(f"{program.name} service", program.service.socket) for program in bench.programs if program.service]
    if os.path.exists(bench.servers.dovecot.lmtp_socket) and measure.agents_path("lmtp"):
        found.append(Server("dovecot", bench.servers.dovecot.lmtp_socket))
    return found


@contextlib.contextmanager
def sink(bench):
    """Postfix's smtp-sink(1), which answers and forgets: how fast the client is by itself. None without Postfix."""
    if not measure.agents_path("smtp-sink"):
        yield None
        return
    path = os.path.join(bench.servers.new_directory("sink"), "s")
    user = ["-u", bench.servers.user.pw_name] if os.getuid() == 0 else []
    if user:
        os.chown(os.path.dirname(path), bench.servers.user.pw_uid, -1)
    with subprocess.Popen([measure.agents_path("smtp-sink"), "-c", "-L", *user, f"unix:{path}", "100"],
                          stdout=subprocess.DEVNULL) as running:
        try:
            process.wait_until(lambda: process.is_listening(path), "smtp-sink is listening")
            yield Server("the client alone", path, stores=False)
        finally:
            running.terminate()


def shares(items, count):
    return [items[number::count] for number in range(count)]


def rate(bench, competitor, accounts, messages, connections, warm):
    """Messages per second, and processors.between for them. warm: first each account has a message on the connection that
    will serve it."""
    open_now = [competitor.connect() for _ in range(connections)]
    targets = [accounts[number % len(accounts)] for number in range(messages)]
    batches = shares([envelope([account]) for account in targets], connections)
    before = [sorted(set(share)) for share in shares(targets, connections)] if warm else [[] for _ in batches]
    failed = []

    def work(connection, batch):
        try:
            if batch:
                connection.deliver(batch)
        except Exception as error:      # pylint: disable=broad-except
            failed.append(error)

    def all_at_once(work_lists):
        threads = [threading.Thread(target=work, args=pair) for pair in zip(open_now, work_lists)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return time.perf_counter() - started

    accounts = sorted(set(accounts))
    stored = bench.servers.stored(accounts) if competitor.stores else 0
    all_at_once([[envelope([account]) for account in share] for share in before])
    used = processors.used()
    seconds = all_at_once(batches)
    spent = processors.between(used, processors.used(), messages)
    for connection in open_now:
        connection.close()
    competitor.ended()
    if failed:
        trouble = re.findall(".*(?:Error|Warning|Fatal|Panic).*", bench.servers.dovecot.log())
        raise RuntimeError("\n".join([f"{competitor.name}: {failed}; Dovecot says:", *trouble[-5:]]))
    if competitor.stores:
        stored = bench.servers.stored(accounts) - stored
        measure.must(stored == messages + sum(map(len, before)), f"{competitor.name}: stored {stored}")
    return messages / seconds, spent


def in_every_worker(service, accounts):
    """A message to each account on each of four connections; the service has four workers."""
    connections = [service.connect() for _ in range(4)]
    batch = [envelope([account]) for account in accounts]
    with concurrent.futures.ThreadPoolExecutor(len(connections)) as pool:
        list(pool.map(lambda connection: connection.deliver(batch), connections))
    for connection in connections:
        connection.close()


def measure_kept(bench, results, accounts, messages):
    """One service at a time, so that the machine has only its sessions: four workers keep one for each account."""
    dovecot = [one for one in competitors(bench) if one.name == "dovecot"]
    for program in bench.programs:
        if program.service:
            keeping = program.keeping()
            service = Server(f"{program.name} service, kept", keeping.socket)
            in_every_worker(service, accounts)
            measure_kept_by(bench, results, accounts, messages, [service, *dovecot])
            keeping.stop()


def measure_kept_by(bench, results, accounts, messages, here):
    """Each account is as likely as any other, or (Zipf) the n-th has 1/n of the first one's mail."""
    dice = random.Random(1)
    weights = {"": None, " (Zipf)": [1 / rank for rank in range(1, len(accounts) + 1)]}
    for (name, weight), connections in itertools.product(weights.items(), (1, 4)):
        def once(competitor, number):
            targets = dice.choices(accounts, weight, k=messages if number >= 0 else messages // 10)
            found, spent = rate(bench, competitor, targets, len(targets), connections, False)
            if number >= 0:
                case = f"{len(accounts):,} accounts kept{name}, {connections} connection{'s' * (connections > 1)}"
                results.add("lmtp", case, competitor.name, "/s", found, larger=True)
                for part, each in spent.items():
                    if each > 0:
                        results.add("lmtp", f"processors, {case}", f"{competitor.name}: {part}", "ms", each)

        measure.rounds(here, bench.rounds or ROUNDS, once)


def measure_part(bench, results):
    here, least = competitors(bench), [Server(one.name, bare.Service(one, 4).socket) for one in bare.programs(bench)]
    for count, messages in ({20: 20} if bench.tiny else MESSAGES).items():
        accounts = bench.servers.accounts(f"lmtp{count}-", count)
        rate(bench, here[-1], accounts, count, 4, False)   # makes the mailboxes
        for connections in (1, 4):
            case = f"{count:,} accounts, {connections} connection{'s' * (connections > 1)}"

            def once(competitor, number):
                # Other accounts in each round, and all of them in the end.
                offset = number * messages % count
                turned = accounts[offset:] + accounts[:offset]
                few = max(count // 10, connections)
                found, spent = rate(bench, competitor, turned, messages if number >= 0 else few, connections, count == 20)
                if number >= 0:
                    results.add("lmtp", case, competitor.name, "/s", found, larger=True)
                    for name, each in spent.items():
                        if each > 0 and competitor.stores and count == 20:    # of more, some end in between
                            results.add("lmtp", f"processors, {case}", f"{competitor.name}: {name}", "ms", each)

            with sink(bench) as alone:
                measure.rounds([*here, *least, *([alone] if alone else [])], bench.rounds or ROUNDS, once)
        if count > 20 or bench.tiny:
            measure_kept(bench, results, accounts, messages)
