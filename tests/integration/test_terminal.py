# SPDX-License-Identifier: ISC
"""The commands for people in a real terminal: nothing is wider than the window except a word to be copied, colours only there, a progress bar that
disappears; and in a pipe, where nothing is cut.

Seen to fail with: wide characters counted as one column; colours without a look at the terminal; a bar that is not
erased; a column of times that may be cut; a worker that is ended by the terminal's Ctrl-C; an id that is broken; a usage
line broken inside of its brackets; tables that are cut in show; a reason in a column of twelve."""

import json
import os
import re
import select
import time
import unicodedata

import expect
import pytest
from lab import lab as lab_module, terminal
from lab.messages import message, new_id, on_the_wire

ESCAPE = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SECONDS = 600
WIDTHS = [200, 80]

# Output for other programs, or for copying, is the same in any window.
TABLES = [["show", "{id}"], ["show", "unknown@id"], ["list"], ["list", "--state", "stored"], ["locks"], ["stats"],
          ["purge", "--older-than", "30d", "--dry-run"], ["expire", "--dry-run", "{id}"], ["check", "{account}"],
          ["replay", "--dry-run", "-d", "{account}", "{path}"], ["replay", "-j", "2", "-d", "{account}", "{path}"],
          ["resume"], ["restore", "--dry-run"], ["route", "{account}"], ["schema", "version"], ["version"], ["help"]]
HELP = [["help", name] for name in ("deliver", "lmtp", "replay", "resume", "restore", "show", "list", "locks", "stats", "purge", "expire",
                                    "schema", "check", "route", "config", "version", "help", "serve", "setup", "ledger", "export", "forget")]


def width(text):
    """Columns in a terminal, by Unicode's tables and not by the program's."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 2 if unicodedata.east_asian_width(c) in "WF" else 1
               for c in unicodedata.normalize("NFC", text) if c != "\u00ad")


def too_wide(line, columns, indent=22):
    """Whether it was not left so wide for one long word's sake: what stands before that fits. indent: the deepest."""
    *words, last = line.rstrip().split(" ")
    return width(line) > columns and not (width(last) > columns - indent and width(" ".join(words)) < columns)


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
        self.path = os.path.join(site.directory, "files with a name that is rather long, as such names are " + "x" * 90)
        os.mkdir(self.path)
        for number in range(3):
            with open(os.path.join(self.path, f"{number}.eml"), "wb") as file:
                file.write(message() if number else b"")

    def words(self, arguments):
        return [word.format(id=self.id, account=self.account, path=self.path) for word in arguments]


@pytest.mark.parametrize("columns", WIDTHS)
def test_no_line_is_wider_than_the_window(site, columns):
    ledger = Ledger(site)
    site.settings["delivery.hold_off"] = "400s"
    for arguments in TABLES + HELP:
        _, output = Terminal(site, columns, *ledger.words(arguments)).finish()
        wide = [line for line in drawn(output) if too_wide(line, columns)]
        assert not wide, (arguments, wide)
        assert output.strip(), arguments


def test_what_is_for_other_programs_is_whole(site):
    """Lines for copying, or for programs, are the same in any window and in a pipe."""
    ledger = Ledger(site)
    for arguments in (["show", "--json", "{id}"], ["list", "--json"], ["stats", "--prometheus"], ["config"],
                      ["schema", "print"]):
        _, output = Terminal(site, 80, *ledger.words(arguments)).finish()
        piped = site.run(*ledger.words(arguments)).out
        steady = re.compile(r'oldest_unfinished_seconds \d+|"delay": [\d.]+')
        assert steady.sub("", output.replace("\r\n", "\n")) == steady.sub("", piped), arguments


def test_colours_are_for_terminals(site):
    ledger = Ledger(site)
    coloured = set()
    for arguments in TABLES + HELP:
        words = ledger.words(arguments)
        if COLOUR.search(Terminal(site, 100, *words).finish()[1]):
            coloured.add(arguments[0])
        assert not COLOUR.search(Terminal(site, 100, *words, env={"NO_COLOR": "1"}).finish()[1]), arguments
        done = site.run(*words)
        assert "\x1b" not in done.out + done.err, arguments
    assert {"show", "list"} <= coloured


def test_nothing_is_lost_in_a_pipe(site):
    ledger = Ledger(site)
    flat = re.sub(r"\s+", " ", SUBJECT)
    for arguments in (["show", ledger.id], ["list"]):
        done = site.run(*arguments)
        assert flat in re.sub(r"\s+", " ", done.out) and ledger.id in done.out, done
        assert "Disk quota 容量 exceeded. " * 11 in done.out, done
        assert "…" not in done.out and "Left out" not in done.err


@pytest.mark.parametrize("columns", [200, 80, 40])
def test_show_loses_nothing_in_a_terminal_either(site, columns):
    """Its texts are broken, not cut, and a table that does not fit is none; what one copies is in one piece."""
    ledger = Ledger(site)
    _, output = Terminal(site, columns, "show", ledger.id).finish()
    output = ESCAPE.sub("", output)
    whole = re.sub(r"\s", "", output)
    assert re.sub(r"\s", "", SUBJECT) in whole and "…" not in output
    assert ledger.id in output and f"{'a' * 60}0@{'b' * 60}.example" in output
    assert output.count("lock_key:") == 2     # of each of the two messages with this id


def test_the_lock_key_of_a_queue_id_is_its_message_s(site):
    ledger = Ledger(site)
    keys = {re.search(r"^lock_key: (-?\d+)$", site.run("show", id).out, re.M)[1] for id in ("4abcDEF", ledger.id)}
    assert keys == {str(site.value("SELECT lock_key FROM oncedrop.message WHERE id = 1"))}


@pytest.mark.parametrize("columns", [160, 80])
def test_list_gives_reasons_in_full(site, columns):
    """Below its row; and how long it took in words, which a pipe has in seconds."""
    Ledger(site)
    site.ledger.older("copy", "first_at", hours=26, id=1)
    site.sql("UPDATE oncedrop.copy SET role = 'inbox' WHERE id = 1")
    _, output = Terminal(site, columns, "list", "--state", "failed").finish()
    lines = ESCAPE.sub("", output).splitlines()
    assert re.search("delay +mailbox", lines[0]) and "error" not in lines[0]
    assert re.match(r"    Disk quota 容量 exceeded\. Disk", lines[2]), output
    reason = " ".join(line.strip() for line in lines if line.startswith("    "))
    assert reason == " ".join(["Disk quota 容量 exceeded."] * 12)
    header = ESCAPE.sub("", Terminal(site, columns, "list").finish()[1]).splitlines()[0]
    assert columns == 160 or "subject" not in header     # whose first words alone say nothing
    assert columns == 80 or re.search(r"subject {23,}", header)
    _, output = Terminal(site, columns, "list", "--min-delay", "1d").finish()
    assert re.search(r"^[\d-]{10} [\d:+-]{14}  appending .* 1 d 2 h( |$)", ESCAPE.sub("", output).replace("\r", ""), re.M), output
    assert re.search(r" 936\d\d\.\d+ ", site.run("list", "--min-delay", "1d").out)


def test_usage_is_broken_between_brackets(site):
    for words in (["list", "--foo"], ["help", "list"], ["replay"], ["stats", "x"], ["help", "replay"]):
        _, output = Terminal(site, 80, *words).finish()
        usage = ESCAPE.sub("", output).replace("\r", "")
        for line in usage.splitlines():
            assert line.count("[") == line.count("]") or "usage" not in usage and "oncedrop" not in line, (words, usage)
        assert not re.search(r" $", usage, re.M), usage


@pytest.mark.parametrize("columns", [200, 160, 80, 60])
def test_times_and_ids_are_never_cut(site, columns):
    """A column that must not be cut is complete or missing, and it never displaces an id."""
    ledger = Ledger(site)
    expect.stored(site.deliver(message(), ledger.account, "-q", "4abcDEG"))
    for arguments in TABLES:
        _, output = Terminal(site, columns, *ledger.words(arguments)).finish()
        cut = re.findall(r"\S*…", ESCAPE.sub("", output))
        assert not [word for word in cut if re.match(r"[\d-]|4abc|long", word)], (arguments, cut)
    lines = ESCAPE.sub("", Terminal(site, columns, "list", "--queue-id", "4abcDEG").finish()[1]).splitlines()
    assert lines[0].split()[:3] == ["at", "state", "queue_id"] and (columns < 80 or lines[0].split()[3] == "account")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d  stored +4abcDEG", lines[1]), lines


@pytest.mark.parametrize("columns", [80, 40])
@pytest.mark.parametrize("queue_id", ["4abcDEG", "0123456789", "4Zb1Yk5nMXz9rF2"])
def test_list_never_leaves_out_a_queue_id(site, columns, queue_id):
    """What does not fit next to it is left out, even the time."""
    expect.stored(site.deliver(message(), site.account("one-with-a-long-name"), "-q", queue_id))
    lines = ESCAPE.sub("", Terminal(site, columns, "list").finish()[1]).splitlines()
    assert "queue_id" in lines[0].split() and queue_id in lines[1].split(), lines
    assert ("at" in lines[0].split()) == (columns == 80 or len(queue_id) < 12), lines


def test_list_says_what_is_left_out(site):
    Ledger(site)
    _, output = Terminal(site, 80, "list").finish()
    assert "Left out here: " in output and "--json" in output
    _, output = Terminal(site, 400, "list").finish()
    assert "Left out" not in output


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


def replayed(site, columns):
    """Status and output of a replay that took more than a second, so that the bar was drawn several times, and its
    messages."""
    scuba, count, seconds = site.account(), 400, 0
    while seconds <= 1:
        path, mails = many(site, scuba, count)
        started = time.monotonic()
        status, output = Terminal(site, columns, "replay", "-j", "2", "-d", scuba, path).finish()
        seconds, count = time.monotonic() - started, 2 * count
    return status, output, mails


@pytest.mark.parametrize("columns", [200, 80, 30])
def test_the_progress_bar(site, columns):
    status, output, mails = replayed(site, columns)
    assert status == 65
    bars = [line for line in drawn(output) if re.match(r"\[[#.]", line)]
    assert len(bars) >= 3 and all(width(bar) < columns for bar in bars), output[:2000]
    assert columns < 80 or f"/{len(mails) + 1}" in bars[-1]
    if columns >= 80:
        assert any(re.search(r"\d+/s", bar) for bar in bars)
        assert any(re.search(r"\d+:\d\d left", bar) and "stored" in bar for bar in bars), bars
        assert bars[0].count("#") < bars[-1].count("#")
    final = [line for line in screen(output) if line.strip()]
    assert not any("[#" in line or "[." in line for line in final), final
    joined = "".join(line.strip() for line in final)
    assert joined.startswith("failed") and "9999.eml" in joined
    assert "nothing to read" in " ".join(line.strip() for line in final)
    assert f"{len(mails)} stored, 0 duplicate, 0 deferred, 1 failed" in " ".join(line.strip() for line in final)


def test_no_bar_in_a_pipe(site):
    scuba = site.account()
    path, mails = many(site, scuba, 20)
    done = site.run("replay", "-d", scuba, path)
    assert "\r" not in done.out + done.err and "\x1b" not in done.out + done.err and not done.err, done
    lines = done.out.splitlines()
    assert len(lines) == len(mails) + 2
    assert [line.split()[0] for line in lines[:-1]] == ["stored"] * len(mails) + ["failed"]


def test_json_goes_beside_the_bar(site):
    """stdout is a pipe and stderr a terminal: one gets the objects, the other the bar."""
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
    terminal.until(rb" stored \d")
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
