# SPDX-License-Identifier: ISC
"""The front and the real service: the same as `deliver` by itself, whatever dies.

Seen to fail with: a delivery that goes on although the front is gone; LOGIN believed from an ordinary user; the message
stored without its final mark; a text of its own for an empty message."""

import glob
import os
import re
import shutil
import signal
import socket
import subprocess
import threading

import expect
import pytest
from lab import lab as lab_module
from lab.front import Front
from lab.messages import message, on_the_wire
from lab.process import find_program, peak_until_end, wait_until
from lab.service import Service

CORPUS = os.path.join(lab_module.REPOSITORY, "tests", "corpus")
MINE = os.path.join(os.path.dirname(lab_module.REPOSITORY), "shared", "corpus")
SILENT = "4.3.0 the service did not answer; it may have delivered the message\n"


@pytest.fixture
def front(site):
    """With a service that is running."""
    new = Front(site)
    new.real = Service(site, workers=1)
    new.socket = new.real.socket
    yield new
    new.close()


def by_front(front, mail, *arguments, **more):
    """Only the service could have delivered it: without one the front would have no configuration."""
    running = front.start(mail, *arguments, **more)
    return running.finish()


def test_first(front):
    scuba = front.site.account()
    mail = message()
    done = by_front(front, mail, "-d", scuba)
    expect.stored(done)
    assert [one.raw for one in front.site.messages(scuba)] == [on_the_wire(mail)]
    print(done, front.real.log())
    done = by_front(front, mail, "-d", scuba)
    expect.duplicate(done)
    print(done, front.real.log())
