# SPDX-License-Identifier: ISC
"""Every message can be delivered even if it cannot be decoded, and only its own contents get into the record.

Each test was seen to fail with decoding in the process that delivers, under the lock, with every converter that the libc
has."""

import os
import re
import signal
import subprocess

import expect
import pytest
from lab import lab as lab_module, lmtp
from lab.ledger import MARIADB, SQLITE, engine
from lab.messages import message, new_id
from lab.process import wait_until

# These must not be found in any column of the record.
TABLES = ("message", "address", "part", "delivery", "copy")
MODULE = "-decode.so"
CANARY = "canary-in-the-heap"


def mail(headers="", body="Hello.\n"):
    """With the Message-ID first: (id, bytes)."""
    id = new_id()
    headers = headers if isinstance(headers, bytes) else headers.encode()
    body = body if isinstance(body, bytes) else body.encode()
    return id, b"Message-ID: <%s>\n%s\n%s" % (id.encode(), headers, body)


def record(site, id):
    [row] = site.sql('SELECT id, subject, "from" AS author FROM oncedrop.message WHERE message_id = %s', (id,))
    return row


def texts(site):
    return [row[0] for row in site.sql("SELECT text FROM oncedrop.part")]


def with_canary(site):
    """The configuration is on the heap of every process, like the database's password."""
    if engine() == SQLITE:
        link = os.path.join(site.directory, CANARY)
        os.symlink(os.path.dirname(site.database), link)
        site.settings["database.conninfo"] = f"sqlite:{link}/{os.path.basename(site.database)}"
        return
    more = f"?socket=/{CANARY}" if engine() == MARIADB else f" fallback_application_name={CANARY}"
    site.settings["database.conninfo"] += more


def leaks(site):
    return [(table, row) for table in TABLES for row in site.sql(f"SELECT * FROM oncedrop.{table}") if CANARY in str(row)]


def test_heap_does_not_get_into_the_record(site):
    with_canary(site)
    for _ in range(3):
        id, bytes = mail("Content-Type: text/plain; charset=ISO-2022-CN-EXT\n", "x\x0e")
        expect.stored(site.deliver(bytes, site.account()))
        assert record(site, id)
    assert texts(site) == ["x\x0e"] * 3
    assert not leaks(site)


@pytest.mark.parametrize("level, field", [
    ("envelope", "Subject: {}"),
    ("envelope", "From: {} <lisa@elsewhere.example>"),
    ("headers", "To: {}: lisa@elsewhere.example;"),
    ("text", "Content-Type: text/plain; name=\"{}\""),
    ("raw", "Content-Disposition: inline; filename=\"{}\""),
])
def test_header_that_ends_gmime(site, level, field):
    site.settings["record.level"] = level
    id, bytes = mail(field.format("=?iso-2022-cn-ext?q?=0E?=") + "\n")
    expect.stored(site.deliver(bytes, site.account()))
    assert record(site, id)


@pytest.mark.skipif(lab_module.is_sanitized(), reason="a sanitizer has its own iconv(3)")
def test_libraries_convert_by_the_program(site):
    """So what gmime assembles of pieces is checked, too. ld.so(8) says whose function each library calls."""
    done = site.run("version", env={"LD_DEBUG": "bindings"})
    called = re.findall(r"/libglib-\S+ \[0\] to (\S+) \[0\]: normal symbol `(iconv|iconv_open)'", done.err)
    assert set(called) == {(lab_module.program(), "iconv"), (lab_module.program(), "iconv_open")}, called


def test_lmtp_session_survives(site):
    account = site.account()
    session = lmtp.start(site)
    for headers in ("Subject: =?iso-2022-cn-ext?q?=0E?=\n", "Content-Type: a/b; x*=iso-2022-cn-ext''%0E\n", ""):
        id, bytes = mail(headers)
        lmtp.stored(session.deliver(bytes, account)[0])
        assert record(site, id)
    assert site.count(account) == 3


def test_replay(site):
    account, (id, bytes) = site.account(), mail("Subject: =?iso-2022-cn-ext?q?=0E?=\n")
    path = os.path.join(site.directory, "bad.eml")
    with open(path, "wb") as file:
        file.write(bytes)
    assert site.run("replay", "--dry-run", "-d", account, path).exit == 0
    assert site.count(account) == 0
    assert site.run("replay", "-d", account, path).exit == 0
    assert site.count(account) == 1
    assert record(site, id)


def chain(size):
    """Nested messages, each of nearly that size."""
    return mail("Content-Type: message/rfc822\n", "Content-Type: message/rfc822\n\n" * 60 + "a line\n" * (size // 7))


def decoder(process):
    """The child of a delivery, stopped."""
    path = f"/proc/{process.process.pid}/task/{process.process.pid}/children"

    def children():
        with open(path, encoding="ascii") as file:
            return file.read().split()

    def limited():
        """The last system call before it decodes."""
        with open(f"/proc/{children()[0]}/limits", encoding="ascii") as file:
            return re.search(r"^Max cpu time +\d", file.read(), re.MULTILINE)

    wait_until(children, "a process to decode in")
    wait_until(limited, "its limits")
    [pid] = children()
    os.kill(int(pid), signal.SIGSTOP)
    return int(pid)


def test_nothing_is_held_while_a_message_is_decoded(site):
    """If the decoder is killed there, before it has reached the sender, the mail is deferred."""
    account, (id, bytes) = site.account(), chain(20_000_000)
    session = lmtp.start(site)      # before: the wait for the stopped decoder is limited
    process = site.start_delivery(bytes, account)
    pid = decoder(process)
    wait_until(site.ledger.sessions, "a connection to the database")
    assert not site.ledger.locked() and not site.ledger.busy_sessions()
    other = message(id=id)      # its lock is the same one
    lmtp.stored(session.deliver(other, site.account("other"))[0])
    os.kill(pid, signal.SIGKILL)
    expect.deferred(process.finish(), r"4\.3\.0", "decoder", "signal 9")
    expect.stored(site.deliver(bytes, account))
    assert site.count(account) == 1
    assert site.value("SELECT count(*) FROM oncedrop.message WHERE message_id = %s", (id,)) == 2


def test_decoder_goes_with_the_delivery(site):
    process = site.start_delivery(chain(20_000_000)[1], site.account())
    pid = decoder(process)
    process.signal(signal.SIGKILL)

    def gone():
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii") as file:
                return file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    wait_until(gone, "the decoder's end")


def test_a_warning_shows_no_field_that_the_message_forged(site):
    """A Message-ID that would end its own field, and begin others."""
    site.settings["log.to"] = "stderr"
    forged = "a>, to=<victim@example.org>, status=<b@c"
    id, bytes = chain(20_000_000)
    process = site.start_delivery(bytes.replace(id.encode(), forged.encode(), 1), site.account())
    pid = decoder(process)
    os.kill(pid, signal.SIGSEGV)
    os.kill(pid, signal.SIGCONT)
    done = process.finish()
    [warning] = [line for line in (done.out + done.err).splitlines() if "only in part" in line]
    assert "to=<victim" not in warning and "status=<" not in warning, warning


BOMBS = {
    "messages in a message": lambda: chain(4_000_000),
    "parts": lambda: mail("Content-Type: multipart/mixed; boundary=b\n", "--b\n\nx\n" * 100_000),
    "multiparts": lambda: mail("Content-Type: multipart/mixed; boundary=b\n",
                               "--b\nContent-Type: multipart/mixed; boundary=b\n\n" * 10_000),
    "comments": lambda: mail("To: " + "(" * 1_000_000 + "\n"),
    "quotes": lambda: mail("From: " + "\"" * 1_000_001 + "\n"),
    "groups": lambda: mail("To: " + "a:" * 500_000 + "\n"),
    "addresses": lambda: mail("To: " + "a@b," * 250_000 + "\n"),
    "words": lambda: mail("Subject: " + "=?utf-8?q?x?= " * 70_000 + "\n"),
    "ids": lambda: mail("References: " + "<a@b>" * 200_000 + "\n"),
    "parameters": lambda: mail("Content-Type: a/b; " + "a*1*=b;" * 150_000 + "\n"),
    "fields": lambda: mail("X: y\n" * 200_000),
    "escapes": lambda: mail("Content-Type: text/plain; charset=iso-2022-jp\n", "\x1b$B" * 500_000),
    "end of CP949": lambda: mail("Subject: =?windows-949?q?=A2=E8?=\nContent-Type: text/plain; charset=windows-949\n", b"x\xa2\xe8"),
}


# Normally processor time limits a decoder; where it gets little of that, the clock does.
SLOW = "only in part: decoding took too long"
CUT_OFF = r"only in part: (?!decoding took too long)"


def test_bombs(site):
    account = site.account()
    site.settings["log.to"] = "stderr"
    session = lmtp.start(site)
    for name, make in BOMBS.items():
        id, bytes = make()
        [reply] = session.deliver(bytes, account)
        assert reply.code == 250, (name, reply)
        assert record(site, id), name
    assert site.count(account) == len(BOMBS)
    assert not re.search(CUT_OFF, session.log())


def charset_names():
    listed = subprocess.run(["iconv", "-l"], stdout=subprocess.PIPE, check=True).stdout.decode()
    names = sorted(set(re.split(r"[/\s,]+", listed)) - {""})
    assert len(names) > 1000, names
    return names


CUT = (b"\x0e", b"x\x0e", b"\x1b", b"\x1b$", b"\x1b$)A\x0e", b"\xff", b"\x81", b"+", b"\xe3\x81", b"\xa2\xe8")


def well_formed(name):
    """Text in that character set; b"x" if the set does not contain such letters."""
    done = subprocess.run(["iconv", "-f", "UTF-8", "-t", name], input=b"Hello", stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False)
    return done.stdout or b"x"


def charset_places(name):
    """The name wherever one may occur, with each content: in words and in parts."""
    contents = ["".join(f"={byte:02X}" for byte in content) for content in (well_formed(name), *CUT)]
    words = [f"=?{name}?q?{content}?=" for content in contents]
    parts = [f"--b\nContent-Type: text/plain; charset=\"{name}\"; name*={name}''{content.replace('=', '%')}\n"
             f"Content-Disposition: inline; filename*0=\"{word[:4]}\"; filename*1=\"{word[4:]}\"\n"
             f"Content-Transfer-Encoding: quoted-printable\n\n{content}\n" for word, content in zip(words, contents)]
    return words, parts


def charset_mail(names):
    places = [charset_places(name) for name in names]
    words = [word for some, _ in places for word in some]
    parts = [part for _, some in places for part in some]
    fields = (f"Subject: {' '.join(words)}\nFrom: {words[1]} <lisa@elsewhere.example>\nTo: "
              + ",\n ".join(f"{word}: \"=\\{word[1:]}\" <a@b>;, a@b ({word})" for word in words)
              + "\nContent-Type: multipart/mixed; boundary=b\n")
    return *mail(fields, "".join(parts) + "--b--\n"), len(parts)


def deliver_charsets(session, account, names):
    """Returns the id and the number of parts. Retries with another message if the decoder ran out of time."""
    for _ in range(5):
        slow = session.log().count(SLOW)
        id, bytes, parts = charset_mail(names)
        lmtp.stored(session.deliver(bytes, account)[0])
        if session.log().count(SLOW) == slow:
            return id, parts
    raise TimeoutError(f"not decoded in time: {names}")


def test_every_charset(site):
    """Each one in the C library, in body, header, parameter and name, whole and cut within a sequence, in one
    session."""
    account = site.account()
    with_canary(site)
    site.settings["log.to"] = "stderr"
    if lab_module.is_sanitized():       # which keeps freed memory, until there is no more
        site.settings["delivery.memory"] = "0"
    session = lmtp.start(site)
    names = charset_names()
    parts = dict(deliver_charsets(session, account, names[at:at + 40]) for at in range(0, len(names), 40))
    recorded = dict(site.sql("SELECT message_id, count(*) FROM oncedrop.message m JOIN oncedrop.part p ON p.message = m.id"
                             " GROUP BY message_id"))
    assert {id: recorded.get(id) for id in parts} == parts
    assert sum(parts.values()) == len(names) * (len(CUT) + 1)
    assert not leaks(site)
    assert not re.search(CUT_OFF, session.log())


def copy_program(site, change):
    """Without its decoder, or with a changed one."""
    path = lab_module.copy_program(site.lab.new_directory("program"))
    if not change:
        os.unlink(path + MODULE)
        return path
    with open(path + MODULE, "r+b") as file:
        module = file.read()
        file.seek(0)
        file.write(change(module))
    return path


def of_another_build(module):
    return re.sub(rb"\x000\.1 (?=\d+ \d+\x00)", b"\x000.9 ", module)


@pytest.mark.parametrize("change", [None, of_another_build])
def test_program_without_its_decoder_defers(site, monkeypatch, change):
    account, (_, bytes) = site.account(), mail("Subject: =?utf-8?q?x?=\n")
    program = copy_program(site, change)
    with monkeypatch.context() as patch:
        patch.setenv("ONCEDROP", program)
        done = site.deliver(bytes, account)
        expect.deferred(done, r"4\.3\.0", "cannot load the decoder", program + MODULE if change else MODULE,
                        "Debian's package oncedrop")
        assert re.search(rf"(?s)failed +decoder .*oncedrop{MODULE}", site.run("check").out)
    assert site.count(account) == 0
    expect.stored(site.deliver(bytes, account))


# Runs a program where no filter of system calls can be installed: prctl(PR_SET_SECCOMP) fails as in a kernel without them.
WITHOUT_FILTERS = """#!/usr/bin/python3
import ctypes, os, sys
class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]
library = ctypes.CDLL("libseccomp.so.2")
library.seccomp_init.restype = ctypes.c_void_p
context = ctypes.c_void_p(library.seccomp_init(0x7fff0000))     # SCMP_ACT_ALLOW
prctl = library.seccomp_syscall_resolve_name(b"prctl")
equal = Compare(0, 4, 22, 0)                                    # SCMP_CMP_EQ, PR_SET_SECCOMP
einval = 0x00050000 | 22                                        # SCMP_ACT_ERRNO(EINVAL)
assert library.seccomp_rule_add_array(context, einval, prctl, 1, ctypes.byref(equal)) == 0
assert library.seccomp_load(context) == 0
os.execv({program!r}, sys.argv)
"""


@pytest.mark.skipif(lab_module.is_sanitized(), reason="sanitizers make calls of their own, so there is no filter")
def test_kernel_without_filters(site, monkeypatch):
    """Messages are decoded all the same; the log says so once, and so does `check`."""
    account = site.account()
    site.settings["log.to"] = "stderr"
    path = os.path.join(site.lab.new_directory("program"), "oncedrop")
    with open(path, "w", encoding="ascii") as file:
        file.write(WITHOUT_FILTERS.format(program=lab_module.copy_program(site.lab.new_directory("program"))))
    os.chmod(path, 0o755)
    told = "the decoder runs without sandbox: cannot set a filter of its system calls: Invalid argument"
    for unfiltered in (True, False):
        with monkeypatch.context() as patch:
            if unfiltered:
                patch.setenv("ONCEDROP", path)
            session = lmtp.start(site)
            for _ in range(2):
                id, bytes = mail("Subject: =?koi8-r?q?=D4?=\n")
                lmtp.stored(session.deliver(bytes, account)[0])
                assert record(site, id).subject == "\u0442"
            assert session.log().count(told) == unfiltered
            assert bool(re.search("warning +decoder .*Invalid argument", site.run("check").out)) == unfiltered


def test_who_has_many_messages_has_loaded_the_decoder(site, monkeypatch):
    """Each child takes a hundred messages. The second one has it from its parent, so the third one misses no file."""
    account, (_, bytes) = site.account(), mail("Subject: x\n")
    program = lab_module.copy_program(site.lab.new_directory("program"))
    monkeypatch.setenv("ONCEDROP", program)
    session = lmtp.start(site)
    for number in range(205):
        if number == 105:
            os.unlink(program + MODULE)
        [reply] = session.deliver(bytes, account)
        assert reply.code == 250, (number, reply)
