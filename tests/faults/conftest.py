# SPDX-License-Identifier: ISC
"""What the faults tests count, for their closing lines."""

import collections
import os

import pytest

# At length only, by `make faults`.
collect_ignore = [] if os.environ.get("ONCEDROP_FAULTS") == "all" else ["test_wire.py"]
TALLY = collections.Counter()


@pytest.fixture
def tally():
    def add(what, tried, wrong):
        TALLY[what] += tried
        TALLY["wrong"] += wrong
    return add


def pytest_terminal_summary(terminalreporter):
    tried = ", ".join(f"{count} {what}" for what, count in TALLY.items() if what != "wrong")
    terminalreporter.write_line(f"Faults: {tried} tried; {TALLY['wrong']} ended with a message lost, doubled or falsely "
                                "taken for a duplicate.")
