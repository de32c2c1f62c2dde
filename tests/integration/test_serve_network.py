# SPDX-License-Identifier: ISC
"""The resident service on an address that other hosts reach: only with service.allowed_networks, and only for clients from there.

Seen to fail with: networks not looked at; the loopback interface left out."""

import contextlib
import json
import socket
import subprocess

import pytest
from lab.lmtp import Client
from lab.network import Machine, ip
from lab.service import Service

OURS, INSIDE, OUTSIDE, SIX = "192.0.2.1", "192.0.2.77", "198.51.100.1", "2001:db8::1"


@pytest.fixture
def machine(site):
    """A separate network with these addresses, all of them on one host."""
    try:
        machine = site.use(Machine())
        for address in (f"{OURS}/24", f"{INSIDE}/32", f"{OUTSIDE}/32", f"{SIX}/128"):
            ip("address", "add", address, "dev", "lo", machine=machine)
    except (OSError, TimeoutError, subprocess.CalledProcessError):
        pytest.skip("no network namespaces here")
    return machine


def serve(site, machine, address, networks):
    with machine.inside():
        return Service(site, workers=1, settings={"service.socket": address, "service.allowed_networks": networks})


def greeting(site, machine, source, address=OURS):
    """The first reply to a client from there."""
    with machine.inside():
        client = site.use(Client(socket.create_connection((address, 2424), source_address=(source, 0))))
    with contextlib.closing(client):
        return client.reply()


@pytest.mark.parametrize("listening", ["0.0.0.0:2424", "[::]:2424"])
def test_clients_from_the_networks_and_from_this_host(site, machine, listening):
    """Others are refused with a reason, and logged; they keep no worker: there is only one."""
    service = serve(site, machine, listening, "192.0.2.64/26, 2001:db8::/32")
    for _ in range(3):
        refused = greeting(site, machine, OUTSIDE)
        assert refused.code == 421 and f"{OUTSIDE} is in none of service.allowed_networks" in refused.text.replace("::ffff:", "")
    assert greeting(site, machine, OURS).code == 421
    assert greeting(site, machine, INSIDE).code == 220
    assert greeting(site, machine, "127.0.0.1", "127.0.0.1").code == 220
    if listening.startswith("["):
        assert greeting(site, machine, SIX, SIX).code == 220
        assert greeting(site, machine, "::1", "::1").code == 220
    assert service.log().count("a client of the service is refused: ") == 4, service.log()
    service.renew({"service.allowed_networks": f"{OUTSIDE}/32"})
    assert greeting(site, machine, OUTSIDE).code == 220 and greeting(site, machine, INSIDE).code == 421
    service.renew({"service.allowed_networks": ""})
    assert greeting(site, machine, OUTSIDE).code == 421
    assert service.stop() == 0


def test_systemds_socket(site, machine):
    with machine.inside():
        listener = site.use(socket.create_server((OURS, 2424)))
    service = Service(site, listener=listener, settings={"service.allowed_networks": f"{INSIDE}/32"})
    assert greeting(site, machine, INSIDE).code == 220 and greeting(site, machine, OUTSIDE).code == 421
    assert service.stop() == 0


@pytest.mark.parametrize("networks, why", [("192.0.2.1/24", "192.0.2.1/24 is no network"), ("lan", "lan is no network")])
def test_what_is_no_network(site, networks, why):
    site.settings["service.allowed_networks"] = networks
    done = site.run("config", "--test")
    assert done.exit == 78 and f"[service] allowed_networks = {networks}: {why}" in done.err, done


@pytest.mark.parametrize("address, warned", [("0.0.0.0:24", True), ("192.0.2.1:24", True), ("[2001:db8::1]:24", True),
                                             ("127.0.0.1:24", False), ("/nowhere/lmtp", False)])
def test_check_warns(site, address, warned):
    site.settings.update({"service.socket": address, "service.allowed_networks": "192.0.2.0/24", "imap.port": 1})
    items = json.loads(site.run("check", "--json").out)
    said = [item for item in items if item["item"] == "service"]
    assert [(one["status"], "in the clear" in one["text"]) for one in said] == ([("warning", True)] if warned else []), said
