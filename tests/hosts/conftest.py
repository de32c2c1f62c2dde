# SPDX-License-Identifier: ISC
"""Prints what the tests with several hosts saw."""

import pytest
from lab import network, unsynced_disk

SAW = "saw"     # property of a test's report: it is sent by every worker


@pytest.fixture
def saw(request):
    """Notes a line for the end of the run."""
    return lambda line: request.node.user_properties.append((SAW, line))


def pytest_terminal_summary(terminalreporter):
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, line in report.user_properties if report.when == "call" else []:
            if name == SAW:
                terminalreporter.write_line(line)
    for what, missing in (("a network of several hosts", network.missing()), ("power cuts", unsynced_disk.missing())):
        if missing:
            terminalreporter.write_line(f"The tests with {what} were left out: {missing}.")
