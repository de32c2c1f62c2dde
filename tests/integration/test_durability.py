# SPDX-License-Identifier: ISC
"""The settings of each transaction, as seen by a trigger within it: an answer is durable, and every wait has a limit,
regardless of the settings of server, role or connection string.

Seen to fail: with synchronous_commit = local, off or remote_write kept; with each of the timeouts not set."""

import expect
import pytest
from lab.messages import message
from lab.proxy import SERVER

pytestmark = pytest.mark.postgres

SETTINGS = ("synchronous_commit", "statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
            "transaction_isolation", "transaction_read_only")


@pytest.fixture
def seen(site):
    """A function that returns what the transactions saw that wrote copies: (state of the copy, settings)."""
    columns = ", ".join(f"current_setting('{name}') AS {name}" for name in SETTINGS)
    site.sql(f"CREATE TABLE public.seen AS SELECT ''::text AS state, {columns} LIMIT 0")
    site.sql("ALTER TABLE public.seen ADD number serial")
    site.sql("CREATE FUNCTION public.look() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
             f" $$BEGIN INSERT INTO public.seen SELECT NEW.state, {columns}; RETURN NULL; END$$")
    site.sql("CREATE TRIGGER look AFTER INSERT OR UPDATE ON oncedrop.copy FOR EACH ROW EXECUTE FUNCTION public.look()")
    return lambda: site.sql(f"SELECT state, {', '.join(SETTINGS)} FROM public.seen ORDER BY number")


def with_options(site, **settings):
    options = " ".join(f"-c {name}={value}" for name, value in settings.items())
    site.settings["database.conninfo"] += f" options='{options}'"


@pytest.mark.parametrize("set_to,used", [("off", "on"), ("local", "on"), ("remote_write", "on"), ("on", "on"),
                                         ("remote_apply", "remote_apply")])
def test_commits_are_durable(site, seen, set_to, used):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    with_options(site, synchronous_commit=set_to)
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    found = [(row.state, row.synchronous_commit) for row in seen()]
    assert found == [(state, used) for state in ("appending", "appending", "stored", "stored")]


def test_no_statement_waits_for_ever(site, seen):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    with_options(site, statement_timeout=0, lock_timeout=0, idle_in_transaction_session_timeout=0,
                 default_transaction_isolation="serializable", default_transaction_read_only="on")
    site.settings.update({"lock.wait": "7s", "delivery.deadline": "59s", "delivery.hold_off": "300s"})
    expect.stored(site.deliver(message(sender=lisa), scuba, sender=lisa))
    assert [row[1:] for row in seen()[:2]] == [("on", "1min", "30s", "59s", "read committed", "off")] * 2
    assert [row[1:] for row in seen()[2:]] == [("on", "37s", "7s", "59s", "read committed", "off")] * 2


def test_a_settling_on_a_new_connection_is_no_other(site, seen):
    """The session with the lock is lost after the APPEND."""
    scuba = site.account()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    with_options(site, synchronous_commit="off")
    ended = []

    def watch(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data and not ended:
            ended.append(site.ledger.end_sessions())
        return data
    site.imap_proxy(watch)
    expect.stored(site.deliver(message(), scuba))
    assert ended == [1]
    assert [(row.state, row.synchronous_commit, row.statement_timeout) for row in seen()] == \
        [("appending", "on", "1min"), ("stored", "on", "1min")]
