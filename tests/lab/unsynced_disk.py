# SPDX-License-Identifier: ISC
"""A disk that can lose its power at any moment: a FUSE file system in front of a directory keeps a journal of all that
is written, renamed and synced, and from it the directory is put together as a disk could have had it at any point of the
journal. Each folder at its top is a separate disk.

What a journalling file system such as ext4 promises counts. fsync(2) of a file makes durable what was written to it, and
all names, modes and sizes that were changed before on the same disk; nothing else is certain."""

import collections
import functools
import os
import pickle
import resource
import shutil
import stat
import subprocess
import sys
import tempfile

from .unsynced_disk_fuse import fuse

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unsynced_disk_fuse.py")
MARK = "/mark."         # a directory whose name begins so is a mark in the journal, and nothing else
HIDDEN = ".fuse_hidden"     # libfuse's name for a file that was removed while open
# How much a disk had done of what no fsync covered: nothing; names, modes and sizes; everything.
NOTHING, NAMES, EVERYTHING = LEVELS = ("synced", "names", "everything")

Record = collections.namedtuple("Record", "kind path arguments")


class Disks:
    """directory: where the file system is mounted, and where later a state is put. What is in it when start() is called
    is durable."""

    def __init__(self, directory):
        self.directory = directory
        self.base, self.backing, self.file = directory + ".base", directory + ".backing", directory + ".journal"
        self.process = None
        os.mkdir(directory, 0o755)

    def start(self):
        """From now on everything is written down."""
        os.rename(self.directory, self.base)
        os.mkdir(self.directory, 0o755)
        copy(self.base, self.backing)
        self.process = subprocess.Popen([sys.executable, "-B", PROGRAM, self.directory, self.backing, self.file],
                                        stderr=subprocess.DEVNULL)
        end = self.process.poll
        while not os.path.ismount(self.directory):
            if end() is not None:
                raise OSError(f"no FUSE file system: exit {end()}")

    def mark(self, text):
        """Into the journal: this much has happened."""
        os.mkdir(self.directory + MARK + text)

    def stop(self):
        """The end of the record."""
        if self.process:
            if os.path.ismount(self.directory):
                unmount(self.directory)
            self.process.wait()
            self.process = None

    def journal(self):
        records = []
        with open(self.file, "rb") as file:
            while True:
                try:
                    records.append(Record(*pickle.load(file)))
                except EOFError:
                    return records

    def put(self, records, level):
        """The disks as they can be after the power was cut behind these records."""
        for name in os.listdir(self.directory):
            shutil.rmtree(os.path.join(self.directory, name))
        copy(self.base, self.directory)
        Replay(self.directory, records, level).run()

    def close(self):
        self.stop()
        for path in (self.base, self.backing):
            shutil.rmtree(path, ignore_errors=True)


def fast_directory():
    """Where to make a copy for each state: in memory, if there is enough of it."""
    memory = "/dev/shm"
    if not os.access(memory, os.W_OK):
        return "/tmp"
    found = os.statvfs(memory)
    return memory if found.f_bavail * found.f_frsize > 1 << 30 else "/tmp"


def copy(old, new):
    subprocess.run(["cp", "-a", "--reflink=auto", "-T", old, new], check=True)


def unmount(directory):
    words = ["umount", "-l"] if os.getuid() == 0 else ["fusermount", "-u", "-z", "-q"]
    subprocess.run([*words, directory], check=True)


def disk(record):
    return record.path.split("/")[1]


class Replay:
    """Repeats those of the records that had reached the disk."""

    def __init__(self, directory, records, level):
        self.directory, self.records, self.level = directory, records, level
        self.handles = {}
        self.names_until = collections.Counter()     # of each disk: the number of its last fsync
        self.synced = {}                             # of each inode: the same
        for number, record in enumerate(records):
            if record.kind == "fsync":
                self.names_until[disk(record)] = number
                self.synced[record.arguments[0]] = number

    def run(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        try:
            for number, record in enumerate(self.records):
                if record.kind != "fsync" and not record.path.startswith(MARK) and self.has_reached(number, record):
                    self.repeat(record)
        finally:
            for handle in self.handles.values():
                os.close(handle)
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

    def has_reached(self, number, record):
        if self.level == EVERYTHING or record.kind == "open":
            return True
        if record.kind == "write":
            return self.synced.get(record.arguments[0], -1) > number
        return self.level == NAMES or self.names_until[disk(record)] > number

    def repeat(self, record):
        getattr(self, "repeat_" + record.kind)(self.directory + record.path, *record.arguments)

    def keep(self, inode, handle):
        if inode in self.handles:
            os.close(self.handles[inode])
        self.handles[inode] = handle

    def repeat_open(self, path, inode):
        if inode not in self.handles and os.path.exists(path):
            self.keep(inode, os.open(path, os.O_RDWR))

    def repeat_create(self, path, inode, mode, user, group):
        self.keep(inode, os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        own(path, mode, user, group)

    def repeat_write(self, _path, inode, offset, data):
        if inode in self.handles:
            os.pwrite(self.handles[inode], data, offset)

    def repeat_truncate(self, path, inode, length):
        os.truncate(self.handles.get(inode, path), length)

    def repeat_mkdir(self, path, mode, user, group):
        os.mkdir(path)
        own(path, mode, user, group)

    def repeat_mknod(self, path, mode, user, group):
        if stat.S_ISFIFO(mode) or stat.S_ISREG(mode):   # a socket is made again by its server
            os.mknod(path, mode)
            own(path, mode, user, group)

    def repeat_symlink(self, path, target, _user, _group):
        os.symlink(target, path)

    def repeat_link(self, path, source):
        os.link(self.directory + source, path)

    def repeat_rename(self, old, new):
        if os.path.basename(new).startswith(HIDDEN):
            self.repeat_unlink(old)
        elif os.path.lexists(old):
            os.rename(old, self.directory + new)

    def repeat_unlink(self, path):
        if os.path.lexists(path):
            os.unlink(path)

    def repeat_rmdir(self, path):
        os.rmdir(path)

    def repeat_chmod(self, path, mode):
        if os.path.lexists(path):
            os.chmod(path, stat.S_IMODE(mode))

    def repeat_chown(self, path, user, group):
        if os.path.lexists(path):
            os.lchown(path, user, group)

    def repeat_utime(self, path, times):
        if os.path.lexists(path):
            os.utime(path, ns=times, follow_symlinks=False)


def own(path, mode, user, group):
    if os.getuid() == 0:
        os.lchown(path, user, group)
    os.chmod(path, stat.S_IMODE(mode))


@functools.cache
def missing():
    """Why there can be no such file system; None if there can."""
    if fuse is None:
        return "python3-fusepy is not installed"
    with tempfile.TemporaryDirectory() as parent:
        disks = Disks(os.path.join(parent, "disks"))
        try:
            disks.start()
        except (OSError, subprocess.CalledProcessError):
            return "this user may not mount a FUSE file system here"
        finally:
            disks.close()
    return None
