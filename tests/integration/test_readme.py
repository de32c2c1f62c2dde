# SPDX-License-Identifier: ISC
"""The set-up by hand in oncedrop-setup(7) contains the files of conf/postfix unchanged, and each of its blocks, and README's, can
be pasted as a whole. That by one command: test_setup.py.

Seen to fail with: a setting changed, left out, or moved to another step; an argument of pipe(8) left out; a prompt; a
table that keeps example.org."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest
from lab import lab as lab_module

sys.path.insert(0, os.path.join(lab_module.REPOSITORY, "tests", "walkthrough"))
import steps        # noqa: E402

PIECES = {     # way: files of conf/postfix
    way: ("common", steps.IN_PLACE_OF.get(way, way), "sent_copies") for way in steps.WAYS if way not in steps.BY_COMMAND
}
PROMPTS = re.compile(r"pwprompt|\bread\b|passwd\b(?!=)|\bsudo\b|--interactive|\bvi\b|\$EDITOR")


def test_readme_is_short():
    assert len(file("README.md").splitlines()) <= 160


def file(*name):
    with open(os.path.join(lab_module.REPOSITORY, *name), encoding="utf-8") as stream:
        return stream.read()


def blocks():
    """The text of each block, of README and of the manuals."""
    return [block.text for block in
            steps.of_markdown(file("README.md")) + steps.of_manual(file(steps.MANUAL)) + steps.of_ledger(file(steps.LEDGER))]


def settings(text):
    """name → value, of main.cf."""
    logical = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in logical.splitlines() if line.strip())


def services(text):
    """The lines of master.cf, with one blank between words."""
    logical = re.sub(r"\n[ \t]+", " ", "\n".join(line for line in text.splitlines() if not line.startswith("#")))
    return [" ".join(line.split()) for line in logical.splitlines() if line.strip()]


def shown(way):
    """The (settings, services) that the blocks for a way in give to Postfix."""
    text = "".join(block.text for block in steps.chosen(way, "system"))
    closed = re.search(r"^closed='(.*)'$", text, re.M)[1]
    main, master = {}, []
    for lines in re.findall(r"^cat >>/etc/postfix/master\.cf <<'END'\n(.*?)^END$", text, re.M | re.S):
        master += services(lines)
    for command in re.findall(r"^postconf (?:.*\\\n)*.*$", text, re.M):
        option, *words = shlex.split(command)[1:]
        if option == "-e":
            main.update(settings("\n".join(words).replace("$closed", closed)))
        else:
            assert option == "-M", command
            master += services("\n".join(word.partition("=")[2] for word in words))
    return main, master


def piece(kind, name):
    path = os.path.join("conf", "postfix", f"{kind}.cf.{name}")
    return file(path) if os.path.exists(os.path.join(lab_module.REPOSITORY, path)) else ""


@pytest.mark.parametrize("way,names", PIECES.items())
def test_postfix_is_set_up_with_the_pieces(way, names):
    main, master = shown(way)
    assert main == {key: value for name in names for key, value in settings(piece("main", name)).items()}
    assert sorted(master) == sorted(line for name in names for line in services(piece("master", name)))
    assert main and master


def test_every_piece_is_shown():
    names = {name.partition(".cf.")[2] for name in os.listdir(os.path.join(lab_module.REPOSITORY, "conf", "postfix"))
             if ".cf." in name}
    assert names == {"verify", *(name for pieces in PIECES.values() for name in pieces)}
    text = re.sub(r"\s+", " ", file("man", "oncedrop-postfix.7"))
    for key, value in settings(piece("main", "verify")).items():      # not for every site
        assert f"{key} = {value}" in text, key


def test_blocks_can_be_pasted():
    """Valid shell without prompts, whose here-documents end, and that does not show passwords in ps(1)."""
    assert len(blocks()) > 20
    for text in blocks():
        done = subprocess.run(["bash", "-n"], input=text, text=True, check=True, capture_output=True)
        assert not done.stderr, done.stderr
        assert not PROMPTS.search(text), text
        for line in text.splitlines():
            assert "$password" not in line or line.startswith(("echo ", "CREATE ", "ALTER ", "s|")), line


def test_what_is_installed_is_named_right():
    for text in blocks():
        for path in re.findall(r"/usr/local/share/oncedrop/(\S+)", text):
            kind, _, name = path.partition("/")
            found = os.listdir(os.path.join(lab_module.REPOSITORY, "conf", kind))
            pattern = re.escape(name).replace(r"\*", ".*").replace(r"\$version", r"2\.[34]")
            assert [one for one in found if re.fullmatch(pattern, one)], path


def test_no_table_keeps_the_domain_of_the_examples(tmp_path):
    """Tables are installed with example.org in them; a block replaces it, if given another as README says."""
    installed = os.path.join(lab_module.REPOSITORY, "conf", "postfix")
    tables = {name: file(installed, name) for name in os.listdir(installed) if name.startswith("oncedrop_")}
    for name, text in tables.items():
        (tmp_path / name).write_text("".join(line for line in text.splitlines(True) if not line.startswith("#")))
    [block] = [text for text in blocks() if text.startswith(r"sed -i 's/example\\.org/example\\.org/'")]
    first, _, last = block.replace("/etc/postfix", shlex.quote(str(tmp_path))).rpartition(r"example\\.org")
    subprocess.run(["sh", "-ec", rf"{first}a-site\\.example{last}"], check=True)
    changed = {name: (tmp_path / name).read_text() for name in tables}
    assert [text for text in changed.values() if r"(a-site\.example)$/" in text]
    assert not [name for name, text in changed.items() if "org" in text], changed


def test_every_block_is_run():
    """By the walkthrough, for one of the ways in that it takes."""
    walks = dict(re.findall(r"(\w+):(\w+)", re.search("^WALKS='(.*)'$", file("tests", "walkthrough", "run"), re.M)[1]))
    assert set(walks) == set(steps.WAYS)
    run = {block.text for way, accounts in walks.items() for block in steps.chosen(way, accounts)}
    assert run == set(blocks())


@pytest.mark.skipif(not shutil.which("mandoc"), reason="no mandoc")
@pytest.mark.parametrize("name,of_page", [(steps.MANUAL, steps.of_manual), (steps.LEDGER, steps.of_ledger)])
def test_a_reader_of_the_manual_sees_what_is_run(name, of_page):
    page = os.path.join(lab_module.REPOSITORY, name)
    done = subprocess.run(["mandoc", "-T", "utf8", "-O", "width=78", page], stdout=subprocess.PIPE, check=True)
    seen = re.sub(".\b", "", done.stdout.decode())
    for block in of_page(file(name)):
        assert "".join(f"     {line}\n" for line in block.text.splitlines()) in seen, block
