# SPDX-License-Identifier: ISC
"""A process has as many IMAP sessions as it has file descriptors for; with TLS a session takes three, none of them above what
select(2) can wait for. If there are too few all the same, unused sessions end.

Seen to fail with: a session counted as one descriptor, or by the server of [imap] alone; numbers that select(2) does not know;
no session that ends for another's files."""

import os
import resource
import subprocess

import pytest
from integration.test_several_servers import query_of_domains
from lab import certificates, lab as lab_module
from lab.crowd_imap import CrowdImap
from lab.fake_imap import FakeImap
from lab.lmtp import start, stored
from lab.messages import message
from lab.process import find_program
from lab.service import Service

SELECT = 1024       # FD_SETSIZE


def accounts(count, domain="example.org"):
    return [f"user{number}@{domain}" for number in range(count)]


def serve(site, lab, tls):
    """A server that every account is on."""
    server = site.use(FakeImap(tls=lab.certificate if tls else None))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.tls": "imaps" if tls else "none"})
    return server


def limited(site, files, **settings):
    return Service(site, workers=1, settings={"imap.sessions": 1000, **settings},
                   preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files)))


def lacked_files(service):
    """Whether unused sessions ended for want of files, not because the limit of sessions was reached."""
    return "too many open files" in service.log()


def files_of(pid):
    return [int(number) for number in os.listdir(f"/proc/{pid}/fd")]


def crowd(site, lab):
    server = site.use(CrowdImap(lab.certificate))
    site.settings.update({"imap.host": "localhost", "imap.port": server.port, "imap.master_user": None})
    return server


def test_few_descriptors_for_tls(site, lab):
    server = crowd(site, lab)
    service = limited(site, 100)
    client = service.connect()
    for account in accounts(60):
        stored(client.deliver(message(), account)[0])
    for reply in client.deliver(message(), *accounts(60)):      # more than it may use at once
        stored(reply)
    assert server.end()[1] == 120 and not lacked_files(service)


def test_few_descriptors_for_two_servers(site, lab):
    """Only [imap south] is reached with TLS."""
    north, south = serve(site, lab, tls=False), site.use(FakeImap(tls=lab.certificate))
    site.settings.update({"imap south.port": south.port, "imap south.tls": "imaps", "imap.master_user": None,
                          "route.sent_copy": "off", "route.account_query": query_of_domains()})
    service = limited(site, 100)
    client = service.connect()
    for account in [*accounts(5, "north.example"), *accounts(40, "south.example"), *accounts(5, "north.example")]:
        stored(client.deliver(message(), account)[0])
    assert len(north.appended) == 10 and len(south.appended) == 40 and not lacked_files(service)


@pytest.mark.skipif(resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 3 * SELECT, reason="the limit of open files is too low")
def test_more_tls_sessions_than_select_can_wait_for(site, lab):
    """All files may be opened, but not waited for."""
    server = crowd(site, lab)
    service = limited(site, 3 * SELECT)
    [worker], client = service.workers(), service.connect()
    everybody = accounts(400)
    for number in range(0, 400, 50):
        for reply in client.deliver(message(), *everybody[number:number + 50]):
            stored(reply)
    assert SELECT // 2 < max(files_of(worker)) < SELECT
    assert server.end() == (400, 400) and not lacked_files(service)


@pytest.mark.parametrize("tls", [False, True], ids=["", "TLS"])
def test_unused_sessions_end_if_files_are_needed(site, lab, tls):
    """Those of any server, when others have taken what the pool counted on."""
    server = serve(site, lab, tls)
    service = Service(site, workers=1)
    [worker], client = service.workers(), service.connect()
    for account in accounts(30):
        stored(client.deliver(message(), account)[0])
    hard = resource.prlimit(worker, resource.RLIMIT_NOFILE)[1]
    resource.prlimit(worker, resource.RLIMIT_NOFILE, (max(files_of(worker)) + 3, hard))
    for account in accounts(10, "other.example"):
        stored(client.deliver(message(), account)[0])
    assert len(server.appended) == server.accepted == 40
    said = [line for line in service.log().splitlines() if "too many open files" in line]
    assert said and "unused sessions are closed" in said[0], service.log()


def test_a_session_that_lacks_files_says_so(site, lab):
    """Not that a certificate cannot be read, or a name not be found."""
    serve(site, lab, tls=True)
    service = Service(site, workers=1)
    [worker], client = service.workers(), service.connect()
    hard = resource.prlimit(worker, resource.RLIMIT_NOFILE)[1]
    for spare in range(8, 0, -1):
        files = max(files_of(worker)) + 1 + spare
        resource.prlimit(worker, resource.RLIMIT_NOFILE, (files, hard))
        [reply] = client.deliver(message(), f"user{spare}@example.org")
        assert reply.code in (250, 451), reply
        if reply.code == 451:
            assert "oo many open files" in reply.text, reply
    assert reply.code == 451


def test_whoever_lacks_files_says_so(site, lab):
    """The ledger, the decoder, and what a session needs: some more each time, until there are enough."""
    serve(site, lab, tls=True)
    path, odd = site.write("oncedrop.conf", site.configuration()), b"Content-Type: text/html; charset=iso-8859-1\n"
    for files in range(6, 40, 4):
        words = [find_program("prlimit"), f"--nofile={files}:{files}", lab_module.program(), "-c", path, "deliver",
                 "-d", "scuba@example.org"]
        done = subprocess.run(words, input=odd + message(), capture_output=True, env=site.environment(), check=False)
        if done.returncode == 0:
            return
        assert done.returncode == 75 and b"oo many open files" in done.stdout, done
    raise AssertionError("too few")


def test_the_authorities_are_read_once(site, lab):
    """They are many, and each session would read them again."""
    serve(site, lab, tls=True)
    path = site.write("strace", "")
    service = Service(site, workers=1, inside=[find_program("strace"), "-f", "-o", path, "-e", "trace=openat"])
    client = service.connect()
    for account in accounts(3):
        stored(client.deliver(message(), account)[0])
    with open(path, encoding="utf-8", errors="replace") as file:
        opened = [line for line in file if site.settings["imap.ca_file"] in line and "resumed" not in line]
    assert len(opened) == 1, opened


def test_other_authorities_count_at_once(site, lab):
    serve(site, lab, tls=True)
    with open(site.settings["imap.ca_file"], encoding="ascii") as file:
        ours = file.read()
    other = lab.new_directory("others")
    site.settings["imap.ca_file"] = site.write("authorities", ours)
    session = start(site)
    stored(session.deliver(message(), "first@example.org")[0])
    with open(certificates.Authority(other, "stranger").certificate, encoding="ascii") as file:
        site.write("authorities", file.read())
    assert "not accepted" in session.deliver(message(), "second@example.org")[0].text
    site.write("authorities", ours)
    stored(session.deliver(message(), "third@example.org")[0])
