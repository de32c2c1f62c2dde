# SPDX-License-Identifier: ISC
"""Several hosts in a connection string: one that does not answer, or hangs up, does not keep deliveries from the next.

Seen to fail with: libpq left alone, which waits for the unresponsive one until our limit, and gives up at one that hangs up; and
with the connection to a standby kept."""

import os
import socket

import expect
import pytest
from lab import lab as lab_module, lmtp, process
from lab.messages import message
from lab.proxy import Proxy
from test_check import Standby

pytestmark = pytest.mark.postgres


def conninfo(site, *ports, more=""):
    return (f"host={','.join(['127.0.0.1'] * len(ports))} port={','.join(map(str, ports))} dbname={site.database}"
            f" user={lab_module.DELIVERY} password={lab_module.DELIVERY} sslmode=disable"
            f" target_session_attrs=read-write connect_timeout=2 {more}")


@pytest.fixture
def silent():
    """The port of a server that accepts connections and never says anything."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def hanging_up(site):
    """The port of a proxy whose server is gone."""
    return site.use(Proxy(process.free_port())).port


def test_next_after_a_silent_one(site, silent):
    account = site.account()
    site.settings["database.conninfo"] = conninfo(site, silent, site.lab.postgres.port)
    done = site.deliver(message(), account)
    expect.stored(done)
    assert done.seconds >= 2


def test_next_after_one_that_hangs_up(site, hanging_up):
    account = site.account()
    site.settings["database.conninfo"] = conninfo(site, process.free_port(), hanging_up, site.lab.postgres.port)
    expect.stored(site.deliver(message(), account))


def test_a_standby_is_left(site, lab):
    """By a process that goes on, once the name leads to the primary again; the message that finds it so is delivered."""
    standby = Standby(lab.new_directory("standby"), lab.postgres)
    os.chmod(os.path.dirname(standby.directory), 0o711)
    try:
        standby.start()
        proxy = site.database_proxy()
        proxy.target_port = standby.port
        account, session = site.account(), lmtp.start(site)
        for _ in range(2):
            [reply] = session.deliver(message(), account)
            assert reply.code == 451 and "standby" in reply.text, reply
        proxy.target_port = lab.postgres.port
        lmtp.stored(session.deliver(message(), account)[0])
    finally:
        standby.stop()


def test_addresses_instead_of_names(site, hanging_up):
    """Lists of hostaddr, with empty names; one port for all would not be a list."""
    account = site.account()
    listed = conninfo(site, hanging_up, hanging_up, site.lab.postgres.port)
    site.settings["database.conninfo"] = listed.replace("host=", "host=,, hostaddr=")
    expect.stored(site.deliver(message(), account))


def test_all_are_named(site, silent, hanging_up):
    """In the answer, with what is the matter with each; the last one of those that are left is waited for as ever."""
    nobody = process.free_port()
    site.settings["database.conninfo"] = conninfo(site, silent, hanging_up, nobody)
    line = expect.deferred(site.deliver(message(), site.account()), r"4\.3\.\d", f"no answer from 127.0.0.1 port {silent}")
    assert f"port {hanging_up} failed" in line and f"port {nobody} failed" in line
