# SPDX-License-Identifier: ISC
"""The front: hands a delivery over to the service, or lets the full program do it. Here the service follows a script; for
the real one see test_front_service.py.

Seen to fail with: no look at the output after reading, before the final mark, or while waiting; the final mark sent before
the 354; the full program loaded after the mark; a reply's status believed regardless of its text; the message given to the
full program from where reading had ended; an empty RECIPIENT handed over."""

import grp
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import threading
import time

import expect
import pytest
from lab import lab as lab_module, user as ordinary
from lab.front import Front
from lab.messages import message, on_the_wire
from lab.process import find_program, wait_until

CUT = "4.3.0 Postfix has gone away: the message may be cut short\n"
SILENT = "4.3.0 the service did not answer; it may have delivered the message\n"
SIZES = {"small": 0, "a memfd": 100_000, "a file": 17_000_000}


@pytest.fixture
def front(site):
    new = Front(site)
    yield new
    new.close()


def mail_of(size):
    return message(body="Hello.\n" if not size else b"0123456789abcde\n" * (size // 16))


def stored_once(front, done, mail, recipient):
    """By the full program."""
    expect.stored(done)
    assert [one.raw for one in front.site.messages(recipient)] == [on_the_wire(mail)]


# What the service gets


def test_no_library():
    shown = subprocess.run([find_program("readelf"), "-d", lab_module.program()], check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", shown)
    sanitizers = [name for name in needed if name.startswith(("libasan.", "libubsan.", "libm.", "libgcc_s."))]
    assert set(needed) - set(sanitizers) == {"libc.so.6"} and bool(sanitizers) == lab_module.is_sanitized(), needed


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES.keys())
def test_the_message_is_handed_over(front, size):
    def script(client):
        client.take()
        client.send("250 0 2.1.5 stored uid=7 mailbox=INBOX")
    service = front.service(script)
    mail = mail_of(size) + b"a\rb\0c\n.\n..\r\n\xff"
    done = front.deliver(mail, "-d", "scuba@example.org")
    assert (done.exit, done.out) == (0, "2.1.5 stored uid=7 mailbox=INBOX\n"), done
    assert service.finished() == [True]
    assert service.clients[0].message == mail


ENVELOPES = {
    "options": (["-f", "a@b", "-d", "c@d", "-a", "e@f", "-q", "4Q", "-s", "12", "-u", "me"], {},
                {"SENDER": "a@b", "RECIPIENT": "c@d", "ORIGINAL": "e@f", "QUEUEID": "4Q", "SIZE": "12", "LOGIN": "me"}),
    "environment": ([], {"SENDER": "a@b", "RECIPIENT": "c@d", "ORIGINAL_RECIPIENT": "e@f", "SASL_USERNAME": "me"},
                    {"SENDER": "a@b", "RECIPIENT": "c@d", "ORIGINAL": "e@f", "LOGIN": "me"}),
    "options before the environment": (["-f", "", "-d", ""], {"SENDER": "a@b", "RECIPIENT": "c@d"},
                                       {"SENDER": "", "RECIPIENT": ""}),
    "empty": ([], {"SENDER": "", "RECIPIENT": "", "ORIGINAL_RECIPIENT": "", "SASL_USERNAME": ""}, {"SENDER": "", "LOGIN": ""}),
    "nothing": ([], {}, {}),
    "any bytes": (["-d", b"a b+c=d\n\xff@e", "-q", b"\x01"], {}, {"RECIPIENT": "a+20b+2Bc+3Dd+0A+FF@e", "QUEUEID": "+01"}),
    "the last one": (["-d", "x", "-d", "y"], {}, {"RECIPIENT": "y"}),
}


@pytest.mark.parametrize("arguments,env,parameters", ENVELOPES.values(), ids=ENVELOPES.keys())
def test_the_envelope_is_handed_over(front, arguments, env, parameters):
    def script(client):
        client.take()
        client.send("250 0 2.1.5 stored")
    service = front.service(script)
    begun = time.clock_gettime(time.CLOCK_BOOTTIME)
    assert front.deliver(message(), *arguments, env=env).exit == 0
    assert service.finished() == [True]
    found = service.clients[0].parameters
    assert int(begun * 1000) <= int(found.pop("SINCE")) <= time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
    assert found == parameters


# Before the final mark: the full program


def says(*lines):
    """Instead of a greeting."""
    def script(client):
        for line in lines:
            client.send(line)
        client.wait_for_end()
    return script


def answers(*lines):
    """Instead of 354."""
    def script(client):
        client.send("220 fake")
        client.command()
        for line in lines:
            client.send(line)
        client.wait_for_end()
    return script


def closes_at_once(_):
    pass


def closes_after_greeting(client):
    client.send("220 fake")


def closes_after_command(client):
    client.send("220 fake")
    client.command()


def closes_in_the_message(client):
    client.send("220 fake")
    client.command()
    client.line()
    client.stream.read(20)


def closes_before_the_mark(client):
    client.send("220 fake")
    client.command()
    client.chunk()


BEFORE = {
    "421": says("421 4.7.0 who is it"),
    "another protocol": says("* OK IMAP"),
    "a greeting without end": says(b"220 " + b"x" * 5000),
    "closed at once": closes_at_once,
    "closed after the greeting": closes_after_greeting,
    "closed after XDELIVER": closes_after_command,
    "closed in the message": closes_in_the_message,
    "closed before the mark": closes_before_the_mark,
    "XDELIVER is unknown": answers("500 5.5.1 unknown command"),
    "refused for now": answers("451 4.3.0 no memory"),
    "354 without a time": answers("354 go ahead"),
    "354 with a negative time": answers("354 -1"),
    "354 for a year": answers("354 31536000000"),
    "an answer too early": answers("250 0 2.1.5 stored"),
}


@pytest.mark.parametrize("size", ["small", "a memfd"])
@pytest.mark.parametrize("script", BEFORE.values(), ids=BEFORE.keys())
def test_before_the_mark_the_full_program_delivers(front, script, size):
    scuba = front.site.account()
    service = front.service(script)
    mail = mail_of(SIZES[size])
    stored_once(front, front.deliver(mail, "-d", scuba), mail, scuba)
    assert len(service.finished()) == 1


def accepts_and_reads_some(client):
    client.send("220 fake")
    client.command()
    client.send("354 1000")
    client.line()
    client.stream.read(1_000_000)


@pytest.mark.parametrize("script", [closes_before_the_mark, accepts_and_reads_some, answers("552 5.3.4 too large")],
                         ids=["before the mark", "while it is sent", "refused while it is sent"])
def test_a_file_is_given_to_the_full_program(front, script):
    scuba = front.site.account()
    front.service(script)
    mail = mail_of(SIZES["a file"])
    stored_once(front, front.deliver(mail, "-d", scuba), mail, scuba)


@pytest.mark.skipif(lab_module.is_sanitized(), reason="strace is in the way of a sanitizer")
def test_the_deadline_ends_with_the_reading(front):
    """The full program has its own."""
    front.service(closes_before_the_mark)
    path = os.path.join(front.site.directory, "trace")
    trace = [find_program("strace"), "-o", path, "-e", "trace=openat,timer_settime"]
    expect.stored(front.deliver(message(), "-d", front.site.account(), before=trace))
    with open(path, encoding="utf-8", errors="replace") as file:
        before, _, _ = file.read().partition(f'"{front.full_program}"')
    armed = re.findall(r"it_value=\{tv_sec=(\d+)", before)
    assert armed[0] != "0" and armed[-1] == "0", armed


@pytest.mark.parametrize("kind", ["nothing", "a file", "a socket that nobody listens on", "a directory"])
def test_no_service(front, kind):
    scuba, mail = front.site.account(), message()
    if kind == "a file":
        with open(front.socket, "wb"):
            pass
    elif kind == "a directory":
        os.mkdir(front.socket)
    elif kind != "nothing":
        with socket.socket(socket.AF_UNIX) as sock:
            sock.bind(front.socket)
    stored_once(front, front.deliver(mail, "-d", scuba), mail, scuba)


def test_a_service_that_goes_while_it_is_busy(front):
    scuba, mail = front.site.account(), message()
    with socket.socket(socket.AF_UNIX) as sock, socket.socket(socket.AF_UNIX) as first:
        sock.bind(front.socket)
        sock.listen(0)
        first.connect(front.socket)
        running = front.start(mail, "-d", scuba)
        time.sleep(0.3)     # it finds the queue full before, or no reader after
        sock.close()
        stored_once(front, running.finish(), mail, scuba)


# A busy service


def test_a_full_queue_of_connections_is_waited_for(front):
    """The kernel says so at once. Seen to fail with EAGAIN taken for no service."""
    mail = message()
    os.rename(front.full_program, front.full_program + ".away")
    with socket.socket(socket.AF_UNIX) as sock, socket.socket(socket.AF_UNIX) as first:
        sock.bind(front.socket)
        sock.listen(0)
        first.connect(front.socket)
        running = front.start(mail, "-d", "scuba@example.org")
        time.sleep(0.5)     # there is nothing to see while it goes on waiting
        assert running.process.poll() is None
        sock.accept()[0].close()
        client, _ = sock.accept()
        with client:
            client.sendall(b"220 here\r\n354 1000\r\n250 0 2.1.5 stored\r\n")
            done = running.finish()
    assert (done.exit, done.out) == (0, "2.1.5 stored\n"), done


@pytest.mark.parametrize("size", ["small", "a memfd", "a file"])
@pytest.mark.parametrize("how", ["greets late", "asks to come again"])
def test_a_busy_service_is_waited_for(front, how, size):
    """The caller may have no other way: the full program is away. Seen to fail with a second for the greeting, with one
    try, and with a message that is sent at every try."""
    free, early = threading.Event(), []

    def script(client):
        if how == "greets late":
            free.wait(60)
        elif not free.is_set():
            client.send("421 4.3.2 busy, try again")
            early.append(client.stream.read())
            return
        client.take()
        client.send("250 0 2.1.5 stored")

    mail = mail_of(SIZES[size])
    os.rename(front.full_program, front.full_program + ".away")
    service = front.service(script)
    running = front.start(mail, "-d", "scuba@example.org")
    wait_until(lambda: len(service.clients) >= (1 if how == "greets late" else 3), "it has tried")
    time.sleep(1.2)     # there is nothing to see while it goes on waiting
    free.set()
    done = running.finish()
    assert (done.exit, done.out) == (0, "2.1.5 stored\n"), done
    assert service.clients[-1].message == mail
    assert not any(early[1:])


OTHERS = {
    "an option of the program": ["-v", "deliver", "-S", "SOCKET"],
    "a setting": ["-o", "log.to=stderr", "deliver", "-S", "SOCKET"],
    "an unknown option": ["deliver", "-S", "SOCKET", "-x"],
    "an option without value": ["deliver", "-S", "SOCKET", "-d"],
    "an argument": ["deliver", "-S", "SOCKET", "x"],
    "a size that is none": ["deliver", "-S", "SOCKET", "-s", "many"],
    "a size with a unit": ["deliver", "-S", "SOCKET", "-s", "1K"],
    "a name too long": ["deliver", "-S", "SOCKET", "-a", "x" * 4000],
    "a long name of the socket": ["deliver", "-S", "/" + "x" * 200],
    "another command": ["version"],
}


@pytest.mark.parametrize("words", OTHERS.values(), ids=OTHERS.keys())
def test_everything_else_is_for_the_full_program(front, words):
    """The service is not asked."""
    service = front.service(closes_at_once)
    words = [front.socket if word == "SOCKET" else word for word in words]
    done = front.deliver(message(), words=words)
    assert done.out.startswith("oncedrop ") if words == ["version"] else done.exit == 75 and done.out.startswith("4.3.5 "), done
    assert service.clients == []


# The reader of the output


def test_the_reader_is_gone_at_the_end_of_input(front):
    service = front.service(lambda client: client.take())
    out, ours = os.pipe()
    process = front.popen(stdin=subprocess.PIPE, stdout=ours, stderr=subprocess.DEVNULL)
    os.close(ours)
    process.stdin.write(message())
    os.close(out)
    process.stdin.close()
    assert process.wait(60) == 75
    assert service.clients == []


def test_the_reader_is_gone_before_the_mark(front):
    """Seen only by the second look."""
    out, ours = os.pipe()

    def script(client):
        client.send("220 fake")
        client.command()
        client.chunk()
        os.close(out)
        client.send("354 60000")
        assert client.wait_for_end(), "the final mark was sent"
    service = front.service(script)
    process = front.popen(stdin=subprocess.PIPE, stdout=ours, stderr=subprocess.DEVNULL)
    os.close(ours)
    process.communicate(message())
    assert process.returncode == 75
    assert service.finished() == [True]


def test_the_reader_is_gone_after_the_mark(front):
    """The service learns it from the end of the connection, so that it can still stop."""
    out, ours = os.pipe()

    def script(client):
        client.take(ms=3600000)
        os.close(out)
        assert client.wait_for_end()
    service = front.service(script)
    process = front.popen(stdin=subprocess.PIPE, stdout=ours, stderr=subprocess.DEVNULL)
    os.close(ours)
    process.communicate(message(), timeout=120)
    assert process.returncode == 75
    assert service.finished() == [True]


# From the final mark on only the reply counts


REPLIES = {
    "250 0 2.1.5 stored uid=1 mailbox=INBOX": 0,
    "250 0 2.1.5 duplicate uid=1 mailbox=INBOX": 0,
    "250 75 4.3.0 message <a@b> is being delivered elsewhere": 75,
    "250 75 4.2.2 over quota \u00e4": 75,
    "250 67 5.1.1 no such account": 67,
    "250 69 5.3.4 too large": 69,
    "250 65 5.6.0 refused": 65,
}


@pytest.mark.parametrize("reply,status", REPLIES.items())
def test_the_reply_is_the_answer(front, reply, status):
    def script(client):
        client.take()
        client.send(reply)
    front.service(script)
    done = front.deliver(message())
    assert (done.exit, done.out) == (status, reply.split(" ", 2)[2] + "\n"), done


GARBAGE = ["", "x", "250", "250 ", "250 0", "250 0 ", "250 0 stored", "250 0 2.1.5", "250 0 4.3.0 x", "250 75 5.1.1 x",
           "250 69 2.1.5 x", "250 1 5.3.0 x", "250 127 5.3.0 x", "250 0 2.1.5 a\x01b", "250 0 2.1.5 a\rb", "250  0 2.1.5 x",
           "250 -0 2.1.5 x", "250 0000 2.1.5 x", "250-0 2.1.5 x", "451 4.3.0 x", "550 5.1.1 x", "421 4.3.2 ended",
           "250 0 2.1.5 " + "x" * 1200]


@pytest.mark.parametrize("reply", GARBAGE)
def test_another_reply_defers(front, reply):
    scuba = front.site.account()

    def script(client):
        client.take()
        client.send(reply)
    front.service(script)
    done = front.deliver(message(), "-d", scuba)
    assert (done.exit, done.out) == (75, SILENT), done
    assert front.site.count(scuba) == 0


def test_no_reply_defers(front):
    scuba = front.site.account()
    service = front.service(lambda client: client.take())
    done = front.deliver(message(), "-d", scuba)
    assert (done.exit, done.out) == (75, SILENT), done
    assert service.finished() == [True] and front.site.count(scuba) == 0


@pytest.mark.parametrize("half", ["", "250 0 2.1.5 stored"])
def test_silence_defers(front, half):
    """After the time that the service said, and some seconds."""
    scuba = front.site.account()

    def script(client):
        client.take(ms=0)
        client.send(half.encode())
        client.wait_for_end()
    front.service(script)
    done = front.deliver(message(), "-d", scuba)
    assert (done.exit, done.out) == (75, SILENT), done
    assert done.seconds > 5 and front.site.count(scuba) == 0


# Signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU])
@pytest.mark.parametrize("marked", [False, True])
def test_a_signal_defers(front, number, marked):
    running = []

    def script(client):
        if marked:
            client.take()
        else:
            client.send("220 fake")
            client.command()
            client.chunk()
        wait_until(lambda: running, "it is known")
        running[0].signal(number)
        assert client.wait_for_end()
    service = front.service(script)
    running.append(front.start(message()))
    done = running[0].finish()
    assert done.exit == 75 and re.fullmatch(r"4\.3\.0 (ended by a signal|the deadline is over)\n", done.out), done
    assert service.finished() == [True]


# No full program


def missing(front, *words, mail=b""):
    os.rename(front.full_program, front.full_program + ".away")
    return front.deliver(mail, words=words)


def test_no_full_program(front):
    deliver = ["deliver", "-S", "/nonexistent"]
    for words in (deliver, [*deliver, "-d", "scuba@example.org"], ["nonsense"], []):
        done = front.deliver(message(), words=words) if not os.path.exists(front.full_program) else missing(front, *words)
        expect.deferred(done, r"4\.3\.5", "cannot load the program", "/oncedrop-main.so; it comes with `make install'")
    done = front.deliver(b"", words=["lmtp"])
    assert done.exit == 75 and re.fullmatch(r"421 4\.3\.5 cannot load the program: .*\r\n", done.out), done


def test_no_full_program_after_reading(front):
    front.service(closes_before_the_mark)
    os.rename(front.full_program, front.full_program + ".away")
    expect.deferred(front.deliver(message()), r"4\.3\.5", "cannot load the program")


# Trouble with the message


def test_no_room_for_the_message(front):
    """What was read is lost to the full program, too."""
    service = front.service(lambda client: client.take())
    done = front.deliver(mail_of(SIZES["a memfd"]), before=[find_program("prlimit"), "--fsize=80000"])
    expect.deferred(done, r"4\.3\.0", "cannot")
    done = front.deliver(mail_of(SIZES["a file"]), env={"TMPDIR": "/nonexistent"})
    expect.deferred(done, r"4\.3\.0", "cannot make a temporary file", "set TMPDIR")
    assert service.clients == []


@pytest.mark.parametrize("stdin", ["a directory", "nothing open"])
def test_what_cannot_be_read_is_left_to_the_full_program(front, stdin):
    service = front.service(lambda client: client.take())
    redirection = "<&-" if stdin == "nothing open" else "</"
    done = front.deliver(b"", "-d", "scuba@example.org", before=["sh", "-c", f'exec "$@" {redirection}', "sh"])
    expect.deferred(done, r"4\.3\.0")
    assert service.clients == []


# More rights than the caller's


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a program a group")
@pytest.mark.skipif(lab_module.is_sanitized(), reason="a sanitizer refuses to run with rights")
@pytest.mark.parametrize("mode", [0o2755, 0o4755], ids=oct)
def test_a_program_with_rights_refuses_to_run(front, mode):
    """Seen to fail without the look at its rights."""
    program = front.program
    os.chmod(front.directory, 0o755)
    front.configure()
    os.chown(program, pwd.getpwnam(ordinary.OTHER).pw_uid, grp.getgrnam("mail").gr_gid)
    os.chmod(program, mode)
    for command in ["deliver", "-S", "/nonexistent"], ["config"]:
        done = subprocess.run([*ordinary.BECOME, program, *command], input=message(), check=False, capture_output=True, cwd="/")
        assert done.returncode == 75 and b"must not be set-user-ID or set-group-ID" in done.stdout, done


# The default path


@pytest.mark.skipif(lab_module.is_sanitized(), reason="a sanitizer wants to be loaded first")
def test_a_service_at_the_default_path_counts_only_if_no_other_is_named(front):
    """So a service of this machine gets no mail of a test."""
    scuba = front.site.account("scuba")
    directory = front.site.lab.new_directory("decoy")
    paths = os.path.join(directory, "private_paths.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", paths,
                    os.path.join(os.path.dirname(lab_module.__file__), "private_paths.c")], check=True)
    env = {"LD_PRELOAD": paths, "PRIVATE_PATHS": f"/run/oncedrop={directory}"}
    with socket.socket(socket.AF_UNIX) as decoy:
        decoy.bind(os.path.join(directory, "lmtp"))
        decoy.listen()
        decoy.setblocking(False)
        expect.stored(front.deliver(message(), "-d", scuba, env=env))
        with pytest.raises(BlockingIOError):
            decoy.accept()
        delivery = front.start(message(), "-d", scuba, env=env, service=False)
        wait_until(lambda: select.select([decoy], [], [], 0)[0] or delivery.process.poll() is not None, "it comes, or ends")
        decoy.accept()[0].close()
        delivery.finish()
