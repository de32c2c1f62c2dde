# SPDX-License-Identifier: ISC
"""How many round trips a delivery takes to servers that are far away, counted.

Seen to fail with: imap.early_login=no where it is yes; the literal sent after '+'."""

import expect
import pytest
from lab import lab as lab_module
from lab.distance import Distant
from lab.ledger import MARIADB, SQLITE, engine
from lab.lmtp import stored
from lab.messages import message
from lab.process import wait_until
from lab.service import Service

SECONDS = 0.2   # so long that a slow machine does not take one flight for two


def distant_imap(site, **settings):
    """Without TLS."""
    line = site.use(Distant(site.lab.dovecot.port, SECONDS))
    site.settings.update({"imap.tls": "none", "imap.port": line.port, **settings})
    return line


@pytest.mark.parametrize("early,most", [("no", 4), ("yes", 3)])
def test_deliver_to_a_distant_IMAP_server(site, early, most):
    """Connection, greeting, login, APPEND; an early login does not wait for the greeting."""
    line = distant_imap(site, **{"imap.early_login": early})
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    wait_until(lambda: line.round_trips == most, f"{most} round trips")      # the last is seen by what is sent behind it
    assert site.count(scuba) == 1


def test_the_service_with_a_distant_IMAP_server(site):
    """One for each message, on a session that is open."""
    line, scuba = distant_imap(site), site.account()
    client = Service(site, workers=1).connect()
    stored(client.deliver(message(), scuba)[0])
    before = line.round_trips
    for _ in range(3):
        stored(client.deliver(message(), scuba)[0])
    assert line.round_trips - before == 3 and site.count(scuba) == 4


def distant_database(site):
    server = site.database_server
    line = site.use(Distant(server.port, SECONDS))
    site.settings["database.conninfo"] = server.conninfo(site.database, lab_module.DELIVERY, port=line.port)
    return line


@pytest.mark.skipif(engine() == SQLITE, reason="a ledger in a file is here")
def test_a_distant_database(site):
    """For each message: its claim and its result. A connection takes four, with MariaDB three; and with
    imap.master_user each process asks first whether the server is known to honour it."""
    line, scuba = distant_database(site), site.account()
    expect.stored(site.deliver(message(), scuba))
    wait_until(lambda: line.round_trips == (3 if engine() == MARIADB else 4) + 2, "round trips")
    client = Service(site, workers=1).connect()
    stored(client.deliver(message(), scuba)[0])
    before = line.round_trips
    for _ in range(3):
        stored(client.deliver(message(), scuba)[0])
    assert line.round_trips - before == 6 and site.count(scuba) == 5
