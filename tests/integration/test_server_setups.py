# SPDX-License-Identifier: ISC
"""Other ways to set up the servers of oncedrop-imap(7), and what happens when something of it is left out.

Seen to fail with: the strict comparison alone; an end before TLS that is not taken for a lack of room; a
server that is trusted at once."""

import expect
import pytest
from lab import courier as courier_module, cyrus as cyrus_module, lmtp
from lab.messages import message, on_the_wire
from test_changed_by_server import forget_hold_off, munged
from test_servers_matrix import CONTENTS, arrived, kill_at


def started(lab, module, kind, **more):
    if module.missing():
        pytest.skip(module.missing())
    return kind(lab.new_directory("setup", 0o755), lab.certificate, **more).start()


@pytest.fixture
def run_server(site, lab):
    """A function that starts one more server, as the site's; it is stopped in the end."""
    running = []

    def run(module, kind, **more):
        running.append(started(lab, module, kind, **more))
        site.use_server(running[-1])
        return running[-1]
    yield run
    for server in running:
        server.stop()


def test_Cyrus_that_munges(site, run_server):
    """As it comes: in a header each byte from 0x80 becomes an X. In doubt the message is found even so."""
    run_server(cyrus_module, cyrus_module.Cyrus, munge8bit="yes")
    scuba = site.account("scuba")
    mail = CONTENTS["8-bit header"]()
    kill_at(site, "stored", mail, scuba)
    forget_hold_off(site)
    done = site.deliver_with_retries(mail, scuba)[-1]
    assert done.exit == 0 and "(found there)" in done.out, done
    assert [stored.raw for stored in site.messages(scuba)] == [munged(on_the_wire(mail))]


def test_Cyrus_that_makes_accounts(site, run_server):
    """autocreate_quota: mail to an account that does not exist is stored, unless the query says so."""
    server = run_server(cyrus_module, cyrus_module.Cyrus, more="autocreate_quota: 0\n")
    stranger = f"stranger{site.number}@example.org"
    expect.stored(site.deliver(message(), stranger))
    assert server.mailboxes(stranger) == ["INBOX"]
    site.settings["route.account_query"] = "SELECT 'somebody' WHERE $1 = ''"
    expect.bounced(site.deliver(message(), stranger.replace("stranger", "other")), 67, "5.1.1")


@pytest.mark.parametrize("module,kind", [(cyrus_module, "Cyrus"), (courier_module, "Courier")])
def test_early_login(site, run_server, module, kind):
    run_server(module, getattr(module, kind))
    scuba = site.account()
    site.settings["imap.early_login"] = "yes"
    expect.stored(site.deliver(message(), scuba))
    assert site.count(scuba) == 1


def test_Courier_with_few_sessions_from_one_address(site, run_server):
    """It closes a connection that is too many without a word, before TLS begins. Sessions that are unused make room."""
    run_server(courier_module, courier_module.Courier, more="MAXPERIP=4\n")
    accounts = [site.account(f"scuba{number}") for number in range(8)]
    session = lmtp.start(site)
    for reply in session.deliver(message(), *accounts):
        lmtp.stored(reply)
    for account in accounts:
        lmtp.stored(session.deliver(message(), account)[0])
    session.close()
    assert [site.imap.count(account) for account in accounts] == [2] * 8


def test_Courier_by_a_command(site, courier):
    scuba, sent = site.account("scuba"), site.account("lisa")
    site.settings.update({"imap.command": " ".join([*courier.command(), "%{account}"]), "imap.host": None,
                          "imap.port": None, "imap.ca_file": None, "imap.password_file": None})
    mail = message(sender=sent)
    expect.stored(site.deliver(mail, scuba, sender=sent))
    expect.duplicate(site.deliver(mail, scuba, sender=sent))
    arrived(site, scuba, mail)
    for stranger in (f"nobody{site.number}@example.org", "../mail/" + scuba):
        expect.deferred(site.deliver(message(), stranger))
    assert site.count(scuba) == 1


def test_Courier_ignores_the_account_that_a_master_user_names(site, courier):
    """With imap.master_user all mail would go to one mailbox, so it is deferred."""
    scuba, master = site.account("scuba"), site.account("master")
    site.trusting = False
    site.settings["imap.master_user"] = master
    expect.deferred(site.deliver(message(), scuba), r"4\.\d\.\d", "use imap.command")
    assert site.count(master) == site.count(scuba) == 0
