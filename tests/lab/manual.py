# SPDX-License-Identifier: ISC
"""What the tests read in the manual pages."""

import os
import re

from .lab import REPOSITORY

MACROS = re.compile(r"\b(Cm|Ic|Li|No|Ql|Sy)\b |\\&")


def table(page):
    """The first table of a page: row → column → cell, as words. It begins with two rows that name the columns, as in
    "Dovecot 2.4"; where the first is empty, it is as to the left."""
    with open(os.path.join(REPOSITORY, "man", page), encoding="utf-8") as file:
        lists = re.search(r"^\.Bl -column.*?^\.El$", file.read(), re.M | re.S)
    (_, *names), (_, *more), *rows = [
        [MACROS.sub("", cell).strip() for cell in re.split(r" ?\bTa\b", line.removeprefix(".It "))]
        for line in lists[0].splitlines() if line.startswith(".It ")]
    for place, name in enumerate(names):
        names[place] = name or names[place - 1]
    columns = [" ".join(pair) for pair in zip(names, more)]
    return {name: dict(zip(columns, cells)) for name, *cells in rows}
