# SPDX-License-Identifier: ISC
"""A password that changes while the service runs: it is read again when it is refused, and tried once.

Seen to fail without reading the file again; with a second try with an unchanged file."""

import base64
import os

import pytest
from lab.fake_imap import FakeImap
from lab.lmtp import stored
from lab.messages import message
from lab.service import Service


class Guarded(FakeImap):
    """Lets in a client that has its password. said: the passwords since they were last asked for."""

    def __init__(self, password, hangs_up=False):
        super().__init__()
        self.password, self.hangs_up, self.said = password, hangs_up, []

    def do_authenticate(self, client, tag, arguments):
        self.said.append(base64.b64decode(arguments.split()[1]).decode().split("\0")[-1])
        if self.said[-1] == self.password:
            client.send(f"{tag} OK logged in")
        elif self.hangs_up:
            client.close()
        else:
            client.send(f"{tag} NO [AUTHENTICATIONFAILED] who are you?")

    def logins(self):
        said, self.said = self.said, []
        return said


def serve(site, server, **more):
    """A service in front of this server, with one worker, and a function that delivers to a new account."""
    site.use(server)
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    site.write("password", server.password + "\n")
    service = Service(site, workers=1, **more)
    numbers = iter(range(100))
    return lambda: service.deliver(message(), f"scuba{next(numbers)}@example.org")[0]


def test_the_file_is_read_again_after_a_refusal(site):
    server = Guarded("first")
    deliver = serve(site, server)
    stored(deliver())
    assert server.logins() == ["first"]

    server.password = "second"
    assert deliver().code == 451 and server.logins() == ["first"]
    site.write("password", "second\n")
    stored(deliver())
    assert server.logins() == ["first", "second"]
    stored(deliver())
    assert server.logins() == ["second"]

    server.password = "fourth"
    site.write("password", "third\n")
    assert deliver().code == 451 and server.logins() == ["second", "third"]
    assert deliver().code == 451 and server.logins() == ["third"]
    site.write("password", "fourth\n")
    stored(deliver())
    assert server.logins() == ["third", "fourth"]


@pytest.mark.parametrize("text, mode, why", [
    ("second\n", 0o644, "accessible to others"), ("\n", 0o600, "first line is empty"),
])
def test_a_file_that_cannot_be_read_again(site, text, mode, why):
    """The fault names both; what was read before is kept."""
    server = Guarded("first")
    deliver = serve(site, server)
    server.password = "second"
    site.write("password", text, mode)
    reply = deliver()
    assert reply.code == 451 and "who are you?" in reply.text and why in reply.text, reply
    assert server.logins() == ["first"]
    server.password = "first"
    stored(deliver())
    assert server.logins() == ["first"]


def test_systemds_copy_is_read_again(site):
    """Not the file itself, as at the start."""
    server = Guarded("first")
    os.mkdir(os.path.join(site.directory, "credentials"), 0o700)
    copy = site.write("credentials/password", "first\n")
    deliver = serve(site, server, env={**site.environment(), "CREDENTIALS_DIRECTORY": os.path.dirname(copy)})
    server.password = "second"
    site.write("password", "second\n")
    reply = deliver()
    assert reply.code == 451 and copy in reply.text and server.logins() == ["first"]
    site.write("credentials/password", "second\n")
    stored(deliver())
    assert server.logins() == ["first", "second"]


def test_two_files_of_one_name_are_not_one_credential(site):
    """Else a server would get the password of another one. Seen to fail without the comparison."""
    for folder in ("credentials", "north", "south"):
        os.mkdir(os.path.join(site.directory, folder), 0o700)
    north, south = site.write("north/password", "north\n"), site.write("south/password", "south\n")
    env = {**site.environment(), "CREDENTIALS_DIRECTORY": os.path.join(site.directory, "credentials")}
    site.settings.update({"imap.password_file": north, "imap.tls": "none", "imap south.password_file": south})
    assert site.run("config", "--test", env=env).exit == 0      # neither has a credential
    copy = site.write("credentials/password", "north\n")
    done = site.run("config", "--test", env=env)
    assert done.exit == 78 and all(path in done.err for path in (north, south, copy)) and "rename one" in done.err, done
    site.settings["imap south.password_file"] = site.write("south/other", "south\n")
    assert site.run("config", "--test", env=env).exit == 0
    site.settings["imap south.password_file"] = None            # that of [imap]
    site.settings["imap south.host"] = "127.0.0.1"
    assert site.run("config", "--test", env=env).exit == 0


def test_a_server_that_hangs_up_instead_of_refusing(site):
    server = Guarded("first", hangs_up=True)
    deliver = serve(site, server)
    server.password = "second"
    site.write("password", "second\n")
    stored(deliver())
    assert server.logins() == ["first", "second"]


@pytest.mark.parametrize("auth", ["plain", "login"])
def test_a_real_server(site, auth):
    """Over TLS."""
    scuba, lisa = site.account("scuba"), site.account("lisa")
    password = site.write("own", scuba + "\n")
    service = Service(site, workers=1, settings={"imap.auth": auth, "imap.master_user": None, "imap.password_file": password})
    stored(service.deliver(message(), scuba)[0])
    site.write("own", lisa + "\n")
    stored(service.deliver(message(), lisa)[0])
    assert site.count(scuba) == site.count(lisa) == 1
