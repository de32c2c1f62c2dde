# SPDX-License-Identifier: ISC
"""README's set-up as a shell script: its ```sh blocks, word for word, in their order.

README's own words say which of them are for whom. A step begins with a paragraph in bold; if the bold words name a way in,
the step is for that way alone. A block below a paragraph that begins with "If … users of the system" or "Users of the system"
is for sites whose accounts are users of the system. One below "… the Debian package has …" is not for those who
installed that: they begin with "Set-up", and find everything in /usr."""

import collections
import os
import re

DONE = "README.md: all of it was done"
README = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "README.md")
SECTIONS = ("Install", "Set-up")                # what the headings begin with whose blocks are run
WAYS = {
    "pipe": re.compile(r"\bpipe\b"),
    "lmtp": re.compile(r"\bLMTP\b"),
    "mailbox_command": re.compile(r"\bmailbox_command\b"),
}
PACKAGED = re.compile(r"the Debian package has")
SYSTEM_USERS = re.compile(r"(If [^.:]*|)users of the system", re.IGNORECASE)

# line: its number; section: the heading; step: the bold words; paragraph: the one above the block
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


def is_for(block, way, accounts, packaged):
    """Whether a site with this way in and such accounts ("system" or "virtual") runs the block."""
    if block.language != "sh" or not block.section.startswith(SECTIONS[1:] if packaged else SECTIONS):
        return False
    if packaged and PACKAGED.search(block.paragraph):
        return False
    if accounts != "system" and SYSTEM_USERS.match(block.paragraph):
        return False
    named = [name for name, pattern in WAYS.items() if pattern.search(block.step)]
    return not named or way in named


def script(way, accounts, packaged=False):
    """The script; its last line prints DONE. It is for a shell's standard input, where a command that prompts swallows the
    lines after it, as it does in a terminal."""
    with open(README, encoding="utf-8") as file:
        every = blocks(file.read())
    chosen = [block for block in every if is_for(block, way, accounts, packaged)]
    # In case the words above were changed.
    for what, found in (("way in", [block for block in chosen if WAYS[way].search(block.step)]),
                        ("users of the system", [block for block in every if SYSTEM_USERS.match(block.paragraph)]),
                        ("the package", [block for block in every if PACKAGED.search(block.paragraph)])):
        if not found:
            raise ValueError(f"README.md has no block for {what} any more ({way})")
    parts = [f"echo '== README.md:{block.line}'\n{block.text}" for block in chosen]
    text = "\n".join([*parts, f"echo '{DONE}'\n"])
    return text.replace("/usr/local", "/usr") if packaged else text
