# SPDX-License-Identifier: ISC
"""What the private servers of SQL have in common: an end and a restart on the same port, and the administrator's sessions."""

import collections
import contextlib
import itertools
import os
import subprocess

from . import process


class DatabaseServer(process.Server):
    errors = ()     # of its Python module

    def __init__(self, directory, user):
        super().__init__(directory)
        self.user = user
        self.port = None
        self.settings = {}      # in place of those of launch()
        self.counter = itertools.count(1)
        self.idle = collections.defaultdict(list)   # the administrator's sessions, by database
        os.chown(self.directory, user.pw_uid, user.pw_gid)

    def connect(self, database):
        raise NotImplementedError

    def still_exists(self, session):
        """A server says something when it ends an idle session."""
        raise NotImplementedError

    def new_name(self):
        """Of a database. All have the same length, so that one can replace another in a packet."""
        return f"db{next(self.counter):06}"

    @contextlib.contextmanager
    def session(self, database):
        """A session of the administrator's, which is kept for the next who asks for one: its start takes longer than most that
        is asked of it. No test may say SET in it."""
        session = self.take_idle(database) or self.connect(database)
        try:
            yield session
        finally:
            self.idle[database].append(session)

    def take_idle(self, database):
        """One that still exists, or None. Several threads may ask at once, so nothing lies between a look and a pop."""
        while True:
            try:
                session = self.idle[database].pop()
            except IndexError:
                return None
            if self.still_exists(session):
                return session
            self.close(session)

    def close(self, session):
        with contextlib.suppress(*self.errors):
            session.close()

    def forget(self, database):
        """Ends the administrator's idle sessions, before others may not find any."""
        for session in self.idle.pop(database, []):
            self.close(session)

    def end(self, stop_signal):
        """Ends it, and keeps everything for launch()."""
        for database in list(self.idle):
            self.forget(database)
        self.process.send_signal(stop_signal)
        try:
            self.process.wait(120)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.name} does not end:\n{self.new_log()[-4000:]}") from None

    def restart(self, stop_signal):
        """Restarts it on the same port; returns when it answers."""
        self.end(stop_signal)
        self.launch()
        process.wait_until(self.is_up, f"{self.name} answers again")
