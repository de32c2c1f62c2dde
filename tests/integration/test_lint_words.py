# SPDX-License-Identifier: ISC
"""tests/lint-words finds each kind of what it is for, at its line, and nothing else in the same file.

Seen to fail with: each group of LANGUAGES left out; a limit that is not compared; exceptions for all files, and for none."""

import os
import shutil
import subprocess

import pytest
from lab import lab as lab_module

pytestmark = pytest.mark.skipif(not shutil.which("aspell"), reason="no aspell")

WORDS = """# a list
lest	text	so that ... not
by then	text	before that
made	name	result
lest	except:src/excepted.*	as in the original
20	limit	words
"""
LONG = " ".join(["word"] * 36)

# file: its text, and the lines with findings: number, and how what is reported begins
CASES = {
    "src/comment.c": ('int a; /* "lest" */\nchar *b = "/* no comment */";\n/* Stored by\n * then. Resting, lest-like, lesting\'s. */\n',
                      [(1, "comment: lest"), (3, "comment: by then")]),
    "src/message.c": ('#include "lest.h"\nputs("Lest it "\n     "is by\\n"\n     "then");\nputs("by"), puts("then");\n\'"\', lest, \'"\';\n',
                      [(2, "message: Lest"), (3, "message: by then")]),
    "src/name.h": ("struct made *a;\nint is_made(int MADE_2, int homemade);\n/* made */\n", [(1, "name: made"), (2, "name: MADE"),
                                                                                        (2, "name: made")]),
    "src/made.h": ("\n", []),
    "src/made.c": ("int a;\n", [(1, "name: made")]),
    "src/steps.sql": ("-- lest: does it, lest it be done\n-- params: lest made\nSELECT 'Lest', made\n-- made: it\n-- by\n-- then\n",
                      [(1, "comment: lest"), (2, "name: made"), (3, "message: Lest"), (3, "name: made"),
                       (4, "name: made")]),
    "tests/a.py": ('#!/usr/bin/python3\n"""Lest."""\na = "lest # lest"    # lest\nb = """\nlest\n"""\n',
                   [(2, "comment: Lest"), (3, "comment: lest")]),
    "tests/a": ("#!/bin/sh\n# Stored by\n# then.\necho 'a # lest' lest ${a#lest}    # lest\n",
                [(2, "comment: by then"), (4, "comment: lest")]),
    "tests/a.awk": ("# lest\n{ lest }\n", [(1, "comment: lest")]),
    "README.md": ("Stored by\nthen, **lest** `lest`.\n\n```sh\nlest ` lest\n```\n\n    lest\n\n[a](lest)\n",
                  [(1, "prose: by then"), (2, "prose: lest")]),
    "man/a.1": ('.\\" lest\n.Sh LEST\n.Ic lest\nLest\\(em\n.Bd -literal\nlest\n.Ed\n', [(2, "prose: LEST"), (4, "prose: Lest")]),
    "src/excepted.c": ("/* lest */\n", []),
    "src/long.c": (f"/* Short.\n * {LONG}.\n *\n *     {LONG}\n * a  {LONG}\n *\n * {LONG[5:]}; e.g. this. */\n",
                   [(2, "a sentence of 36 words"), (7, "a sentence of 37 words")]),
    "src/parts.c": (f"/* {LONG[50:]}\n *\n * {LONG[50:]}\n * - {LONG[50:]} */\n", []),
    "tests/a.c": ('int made; /* lest */ char *a = "lest";\n', [(1, "comment: lest")]),
    "src/list.c": (f"/* A list: {LONG[50:]}; {LONG[50:]};\n * {LONG[50:]}. */\n", []),
    "src/spelling.c": ('/* Colour, color: "wrod", wrod_1, x.wrod, WROD;\n * a\n * self-wrod\'s. */\nputs("a wrod"), puts("wrod");\n',
                       [(1, "spelling: color"), (3, "spelling: wrod"), (4, "spelling: wrod")]),
}


@pytest.fixture(name="tree")
def fixture_tree(tmp_path):
    for folder in ("src", "man", "tests"):
        (tmp_path / folder).mkdir()
    shutil.copy(os.path.join(lab_module.REPOSITORY, "tests", "lint-words"), tmp_path / "tests")
    (tmp_path / "tests/lint-words.list").write_text(WORDS)
    (tmp_path / "tests/lint-words.spelling").write_text("# a list\nlesting\n")
    return tmp_path


def lint(tree, *arguments):
    done = subprocess.run(["/usr/bin/python3", "-B", tree / "tests/lint-words", *arguments], cwd=tree / "src", text=True,
                          stdout=subprocess.PIPE, check=False)
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("path", CASES)
def test_findings(tree, path):
    text, expected = CASES[path]
    (tree / path).write_text(text)
    status, found = lint(tree, tree / path)
    places = [line.split(": ", 1) for line in found]
    assert len(found) == len(expected) and status == (1 if expected else 0), found
    for (place, what), (number, beginning) in zip(places, expected):
        assert place == f"{path}:{number}" and what.startswith(beginning), found


def test_count(tree):
    """Of the comments of C in src/ only; the limit is for all files, not for those that are named."""
    (tree / "src/a.c").write_text('/* One two three. */ char *a = "/* no */";\n/*\n * four\n */\n')
    (tree / "tests/a.c").write_text("/* No. */\n")
    assert lint(tree, "--count") == (0, ["5"])
    (tree / "src/b.h").write_text("/* " + "Word. " * 15 + "*/\n")
    assert lint(tree) == (0, [])
    (tree / "src/c.h").write_text("/* Word. */\n")
    assert lint(tree) == (1, ["src: 21 words in comments; at most 20"])
    assert lint(tree, "a.c", "b.h", "c.h") == (0, [])
