# SPDX-License-Identifier: ISC
"""The manual pages at 80 columns: nothing to be copied is wider, and no cell of a table goes on in the next line, which
some programs that show manuals indent too far.

Seen to fail with: an example of 90 columns; a longer cell."""

import glob
import os
import re
import shutil
import subprocess

import pytest
from lab import lab as lab_module

PAGES = sorted(glob.glob(os.path.join(lab_module.REPOSITORY, "man", "*.[1-9]")))
MACROS = {".It", "Ta", "Cm", "Ic", "Li", "No", "Ql", "Sy"}


def rendered(page):
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=78", page], stdout=subprocess.PIPE, check=True)
    return re.sub(".\b", "", done.stdout.decode()).splitlines()


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
@pytest.mark.parametrize("page", PAGES, ids=map(os.path.basename, PAGES))
def test_80_columns(page):
    lines = rendered(page)
    assert len(lines) > 100 and not [line for line in lines if len(line) > 80]
    with open(page, encoding="utf-8") as file:
        rows = [[word for word in line.split() if word not in MACROS] for line in file.read().splitlines() if " Ta " in line]
    shown = [line.split() for line in lines]
    assert not [row for row in rows if row not in shown]


@pytest.mark.parametrize("page", PAGES, ids=map(os.path.basename, PAGES))
def test_no_apostrophe_in_a_width(page):
    """groff 1.23 takes it for the end of the width, and lintian says so; mandoc does not."""
    with open(page, encoding="utf-8") as file:
        assert not re.search(r"^\.Bl .*'", file.read(), re.MULTILINE)
