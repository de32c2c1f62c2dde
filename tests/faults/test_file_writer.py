# SPDX-License-Identifier: ISC
"""The process that writes to a ledger in a file for the workers of a service is killed at any moment, while the service
and separate processes deliver each message: nothing is lost or doubled.

Seen to fail with: a transaction taken for committed although the writer died (lite_group.c), lost."""

import contextlib
import glob
import os
import signal

import pytest
from bench import check_ledger
from lab.service import children, is_writer
from test_ledger_files import disturbed

pytestmark = pytest.mark.sqlite


def test_writer_is_killed(site, tally):
    """At least every second of them has opened the ledger, as it does when two workers deliver at the same time."""
    service, used = [], []

    def kill(path):
        for pid in filter(is_writer, children(service[0].pid)):
            with contextlib.suppress(OSError):      # it may just have ended
                in_use = path in [os.readlink(one) for one in glob.glob(f"/proc/{pid}/fd/*")]
                if in_use or (used and used[-1]):
                    used.append(in_use)
                    os.kill(pid, signal.SIGKILL)

    wrong, count = disturbed(site, "", (kill,), service)
    assert any(used), "no two workers delivered at the same time"
    tally("writers of a service killed", count, wrong)
    check_ledger(site)
