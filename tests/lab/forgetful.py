# SPDX-License-Identifier: ISC
"""A disk that can lose its power at any moment: a FUSE file system in front of a directory keeps a journal of all that
is written, renamed and synced, and from it the directory is put together as a disk could have had it at any point of the
journal. Each folder at its top is a disk of its own.

What a journalling file system such as ext4 promises counts: fsync(2) of a file makes durable what was written to it, and
all names, modes and sizes that were changed before on the same disk; nothing else is certain.

Run as a program it is the file system itself:  forgetful.py MOUNT DIRECTORY JOURNAL"""

import collections
import errno
import functools
import os
import pickle
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

try:
    import fusepy as fuse       # Debian's name for it
except ImportError:
    try:
        import fuse
    except (ImportError, OSError):
        fuse = None
except OSError:                 # without its library
    fuse = None

MARK = "/mark."         # a directory whose name begins so is a mark in the journal, and nothing else
HIDDEN = ".fuse_hidden"     # libfuse's name for a file that was removed while open
# How much a disk had done of what nobody had waited for: nothing; names, modes and sizes; everything.
NOTHING, NAMES, EVERYTHING = LEVELS = ("synced", "names", "everything")

Record = collections.namedtuple("Record", "kind path arguments")


class FileSystem(fuse.Operations if fuse else object):
    """Passes everything on, and writes down what changes. One request at a time: their order is that of the journal."""

    use_ns = True

    def __init__(self, directory, journal):
        self.directory = directory
        self.journal = open(journal, "wb", buffering=0)
        os.umask(0)

    def __call__(self, operation, *arguments):
        if not hasattr(self, operation):
            raise fuse.FuseOSError(errno.ENOSYS)
        return getattr(self, operation)(*arguments)

    def note(self, kind, path, *arguments):
        self.journal.write(pickle.dumps((kind, path, arguments)))

    def at(self, path):
        return self.directory + path

    def owner(self, path):
        """Of what the caller makes there; gives it to him."""
        user, group, _ = fuse.fuse_get_context()
        parent = os.lstat(self.at(os.path.dirname(path)))
        if parent.st_mode & stat.S_ISGID:
            group = parent.st_gid
        if os.getuid() == 0:
            os.lchown(self.at(path), user, group)
        return user, group

    # What does not change anything

    def access(self, path, mode):
        if not os.access(self.at(path), mode):
            raise fuse.FuseOSError(errno.EACCES)

    def getattr(self, path, handle=None):
        found = os.lstat(self.at(path)) if handle is None else os.fstat(handle)
        names = ("st_mode", "st_nlink", "st_uid", "st_gid", "st_size", "st_ino", "st_blocks", "st_rdev")
        times = {name: getattr(found, name + "_ns") for name in ("st_atime", "st_mtime", "st_ctime")}
        return {**{name: getattr(found, name) for name in names}, **times}

    def readdir(self, path, _handle):
        return [".", "..", *os.listdir(self.at(path))]

    def readlink(self, path):
        return os.readlink(self.at(path))

    def statfs(self, path):
        found = os.statvfs(self.at(path))
        names = ("f_bavail", "f_bfree", "f_blocks", "f_bsize", "f_favail", "f_ffree", "f_files", "f_flag", "f_frsize",
                 "f_namemax")
        return {name: getattr(found, name) for name in names}

    def open(self, path, flags):
        handle = os.open(self.at(path), flags & ~(os.O_CREAT | os.O_EXCL | os.O_APPEND))
        if flags & (os.O_WRONLY | os.O_RDWR):
            self.note("open", path, os.fstat(handle).st_ino)
        return handle

    def read(self, _path, size, offset, handle):
        return os.pread(handle, size, offset)

    def flush(self, _path, _handle):
        return 0

    def release(self, _path, handle):
        os.close(handle)

    # What does

    def create(self, path, mode, _information=None):
        handle = os.open(self.at(path), os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
        self.note("create", path, os.fstat(handle).st_ino, mode, *self.owner(path))
        return handle

    def write(self, path, data, offset, handle):
        self.note("write", path, os.fstat(handle).st_ino, offset, data)
        return os.pwrite(handle, data, offset)

    def truncate(self, path, length, handle=None):
        self.note("truncate", path, os.lstat(self.at(path)).st_ino if handle is None else os.fstat(handle).st_ino, length)
        os.truncate(self.at(path) if handle is None else handle, length)

    def fsync(self, path, _data_only, handle):
        self.note("fsync", path, os.fstat(handle).st_ino)

    def fsyncdir(self, path, _data_only, _handle):
        self.note("fsync", path, 0)

    def mkdir(self, path, mode):
        os.mkdir(self.at(path), mode)
        self.note("mkdir", path, mode, *self.owner(path))

    def mknod(self, path, mode, device):
        os.mknod(self.at(path), mode, device)
        self.note("mknod", path, mode, *self.owner(path))

    def symlink(self, path, target):
        os.symlink(target, self.at(path))
        self.note("symlink", path, target, *self.owner(path))

    def link(self, path, source):
        os.link(self.at(source), self.at(path))
        self.note("link", path, source)

    def rename(self, old, new):
        os.rename(self.at(old), self.at(new))
        self.note("rename", old, new)

    def unlink(self, path):
        os.unlink(self.at(path))
        self.note("unlink", path)

    def rmdir(self, path):
        os.rmdir(self.at(path))
        self.note("rmdir", path)

    def chmod(self, path, mode):
        os.chmod(self.at(path), mode)
        self.note("chmod", path, mode)

    def chown(self, path, user, group):
        user, group = (-1 if number in (-1, 0xffffffff) else number for number in (user, group))
        os.lchown(self.at(path), user, group)
        self.note("chown", path, user, group)

    def utimens(self, path, times=None):
        os.utime(self.at(path), ns=times, follow_symlinks=False)
        self.note("utime", path, times or (os.lstat(self.at(path)).st_mtime_ns,) * 2)


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
        self.process = subprocess.Popen([sys.executable, "-B", __file__, self.directory, self.backing, self.file],
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
        if stat.S_ISFIFO(mode) or stat.S_ISREG(mode):   # a socket is made anew by its server
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


def serve(mount, directory, journal):
    from process import LIBC, PR_SET_PDEATHSIG
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)    # after which libfuse unmounts
    others = {"allow_other": True, "default_permissions": True} if os.getuid() == 0 else {}
    fuse.FUSE(FileSystem(directory, journal), mount, foreground=True, nothreads=True, use_ino=True, **others)


if __name__ == "__main__":
    serve(*sys.argv[1:])
