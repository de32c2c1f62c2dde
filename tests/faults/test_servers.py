# SPDX-License-Identifier: ISC
"""Results that a delivery records too late: its mailbox was full, its lock is lost, and before its settling arrives
another delivery has taken the claim over and stored the message, since there was room again. The late settling must
change nothing; otherwise the next delivery would make a second copy.

Seen to fail with: attempt and claim not compared when settling (ledger_settle.c: add_copy_state)."""

import os

import death
from bench import PATIENT, Bench, Wrong, check_ledger, look, pooler, repeat, run_points
from lab import lab as lab_module, locks
from lab.ledger import MARIADB, POSTGRES, engine
from lab.process import wait_until
from lab.proxy import CLIENT, SERVER, Proxy

CASES = 12 if os.environ.get("ONCEDROP_FAULTS") == "all" else 3

SETTLING = b"ROLLBACK" if engine() == POSTGRES else b"UPDATE copy SET feeds = CASE"    # in what is sent on the new connection
# The other's time limits are shorter: the first one must outlive a second try of it.
HASTY = ("-o", "delivery.deadline=12s", "-o", "delivery.hold_off=13s")


class Late:
    """A delivery to a full mailbox, between two proxies: its backend is ended when it is refused, and what it then
    sends on a new connection is held back until the other one has succeeded."""

    def __init__(self, bench):
        self.bench = bench
        self.case = bench.deliver(sent=False)
        self.account = self.case.inboxes[0]
        self.other = self.wrong = None
        dovecot = bench.site.lab.dovecot
        dovecot.add_account(self.account, quota=10)
        self.imap = Proxy(dovecot.port, self.watch_imap)
        database = pooler(bench.site.lab) if engine() == POSTGRES else bench.site.lab.mariadb
        self.database = Proxy(database.port, self.watch_database)

    def watch_imap(self, _connection, side, data):
        if side == SERVER and b"OVERQUOTA" in data:
            dovecot, first = self.bench.site.lab.dovecot, self.database.connections[0]
            dovecot.add_account(self.account)
            wait_until(self.is_held, "the claim is committed, and its lock held")
            self.end_backend()
            wait_until(lambda: first.ended[SERVER], "the connection is lost")
        return data

    def of_backend(self, select):
        """Only of this delivery: PgBouncer names a backend after the client it works for."""
        return self.bench.site.sql(f"SELECT {select} FROM pg_stat_activity JOIN oncedrop.copy"
                                   " ON application_name LIKE '%%[' || copy.pid || ']%%'"
                                   " WHERE account = %s AND usename = %s AND datname = current_database()",
                                   (self.account, lab_module.DELIVERY))

    def is_held(self):
        """The mailbox may refuse what the APPEND announces while the claim is still being committed."""
        if engine() == MARIADB:     # which gets the hold in one piece with the claim
            claimed = self.bench.site.sql("SELECT 1 FROM oncedrop.copy WHERE account = %s AND state = 'appending'", (self.account,))
            return claimed and [command for _, command in self.session()] == ["Sleep"]
        return [row.state for row in self.of_backend("pg_stat_activity.state")] == ["idle in transaction"]

    def end_backend(self):
        if engine() == POSTGRES:
            self.of_backend("pg_terminate_backend(pg_stat_activity.pid)")
            return
        for number, _ in self.session():
            self.bench.site.lab.mariadb.kill(number)

    def session(self):
        """Of this delivery with MariaDB: its number and what it does."""
        client = f"127.0.0.1:{self.database.connections[0].sockets[SERVER].getsockname()[1]}"
        return self.bench.site.sql("SELECT id, command FROM information_schema.processlist WHERE host = %s", (client,))

    def end_hold_off(self):
        """Of the first claim, as for a host with a shorter hold-off; otherwise the first would not live long enough."""
        self.bench.site.ledger.age(hours=1, state="appending", account=self.account)
        locks.expire(self.bench.site)

    def watch_database(self, connection, side, data):
        if side == CLIENT and connection.number == 2 and SETTLING in data and not self.other:
            self.other = self.case._replace(words=self.bench.with_options(self.case, *HASTY))
            self.end_hold_off()
            self.wrong = repeat(self.other, death.run(self.other.words, self.other.stdin))
        return data

    def run(self):
        conninfo = self.bench.conninfo(self.database.port)
        words = self.bench.with_options(self.case, *self.bench.by_port(self.imap.port), "-o",
                                        f"database.conninfo={conninfo}", *PATIENT)
        return death.run(words, self.case.stdin)

    def close(self):
        self.imap.close()
        self.database.close()


def try_late(bench, _number):
    late = Late(bench)
    try:
        first = late.run()
    finally:
        late.close()
    if not late.other or first.returncode != 75:
        return Wrong("other", f"its settling was not late: {first}")
    return late.wrong or repeat(late.case, death.run(late.case.words, late.case.stdin)) or look(bench, late.case)


def test_settling_after_another_has_taken_over(site, tally):
    bench = Bench(site)
    tally("server faults", CASES, run_points(lambda number: try_late(bench, number), range(CASES)))
    check_ledger(site)
