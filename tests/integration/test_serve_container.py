# SPDX-License-Identifier: ISC
"""The resident service as the first process of a container: by TCP, with the log on stderr, and with the end that an
orchestrator gives it.

Seen to fail with: an orphan's end reported as that of a worker; a second signal that is like the first; a log that goes to
syslog despite log.to."""

import os
import signal
import socket
import subprocess

import pytest
from lab.lmtp import Gone, stored, stuffed
from lab.messages import message
from lab.process import free_port, wait_until
from lab.service import CONTAINER, Service, children


@pytest.fixture
def container(site):
    if subprocess.run([*CONTAINER, "true"], check=False, capture_output=True).returncode != 0:
        pytest.skip("no PID namespaces here")
    port = free_port()
    settings = {"service.socket": f"127.0.0.1:{port}", "delivery.deadline": "800s", "delivery.hold_off": "1000s"}
    service = Service(site, settings=settings, inside=CONTAINER)
    service.tcp = lambda: service.client(socket.create_connection(("127.0.0.1", port)))
    with open(f"/proc/{service.pid}/status", encoding="ascii") as file:
        assert "\nNSpid:\t%d\t1\n" % service.pid in file.read()
    return service


def test_sigterm_ends_what_is_under_way_first(site, container):
    """The exit status is 0, and the log says what happened."""
    scuba = site.account("scuba")
    idle, busy = container.tcp(), container.tcp()
    busy.envelope([scuba])
    container.signal(signal.SIGTERM)
    assert idle.reply().code == 421 and idle.rest() == b""
    assert container.process.poll() is None
    busy.send(stuffed(message()))
    stored(busy.reply())
    assert busy.reply().code == 421
    assert container.finish() == 0
    log = container.log()
    assert site.count(scuba) == 1 and "stopping" in log and f"to=<{scuba}>" in log and "status=stored" in log, log


def test_a_second_sigterm_ends_it_at_once(site, container):
    scuba = site.account("scuba")
    client = container.tcp()
    client.envelope([scuba])
    container.signal(signal.SIGTERM)
    wait_until(lambda: "stopping" in container.log(), "the service is stopping")
    container.signal(signal.SIGTERM)
    with pytest.raises((Gone, ConnectionResetError)):
        client.reply()
    assert container.finish() == 0 and site.count(scuba) == 0


def test_orphans_are_reaped_and_not_mistaken_for_workers(site, container):
    """Such as what a command inside the container has left, which a health check may be."""
    workers, before = container.workers(), children(container.pid)
    stranger = subprocess.Popen(["nsenter", f"--target={container.pid}", "--pid", "sh", "-c",
                                 'exec 3<&0; sh -c "read line <&3; exit 3" & exit'], stdin=subprocess.PIPE)
    stranger.wait()
    wait_until(lambda: len(children(container.pid)) == len(before) + 1, "the first process has the orphan")
    [orphan] = set(children(container.pid)) - set(before)
    stranger.stdin.close()
    wait_until(lambda: not os.path.exists(f"/proc/{orphan}"), "it is reaped")
    os.kill(workers[0], signal.SIGKILL)
    container.await_replaced(workers[0])
    assert container.log().count(": warning: ") == 1, container.log()
    stored(container.tcp().deliver(message(), site.account("scuba"))[0])
    assert container.stop() == 0
