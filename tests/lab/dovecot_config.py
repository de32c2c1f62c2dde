# SPDX-License-Identifier: ISC
"""The two configuration languages of Dovecot: that of 2.3 and that of 2.4."""

import functools
import re
import subprocess

from . import process

COMMON = """
base_dir = {directory}/run
state_dir = {directory}/state
instance_name = oncedrop-tests
log_path = {directory}/log
listen = 127.0.0.1
ssl = yes
auth_mechanisms = plain login
auth_failure_delay = 0
auth_cache_size = 0
mail_fsync = never
{sessions}
default_process_limit = 400
{rootless}
service imap-login {{
  {many_logins}
  inet_listener imap {{
    port = {port}
  }}
  inet_listener imaps {{
    port = {tls_port}
    ssl = yes
  }}
}}
service anvil {{
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
# It keeps 10 KiB for each account it has seen.
service auth {{
  vsz_limit = 4G
  unix_listener {directory}/auth {{
    mode = 0666
  }}
}}
namespace inbox {{
  inbox = yes
  mailbox {special_sent} {{
    special_use = \\Sent
  }}
}}
{master}
"""

# What differs between the two is below; the master user comes before all others.
MASTER_2_3 = """
passdb {{
  driver = passwd-file
  master = yes
  args = scheme=plain username_format=%u {directory}/masters
}}
"""

DOVECOT_2_3 = COMMON + """
protocols = imap
ssl_cert = <{certificate}
ssl_key = <{key}
mail_location = {driver}:{path}
mail_plugins = quota
passdb {{
  driver = passwd-file
  args = scheme=plain username_format=%u {directory}/users/%u
}}
userdb {{
  driver = passwd-file
  args = username_format=%u {directory}/users/%u
  default_fields = uid={uid} gid={gid} home={directory}/mail/%u
}}
plugin {{
  quota = count:User quota
  quota_vsizes = yes
}}
protocol imap {{
  mail_plugins = $mail_plugins imap_quota
}}
"""

MASTER_2_4 = """
passdb masters {{
  driver = passwd-file
  master = yes
  default_password_scheme = plain
  auth_username_format = %{{user}}
  passwd_file_path = {directory}/masters
}}
"""

# Both versions must be the first settings. storage_grace would let a mailbox exceed its quota by 10 MB.
DOVECOT_2_4 = """dovecot_config_version = 2.4.0
dovecot_storage_version = 2.4.0
""" + COMMON + """
protocols {{
  imap = yes
}}
ssl_server_cert_file = {certificate}
ssl_server_key_file = {key}
mail_driver = {driver}
mail_path = {path}
mail_plugins {{
  quota = yes
}}
passdb users {{
  driver = passwd-file
  default_password_scheme = plain
  auth_username_format = %{{user}}
  passwd_file_path = {directory}/users/%{{user}}
}}
userdb users {{
  driver = passwd-file
  auth_username_format = %{{user}}
  passwd_file_path = {directory}/users/%{{user}}
  fields {{
    uid:default = {uid}
    gid:default = {gid}
    home:default = {directory}/mail/%{{user}}
  }}
}}
quota user {{
  driver = count
  storage_grace = 0
}}
protocol imap {{
  mail_plugins {{
    imap_quota = yes
  }}
}}
"""

# Without root there is no other user to run as, and chroot(2) is refused.
ROOTLESS = """
default_internal_user = {user}
default_login_user = {user}
default_internal_group = {group}
service anvil {{
  chroot =
}}
service imap-login {{
  chroot =
}}
service stats {{
  chroot =
}}
"""


@functools.cache
def version():
    """Such as (2, 3)."""
    words = subprocess.run([process.find_program("dovecot"), "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", words).groups()))


def is_old():
    return version() < (2, 4)


def example():
    """The name of the sample in conf/dovecot for this version."""
    return "90-oncedrop-2.3.conf" if is_old() else "90-oncedrop-2.4.conf"


def configuration(location, user=None, group=None, master=None, sessions=1000, many_logins=True, **values):
    """The text of dovecot.conf.

    location    "DRIVER:PATH" of the mailboxes
    user, group names to run as without root; None: with root
    master      text that says who the master users are, in place of ours
    sessions    of one user from one address; None: what stands elsewhere
    many_logins by one process, as in conf/dovecot: starting one for each takes long
    """
    driver, path = location.split(":", 1)
    limit = f"mail_max_userip_connections = {sessions}" if sessions else ""
    rootless = ROOTLESS.format(user=user, group=group) if user else ""
    if many_logins:
        values["many_logins"] = "service_count = 0" if is_old() else "restart_request_count = unlimited"
    else:
        values["many_logins"] = ""
    if master is None:
        master = (MASTER_2_3 if is_old() else MASTER_2_4).format(**values)
    return (DOVECOT_2_3 if is_old() else DOVECOT_2_4).format(
        driver=driver, path=path, rootless=rootless, master=master, sessions=limit, **values)


def user_fields(quota=None, location=None, home=None):
    """Extra fields of a user. quota: bytes; location: "DRIVER:PATH". 2.4 silently ignores a field of 2.3."""
    fields = {}
    if home is not None:
        fields["home"] = home
    if location is not None and is_old():
        fields["mail"] = location
    elif location is not None:
        fields["mail_driver"], fields["mail_path"] = location.split(":", 1)
    if quota is not None and is_old():
        fields["quota_rule"] = f"*:bytes={quota}"
    elif quota is not None:
        fields["quota_storage_size"] = f"{quota}B"
    return " ".join(f"userdb_{name}={value}" for name, value in fields.items())


# Parts to add. Mailboxes below INBOX, as with Courier, or Cyrus without altnamespace.
PREFIX = """
namespace inbox {
  prefix = INBOX.
  separator = .
}
"""

ACL_2_3 = """
mail_plugins = $mail_plugins acl
protocol imap {{
  mail_plugins = $mail_plugins acl imap_acl
}}
plugin {{
  acl = vfile
  {acl_user}
}}
"""

ACL_2_4 = """
mail_plugins {{
  acl = yes
}}
protocol imap {{
  mail_plugins {{
    imap_acl = yes
  }}
}}
acl_driver = vfile
{acl_user}
"""


def acl(owner):
    """The ACL plugin. owner: a master user has the rights of the account; else none."""
    setting = "acl_user = " + ("%u" if is_old() else "%{user}") if owner else ""
    return (ACL_2_3 if is_old() else ACL_2_4).format(acl_user=setting)
