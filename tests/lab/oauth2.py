# SPDX-License-Identifier: ISC
"""A Dovecot that takes bearer tokens (XOAUTH2 and OAUTHBEARER): JSON Web Tokens (RFC 7519), signed with a key it shares."""

import base64
import hashlib
import hmac
import imaplib
import json
import os
import secrets

from . import dovecot, dovecot_config

MECHANISMS_2_3 = """
auth_mechanisms = plain login xoauth2 oauthbearer
passdb {{
  driver = oauth2
  mechanisms = xoauth2 oauthbearer
  args = {directory}/oauth2.conf
}}
"""

SETTINGS_2_3 = """introspection_mode = local
username_attribute = sub
local_validation_key_dict = fs:posix:prefix={directory}/keys/
"""

MECHANISMS_2_4 = """
auth_mechanisms = plain login xoauth2 oauthbearer
oauth2 {{
  introspection_mode = local
  username_attribute = sub
  oauth2_local_validation {{
    dict fs {{
      fs posix {{
        prefix = {directory}/keys/
      }}
    }}
  }}
}}
"""


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


class Dovecot(dovecot.Dovecot):
    def __init__(self, directory, certificate, **more):
        super().__init__(directory, certificate, **more)
        self.key = secrets.token_bytes(32)
        os.makedirs(self.path("keys/default/HS256"))
        self.write("keys/default/HS256/default", base64.b64encode(self.key).decode())
        self.write("oauth2.conf", SETTINGS_2_3.format(directory=self.directory))

    def configuration(self, **values):
        more = MECHANISMS_2_3 if dovecot_config.is_old() else MECHANISMS_2_4
        return super().configuration(**values) + more.format(directory=self.directory)

    def token(self, account, expires):
        """What logs in as this account until then: seconds since 1970."""
        parts = [encoded(json.dumps(part).encode()) for part in
                 ({"typ": "JWT", "alg": "HS256"}, {"sub": account, "iat": int(expires) - 3600, "exp": int(expires)})]
        signature = hmac.new(self.key, b".".join(parts), hashlib.sha256).digest()
        return b".".join([*parts, encoded(signature)]).decode()

    def takes(self, account, token):
        """Whether it lets this account in with the token now: by its own clock, which it need not look at every second."""
        with imaplib.IMAP4("127.0.0.1", self.port) as session:
            try:
                session.authenticate("XOAUTH2", lambda challenge: b"" if challenge else
                                     f"user={account}\1auth=Bearer {token}\1\1".encode())
                return True
            except imaplib.IMAP4.error:
                return False
