# SPDX-License-Identifier: ISC
"""What a delivery with a ledger in a file syncs: the log at each of two COMMITs, and the directory if the files are not known.

Seen to fail with: a directory that is synced by each process, and by none."""

import os
import re

import pytest
from lab import embedded as embedded_module, lab as lab_module
from lab.messages import message
from lab.process import find_program

pytestmark = pytest.mark.skipif(lab_module.is_sanitized(), reason="strace is in the way of a sanitizer")


@pytest.fixture
def embedded(site):
    site.settings["route.sent_copy"] = "off"
    return embedded_module.Embedded(site).install()


def synced(embedded):
    """The names, in order, of what a delivery syncs."""
    path = os.path.join(embedded.site.directory, "trace")
    done = embedded.run("deliver", "-d", embedded.site.account(), stdin=message(),
                        under=[find_program("strace"), "-f", "-y", "-o", path, "-e", "trace=fsync,fdatasync"])
    assert done.exit == 0, done
    with open(path, encoding="utf-8", errors="replace") as file:
        return [os.path.basename(name) for name in re.findall(r"sync\(\d+<([^>]*)>\) += 0$", file.read(), re.MULTILINE)]


def test_two_syncs(embedded):
    synced(embedded)
    assert synced(embedded) == ["ledger.db-wal"] * 2


def test_new_names_are_durable_before_a_commit(embedded):
    os.unlink(embedded.path + "-lock")      # where the files are recorded
    first, *others = synced(embedded)
    assert first == os.path.basename(embedded.directory) and set(others) == {"ledger.db-wal"}
