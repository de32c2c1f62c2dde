# SPDX-License-Identifier: ISC
"""A site whose ledger is a file that belongs to service.user, as on one host, regardless of the engine of other tests."""

import os
import pwd

from .ledger import SqliteLedger


class Embedded:
    """The program creates the ledger. user: service.user, who gets the files that deliveries read; None: the user who runs the
    tests."""

    def __init__(self, site, user=None):
        self.site = site
        self.user = pwd.getpwnam(user) if user else None
        self.directory = site.lab.new_directory("embedded")
        self.path = os.path.join(self.directory, "ledger.db")
        os.chmod(site.directory, 0o711)
        site.trusting = False
        site.settings.update({"database.conninfo": f"sqlite:{self.path}", "service.user": user or "",
                              "imap.tls": "none", "imap.port": site.lab.dovecot.port, "lock.wait": "5s",
                              "delivery.hold_off": "300s"})
        if self.user:
            os.chmod(self.directory, 0o750)
            os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
            self.give(site.password_file, self.user.pw_gid)

    @staticmethod
    def give(path, gid):
        os.chmod(path, 0o640)
        os.chown(path, 0, gid)

    def configuration(self, gid=None):
        """Its path; gid: of the group that may read it."""
        path = self.site.write("embedded.conf", self.site.configuration())
        if self.user or gid is not None:
            self.give(path, self.user.pw_gid if gid is None else gid)
        return path

    def run(self, *arguments, **more):
        return self.site.run(*arguments, config=False, options=["-c", self.configuration()], **more)

    def install(self):
        done = self.run("ledger", "install")
        assert done.exit == 0 and not done.err, done
        return self

    def files(self):
        """{name: os.stat_result} of the ledger and the files next to it."""
        return {name: os.stat(os.path.join(self.directory, name)) for name in sorted(os.listdir(self.directory))}

    def ledger(self):
        """A connection of the test's own: nothing of the program's may run while it is opened or closed."""
        return self.site.use(SqliteLedger(self.path))
