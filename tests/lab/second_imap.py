# SPDX-License-Identifier: ISC
"""A second IMAP server, [imap south], which has the accounts whose names begin with s: a Dovecot that takes a token for each of
them, which imap.password_command prints."""

import os
import time

from . import oauth2

# The path of a token is in $1.
COMMAND = '#!/bin/sh\ncat "$1"\n'
FORGETFUL_COMMAND = '#!/bin/sh\n[ $(($$ % 3)) -ne 0 ] || old=.old\ncat "$1$old"\n'
ROUTE = ("SELECT lower($1), NULL, NULL, CASE WHEN $1 LIKE 's%' THEN 'south' ELSE '' END"
         " FROM (SELECT 1 AS one) AS row_of_one WHERE $1 LIKE '%@example.org'")


def has(account):
    return account.startswith("s")


class SecondImap(oauth2.Dovecot):
    def __init__(self, lab, forgetful=False):
        """forgetful: every third time the command prints the token from before the last renewal."""
        super().__init__(lab.new_directory("south", 0o755), lab.certificate, special_sent="Gesendet")
        self.tokens = lab.new_directory("tokens")
        self.command = self.write("command", FORGETFUL_COMMAND if forgetful else COMMAND, 0o755)

    def configuration(self, **values):
        return super().configuration(**values) + "auth_verbose = yes\n"     # for count_refused

    def settings(self, port, auth="oauthbearer"):
        return {"route.account_query": ROUTE, "imap south.port": port, "imap south.master_user": "", "imap south.auth": auth,
                "imap south.password_command": f"{self.command} {self.tokens}/%{{user}}"}

    def renew(self, accounts, seconds):
        """New tokens, for this long."""
        for account in accounts:
            path = os.path.join(self.tokens, account)
            if os.path.exists(path):
                os.rename(path, f"{path}.old")
            with open(f"{path}.new", "w", encoding="ascii") as file:
                file.write(self.token(account, time.time() + seconds))
            os.rename(file.name, path)

    def count_refused(self):
        return self.log().count("Token has expired")
