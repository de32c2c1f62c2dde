# SPDX-License-Identifier: ISC
"""Whether there are pseudo-terminals: in a chroot or a container /dev/pts may be missing."""

import functools
import os


@functools.cache
def available():
    try:
        for descriptor in os.openpty():
            os.close(descriptor)
        return True
    except OSError:
        return False
