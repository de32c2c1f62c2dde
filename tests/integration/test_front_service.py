# SPDX-License-Identifier: ISC
"""The front and the real service: the same as `deliver` by itself, no matter what dies.

Seen to fail with: a delivery that goes on although the front is gone; an ordinary user believed; a message stored without
its final mark, which takes the former as well; a message that is too large deferred; a delivery that is whole, though it came
through a pipe; XDELIVER on standard input."""

import collections
import functools
import os
import re
import resource
import signal
import subprocess
import threading
import time

import expect
import pytest
from lab import corpus, lab as lab_module, user as ordinary
from lab.front import Front
from lab.messages import message, new_id, on_the_wire
from lab.process import find_program, peak_until_end, wait_until
from lab.proxy import SERVER
from lab.service import Service, exists
from lab.site import new_site

SILENT = "4.3.0 the service did not answer; it may have delivered the message\n"
USER, OTHER, BECOME = ordinary.USER, ordinary.OTHER, ordinary.BECOME
NO_LEAKS = {"ASAN_OPTIONS": "detect_leaks=0"}     # that does not work under strace
IS_ROOT = os.getuid() == 0


class Served(Front):
    """With a service. The front's own configuration is wrong: what is delivered was delivered by the service."""

    def __init__(self, site, workers=1, settings=(), **more):
        super().__init__(site)
        self.service = Service(site, workers=workers, settings=settings, **more)
        self.socket = self.service.socket
        site.use(self)

    def configure(self):
        with open(self.path("o.conf"), "w", encoding="utf-8") as file:
            file.write("[none]\n")

    def idle(self):
        """Waits until what was under way is over."""
        client = self.service.connect()
        client.close()


# The same as without


class Pair:
    """Two sites with the same addresses: one delivers by the service, the other by the full program alone."""

    def __init__(self, sites):
        self.sites = sites
        for site in sites:
            site.settings.update({"route.account": f"%{{user}}.of.{site.number}", "log.to": "stderr"})
            for name in ("scuba", "doug"):
                site.lab.dovecot.add_account(f"{name}.of.{site.number}")
        self.served = None

    def update(self, settings):
        for site in self.sites:
            site.settings.update(settings)

    def deliver(self, mail, *arguments, env=None, rows=True):
        """By both; returns the result, when all that can be seen of it is the same."""
        first, second = self.sites
        if not self.served:
            self.served = Served(first, env=first.environment({"SENDER": "service@x", "SASL_USERNAME": "service"}))
        logged = len(self.served.service.log())
        done = [self.served.deliver(mail, *arguments, env=env, merge=False),
                second.run("deliver", *arguments, stdin=mail, env=env)]
        self.served.idle()      # it logs after its answer
        logs = [self.served.service.log()[logged:], done[1].err]
        assert done[0].err == "", done
        seen = [self.plain(site, (one.exit, one.out, self.log(log), rows and self.rows(site)))
                for site, one, log in zip(self.sites, done, logs)]
        assert seen[0] == seen[1]
        return done[0]

    @staticmethod
    def plain(site, thing):
        text = re.sub(rf"\.of\.{site.number}\b", "", repr(thing)).replace(site.directory, "DIRECTORY")
        return re.sub(r"127\.0\.0\.1:\d+", "HOST", text)

    @staticmethod
    def log(text):
        return [re.sub(r"^\S+ |delays?=[\d./]+", "", line) for line in text.splitlines() if "status=" in line]

    @staticmethod
    def rows(site):
        """Everything that is recorded, except times and random values."""
        return sorted((table, repr([bytes(value) if isinstance(value, memoryview) else value for value in row]))
                      for table, query in everything(site) for row in site.sql(query))


PASSING = re.compile("_at$|_ms$|_us$|^(claim|pid|uidvalidity|trace_id|span_id)$")


@functools.cache
def everything(site):
    """The queries for it."""
    return [(table, f"SELECT {', '.join(names)} FROM oncedrop.{table}") for table, columns in site.ledger.columns().items()
            if table not in ("refusal", "server", "schema_version", "slot")
            and (names := [f'"{column}"' for column in columns if column == "queued_at" or not PASSING.search(column)])]


@pytest.fixture
def pair(site, lab, ledgers):
    other = new_site(lab, ledgers)
    yield Pair([site, other])
    other.close()


def test_awkward_messages(pair):
    """One after the other; then all of them once more: they are known."""
    pair.update({"record.level": "raw", "route.sent_copy": "off"})
    exits = collections.Counter()
    for path in corpus.FILES:
        exits[pair.deliver(corpus.read(path), "-d", "scuba@example.org", rows=False).exit] += 1
    for path in corpus.FILES[::10]:
        pair.deliver(corpus.read(path), "-d", "scuba@example.org")
    mails = [[one.raw for one in site.messages(f"scuba.of.{site.number}")] for site in pair.sites]
    assert mails[0] == mails[1] and len(mails[0]) > 100
    assert exits[0] > len(corpus.FILES) * 0.9


RECEIVED = ("Received: from client.test (localhost [127.0.0.1])\n\t(Authenticated sender: doug)\n"
            "\tby postfix.test (Postfix) with ESMTPSA id 4abc\n\tfor <scuba@example.org>; Fri, 1 Aug 2025 10:00:00 +0200\n")
SCUBA = ["-d", "scuba@example.org"]
DOUG = "doug@example.org"
FROM_DOUG = {"sender": DOUG}

# settings, the message's parameters or the message, arguments, environment, exit status
CASES = {
    "options": ({}, {}, [*SCUBA, "-f", "lisa@a", "-a", "scuba+x@example.org", "-q", "4Q1", "-s", "10"], {}, 0),
    "environment": ({}, {}, [], {"SENDER": "lisa@a", "RECIPIENT": "scuba@example.org", "ORIGINAL_RECIPIENT": "x@example.org"}, 0),
    "header": ({}, {"headers": "Return-Path: <lisa@b>\nDelivered-To: scuba@example.org\nX-Original-To: x@example.org\n"}, [], {}, 0),
    "an empty sender": ({}, {"headers": "Return-Path: <lisa@b>\n"}, SCUBA, {"SENDER": ""}, 0),
    "Received": ({}, {"headers": RECEIVED}, SCUBA, {}, 0),
    "another queue id in Received": ({}, {"headers": RECEIVED}, [*SCUBA, "-q", "4xyz"], {}, 0),
    "an empty queue id": ({}, {"headers": RECEIVED}, [*SCUBA, "-q", ""], {}, 0),
    "a Sent copy, -u": ({}, FROM_DOUG, [*SCUBA, "-u", "doug"], {}, 0),
    "a Sent copy, SASL_USERNAME": ({}, FROM_DOUG, SCUBA, {"SASL_USERNAME": "doug"}, 0),
    "a Sent copy, Received": ({}, {**FROM_DOUG, "headers": RECEIVED}, SCUBA, {}, 0),
    "no Sent copy, no login": ({}, {**FROM_DOUG, "headers": RECEIVED}, SCUBA, {"SASL_USERNAME": ""}, 0),
    "a Sent copy by From": ({"route.sent_copy": "from"}, FROM_DOUG, SCUBA, {}, 0),
    "blanks around the recipient": ({}, {}, ["-d", " <scuba@example.org> "], {}, 0),
    "no recipient": ({}, {}, [], {}, 75),
    "an empty recipient": ({}, {"headers": "Delivered-To: scuba@example.org\n"}, ["-d", ""], {}, 75),
    "a recipient that is none": ({}, {}, ["-d", "@@"], {}, 75),
    "bytes that are no text": ({}, {}, ["-d", b"scu\xffba\n@example.org", "-q", b"4\x01"], {}, 75),
    "nothing to read": ({}, b"", SCUBA, {}, 75),
    "only a line end": ({}, b"\n", SCUBA, {}, 0),
    "only a From_ line": ({}, b"From lisa Fri Aug  1 10:00:00 2025\n", SCUBA, {}, 75),
    "cut short": ({}, {}, [*SCUBA, "-s", "100000"], {}, 75),
    "too large": ({"delivery.size_limit": "1K"}, {"body": "x\n" * 1000}, SCUBA, {}, 69),
    "large and too large": ({"delivery.size_limit": "100K"}, {"body": "x\n" * 100000}, SCUBA, {}, 69),
    "no such account": ({"route.account_query": "SELECT 'x' WHERE $1 = 'y'", "route.unknown_account": "bounce"}, {}, SCUBA, {}, 67),
    "no such account, deferred": ({"route.account_query": "SELECT 'x' WHERE $1 = 'y'", "route.unknown_account": "defer"}, {}, SCUBA, {}, 75),
    "no database": ({"database.conninfo": "host=127.0.0.1 port=1 dbname=a user=a sslmode=disable"}, {}, SCUBA, {}, 75),
    "no IMAP server": ({"imap.port": "1"}, {}, SCUBA, {}, 75),
}


@pytest.mark.parametrize("settings,mail,arguments,env,status", CASES.values(), ids=CASES.keys())
def test_the_same_outcome(pair, settings, mail, arguments, env, status):
    """Twice: then it is known, or still refused."""
    pair.update({"route.sent_copy": "authenticated", **settings})
    mail = mail if isinstance(mail, bytes) else message(**mail)
    for _ in range(2):
        assert pair.deliver(mail, *arguments, env=env).exit == status
    for name in ("scuba", "doug"):
        for mailbox in ("INBOX", "Sent"):
            found = [[one.raw for one in site.messages(f"{name}.of.{site.number}", mailbox)] for site in pair.sites]
            assert found[0] == found[1]


@pytest.mark.parametrize("code,settings,status", [("OVERQUOTA", {"delivery.overquota": "bounce"}, 69),
                                                  ("OVERQUOTA", {"delivery.overquota": "defer"}, 75), ("TOOBIG", {}, 69)])
def test_refused_by_the_imap_server(pair, code, settings, status):
    def refuse(_connection, side, data):
        return re.sub(rb"(\w+) OK \[APPENDUID[^\r]*", rb"\1 NO [" + code.encode() + rb"] no", data) if side == SERVER else data

    pair.update({"imap.tls": "none", "imap.port": pair.sites[0].lab.dovecot.port, **settings})
    for site in pair.sites:
        site.imap_proxy(refuse)
    assert pair.deliver(message(), *SCUBA).exit == status


# Who is believed


class Users:
    """A service that ordinary users can reach; both have accounts."""

    def __init__(self, site, clients=""):
        for directory in (site.lab.directory, site.directory):
            os.chmod(directory, 0o755)
        site.settings["route.account"] = "%{user}." + site.number
        self.site = site
        self.own, self.other = f"{USER}.{site.number}", f"{OTHER}.{site.number}"
        for account in (self.own, self.other):
            site.lab.dovecot.add_account(account)
        self.served = Served(site, settings={"service.trusted_users": clients})

    def deliver(self, mail, recipient, *arguments, env=None):
        return self.served.deliver(mail, "-d", recipient, *arguments, env=env, before=BECOME)


needs_users = pytest.mark.skipif(not IS_ROOT, reason="only root can become another user")


@needs_users
def test_an_ordinary_user_delivers_to_the_own_account(site):
    users, mail = Users(site), message()
    expect.stored(users.deliver(mail, f"{USER}@example.org"))
    expect.duplicate(users.deliver(mail, f"{USER}@example.org"))
    assert [one.raw for one in site.messages(users.own)] == [on_the_wire(mail)]


@needs_users
def test_an_ordinary_user_delivers_to_nobody_else(site):
    users = Users(site)
    done = users.deliver(message(), f"{OTHER}@example.org")
    expect.deferred(done, r"4\.3\.0", f"user {USER} may not deliver to {users.other}")
    expect.deferred(users.deliver(message(), "root"))
    assert site.value("SELECT count(*) FROM oncedrop.message") == site.count(users.other) == 0


@needs_users
@pytest.mark.parametrize("sent_copy", ["authenticated", "from"])
@pytest.mark.parametrize("claim", ["-u", "SASL_USERNAME", "Received", "only From"])
def test_an_ordinary_user_makes_no_sent_copy(site, sent_copy, claim):
    site.settings["route.sent_copy"] = sent_copy
    users = Users(site)
    mail = message(sender=f"{OTHER}@example.org", headers=RECEIVED.replace("doug", OTHER) if claim == "Received" else "")
    expect.stored(users.deliver(mail, f"{USER}@example.org", *(["-u", OTHER] if claim == "-u" else []),
                                env={"SASL_USERNAME": OTHER} if claim == "SASL_USERNAME" else {}))
    assert site.sql("SELECT account, role FROM oncedrop.copy") == [(users.own, "inbox")]


@needs_users
def test_a_client_of_the_service_is_believed(site):
    site.settings["route.sent_copy"] = "authenticated"
    users = Users(site, clients=f"postfix, {USER}")
    expect.stored(users.deliver(message(sender=f"{USER}@example.org"), f"{OTHER}@example.org", "-u", USER))
    assert site.count(users.other) == site.count(users.own, "Sent") == 1


def test_only_on_a_unix_socket(site):
    """Over TCP it is unknown who calls; and on standard input there is no service."""
    done = site.run("lmtp", stdin=b"XDELIVER RECIPIENT=scuba@example.org\r\n")
    assert done.out.splitlines()[1].startswith("500 "), done


@pytest.mark.parametrize("line", ["XDELIVER X=y", "XDELIVER SIZE=many", "XDELIVER SINCE=-1", "XDELIVER RECIPIENT=a+0", "XDELIVER SENDER",
                                  "XDELIVER SINCE=" + "9" * 30])
def test_parameters_that_are_refused(site, line):
    service = Service(site, workers=1)
    client = service.connect()
    reply = client.command(line)
    assert reply.code == (501 if line != "XDELIVER SENDER" else 354), reply


# Without the final mark


@pytest.mark.parametrize("rest", [b"", b"BDAT 0", b"BDAT 0 LAST", b"BDAT 100\r\nx", b"BDAT 0 LAST \r\n", b"bdat 0 last\r\n",
                                  b"BDAT -1\r\n", b"BDAT 5 LAST\r\nabcde", b"DATA\r\n", b"\0", b"x" * 100 + b"\r\n"])
def test_nothing_is_stored_without_the_final_mark(site, rest):
    scuba, mail = site.account(), message()
    service = Service(site, workers=1)
    client = service.connect()
    client.send(f"XDELIVER RECIPIENT={scuba}\r\nBDAT {len(mail)}\r\n".encode() + mail)
    assert client.reply().code == 354
    client.send(rest)
    client.close()
    service.connect().close()       # the worker is free again
    assert site.count(scuba) == site.value("SELECT count(*) FROM oncedrop.message") == 0


def test_the_logged_delay_counts_the_wait_for_a_worker(site):
    """Also if the message was sent before it."""
    served, scuba = Served(site), site.account()
    held = served.service.connect()
    held.envelope([scuba])
    running = served.start(message(), "-d", scuba)
    time.sleep(2)       # what is to be counted, and its start
    held.close()
    expect.stored(running.finish())
    found = wait_until(lambda: re.search(r" delay=([\d.]+)", served.service.log()), "it is logged, after the answer")
    assert float(found[1]) >= 1


def test_chunks(site):
    scuba, mail = site.account(), message()
    service = Service(site, workers=1)
    client = service.connect()
    client.send(f"XDELIVER RECIPIENT={scuba}\r\n".encode())
    for at in range(0, len(mail), 7):
        piece = mail[at:at + 7]
        client.send(b"BDAT %d\r\n" % len(piece) + piece)
    client.send("BDAT 0 LAST")
    assert client.reply().code == 354
    assert client.reply().text.startswith("0 2.1.5 stored")
    assert [one.raw for one in site.messages(scuba)] == [on_the_wire(mail)]


# Memory


@pytest.mark.skipif(lab_module.is_sanitized(), reason="sanitizers keep freed memory")
def test_100_mib(site):
    """The service within its limit of memory; the front never has more than a piece of it."""
    scuba = site.account()
    site.settings.update({"delivery.memory": "64M", "delivery.size_limit": "0", "delivery.deadline": "400s",
                          "delivery.hold_off": "700s", "imap.timeout": "300s", "record.level": "envelope"})
    served = Served(site)
    mail = message(body=b"0123456789abcdef\n" * ((100 << 20) // 17))
    path = os.path.join(site.directory, "large")
    with open(path, "wb") as file:
        file.write(mail)
    with open(path, "rb") as file:
        process = served.popen("-d", scuba, stdin=file, stdout=subprocess.PIPE)
        most = peak_until_end(process)
    assert process.returncode == 0, process.stdout.read()
    assert most < 8 << 20, most
    [worker] = served.service.workers()
    assert resource.prlimit(worker, resource.RLIMIT_DATA)[0] < 192 << 20
    assert [one.raw for one in site.messages(scuba)] == [on_the_wire(mail)]


# The start


@pytest.mark.skipif(lab_module.is_sanitized(), reason="sanitizers make calls of their own")
def test_few_system_calls(site):
    """From main on; most of the time of a process is spent before it."""
    served, scuba = Served(site), site.account()
    path = os.path.join(site.directory, "trace")
    expect.stored(served.deliver(message(), "-d", scuba, before=[find_program("strace"), "-o", path]))
    with open(path, encoding="utf-8", errors="replace") as file:
        calls = file.read().splitlines()
    begun = next(number for number, line in enumerate(calls) if "S_IFSOCK" in line)
    assert begun < 32 and len(calls) - begun < 40, "\n".join(calls)
    assert not [line for line in calls[begun:] if re.match(r"mmap|brk|openat", line)], "\n".join(calls)


# Death of the front


def points_of(front, mail, scuba):
    """Each system call of the front from main on: its name, and its number among those of that name."""
    path = os.path.join(front.site.directory, "trace")
    expect.stored(front.deliver(mail, "-d", scuba, before=[find_program("strace"), "-o", path], env=NO_LEAKS))
    counts, found, begun = collections.Counter(), [], False
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            name = re.match(r"(\w+)\(", line)
            if not name:
                continue
            counts[name[1]] += 1
            begun = begun or "S_IFSOCK" in line
            if begun:
                found.append((name[1], counts[name[1]]))
    assert len(found) > 20
    return found


def test_the_front_dies_at_each_step(site):
    """Before the final mark nothing is stored; afterwards it is, or not yet. The next try delivers it, once."""
    site.settings["lock.wait"] = "5s"
    served, scuba = Served(site), site.account()
    found, killed = points_of(served, message(), scuba), 0
    for number, (name, count) in enumerate(found):
        mail = message(id=f"dies.{number}.{new_id()}")
        path = os.path.join(site.directory, "trace")
        inject = ["-o", path, "-e", f"inject={name}:signal=KILL:when={count}"]
        done = served.deliver(mail, "-d", scuba, before=[find_program("strace"), *inject], env=NO_LEAKS)
        with open(path, encoding="utf-8", errors="replace") as file:
            marked = re.search(r'^sendto\(3, "BDAT 0 LAST.*= 13$', file.read(), re.M)
        killed += done.exit != 0
        served.idle()
        copies = [one.raw for one in site.messages(scuba)].count(on_the_wire(mail))
        assert copies <= 1 if marked else copies == 0, (name, count)
        done = served.deliver(mail, "-d", scuba)
        assert done.exit == 0, (name, count, done)
        assert [one.raw for one in site.messages(scuba)].count(on_the_wire(mail)) == 1, (name, count)
    assert killed > len(found) - 5      # how often it has to wait differs
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0


def test_the_front_dies_while_the_service_claims(site):
    """The service sees it before the APPEND, and gives the claim back."""
    scuba, mail = site.account(), message()
    gone = threading.Event()

    def hold(connection, side, data):
        if side == SERVER and b"LOGIN" in data:     # the greeting: the claim is made meanwhile
            gone.wait(60)
        return data

    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    site.imap_proxy(hold)
    served = Served(site)
    running = served.start(mail, "-d", scuba)
    wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'"), "the claim")
    running.signal(signal.SIGKILL)
    running.finish()
    gone.set()
    served.idle()
    assert site.count(scuba) == 0
    [row] = site.sql("SELECT state, doubt FROM oncedrop.copy")
    assert row == ("pending", False)
    assert "Postfix has gone away" in served.service.log()
    expect.stored(served.deliver(mail, "-d", scuba))
    assert site.count(scuba) == 1


# Death of the worker


def test_the_worker_dies_at_each_step(site):
    """At each piece of data from or to a server: 75, and the mail is stored once in the end."""
    scuba = site.account()
    site.settings.update({"delivery.deadline": "20s", "delivery.hold_off": "300s", "imap.tls": "none",
                          "imap.port": site.lab.dovecot.port, "lock.wait": "5s"})
    left = [None]       # pieces until the worker is killed
    served = None

    def kill(_connection, _side, data):
        if left[0] is not None:
            left[0] -= 1
            if left[0] < 0:
                left[0] = None      # before the front can notice
                for pid in served.service.workers():
                    os.kill(pid, signal.SIGKILL)
        return data

    site.imap_proxy(kill)
    pieces = 12 if site.database_proxy_if_any(kill) else 4
    served = Served(site)
    for step in range(100):
        served.service.close()      # it would replace a worker that dies again and again ever more slowly
        served.service.start()
        mail = message(id=f"step.{step}.{new_id()}")
        left[0] = step
        done = served.deliver(mail, "-d", scuba)
        killed = left[0] is None
        left[0] = None
        if not killed:
            expect.stored(done)
            break
        assert (done.exit, done.out) == (75, SILENT) or done.exit == 0, (step, done)
        while done.exit != 0:
            site.ledger.age(hours=1, state="appending")
            wait_until(served.service.workers, "a worker")
            done = served.deliver(mail, "-d", scuba)
            assert done.exit in (0, 75), done
        assert [one.raw for one in site.messages(scuba)].count(on_the_wire(mail)) == 1, step
    assert step > pieces


# The service is started again


def test_the_service_is_started_anew_under_load(site):
    """Nothing bounces, and all is stored once; what the service does not take, the full program delivers."""
    site.settings["lock.wait"] = "5s"
    scuba, front = site.account(), Front(site)
    site.use(front)
    service = Service(site, workers=2)
    front.socket = service.socket
    front.configure()
    front.configure = lambda: None
    mails, wrong, ending = [], [], threading.Event()

    def send():
        while not ending.is_set():
            mails.append(message(id=f"{len(mails)}.{new_id()}"))
            mail = mails[-1]
            for _ in range(100):
                done = front.deliver(mail, "-d", scuba)
                if done.exit == 0:
                    break
                if done.exit != 75:
                    wrong.append(done)
            else:
                wrong.append(done)

    senders = [threading.Thread(target=send) for _ in range(4)]
    for sender in senders:
        sender.start()
    for number in range(6):
        before = len(mails)
        wait_until(lambda: len(mails) > before + 5, "some are delivered")
        if number % 2:
            service.reload()
        else:
            assert service.stop() == 0
            wait_until(lambda: len(mails) > before + 10, "some are delivered without it")
            service.start()
    ending.set()
    for sender in senders:
        sender.join(120)
    assert not wrong, wrong
    assert sorted(one.raw for one in site.messages(scuba)) == sorted(map(on_the_wire, mails))
    wait_until(lambda: " status=stored" in service.log(), "one is logged, after the answer")


def test_the_parent_dies(site):
    """The socket's file is still there: the full program delivers."""
    scuba, mail, front = site.account(), message(), Front(site)
    site.use(front)
    service = Service(site)
    front.socket = service.socket
    service.close()
    assert os.path.exists(front.socket) and not any(map(exists, service.workers()))
    expect.stored(front.deliver(mail, "-d", scuba))
    assert site.count(scuba) == 1
