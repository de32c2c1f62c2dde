# SPDX-License-Identifier: ISC
"""The manual pages at 80 columns: nothing to be copied is wider, and no cell of a table goes on in the next line, which
some programs that show manuals indent too far. What oncedrop(1) says of the other pages.

Seen to fail with: an example of 90 columns; a longer cell; a page or a command that is not in oncedrop(1), or with another text; a
reference to a page that there is not."""

import glob
import os
import re
import shutil
import subprocess

import pytest
from lab import lab as lab_module

PAGES = sorted(glob.glob(os.path.join(lab_module.REPOSITORY, "man", "*.[1-9]")))
MACROS = {".It", "Ta", "Ar", "Cm", "Ic", "Li", "No", "Ns", "Ql", "Sy"}


NAMES = {os.path.basename(page) for page in PAGES}
OWN = "oncedrop-lab.1"     # a separate program


def text(name):
    with open(os.path.join(lab_module.REPOSITORY, "man", name), encoding="utf-8") as file:
        return file.read()


def rendered(page):
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=78", page], stdout=subprocess.PIPE, check=True)
    return re.sub(".\b", "", done.stdout.decode()).splitlines()


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
@pytest.mark.parametrize("page", PAGES, ids=map(os.path.basename, PAGES))
def test_80_columns(page):
    lines = rendered(page)
    assert len(lines) > 20 and not [line for line in lines if len(line) > 80]
    with open(page, encoding="utf-8") as file:
        rows = [[word for word in line.split() if word not in MACROS] for line in file.read().splitlines() if " Ta " in line]
    shown = [line.split() for line in lines]
    assert not [row for row in rows if row not in shown]


@pytest.mark.parametrize("page", PAGES, ids=map(os.path.basename, PAGES))
def test_no_apostrophe_in_a_width(page):
    """groff 1.23 takes it for the end of the width, and lintian says so; mandoc does not."""
    with open(page, encoding="utf-8") as file:
        assert not re.search(r"^\.Bl .*'", file.read(), re.MULTILINE)


def test_the_map_has_all_commands():
    """Each once, with the line that its own page has."""
    done = subprocess.run([lab_module.program(), "help"], stdout=subprocess.PIPE, check=True, text=True)
    helped = set(re.findall(r"^  ([a-z]+) ", done.stdout, re.M))
    commands = re.search(r"^\.Sh COMMANDS\n(.*?)^\.Sh", text("oncedrop.1"), re.M | re.S)[1]
    rows = re.findall(r"^\.It Xr oncedrop-([a-z]+) 1\n(.*)$", commands, re.M)
    pages = {re.sub(r"oncedrop-|\.1$", "", name) for name in NAMES if name.endswith(".1")} - {"oncedrop", "lab"}
    assert sorted(name for name, _ in rows) == sorted(helped) == sorted(pages)
    assert {name: re.search(r"^\.Nd (.*)$", text(f"oncedrop-{name}.1"), re.M)[1] for name in pages} == dict(rows)


def test_the_map_has_all_other_pages():
    rows = re.search(r"^\.Sh SEE ALSO\n(.*)", text("oncedrop.1"), re.M | re.S)[1]
    named = {f"{name}.{section}" for name, section in re.findall(r"^\.It Xr (\S+) (\d)$", rows, re.M)}
    assert named == {name for name in NAMES if not name.endswith(".1")} | {OWN}


@pytest.mark.parametrize("page", PAGES, ids=map(os.path.basename, PAGES))
def test_references(page):
    """To pages that there are, and to sections that they have."""
    name = os.path.basename(page)
    found = [f"{to}.{section}" for to, section in re.findall(r"\bXr (oncedrop\S*) (\d)", text(name))]
    assert (found or name == "oncedrop.1") and set(found) <= NAMES
    for title in re.findall(r"\bSx (.*?)(?: [.,;:)]| \b(?:Pq|Pc|No|in)\b|$)", text(name), re.M):
        assert re.search(rf"^\.S[hs] {re.escape(title)}$", text(name), re.M), title
    for title, to, section in re.findall(r"([A-Z][A-Z]+(?: [A-Z]+)*) in\n?\.? ?(?:\n\.)?Xr (oncedrop\S*) (\d)", text(name)):
        assert re.search(rf"^\.Sh {title}$", text(f"{to}.{section}"), re.M), (title, to)


@pytest.mark.parametrize("command", sorted(NAMES - {OWN, "oncedrop.1"} - {name for name in NAMES if not name.endswith(".1")}))
def test_sections_of_a_command(command):
    """In this order; those whose command takes neither options nor words have no OPTIONS."""
    found = re.findall(r"^\.Sh (.*)$", text(command), re.M)
    must = ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"]
    takes = re.search(r"^\.Sh SYNOPSIS\n(.*?)^\.Sh", text(command), re.M | re.S)[1].count("Fl ")
    assert [title for title in found if title in must] == [title for title in must if title != "OPTIONS" or takes]
