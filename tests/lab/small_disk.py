# SPDX-License-Identifier: ISC
"""A small file system that a test can fill."""

import functools
import os
import subprocess
import tempfile


class SmallDisk:
    """Mounted on a directory, in memory; close() removes it."""

    def __init__(self, directory, size, user=None):
        """size: as for tmpfs ("2m"); user: the owner of its root, as in pwd."""
        self.directory = directory
        os.makedirs(directory, exist_ok=True)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", directory], check=True,
                       stderr=subprocess.PIPE)
        if user:
            os.chown(directory, user.pw_uid, user.pw_gid)

    def fill(self):
        with open(os.path.join(self.directory, "filler"), "wb", buffering=0) as file:
            try:
                while file.write(b"x" * 65536):
                    pass
            except OSError:
                pass

    def make_room(self):
        os.unlink(os.path.join(self.directory, "filler"))

    def close(self):
        subprocess.run(["umount", "-l", self.directory], check=True)    # a server may still use it as working directory


@functools.cache
def available():
    """Only root may mount, and not in every container."""
    if os.getuid() != 0:
        return False
    with tempfile.TemporaryDirectory() as directory:
        try:
            SmallDisk(directory, "64k").close()
        except (OSError, subprocess.CalledProcessError):
            return False
    return True
