# SPDX-License-Identifier: ISC
"""Counts what the fault tests try, for their closing line."""

import collections

import pytest
from lab.ledger import SQLITE, engine

# A file has neither server nor wire.
collect_ignore = ["test_database.py", "test_servers.py", "test_wire.py"] if engine() == SQLITE else []

TRIED, FOUND = "faults tried", "faults found"   # properties of a test's report: they are sent by every worker


@pytest.fixture
def tally(request):
    """Counts this many `what` (in the plural) as tried; wrong: a list of bench.Wrong, which must be empty."""
    def add(what, tried, wrong):
        request.node.user_properties += [(TRIED, (what, tried)), *((FOUND, (item.kind, 1)) for item in wrong)]
        assert not wrong, "\n".join(f"{item.kind}: {item.text}" for item in wrong)
    return add


def pytest_terminal_summary(terminalreporter):
    counts = {TRIED: collections.Counter(), FOUND: collections.Counter()}
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, value in report.user_properties if report.when == "call" else []:
            if name in counts:      # others are for the table of tests/conftest.py
                what, count = value
                counts[name][what] += count
    tried = ", ".join(f"{count} {what}" for what, count in sorted(counts[TRIED].items()))
    found = counts[FOUND]
    other = f", {found['other']} otherwise wrong" if found["other"] else ""
    terminalreporter.write_line(f"Faults tried: {tried}; {found['lost']} lost, {found['doubled']} doubled, "
                                f"{found['false duplicate']} false duplicates{other}.")
