# SPDX-License-Identifier: ISC
"""Servers that tests/unpack-servers has unpacked in a directory, since their packages conflict with Dovecot's."""

import glob
import os
import shutil
import stat

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def everybody_reaches(path):
    while path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        path = os.path.dirname(path)
    return True


class Unpacked:
    """The programs and libraries of one server."""

    def __init__(self, name):
        self.name = name
        directory = os.environ.get("ONCEDROP_SERVERS") or os.path.join(REPOSITORY, "build", "servers")
        self.place = os.path.join(os.path.abspath(directory), name)
        self.root = os.path.join(self.place, "root")

    def missing(self):
        """Why it cannot be started here, or None."""
        if os.path.isdir(self.root):
            return None
        return f"{self.name} is not there: run tests/unpack-servers, which needs Debian's packages"

    def be_reachable(self, directory):
        """As root: its processes run as another user, who might not reach a checkout below /root. If so, they run from
        this directory, which everybody can enter."""
        if os.getuid() != 0 or everybody_reaches(self.root):
            return
        copy = os.path.join(directory, f"{self.name}-programs")
        if not os.path.exists(copy):
            shutil.copytree(self.root, copy, symlinks=True)
        self.root = copy

    def path(self, name):
        """A file of one of its packages, which is here, or in the system if that package is installed."""
        for place in (self.root + name, name):
            if os.path.exists(place):
                return place
        raise FileNotFoundError(f"{name} is neither in {self.root} nor installed")

    def environment(self, **more):
        """For its programs: where its libraries are, and the plugins of one of them."""
        libraries = [*glob.glob(f"{self.root}/usr/lib/*-linux-gnu*"), f"{self.root}/usr/lib",
                     f"{self.root}/usr/lib/courier-authlib"]
        plugins = [path for place in (self.root, "") for path in glob.glob(f"{place}/usr/lib/*-linux-gnu*/sasl2")]
        return {"PATH": os.environ.get("PATH", os.defpath), "LD_LIBRARY_PATH": ":".join(libraries),
                "SASL_PATH": ":".join(plugins), **more}

    def version(self):
        """Of its main package, such as 3.6.1."""
        with open(os.path.join(self.place, "files"), encoding="ascii") as file:
            names = file.read().split()
        main = next(name for name in names if name.startswith(f"{self.name}-imap"))
        return main.split("_")[1].split("+")[0].split("-")[0]
