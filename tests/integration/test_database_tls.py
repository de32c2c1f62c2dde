# SPDX-License-Identifier: ISC
"""A database on another machine gets neither password nor mail before its certificate is verified.

Seen to fail with: libpq's own sslmode=prefer; the first host of a list looked at, and not the others; the connection string
looked at, and not the environment and the service file."""

import socket

import expect
import pytest
from lab import lab as lab_module
from lab.fake_postgres import FakePostgres, TlsFront, own_address
from lab.messages import message

pytestmark = pytest.mark.postgres

FAR = "198.51.100.1"    # TEST-NET-2: unused
NAME = "db..invalid"    # contains an empty label, so no name server is asked
WORDS = "dbname=mail user=mailer password=secret"

REMOTE = {
    "a name": f"host={NAME} {WORDS}",
    "an address": f"host={FAR} {WORDS}",
    "an address of version 6": f"host=2001:db8::1 {WORDS}",
    "hostaddr": f"hostaddr={FAR} {WORDS}",
    "hostaddr behind a name of this machine": f"host=localhost hostaddr={FAR} {WORDS}",
    "a second host": f"host=127.0.0.1,{NAME} port=1,5432 {WORDS}",
    "a second address": f"host=a,b hostaddr=127.0.0.1,{FAR} port=1,5432 {WORDS}",
    "URI": f"postgresql://mailer:secret@{FAR}/mail",
    **{mode: f"host={FAR} {WORDS} sslmode={mode}" for mode in ("disable", "allow", "prefer", "require", "verify-ca")},
}


@pytest.mark.parametrize("conninfo", REMOTE.values(), ids=REMOTE.keys())
def test_refused_by_name(site, conninfo):
    site.settings["database.conninfo"] = conninfo
    done = site.deliver(message(), "scuba@example.org")
    line = expect.deferred(done, r"4\.3\.\d", "sslmode=verify-full", "database.tls")
    assert any(far in line for far in (NAME, FAR, "2001:db8::1"))
    assert "secret" not in line and done.seconds < 40


@pytest.mark.parametrize("command", [["list"], ["check"], ["ledger", "version"], ["replay", "-d", "scuba@example.org", "-"]],
                         ids=lambda command: command[0])
def test_by_every_command(site, command):
    site.settings["database.conninfo"] = REMOTE["a name"]
    done = site.run(*command, stdin=message(), env={"PGSSLMODE": "verify-ca"})
    assert done.exit and "sslmode=verify-full" in " ".join((done.out + done.err).split()), done


def service_file(site, text):
    return {"PGSERVICEFILE": site.write("services", text)}


def test_of_the_environment_and_the_service_file(site):
    """The options in force count, wherever they come from. Deliveries ignore the environment."""
    site.settings["database.conninfo"] = "dbname=mail"
    for environment in ({"PGHOST": NAME}, {"PGHOSTADDR": FAR}):
        done = site.run("list", env=environment)
        assert done.exit and "sslmode=verify-full" in " ".join(done.err.split()), done
    site.settings["database.conninfo"] = "service=mail"
    done = site.run("list", env=service_file(site, f"[mail]\nhost={NAME}\nuser=mailer\n"))
    assert done.exit and "sslmode=verify-full" in " ".join(done.err.split()), done
    done = site.run("list", env=service_file(site, f"[mail]\nhost={NAME}\nuser=mailer\nsslmode=verify-full\n"))
    assert done.exit and "database.tls" not in " ".join(done.err.split()), done


@pytest.fixture
def address():
    """An address of this machine, but not of its loopback interface."""
    return own_address() or pytest.skip("this machine has no address but its loopback's")


def test_a_server_in_between_gets_nothing(site, address):
    """It refuses TLS and asks for the password in the clear."""
    server = site.use(FakePostgres(address=address))
    site.settings["database.conninfo"] = f"host={address} port={server.port} {WORDS}"
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.3\.\d", address, "sslmode=verify-full")
    assert server.heard == [] and server.passwords == []
    site.settings["database.conninfo"] += " sslmode=verify-full"
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.3\.\d", "SSL")
    assert server.passwords == []


def test_less_is_to_be_had_by_an_explicit_setting(site, address):
    server = site.use(FakePostgres(address=address))
    site.settings["database.conninfo"] = f"host={address} port={server.port} {WORDS}"
    site.settings["database.tls"] = "conninfo"
    expect.deferred(site.deliver(message(), "scuba@example.org"))
    assert server.passwords and set(server.passwords) == {"secret"}
    site.settings["database.tls"] = "perhaps"
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.3\.5", "verify", "conninfo")


def behind_tls(site, address, names):
    """The site's database behind TLS, as db.example.org."""
    postgres = site.lab.postgres
    front = site.use(TlsFront(postgres.port, site.lab.authority.issue(f"db{site.number}", names), address))
    words = postgres.conninfo(site.database, lab_module.DELIVERY, port=front.port).replace("host=127.0.0.1", "")
    return words.replace("sslmode=disable", f"sslrootcert={site.lab.authority.certificate} host=db.example.org "
                                            f"hostaddr={address}")


def test_a_verified_server_is_spoken_to(site, address):
    scuba = site.account()
    site.settings["database.conninfo"] = behind_tls(site, address, "DNS:db.example.org") + " sslmode=verify-full"
    expect.stored(site.deliver(message(), scuba))
    assert "certificate and name verified" in " ".join(site.check().out.split())


def test_a_server_with_another_name_is_not(site, address):
    scuba = site.account()
    words = behind_tls(site, address, "DNS:other.example.org")
    for mode, said in (("verify-full", "certificate"), ("verify-ca", "database.tls")):
        site.settings["database.conninfo"] = f"{words} sslmode={mode}"
        expect.deferred(site.deliver(message(), scuba), r"4\.3\.\d", said)
    assert site.count(scuba) == 0
    site.settings["database.tls"] = "conninfo"
    expect.stored(site.deliver(message(), scuba))
    assert "not verified" in " ".join(site.check().out.split())


def unix(site, more):
    return f"host={site.lab.postgres.directory} port={site.lab.postgres.port} dbname={site.database} user=admin {more}"


def test_requirepeer(site):
    """A different user at the socket is refused; check reports what it found."""
    path = f"{site.directory}/.s.PGSQL.5432"
    listener = site.use(socket.socket(socket.AF_UNIX))
    listener.bind(path)
    listener.listen()
    listener.setblocking(False)
    site.settings["database.conninfo"] = f"host={site.directory} {WORDS} requirepeer=nobody"
    expect.deferred(site.deliver(message(), "scuba@example.org"), r"4\.3\.\d", "requirepeer")
    accepted, _ = listener.accept()
    with accepted:
        assert accepted.recv(100) == b""
    owner = site.lab.postgres.user.pw_name
    for more, said in ((f"requirepeer={owner}", "the user in requirepeer"), ("", "would verify who answers")):
        site.settings["database.conninfo"] = unix(site, more)
        assert said in " ".join(site.check().out.split())


def test_check_warns_of_a_port_that_anybody_can_take(site):
    assert "any local user can take the port" in " ".join(site.check().out.split())
