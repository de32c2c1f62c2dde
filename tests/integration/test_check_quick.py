# SPDX-License-Identifier: ISC
"""`oncedrop check --quick`, the health check of a container: what it finds, that it changes nothing, and that it ends no matter
what hangs.

Seen to fail with: the database not asked; the time of a step, or of the whole, that of a delivery."""

import fcntl
import glob
import json
import os
import shutil
import signal
import socket
import subprocess

import pytest
from lab import lab as lab_module
from lab.fake_imap import FakeImap
from lab.ledger import engine
from lab.process import free_port, wait_until

SOON = 10       # seconds; less than any other limit here


def quick(site, *arguments):
    done = site.run("check", "--quick", "--json", *arguments)
    items = {item["item"]: (item["status"], item["text"]) for item in json.loads(done.out)}
    assert done.exit == (1 if "failed" in {status for status, _ in items.values()} else 0), done
    assert done.seconds < SOON, done
    return {name: status for name, (status, _) in items.items()}, {name: text for name, (_, text) in items.items()}


def await_quick(site, what, expected):
    """All steps share one second, which a busy machine may spend on any of them: asks again until the answer is as expected."""
    answers = []

    def answer():
        answers.append(quick(site))
        return expected(*answers[-1])

    try:
        wait_until(answer, what)
    except TimeoutError as error:
        raise AssertionError(answers[-1]) from error


def failed(site, name, *words):
    await_quick(site, f"only {name} has failed", lambda status, text:
                [one for one in status if status[one] == "failed"] == [name] and all(word in text[name] for word in words))


def silent(site):
    """A port that accepts connections but never answers."""
    return site.use(socket.create_server(("127.0.0.1", 0), backlog=20)).getsockname()[1]


def test_all_is_well(site):
    await_quick(site, "all is well", lambda status, _: "failed" not in status.values()
                and {"configuration", "database", "imap"} <= status.keys() and "lock" not in status)
    assert site.sql("SELECT 1 FROM oncedrop.message") == []
    done = site.run("check", "--quick")
    assert done.out.splitlines()[-1].endswith(" failed") and not done.err, done


def test_no_login(site):
    """Not even of a server that would refuse it."""
    said = []
    server = site.use(FakeImap(script={"LOGIN": lambda *_: said.append("LOGIN"), "AUTHENTICATE": lambda *_: said.append("AUTH")}))
    site.settings.update({"imap.port": server.port, "imap.tls": "none"})
    await_quick(site, "the server answers", lambda status, _: status.get("imap") == "ok")
    assert not said


def test_the_ledger_is_away(site):
    site.settings.update(site.ledger.out_of_reach()[0])
    await_quick(site, "the ledger is away", lambda status, _:
                (status.get("database"), status.get("configuration")) == ("failed", "ok") and "imap" in status)


def test_the_imap_server_is_away(site):
    site.settings["imap.port"] = free_port()
    failed(site, "imap", "cannot connect")


@pytest.mark.parametrize("tls", ["imaps", "starttls", "none"])
def test_an_imap_server_that_says_nothing(site, tls):
    site.settings.update({"imap.port": silent(site), "imap.tls": tls, "imap.timeout": "60s"})
    failed(site, "imap")


@pytest.mark.postgres
def test_a_database_that_says_nothing(site):
    site.settings["database.conninfo"] = f"host=127.0.0.1 port={silent(site)} dbname=x user=x"
    failed(site, "database", "not done within 0.4 s")


def test_a_configuration_that_is_wrong(site):
    site.settings["lock.wait"] = "a while"
    failed(site, "configuration", "a while")


def test_a_file_that_hangs(site):
    """As one on a network's file system does: here another process has a lease of a module (fcntl(2)), and keeps it."""
    folder = os.path.join(site.directory, "build")
    os.mkdir(folder)
    for path in glob.glob(os.path.join(os.path.dirname(lab_module.program()), "oncedrop*")):
        shutil.copy(path, folder)
    words = [os.path.join(folder, "oncedrop"), "-c", site.write("oncedrop.conf", site.configuration()), "check", "--quick",
             "--json"]
    before = signal.signal(signal.SIGIO, signal.SIG_IGN)
    try:
        with open(os.path.join(folder, f"oncedrop-{engine()}.so"), "r+b") as file:
            fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)
            done = subprocess.run(words, env=site.environment(), capture_output=True, timeout=SOON, check=False)
    finally:
        signal.signal(signal.SIGIO, before)
    [item] = json.loads(done.stdout)
    assert done.returncode == 1 and item["item"] == "check" and "does not answer in time" in item["text"], done


@pytest.mark.parametrize("arguments", [["scuba@example.org"], ["--send", "scuba@example.org"]])
def test_what_it_does_not_take(site, arguments):
    done = site.run("check", "--quick", *arguments)
    assert done.exit == 64 and "usage: " in done.err and not done.out, done
