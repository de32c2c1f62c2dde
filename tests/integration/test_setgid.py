# SPDX-License-Identifier: ISC
"""The set-group-ID installation for mailbox_command: users may deliver to their own account, and can get nothing else
from the program: no password, no other user's mail, no delivery elsewhere.

Only root can install it and become another user; conftest.py leaves this file out otherwise.

Each test was seen to fail: by a group that is kept for other commands, for -c and -o, or beyond the configuration; by an
environment that is kept; by HOME that is not set; by a caller who may be anybody; by a process that may be looked into; by
descriptors that are not closed; by a log on the caller's stderr; by a lock without a time limit; by an
answer that is given only once it is written."""

import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import sys

import expect
import pytest
from lab import lab as lab_module, setgid
from lab.messages import message, new_id, on_the_wire
from lab.process import wait_until
from lab.setgid import BECOME, OTHER, USER, Installed, Listener
from lab.site import new_site


pytestmark = pytest.mark.xdist_group("setgid")     # built once


@pytest.fixture(scope="module")
def prefix():
    with setgid.installation() as directory:
        yield directory


@pytest.fixture
def installed(site, prefix):
    return Installed(site, prefix)


@pytest.fixture(scope="module")
def refusing(lab, ledgers, prefix):
    """Shared by all tests that leave ledger and mailboxes empty."""
    site = new_site(lab, ledgers)
    yield Installed(site, prefix)
    site.close()


def refused(done):
    """Deferred, because the configuration could not be read."""
    expect.deferred(done, r"4\.3\.5", "oncedrop.conf", "cannot be opened")


def nothing_stored(installed):
    site = installed.site
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 0
    for account in (installed.account, installed.other):
        assert site.count(account) == site.count(account, "Sent") == 0


# The purpose


def test_delivery_to_the_own_account(installed):
    mail = message()
    expect.stored(installed.deliver(mail))
    expect.duplicate(installed.deliver(mail))
    [copy] = installed.site.messages(installed.account)
    assert copy.raw == on_the_wire(mail)
    assert installed.site.value("SELECT sender FROM oncedrop.message") == "lisa@elsewhere.example"


@pytest.mark.parametrize("recipient,mailbox", [(f"{USER}+list@example.org", "list"), (USER, "INBOX"),
                                               (f"{USER.upper()}@Example.org", "INBOX")])
def test_other_addresses_of_the_own_account(installed, recipient, mailbox):
    installed.site.settings["route.detail"] = "folder"
    expect.stored(installed.deliver(message(), recipient, merge=True), mailbox)


def test_a_large_message(installed):
    """A large message is kept in a file."""
    mail = message(body=b"0123456789abcde\n" * 300_000)
    expect.stored(installed.deliver(mail))
    assert installed.site.messages(installed.account)[0].raw == on_the_wire(mail)


def test_root_delivers_to_everybody(installed):
    """As from a pipe(8) transport without its own user."""
    expect.stored(installed.deliver_as_root(message(), f"{OTHER}@example.org"))


# Reading other users' data


def test_the_files_are_not_readable(refusing):
    refusing.private(refusing.configuration, refusing.site.configuration())
    for path in (refusing.configuration, refusing.password_file):
        done = refusing.run(path, words=["cat"])
        assert done.exit == 1 and "Permission denied" in done.err, done


@pytest.mark.parametrize("arguments", [
    ["config"], ["config", "-n"], ["show", "a"], ["schema", "version"], ["schema", "install"], ["check"], ["check", USER],
    ["locks"], ["-v", "config"], ["-c", "CONFIGURATION", "config"], ["-o", "log.to=stderr", "config"]])
def test_other_commands_have_no_group(refusing, arguments):
    done = refusing.run(*[word.replace("CONFIGURATION", refusing.configuration) for word in arguments])
    assert done.exit not in (0, 75), done
    assert re.search(r"oncedrop\.conf.*(cannot be opened|Permission denied)", done.out + done.err), done


def test_lmtp_has_no_group(refusing):
    done = refusing.run("lmtp", stdin=b"LHLO x\r\n")
    assert done.exit == 75 and re.fullmatch(r"421 4\.3\.5 .*oncedrop\.conf: cannot be opened.*\r\n", done.out), done


def test_the_log_is_not_for_the_caller(installed):
    expect.stored(installed.run("-v", "deliver", stdin=message()))


@pytest.mark.parametrize("options", [
    ["-c", "CONFIGURATION"], ["-o", "log.to=stderr"], ["-o", "record.level=raw"], ["-v", "-o", "route.account=news"],
    ["-o", "database.conninfo=host=127.0.0.1 port=PORT"], ["-o", "imap.host=127.0.0.1", "-o", "imap.port=PORT"]])
def test_own_settings_have_no_group(refusing, options):
    listener = refusing.site.use(Listener())
    values = {"CONFIGURATION": refusing.configuration, "PORT": str(listener.port)}
    words = [re.sub("|".join(values), lambda found: values[found[0]], word) for word in options]
    refused(refusing.run(*words, "deliver", stdin=message()))
    assert listener.accepted == 0
    nothing_stored(refusing)


@pytest.mark.parametrize("kind", ["password file", "ca file", "link", "configuration", "/proc/self/fd"])
def test_an_own_configuration_opens_nothing_secret(refusing, kind):
    """Neither its content nor, in an error message, one of its lines."""
    listener = refusing.site.use(Listener())
    link = os.path.join(refusing.directory, kind.replace("/", "-"))
    os.symlink(refusing.password_file, link)
    secret = {"link": link, "/proc/self/fd": "/dev/stdin"}.get(kind, refusing.password_file)
    text = (f"[database]\nconninfo=host=127.0.0.1 port={listener.port}\n[imap]\nhost=127.0.0.1\nport={listener.port}\n"
            f"tls=none\npassword_file={secret}\n")
    path = refusing.own("own.conf", text)
    if kind == "ca file":
        path = refusing.own("own.conf", text.replace(f"password_file={secret}", "password_file=" + refusing.own("pw", "x\n"))
                             .replace("tls=none", f"tls=imaps\nca_file={secret}"))
    done = refusing.run("-c", secret if kind == "configuration" else path, "deliver", stdin=message())
    expect.deferred(done)
    if kind != "ca file":
        assert listener.accepted == 0


# Delivering to others


@pytest.mark.parametrize("recipient,arguments,env", [
    (f"{OTHER}@example.org", [], {}),
    (OTHER, [], {"USER": OTHER, "LOGNAME": OTHER}),
    (f"{USER}@example.org", ["-d", f"{OTHER}@example.org"], {}),
    (f"{OTHER}+{USER}@example.org", [], {"USER": OTHER, "LOGNAME": OTHER, "HOME": "/var/spool/news"}),
    (f" {OTHER}@example.org", [], {}),
    (f"<{OTHER}@example.org>", [], {}),
    (f"@{USER}", [], {}),
    ("root", [], {"USER": "root", "LOGNAME": "root", "SUDO_UID": "0"}),
])
def test_delivery_to_another_account(refusing, recipient, arguments, env):
    done = refusing.deliver(message(), recipient, arguments, env=env)
    expect.deferred(done)
    nothing_stored(refusing)


def test_delivery_to_an_account_that_only_the_header_names(refusing):
    mail = f"Delivered-To: {OTHER}@example.org\n".encode() + message()
    expect.deferred(refusing.deliver(mail, env={"RECIPIENT": ""}))
    nothing_stored(refusing)


def test_an_account_of_the_login_name(installed):
    """The usual case: account = %{user}."""
    installed.site.settings["route.account"] = "%{user}"
    installed.site.lab.dovecot.add_account(USER)
    expect.stored(installed.deliver(message()))
    expect.deferred(installed.deliver(message(), f"{OTHER}@example.org"), r"4\.3\.0", "only to the user's own account")
    assert installed.site.count(USER) == 1


def test_with_account_query_the_login_name_decides(installed):
    rows = f"('{USER}', 'mine'), ('me@example.org', 'mine'), ('other@example.org', '{installed.other}')"
    installed.site.settings["route.account_query"] = f"SELECT a FROM (VALUES {rows}) AS t (k, a) WHERE k = $1"
    installed.site.lab.dovecot.add_account("mine")
    expect.stored(installed.deliver(message(), "me@example.org"))
    expect.deferred(installed.deliver(message(), "other@example.org"))
    assert installed.site.count("mine") == 1 and installed.site.count(installed.other) == 0


AUTHENTICATED = (f"Received: from client.test (localhost [127.0.0.1])\n\t(Authenticated sender: {OTHER})\n"
                 "\tby postfix.test (Postfix) with ESMTPSA id 4abc\n\tfor <games@example.org>; Fri, 1 Aug 2025 10:00:00 +0200\n")


@pytest.mark.parametrize("sent_copy", ["authenticated", "from"])
@pytest.mark.parametrize("claim", ["-u", "SASL_USERNAME", "Received", "only From"])
def test_no_sent_copy_for_another(installed, sent_copy, claim):
    installed.site.settings["route.sent_copy"] = sent_copy
    mail = message(sender=f"{OTHER}@example.org")
    done = installed.deliver((AUTHENTICATED.encode() if claim == "Received" else b"") + mail,
                             arguments=["-u", OTHER] if claim == "-u" else [],
                             env={"SASL_USERNAME": OTHER} if claim == "SASL_USERNAME" else {})
    expect.stored(done)
    assert installed.site.count(installed.other, "Sent") == installed.site.count(installed.other) == 0
    assert installed.site.sql("SELECT account, role FROM oncedrop.copy") == [(installed.account, "inbox")]


# The environment


def hostile(installed, port):
    """Variables that libraries read, as a malicious user would set them."""
    directory = installed.directory
    service = installed.own("pg_service.conf", f"[oncedrop]\nhost=127.0.0.1\nport={port}\n")
    trap = os.path.join(directory, "trap")
    return {
        "PGHOST": "127.0.0.1", "PGHOSTADDR": "127.0.0.1", "PGPORT": str(port), "PGSERVICE": "oncedrop",
        "PGSERVICEFILE": service, "PGSYSCONFDIR": directory, "PGPASSFILE": installed.own("pgpass", "*:*:*:*:x\n"),
        "PGOPTIONS": "-c search_path=evil", "PGSSLMODE": "disable", "PGUSER": "evil", "PGDATABASE": "evil",
        "PGREQUIREPEER": "evil", "PGCHANNELBINDING": "require", "PGTARGETSESSIONATTRS": "standby", "PGKRBSRVNAME": "evil",
        "SASL_PATH": directory, "SASL_CONF_PATH": directory, "SSLKEYLOGFILE": trap, "GNUTLS_DEBUG_LEVEL": "9",
        "GNUTLS_SYSTEM_PRIORITY_FILE": trap, "GNUTLS_SYSTEM_TRUST_FILE": trap, "GNUTLS_FORCE_FIPS_MODE": "1",
        "SSL_CERT_FILE": trap, "SSL_CERT_DIR": directory, "OPENSSL_CONF": trap, "OPENSSL_ENGINES": directory,
        "OPENSSL_MODULES": directory, "GCONV_PATH": directory, "LOCPATH": directory, "LC_ALL": "evil", "LANG": "evil",
        "LANGUAGE": "evil", "NLSPATH": trap, "CHARSETALIASDIR": directory, "GIO_EXTRA_MODULES": directory,
        "GIO_MODULE_DIR": directory, "GIO_USE_TLS": "evil", "GIO_USE_VFS": "evil", "G_DEBUG": "fatal-warnings",
        "G_MESSAGES_DEBUG": "all", "G_SLICE": "debug-blocks", "G_FILENAME_ENCODING": "evil", "GPGME_DEBUG": f"9:{trap}",
        "GNUPGHOME": directory, "P11_KIT_STRICT": "1", "P11_KIT_DEBUG": "all", "TMPDIR": directory, "TMP": directory,
        "TEMP": directory, "LD_PRELOAD": installed.own("evil.so", "evil"), "LD_LIBRARY_PATH": directory,
        "LD_AUDIT": f"{directory}/evil.so", "LD_DEBUG": "all", "LD_DEBUG_OUTPUT": trap, "LD_BIND_NOW": "1",
        "LD_PROFILE": "libpq.so.5", "LD_PROFILE_OUTPUT": directory, "MALLOC_TRACE": trap, "MALLOC_CHECK_": "3",
        "MALLOC_PERTURB_": "1", "GLIBC_TUNABLES": "glibc.malloc.check=3", "RES_OPTIONS": "debug",
        "HOSTALIASES": installed.own("hosts", "localhost evil.example\n"), "LOCALDOMAIN": "evil.example",
        "RESOLV_HOST_CONF": trap, "TZ": ":" + trap, "TZDIR": directory, "HOME": directory,
        "XDG_CONFIG_HOME": directory, "KRB5CCNAME": trap, "KRB5_CONFIG": trap, "KRB5_TRACE": trap, "IFS": "/",
        "BASH_ENV": trap, "ENV": trap, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={trap}", "LIBPQ_TRACE": trap,
        "ONCEDROP_CONFIG": trap,
    }


def after_chatter(done):
    """Output of the loader and libraries before main() is the caller's own doing; the answer is on stdout."""
    return done._replace(err="")


def test_the_environment_leads_nowhere(installed):
    """Everything at once: the delivery goes where the configuration says, and leaves no file behind. The front is no more
    than any program that the user starts."""
    listener = installed.site.use(Listener())
    variables = hostile(installed, listener.port)
    before = set(os.listdir(installed.directory))
    done = installed.deliver(message(body=b"0123456789abcde\n" * 100_000), env=variables, words=[installed.full_program])
    expect.stored(after_chatter(done))
    assert listener.accepted == 0
    assert set(os.listdir(installed.directory)) == before
    assert installed.site.count(installed.account) == 1


@pytest.mark.parametrize("name", ["PGPORT", "PGSERVICEFILE", "HOME", "LD_PRELOAD", "TMPDIR", "G_DEBUG", "GLIBC_TUNABLES", "TZ"])
def test_one_variable_leads_nowhere(installed, name):
    """One at a time, so that none hides another."""
    listener = installed.site.use(Listener())
    done = installed.deliver(message(), env={name: hostile(installed, listener.port)[name]}, words=[installed.full_program])
    expect.stored(done)
    assert listener.accepted == 0


@pytest.mark.parametrize("target", ["/etc/oncedrop", "/nonexistent", "."])
def test_a_large_message_is_not_kept_where_the_user_says(installed, target):
    link = os.path.join(installed.directory, "link")
    os.symlink(target, link)
    expect.stored(installed.deliver(message(body=b"0123456789abcde\n" * 100_000), env={"TMPDIR": link}))
    assert os.listdir(installed.directory) == ["link"]


def test_a_service_is_not_looked_up_where_the_user_says(installed):
    """With service= in the conninfo libpq reads a file in the home directory before that of the system."""
    listener = installed.site.use(Listener())
    installed.site.settings["database.conninfo"] = "service=oncedrop password=" + lab_module.DELIVERY
    installed.own(".pg_service.conf", f"[oncedrop]\nhost=127.0.0.1\nport={listener.port}\n")
    done = installed.deliver(message(), env=hostile(installed, listener.port))
    expect.deferred(after_chatter(done), r"4\.3\.0", 'definition of service "oncedrop" not found')
    assert listener.accepted == 0


def test_what_another_program_is_given(installed):
    """[imap] command shows what is left by then: a known environment, no group, and none of the caller's
    descriptors."""
    shown = os.path.join(installed.directory, "shown")
    lines = ["#!/bin/sh", f"exec 2>&1 >{shown}.new", "id -Gn", "ls -m /proc/$$/fd", "env",
             f"mv {shown}.new {shown}"]
    installed.site.settings["imap.command"] = installed.own("command", "\n".join(lines) + "\n", 0o755)
    variables = hostile(installed, 1)
    expect.deferred(after_chatter(installed.deliver(message(), env=variables, before=STRAY)), r"4\.4\.1")
    with open(shown, encoding="utf-8") as file:
        groups, descriptors, *environment = file.read().splitlines()
    assert groups == USER
    assert set(descriptors.split(", ")) <= {"0", "1", "2", "10", "255"}, descriptors    # the last two are the shell's
    names = {line.split("=")[0] for line in environment} - {"PWD", "OLDPWD", "SHLVL", "_"}     # those too
    assert names == {"PATH", "HOME", "PGSERVICEFILE", "SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT"}
    assert {"HOME=/nonexistent", "PGSERVICEFILE=/dev/null"} < set(environment)


# Descriptors, limits


def test_a_decoder_beside_the_program_must_be_roots(installed):
    """The user has linked the program to a directory of his own, and put a library there."""
    program, marker = os.path.join(installed.directory, "oncedrop-main"), os.path.join(installed.directory, "loaded")
    os.link(installed.full_program, program)
    source = installed.own("own.c", f"""#include <fcntl.h>
        __attribute__((constructor)) static void run(void) {{ open("{marker}", O_WRONLY | O_CREAT, 0600); }}""")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", os.path.join(installed.directory, "oncedrop-decode.so"), source],
                   check=True)
    expect.stored(installed.deliver(message(), words=[program]))
    assert not os.path.exists(marker)


def shell(redirections):
    return ["sh", "-c", f'exec "$@" {redirections}', "sh"]


STRAY = shell("3</dev/null 4<>/dev/null 5>/dev/null 6</dev/null 7</ 8<. 9>/dev/null")

DESCRIPTORS = {"stdout": ">&-", "stderr": "2>&-", "stdout and stderr": ">&- 2>&-", "a full device": ">/dev/full"}


@pytest.mark.parametrize("redirections", DESCRIPTORS.values(), ids=DESCRIPTORS.keys())
def test_nowhere_to_answer(installed, redirections):
    """A file that is opened instead must not get the answer; the exit status says everything."""
    done = installed.deliver(message(), before=shell(redirections))
    assert done.exit == 0, done
    assert installed.site.count(installed.account) == 1


@pytest.mark.parametrize("redirections", ["<&-", "<&- >&- 2>&-", "</dev/null", "0>/dev/null", "</"])
def test_no_message(refusing, redirections):
    assert refusing.deliver(b"", before=shell(redirections)).exit == 75
    nothing_stored(refusing)


@pytest.mark.parametrize("path", ["password_file", "configuration"])
def test_a_file_that_is_not_theirs_is_no_message(refusing, path):
    refusing.private(refusing.configuration, refusing.site.configuration())
    done = refusing.deliver(b"", before=["sh", "-c", 'file=$1; shift; exec "$@" <"$file"', "sh", getattr(refusing, path)])
    assert done.exit not in (0, 75) and "Permission denied" in done.err, done
    nothing_stored(refusing)


def test_a_pipe_that_is_full(installed):
    """The deadline ends the wait for its reader; the message is stored, and the exit status says so."""
    installed.site.settings["delivery.deadline"] = "5s"
    fifo = os.path.join(installed.directory, "fifo")
    os.mkfifo(fifo)
    os.chmod(fifo, 0o666)
    reader = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        with pytest.raises(BlockingIOError):
            while True:
                os.write(reader, b"x" * 4096)
        done = installed.deliver(message(), before=["sh", "-c", f'exec "$@" 1<>{fifo}', "sh"])
    finally:
        os.close(reader)
    assert done.exit == 0 and done.seconds < 60, done
    assert installed.site.count(installed.account) == 1


def delivered_past_hold_off(installed, deliver):
    """Whether a delivery is done, after the hold-off of earlier ones."""
    installed.site.sql("UPDATE oncedrop.copy SET attempt_at = attempt_at - interval '1 hour' WHERE state = 'appending'")
    return deliver().exit == 0


def once_in_the_end(installed, mail):
    """Whatever happened before: the same message is retried until it is stored, and is stored once."""
    wait_until(lambda: delivered_past_hold_off(installed, lambda: installed.deliver(mail)), "the delivery", 120)
    [copy] = installed.site.messages(installed.account)
    assert copy.raw == on_the_wire(mail)


@pytest.mark.parametrize("limit", ["--fsize=0", "--fsize=4096", "--nofile=3", "--nofile=4", "--nofile=6", "--nofile=8", "--as=20000000",
                                   "--as=60000000", "--data=1000000", "--stack=65536", "--nproc=1", "--core=unlimited",
                                   "--memlock=0", "--msgqueue=0", "--sigpending=0", "--rttime=1"])
def test_limits(installed, limit):
    """They may make the delivery fail, but never with the status of a bounce or a crash."""
    mail = message(body=b"0123456789abcde\n" * 100_000)
    done = installed.deliver(mail, before=["prlimit", limit])
    assert done.exit in (0, 75) or done.exit < 0 or "error while loading shared libraries" in done.err, done
    assert installed.site.count(installed.account) == (1 if done.exit == 0 else 0)
    once_in_the_end(installed, mail)


# A process in progress


def held_up(installed, **more):
    """A delivery that waits for the IMAP server as long as a test may take. Returns (its process, the proxy, the
    message)."""
    installed.site.settings.update({"imap.timeout": "300s", "delivery.deadline": "310s"})
    proxy = installed.site.imap_proxy()
    proxy.stall()
    mail = message()
    running = installed.start(*setgid.DELIVER, stdin=mail, **more)
    wait_until(lambda: proxy.accepted and installed.site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'"),
               "the claim")
    return running, proxy, mail


def test_stray_descriptors_are_closed(installed):
    running, proxy, _ = held_up(installed, before=STRAY)
    directory = f"/proc/{running.process.pid}/fd"
    targets = {name: os.readlink(os.path.join(directory, name)) for name in os.listdir(directory)}
    assert "/" not in targets.values(), targets
    assert sum(target == "/dev/null" for target in targets.values()) == 2, targets     # our own stdout and stderr
    proxy.resume()
    expect.stored(running.finish())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGALRM, signal.SIGKILL, signal.SIGSEGV, signal.SIGXFSZ])
def test_signals(installed, number):
    """Sent by the user, who is allowed to; no core file shows the contents of memory."""
    core = ["sh", "-c", f'ulimit -c unlimited; cd {installed.directory}; exec "$@"', "sh"]
    running, proxy, mail = held_up(installed, before=core)
    subprocess.run([*BECOME, "sh", "-c", f"kill -{number.value} {running.process.pid}"], check=True)
    done = running.finish()
    installed.check_secrets(done.out + done.err)
    assert done.exit in (75, -number), done
    assert os.listdir(installed.directory) == []
    proxy.resume()
    once_in_the_end(installed, mail)


def stands_still(process):
    try:
        with open(f"/proc/{process.pid}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0] == "T"
    except (FileNotFoundError, ProcessLookupError):
        return False


def stop(running):
    """Unless it ends first."""
    subprocess.run([*BECOME, "sh", "-c", f"kill -STOP {running.process.pid}"], check=False)
    wait_until(lambda: not running.reader.is_alive() or stands_still(running.process), "it stands still, or has ended")


def test_stopped_it_holds_up_its_message_until_the_deadline(installed):
    """Others, of the same Message-ID, too, but nothing else and not for longer; the one copy that was claimed is searched for
    when the hold-off is over."""
    site = installed.site
    site.settings.update({"delivery.hold_off": "300s", "delivery.deadline": "8s"})
    port, id = site.settings["imap.port"], new_id()
    proxy = site.imap_proxy()
    proxy.stall()
    mail = message(id=id)
    stopped = installed.start(*setgid.DELIVER, stdin=mail)
    wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy WHERE account = %s", (installed.account,)) == 1, "it has claimed")
    stop(stopped)
    site.settings.update({"imap.port": port, "delivery.deadline": "60s"})
    expect.held(installed.deliver_as_root(mail, f"{OTHER}@example.org"))
    expect.stored(installed.deliver_as_root(message(), f"{OTHER}@example.org"))
    for held_up in mail, message(id=id, body="other\n"):
        wait_until(lambda: installed.deliver_as_root(held_up, f"{OTHER}@example.org").exit == 0, "its lock is taken away", 60)
    expect.held(installed.deliver_as_root(mail, installed.address))
    stopped.signal(signal.SIGCONT)
    assert stopped.finish().exit != 0
    wait_until(lambda: delivered_past_hold_off(installed, lambda: installed.deliver_as_root(mail, installed.address)),
               "the delivery past the hold-off", 60)
    assert (site.count(installed.account), site.count(installed.other)) == (1, 3)


def test_locks_tells_of_it(installed):
    running, proxy, _ = held_up(installed)
    [row] = json.loads(installed.site.run("locks", "--json").out)
    assert (row["account"], row["state"], row["lock"]) == (installed.account, "appending", "held") and row["message_id"], row
    proxy.resume()
    expect.stored(running.finish())


def test_by_two_ways_at_once(installed):
    """One copy and one record, whichever is first."""
    site = installed.site
    site.settings["record.level"] = "raw"
    for _ in range(3):
        mail = message()
        ways = [installed.start(*setgid.DELIVER, stdin=mail)]
        ways += [site.start_delivery(mail, address) for address in (installed.address, f"{OTHER}@example.org")]
        for way in ways:
            assert way.finish().exit in (0, 75)
        assert installed.deliver(mail).exit == 0    # both ways may have met the lock of the third delivery
        expect.duplicate(installed.deliver(mail))
        assert site.deliver(mail, f"{OTHER}@example.org").exit == 0
    assert site.count(installed.account) == site.count(installed.other) == 3
    assert site.value("SELECT count(*) FROM oncedrop.message") == site.value("SELECT count(*) FROM oncedrop.raw") == 3


PEEK = """
import ctypes, os, sys
pid = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def check(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
"""

PEEKS = {
    "memory": "open(f'/proc/{pid}/mem', 'rb')",
    "maps": "open(f'/proc/{pid}/maps').read()",
    "environment": "open(f'/proc/{pid}/environ').read()",
    "list of descriptors": "os.listdir(f'/proc/{pid}/fd')",
    "standard input": "open(f'/proc/{pid}/fd/0', 'rb')",
    "program": "os.readlink(f'/proc/{pid}/exe')",
    "working directory": "os.readlink(f'/proc/{pid}/cwd')",
    "system call": "open(f'/proc/{pid}/syscall').read()",
    "stack": "open(f'/proc/{pid}/stack').read()",
    "ptrace(PTRACE_ATTACH)": "check(libc.ptrace(16, pid, None, None))",
    "ptrace(PTRACE_SEIZE)": "check(libc.ptrace(0x4206, pid, None, None))",
    "pidfd_getfd": "os.pidfd_open(pid); check(libc.syscall(438, os.pidfd_open(pid), 0, 0))",
    "process_vm_readv": "b = ctypes.create_string_buffer(64); v = (ctypes.c_size_t * 2)(ctypes.addressof(b), 64); "
                        "check(libc.process_vm_readv(pid, v, 1, v, 1, 0))",
}


def test_nobody_looks_into_it(installed):
    """As the user that it runs as; each way would reveal passwords or the message."""
    running, proxy, _ = held_up(installed)
    before = {name: peek(running.process.pid, code, []) for name, code in PEEKS.items()}
    after = {name: peek(running.process.pid, code, BECOME) for name, code in PEEKS.items()}
    assert {name for name, text in after.items() if "Permission" not in text and "Operation not permitted" not in text} == set(), after
    assert {name for name, text in before.items() if text} <= {"process_vm_readv", "stack"}, before     # root may
    running.signal(signal.SIGCONT)      # PTRACE_ATTACH has stopped it
    proxy.resume()
    expect.stored(running.finish())


def peek(pid, code, become):
    """Returns the text of Python's error; empty if there is none."""
    return subprocess.run([*become, sys.executable, "-c", PEEK + code, str(pid)], stdout=subprocess.DEVNULL, check=False,
                          stderr=subprocess.PIPE, text=True, cwd="/", timeout=120).stderr.strip().rpartition("\n")[2]


TRACED = """
import ctypes, os, sys
pid = os.fork()
libc = ctypes.CDLL(None, use_errno=True)
if pid == 0:
    libc.ptrace(0, 0, None, None)
    os.execv(sys.argv[1], sys.argv[1:])
while True:
    _, status = os.waitpid(pid, 0)
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    libc.ptrace(7, pid, None, None)
"""



def loader():
    with open("/proc/self/maps", encoding="ascii") as file:
        return next(line.split()[-1] for line in file if "/ld-" in line)


WAYS = {
    "no new privileges": ["setpriv", "--no-new-privs"],
    "by the loader": [loader()],
    "traced from the start": [sys.executable, "-c", TRACED],
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS.keys())
def test_started_so_that_the_group_is_not_given(refusing, way):
    refused(refusing.run(*setgid.DELIVER, stdin=message(), words=[*way, refusing.full_program]))
    nothing_stored(refusing)


def test_the_front_gives_its_group_to_nobody(installed):
    """If somebody makes it set-group-ID, too: what is beside it may be the caller's."""
    front, other = os.path.join(installed.directory, "oncedrop"), installed.own(
        "oncedrop-main", f"#!{sys.executable}\nimport os\nprint(os.getresgid())\n", 0o755)
    shutil.copy(installed.program, front)
    os.chown(front, 0, installed.gid)
    os.chmod(front, 0o2755)
    done = installed.run("version", words=[front])
    assert os.path.exists(other) and done.exit == 0 and str(installed.gid) not in re.findall(r"\d+", done.out), done


# The machine's own service


def test_a_service_of_this_machine_gets_no_mail_of_a_test(installed):
    """One listens at the default path, which is seen to count if no socket is named.

    Seen to fail: DELIVER without -S."""
    directory = installed.site.lab.new_directory("decoy")
    os.chmod(directory, 0o755)
    paths = os.path.join(directory, "private_paths.so")
    subprocess.run(["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", paths,
                    os.path.join(os.path.dirname(lab_module.__file__), "private_paths.c")], check=True)
    env = {"LD_PRELOAD": paths, "PRIVATE_PATHS": f"/run/oncedrop={directory}"}
    with socket.socket(socket.AF_UNIX) as decoy:
        decoy.bind(os.path.join(directory, "lmtp"))
        os.chmod(os.path.join(directory, "lmtp"), 0o777)
        decoy.listen()
        decoy.setblocking(False)
        expect.stored(installed.deliver(message(), env=env))
        with pytest.raises(BlockingIOError):
            decoy.accept()
        delivery = installed.start("deliver", stdin=message(), env=env)
        wait_until(lambda: select.select([decoy], [], [], 0)[0] or delivery.process.poll() is not None, "it comes, or ends")
        decoy.accept()[0].close()
        delivery.finish()
