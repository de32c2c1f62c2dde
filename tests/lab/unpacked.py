# SPDX-License-Identifier: ISC
"""Servers that tests/unpack-servers has unpacked in a directory, since they cannot be installed beside Dovecot."""

import glob
import os

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Unpacked:
    """The programs and libraries of one server."""

    def __init__(self, name):
        self.name = name
        directory = os.environ.get("ONCEDROP_SERVERS") or os.path.join(REPOSITORY, "build", "servers")
        self.root = os.path.join(os.path.abspath(directory), name, "root")

    def missing(self):
        """Why it cannot be started here, or None."""
        if os.path.isdir(self.root):
            return None
        return f"{self.name} is not there: run tests/unpack-servers, which needs Debian's packages"

    def path(self, name):
        """A file of one of its packages, which is here, or in the system if that package is installed."""
        for place in (self.root + name, name):
            if os.path.exists(place):
                return place
        raise FileNotFoundError(f"{name} is neither in {self.root} nor installed")

    def environment(self, **more):
        """For its programs: where its libraries are."""
        libraries = glob.glob(f"{self.root}/usr/lib/*-linux-gnu*") + [f"{self.root}/usr/lib", f"{self.root}/usr/lib/courier-authlib"]
        return {"PATH": os.environ.get("PATH", os.defpath), "LD_LIBRARY_PATH": ":".join(libraries), **more}

    def version(self):
        """Of its main package, such as 3.6.1."""
        with open(os.path.join(os.path.dirname(self.root), "files"), encoding="ascii") as file:
            names = file.read().split()
        main = next(name for name in names if name.startswith(f"{self.name}-imap"))
        return main.split("_")[1].split("+")[0].split("-")[0]
