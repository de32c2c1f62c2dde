# SPDX-License-Identifier: ISC
"""Postfix with the front and the service: mailbox_command, and pipe(8). Postfix is stopped and
aborted in the middle of messages; the service is started again under load.

Seen to fail with: no look at the output before the final mark; a service that stores a message without it."""

import os

import pytest
from lab import postfix as postfix_module
from lab.messages import message
from lab.process import wait_until
from lab.service import Service
from test_postfix_restart import stop_again_and_again
from test_postfix_service import ANEW, ANEW_SETTINGS, everything_arrived, send_while_it_starts_anew


class Served(postfix_module.Postfix):
    """A recipient may not read the configuration, so cannot deliver by the full program."""

    def __init__(self, site, way):
        super().__init__(site, way)
        for directory in (site.lab.directory, site.directory):
            os.chmod(directory, 0o755)
        self.service_socket = self.socket = os.path.join(site.directory, "service.socket")
        self.service = None

    def configure(self):
        super().configure()
        if getattr(self, "service", None):
            self.service.renew()

    def serve(self, **settings):
        clients = postfix_module.SERVICE_USER if self.way == "pipe" else ""
        self.service = Service(self.site, workers=2, settings={"service.trusted_users": clients, **settings})
        return self.service


@pytest.fixture(params=["mailbox_command", "pipe"])
def served(site, request):
    new = Served(site, request.param)
    yield new
    new.close()


def test_end_to_end(served):
    service = served.serve()
    [scuba] = served.accounts(1)
    served.start()
    mail = message()
    queue_id = served.send(mail, [scuba])
    [entry] = served.wait_for(1, queue_id)
    assert (entry.dsn, entry.status) == ("2.0.0", "sent"), entry
    assert "2.1.5 stored uid=1 mailbox=INBOX" in entry.text or served.way == "mailbox_command", entry
    everything_arrived(served, [mail], [scuba])
    wait_until(lambda: "status=stored" in service.log(), "it is logged, after the answer")
    assert service.log().count(f"to=<{scuba}>") == 1
    assert queue_id in service.log() or served.way == "mailbox_command"


def test_no_service(served):
    """A recipient may not read the configuration: mail waits. pipe(8)'s user may: the full program delivers."""
    [scuba] = served.accounts(1)
    served.start()
    mail = message()
    [entry] = served.wait_for(1, served.send(mail, [scuba]))
    assert entry.status == ("sent" if served.way == "pipe" else "deferred"), entry
    served.serve()
    served.flush()
    everything_arrived(served, [mail], [scuba])
    assert served.bounces() == []


def test_no_message_is_cut_and_none_comes_twice(served):
    served.serve()
    stop_again_and_again(served)


@pytest.mark.parametrize("served", ["mailbox_command"], indirect=True)
def test_nor_with_a_shell_in_between(served):
    """A quote is enough to make local(8) call /bin/sh."""
    served.serve()
    served.edit = lambda name, text: text.replace(served.program + " deliver", served.program + ' deliver -q ""')
    stop_again_and_again(served)


@pytest.mark.parametrize("how", ANEW)
def test_the_service_starts_anew_under_load(served, how):
    served.site.settings.update(ANEW_SETTINGS)
    served.configure()
    scuba, doug = served.accounts(2)
    service = served.serve()
    served.start()
    mails = send_while_it_starts_anew(served, service, how, 20, [scuba, doug])
    served.flush()
    everything_arrived(served, mails, [scuba, doug])
    assert {entry.status for entry in served.entries()} <= {"sent", "deferred"} and served.bounces() == []
    # While it starts, pipe(8)'s are delivered by the full program.
    wait_until(lambda: "status=stored" in service.log(), "one is logged by the service, after the answer")
