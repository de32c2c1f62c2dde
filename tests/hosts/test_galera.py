# SPDX-License-Identifier: ISC
"""Two nodes of a Galera cluster: what lock.method = lease relies on, and why the other methods are refused there, as plain SQL.

Each fact has been seen to be none: with both sessions on one node, where locks of both kinds exclude, the second of two
writers waits, and locked tables are locked; without wsrep_sync_wait, by a read on the second node that did not see what the first
had committed; and with wsrep_on off, where a race has two winners, a node that is cut off commits, and what one node has
committed is gone with it."""

import collections
import contextlib
import threading

import pymysql
import pytest
from lab import galera
from lab.process import wait_until

pytestmark = [pytest.mark.mariadb, pytest.mark.skipif(galera.missing() is not None, reason=str(galera.missing()))]

DEADLOCK, NOT_PREPARED, LOCK_TIMEOUT = 1213, 1047, 1205     # ER_LOCK_DEADLOCK, ER_UNKNOWN_COM_ERROR, ER_LOCK_WAIT_TIMEOUT
RACES = 50


@pytest.fixture(scope="module")
def cluster(lab):
    return galera.Cluster(lab)


class Session:
    """Of one node; what a statement does is how many rows it found or changed, or the number of its error."""

    def __init__(self, node, database):
        self.connection = node.connect(database)
        self.rows = ()
        self("SET SESSION wsrep_sync_wait = 1")

    def __call__(self, query, *parameters):
        try:
            with self.connection.cursor() as cursor:
                count = cursor.execute(query, parameters or None)
                self.rows = cursor.fetchall()
                return count
        except pymysql.Error as error:
            return -error.args[0]

    def value(self, query):
        assert self(query) == 1, query
        return self.rows[0][0]

    def close(self):
        with contextlib.suppress(pymysql.Error):
            self.connection.close()


@pytest.fixture
def two(cluster):
    """A session on each node, and rows 1 to RACES without an owner."""
    database = cluster.first.new_name()
    cluster.first.admin(f"CREATE DATABASE {database}")
    cluster.first.admin(f"CREATE TABLE {database}.held (number INT PRIMARY KEY, owner INT NOT NULL)")
    cluster.first.admin(f"INSERT INTO {database}.held SELECT seq, 0 FROM seq_1_to_{RACES}", database=database)
    sessions = [Session(node, database) for node in cluster.nodes]
    assert sessions[1].value("SELECT count(*) FROM held") == RACES
    yield sessions
    for session in sessions:
        session.close()
    cluster.first.admin(f"DROP DATABASE {database}")


def at_once(sessions, work, turned=False):
    """What work(session, number) gives with numbers 1, 2, ..., all of them begun together. The thread that comes to the gate
    last has not to wait for the processor, and so is ahead on a busy machine: the last session's, or turned the first one's."""
    gate, found = threading.Barrier(len(sessions)), {}

    def run(number, session):
        gate.wait()
        found[number] = work(session, number)
    threads = [threading.Thread(target=run, args=item) for item in enumerate(sessions, 1)]
    for thread in reversed(threads) if turned else threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [found[number] for number, _ in enumerate(sessions, 1)]


def test_both_nodes_grant_the_same_named_lock(two):
    assert [session.value("SELECT get_lock('oncedrop.1', 0)") for session in two] == [1, 1]
    assert all(session.value("SELECT is_used_lock('oncedrop.1') = connection_id()") for session in two)


def test_both_nodes_lock_the_same_row(two):
    for session in two:
        session("BEGIN")
    assert [session("SELECT number FROM held WHERE number = 1 FOR UPDATE SKIP LOCKED") for session in two] == [1, 1]
    assert [session("COMMIT") for session in two] == [0, 0]


def test_of_two_owners_the_second_cannot_commit(two):
    for number, session in enumerate(two, 1):
        session("BEGIN")
        assert session("UPDATE held SET owner = %s WHERE number = 1 AND owner = 0", number) == 1
    assert [session("COMMIT") for session in two] == [0, -DEADLOCK]
    assert [session.value("SELECT owner FROM held WHERE number = 1") for session in two] == [1, 1]


def test_of_two_new_rows_the_second_cannot_be_committed(two):
    for number, session in enumerate(two, 1):
        session("BEGIN")
        assert session("INSERT INTO held VALUES (0, %s)", number) == 1
    assert [session("COMMIT") for session in two] == [0, -DEADLOCK]
    assert [session.value("SELECT owner FROM held WHERE number = 0") for session in two] == [1, 1]


def test_whoever_is_too_late_may_hear_of_it_earlier(two):
    """By any statement that comes next, and that ends the transaction: the one after it would be in none."""
    first, second = two
    for number, session in enumerate(two, 1):
        session("BEGIN")
        session("UPDATE held SET owner = %s WHERE number = 1 AND owner = 0", number)
    assert first("COMMIT") == 0
    wait_until(lambda: second("SELECT 1") == -DEADLOCK, "it hears of it", 60)
    assert second("UPDATE held SET owner = 3 WHERE number = 1 AND owner = 1") == 1
    assert second("ROLLBACK") == 0
    assert first.value("SELECT owner FROM held WHERE number = 1") == 3


def transaction(number_of_row):
    def work(session, number):
        session("BEGIN")
        count = session("UPDATE held SET owner = %s WHERE number = %s AND owner = 0", number, number_of_row)
        committed = session("COMMIT")
        session("ROLLBACK")
        return count == 1 and committed == 0
    return work


def by_itself(number_of_row):
    return lambda session, number: session("UPDATE held SET owner = %s WHERE number = %s AND owner = 0", number, number_of_row) == 1


@pytest.mark.parametrize("way", [transaction, by_itself])
def test_a_race_has_one_winner(two, way):
    wins = collections.Counter()
    for row in range(1, RACES + 1):
        won = at_once(two, way(row), row % 2 == 1)
        assert sum(won) == 1, won
        winner = won.index(True) + 1
        assert [session.value(f"SELECT owner FROM held WHERE number = {row}") for session in two] == [winner, winner]
        wins[winner] += 1
    assert len(wins) == 2, f"they hardly met: {wins}"


@pytest.mark.parametrize("begin,end", [(None, None), ("START TRANSACTION READ WRITE", "COMMIT")], ids=["by itself", "in a transaction"])
def test_a_read_that_waits_sees_what_the_other_node_has_committed(two, begin, end):
    """In a transaction it is the transaction's beginning that waits."""
    first, second = two
    second("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    for number in range(1, 200):
        assert first("UPDATE held SET owner = %s WHERE number = 1", number) == 1
        assert begin is None or second(begin) == 0
        assert second.value("SELECT owner FROM held WHERE number = 1") == number
        assert end is None or second(end) == 0


def test_locked_tables_hold_up_whoever_writes_by_their_node_and_nobody_else(cluster, two):
    first, second = two
    assert second("LOCK TABLES held READ") == 0
    beside = Session(cluster.second, first.connection.db.decode())
    beside("SET SESSION lock_wait_timeout = 1, innodb_lock_wait_timeout = 1")
    assert beside("UPDATE held SET owner = 2 WHERE number = 1") == -LOCK_TIMEOUT
    beside.close()
    assert first("UPDATE held SET owner = 1 WHERE number = 1") == 1
    assert first.value("SELECT owner FROM held WHERE number = 1") == 1
    second("UNLOCK TABLES")


def test_a_node_that_is_cut_off_commits_nothing(cluster, two):
    first, second = two
    second("BEGIN")
    assert second("UPDATE held SET owner = 2 WHERE number = 1") == 1
    cluster.second.cut_off()
    try:
        assert second("COMMIT") < 0
        assert second("SELECT owner FROM held") == -NOT_PREPARED
        with pytest.raises(pymysql.Error) as refused:
            cluster.second.connect(None)
        assert refused.value.args[0] == NOT_PREPARED
        cluster.wait_for(1)
        assert first("UPDATE held SET owner = 1 WHERE number = 1 AND owner = 0") == 1
    finally:
        cluster.second.cut_off(False)
        cluster.wait_for(2)
        wait_until(cluster.second.answers, "the second node takes statements again")
    assert second.value("SELECT owner FROM held WHERE number = 1") == 1


def test_what_one_node_has_committed_outlives_it(cluster, two):
    first, second = two
    assert second("UPDATE held SET owner = 2 WHERE number = 1") == 1
    cluster.second.kill()
    try:
        assert first.value("SELECT owner FROM held WHERE number = 1") == 2
        assert first("UPDATE held SET owner = 1 WHERE number = 2") == 1
    finally:
        cluster.second.come_back()
        cluster.wait_for(2)
    second.close()
    two[1] = Session(cluster.second, first.connection.db.decode())
    assert two[1].value("SELECT owner FROM held WHERE number = 2") == 1
