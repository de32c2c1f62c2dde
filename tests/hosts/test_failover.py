# SPDX-License-Identifier: ISC
"""A replica is promoted while mail flows through two hosts that know both servers (target_session_attrs=read-write).
The old primary was stopped, killed, or cut off from replica and mail hosts; unfenced, one of the hosts still reaches
it, and only it, while the other one uses the new. Before that the replica stands still for a while: what it then does
not have was committed on the primary alone, or not at all. In the end each message comes once more, by the other host.

With a synchronous replica, or with imap.search = always, nothing may be lost or doubled. How much is doubled by an
asynchronous one with a search only in doubt is counted, and must be something: it is the same test without the rule.
Two primaries at once that both acknowledge (asynchronous and not fenced) do not exclude each other: there the number is only
printed.

ONCEDROP_HOSTS=all takes all ways to lose a primary; `make check-all` one.

Seen to fail with: synchronous_commit = local kept (ledger_session.c: ledger_add_begin), by doubled messages; imap.search =
always not looked at (plan.c: append_or_search), the same; an unresponsive server waited for until the deadline (pg_connect.c:
pg_connect), by mail that stands still."""

import collections
import concurrent.futures
import os
import threading

import flow as flow_module
import pytest
from lab import lab as lab_module, replica as replica_module, site as site_module
from lab.messages import message
from lab.process import wait_until
from lab.proxy import SERVER, Proxy

pytestmark = pytest.mark.postgres

ALL = os.environ.get("ONCEDROP_HOSTS") == "all"
ACCOUNTS = 4
DEADLINE, HOLD_OFF = 4, 5   # seconds
LAG = 8                     # messages that the replica has not seen when the primary goes

# synchronous: the replication; end: of the old primary; search: imap.search; doubled: whether messages may, or must, be
# there twice
Scenario = collections.namedtuple("Scenario", "synchronous end search doubled")
NEVER, CERTAINLY, PERHAPS = "never", "certainly", "perhaps"

SCENARIOS = [Scenario(True, end, "doubt", NEVER) for end in ("killed", "stopped", "back", "fenced", "unfenced")]
SCENARIOS += [Scenario(False, end, "always", NEVER) for end in ("killed", "stopped", "fenced")]
SCENARIOS += [Scenario(False, "stopped", "doubt", NEVER)]
SCENARIOS += [Scenario(False, end, "doubt", CERTAINLY) for end in ("killed", "fenced")]
SCENARIOS += [Scenario(False, "unfenced", search, PERHAPS) for search in ("always", "doubt")]
CHOSEN = SCENARIOS if ALL else SCENARIOS[:1]


def name_of(scenario):
    return f"{'synchronous' if scenario.synchronous else 'asynchronous'}, {scenario.end}, search={scenario.search}"


class Pair(lab_module.Lab):
    """A primary and its replica, and a Dovecot that others use as well."""

    def __init__(self, shared, synchronous):
        super().__init__()
        self.dovecot, self.authority = shared.dovecot, shared.authority
        self.postfix_settings = shared.postfix_settings
        self.ledgers = site_module.install_schema(self)
        self.site = site_module.new_site(self, self.ledgers)
        self.replica = self.start(replica_module.Replica(self.directory, self.postgres))
        self.replica.follow(synchronous)
        self.imap = Proxy(self.dovecot.port, self.watch)
        self.proxies = [self.imap]
        self.stall_at_next = threading.Event()

    def watch(self, _connection, side, data):
        """A message has been stored, and its settling will not reach the replica."""
        if side == SERVER and b"APPENDUID" in data and self.stall_at_next.is_set():
            self.replica.stream.stall()
            self.stall_at_next.clear()
        return data

    def host(self, number, search):
        """A mail host that reaches each server by a separate path; each has another server first."""
        to_old, to_new = Proxy(self.postgres.port), Proxy(self.replica.port)
        self.proxies += [to_old, to_new]
        ports = [to_old.port, to_new.port] if number == 1 else [to_new.port, to_old.port]
        conninfo = (f"host=127.0.0.1,127.0.0.1 port={ports[0]},{ports[1]} dbname={self.site.database}"
                    f" user={lab_module.DELIVERY} password={lab_module.DELIVERY} sslmode=disable connect_timeout=2"
                    " target_session_attrs=read-write options='-c synchronous_commit=local"
                    " -c client_min_messages=error'")
        host = flow_module.Host(f"host{number}", self.site, database__conninfo=conninfo, imap__search=search,
                                imap__tls="none", imap__port=self.imap.port, imap__timeout="3s",
                                delivery__deadline=f"{DEADLINE}s", delivery__hold_off=f"{HOLD_OFF}s")
        host.to_old, host.to_new = to_old, to_new
        return host

    def stop(self):
        for proxy in self.proxies:
            proxy.close()
        super().stop()


def lag(pair, flow, scenario):
    """The stream stands still for some messages; synchronous commits wait for it."""
    pair.stall_at_next.set()
    wait_until(lambda: not pair.stall_at_next.is_set(), "the stream stands still")
    if scenario.synchronous:
        before = len(flow.accepted)     # of a program that does not wait
        wait_until(lambda: pair.replica.waiting() >= 2 or len(flow.accepted) > before + LAG, "commits wait for the replica")
    else:
        flow.wait_for(LAG)


def end_old_primary(pair, flow, hosts, scenario):
    if scenario.end == "stopped":       # in order: it sends all it has
        pair.postgres.end(pair.postgres.stop_signal)
        return
    lag(pair, flow, scenario)
    if scenario.end in ("killed", "back"):
        replica_module.kill(pair.postgres)
    elif scenario.end == "fenced":      # it lives, but no packet from it arrives
        for host in hosts:
            host.to_old.stall()
    else:                               # the first host hears only the old one, the second only the new one
        hosts[0].to_new.stall()
        hosts[1].to_old.stall()
    if scenario.end != "unfenced":
        flow.settle_down()              # as time passes before a failover: what is under way has ended
    pair.replica.stream.cut()


def finish(pair, flow, hosts, scenario):
    """Until the end of the troubles."""
    if scenario.end == "unfenced":
        flow.wait_for(LAG, hosts[1].name)
        replica_module.kill(pair.postgres)
        hosts[0].to_new.resume()
    elif scenario.end == "back":        # unasked, and as a primary: the first in the first host's list
        pair.postgres.launch()
        wait_until(pair.postgres.is_up, "the old primary is back")
        flow.wait_for(LAG, hosts[1].name)
        replica_module.kill(pair.postgres)
    flow.wait_for(LAG)
    flow.close()
    flow.again()


def run(pair, scenario):
    hosts = [pair.host(number, scenario.search) for number in (1, 2)]
    accounts = [pair.site.account(f"failover{number}") for number in range(ACCOUNTS)]
    flow = flow_module.Flow(hosts, accounts, together=scenario.end in ("unfenced", "back"))
    try:
        flow.wait_for(LAG)
        end_old_primary(pair, flow, hosts, scenario)
        pair.replica.promote()
        finish(pair, flow, hosts, scenario)
    finally:
        flow.close(0)
    return flow


@pytest.mark.parametrize("scenario", CHOSEN, ids=name_of)
def test_failover(lab, saw, scenario):
    pair = Pair(lab, scenario.synchronous)
    try:
        flow = run(pair, scenario)
        outcome = flow.outcome(lab.dovecot)
    finally:
        pair.stop()
    saw(f"{name_of(scenario)}: {len(outcome.messages)} messages, {len(outcome.lost)} lost, {len(outcome.doubled)} doubled,"
        f" {flow.longest_pause():.1f} s without one")
    assert not outcome.refused and not outcome.lost, "\n".join(map(str, outcome.refused + outcome.lost))
    if scenario.doubled == NEVER:
        assert not outcome.doubled, "\n".join(map(str, outcome.doubled))
    elif scenario.doubled == CERTAINLY:
        assert outcome.doubled


def test_wait_for_the_replica_is_cancelled(lab):
    """By an operator, say. PostgreSQL then answers COMMIT all the same, with a warning."""
    pair = Pair(lab, True)
    cancel = "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    try:
        host, account = pair.host(1, "doubt"), pair.site.account("cancelled")
        mail = message(to=account)
        pair.replica.stream.stall()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            first = pool.submit(host.deliver, mail, account)
            wait_until(lambda: pair.postgres.admin(cancel) or first.done(), "the delivery's end")
        status, text = first.result()
        assert status == 75 and "standby" in text and not lab.dovecot.count(account), text
        pair.replica.stream.resume()
        pair.site.ledger.age(hours=1)
        wait_until(lambda: host.deliver(mail, account)[0] == 0, "delivered")
        assert lab.dovecot.count(account) == 1
    finally:
        pair.stop()
