# SPDX-License-Identifier: ISC
"""README's set-up as a shell script: its blocks that begin with ```sh, word for word, in their order.

Which of them are for whom is read as a person reads it. A step begins with a paragraph whose first words are bold; the ways
in are named there, and a step that names one is for those who take it. A block whose paragraph begins with "If …" or with
"Users of the system" is for those alone whose accounts are users of the system."""

import collections
import os
import re

DONE = "README.md: all of it was done"
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
SECTIONS = ("Install", "Set-up")                # how the headings begin under which everything is done
WAYS = {
    "pipe": re.compile(r"\bpipe\b"),
    "lmtp": re.compile(r"\bLMTP\b"),
    "mailbox_command": re.compile(r"\bmailbox_command\b"),
}
SYSTEM_USERS = re.compile(r"(If [^.:]*|)users of the system", re.IGNORECASE)

# line: where it begins; section: its heading; step: the bold words; paragraph: the last one before it
Block = collections.namedtuple("Block", "line section step paragraph language text")


def blocks(text):
    """All fenced blocks."""
    found, block = [], None
    section = step = paragraph = ""
    previous = ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.rstrip() == "```":
                found.append(block)
                block = None
            else:
                block = block._replace(text=f"{block.text}{line}\n")
        elif line.startswith("```"):
            block = Block(number, section, step, paragraph, line[3:].strip(), "")
        elif line.startswith("## "):
            section, step, paragraph = line[3:], "", ""
        elif line.strip():
            paragraph = line if not previous.strip() else f"{paragraph} {line}"
            bold = re.match(r"\*\*(.+?)\*\*", paragraph)
            step = bold[1] if bold else step
        previous = line
    if block is not None:
        raise ValueError(f"README.md:{block.line}: this block does not end")
    return found


def is_for(block, way, accounts):
    """Whether somebody who takes this way in, and has such accounts ("system" or "virtual"), runs the block."""
    if block.language != "sh" or not block.section.startswith(SECTIONS):
        return False
    if accounts != "system" and SYSTEM_USERS.match(block.paragraph):
        return False
    named = [name for name, pattern in WAYS.items() if pattern.search(block.step)]
    return not named or way in named


def script(way, accounts):
    """For a shell that reads it from its standard input, as from a terminal: a command that reads there takes the lines
    that follow it. The last line that is printed is DONE."""
    with open(README, encoding="utf-8") as file:
        every = blocks(file.read())
    chosen = [block for block in every if is_for(block, way, accounts)]
    # Words by which blocks are told apart, and that somebody may have changed.
    for what, found in (("way in", [block for block in chosen if WAYS[way].search(block.step)]),
                        ("users of the system", [block for block in every if SYSTEM_USERS.match(block.paragraph)])):
        if not found:
            raise ValueError(f"README.md has no block for {what} any more ({way})")
    parts = [f"echo '== README.md:{block.line}'\n{block.text}" for block in chosen]
    return "\n".join([*parts, f"echo '{DONE}'\n"])
