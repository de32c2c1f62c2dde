# SPDX-License-Identifier: ISC
"""Who may deliver to whom through the service's unix socket, by the user that connects.

Seen to fail with: everybody believed; names compared by their beginnings; root that stays root, or reads the
configuration only as root."""

import os
import pwd
import signal

import pytest
from lab import user as ordinary
from lab.lmtp import stored, stuffed
from lab.messages import message
from lab.process import wait_until
from lab.service import Service

USER, OTHER = ordinary.USER, ordinary.OTHER

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")


class Users:
    """Two users of the system: their addresses, and their accounts, whose names follow from their login names."""

    def __init__(self, site):
        site.settings["route.account"] = f"%{{user}}.{site.number}"
        self.own, self.other = (f"{name}.{site.number}" for name in (USER, OTHER))
        self.addresses = [f"{name}@example.org" for name in (USER, OTHER)]
        for account in (self.own, self.other):
            site.lab.dovecot.add_account(account)

    def refused(self, reply):
        text = f"user {USER} may not deliver to {self.other}, only to the user's own account"
        return reply.code == 451 and text in reply.text


@pytest.fixture
def users(site):
    return Users(site)


def test_root_is_believed(site, users):
    service = Service(site)
    for reply in service.deliver(message(), *users.addresses):
        stored(reply)


def test_a_user_delivers_only_to_itself(site, users):
    """Others' mail is deferred, not bounced; and mail that claims to be from a local user makes no Sent copy."""
    mail = message(sender=users.addresses[1], to=users.addresses[0])
    service = Service(site, settings={"route.sent_copy": "from"})
    own, other = service.deliver(mail, *users.addresses, sender=users.addresses[1], user=USER)
    stored(own)
    assert users.refused(other)
    assert (site.count(users.own), site.count(users.other), site.count(users.other, "Sent")) == (1, 0, 0)
    assert site.value("SELECT count(*) FROM oncedrop.copy") == 1


def test_a_user_of_the_same_worker_is_nobody_else(site, users):
    """What is known of one connection does not remain for the next."""
    service = Service(site, workers=1)
    for reply in service.deliver(message(), *users.addresses):
        stored(reply)
    assert users.refused(service.deliver(message(), *users.addresses, user=USER)[1])
    for reply in service.deliver(message(), *users.addresses):
        stored(reply)


@pytest.mark.parametrize("clients", [USER, f"postfix {USER}", f"nosuchuser,{USER}"])
def test_configured_clients_are_believed(site, users, clients):
    service = Service(site, settings={"service.trusted_users": clients})
    for reply in service.deliver(message(), *users.addresses, user=USER):
        stored(reply)


@pytest.mark.parametrize("clients", ["", f"{USER}x x{USER}", "postfix"])
def test_others_are_not(site, users, clients):
    service = Service(site, settings={"service.trusted_users": clients})
    assert users.refused(service.deliver(message(), *users.addresses, user=USER)[1])


def test_a_user_without_a_name_is_refused(site):
    number = next(uid for uid in range(61000, 65000) if uid not in {user.pw_uid for user in pwd.getpwall()})
    service = Service(site)
    client = service.connect(hello=False, user=number)
    reply = client.reply()
    assert reply.code == 421 and f"user id {number} has no name" in reply.text and client.rest() == b""
    assert f"user id {number} has no name" in service.log()


# Their share of the workers


def test_a_user_gets_one_connection_and_all_users_half_of_the_workers(site, users):
    """A trusted client is greeted meanwhile. Seen to fail with connections served as they come."""
    service = Service(site, workers=4)
    held = service.connect(user=USER)
    held.envelope([users.addresses[0]])
    for _ in range(10):
        again = service.connect(hello=False, user=USER)
        assert again.reply().text.startswith("4.3.2 busy ") and again.rest() == b""
    service.connect(user=OTHER)
    third = service.connect(hello=False, user="man")
    assert third.reply().text.startswith("4.3.2 busy ") and third.rest() == b""
    for reply in service.deliver(message(), *users.addresses):
        stored(reply)
    held.send(stuffed(message()))
    stored(held.reply())
    held.close()
    wait_until(lambda: service.connect(hello=False, user=USER).reply().code == 220, "the place is free again")


def test_of_several_at_the_same_moment_one_is_greeted(site):
    """Seen to fail where each gave way to the others, with a pause between its claim and its look at them."""
    service = Service(site, workers=4)
    for _ in range(100):
        clients = [service.connect(hello=False, user=USER) for _ in range(3)]
        greeted = [client for client in clients if client.reply().code == 220]
        assert len(greeted) == 1
        greeted[0].command("QUIT")
        for client in clients:
            assert client.rest() == b""     # the place is free before that


def test_the_place_of_a_worker_that_died_is_free(site, users):
    service = Service(site, workers=2)
    held = service.connect(user=USER)
    os.kill(service.worker_of(held), signal.SIGKILL)
    wait_until(lambda: service.connect(hello=False, user=USER).reply().code == 220, "the place is free again")


# The user that it runs as


class Unprivileged(Service):
    """Started by root for service.user, whose files it gets."""

    def __init__(self, site, **settings):
        self.gid = pwd.getpwnam(USER).pw_gid
        self.give(site.password_file)
        site.ledger.give_to(pwd.getpwnam(USER))
        super().__init__(site, settings={"service.user": USER, **settings})

    def give(self, path):
        os.chmod(path, 0o640)
        os.chown(path, 0, self.gid)

    def write_configuration(self, more=()):
        path = super().write_configuration(more)
        self.give(path)
        return path


def test_root_becomes_the_service_user(site, users):
    service = Unprivileged(site)
    for pid in [service.process.pid, *service.workers()]:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
        user = pwd.getpwnam(USER)
        assert set(fields["Uid"].split()) == {str(user.pw_uid)} and set(fields["Gid"].split()) == {str(user.pw_gid)}
        assert fields["Groups"].split() == [str(user.pw_gid)] and int(fields["CapEff"], 16) == 0
    for reply in service.deliver(message(), *users.addresses) + service.deliver(message(), *users.addresses, user=USER):
        stored(reply)
    service.reload()
    assert service.stop() == 0
    assert os.path.exists(service.socket)   # the directory is root's
    service.start()
    stored(service.deliver(message(), users.addresses[0])[0])


def test_a_configuration_that_it_could_not_read_again_is_refused(site):
    site.settings.update({"service.user": USER, "service.socket": f"{site.directory}/socket"})
    path = site.write("private.conf", site.configuration())
    done = site.run("serve", options=["-c", path], config=False)
    assert done.exit == 69 and "private.conf" in done.err, done


def test_a_user_that_does_not_exist_is_refused(site):
    done = site.run("serve", options=["-o", "service.user=nosuchuser", "-o", f"service.socket={site.directory}/socket"])
    assert done.exit == 69 and "there is no user nosuchuser (service.user)" in done.err, done
