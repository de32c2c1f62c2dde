# SPDX-License-Identifier: ISC
"""replay: messages in files, delivered exactly as for Postfix."""

import json
import os
import re
import pwd
import signal
import threading

import expect
import pytest
from lab import locks, user as ordinary
from lab.messages import message, on_the_wire
from lab.ledger import MARIADB, POSTGRES, engine
from lab.process import free_port, wait_until
from lab.proxy import SERVER

FROM_LINE = b"From lisa@elsewhere.example Fri Aug  1 10:00:00 2025\n"


def counted(done, exit=0, **counts):
    """The counts of the closing line, by recipient; those not shown are 0."""
    assert done.exit == exit, done
    for name in ("stored", "duplicate", "deferred", "failed"):
        assert f" {counts.get(name, 0)} {name}" in done.out.splitlines()[-1], done


class Files:
    """A directory to replay from, which must not change."""

    def __init__(self, site):
        self.path = os.path.join(site.directory, "files")
        os.mkdir(self.path)

    def write(self, name, data):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)
        return path

    def mbox(self, name, mails, quote=None):
        return self.write(name, b"".join(FROM_LINE + (quote or mboxrd)(mail) + b"\n" for mail in mails))

    def maildir(self, name, mails):
        for part in ("cur", "new", "tmp"):
            os.makedirs(os.path.join(self.path, name, part))
        for number, mail in enumerate(mails):
            self.write(f"{name}/{'new' if number % 2 else 'cur'}/1700000000.{number}.host", mail)
        return os.path.join(self.path, name)


@pytest.fixture
def files(site):
    return Files(site)


def raws(site, account, mailbox="INBOX"):
    return sorted(stored.raw for stored in site.messages(account, mailbox))


def wires(mails):
    return sorted(map(on_the_wire, mails))


# Sources

def test_single_files_twice(site, files):
    scuba = site.account()
    mails = [message(), message(body="x" * 2_000_000 + "\n")]
    paths = [files.write(f"{number}.eml", mail) for number, mail in enumerate(mails)]
    counted(site.run("replay", "-d", scuba, *paths), stored=2)
    counted(site.run("replay", "-d", scuba, *paths), duplicate=2)
    assert raws(site, scuba) == wires(mails)


def test_files_of_very_many_directories(site, files):
    """A descriptor of each is kept, and the IMAP session's must be a small one: libetpan waits with select(2)."""
    scuba = site.account()
    mail = message()
    paths = [files.write(f"{number}/a.eml", mail) for number in range(1100)]
    counted(site.run("replay", "-d", scuba, *paths), stored=1, duplicate=1099)
    assert raws(site, scuba) == wires([mail])


def test_what_postfix_delivered_is_known(site, files):
    scuba = site.account()
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    counted(site.run("replay", "-d", scuba, files.write("a.eml", mail)), duplicate=1)
    assert site.count(scuba) == 1


def test_a_directory_is_read_through(site, files):
    scuba = site.account()
    mails = [message() for _ in range(4)]
    for name, mail in zip(("a.eml", "b/c/d", "b/e.txt"), mails):
        files.write(name, mail)
    files.write(".hidden", mails[3])
    files.write(".git/x", mails[3])
    os.symlink("/", os.path.join(files.path, "link"))
    counted(site.run("replay", "-d", scuba, files.path), stored=3)
    assert raws(site, scuba) == wires(mails[:3])


def test_a_maildir_and_its_folders(site, files):
    scuba = site.account()
    mails = [message() for _ in range(5)]
    path = files.maildir("Maildir", mails[:3])
    files.maildir("Maildir/.Archive", mails[3:4])
    files.maildir("Maildir/sub", mails[4:])
    files.write("Maildir/tmp/half", b"half a mess")
    files.write("Maildir/dovecot-uidlist", b"3 V1\n")
    files.write("Maildir/.Archive/dovecot-uidlist", b"3 V1\n")
    counted(site.run("replay", "-d", scuba, path), stored=5)
    assert raws(site, scuba) == wires(mails)


def test_a_link_in_a_maildir_is_an_error(site, files):
    """It is not followed, and what it leads to would be missing without a word."""
    scuba = site.account()
    path = files.maildir("Maildir", [message(), message()])
    other = files.maildir("other", [message()])
    for name in ("cur", "new", ".Archive", "cur/link"):
        place, aside = os.path.join(path, name), os.path.join(site.directory, "aside")
        if os.path.exists(place):
            os.rename(place, aside)
        os.symlink(os.path.join(other, "cur"), place)
        done = site.run("replay", "-d", scuba, path)
        assert done.exit == os.EX_NOINPUT and f"{place}: " in done.err and "symbolic link" in done.err, done
        os.unlink(place)
        if os.path.exists(aside):
            os.rename(aside, place)
    os.symlink("nowhere", os.path.join(path, "dovecot.lock"))
    counted(site.run("replay", "-d", scuba, path), stored=2)


def test_an_mbox(site, files):
    scuba = site.account()
    mails = [message(body="one\n\nFrom here on\n"), message(), message(body="no empty line at the end")]
    path = files.mbox("mbox", mails[:2])
    counted(site.run("replay", "-d", scuba, path), stored=2)
    assert raws(site, scuba) == wires(mails[:2])
    dates = [stored.internal_date for stored in site.messages(scuba)]
    assert all(date.startswith("01-Aug-2025 10:00:00") for date in dates), dates


def test_an_mbox_with_crlf(site, files):
    scuba = site.account()
    mails = [message(), message()]
    path = files.mbox("mbox", mails)
    with open(path, "rb") as file:
        data = file.read().replace(b"\n", b"\r\n")
    counted(site.run("replay", "-d", scuba, files.write("crlf", data)), stored=2)
    assert raws(site, scuba) == wires(mails)


BODY = "From one\n\nFrom two\n>From three\n>>From four\n"


def mboxrd(mail):
    lines = mail.split(b"\n")
    return b"\n".join(b">" + line if line.lstrip(b">").startswith(b"From ") else line for line in lines)


def mboxo(mail):
    return mail.replace(b"\nFrom ", b"\n>From ")


def plain(mail):
    return mail


def with_length(mail):
    head, body = mail.split(b"\n\n", 1)
    return head + b"\nContent-Length: %d\n\n" % len(body) + body


def header_lines(mail):
    """With the empty line."""
    return mail.split(b"\n\n")[0].count(b"\n") + 2


def rejected(site, path, line, hint, *options):
    """Nothing is stored, not even messages of other files and before that line; the error says where and what to do."""
    scuba = site.account("rejected")
    good = os.path.join(site.directory, "good.eml")
    with open(good, "wb") as file:
        file.write(message())
    done = site.run("replay", *options, "-d", scuba, good, path)
    assert done.exit == os.EX_NOINPUT and f"{path}: line {line}: " in done.err and hint in done.err, done
    assert site.count(scuba) == 0 and site.sql("SELECT count(*) FROM oncedrop.message") == [(0,)]


@pytest.mark.parametrize("options,quote,body", [((), mboxrd, BODY), (("--mbox", "mboxrd"), mboxrd, BODY),
                                               (("--mbox", "mboxo"), mboxo, "From one\n\nFrom two\n>>From four\n")],
                         ids=["default", "mboxrd", "mboxo"])
def test_quoting_is_undone(site, files, options, quote, body):
    scuba = site.account()
    mails = [message(body=body), message()]
    path = files.mbox("mbox", mails, quote)
    counted(site.run("replay", *options, "-d", scuba, path), stored=2)
    assert raws(site, scuba) == wires(mails)


def test_mboxcl2(site, files):
    """Its text may even look like a message; by default such a file is rejected."""
    scuba = site.account()
    mails = [with_length(message(body=BODY + "\n" + FROM_LINE.decode() + "Subject: b\n\nc\n")), with_length(message())]
    path = files.mbox("mbox", mails, plain)
    rejected(site, path, 1 + header_lines(mails[0]) + 1, "--mbox mboxcl2")
    counted(site.run("replay", "--mbox", "mboxcl2", "-d", scuba, path), stored=2)
    assert raws(site, scuba) == wires(mails)


@pytest.mark.parametrize("headers", ["", "Content-Length: 9\n", "Content-Length: 7\nContent-Length: 7\n"],
                         ids=["no length", "wrong length", "two lengths"])
def test_what_is_no_mboxcl2_is_rejected(site, files, headers):
    mails = [message(headers=headers), message()]
    rejected(site, files.mbox("mbox", mails), 1 + header_lines(mails[0]), "mboxrd", "--mbox", "mboxcl2")


def test_an_unknown_dialect(site, files):
    done = site.run("replay", "--mbox", "mboxcl", "-d", site.account(), files.mbox("mbox", [message()]))
    assert done.exit == os.EX_USAGE and "mboxcl2" in done.err, done


def test_no_content_length_joins_messages(site, files):
    """Its sender guesses a number that leads into a later message of his, behind bare CRs, which end no line."""
    scuba = site.account()
    others = [message() for _ in range(3)]
    last = message(body="\r\r\r\rFrom " * 500 + "\n")
    start = sum(len(FROM_LINE + mail) + 1 for mail in others) + len(FROM_LINE) + last.index(b"\r")
    for length in range(start, start + 9):
        mails = [message(headers=f"Content-Length: {length + len('Hello.') + 2}\n"), *others, last]
        counted(site.run("replay", "--dry-run", "-d", scuba, files.mbox("mbox", mails)), stored=5)


def test_a_wrong_content_length_is_not_believed(site, files):
    scuba = site.account()
    mails = [message(headers="Content-Length: 7\n"), message(headers="Content-Length: 70000\n"), message()]
    counted(site.run("replay", "-d", scuba, files.mbox("mbox", mails)), stored=3)
    assert raws(site, scuba) == wires(mails)


FOREIGN = {"postfix": b"From lisa@example.org  Mon Oct  7 16:26:29 2024", "gmail": b"From 18443@xxx Mon Oct 07 16:26:29 +0000 2024",
           "thunderbird": b"From - Mon Oct  7 16:26:29 2024"}


@pytest.mark.parametrize("line", FOREIGN.values(), ids=FOREIGN)
def test_an_mbox_of_another_program_is_split(site, files, line):
    scuba = site.account()
    mails = [message(body="one\n\nFrom the beginning\n"), message(), message()]
    path = files.write("mbox", b"".join(line + b"\r\n" + mboxrd(mail) + b"\r\n" for mail in mails))
    counted(site.run("replay", "-d", scuba, path), stored=3)
    assert raws(site, scuba) == wires(mails)


UNCLEAR = {"prose": "a\n\nFrom here on\nb\n", "no date": "a\n\nFrom lisa@example.org\nTo: all\nb\n",
           "no empty line": "a\n\nb\n" + FROM_LINE.decode() + "A: b\n", "no header": "a\n\n" + FROM_LINE.decode() + "Subject\n"}


@pytest.mark.parametrize("dialect", ["mboxrd", "mboxo"])
@pytest.mark.parametrize("case", UNCLEAR)
def test_an_mbox_that_is_unclear_is_rejected(site, files, case, dialect):
    mail = message(body=UNCLEAR[case])
    line = 1 + mail[:mail.index(b"\nFrom ", mail.index(b"\n\n")) + 1].count(b"\n") + 1 + (case == "no header")
    rejected(site, files.mbox("mbox", [mail, message()], plain), line, "'>'", "--mbox", dialect)


FOLDERS = {"MMDF": (b"\1\1\1\1\n" + message() + b"\1\1\1\1\n", 1), "CR": ((FROM_LINE + message()).replace(b"\n", b"\r"), 1),
           "Eudora": (b"From ???@??? Fri Aug 01 10:00:00 2025\r\n" + message(), 1), "two lines": (FROM_LINE * 2 + message(), 2)}


@pytest.mark.parametrize("case", FOLDERS)
def test_other_folders_are_rejected(site, files, case):
    data, line = FOLDERS[case]
    rejected(site, files.write("mbox", data), line, case if case in ("MMDF", "Eudora") else "")


def test_a_file_of_a_maildir_is_one_message(site, files):
    """Its own From_ line goes, as that of any message; nothing else in it separates messages."""
    scuba = site.account()
    mail = message(body="a\n\nFrom here on\n\n" + FROM_LINE.decode() + "A: b\n")
    path = files.maildir("Maildir", [FROM_LINE + mail])
    files.write("Maildir/old/mbox", FROM_LINE + message() + b"\n" + FROM_LINE + message())
    counted(site.run("replay", "-d", scuba, path), stored=3)
    assert on_the_wire(mail) in raws(site, scuba)


READINGS = [(mboxrd, "\n>From an answer\n"), (mboxrd, "\nFrom here\n>From an answer\n>>From both\n"), (mboxrd, "\nFrom here\n"),
            (mboxo, "\n>From an answer\n"), (mboxo, "\nFrom here\n>>From both\n"), (mboxo, "\nFrom here\n")]


@pytest.mark.parametrize("quote,body", READINGS)
def test_of_several_readings_the_one_delivered_before_is_right(site, files, body, quote):
    scuba = site.account()
    mail = message(body=body)
    expect.stored(site.deliver(mail, scuba))
    counted(site.run("replay", "-d", scuba, files.mbox("mbox", [mail], quote)), duplicate=1)
    assert site.count(scuba) == 1


def test_a_message_that_contains_an_mbox(site, files):
    """By its name it is a single message, regardless of its first bytes."""
    scuba = site.account()
    mails = [message(), message()]
    with open(files.mbox("x.eml", mails), "rb") as file:
        whole = file.read()
    counted(site.run("replay", "-d", scuba, files.path), stored=1)
    assert raws(site, scuba) == [on_the_wire(whole)]


@pytest.mark.parametrize("mbox", [False, True], ids=["message", "mbox"])
def test_standard_input(site, files, mbox):
    scuba = site.account()
    mails = [message(), message()][:2 if mbox else 1]
    with open(files.mbox("mbox", mails), "rb") as file:
        data = file.read() if mbox else mails[0]
    counted(site.run("replay", "-d", scuba, "-", stdin=data), stored=len(mails))
    assert raws(site, scuba) == wires(mails)


def test_sources_are_not_changed(site, files):
    scuba = site.account()
    files.maildir("Maildir", [message()])
    files.mbox("mbox", [message()])

    def state():
        return sorted((path, name, os.stat(os.path.join(path, name)).st_mtime_ns)
                      for path, _, names in os.walk(files.path) for name in names)
    before = state()
    counted(site.run("replay", "-d", scuba, files.path), stored=2)
    assert state() == before


@pytest.mark.parametrize("path,words", [("nowhere", ["nowhere", "No such file"]), ("empty", ["no message"])])
def test_what_cannot_be_read(site, files, path, words):
    os.mkdir(os.path.join(files.path, "empty"))
    done = site.run("replay", "-d", site.account(), os.path.join(files.path, path))
    assert done.exit == 66 and not done.out, done
    assert all(word in done.err for word in words), done


def test_nothing_on_standard_input(site):
    done = site.run("replay", "-d", site.account(), "-")
    assert done.exit == 66 and "standard input" in done.err, done


# What others may exchange

def put_link(path, secret):
    os.symlink(secret, path)


def put_fifo(path, _secret):
    os.mkfifo(path)


def put_directory(path, _secret):
    os.mkdir(path)


@pytest.mark.parametrize("put", [put_link, put_fifo, put_directory])
def test_what_takes_the_place_of_a_message_is_not_read(site, files, put):
    """All names are known when the server holds back the answer for the first message; then the second is exchanged."""
    scuba = site.account()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "60s"})
    exchanged, waited = threading.Event(), []

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not waited:
            waited.append(data)
            exchanged.wait(50)
        return data
    site.imap_proxy(watch)
    secret = site.write("secret", message(body="secret\n").decode())
    path = files.maildir("Maildir", [message() for _ in range(2)])
    first, second = (os.path.join(path, f"cur/{number}") for number in (1, 2))
    os.rename(os.path.join(path, "cur/1700000000.0.host"), first)
    os.rename(os.path.join(path, "new/1700000000.1.host"), second)
    run = site.start("replay", "-d", scuba, path)
    wait_until(lambda: waited, "the first is at the server")
    os.unlink(second)
    put(second, secret)
    exchanged.set()
    done = run.finish()
    counted(done, 65, stored=1, failed=1)
    assert f"{second}" in done.out and ("symbolic link" in done.out) == (put is put_link), done
    assert all(b"secret" not in raw for raw in raws(site, scuba))


@pytest.mark.skipif(os.getuid() == 0, reason="root follows none")
def test_a_link_on_the_command_line_is_followed(site, files):
    scuba = site.account()
    mails = [message(), message()]
    files.write("real/a.eml", mails[0])
    path = files.write("b.eml", mails[1])
    links = [os.path.join(files.path, name) for name in ("to-directory", "to-file", "dangling", "loop")]
    for link, target in zip(links, ("real/", path, "nowhere", "loop")):
        os.symlink(target, link)
    counted(site.run("replay", "-d", scuba, links[0], links[1]), stored=2)
    assert raws(site, scuba) == wires(mails)
    counted(site.run("replay", "-d", scuba, links[0] + "/a.eml", links[0] + "/../b.eml"), duplicate=2)
    for link in links[2:]:
        assert site.run("replay", "-d", scuba, link).exit == os.EX_NOINPUT


@pytest.mark.skipif(os.getuid() != 0, reason="others follow it")
def test_a_link_on_the_command_line_is_not_followed_by_root(site, files):
    scuba = site.account()
    path = files.write("real/a.eml", message())
    for link, target in (("to-directory", "real/"), ("to-file", path)):
        os.symlink(target, os.path.join(files.path, link))
    for named in ("to-directory", "to-directory/", "to-directory/a.eml", "to-file"):
        done = site.run("replay", "-d", scuba, os.path.join(files.path, named))
        assert done.exit == os.EX_NOINPUT and f"{named}: " in done.err and "symbolic link" in done.err, done
    counted(site.run("replay", "-d", scuba, os.path.join(files.path, "real/")), stored=1)


@pytest.mark.parametrize("name", ["fifo"] + ["fifo link"] * (os.getuid() != 0))
def test_what_is_no_file_is_refused(site, files, name):
    path = os.path.join(files.path, "fifo")
    os.mkfifo(path)
    os.symlink(path, path + " link")
    done = site.run("replay", "-d", site.account(), os.path.join(files.path, name))
    assert done.exit == os.EX_NOINPUT and "neither a file nor a directory" in done.err, done


@pytest.mark.skipif(os.getuid() != 0, reason="only root reads what others may not")
def test_root_reads_nothing_for_a_user_that_is_not_his(site, files):
    """A link that he has made to a directory, on the command line; another's file in his directory. His own files, and
    those of all users in a directory of root's, are read."""
    scuba = site.account()
    user = pwd.getpwnam(ordinary.USER).pw_uid
    path = files.maildir("Maildir", [message()])
    mail = os.path.join(path, "cur/1700000000.0.host")
    for place in (path, os.path.join(path, "cur"), os.path.join(path, "new"), mail):
        os.chown(place, user, -1)
        os.chmod(place, 0o700)
    counted(site.run("replay", "-d", scuba, path, mail), stored=1, duplicate=1)
    foreign = os.path.join(path, "new/2")
    os.link(site.write("secret", message().decode()), foreign)
    for named in (path, foreign):
        done = site.run("replay", "-d", scuba, named)
        assert done.exit == os.EX_NOINPUT and f"{foreign}: does not belong to" in done.err, done
    os.unlink(foreign)
    link = os.path.join(path, "link")
    os.symlink("/etc", link)
    os.chown(link, user, -1, follow_symlinks=False)
    for named in (link, link + "/passwd"):
        done = site.run("replay", "-d", scuba, named)
        assert done.exit == os.EX_NOINPUT and "symbolic link" in done.err, done
    os.unlink(link)
    os.chown(files.write("a", message()), user, -1)
    counted(site.run("replay", "-d", scuba, files.path), stored=1, duplicate=1)
    os.chmod(files.path, 0o1777)
    counted(site.run("replay", "-d", scuba, files.path), duplicate=2)
    os.link(os.path.join(site.directory, "secret"), os.path.join(files.path, "b"))
    done = site.run("replay", "-d", scuba, files.path)
    assert done.exit == os.EX_NOINPUT and f"{files.path}/b: does not belong to" in done.err, done


# The envelope

@pytest.mark.parametrize("field", ["Delivered-To", "X-Original-To"])
def test_recipient_from_the_header(site, files, field):
    scuba, doug = site.account("scuba"), site.account("doug")
    mail = f"{field}: {scuba}\n".encode() + message(to=doug)
    counted(site.run("replay", files.write("a", mail)), stored=1)
    assert (site.count(scuba), site.count(doug)) == (1, 0)


def test_recipients_of_the_command_line_come_first(site, files):
    scuba, doug, lisa = (site.account(name) for name in ("scuba", "doug", "lisa"))
    mail = f"Delivered-To: {lisa}\n".encode() + message()
    counted(site.run("replay", "-d", scuba, "-d", doug, "-d", scuba, files.write("a", mail)), stored=2)
    assert [site.count(account) for account in (scuba, doug, lisa)] == [1, 1, 0]


def test_addressees_that_have_an_account(site, files):
    accounts = [site.account(name) for name in ("to", "cc", "bcc", "other")]
    site.settings["route.account_query"] = f"SELECT $1 WHERE $1 IN ('{accounts[0]}', '{accounts[1]}', '{accounts[2]}')"
    headers = f"Cc: Somebody <stranger@elsewhere.example>, \"C\" <{accounts[1]}>\nBcc: {accounts[2]}\nReply-To: {accounts[3]}\n"
    mail = message(to=accounts[0], headers=headers)
    counted(site.run("replay", files.write("a", mail)), stored=3)
    assert [site.count(account) for account in accounts] == [1, 1, 1, 0]


def test_nobody_to_deliver_to_fails(site, files):
    path = files.write("a.eml", message())
    done = site.run("replay", path)
    counted(done, 65, failed=1)
    assert path in done.out and "-d" in done.out and "account_query" in done.out
    site.settings["route.account_query"] = "SELECT $1 WHERE false"
    done = site.run("replay", path)
    counted(done, 65, failed=1)
    assert "no address" in done.out


def test_sender_and_sent_copy(site, files):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = b"Return-Path: <bounces@elsewhere.example>\n" + message(sender=lisa)
    counted(site.run("replay", "-d", scuba, files.write("a", mail)), stored=1)
    assert site.value("SELECT sender FROM oncedrop.message") == "bounces@elsewhere.example"
    assert site.count(lisa, "Sent") == 1
    counted(site.run("replay", "-d", scuba, "-f", "told@elsewhere.example", files.write("b", message())), stored=1)
    assert site.value("SELECT sender FROM oncedrop.message ORDER BY id DESC LIMIT 1") == "told@elsewhere.example"


DATES = {
    "Received": ("Received: from a by b; Sun, 2 Feb 2020 03:02:02 +0100 (CET)\n"
                 "Received: from c by a; Sat, 1 Feb 2020 03:02:02 +0100\n", "02-Feb-2020 02:02:02"),
    "Date": ("", "01-Aug-2025 08:00:00"),
    "unreadable": ("Received: from a by b; yesterday\n", "01-Aug-2025 08:00:00"),
}


@pytest.mark.parametrize("headers,date", DATES.values(), ids=DATES.keys())
def test_date_of_arrival(site, files, headers, date):
    scuba = site.account()
    site.run("replay", "-d", scuba, files.write("a", headers.encode() + message()))
    assert site.messages(scuba)[0].internal_date.startswith(date)


# Trouble: output and behaviour

def test_failures_do_not_stop_the_others(site, files):
    scuba, full = site.account("scuba"), site.account("full", quota=1024)
    site.settings["delivery.overquota"] = "bounce"
    site.settings["delivery.size_limit"] = "100K"
    files.write("1.eml", b"Delivered-To: " + full.encode() + b"\n" + message(body="x" * 4000 + "\n"))
    files.write("2.eml", message())
    files.write("3.eml", b"")
    files.write("4.eml", b"Delivered-To: " + scuba.encode() + b"\n" + message(body="x" * 200_000))
    files.write("5.eml", b"Delivered-To: " + scuba.encode() + b"\n" + message())
    files.write("6.eml", b"Delivered-To: nobody@example.org\n" + message())
    done = site.run("replay", files.path)
    counted(done, 65, stored=1, failed=4, deferred=1)
    assert site.count(scuba) == 1
    for number, word in ((1, "quota"), (2, "-d"), (3, "nothing to read"), (4, "size_limit"), (6, "imap")):
        [line] = [line for line in done.out.splitlines() if f"/{number}.eml" in line]
        assert word in line.lower(), line


def test_trouble_defers_and_says_how_to_go_on(site, files):
    scuba = site.account()
    port = site.settings["imap.port"]
    path = files.write("a", message())
    site.settings["imap.port"] = free_port()
    done = site.run("replay", "-d", scuba, path)
    counted(done, 75, deferred=1)
    assert "run it again" in done.err
    site.settings["imap.port"] = port
    counted(site.run("replay", "-d", scuba, path), stored=1)


def test_without_a_database_each_is_deferred(site, files):
    site.settings.update(site.ledger.out_of_reach()[0])
    counted(site.run("replay", "-d", site.account(), files.write("a", message()), files.write("b", message())), 75, deferred=2)


def test_a_held_message_is_tried_again_while_others_go_on(site, files):
    scuba = site.account()
    files.write("1.eml", message(id="held@test.example"))
    files.write("2.eml", message(id="free@test.example"))
    with locks.held(site, locks.key_of(site, "held@test.example")):
        run = site.start("replay", "-d", scuba, files.path)
        wait_until(lambda: site.count(scuba) == 1, "the free one is in its mailbox")
    counted(run.finish(), stored=2)


def test_the_deadline_costs_one_message(site, files):
    """The worker ends; another one continues."""
    scuba, stuck = site.account("scuba"), site.account("stuck")
    site.settings.update({"delivery.deadline": "7s", "delivery.hold_off": "300s", "imap.tls": "none",
                          "imap.port": site.lab.dovecot.port, "imap.timeout": "30s"})
    site.imap_proxy(lambda _connection, _side, data: b"" if b"stuck body" in data else data)
    files.write("1.eml", message(body="stuck body\n"))
    files.write("2.eml", message())
    done = site.run("replay", "-d", scuba, files.path)
    counted(done, 75, stored=1, deferred=1)
    assert "deadline" in done.out and stuck


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_in_order_when_asked_to(site, files, number):
    """The server holds back its answers from the tenth on; otherwise everything might be done before the signal."""
    scuba = site.account()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port, "imap.timeout": "60s"})
    asked, answers = threading.Event(), []

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data:
            answers.append(data)
            if len(answers) >= 10:
                asked.wait(50)
        return data
    site.imap_proxy(watch)
    mails = [message() for _ in range(300)]
    path = files.mbox("mbox", mails)
    run = site.start("replay", "-j", "2", "-d", scuba, path)
    wait_until(lambda: site.count(scuba) > 3, "it is at work")
    run.signal(number)
    asked.set()
    done = run.finish()
    assert done.exit == 75 and "run it again" in done.err, done
    stored = site.count(scuba)
    assert f" {stored} stored, 0 duplicate, 0 deferred, 0 failed" in done.out.splitlines()[-1], done
    assert stored < 300
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0
    counted(site.run("replay", "-j", "2", "-d", scuba, path), stored=300 - stored, duplicate=stored)
    assert raws(site, scuba) == wires(mails)


def test_killed_and_run_again(site, files):
    accounts = [site.account(f"a{number}") for number in range(4)]
    site.settings.update({"delivery.deadline": "20s", "delivery.hold_off": "21s"})
    mails = [f"Delivered-To: {accounts[number % 4]}\n".encode() + message() for number in range(120)]
    path = files.maildir("Maildir", mails)
    for there in (20, 60):
        run = site.start("replay", "-j", "4", path)
        wait_until(lambda: sum(map(site.count, accounts)) >= there, f"{there} are there")
        run.signal(signal.SIGKILL)
        run.finish()
        site.ledger.wait_for_no_session()
        site.ledger.age(seconds=15, state="appending")
    done = site.run("replay", "-j", "4", path)
    assert done.exit == 0, done
    assert sorted(sum((raws(site, account) for account in accounts), [])) == wires(mails)
    counted(site.run("replay", "-j", "4", path), duplicate=120)


# Options

def test_json(site, files):
    scuba, doug = site.account("scuba"), site.account("doug")
    mail = message(id="a b@test.example")
    path = files.write("a.eml", mail)
    done = site.run("replay", "--json", "-d", scuba, "-d", doug, path, files.write("b", b""))
    assert done.exit == 65, done
    first, second = map(json.loads, done.out.splitlines())
    assert (first["name"], first["error"], first["message_id"], first["size"]) == (path, None, "a b@test.example",
                                                                                 len(on_the_wire(mail)))
    assert [(r["recipient"], r["status"], r["dsn"], r["account"], r["mailbox"], r["uid"]) for r in first["recipients"]] == \
        [(scuba, "stored", "2.1.5", scuba, "INBOX", 1), (doug, "stored", "2.1.5", doug, "INBOX", 1)]
    assert second["error"] and second["digest"] is None and second["recipients"] == []
    assert "1 message" not in done.out and "2 messages" in done.err


def test_force(site, files):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    mail = message(sender=lisa)
    path = files.write("a", mail)
    for _ in range(2):
        counted(site.run("replay", "--force", "-d", scuba, path), stored=1)
    counted(site.run("replay", "-d", scuba, "-d", doug, path), stored=1, duplicate=1)
    assert (site.count(scuba), site.count(doug), site.count(lisa, "Sent")) == (2, 1, 1)
    assert set(site.sql("SELECT account, role, repeated FROM oncedrop.copy")) == \
        {(scuba, "inbox", 1), (doug, "inbox", 0), (lisa, "sent", 0)}


def test_a_forced_message_that_is_held_is_repeated_for_those_that_were_held_only(site, files):
    """One of two copies waits for its hold-off: the other one is not made a third time meanwhile."""
    scuba, doug = site.account("scuba"), site.account("doug")
    site.settings.update({"delivery.deadline": "30s", "delivery.hold_off": "31s"})
    path = files.write("a", message())
    counted(site.run("replay", "-d", scuba, "-d", doug, path), stored=2)
    site.ledger.claim(seconds=25, account=doug)
    counted(site.run("replay", "--force", "-d", scuba, "-d", doug, path), stored=2)
    assert (site.count(scuba), site.count(doug)) == (2, 1)


def remove(site, account, mailbox="INBOX"):
    with site.lab.dovecot.session(account) as session:
        session.select(mailbox)
        session.store("1:*", "+FLAGS", r"\Deleted")
        session.expunge()


def test_verify_restores_what_is_missing(site, files):
    lisa, scuba, doug = site.account("lisa"), site.account("scuba"), site.account("doug")
    mail = message(sender=lisa)
    path = files.write("a", mail)
    words = ["-d", scuba, "-d", doug, path]
    counted(site.run("replay", *words), stored=2)
    remove(site, scuba)
    remove(site, lisa, "Sent")
    counted(site.run("replay", *words), duplicate=2)
    assert site.count(scuba) == 0
    counted(site.run("replay", "--verify", *words), stored=1, duplicate=1)
    counted(site.run("replay", "--verify", *words), duplicate=2)
    assert raws(site, scuba) == raws(site, doug) == [on_the_wire(mail)]
    assert site.count(lisa, "Sent") == 1
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state <> 'stored'") == 0


def test_verify_that_cannot_look_restores_nothing(site, files):
    scuba = site.account()
    path = files.write("a", message())
    counted(site.run("replay", "-d", scuba, path), stored=1)
    port = site.settings["imap.port"]
    site.settings["imap.port"] = free_port()
    counted(site.run("replay", "--verify", "-d", scuba, path), 75, deferred=1)
    site.settings["imap.port"] = port
    done = site.run("replay", "--verify", "-d", scuba, path)
    counted(done, stored=1)
    assert "found there" in done.out and site.count(scuba) == 1


def test_a_dry_run_matches_what_then_happens(site, files):
    scuba, full = site.account("scuba"), site.account("full")
    known, other = message(id="known@test.example"), message(id="known@test.example", body="other\n")
    expect.stored(site.deliver(known, scuba))
    mails = {"1.eml": known, "2.eml": other, "3.eml": message(), "4.eml": b"", "5.eml": other}
    for name, mail in mails.items():
        files.write(name, mail)
    before = site.sql("SELECT * FROM oncedrop.copy"), site.sql("SELECT * FROM oncedrop.delivery")

    def statuses(*arguments):
        done = site.run("replay", "--json", *arguments, "-d", scuba, "-d", full, files.path)
        return [(os.path.basename(said["name"]), said["error"], [(one["recipient"], one["status"]) for one in said["recipients"]])
                for said in map(json.loads, done.out.splitlines())]
    would = statuses("--dry-run")
    assert (site.sql("SELECT * FROM oncedrop.copy"), site.sql("SELECT * FROM oncedrop.delivery")) == before
    assert site.count(scuba) == 1 and site.count(full) == 0
    assert statuses() == would
    assert would[0][2] == [(scuba, "duplicate"), (full, "stored")]
    assert would[4][2] == [(scuba, "duplicate"), (full, "duplicate")]


def dead(site):
    """Where there is no ledger."""
    return {MARIADB: "mariadb://x:x@127.0.0.1:1/x", POSTGRES: "host=127.0.0.1 port=1 dbname=x user=x"}.get(
        engine(), f"sqlite:{site.directory}/gone/ledger.db")


@pytest.mark.parametrize("words", [[], ["-j", "2"], ["--dry-run"], ["--json"]])
def test_a_dead_ledger_ends_it(site, files, words):
    """After a few messages, with the reason once, as nothing would be delivered."""
    scuba = site.account()
    for number in range(30):
        files.write(f"{number}.eml", message())
    alive = site.settings["database.conninfo"]
    site.settings["database.conninfo"] = dead(site)
    done = site.run("replay", *words, "-d", scuba, files.path)
    assert done.exit == 75, done
    said = " ".join(done.err.split())
    assert said.count("stopped, as nothing can be delivered without the ledger: ") == 1 and ".eml" not in done.err, done
    lines = done.out.splitlines()
    if words == ["--json"]:
        assert 5 <= len(lines) <= 7 and all(json.loads(line)["recipients"][0]["status"] == "deferred" for line in lines), done
    else:
        [line] = lines
        assert re.search(r": [567] messages: 0 stored, 0 duplicate, [567] deferred, 0 failed", line), done
    site.settings["database.conninfo"] = alive
    counted(site.run("replay", "-d", scuba, files.path), stored=30)


def test_a_dead_ledger_and_few_files(site, files):
    """Then each has its line; and so has what needs no ledger to fail."""
    scuba = site.account()
    for number in range(4):
        files.write(f"{number}.eml", message())
    files.write("9.eml", b"")
    site.settings["database.conninfo"] = dead(site)
    done = site.run("replay", "-d", scuba, files.path)
    counted(done, 65, deferred=4, failed=1)
    assert all(f"{name}.eml" in done.out for name in (0, 1, 2, 3, 9)) and "stopped" not in done.err, done


def test_a_dry_run_says_why(site, files):
    scuba = site.account()
    done = site.run("replay", "--dry-run", "-d", scuba, files.write("a", message()))
    counted(done, stored=1)
    assert "would be stored in mailbox=INBOX (a new message)" in done.out


@pytest.mark.parametrize("arguments", [[], ["-j", "0", "x"], ["--verify", "--force", "x"], ["-x", "x"], ["-d"]])
def test_wrong_usage(site, arguments):
    done = site.run("replay", *arguments)
    assert done.exit == 64 and "usage" in done.err, done
