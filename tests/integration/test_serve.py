# SPDX-License-Identifier: ISC
"""The resident service: workers, connections, peers, signals."""

from lab.lmtp import stored
from lab.messages import message
from lab.service import Service


def test_delivers_by_unix_socket(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    service = Service(site)
    for reply in service.deliver(message(), scuba, doug):
        stored(reply)
    assert site.count(scuba) == site.count(doug) == 1
    assert service.stop() == 0
