# SPDX-License-Identifier: ISC
"""The commands for people in a real terminal: it shows what a pipe gets, and of replay also a counter that disappears.

Seen to fail with: wide characters counted as one column; a counter that is not erased; a worker that is ended by the terminal's
Ctrl-C."""

import json
import os
import re
import select
import time
import unicodedata

import expect
from lab import lab as lab_module, terminal
from lab.messages import message, new_id, on_the_wire

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
SECONDS = 600

SHOWN = [["show", "{id}"], ["show", "unknown@id"], ["list"], ["list", "--state", "stored"], ["locks"], ["stats"],
         ["purge", "--older-than", "30d", "--dry-run"], ["expire", "--dry-run", "{id}"], ["route", "{account}"],
         ["ledger", "version"], ["version"], ["help"], ["help", "list"], ["help", "restore"], ["list", "--foo"], ["show", "--json", "{id}"],
         ["list", "--json"], ["stats", "--prometheus"], ["config"], ["ledger", "print"]]


def width(text):
    """Columns in a terminal, by Unicode's tables and not by the program's."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in unicodedata.normalize("NFC", text) if c != "\u00ad")


class Terminal:
    """The program in its own terminal, as a shell's foreground job: session, controlling terminal, descriptors."""

    def __init__(self, site, columns, *arguments, env=None):
        path = site.write_configuration(arguments)
        words = [lab_module.program(), "-c", path, *arguments]
        environment = {"TERM": "xterm", **site.environment(env)}
        self.process, self.fd = terminal.spawn(words, environment, columns)
        self.output = b""
        site.use(self)

    def read(self, seconds=0.05):
        """Reads what is there; False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:     # the last one has closed it
            data = b""
        self.output += data
        return bool(data)

    def until(self, pattern):
        end = time.monotonic() + SECONDS
        while not re.search(pattern, self.output):
            assert self.read() and time.monotonic() < end, self.output

    def type(self, text):
        os.write(self.fd, text)

    def finish(self):
        """Waits for the end; returns the exit status and the output."""
        end = time.monotonic() + SECONDS
        while self.read():
            assert time.monotonic() < end, self.output
        return self.process.wait(), self.output.decode()

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.fd)


def screen(output):
    """The lines as they finally appear: a CR without LF returns to the beginning of the line, CSI K erases the rest."""
    lines = []
    for line in output.replace("\r\n", "\n").split("\n"):
        pieces = line.split("\r")
        shown = pieces[-1]
        assert all("\x1b[K" in piece or not piece for piece in pieces[1:]), pieces   # otherwise the end of a longer line would remain
        lines.append(ESCAPE.sub("", shown))
    return lines


def drawn(output):
    """Every line that was visible at any time."""
    return [ESCAPE.sub("", piece) for line in output.split("\n") for piece in line.split("\r")]


SUBJECT = "日本語の件名がここに続きます " * 6 + "e\u0301tude " * 8 + "end"


class Ledger:
    """Contains something of every kind to show: wide, combining, long, failed."""

    def __init__(self, site):
        self.account, self.lisa = site.account("scuba"), site.account("lisa-with-a-rather-long-name-for-an-account")
        self.id = f"{'long' * 30}.{new_id()}"
        headers = "".join(f"Cc: =?utf-8?b?5pel5pys?= <{'a' * 60}{number}@{'b' * 60}.example>\n" for number in range(3))
        mail = message(id=self.id, sender=self.lisa, subject=SUBJECT, headers=headers,
                       body="Hello.\n")
        expect.stored(site.deliver(mail, self.account, "-q", "4abcDEF"))
        expect.duplicate(site.deliver(mail, self.account))
        site.deliver(message(id=self.id, body="Other.\n"), self.account)
        for number in range(5):
            expect.stored(site.deliver(message(subject=SUBJECT[number:]), self.account))
        site.sql("UPDATE oncedrop.copy SET state = 'failed', error = %s WHERE id = 3", ("Disk quota 容量 exceeded. " * 12,))
        site.sql("UPDATE oncedrop.copy SET state = 'appending', doubt = true, repeated = 2 WHERE id = 1")

    def words(self, arguments):
        return [word.format(id=self.id, account=self.account) for word in arguments]


def lines_of(text):
    """In any order, since one terminal shows both outputs; and without what goes on: ages."""
    return sorted(re.sub(r" +", " ", re.sub(r"\d+\.\d+", "N", re.sub(r"(seconds|unfinished:|age:) \d+$", r"\1 N", line)))
                  for line in text.replace("\r\n", "\n").split("\n"))


def test_a_terminal_shows_what_a_pipe_gets(site):
    ledger = Ledger(site)
    site.settings["delivery.hold_off"] = "400s"
    for arguments in SHOWN:
        words = ledger.words(arguments)
        _, output = Terminal(site, 80, *words).finish()
        done = site.run(*words)
        assert lines_of(output) == lines_of(done.out + done.err) and output.strip() and "\x1b" not in output, arguments


def test_nothing_is_lost(site):
    ledger = Ledger(site)
    flat = re.sub(r"\s+", " ", SUBJECT)
    for arguments in (["show", ledger.id], ["list"]):
        done = site.run(*arguments)
        assert flat in re.sub(r"\s+", " ", done.out) and ledger.id in done.out, done
        assert "Disk quota 容量 exceeded. " * 11 in done.out, done


def test_columns_are_aligned(site):
    """Also behind wide and combining characters."""
    Ledger(site)
    first, *lines = site.run("list", "--state", "stored").out.splitlines()
    at = first.index(" message_id")
    assert len(lines) >= 5
    for line in lines:
        before = next(line[:i] for i in range(len(line)) if width(line[:i]) == at)
        assert re.match(r" \S+@\S+ ", line[len(before):]), (first, line)


def test_the_lock_key_of_a_queue_id_is_its_message_s(site):
    ledger = Ledger(site)
    keys = {re.search(r"^lock_key: (-?\d+)$", site.run("show", id).out, re.M)[1] for id in ("4abcDEF", ledger.id)}
    assert keys == {str(site.value("SELECT lock_key FROM oncedrop.message WHERE id = 1"))}


# replay

def many(site, account, count=400):
    mails = [message() for _ in range(count)]
    path = os.path.join(site.directory, f"many{count}")
    os.mkdir(path)
    for number, mail in enumerate(mails):
        with open(os.path.join(path, f"{number:04}.eml"), "wb") as file:
            file.write(mail)
    with open(os.path.join(path, "9999.eml"), "wb"):
        pass    # this one fails
    return path, mails


def test_the_counter(site):
    scuba, count, seconds = site.account(), 400, 0
    while seconds <= 1:     # so that it was drawn several times
        path, mails = many(site, scuba, count)
        started = time.monotonic()
        status, output = Terminal(site, 80, "replay", "-j", "2", "-d", scuba, path).finish()
        seconds, count = time.monotonic() - started, 2 * count
    assert status == 65
    drawn = [int(number) for number in re.findall(rf"\r(\d+)/{len(mails) + 1} done", output)]
    assert len(drawn) >= 3 and drawn == sorted(drawn) and drawn[0] < drawn[-1], output[:2000]
    final = [line for line in screen(output) if line.strip()]
    assert not any(" done," in line for line in final), final
    assert final[0].startswith("failed") and "9999.eml" in final[0] and "nothing to read" in final[0]
    assert f"{len(mails)} stored, 0 duplicate, 0 deferred, 1 failed" in final[1]


def test_no_counter_in_a_pipe(site):
    scuba = site.account()
    path, mails = many(site, scuba, 20)
    done = site.run("replay", "-d", scuba, path)
    assert "\r" not in done.out + done.err and "\x1b" not in done.out + done.err and not done.err, done
    lines = done.out.splitlines()
    assert len(lines) == len(mails) + 2
    assert [line.split()[0] for line in lines[:-1]] == ["stored"] * len(mails) + ["failed"]


def test_json_goes_next_to_the_counter(site):
    """stdout is a pipe and stderr a terminal: one gets the objects, the other the counter."""
    scuba = site.account()
    path, mails = many(site, scuba, 200)
    conf = site.write("oncedrop.conf", site.configuration())
    command = 'out=$1; shift; exec "$@" >"$out"'
    out = os.path.join(site.directory, "out")
    process, fd = terminal.spawn(["/bin/sh", "-c", command, "sh", out, lab_module.program(), "-c", conf, "replay", "--json",
                                  "-j", "2", "-d", scuba, path], site.environment())
    output = b""
    while True:
        try:
            data = os.read(fd, 65536)
        except OSError:
            break
        if not data:
            break
        output += data
    os.close(fd)
    assert process.wait() == 65
    with open(out, encoding="utf-8") as file:
        assert len(list(map(json.loads, file))) == len(mails) + 1
    assert b"/201" in output and b"{" not in output


def test_ctrl_c_ends_it_in_order(site):
    """The terminal sends it to the workers too; deliveries in progress are finished all the same."""
    scuba = site.account()
    path, mails = many(site, scuba)
    terminal = Terminal(site, 80, "replay", "-j", "3", "-d", scuba, path)
    terminal.until(rb"\r[1-9]\d*/")
    terminal.type(b"\x03")
    status, output = terminal.finish()
    final = " ".join(line.strip() for line in screen(output))
    assert status == 75 and "run it again" in final, output
    stored = int(re.search(r"messages?: (\d+) stored, 0 duplicate, 0 deferred, 0 failed", final)[1])
    assert 0 < stored < len(mails)
    assert site.count(scuba) == stored
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0
    status, output = Terminal(site, 80, "replay", "-j", "3", "-d", scuba, path).finish()
    final = " ".join(line.strip() for line in screen(output))
    assert status == 65 and f"{len(mails) - stored} stored, {stored} duplicate, 0 deferred, 1 failed" in final, output
    assert sorted(one.raw for one in site.messages(scuba)) == sorted(map(on_the_wire, mails))
