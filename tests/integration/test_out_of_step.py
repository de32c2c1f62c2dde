# SPDX-License-Identifier: ISC
"""A server whose answers are not those to what it was asked: outcome unknown, and the connection is closed.

Seen to fail with: abort() where answers are missing; no bound where there are too many."""

import expect
import pytest
from lab import lab as lab_module
from lab.fake_postgres import FakePostgres, description, packet, row
from lab.messages import message

pytestmark = pytest.mark.postgres

DONE = packet(b"1") + packet(b"2") + packet(b"n") + packet(b"C", b"SELECT 0\0")
ROW = packet(b"1") + packet(b"2") + description(*"abcdef") + row(*[b"1"] * 6) + packet(b"C", b"SELECT 1\0")
READY = packet(b"Z", b"T")
ANSWERS = {"no answer": READY, "one answer": DONE + READY, "two answers": DONE + ROW + READY,
           "too many answers": (DONE + ROW) * 2000 + DONE * 400_000 + READY, "the end twice": DONE + READY + READY}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS.keys())
def test_a_delivery_is_deferred(site, answer):
    def script(client):
        while True:
            client.batch()
            client.socket.sendall(answer)

    server = site.use(FakePostgres(script))
    site.settings["database.conninfo"] = (f"host=127.0.0.1 port={server.port} user={lab_module.DELIVERY} password=x"
                                          " dbname=x sslmode=disable")
    site.settings["imap.master_user"] = None     # so that the first question is about the message
    site.trusting = False
    expect.deferred(site.deliver(message(), "scuba@example.org", merge=True), r"4\.3\.0")
    done = site.run("list", options=["-o", "database.conninfo=" + site.settings["database.conninfo"]])
    assert done.exit in (0, 69), done
