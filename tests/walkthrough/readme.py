# SPDX-License-Identifier: ISC
"""README's set-up as a shell script: its fenced blocks, word for word, in their order.

A block that begins with ```sh is run. One whose first line is `# /path/of/file` goes into that file: a master.cf gets it
at its end, a main.cf has its settings made by postconf(1), any other file consists of it. All other blocks are to be read."""

import collections
import os
import re
import shlex

DONE = "README.md: all of it was done"
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
SECTIONS = ("Install", "Set-up")                # how the headings begin under which everything is done
WAYS = {                                        # the subheading of what is done for one way only
    "pipe": re.compile(r"\bpipe\b"),
    "lmtp": re.compile(r"\bLMTP\b"),
    "mailbox_command": re.compile(r"\bmailbox_command\b"),
}

Block = collections.namedtuple("Block", "line section heading language text")


def blocks(text):
    """All fenced blocks, each with the heading of its section and the subheading above it."""
    section = heading = ""
    found, start = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if start is not None:
            if line.rstrip() == "```":
                found.append(Block(start, section, heading, language, "".join(collected)))
                start = None
            else:
                collected.append(line + "\n")
        elif line.startswith("```"):
            start, language, collected = number, line[3:].strip(), []
        elif line.startswith("## "):
            section, heading = line[3:], ""
        elif line.startswith("### "):
            heading = line[4:]
    if start is not None:
        raise ValueError(f"README.md:{start}: this block does not end")
    return found


def belongs(block, way):
    """Whether somebody who wants this way in takes the block for one of his."""
    if not block.section.startswith(SECTIONS):
        return False
    named = [name for name, pattern in WAYS.items() if pattern.search(block.heading)]
    return not named or way in named


def file_commands(path, text):
    """What a reader does with lines that are to be in a file."""
    if path.endswith("/main.cf"):
        # Lines that begin with blanks continue the one before.
        logical = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
        settings = [line for line in logical.splitlines() if line.strip()]
        return "postconf " + " ".join(map(shlex.quote, settings)) + "\n"
    operator = ">>" if path.endswith("/master.cf") else ">"
    return f"cat {operator} {shlex.quote(path)} <<'END_OF_FILE'\n{text}END_OF_FILE\n"


def commands(block):
    """A block as commands of a shell; "" for one that is only to be read."""
    if block.language == "sh":
        return block.text
    first, _, rest = block.text.partition("\n")
    path = re.fullmatch(r"# (/[\w./-]+)", first)
    return file_commands(path[1], rest) if path and not block.language else ""


def script(way):
    """Everything for one way in, for a shell that reads it from its standard input, as from a terminal: a command that
    reads there takes the lines that follow it. The last line it prints is DONE."""
    with open(README, encoding="utf-8") as file:
        chosen = [block for block in blocks(file.read()) if belongs(block, way)]
    if not any(WAYS[way].search(block.heading) for block in chosen):
        raise ValueError(f"README.md has no block for {way}")
    parts = [f"echo '== README.md:{block.line}'\n{commands(block)}" for block in chosen if commands(block)]
    return "\n".join([*parts, f"echo '{DONE}'\n"])
