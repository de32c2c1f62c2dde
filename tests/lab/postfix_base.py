# SPDX-License-Identifier: ISC
"""What our own Postfix needs in addition to the files in conf/postfix: its settings, services and directories."""

import functools
import grp
import os
import pwd
import subprocess

from . import process

# What any Postfix needs to run alone on 127.0.0.1, separate from the system's.
MAIN_CF = """
compatibility_level = 3.6
config_directory = {directory}/etc
queue_directory = {directory}/queue
data_directory = {directory}/data
command_directory = {command_directory}
daemon_directory = {daemon_directory}
maillog_file = {directory}/log
maillog_file_prefixes = {directory}
multi_instance_enable = no
mail_owner = {mail_owner}
setgid_group = {setgid_group}
myhostname = postfix.test
mydomain = test
myorigin = {domain}
mynetworks = 127.0.0.0/8
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
disable_dns_lookups = yes
smtp_host_lookup = native
smtpd_peername_lookup = no
smtpd_authorized_xclient_hosts = 127.0.0.1
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_client_connection_count_limit = 0
alias_maps =
alias_database =
forward_path =
biff = no
default_transport = outside
relay_transport = outside
notify_classes =
message_size_limit = 104857600
mailbox_size_limit = 0
minimal_backoff_time = 300s
queue_minfree = 0
"""

MASTER_CF = """
postlog unix-dgram n - n - 1 postlogd
127.0.0.1:{port} inet n - n - - smtpd
pickup unix n - n 60 1 pickup
cleanup unix n - n - 0 cleanup
qmgr unix n - n 300 1 qmgr
tlsmgr unix - - n 1000? 1 tlsmgr
rewrite unix - - n - - trivial-rewrite
bounce unix - - n - 0 bounce
defer unix - - n - 0 bounce
trace unix - - n - 0 bounce
flush unix n - n 1000? 0 flush
proxymap unix - - n - - proxymap
showq unix n - n - - showq
error unix - - n - - error
retry unix - - n - - error
discard unix - - n - - discard
anvil unix - - n - 1 anvil
scache unix - - n - 1 scache
verify unix - - n - 1 verify
outside unix - n n - - pipe
  flags=Rq null_sender= user={user} argv={dd} bs=64k of={directory}/outside/${{queue_id}}.${{recipient}}
"""


@functools.cache
def postconf(name):
    """How the installed Postfix was built."""
    return subprocess.run([process.find_program("postconf"), "-dh", name], check=True, capture_output=True,
                          text=True).stdout.strip()


def make_directories(**roots):
    """What `postfix check' creates for a new instance, from the same list, only faster."""
    owners = {"root": 0, "$mail_owner": pwd.getpwnam(postconf("mail_owner")).pw_uid}
    groups = {"-": -1, "$setgid_group": grp.getgrnam(postconf("setgid_group")).gr_gid}
    with open(os.path.join(postconf("meta_directory"), "postfix-files"), encoding="ascii") as file:
        entries = [line.strip().split(":") for line in file if line.startswith(("$queue_directory", "$data_directory"))]
    for name, kind, owner, group, mode, *_ in entries:
        root, _, rest = name[1:].partition("/")
        if kind == "d":
            path = os.path.join(roots[root], rest)
            os.makedirs(path, exist_ok=True)
            os.chown(path, owners[owner], groups[group])
            os.chmod(path, int(mode, 8))
