# SPDX-License-Identifier: ISC
"""A Dovecot where one login opens everybody's mailboxes, by the sample in conf/dovecot."""

import os

from . import dovecot, dovecot_config

USER = "oncedrop"
SETTINGS = {"imap.user": USER, "imap.master_user": None, "imap.tls": "none", "route.inbox": "users/%{address}",
            "route.sent": "users/%{address}/Sent"}
REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# The lab's user owns all mail, and looks up whose it is.
LOOKUP = """
service auth {
  unix_listener auth-userdb {
    mode = 0666
  }
}
namespace inbox {
  separator = /
}
"""


def sample(directory, lookup=True):
    """The sample with its paths in this directory."""
    name = f"92-oncedrop-one-login-{'2.3' if dovecot_config.is_old() else '2.4'}.conf"
    with open(os.path.join(REPOSITORY, "conf", "dovecot", name), encoding="utf-8") as file:
        return (LOOKUP if lookup else "") + file.read().replace("/etc/dovecot/", f"{directory}/")


class Dovecot(dovecot.Dovecot):
    rights = "lrwsipk"

    def configuration(self, **values):
        self.write("oncedrop.acl", f"* user={USER} {self.rights}\n")
        return super().configuration(**values) + sample(self.directory).replace("lrwsipk", self.rights)

    def start(self):
        self.write(f"users/{USER}", f"{USER}:{self.password}::::::\n")
        # Where Dovecot looks for the mail of users who do not exist: otherwise the user it runs as could make their mailboxes.
        os.makedirs(self.path("run", "user-not-found"), 0o500, exist_ok=True)
        return super().start()
