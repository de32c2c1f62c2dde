# SPDX-License-Identifier: ISC
"""The file system of unsynced_disk.py, as a separate program: passes everything on to a directory, and keeps a journal of what
changes.

    unsynced_disk_fuse.py MOUNT DIRECTORY JOURNAL"""

import errno
import os
import pickle
import signal
import stat
import sys

try:
    import fusepy as fuse       # Debian's name for it
except ImportError:
    try:
        import fuse
    except (ImportError, OSError):
        fuse = None
except OSError:                 # without its library
    fuse = None


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


def serve(mount, directory, journal):
    from process import LIBC, PR_SET_PDEATHSIG
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)    # after which libfuse unmounts
    others = {"allow_other": True, "default_permissions": True} if os.getuid() == 0 else {}
    fuse.FUSE(FileSystem(directory, journal), mount, foreground=True, nothreads=True, use_ino=True, **others)


if __name__ == "__main__":
    serve(*sys.argv[1:])
