# SPDX-License-Identifier: ISC
"""What the faults tests count, for their closing line."""

import collections

import pytest

TRIED = collections.Counter()
FOUND = collections.Counter()


@pytest.fixture
def tally():
    """Counts so many `what` (in the plural) as tried; wrong: a list of bench.Wrong, of which there must be none."""
    def add(what, tried, wrong):
        TRIED[what] += tried
        FOUND.update(item.kind for item in wrong)
        assert not wrong, "\n".join(f"{item.kind}: {item.text}" for item in wrong)
    return add


def pytest_terminal_summary(terminalreporter):
    tried = ", ".join(f"{count} {what}" for what, count in sorted(TRIED.items()))
    other = f", {FOUND['other']} otherwise wrong" if FOUND["other"] else ""
    terminalreporter.write_line(f"Faults tried: {tried}; {FOUND['lost']} lost, {FOUND['doubled']} doubled, "
                                f"{FOUND['false duplicate']} false duplicates{other}.")
