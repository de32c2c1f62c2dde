# SPDX-License-Identifier: ISC
"""What oncedrop-migration(7) says: nothing is stored twice, or lost, when a database, a domain or an account moves, or the ledger is
lost.

Seen to fail without imap.search = always, which is the control in each test; with a group that there is taken for [imap]."""

import expect
import pytest
from integration.test_ledger import Place
from integration.test_several_servers import NORTH, SOUTH, query_of_domains, two
from lab.fake_imap import FakeImap
from lab.ledger import MARIADB, POSTGRES, SQLITE
from lab.messages import message


@pytest.mark.parametrize("engine", [POSTGRES, MARIADB])
def test_another_database_host(site, engine):
    old, new = Place(site, engine), Place(site, engine)
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    expect.stored(old.deliver(mail, scuba))
    done = old.copy_to(new)
    assert done.exit == 0, done
    expect.duplicate(new.deliver(mail, scuba))
    expect.stored(new.deliver(message(sender=lisa), scuba))
    assert (site.count(scuba), site.count(lisa, "Sent")) == (2, 2)


@pytest.mark.parametrize("search, count", [("always", 1), (None, 2)])
def test_the_ledger_is_lost(site, search, count):
    """Postfix has a message still that is stored. What it has not delivered yet is stored, of course."""
    lost = Place(site, SQLITE)
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa)
    expect.stored(lost.deliver(mail, scuba))
    empty = Place(site, SQLITE)
    site.settings["imap.search"] = search
    expect.stored(empty.deliver(mail, scuba))
    assert (site.count(scuba), site.count(lisa, "Sent")) == (count, 1)
    site.settings["imap.search"] = None
    expect.duplicate(empty.deliver(mail, scuba))
    expect.stored(empty.deliver(message(), scuba))
    assert site.count(scuba) == count + 1


@pytest.mark.parametrize("search, count", [("always", 1), (None, 2)])
def test_a_domain_is_renamed(site, search, count):
    """The account has a new name, and its mailboxes as they were."""
    scuba = site.account("scuba")
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    user = scuba.partition("@")[0]
    renamed = f"{user}@new.example"
    site.imap.add_account(renamed, home=site.imap.path("mail", scuba))
    site.settings.update({"route.account": "%{user}@new.example", "imap.search": search})
    expect.stored(site.deliver(mail, scuba))
    expect.stored(site.deliver(message(), renamed))
    assert site.count(renamed) == site.count(scuba) == count + 1
    expect.duplicate(site.deliver(mail, renamed))


def test_an_account_moves(site):
    """Its mail waits, and only that; afterwards what was stored before is known."""
    north, south = two(site, FakeImap())
    mail = message()
    expect.stored(site.deliver(mail, SOUTH))
    site.settings["route.account_query"] = query_of_domains().replace("'south'", "'nowhere'")
    waiting = message()
    expect.deferred(site.deliver(waiting, SOUTH), r"4\.3\.\d", "nowhere")
    expect.stored(site.deliver(message(), NORTH))
    site.settings["route.account_query"] = query_of_domains().replace("'south'", "''")
    expect.duplicate(site.deliver(mail, SOUTH))
    expect.stored(site.deliver(waiting, SOUTH))
    assert len(south.appended) == 1 and len(north.appended) == 2
