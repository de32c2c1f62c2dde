# SPDX-License-Identifier: ISC
"""Commands run by root: they become the user of the deliveries where a delivery's rights suffice, or print what to
type.

Seen to fail with: no change of user; the right to read files not kept, or kept for `check`; another user's conninfo not
looked at; the hint's SQL without the role."""

import os
import pwd
import re
import subprocess

import expect
import pytest
from lab import lab as lab_module, user as ordinary
from lab.messages import message

USER = ordinary.USER      # the lab's PostgreSQL accepts it by its name, and root too

pytestmark = [pytest.mark.postgres, pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")]


class Peer:
    """A site configured as in README: no database user is named, and the files can be read by deliveries."""

    def __init__(self, site):
        self.site = site
        self.gid = pwd.getpwnam(USER).pw_gid
        os.chmod(site.directory, 0o711)
        site.settings.update({"database.conninfo": self.conninfo(), "service.user": USER, "imap.tls": "none",
                              "imap.port": site.lab.dovecot.port, "lock.wait": "5s", "delivery.hold_off": "300s"})
        self.give(site.password_file)

    def conninfo(self):
        postgres = self.site.lab.postgres
        return f"host={postgres.directory} port={postgres.port} dbname={self.site.database}"

    def give(self, path):
        os.chmod(path, 0o640)
        os.chown(path, 0, self.gid)

    def run(self, *arguments, give=True, **more):
        path = self.site.write("peer.conf", self.site.configuration())
        if give:
            self.give(path)
        return self.site.run(*arguments, config=False, options=["-c", path], **more)


@pytest.fixture
def peer(site):
    site.lab.postgres.admin(f"CREATE ROLE {USER} LOGIN IN ROLE oncedrop_delivery")
    yield Peer(site)
    site.lab.postgres.admin(f"DROP ROLE {USER}")


def test_check(peer):
    done = peer.run("check", peer.site.account())
    assert done.exit == 0 and re.search(r"^ok +ledger ", done.out, re.M), done
    assert not re.search(r"^\w+ +user ", done.out, re.M), done


def test_check_finds_what_the_deliveries_cannot_read(peer):
    done = peer.run("check", give=False)
    assert done.exit == 1 and re.search(r"^failed +configuration .*Permission denied", done.out, re.M), done


def test_check_without_such_a_user(peer):
    peer.site.settings["service.user"] = "no-such-user"
    done = peer.run("check")
    assert done.exit == 1 and re.search(r"^warning +user .*no-such-user", done.out, re.M), done
    assert re.search(r'^failed +database .*"root"', done.out, re.M), done


def test_route(peer):
    peer.site.settings["route.account_query"] = "SELECT session_user || $1"
    done = peer.run("route", "@doug@example.org")
    assert done.exit == 0 and f"account: {USER}@doug@example.org (route.account_query)" in done.out, done


def test_replay_reads_what_root_can(peer):
    account = peer.site.account()
    path = peer.site.write("one.eml", message().decode())
    assert os.stat(path).st_uid == 0 and os.stat(path).st_mode & 0o777 == 0o600
    done = peer.run("replay", "-j", "2", "-d", account, path)
    assert done.exit == 0 and peer.site.count(account) == 1, done


def test_another_database_user_is_left_alone(peer):
    """Its password may be in a file that only root can read."""
    conninfo = f"{peer.conninfo()} user={lab_module.DELIVERY} password={lab_module.DELIVERY}"
    peer.site.settings.update({"database.conninfo": conninfo, "route.account_query": "SELECT session_user || $1"})
    for done in (peer.run("route", "x", give=False), peer.run("check", "x", give=False)):
        assert f"account{':' if 'address' in done.out else ''} {lab_module.DELIVERY}x" in done.out, done
        assert "Permission denied" not in done.out, done


def type_as_admin(postgres, command):
    """Like postgres on Debian's server, "admin" is the administrator of the lab's."""
    command = re.sub(r"^runuser -u postgres -- (\w+)", lambda match: f"{postgres.program(match[1])} {postgres.as_admin()}", command)
    return subprocess.run(["sh", "-c", command], env={**os.environ, "PGDATABASE": "postgres"}, check=False).returncode


def test_what_to_type_before_there_is_a_schema(peer):
    """The roles come with it."""
    postgres = peer.site.lab.postgres
    peer.site.settings["database.schema"] = "elsewhere"
    [typed] = re.findall(r"; to fix it, run: (.*)", peer.run("list").err)
    type_as_admin(postgres, typed)
    try:
        done = peer.run("list")
        assert done.exit == 69 and "oncedrop ledger install" in done.err, done
    finally:
        postgres.admin("DROP ROLE root")


def test_an_operator_is_told_what_to_type(peer):
    postgres = peer.site.lab.postgres
    postgres.admin(f"REVOKE CONNECT ON DATABASE {peer.site.database} FROM PUBLIC")
    commands = [["list"], ["show", "x@y"], ["stats"], ["locks"], ["purge", "--older-than", "30d"], ["resume"], ["restore"]]
    for command in commands:
        done = peer.run(*command)
        assert done.exit == 69 and 'role "root" does not exist' in done.err, done
    done = [peer.run("list")]
    try:
        for _ in range(2):      # the role, and, since README revokes CONNECT from PUBLIC, that privilege
            [typed] = re.findall(r"; to fix it, run: (.*)", done[-1].err)
            assert type_as_admin(postgres, typed) == 0
            done.append(peer.run("list"))
        assert done[-1].exit == 0 and "CONNECT" in typed, done
        for command in commands:
            assert peer.run(*command).exit == (1 if command[0] == "show" else 0), command
    finally:
        postgres.admin("DROP OWNED BY root", database=peer.site.database)
        postgres.admin("DROP ROLE root")


def test_an_operator_who_names_the_user_of_the_deliveries(peer):
    """root's shell does not run as that user; `check` and similar commands become it."""
    peer.site.settings["database.conninfo"] += f" user={USER}"
    done = peer.run("list")
    assert done.exit == 69 and f"runuser -u {USER} -- oncedrop" in done.err, done
    done = peer.run("check")
    assert done.exit == 0, done


def test_a_schema_is_for_its_owner(peer):
    done = peer.run("ledger", "install")
    assert done.exit == 69 and "user=oncedrop_owner" in done.err, done


def test_a_delivery_stays_as_it_was_started(peer):
    account = peer.site.account()
    done = peer.run("deliver", "-d", account, stdin=message())
    expect.deferred(done, r"4\.3\.0", 'role "root"')
    assert peer.site.count(account) == 0
