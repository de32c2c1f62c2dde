# SPDX-License-Identifier: ISC
"""oncedrop-lab(1): private servers for one command, of which nothing remains."""

import base64
import contextlib
import glob
import imaplib
import json
import os
import pwd
import shutil
import signal
import smtplib
import socket
import subprocess
import sys

import pytest
from lab import lab as lab_module, postfix as postfix_module, process, smtp_gateway, terminal
from lab.ledger import SQLITE, engine
from lab.messages import message, new_id
from lab.proxy import Proxy

SECONDS = 60
EXAMPLES = {
    "python": [sys.executable, "conf/lab/test_mail.py"],
    "shell": ["sh", "conf/lab/test_mail.sh"],
    "node": ["node", "--test", "conf/lab/mail.test.js"],
}
NEEDED = {"shell": "curl", "node": "node"}
# Each signal by itself: two that come before the first is looked at are one for a trap.
TELL_SIGNALS = """
import signal, sys
signals = {signal.SIGINT, signal.SIGTERM}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
print("ready", flush=True)
while True:
    number = signal.sigwait(signals)
    print("got", int(number), flush=True)
    if number == signal.SIGTERM:
        sys.exit(9)
"""
NOBODY = process.run_as(pwd.getpwnam("nobody"))
USERS = [{}, NOBODY] if NOBODY else [{}]
of_each_user = pytest.mark.parametrize("user", USERS, ids=["self", "nobody"][:len(USERS)])


@pytest.fixture(scope="module")
def tree():
    """What oncedrop-lab is made of, where every user can read it."""
    directory = process.private_directory()
    try:
        ours = os.path.join(directory, "tests")
        shutil.copytree(os.path.join(lab_module.REPOSITORY, "tests", "lab"), os.path.join(ours, "lab"))
        shutil.copy(os.path.join(lab_module.REPOSITORY, "tests", "oncedrop-lab"), ours)
        shutil.copytree(os.path.join(lab_module.REPOSITORY, "conf"), os.path.join(directory, "conf"))
        subprocess.run(["chmod", "-R", "a+rX", directory], check=True)
        os.mkdir(os.path.join(directory, "build"))
        lab_module.copy_program(os.path.join(directory, "build"))
        yield directory
    finally:
        shutil.rmtree(directory)


def words_of(tree):
    return [sys.executable, "-B", os.path.join(tree, "tests", "oncedrop-lab"), "--engine", engine()]


def environment_of(tree, program=None):
    return {"PATH": os.environ["PATH"], "ONCEDROP": program or os.path.join(tree, "build", "oncedrop")}


@pytest.fixture
def start(tree):
    """start(WORD...): oncedrop-lab with these words, as a process that does not outlive the test. user: see run_as."""
    started = []

    def run(*words, user=(), program=None, stdin=subprocess.PIPE):
        lab = subprocess.Popen([*words_of(tree), *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               cwd=tree, env=environment_of(tree, program), start_new_session=True, **dict(user))
        started.append(lab)
        return lab

    yield run
    for lab in started:
        lab.terminate()
        try:
            lab.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(lab.pid, signal.SIGKILL)      # with its command
            lab.communicate()


def finish(lab, text=None):
    """Exit status, what it said. text: all of its standard input."""
    out, err = lab.communicate(text, timeout=SECONDS)
    return lab.returncode, out, err


def variables(lab):
    line = lab.stdout.readline()
    assert line, lab.stderr.read()
    return json.loads(line)


def directories(where):
    """Those in /tmp."""
    return ["/".join(where[name].split("/")[:3]) for name in ("ONCEDROP_CONF", "ONCEDROP_OUTSIDE") if name in where]


def mentions(path, words):
    try:
        with open(path, "rb") as file:
            text = file.read()
    except OSError:
        return False
    return any(word.encode() + b"/" in text for word in words)


def silent(where):
    """The ports where no server answers."""
    return {name for name in where if name.endswith("_PORT") and not process.accepts(int(where[name]))}


def made(by):
    """What is in /tmp of this user's."""
    found = set()
    for path in glob.glob("/tmp/oncedrop-*"):
        with contextlib.suppress(FileNotFoundError):
            found |= {path} if os.stat(path).st_uid == by.pw_uid else set()
    return found


def left(where):
    """What remains of it."""
    return [name for name in directories(where) if os.path.exists(name)] + \
        [path for path in glob.glob("/proc/[0-9]*/cmdline") if mentions(path, directories(where))] + \
        [name for name in where if name.endswith("_PORT") and name not in silent(where)]


def send(where, mail, recipients, sender="lisa@example.org", port="ONCEDROP_SMTP_PORT", login=None):
    with smtplib.SMTP(where["ONCEDROP_HOST"], int(where[port]), timeout=60) as client:
        if login:
            client.login(login, where["ONCEDROP_PASSWORD"])
        return client.sendmail(sender, recipients, mail)


@contextlib.contextmanager
def opened(where, account, mailbox):
    """An IMAP session with this mailbox, or None if there is no such mailbox yet."""
    with imaplib.IMAP4(where["ONCEDROP_HOST"], int(where["ONCEDROP_IMAP_PORT"]), timeout=60) as session:
        session.login(account, where["ONCEDROP_PASSWORD"])
        yield session if session.select(mailbox)[0] == "OK" else None


def count(where, account, mailbox, id):
    with opened(where, account, mailbox) as session:
        return session and len(session.search(None, "HEADER", "Message-ID", id)[1][0].split())


def wait_for(where, account, mailbox, id):
    process.wait_until(lambda: count(where, account, mailbox, id), f"{id} in {mailbox} of {account}", 60)
    return count(where, account, mailbox, id)


@of_each_user
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(start, name, user):
    """Seen to fail: with no Sent copies."""
    if name in NEEDED and not shutil.which(NEEDED[name]):
        pytest.skip(f"no {NEEDED[name]}")
    status, out, err = finish(start(*EXAMPLES[name], user=user))
    assert status == 0, out + err


def exists(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    return False


def serving(where):
    """The processes of the service."""
    found = set()
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(path, "rb") as file:
                words = file.read().split(b"\0")
            if b"serve" in words and os.path.dirname(where["ONCEDROP_CONF"]).encode() in b" ".join(words):
                found.add(int(path.split("/")[2]))
    return found


@of_each_user
def test_a_lab_that_is_killed_leaves_no_service(start, user):
    """Root's service becomes another user; then the kernel forgets that it is to end with the lab. Seen to fail without a
    request about that to the kernel."""
    lab = start("--json", user=user)
    where = variables(lab)
    pids = serving(where)
    assert pids
    lab.kill()
    lab.wait(SECONDS)
    try:
        process.wait_until(lambda: not any(exists(pid) for pid in pids), "the service has ended", SECONDS)
    finally:
        for pid in filter(exists, pids):
            os.kill(pid, signal.SIGKILL)
        for path in directories(where):
            shutil.rmtree(path, ignore_errors=True)


@pytest.mark.parametrize("script, status", [("exit 0", 0), ("exit 7", 7), ("kill -KILL $$", 137), ("kill -TERM $$", 143)])
def test_exit_status(start, script, status):
    """Seen to fail: with the negative returncode of subprocess; without the removal of the site."""
    lab = start("--json", "--", "sh", "-c", script)
    where = variables(lab)
    assert finish(lab)[0] == status and not left(where)


@pytest.mark.skipif(not NOBODY, reason="not root")
def test_a_signal_during_the_start(start):
    """Whenever it comes, nothing remains. As a user who has nothing else there. Seen to fail: with signals that are not blocked."""
    user = pwd.getpwnam("list")
    before = made(user)
    for delay in range(6):
        lab = start("sleep", "1000", user=process.run_as(user))
        process.wait_until(lambda: made(user) - before, "it has begun")
        with contextlib.suppress(subprocess.TimeoutExpired):
            lab.wait(delay / 20)
        lab.send_signal(signal.SIGTERM)
        assert finish(lab) == (143, "", "") and not made(user) - before


def test_the_command_is_as_elsewhere(start):
    """Seen to fail: with the signals that oncedrop-lab blocks; with its umask."""
    words = ["grep", "-E", "^(Umask|SigBlk|SigIgn):", "/proc/self/status"]
    before = os.umask(0o027)
    try:
        elsewhere = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
        assert finish(start(*words)) == (0, elsewhere, "")
    finally:
        os.umask(before)


@of_each_user
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_is_for_the_command(start, number, user):
    """Seen to fail: without passing it on; with a thread that gets the signal instead."""
    lab = start("--json", "sh", "-c", f"trap 'echo trapped; exit 9' {number:d}; echo; while :; do sleep 0.05; done", user=user)
    where = variables(lab)
    assert lab.stdout.readline() == "\n" and not silent(where)
    lab.send_signal(number)
    status, out, err = finish(lab)
    assert (status, out, err) == (9, "trapped\n", "") and not left(where)


@pytest.mark.skipif(not terminal.available(), reason="no terminals")
def test_what_is_typed_is_told_once(start, tree):
    """Ctrl-C reaches the command by itself. Seen to fail: with every signal passed on."""
    lab, ours = terminal.spawn([*words_of(tree), sys.executable, "-c", TELL_SIGNALS], environment_of(tree))
    with open(ours, "r+b", buffering=0) as screen:
        said = b""
        while b"ready" not in said:
            said += screen.read(100)
        for times in range(1, 11):      # for a second one is not always seen: see TELL_SIGNALS
            screen.write(b"\x03")
            while said.count(b"got 2") < times:
                said += screen.read(100)
        lab.send_signal(signal.SIGTERM)
        with contextlib.suppress(OSError):      # at the end of all that have it open
            while True:
                said += screen.read(100)
    assert lab.wait(SECONDS) == 9 and said.count(b"got 2") == 10


def test_two_at_once(start):
    """Seen to fail: with an end of standard input that is not read; with the default accounts."""
    labs = [start("--json"), start("--json", "--account", "ann@one.test", "--account", "bob@two.test")]
    first, second = map(variables, labs)
    assert second["ONCEDROP_ACCOUNTS"] == "ann@one.test bob@two.test"
    id = new_id()
    send(second, message(sender="ann@one.test", to="bob@two.test", id=id), ["bob@two.test"], "ann@one.test")
    assert wait_for(second, "bob@two.test", "INBOX", id) == 1
    assert finish(labs[0])[0] == 0 and not left(first)      # its standard input has ended
    assert not silent(second)
    labs[1].send_signal(signal.SIGTERM)
    assert finish(labs[1])[0] == 0 and not left(second)


def test_dev_null_does_not_end(start):
    """Seen to fail: with any end of the input."""
    lab = start("--json", stdin=subprocess.DEVNULL)
    where = variables(lab)
    with pytest.raises(subprocess.TimeoutExpired):
        lab.wait(0.5)
    assert not silent(where)
    lab.send_signal(signal.SIGTERM)
    assert finish(lab)[0] == 0 and not left(where)


def test_a_shell_without_command(start):
    """Seen to fail: with nothing printed."""
    lab = start()
    status, out, err = finish(lab, "echo ledger: $ONCEDROP_LEDGER; exit 4\n")
    assert status == 4 and not err
    assert out.startswith("oncedrop-lab: Dovecot; a ledger ") and "ONCEDROP_IMAP_PORT" in out.split("ledger: ")[0]


@pytest.mark.skipif(not NOBODY and not postfix_module.missing(), reason="root's has Postfix")
def test_without_postfix(start):
    """Seen to fail: with every recipient passed on; with the detail as a part of the account; with any password."""
    where = variables(start("--json", user=NOBODY))
    assert "ONCEDROP_OUTSIDE" not in where
    id = new_id()
    mail = message(sender="lisa@example.org", id=id)
    refused = send(where, mail, ["scuba+x@example.org", "zoe@example.org", "doug@elsewhere.test", "DOUG@example.org"])
    assert {name: code for name, (code, _) in refused.items()} == {"zoe@example.org": 550, "doug@elsewhere.test": 550}
    assert count(where, "scuba@example.org", "x", id) == count(where, "doug@example.org", "INBOX", id) == 1
    with smtplib.SMTP(where["ONCEDROP_HOST"], int(where["ONCEDROP_SUBMISSION_PORT"]), timeout=60) as client:
        client.starttls()
        client.ehlo()
        assert client.docmd("AUTH PLAIN", base64.b64encode(b"\0lisa@example.org\0lisa").decode())[0] == 535
        client.login("lisa@example.org", where["ONCEDROP_PASSWORD"])
        client.mail("lisa@example.org")
        assert client.docmd("DATA")[0] == 503
        client.rset()
        client.sendmail("lisa@example.org", ["scuba@example.org"], b"Message-ID: <" + id.encode() + b">\r\n\r\n..\r\n.x\r\n")
    with opened(where, "scuba@example.org", "INBOX") as session:
        assert [part[1] for part in session.fetch("1:*", "(BODY.PEEK[TEXT])")[1] if isinstance(part, tuple)] == [b"..\r\n.x\r\n"]


@pytest.mark.parametrize("codes, answer", [([250, 250], 250), ([250, 552, 250], 552), ([552, 451, 250], 451)])
def test_one_answer_for_all_recipients(codes, answer):
    """Seen to fail: with the first; with the highest."""
    assert smtp_gateway.one_for_all([(code, b"") for code in codes])[0] == answer


@pytest.mark.skipif(postfix_module.missing() is not None, reason="no Postfix")
def test_mail_for_others_with_postfix(start):
    """Of a second domain, too. Seen to fail: with only the first domain in the tables."""
    where = variables(start("--json", "--account", "ann@one.test", "--account", "bob@two.test"))
    id = new_id()
    mail = message(sender="bob@two.test", to="zoe@elsewhere.test", id=id)
    send(where, mail, ["zoe@elsewhere.test"], "bob@two.test", "ONCEDROP_SUBMISSION_PORT", login="bob@two.test")
    assert wait_for(where, "bob@two.test", "Sent", id) == 1
    [name] = process.wait_until(lambda: os.listdir(where["ONCEDROP_OUTSIDE"]), "mail for others")
    assert name.endswith(".zoe@elsewhere.test")
    with pytest.raises(smtplib.SMTPRecipientsRefused):
        send(where, mail, ["zoe@one.test"])


@pytest.mark.parametrize("words, said, status", [
    (["--engine", "oracle"], "--engine is one of", 125),
    (["--account", "lisa"], "--account takes an address", 125),
    (["-o", "delivery.deadline"], "-o takes GROUP.NAME=VALUE", 125),
    (["-o", "delivery.nothing=1", "true"], "nothing", 125),
    (["/nonexistent/command"], "/nonexistent/command: No such file", 127),
    (["/etc/passwd"], "/etc/passwd: Permission denied", 126),
])
def test_what_goes_wrong_is_said(start, words, said, status):
    """Seen to fail: with 1 for all."""
    found, out, err = finish(start(*words))
    assert found == status and not out and err.startswith("oncedrop-lab: ") and said in err and "Traceback" not in err


@pytest.mark.skipif(engine() != SQLITE, reason="is of the program, not of the ledger")
def test_a_part_that_is_missing_is_named(start, tree, tmp_path):
    """Seen to fail: without the program's own words."""
    copy = lab_module.copy_program(tmp_path, os.path.join(tree, "build", "oncedrop"))
    os.unlink(copy + "-sqlite.so")
    status, _, err = finish(start("true", program=copy))
    assert status == 125 and "Debian's package oncedrop-sqlite" in err
    status, _, err = finish(start("true", program=str(tmp_path / "nothing")))
    assert status == 125 and "nothing is not there" in err


@pytest.mark.skipif(engine() != SQLITE, reason="is of the proxy, not of the ledger")
def test_a_connection_that_was_cut_is_reset_at_once():
    """The next thing that a client does meets the failure. Seen to fail: with threads still in recv(2), 166 times of 300."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        for _ in range(300):
            proxy = Proxy(server.getsockname()[1])
            with socket.create_connection(("127.0.0.1", proxy.port)) as client, server.accept()[0] as other:
                other.sendall(b"hello")
                assert client.recv(5) == b"hello"
                proxy.cut()
                for end in (client, other):
                    end.setblocking(False)
                    with pytest.raises(ConnectionResetError):
                        end.recv(1)
            proxy.close()
