# SPDX-License-Identifier: ISC
"""The unusual messages of tests/corpus, and those in a directory shared/corpus next to the checkout, if there is one."""

import glob
import os
import re

from .lab import REPOSITORY

OURS = os.path.join(REPOSITORY, "tests", "corpus")
OTHERS = os.path.join(os.path.dirname(REPOSITORY), "shared", "corpus")
FILES = [path for directory in (OURS, OTHERS) for path in sorted(glob.glob(os.path.join(directory, "*.msg")))]


def read(path):
    with open(path, "rb") as file:
        return file.read()


def one_cr(raw):
    """Of several CRs before an LF Dovecot drops one."""
    return re.sub(rb"\r+\n", b"\r\n", raw)
