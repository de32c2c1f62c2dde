# SPDX-License-Identifier: ISC
"""What the tests read in the manual pages."""

import os
import re

from .lab import REPOSITORY

MACROS = re.compile(r"\b(Cm|Ic|Li|No|Ql|Sy)\b |\\&")


def table(page):
    """The first table of a page: row → column → cell, as words. Its first row has the names of the columns."""
    with open(os.path.join(REPOSITORY, "man", page), encoding="utf-8") as file:
        lists = re.search(r"^\.Bl -column.*?^\.El$", file.read(), re.M | re.S)
    rows = [[MACROS.sub("", cell).strip() for cell in line.removeprefix(".It ").split(" Ta ")]
            for line in lists[0].splitlines() if line.startswith(".It ")]
    return {name: dict(zip(rows[0][1:], cells)) for name, *cells in rows[1:]}
