# SPDX-License-Identifier: ISC
"""Pseudo-terminals, if there are any: in a chroot or a container /dev/pts may be missing."""

import fcntl
import functools
import os
import struct
import subprocess
import termios


@functools.cache
def available():
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False


def spawn(words, environment, columns=80):
    """Starts a program as the foreground job of a separate terminal; returns its process and our end of the terminal."""
    ours, its = os.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))

    def take_terminal():
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    try:
        process = subprocess.Popen(words, stdin=its, stdout=its, stderr=its, env=environment, start_new_session=True,
                                   preexec_fn=take_terminal)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(its)
    return process, ours
