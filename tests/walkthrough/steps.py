# SPDX-License-Identifier: ISC
"""The set-up as a shell script: the blocks of README.md or of oncedrop-setup(7), word for word, in their order; with a ledger in
MariaDB, those of oncedrop-ledger(7) instead of those for PostgreSQL.

In README a block is ```sh, in the manual `.Bd -literal`; what is only shown is indented. Every such block has a reader:
in the manual its section and subsection say whose. A block below "Users of the system" or "If … users of the system" is for
sites whose accounts are users of the system. One below "The Debian package has …" is not for those who installed that, who
find everything in /usr."""

import collections
import os
import re

DONE = "all of the set-up was done"
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
MANUAL = os.path.join("man", "oncedrop-setup.7")
LEDGER = os.path.join("man", "oncedrop-ledger.7")

# The sections of the manual, and who of them follows which subsection. "readme" follows README alone. Those who set up by
# one command follow only the installation and their own subsection.
INSTALLATION, COMMAND = "INSTALLATION", "BY ONE COMMAND"
SECTIONS = (INSTALLATION, COMMAND, "USER AND CONFIGURATION", "DATABASE", "DOVECOT", "POSTFIX", "SENT COPIES", "TRYING IT")
SUBSECTIONS = {
    "Accounts that are addresses": ("setup_virtual",),
    "A ledger in PostgreSQL": ("setup_postgres",),
    "Addresses for pipe(8) and LMTP": ("pipe", "lmtp", "service"),
    "By pipe(8)": ("pipe",),
    "By LMTP": ("lmtp",),
    "By LMTP to the service": ("service",),
    "By mailbox_command": ("mailbox_command",),
}
MARIADB = "mariadb"     # by hand, and by pipe(8)
IN_PLACE_OF = {MARIADB: "pipe"}
WAYS = ("readme", MARIADB, *sorted({way for ways in SUBSECTIONS.values() for way in ways}))
BY_COMMAND = ("readme", "setup_virtual", "setup_postgres")
PACKAGED = re.compile(r"The Debian package has")
SYSTEM_USERS = re.compile(r"(If [^.:]*|)users of the system", re.IGNORECASE)

# place: file and line; step: README's bold words, or the manual's subsection; paragraph: the one above the block
Block = collections.namedtuple("Block", "place section step paragraph text")


def of_markdown(text, name="README.md"):
    """All blocks of README's set-up."""
    found, block = [], None
    section = step = paragraph = previous = ""
    for number, line in enumerate(text.splitlines(), 1):
        if block is not None:
            if line.rstrip() == "```":
                found.append(block)
                block = None
            else:
                block = block._replace(text=f"{block.text}{line}\n")
        elif line.startswith("```"):
            if line != "```sh":
                raise ValueError(f"{name}:{number}: a block of another language")
            block = Block(f"{name}:{number}", section, step, paragraph, "")
        elif line.startswith("## "):
            section, step, paragraph = line[3:], "", ""
        elif line.strip():
            paragraph = line if not previous.strip() else f"{paragraph} {line}"
            bold = re.match(r"\*\*(.+?)\*\*", paragraph)
            step = bold[1] if bold else step
        previous = line
    if block is not None:
        raise ValueError(f"{block.place}: this block does not end")
    return [block for block in found if block.section.startswith("Set-up")]


def shown(line, place):
    """A line of a literal display, as a reader sees it."""
    plain = line.replace(r"\e", "\0")
    if "\\" in plain or line.startswith((".", "'")):
        raise ValueError(f"{place}: a block has nothing of roff but \\e")
    return plain.replace("\0", "\\")


def of_page(text, name):
    """All blocks of a manual page."""
    found, block = [], None
    section = step = paragraph = ""
    for number, line in enumerate(text.splitlines(), 1):
        macro, _, words = line.partition(" ")
        if block is not None:
            if line == ".Ed":
                found.append(block)
                block, paragraph = None, ""
            else:
                block = block._replace(text=f"{block.text}{shown(line, f'{name}:{number}')}\n")
        elif line == ".Bd -literal":
            block = Block(f"{name}:{number}", section, step, paragraph, "")
        elif macro == ".Sh":
            section, step, paragraph = words, "", ""
        elif macro == ".Ss":
            step, paragraph = words, ""
        elif macro in (".Pp", ".Bd", ".Ed"):
            paragraph = ""
        else:
            paragraph = f"{paragraph} {words if line.startswith('.') else line}".lstrip()
    if block is not None:
        raise ValueError(f"{block.place}: this block does not end")
    return found


def of_manual(text, name="oncedrop-setup.7"):
    """All blocks of oncedrop-setup(7)."""
    found = of_page(text, name)
    for block in found:
        if block.section not in SECTIONS or (block.step and block.step not in SUBSECTIONS):
            raise ValueError(f"{block.place}: it is unknown who runs this block")
    return found


def of_ledger(text, name="oncedrop-ledger.7"):
    """The blocks about MariaDB of oncedrop-ledger(7)."""
    return [block for block in of_page(text, name) if block.section == "MARIADB"]


def read(name):
    with open(os.path.join(TOP, name), encoding="utf-8") as file:
        return file.read()


def blocks(way):
    """All blocks for a way in, with any accounts."""
    if way == "readme":
        return of_markdown(read("README.md"))
    if way == MARIADB:
        others = blocks(IN_PLACE_OF[way])
        place = [block.section for block in others].index("DATABASE")
        rest = [block for block in others[place:] if block.section != "DATABASE"]
        return [*others[:place], *of_ledger(read(LEDGER)), *rest]
    manual = [block for block in of_manual(read(MANUAL)) if not block.step or way in SUBSECTIONS[block.step]]
    return [block for block in manual if way not in BY_COMMAND or block.section in (INSTALLATION, COMMAND)]


def chosen(way, accounts, packaged=False):
    """Those that a site with this way in and such accounts ("system" or "virtual") runs."""
    if way not in WAYS:
        raise ValueError(f"{way}: no such way")
    every = blocks(way)
    for what, pattern in (("users of the system", SYSTEM_USERS), ("the package", PACKAGED)):
        if way not in BY_COMMAND and not any(pattern.search(block.paragraph) for block in every):  # the words were changed
            raise ValueError(f"there is no block for {what} any more ({way})")
    return [block for block in every
            if not (packaged and (PACKAGED.search(block.paragraph) or block.section == INSTALLATION))
            and (accounts == "system" or not SYSTEM_USERS.match(block.paragraph))]


def script(way, accounts, packaged=False):
    """The script; its last line prints DONE. It is for a shell's standard input, where a command that prompts swallows the
    lines after it, as it does in a terminal."""
    parts = [f"echo '== {block.place}'\n{block.text}" for block in chosen(way, accounts, packaged)]
    text = "\n".join([*parts, f"echo '{DONE}'\n"])
    return text.replace("/usr/local", "/usr") if packaged else text
