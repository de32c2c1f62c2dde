# SPDX-License-Identifier: ISC
"""Several machines in network namespaces, each with a cable to one switch. The namespaces are held open by processes, and
disappear with them. For root only."""

import contextlib
import functools
import os
import signal
import subprocess

from . import process

CLONE_NEWNET = 0x40000000
NETWORK = "10.77.0."


def ip(*words, machine=None):
    """Runs ip(8), on one of the machines."""
    inside = [process.find_program("nsenter"), f"--net=/proc/{machine.holder.pid}/ns/net"] if machine else []
    subprocess.run([*inside, process.find_program("ip"), *words], check=True, capture_output=True)


def die_with_parent():
    process.LIBC.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)


class Machine:
    """A network namespace. number: the last of its address; None: the switch, which has none."""

    def __init__(self, number=None):
        self.address = f"{NETWORK}{number}"
        self.holder = subprocess.Popen([process.find_program("unshare"), "--net", "sleep", "infinity"],
                                       preexec_fn=die_with_parent)
        ours = os.stat("/proc/self/ns/net").st_ino
        process.wait_until(lambda: os.stat(f"/proc/{self.holder.pid}/ns/net").st_ino != ours, "a namespace")
        ip("link", "set", "lo", "up", machine=self)

    @contextlib.contextmanager
    def inside(self):
        """What this thread connects to or starts meanwhile is on this machine, threads included."""
        with open("/proc/thread-self/ns/net", "rb") as back, open(f"/proc/{self.holder.pid}/ns/net", "rb") as there:
            enter(there)
            try:
                yield
            finally:
                enter(back)

    def close(self):
        self.holder.kill()
        self.holder.wait()


def enter(namespace):
    if process.LIBC.setns(namespace.fileno(), CLONE_NEWNET) != 0:
        raise OSError("setns(2) failed")


class Network:
    def __init__(self):
        self.machines = {}
        self.switch = Machine()
        ip("link", "add", "switch", "type", "bridge", machine=self.switch)
        ip("link", "set", "switch", "up", machine=self.switch)

    def add(self, name):
        """A new machine, with its cable plugged in."""
        number = len(self.machines) + 1
        machine = self.machines[name] = Machine(number)
        machine.port = f"port{number}"
        ip("link", "add", machine.port, "type", "veth", "peer", "name", "eth0", "netns", str(machine.holder.pid),
           machine=self.switch)
        ip("link", "set", machine.port, "master", "switch", "up", machine=self.switch)
        ip("address", "add", f"{machine.address}/24", "dev", "eth0", machine=machine)
        ip("link", "set", "eth0", "up", machine=machine)
        return machine

    def pull(self, machine):
        """Nothing arrives from it any more, nor at it; no peer notices."""
        ip("link", "set", machine.port, "down", machine=self.switch)

    def plug(self, machine):
        ip("link", "set", machine.port, "up", machine=self.switch)

    def close(self):
        for machine in [*self.machines.values(), self.switch]:
            machine.close()


@functools.cache
def missing():
    """Why there can be no such network; None if there can."""
    if os.getuid() != 0:
        return "not root"
    try:
        process.find_program("ip")
    except FileNotFoundError as error:
        return str(error)
    try:
        network = Network()
    except (OSError, TimeoutError, subprocess.CalledProcessError):
        return "no network namespaces, bridges or veth devices here"
    try:
        network.add("probe")
    except (OSError, TimeoutError, subprocess.CalledProcessError):
        return "no veth devices here"
    finally:
        network.close()
    return None
