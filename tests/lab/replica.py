# SPDX-License-Identifier: ISC
"""A streaming replica of a private PostgreSQL, which can be promoted."""

import os
import signal
import subprocess

from . import process
from .postgres import Postgres
from .proxy import Proxy

NAME = "replica"    # as synchronous_standby_names calls it


class Replica(Postgres):
    """Its stream goes through a proxy, so that it can be cut off from the primary."""

    name = "replica"

    def __init__(self, directory, primary):
        super().__init__(directory)
        self.primary, self.password = primary, primary.password
        self.settings = dict(primary.settings)
        self.stream = Proxy(primary.port)

    def initialise(self):
        """Users and their passwords come with the copy."""
        source = f"{self.conninfo('postgres', 'admin', self.password, self.stream.port)} application_name={NAME}"
        subprocess.run([self.program("pg_basebackup"), "-D", self.path("data"), "-d", source, "-R", "-X", "stream",
                        "-c", "fast", "--no-sync"], check=True, cwd="/", **process.run_as(self.user))

    def query(self, server, statement):
        session = server.connect("postgres")
        try:
            with session.cursor() as cursor:
                cursor.execute(statement)
                return cursor.fetchone()
        finally:
            session.close()

    def follow(self, synchronous):
        """Waits until it streams; from then on the primary's commits wait for it, or do not."""
        if synchronous:
            self.primary.admin(f"ALTER SYSTEM SET synchronous_standby_names = '{NAME}'")
            self.primary.admin("SELECT pg_reload_conf()")
        state = "sync" if synchronous else "async"
        process.wait_until(lambda: self.query(self.primary, "SELECT sync_state FROM pg_stat_replication") == (state,),
                           "the replica streams")

    def waiting(self):
        """How many commits wait for it on the primary."""
        return self.query(self.primary, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")[0]

    def promote(self):
        """Makes it the primary."""
        self.admin("SELECT pg_promote(true, 60)")
        process.wait_until(lambda: self.query(self, "SELECT pg_is_in_recovery()") == (False,), "it is promoted")

    def stop(self):
        self.stream.close()
        super().stop()


def kill(server):
    """All its processes at once, without a last word. Each backend has its own process group, and stopping the
    postmaster first keeps it from starting more."""
    os.kill(server.process.pid, signal.SIGSTOP)
    for pid in [*children(server.process.pid), server.process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    server.process.wait(60)
    process.wait_until(lambda: not process.accepts(server.port), "its port is closed")


def children(parent):
    with open(f"/proc/{parent}/task/{parent}/children", encoding="ascii") as file:
        return [int(pid) for pid in file.read().split()]
