# SPDX-License-Identifier: ISC
"""IMAP servers that answer strangely, refuse, or fail to search; and a Dovecot that is killed within an APPEND. Then
the delivery is repeated, with proper answers, until it succeeds: the mailbox has the message once.

Of answers and looks `make check-all` tries some of each kind, ONCEDROP_FAULTS=all all.

Seen to fail with: a lost answer taken for not stored (mailbox_append.c: send_message; append.c: meanings); doubt not
set by a NO behind the literal (append.c: meanings); a search answered NO taken for one that found nothing, and what is
found not compared (mailbox_search.c: search_mailbox, record_fetched)."""

import collections
import contextlib
import glob
import os
import random
import re
import signal

import death
import pytest
from bench import PATIENT, Bench, Wrong, check_ledger, judge, look, pooler, repeat, run_points
from lab.dovecot import MASTER, Dovecot
from lab.keeping_imap import KeepingImap
from lab.ledger import POSTGRES, engine
from lab.messages import message, on_the_wire
from lab.process import wait_until
from lab.proxy import SERVER, Proxy

ALL = os.environ.get("ONCEDROP_FAULTS") == "all"
AT_ONCE = 24            # many wait for an answer that does not come

CERTAIN = ("TRYCREATE", "OVERQUOTA", "TOOBIG", "NOPERM")    # a server that says so but stores the message breaks its word
CODES = (*CERTAIN, "LIMIT", "UNAVAILABLE", "INUSE", "SERVERBUG", "CONTACTADMIN", "CANNOT", "ALREADYEXISTS", "EXPIRED",
         "CORRUPTION", "PRIVACYREQUIRED", "AUTHENTICATIONFAILED", "NONEXISTENT", "X-MOON", None)
UNTAGGED = ("* 5 EXISTS", "* 1 EXPUNGE", "* OK [ALERT] look out", "* 1 FETCH (FLAGS (\\Seen))", "* 0 RECENT",
            "* FLAGS ()",
            "* 1 FETCH (UID 1 BODY[] {6}\r\nA1 OK \r\n)", "* NO not really", "* BAD command line limit exceeded",
            "* LIST () \"/\" INBOX", "* CAPABILITY IMAP4rev1", "*", "* ", "")

# place: "before" or "after" the literal; answer: lines in which {tag} stands for the tag; stored: whether the message
# is (None: it is sent no literal); end: the server ends the connection behind it
Fault = collections.namedtuple("Fault", "place answer stored end", defaults=(None, False))


def answering(fault):
    """A function that answers an APPEND like this."""
    def answer(client, tag, arguments):
        if fault.place == "after":
            mailbox, data = client.server.read_append(client, arguments)
            uid = client.server.keep(client, mailbox, data) if fault.stored else 0
        else:
            uid = 0
        text = fault.answer if isinstance(fault.answer, bytes) else fault.answer.encode()
        client.send(text.replace(b"{tag}", tag.encode()).replace(b"{uid}", str(uid).encode()))
        if fault.end:
            client.close()
    return answer


class Dialogue:
    """A separate server, and a delivery to it."""

    def __init__(self, bench, sent=False):
        self.server = KeepingImap()
        self.inbox, self.sender = bench.account(), bench.account() if sent else "lisa@elsewhere.example"
        self.mail = message(sender=self.sender, to=self.inbox)
        # Nothing is killed here, and no hold-off waited for: a busy machine must not look like a fault.
        options = [*bench.by_port(self.server.port), *PATIENT, "-o", "imap.timeout=5s"]
        case = bench.command(*options, "deliver", "-f", self.sender, "-d", self.inbox, stdin=self.mail,
                             mail=self.mail, inboxes=[self.inbox])
        self.case = case._replace(statuses=(0, 75, 69))

    def run(self):
        return death.run(self.case.words, self.case.stdin)

    def look(self, others=()):
        """others: the other contents of the mailbox."""
        found = [data for data in self.server.kept[self.inbox, "INBOX"] if data not in others]
        wrong = judge(self.inbox, found, len(found))
        return wrong or (found[0] != on_the_wire(self.mail) and Wrong("lost", f"other bytes: {found}")) or None


def refusals():
    """NO with each code, and BAD."""
    for word, code in [("NO", code) for code in CODES] + [("BAD", None), ("BAD", "CLIENTBUG"), ("BAD", "SERVERBUG")]:
        line = f"{{tag}} {word}{f' [{code}]' if code else ''} go away\r\n"
        yield Fault("before", line)
        yield Fault("after", line, False)
        if code not in CERTAIN:
            yield Fault("after", line, True)
    for text in ("NO cannot update quota", *(f"BAD [{code}] go away" for code in CERTAIN)):
        yield Fault("after", f"{{tag}} {text}\r\n", True)


def odd_answers():
    good = "{tag} OK [APPENDUID 7 {uid}] stored\r\n"
    for line in UNTAGGED:
        yield Fault("after", line + "\r\n" + good, True)
        yield Fault("before go-ahead", line + "\r\n", True)
    for text, end in (("* BYE going down\r\n", True), ("* BYE going down\r\n", False), ("", True), ("", False),
                      ("\x00\x01\x02\xff\xfe" * 50, True), ("\x00\xff\r\n" * 3, False), ("x" * 100_000 + "\r\n", False),
                      ("* OK " + "y" * 9_000_000, False), ("Z99 OK [APPENDUID 7 1] stored\r\n", False),
                      ("{tag}OK stored\r\n", False), ("{tag} OK [APPENDUID 7 1] stored", True), ("{tag} O", True),
                      ("{tag} OKAY\r\n", False), ("{tag} PREAUTH\r\n", True), ("{tag} BYE\r\n", True),
                      ("{tag}\r\n", True),
                      ("{tag} \r\n", True), ("+ more?\r\n", True), ("* OK [APPENDUID 7 1] stored\r\n", True)):
        answers = [("before", None), ("after", True), ("after", False)]
        yield from (Fault(place, text, stored, end) for place, stored in answers)
    yield Fault("before", good)
    yield Fault("before", "* BYE going down\r\n{tag} NO\r\n")
    for stored in (True, False):
        yield Fault("after", "* BYE going down\r\n{tag} NO\r\n", stored)
    for uids in ("0 0", "7 0", "0 1", "7 4294967295", "7 4294967296", "99999999999999999999 1", "7 -1", "7 one", "7",
                 "",
                 "7 1:2", "7 1] [APPENDUID 8 2"):
        yield Fault("after", f"{{tag}} OK [APPENDUID {uids}] stored\r\n", True)
    for line in ("{tag} OK\r\n", "{tag} ok [appenduid 7 {uid}] stored\n", "{tag} OK [APPENDUID 7 {uid} stored\r\n",
                 "{tag} OK \x00\xff\r\n", "{tag} OK " + "z" * 4000 + "\r\n", "* BYE going down\r\n" + good):
        yield Fault("after", line, True)


def with_noise_before_go_ahead(fault):
    def answer(client, tag, arguments):
        client.send(fault.answer.encode())
        uid = client.server.keep(client, *client.server.read_append(client, arguments))
        client.send(f"{tag} OK [APPENDUID 7 {uid}] stored")
    return answer


def try_fault(bench, fault):
    dialogue = Dialogue(bench)
    try:
        noise = fault.place == "before go-ahead"
        dialogue.server.fault = with_noise_before_go_ahead(fault) if noise else answering(fault)
        first = dialogue.run()
        if first.returncode == 69 and "[TOOBIG]" not in str(fault.answer):
            return Wrong("other", f"it would bounce: {first}")
        make_old(bench, dialogue)
        return repeat(dialogue.case, first) or dialogue.look()
    finally:
        dialogue.server.close()


def some(found, count, kind):
    """All of them, or this many of each kind."""
    kinds = collections.defaultdict(list)
    for item in found:
        kinds[kind(item)].append(item)
    choice = random.Random(1)
    return [item for items in kinds.values()
            for item in (items if ALL else choice.sample(items, min(count, len(items))))]


@pytest.mark.parametrize("faults", [refusals, odd_answers])
def test_answers_to_append(site, faults, tally):
    chosen = some(faults(), 18, lambda fault: (fault.place, fault.stored))
    bench = Bench(site)
    wrong = run_points(lambda fault: try_fault(bench, fault), chosen, AT_ONCE)
    tally("server faults", len(chosen), wrong)
    check_ledger(site)


# How a look goes wrong: (command, answer, whether the server ends the connection behind it). A mailbox is looked into
# with EXAMINE, UID SEARCH and, for each message found, UID FETCH.
LOOKS = ("EXAMINE", "UID SEARCH", "UID FETCH")
FAILED_LOOKS = [(name, *how) for name in LOOKS for how in (
    ("{tag} NO cannot\r\n", False), ("{tag} NO [UNAVAILABLE] later\r\n", False), ("{tag} NO [INUSE] later\r\n", False),
    ("{tag} NO [SERVERBUG] oh\r\n", False), ("{tag} NO [NONEXISTENT] no such thing\r\n", False),
    ("{tag} NO [TRYCREATE] no such thing\r\n", False), ("{tag} NO [BADCHARSET] no\r\n", False),
    ("{tag} NO [NOPERM] no\r\n", False), ("{tag} BAD what?\r\n", False), ("", True), ("* BYE going down\r\n", True),
    ("* BYE going down\r\n{tag} NO\r\n", True), ("\0\1\2\r\n", True), ("* 1 ", True), ("", False),
    ("x" * 100_000 + "\r\n", True))]
FAILED_LOOKS += [
    ("EXAMINE", "{tag} OK [READ-ONLY] but how many?\r\n", False), ("EXAMINE", "* one EXISTS\r\n{tag} OK\r\n", False),
    ("EXAMINE", "* -1 EXISTS\r\n{tag} OK\r\n", False), ("EXAMINE", "* 4294967296 EXISTS\r\n{tag} OK\r\n", False),
    ("UID SEARCH", "* SEARCH one\r\n{tag} OK\r\n", False), ("UID SEARCH", "* SEARCH -1\r\n{tag} OK\r\n", False),
    ("UID SEARCH", "* SEARCH 4294967296\r\n{tag} OK\r\n", False), ("UID SEARCH", "* SEARCH 1", True),
    ("UID SEARCH", "* SEARCH\r\n", True), ("UID SEARCH", "* SEARCH\r\n{tag} NO stopped halfway\r\n", False),
    ("UID SEARCH", "* SEARCH\r\n* BYE going down\r\n", True), ("UID SEARCH", "Z99 OK\r\n", True),
    ("UID SEARCH", "* SEARCH 1\r\n{tag} BAD\r\n", False), ("UID SEARCH", "* OK nothing said\r\n{tag} OK\r\n", False),
    ("UID SEARCH", "*SEARCH 1 9\r\n{tag} OK\r\n", False),
    ("UID SEARCH", "* ESEARCH (TAG \"{tag}\") UID ALL 1:9\r\n{tag} OK\r\n", False),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] NIL)\r\n{tag} OK\r\n", False), ("UID FETCH", "{tag} OK nothing\r\n", False),
    ("UID FETCH", "* {uid} FETCH (UID {uid})\r\n{tag} OK\r\n", False),
    ("UID FETCH", "* 1 FETCH (FLAGS ())\r\n{tag} OK\r\n", False),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] NIL)\r\n{tag} NO\r\n", False),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] {500}\r\nFrom: ", True),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] {99999999999999}\r\n", True),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] \"\")\r\n{tag} OK\r\n", False),
    ("UID FETCH", "* {uid} FETCH (UID {uid} BODY[] {0}\r\n)\r\n{tag} OK\r\n", False),
    ("UID FETCH", "* 9 FETCH (UID 9 BODY[] \"x\")\r\n{tag} OK\r\n", False)]
# Into Sent with EXAMINE, and FETCH for the ids of the newest.
FAILED_LOOKS_INTO_SENT = [(name.removeprefix("UID "), *how) for name, *how in FAILED_LOOKS if name != "UID SEARCH"]


def decoys(mail):
    """Messages that a search for this id finds, or might find: none of them is this message."""
    data = on_the_wire(mail)
    [id] = re.findall(rb"Message-ID: <(.*)>", data)
    return [data.replace(id, b"x" + id), data.replace(id, id + b".x"), data.replace(id, b"x" + id + b"y"),
            data.replace(b"Hello.", b"Goodbye."), data.replace(b"Subject: Hello", b"Subject: Other"),
            data.replace(id, id.upper()), data.replace(b"Message-ID: <", b"Message-ID: <0@0> <"), data[:-3]]


def lose_answer(dialogue, stored):
    """The APPEND's answer is lost, and the hold-off is over."""
    dialogue.server.fault = answering(Fault("after", "", stored, True))
    first = dialogue.run()
    assert first.returncode == 75 and dialogue.server.appends == 1, first


def make_old(bench, dialogue):
    bench.site.ledger.age(hours=1, state="appending", account=dialogue.inbox)


def failing(answer, end):
    def fail(client, tag, arguments):
        asked = arguments.split()[0].decode().partition(":")[0]
        client.send(answer.replace("{tag}", tag).replace("{uid}", asked).encode())
        if end:
            client.close()
    return fail


def try_failed_look(bench, point):
    """A delivery in doubt whose search fails: it must not append, nor say that the message is there."""
    (name, answer, end), stored = point
    dialogue = Dialogue(bench)
    server = dialogue.server
    others = decoys(dialogue.mail)
    server.kept[dialogue.inbox, "INBOX"] += others
    try:
        lose_answer(dialogue, stored)
        make_old(bench, dialogue)
        server.script[name] = failing(answer, end)
        done = dialogue.run()
        asked = name in [command for command, _ in server.commands]
        if done.returncode != 75 or server.appends != 1 or not asked:
            kind = "doubled" if stored and server.appends > 1 else "other"
            return Wrong(kind, f"{server.appends} APPENDs, asked: {asked}: {done}")
        del server.script[name]
        return repeat(dialogue.case, done) or dialogue.look(others) or too_many_appends(server, stored)
    finally:
        server.close()


def try_failed_look_into_sent(bench, point):
    """Sent is always searched first. If that fails, Sent gets nothing, and the inbox its message."""
    name, answer, end = point
    dialogue = Dialogue(bench, sent=True)
    server = dialogue.server
    others = [data for data in decoys(dialogue.mail) if len(data) > len(on_the_wire(dialogue.mail))][:3]
    sent = server.kept[dialogue.sender, "Sent"]
    sent += others
    try:
        server.script[name] = failing(answer, end)
        done = dialogue.run()
        if done.returncode != 75 or len(sent) > len(others):
            return Wrong("other", f"{len(sent)} in Sent: {done}")
        del server.script[name]
        wrong = repeat(dialogue.case, done) or dialogue.look()
        mine = [data for data in sent if data not in others]
        return wrong or judge(f"{dialogue.sender} Sent", mine, len(mine))
    finally:
        server.close()


def too_many_appends(server, stored):
    wanted = 1 if stored else 2
    return None if server.appends == wanted else Wrong("other", f"{server.appends} APPENDs instead of {wanted}")


def try_decoy(bench, point):
    """A search in doubt with proper answers: a similar message is not the message."""
    number, stored = point
    dialogue = Dialogue(bench)
    others = decoys(dialogue.mail)[number:number + 1]
    server = dialogue.server
    kept = server.kept[dialogue.inbox, "INBOX"]
    try:
        kept += others
        lose_answer(dialogue, stored)
        kept += others      # older and newer than the message
        make_old(bench, dialogue)
        return repeat(dialogue.case, dialogue.run()) or dialogue.look(others) or too_many_appends(server, stored)
    finally:
        server.close()


def test_looks_that_fail(site, tally):
    points = [(look, stored) for look in some(FAILED_LOOKS, 9, lambda look: look[0])
              for stored in (True, False)]
    bench = Bench(site)
    wrong = run_points(lambda point: try_failed_look(bench, point), points, AT_ONCE)
    tally("server faults", len(points), wrong)
    check_ledger(site)


def test_looks_into_sent_that_fail(site, tally):
    points = some(FAILED_LOOKS_INTO_SENT, 5, lambda look: look[0])
    bench = Bench(site)
    wrong = run_points(lambda point: try_failed_look_into_sent(bench, point), points, AT_ONCE)
    tally("server faults", len(points), wrong)
    check_ledger(site)


def test_what_is_like_the_message(site, tally):
    points = [(number, stored) for number in range(len(decoys(message()))) for stored in (True, False)]
    bench = Bench(site)
    wrong = run_points(lambda point: try_decoy(bench, point), points, AT_ONCE)
    tally("server faults", len(points), wrong)
    check_ledger(site)


# Where Dovecot is killed: with half the literal; with all of it but its last byte; with all of it but the command's end;
# with that, too; when it waits for a lock with all of that; when it has stored the message and its OK is held back.
HALF, LAST_BYTE, WHOLE, ENDED, WAITING, STORED = PLACES = (
    "half the literal", "the last byte", "the literal", "the APPEND", "a lock", "an OK")
TIMES = 5 if ALL else 1
BODY = 100 * ("x" * 70 + "\n")


class Killer:
    """On the way to Dovecot: calls kill() at that point, once. After that nothing passes on the connection: an OK would
    end the process before it is killed."""

    def __init__(self, port, place, data, kill):
        self.place, self.data, self.kill = place, data, kill
        self.sent = b""
        self.connection, self.killed = None, False
        self.proxy = Proxy(port, self.watch)

    def watch(self, connection, side, data):
        if self.connection:
            return b"" if connection is self.connection else data
        if side == SERVER:
            if self.place != STORED or b" OK [APPENDUID" not in data:
                return data
            return self.end(connection)
        before = len(self.sent)
        self.sent += data
        begin, size = self.sent.find(self.data[:50]), len(self.data)
        end = begin + {HALF: size // 2, LAST_BYTE: size - 1, WHOLE: size}.get(self.place, size + 2)
        if begin < 0 or len(self.sent) < end or self.place == STORED:
            return data
        return self.end(connection, data[:end - before])

    def end(self, connection, last=b""):
        self.connection = connection
        connection.sockets[SERVER].sendall(last)
        self.kill()
        self.killed = True
        return b""


class PrivateBench(Bench):
    """All its accounts belong to one Dovecot."""

    def __init__(self, site, dovecot):
        super().__init__(site)
        self.dovecot = dovecot

    def account(self):
        address = super().account()
        self.dovecot.add_account(address)
        return address

    def long_message(self, port):
        inbox = self.account()
        mail = message(to=inbox, body=BODY)
        return self.command(*self.by_port(port), "deliver", "-f", "lisa@elsewhere.example", "-d", inbox,
                            stdin=mail, mail=mail, inboxes=[inbox])


def size_of_temporary(dovecot, account):
    """The size of Dovecot's temporary file, written before it locks the mailbox, with LF line ends."""
    folder = dovecot.path("mail", account, "Maildir", "tmp")
    return max((entry.stat().st_size for entry in os.scandir(folder)), default=0)


def remove_lock(dovecot, account):
    """A lock left behind by a process that was killed while making it would be waited for for two minutes."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(dovecot.path("mail", account, "Maildir", "dovecot-uidlist.lock"))


def try_kill(bench, place, kill, revive):
    """kill(account) ends the server, or the part of it that serves the account; revive() restarts it."""
    dovecot = bench.dovecot
    killer = Killer(dovecot.port, place, b"", None)
    case = bench.long_message(killer.proxy.port)
    [inbox] = case.inboxes
    killer.data = on_the_wire(case.mail)

    def kill_now():
        if place == WAITING:
            wait_until(lambda: size_of_temporary(dovecot, inbox) == len(case.mail), "all is taken")
        kill(inbox)
    killer.kill = kill_now
    with contextlib.ExitStack() as held:
        dovecot.count(inbox)    # creates the mailbox
        if place == WAITING:
            held.enter_context(dovecot.uid_list_locked(inbox))
        first = death.run(bench.with_options(case, *PATIENT), case.stdin)
    try:
        if not killer.connection:
            return Wrong("other", f"it was not killed: {first}")
        wait_until(lambda: killer.killed, "all of it is killed")    # the delivery may notice earlier that its connection has ended
        remove_lock(dovecot, inbox)
        killer.proxy.target_port = revive()
        return repeat(case, first) or look_at(dovecot, case)
    finally:
        killer.proxy.close()


def serving(server, connection):
    """The processes that have the server's end of a proxy's connection."""
    ports = f":{server.port:04X}", f":{connection.sockets[SERVER].getsockname()[1]:04X}"
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file]
    sockets = [f"socket:[{row[9]}]" for row in rows if (row[1][-5:], row[2][-5:]) == ports]
    found = set()
    for path in glob.glob("/proc/[0-9]*/fd/*"):
        with contextlib.suppress(OSError):
            if os.readlink(path) in sockets:
                found.add(int(path.split("/")[2]))
    return found


def try_server_killed(bench, place):
    """The process of the server that serves the APPEND is killed."""
    killer = Killer(bench.site.imap.port, place, b"", None)
    inbox = bench.account()
    mail = message(to=inbox, body=BODY)
    case = bench.command(*bench.by_port(killer.proxy.port), "deliver", "-f", "lisa@elsewhere.example", "-d", inbox,
                         stdin=mail, mail=mail, inboxes=[inbox])
    killer.data = on_the_wire(mail)

    def kill():
        for pid in wait_until(lambda: serving(bench.site.imap, killer.connection), "it is served"):
            os.kill(pid, signal.SIGKILL)
    killer.kill = kill
    try:
        first = death.run(bench.with_options(case, *PATIENT), case.stdin)
        if not killer.connection:
            return Wrong("other", f"it was not killed: {first}")
        wait_until(lambda: killer.killed, "it is killed")
        if place in (HALF, LAST_BYTE) and bench.site.count(inbox) > 0:
            return Wrong("other", "an incomplete message is stored")
        return repeat(case, first) or look(bench, case)
    finally:
        killer.proxy.close()


@pytest.mark.parametrize("name", ["cyrus", "courier"])
def test_cyrus_and_courier_killed(site, name, request, tally):
    request.getfixturevalue(name)
    site.settings.update({"imap.auth": "login"} if name == "courier" else {})
    bench = Bench(site)
    chosen = [HALF, LAST_BYTE, WHOLE, ENDED, STORED]
    wrong = run_points(lambda place: try_server_killed(bench, place), chosen)
    tally("server faults", len(chosen), wrong)
    check_ledger(site)


def look_at(dovecot, case):
    [inbox] = case.inboxes
    found = [stored.raw for stored in dovecot.messages(inbox)]
    return judge(inbox, found, len(found)) or \
        (found[0] != on_the_wire(case.mail) and Wrong("lost", f"{inbox} has other bytes: {found}")) or None


def test_dovecot_killed(site, tally):
    """Either the process that serves the APPEND, or the whole of Dovecot, which is then restarted."""
    private = {}
    if engine() == POSTGRES:
        pooler(site.lab)        # started here, like the others: servers end with the thread that started them
    for place in PLACES:
        private[place] = site.use(Private(site.lab)).start()

    def process_killed(place):
        bench = PrivateBench(site, site.lab.dovecot)

        def kill(inbox):    # its first session created the mailbox
            os.kill(bench.dovecot.newest_process(inbox, sessions=2), signal.SIGKILL)
        return try_kill(bench, place, kill, lambda: bench.dovecot.port)

    def all_killed(place):
        dovecot = private[place]

        def kill(_inbox):
            os.killpg(dovecot.process.pid, signal.SIGKILL)
            dovecot.process.wait()
        tries = (try_kill(PrivateBench(site, dovecot), place, kill, lambda: dovecot.start().port) for _ in range(TIMES))
        return next((wrong for wrong in tries if wrong), None)
    chosen = [(all_killed, place) for place in PLACES] + [(process_killed, place) for place in PLACES * TIMES]
    wrong = run_points(lambda point: point[0](point[1]), chosen, AT_ONCE)
    tally("server faults", 2 * TIMES * len(PLACES), wrong)
    check_ledger(site)


class Private(Dovecot):
    """A private Dovecot with the lab's master password."""

    def __init__(self, lab):
        directory = lab.new_directory("killed")
        os.chmod(directory, 0o711)
        super().__init__(directory, lab.certificate)
        self.password = lab.dovecot.password
        self.write("masters", f"{MASTER}:{self.password}\n")

    close = Dovecot.stop
