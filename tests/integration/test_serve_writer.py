# SPDX-License-Identifier: ISC
"""The process of the service that writes to a ledger in a file, for all workers: group commit (lite_writer.c)."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import threading

import pytest
from lab.lab import is_sanitized
from lab.lmtp import TIMEOUT, stored, stuffed
from lab.messages import message
from lab.process import wait_until
from lab.proxy import CLIENT, Proxy
from lab.service import Service, children, exists, is_writer

pytestmark = pytest.mark.sqlite

SLOW_MS = 50
MESSAGES = 12       # of each client
CLIENTS = 4


def writers(service):
    return [pid for pid in children(service.pid) if is_writer(pid)]


@contextlib.contextmanager
def busy_worker(site, **settings):
    """A service, one of whose workers has stopped in the middle of a delivery, with its message locked. In the end another one is
    started for it."""
    reached = threading.Event()

    def watch(connection, side, data):
        if connection.number == 1 and side == CLIENT and b" APPEND " in data:
            connection.fall_silent()
            reached.set()
        return data

    line = site.use(Proxy(site.lab.dovecot.port, watch))
    service = Service(site, settings={"imap.tls": "none", "imap.port": line.port, **settings})
    client = service.connect()
    client.envelope([site.account("busy")])
    client.send(stuffed(message()))
    assert reached.wait(TIMEOUT)
    worker = service.worker_of(client)
    os.kill(worker, signal.SIGSTOP)
    yield service
    os.kill(worker, signal.SIGKILL)
    client.close()
    service.await_replaced(worker)


def test_writes_for_the_workers(site):
    """A worker waits for it; what it leaves behind is executed and does no harm."""
    scuba = site.account("scuba")
    with busy_worker(site, **{"delivery.deadline": "5s", "delivery.hold_off": "6s"}) as service:
        [writer] = writers(service)
        os.kill(writer, signal.SIGSTOP)
        client = service.connect()
        client.envelope([scuba])
        client.send(stuffed(message()))
        wait_until(lambda: "the deadline is over" in service.log(), "the worker has waited for it")
        os.kill(writer, signal.SIGCONT)
        client.close()
    stored(service.deliver(message(), scuba)[0])


def test_does_not_write_for_one_that_is_alone(site):
    """Only a message that is being delivered is company, not a worker that is idle, or has died."""
    scuba = site.account("scuba")
    with busy_worker(site) as service:
        pass
    [writer] = writers(service)
    os.kill(writer, signal.SIGSTOP)
    for _ in range(4):
        stored(service.deliver(message(), scuba)[0])
    os.kill(writer, signal.SIGCONT)


def test_another_one_is_started(site):
    scuba = site.account("scuba")
    with busy_worker(site) as service:
        [writer] = writers(service)
        stored(service.deliver(message(), scuba)[0])
        os.kill(writer, signal.SIGKILL)
        stored(service.deliver(message(), scuba)[0])
        wait_until(lambda: f"{writer} was killed by signal 9" in service.log(), "the log says so")
        wait_until(lambda: writers(service) not in ([], [writer]), "there is another one")
        stored(service.deliver(message(), scuba)[0])
    assert site.count(scuba) == 3


@contextlib.contextmanager
def leaving(site, number):
    """A service that gets this signal, with its writer and a worker that has a transaction under way. At the end the
    transaction succeeds, and all processes from before the signal end."""
    scuba, mail = site.account("scuba"), message()
    service = Service(site)
    processes, [writer] = children(service.pid), writers(service)
    client = service.connect()
    client.envelope([scuba])
    service.signal(number)
    wait_until(lambda: sum(map(exists, processes)) == 2, "the idle worker is gone")
    yield service, writer
    client.send(stuffed(mail))
    stored(client.reply())
    wait_until(lambda: not any(map(exists, processes)), "all are gone")


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_workers_that_leave_do_without(site, number):
    """Another one is not started for them."""
    with leaving(site, number) as (service, writer):
        os.kill(writer, signal.SIGKILL)
        wait_until(lambda: f"{writer} was killed by signal 9" in service.log(), "the log says so")


@pytest.mark.parametrize("workers", [1, 2])
def test_is_there_if_it_can_have_company(site, workers):
    service = Service(site, workers=workers)
    assert len(writers(service)) == workers - 1


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_ends_after_the_workers(site, number):
    """Also if it gets the signal itself, as from systemd or a terminal."""
    with leaving(site, number) as (service, writer):
        os.kill(writer, signal.SIGTERM)
    service.finish()


@pytest.mark.skipif(is_sanitized(), reason="a sanitizer must be loaded first")
def test_four_clients_share_syncs(site):
    """On a slow disk: by itself each message takes two."""
    source = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench", "slow_sync.c")
    library, log = (os.path.join(site.directory, name) for name in ("slow_sync.so", "syncs"))
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True)
    service = Service(site, workers=CLIENTS, env={**site.environment(), "LD_PRELOAD": library, "SLOW_SYNC_LOG": log,
                                                  "SLOW_SYNC_US": str(SLOW_MS * 1000)})
    accounts = [site.account(f"user{number}") for number in range(CLIENTS)]
    open(log, "wb").close()

    def deliver(account):
        client = service.connect()
        for _ in range(MESSAGES):
            stored(client.deliver(message(to=account), account)[0])
        client.close()

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(deliver, accounts))
    assert os.path.getsize(log) <= MESSAGES * CLIENTS
    assert [site.count(account) for account in accounts] == [MESSAGES] * CLIENTS
