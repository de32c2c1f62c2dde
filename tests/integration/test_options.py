# SPDX-License-Identifier: ISC
"""Each option of each command makes a difference. An option in a command's usage that is not here is an error.

Seen to fail with: an option left out of the table here; the program's list of options ending before an option, or the option's
value not used."""

import contextlib
import os
import re
import signal
import threading

import pytest
from lab import lab as lab_module, site as site_module
from lab.ledger import SQLITE, engine
from lab.messages import message
from lab.process import wait_until
from lab.service import Service
from test_second_try import fake, plain, refuse
from test_setup import Host

ROWS = {"message": "sender", "delivery": "recipient, original_recipient, queue_id, outcome", "copy": "account, mailbox, state",
        "attempt": "outcome"}
ONE, TWO = "one@test.example", "two@test.example"
OLD = "2000-01-01"


class Scene:
    """A message that is stored, and a later one that is not; all their bytes are recorded."""

    def __init__(self, site):
        self.site, self.env = site, {"TZ": "Asia/Kathmandu"}
        plain(site)
        self.scuba, self.doug, self.lisa = site.account("scuba"), site.account("doug"), site.account("lisa")
        site.settings.update({"record.level": "raw", "route.sent_copy": "authenticated"})
        assert self.deliver(ONE, self.scuba, "alpha").exit == 0
        self.deliver_in_vain(TWO, "beta")
        site.ledger.claim(seconds=400, state=("appending", "pending"))
        self.file = site.write("mail", message(id="three@test.example", to=self.doug, sender=self.lisa).decode())
        self.stored = site.write("stored", self.mail(ONE, self.scuba, "alpha").decode())
        self.mbox = site.write("mbox", f"From {self.lisa} Mon Nov 20 10:00:00 2023\n" + self.mail(ONE, self.scuba, "alpha").decode())
        self.new = os.path.join(site.directory, "new")

    def mail(self, id, to, subject):
        return message(id=id, sender=self.lisa, to=to, subject=subject)

    def deliver(self, id, to, subject, **more):
        return self.site.deliver(self.mail(id, to, subject), to, "-q", "4" + subject.upper(), sender=self.lisa, **more)

    def deliver_in_vain(self, id, subject):
        """To doug: the server refuses it for now."""
        before = dict(self.site.settings)
        fake(self.site, APPEND=refuse("NO [UNAVAILABLE] later"))
        assert self.deliver(id, self.doug, subject).exit == 75
        self.site.settings = before

    def empty(self):
        """The mailbox is emptied."""
        with self.site.imap.session(self.scuba) as session:
            session.select("INBOX")
            session.store("1:*", "+FLAGS", r"(\Deleted)")
            session.expunge()

    def rows(self):
        return {table: sorted(map(repr, self.site.sql(f"SELECT {columns} FROM oncedrop.{table}"))) for table, columns in ROWS.items()}

    def seen(self, *words, **more):
        """What a command shows, and the rows after it, without what differs from run to run."""
        done = self.site.run(*words, env=self.env, **more)
        said = repr((done.exit, done.out, done.err, self.rows(), self.site.count(self.scuba), self.site.count(self.doug)))
        said = said.replace(f".{self.site.number}.", ".N.").replace(self.site.directory, "DIR").replace(str(self.site.database), "DB")
        said = re.sub(r"\+05:?45", "LOCAL", said)
        return re.sub(r"[-\s]+|\\n", " ", re.sub(r"\d+(?:\.\d+)?", "N", re.sub(r"[0-9a-f]{8,}", "H", said)))


def read(*words):
    """A command that only reads."""
    return lambda scene, *option: scene.seen(*[word.format(scene=scene) for word in (*words, *option)])


def by_deliver(*words, given=b""):
    return lambda scene, *option: scene.seen("deliver", *[word.format(scene=scene) for word in (*words, *option)],
                                             stdin=given or message(id="five@test.example", to=scene.scuba, sender=scene.lisa))


def in_parallel(*words, before=None):
    """Whether two messages are appended at the same time, on a server that has lost its mail."""
    def observe(scene, *option):
        if before:
            before(scene)
        both = threading.Barrier(2, timeout=3)
        server = fake(scene.site)

        def append(client, tag, arguments):
            with contextlib.suppress(threading.BrokenBarrierError):
                both.wait()
            server.do_append(client, tag, arguments)
        server.script["APPEND"] = append
        scene.site.run(*[word.format(scene=scene) for word in words], *option)
        return bool(server.appended), both.broken
    return observe


def without(action, then):
    def observe(scene, *option):
        action(scene)
        return then(scene, *option)
    return observe


def old(scene):
    scene.site.ledger.older("message", "received_at", days=30)
    for table, columns in (("delivery", ("first_at", "last_at")), ("copy", ("first_at", "stored_at", "claimed_at")),
                           ("attempt", ("started_at", "ended_at"))):
        scene.site.ledger.older(table, *columns, days=30)


def fed(scene, count=1):
    """Messages that wait in a feed. Returns the number of the last row."""
    scene.site.settings["feed all.role"] = "inbox"
    for _ in range(count):
        assert scene.site.deliver(message(to=scene.scuba), scene.scuba).exit == 0
    return scene.site.value("SELECT max(id) FROM oncedrop.feed")


def of_feed(*words):
    """Options stand before the command that it runs."""
    def observe(scene, *option):
        row = str(fed(scene))
        return scene.seen("feed", words[0], *option, *[word.format(row=row) for word in words[1:]])
    return observe


def waited_for(scene, *option):
    fed(scene)
    scene.deliver("eight@test.example", scene.scuba, "alpine")
    return scene.seen("feed", "wait", *option, "all")


def goes_on(scene, *option):
    """Whether it takes what comes after it has taken all."""
    def is_empty():
        return scene.site.value("SELECT count(*) FROM oncedrop.feed") == 0

    fed(scene)
    if not option:
        return scene.site.run("feed", "run", "all", "true").exit
    running = scene.site.start("feed", "run", *option, "all", "true")
    for _ in range(2):
        wait_until(is_empty, "it takes all")
        fed(scene)
    wait_until(is_empty, "it takes what comes")
    running.signal(signal.SIGTERM)
    return running.finish().exit, "goes on"


def is_dead(scene, *option):
    """Whether a command that fails once is tried again."""
    fed(scene)
    scene.site.run("feed", "run", *option, "all", "false")
    return bool(scene.site.value("SELECT dead FROM oncedrop.feed"))


def at_a_time(scene, *option):
    """Whether two commands run at the same time."""
    fed(scene, 2)
    path = os.path.join(scene.site.directory, f"met{len(os.listdir(scene.site.directory))}")
    script = f"touch {path}.$ONCEDROP_ID; for i in $(seq 60); do [ $(ls {path}.* | wc -l) = 2 ] && exec touch {path}; sleep 0.05; done"
    # One that runs alone finds the first one's file, too: it is removed.
    done = scene.site.run("feed", "run", *option, "all", "--", "sh", "-c", f"{script}; rm {path}.$ONCEDROP_ID")
    return done.exit, os.path.exists(path)


def through_the_service(scene, *option):
    """The front, where no service is at the default socket, and no configuration at its place."""
    service = Service(scene.site, workers=1)
    mail = message(id="six@test.example", to=scene.scuba)
    return scene.seen("deliver", "-d", scene.scuba, *[word.format(socket=service.socket) for word in option], stdin=mail, config=False)


def export_files(scene, *option):
    scene.seen("export", scene.scuba, *[word.format(scene=scene) for word in option])
    return os.path.exists(scene.new)


def as_owner(site):
    """The options by which a command logs in as the ledger's owner."""
    if engine() == SQLITE:
        return []
    return ["-o", "service.user=", "-o", f"database.conninfo={site.database_server.conninfo(site.database, lab_module.OWNER)}"]


def copy_of_the_ledger(scene, *option):
    """While a delivery may be under way, into one of another engine."""
    target = f"sqlite:{scene.site.directory}/copy.db"
    if engine() == SQLITE:
        server = scene.site.lab.postgres
        target = server.conninfo(server.create_database(lab_module.OWNER), lab_module.OWNER)
    installed = scene.site.run("ledger", "install", options=["-o", f"database.conninfo={target}", "-o", "service.user="])
    assert installed.exit == 0, installed
    scene.site.ledger.claim(seconds=1)
    return re.sub(r"db\w+", "DB", scene.seen("ledger", "copy", *option, target, options=as_owner(scene.site)))


LIST = read("list")


def setup(*words):
    """Of a host whose files are in a directory."""
    def observe(scene, *option):
        root = Host(scene.new).root
        return scene.seen("setup", *[word.format(root=root) for word in (*words, *option)])
    return observe


SETUP = setup("--domain", "example.org", "--root", "{root}", "--dry-run")

# (command, option): (the rest of the words, what an option takes); or a function of a scene and the option's words.
OPTIONS = {
    "expire --dry-run": (read("expire", TWO), ()),
    "expire --json": (read("expire", TWO), ()),
    "check --json": (read("check", "--quick"), ()),
    "check --quick": (read("check"), ()),
    "check --send": (read("check", "{scene.scuba}"), ()),
    "config -n": (read("config"), ()),
    "config -d": (read("config"), ()),
    "config --test": (read("config"), ()),
    "config --json": (read("config"), ()),
    "deliver -f": (by_deliver("-d", "{scene.scuba}"), ("bounces@example.net",)),
    "deliver -d": (by_deliver(), ("{scene.doug}",)),
    "deliver -a": (by_deliver("-d", "{scene.scuba}"), ("alias@example.org",)),
    "deliver -q": (by_deliver("-d", "{scene.scuba}"), ("4QUEUE",)),
    "deliver -s": (by_deliver("-d", "{scene.scuba}"), ("1G",)),
    "deliver -u": (by_deliver("-d", "{scene.scuba}"), ("{scene.lisa}",)),
    "deliver -S": (through_the_service, ("{socket}",)),
    "export --raw": (export_files, ("{scene.new}",)),
    "forget --dry-run": (without(old, read("forget", "--yes", "{scene.scuba}")), ()),
    "forget --yes": (without(old, read("forget", "{scene.scuba}")), ()),
    "ledger --running": (copy_of_the_ledger, ()),
    "list --state": (LIST, ("stored",)),
    "list --since": (LIST, ("2100-01-01",)),
    "list --until": (LIST, (OLD,)),
    "list --recipient": (LIST, ("{scene.doug}",)),
    "list --sender": (LIST, ("<>",)),
    "list --mailbox": (LIST, ("Sent",)),
    "list --subject": (LIST, ("alp",)),
    "list --message-id": (LIST, ("two",)),
    "list --queue-id": (LIST, ("4BETA",)),
    "list --min-delay": (LIST, ("2h",)),
    "list --missing": (without(Scene.empty, LIST), ()),
    "feed --follow": (goes_on, ()),
    "feed -j": (at_a_time, ("2",)),
    "feed --tries": (is_dead, ("1",)),
    "feed --raw": (of_feed("show", "{row}"), ()),
    "feed --part": (of_feed("show", "{row}"), ("1",)),
    "feed --subject": (waited_for, ("alp",)),
    "feed --json": (of_feed("list"), ()),
    "feed --dry-run": (of_feed("fill", "--since", "1d", "all"), ()),
    "feed --since": (of_feed("fill", "all"), ("1d",)),
    "list --limit": (LIST, ("1",)),
    "list --utc": (LIST, ()),
    "list --json": (LIST, ()),
    "locks --json": (read("locks"), ()),
    "purge --older-than": (without(old, read("purge")), ("7d",)),
    "purge --dry-run": (without(old, read("purge", "--older-than", "7d")), ()),
    "purge --json": (without(old, read("purge", "--older-than", "7d")), ()),
    "replay -d": (read("replay", "{scene.file}"), ("{scene.scuba}",)),
    "replay -f": (read("replay", "-d", "{scene.scuba}", "{scene.file}"), ("bounces@example.net",)),
    "replay -j": (in_parallel("replay", "-d", "{scene.scuba}", "--force", "{scene.file}", "{scene.stored}"), ("2",)),
    "replay --mbox": (read("replay", "--dry-run", "-d", "{scene.scuba}", "{scene.mbox}"), ("mboxcl2",)),
    "replay --dry-run": (read("replay", "{scene.file}"), ()),
    "replay --verify": (without(Scene.empty, read("replay", "-d", "{scene.scuba}", "{scene.stored}")), ()),
    "replay --force": (read("replay", "-d", "{scene.scuba}", "{scene.stored}"), ()),
    "replay --json": (read("replay", "{scene.file}"), ()),
    "restore --account": (without(Scene.empty, read("restore")), ("{scene.doug}",)),
    "restore --since": (without(Scene.empty, read("restore", "--dry-run")), ("2100-01-01",)),
    "restore -j": (in_parallel("restore", "--include-deleted", before=lambda scene: scene.deliver("seven@test.example", scene.doug, "gamma")), ("2",)),
    "restore --include-deleted": (without(Scene.empty, read("restore")), ()),
    "restore --dry-run": (without(Scene.empty, read("restore", "--include-deleted")), ()),
    "restore --json": (read("restore"), ()),
    "resume -j": (in_parallel("resume", before=lambda scene: scene.deliver_in_vain("seven@test.example", "gamma")), ("2",)),
    "resume --json": (read("resume"), ()),
    "route --json": (read("route", "{scene.scuba}"), ()),
    "setup --domain": (setup("--root", "{root}", "--dry-run"), ("example.org",)),
    "setup --transport": (SETUP, ("pipe",)),
    "setup --accounts": (SETUP, ("virtual",)),
    "setup --sent-copies": (SETUP, ()),
    "setup --conninfo": (SETUP, ("dbname=mail",)),
    "setup --postmaster": (SETUP, ("doug@example.org",)),
    "setup --root": (setup("--domain", "example.org", "--dry-run"), ("{root}",)),
    "setup --dry-run": (setup("--domain", "example.org", "--root", "{root}"), ()),
    "setup --undo": (setup("--root", "{root}", "--dry-run"), ()),
    "show --digest": (read("show", ONE), ()),
    "show --verify": (read("show", ONE), ()),
    "show --utc": (read("show", ONE), ()),
    "show --json": (read("show", ONE), ()),
    "stats --prometheus": (read("stats"), ()),
    "stats --json": (read("stats"), ()),
    "version --json": (read("version"), ()),
}


def test_each_option_is_here(site):
    found = set()
    for name in re.findall(r"^  ([a-z]+) ", site.run("help").out, re.M):
        usage = site.run("help", name).out.partition("\n\n")[0]
        found |= {f"{name} {option}" for option in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", usage)}
    assert len(found) > 50 and found == set(OPTIONS)


@pytest.mark.parametrize("option", OPTIONS)
def test_what_it_does(lab, ledgers, site, option):
    """With it, and twice without it: what differs from run to run is not what it does."""
    observe, value = OPTIONS[option]
    seen = observe(Scene(site), option.split()[1], *value)
    others = [site_module.new_site(lab, ledgers) for _ in range(2)]
    try:
        one, two = [observe(Scene(other)) for other in others]
    finally:
        for other in others:
            other.close()
    assert one == two != seen
