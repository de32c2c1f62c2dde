# SPDX-License-Identifier: ISC
"""A ledger in a file belongs to service.user: root becomes that user before anything of it is opened, and others are sent
to the service.

Seen to fail with: no change of user in cmd_open as CMD_AS_OWNER, deliver, lmtp; a user that does not exist left alone; root let in
to a file of another's; the service not named."""

import os
import pwd
import subprocess

import expect
import pytest
from lab import embedded as embedded_module, lab as lab_module, user as ordinary
from lab.messages import message

USER, OTHER = ordinary.USER, ordinary.OTHER

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


@pytest.fixture
def embedded(site):
    return embedded_module.Embedded(site, USER).install()


COMMANDS = [["check"], ["list"], ["show", "x@y"], ["stats"], ["locks"], ["purge", "--older-than", "30d"], ["expire"],
            ["resume"], ["restore", "--dry-run"], ["ledger", "version"], ["ledger", "upgrade"], ["ledger", "method"], ["route", "a@example.org"]]


def test_root_leaves_no_file_of_its_own(embedded):
    account = embedded.site.account()
    embedded.site.settings.update({"route.account_query": "SELECT $1", "route.sent_copy": "off"})
    path = embedded.site.write("one.eml", message().decode())
    for command in [*COMMANDS, ["deliver", "-d", account], ["lmtp"], ["replay", "-d", account, path]]:
        os.unlink(embedded.path + "-shm")       # so that the next process that opens the ledger makes both again
        os.unlink(embedded.path + "-lock")
        said = message() if command[0] == "deliver" else lmtp(account) if command[0] == "lmtp" else b""
        done = embedded.run(*command, stdin=said)
        assert done.exit in (0, 1 if command[0] in ("show", "check") else 0), (command, done)
        files = embedded.files()
        assert set(files) >= {"ledger.db", "ledger.db-lock", "ledger.db-shm", "ledger.db-wal"}, command
        assert {stat.st_uid for stat in files.values()} == {embedded.user.pw_uid}, (command, files)
        assert {stat.st_mode & 0o777 for stat in files.values()} <= {0o640, 0o600}, (command, files)
    assert embedded.site.count(account) == 3


def lmtp(recipient):
    lines = ["LHLO x", "MAIL FROM:<>", f"RCPT TO:<{recipient}>", "DATA", *message().decode().splitlines(), ".", "QUIT", ""]
    return "\r\n".join(lines).encode()


def test_a_service_user_who_is_not_there_is_named(embedded):
    embedded.site.settings["service.user"] = "nosuchuser"
    for command in (["list"], ["check"], ["ledger", "install"]):
        done = embedded.run(*command)
        assert done.exit == 71 and "there is no user nosuchuser (service.user)" in done.err, done
    done = embedded.run("deliver", "-d", "a@example.org", stdin=message())
    expect.deferred(done, r"4\.3\.5", "there is no user nosuchuser")
    done = embedded.run("lmtp")
    assert done.out.startswith("421 4.3.5 ") and "there is no user nosuchuser" in done.out, done
    assert {stat.st_uid for stat in embedded.files().values()} == {embedded.user.pw_uid}


def test_root_does_not_open_the_file_of_another(embedded):
    embedded.site.settings["service.user"] = ""
    done = embedded.run("list")
    assert done.exit == 69 and "does not belong to root" in done.err and "service.user" in done.err, done
    assert {stat.st_uid for stat in embedded.files().values()} == {embedded.user.pw_uid}


def as_user(name, path, *command, stdin=b""):
    become = ["setpriv", f"--reuid={name}", f"--regid={name}", "--clear-groups"]
    return subprocess.run([*become, lab_module.program(), "-c", path, *command], input=stdin, check=False, cwd="/",
                          capture_output=True)


def test_a_backup_where_the_service_user_may_not_write(embedded):
    directory = embedded.site.lab.new_directory("backup")
    os.chown(directory, 0, 0)
    os.chmod(directory, 0o755)
    done = embedded.run("ledger", "backup", os.path.join(directory, "ledger.db"))
    assert done.exit == 73 and f"Permission denied; user {USER} (service.user) must be able to write there" in done.err, done
    assert os.listdir(directory) == []


def test_the_service_user_delivers_without_root(embedded):
    account = embedded.site.account()
    done = as_user(USER, embedded.configuration(), "deliver", "-d", account, stdin=message())
    assert done.returncode == 0 and embedded.site.count(account) == 1, done


def test_an_ordinary_user_is_sent_to_the_service(embedded):
    """As local(8) runs mailbox_command, while the service does not run: Postfix tries again."""
    account = embedded.site.account()
    reads = pwd.getpwnam(OTHER).pw_gid
    embedded.give(embedded.site.password_file, reads)
    for group, why in ((None, b"4.3.5 "), (reads, b"4.3.0 database: ")):
        done = as_user(OTHER, embedded.configuration(group), "deliver", "-d", account, stdin=message())
        assert done.returncode == 75 and done.stdout.startswith(why), done
        assert f"for the user {OTHER}".encode() in done.stdout and b"start it (oncedrop serve)" in done.stdout, done
    assert embedded.site.count(account) == 0
