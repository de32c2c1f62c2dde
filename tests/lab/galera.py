# SPDX-License-Identifier: ISC
"""A private Galera cluster of two MariaDB nodes on 127.0.0.1. The first node has the majority by itself: it goes on when the
second is killed or cut off, which then refuses all statements."""

import os
import re
import shutil
import signal
import subprocess

import pymysql

from . import process
from .mariadb import MariaDB

PROVIDER = "/usr/lib/galera/libgalera_smm.so"
SST = "wsrep_sst_rsync"     # comes with mariadb-server; a node that was away is given what it has missed through it
# How long a node is missed before the others go on without it: long enough for a busy machine.
PATIENCE = "evs.keepalive_period=PT0.5S;evs.inactive_check_period=PT0.5S;evs.suspect_timeout=PT3S;evs.inactive_timeout=PT6S"


def missing():
    """Why there can be no cluster, or None."""
    if not os.path.exists(PROVIDER):
        return "Galera's library is not there: tests/install-packages hosts"
    if shutil.which(SST) is None or shutil.which("rsync") is None:
        return f"{SST} is not there: tests/install-packages hosts"
    return None


class Node(MariaDB):
    def __init__(self, directory, name, weight, first=None):
        """first: the node that it joins; None: it begins the cluster."""
        self.name = name
        super().__init__(directory)
        self.first = first
        self.group_port = process.free_port()
        own = f"127.0.0.1:{self.group_port}"
        options = {"gmcast.listen_addr": f"tcp://{own}", "ist.recv_addr": f"127.0.0.1:{process.free_port()}",
                   "pc.weight": weight, "gcache.size": "16M"}
        self.settings = {
            "wsrep-on": "ON",
            "wsrep-provider": PROVIDER,
            "wsrep-cluster-name": "oncedrop-tests",
            "wsrep-node-name": name,
            "wsrep-node-address": own,
            "wsrep-sst-method": "rsync",
            "wsrep-sst-receive-address": f"127.0.0.1:{process.free_port()}",
            "wsrep-provider-options": ";".join([PATIENCE, *(f"{key}={value}" for key, value in options.items())]),
            "binlog-format": "ROW",
            "innodb-autoinc-lock-mode": "2",
        }
        if first is not None:
            self.password = first.password

    def launch(self):
        peers = f"127.0.0.1:{self.first.group_port}" if self.first is not None else ""
        self.settings["wsrep-cluster-address"] = f"gcomm://{peers}"
        super().launch()

    def recover(self):
        """After a crash it needs the position of its data, as galera_recovery(1) does."""
        log = self.path("recovery")
        with open(log, "wb") as file:
            subprocess.run([*self.command(), "--wsrep-recover"], stdout=file, stderr=file, check=True, cwd="/",
                           **process.run_as(self.user))
        with open(log, encoding="utf-8", errors="replace") as file:
            position = re.findall(r"Recovered position: (\S+)", file.read())[-1]
        self.settings["wsrep-start-position"] = position

    def status(self, name):
        return dict(self.admin("SHOW GLOBAL STATUS LIKE 'wsrep_%%'", ())).get(name)

    def answers(self):
        """Whether it takes statements."""
        try:
            return self.status("wsrep_ready") == "ON"
        except pymysql.Error:
            return False

    def kill(self):     # pylint: disable=arguments-differ
        """Without a last word."""
        for database in list(self.idle):
            self.forget(database)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(60)

    def come_back(self):
        """After a kill: with what it has missed."""
        self.recover()
        self.launch()
        process.wait_until(self.is_up, "the node is back")

    def cut_off(self, off=True):
        """It hears nothing of the others, and they hear nothing of it; or no longer so."""
        self.admin(f"SET GLOBAL wsrep_provider_options = 'gmcast.isolate={int(off)}'")


class Cluster:
    """Two nodes with the same rows."""

    def __init__(self, lab):
        directory = lab.new_directory("galera", 0o711)
        self.lab = lab
        self.first = lab.start(Node(directory, "node1", 2))
        self.first.end(self.first.stop_signal)      # to be copied, which is faster than what nodes do
        self.second = Node(directory, "node2", 1, self.first)
        for name in ("data", "init.sql", "tmp"):
            subprocess.run(["cp", "-a", self.first.path(name), self.second.path(name)], check=True)
        self.first.launch()
        process.wait_until(self.first.is_up, "the first node is up again")
        lab.start(self.second)
        self.wait_for(2)

    @property
    def nodes(self):
        return self.first, self.second

    def wait_for(self, size):
        """Until the first node has this many in its cluster."""
        process.wait_until(lambda: self.first.status("wsrep_cluster_size") == str(size), f"the cluster has {size} nodes")
