# SPDX-License-Identifier: ISC
"""Completion in bash, zsh and fish offers what the program accepts, command by command, according to its own help.

Seen to fail with: a command, an option, a state or a word of `schema` left out in any file; an option too many; a text that differs from the manual's; the value
of an option taken for the command; "=" not joined; files not offered to `replay`."""

import os
import re
import shutil
import subprocess

import pytest
from lab import lab as lab_module, terminal

FILES = {"bash": os.path.join(lab_module.REPOSITORY, "conf/completion/oncedrop.bash"),
         "zsh": os.path.join(lab_module.REPOSITORY, "conf/completion/_oncedrop"),
         "fish": os.path.join(lab_module.REPOSITORY, "conf/completion/oncedrop.fish")}

BASH = r"""
source "$1"
COMP_LINE=$2
shift 2
COMP_WORDS=("$@")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
COMP_POINT=${#COMP_LINE}
spec=$(complete -p oncedrop) || exit 1
set -- $spec
function=${@: -2:1}
$function oncedrop "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}"
"""

# The offers are caught where they are handed over. zsh completes only at a terminal, so it gets one.
ZSH = r"""
zmodload zsh/zpty || exit 1
zpty shell "zsh -f -i"
send() { zpty -w shell "$1" }
await() { zpty -r -m shell text "*$1*" || exit 1 }
send "PS1= PROMPT= RPROMPT= KEYTIMEOUT=1; unsetopt zle_bracketed_paste 2>/dev/null; stty cols 1000"
send "fpath=(${(q)1:h} \$fpath); autoload -Uz compinit && compinit -C -d ${(q)DUMP}"
send "zstyle ':completion:*' list-grouped no; setopt no_beep; bindkey '^I' complete-word"
send 'compadd() {
    local -a offered
    if [[ ${@[(I)-(O|A|D)]} -gt 0 ]]; then builtin compadd "$@"; return; fi
    builtin compadd -O offered "$@"
    local one
    for one in $offered; do print -r -- "offered<$one>" >>$OFFERED; done
    builtin compadd "$@"
}'
send 'finish() { print -r -- done >$OFFERED.done; zle kill-buffer; }; zle -N finish; bindkey "^X" finish'
send "cd ${(q)PWD}; print -r -- re''ady"
await ready
zpty -w -n shell "$2"$'\t'$'\x18'
integer tries=0
until [[ -e $OFFERED.done ]] || ((tries++ > 10000)); do
    zpty -r -t shell text
    zselect -t 1 2>/dev/null || { zmodload zsh/zselect; }
done
zpty -d shell
"""


def words_of(line):
    """As split by readline: "=" is a word."""
    return [word for part in line.split(" ") for word in (re.findall(r"=|[^=]+", part) or [""])] if line else [""]


def in_bash(line, directory, path, _dump):
    done = subprocess.run(["bash", "--norc", "-c", BASH, "bash", FILES["bash"], line, *words_of(line)], cwd=directory,
                          env={"PATH": path, "LC_ALL": "C"}, stdout=subprocess.PIPE, check=True, text=True, timeout=180)
    return done.stdout.split()


def in_zsh(line, directory, path, dump):
    """`dump` is created the first time: searching all functions takes zsh half a second."""
    offered = os.path.join(os.path.dirname(directory), "offered")
    for name in (offered, offered + ".done"):
        if os.path.exists(name):
            os.remove(name)
    done = subprocess.run(["zsh", "-f", "-c", ZSH, "zsh", FILES["zsh"], line], cwd=directory, text=True, timeout=180,
                          env={"PATH": path, "HOME": directory, "OFFERED": offered, "DUMP": dump, "TERM": "dumb",
                               "LC_ALL": "C"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
    assert os.path.exists(offered + ".done"), done.stdout
    if not os.path.exists(offered):
        return []
    with open(offered, encoding="utf-8") as file:
        return re.findall(r"offered<(.*)>", file.read())


def in_fish(line, directory, path, _dump):
    """What is offered stands before a tab and its description."""
    done = subprocess.run(["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", FILES["fish"], line], cwd=directory,
                          env={"PATH": path, "HOME": directory, "LC_ALL": "C.UTF-8", "TERM": "dumb"}, text=True, timeout=180,
                          stdout=subprocess.PIPE, check=True)
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


SHELLS = {"bash": in_bash, "zsh": in_zsh, "fish": in_fish}


def missing(shell):
    return not shutil.which(shell) or shell == "zsh" and not terminal.available()


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.skipif(missing(name), reason=f"no {name}, or no terminal"))
                        for name in SHELLS])
def complete(request, tmp_path, tmp_path_factory):
    """The offers at the end of a line, as a set. The working directory contains the files one and two."""
    here = tmp_path / "here"
    here.mkdir()
    for name in ("one", "two"):
        (here / name).touch()
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "oncedrop").symlink_to(lab_module.program())

    dump = str(tmp_path_factory.getbasetemp() / "zcompdump")

    def ask(line):
        return set(SHELLS[request.param](line, str(here), f"{programs}:{os.environ['PATH']}", dump))
    return ask


def help_of(*command):
    done = subprocess.run([lab_module.program(), "help", *command], stdout=subprocess.PIPE, check=True, text=True)
    return done.stdout


def commands():
    return re.findall(r"^  ([a-z]+) ", help_of(), re.MULTILINE)


def forms(command):
    """The lines with its arguments, which its help begins with."""
    return help_of(command).partition("\n\n")[0]


def options(command):
    return set(re.findall(r"(?<!\S)[\[|]*(--?[a-zA-Z][a-z-]*)", forms(command)))


def settings():
    done = subprocess.run([lab_module.program(), "config", "-d"], stdout=subprocess.PIPE, check=True, text=True)
    return {line.split("=")[0].strip() for line in done.stdout.splitlines()}


def test_commands(complete):
    assert complete("oncedrop ") - {"-c", "-o", "-v"} == set(commands())
    assert complete("oncedrop -") == {"-c", "-o", "-v"}
    assert complete("oncedrop re") == {"replay", "resume", "restore"}
    for before in ("-v", "-c one", "-o lock.wait=5s", "-v -c check -o a.b=c"):
        assert complete(f"oncedrop {before} ver") == {"version"}, before


def test_options_of_each_command(complete):
    for command in commands():
        assert complete(f"oncedrop {command} -") == options(command), command


def test_options_of_a_word(complete):
    assert complete("oncedrop list --st") == {"--state"}
    assert complete("oncedrop list --q") == {"--queue-id"}
    assert complete("oncedrop -c one replay --dry") == {"--dry-run"}


def test_what_commands_do():
    """Where a shell shows it, it is what the manual says."""
    lines = dict(re.findall(r"^  ([a-z]+) +(.*)$", help_of().partition("\n\n  -c")[0], re.MULTILINE))
    with open(FILES["zsh"], encoding="utf-8") as file:
        in_zsh_file = re.findall(r"""^        (['"])([a-z]+):(.*)\1$""", file.read(), re.MULTILINE)
    with open(FILES["fish"], encoding="utf-8") as file:
        in_fish_file = re.findall(r"-a ([a-z]+) -d '(.*)'$", file.read(), re.MULTILINE)
    assert {name: text for _, name, text in in_zsh_file} == lines
    assert {name: text.replace("\\'", "'") for name, text in in_fish_file} == lines


def test_settings(complete):
    names = settings()
    assert len(names) > 35
    assert {name.rstrip("=") for name in complete("oncedrop -o ")} == names
    assert {name.rstrip("=") for name in complete("oncedrop -v -o lock.w")} == {"lock.wait"}
    assert complete("oncedrop -o lock.wait=") == set()


def test_files(complete):
    assert complete("oncedrop -c ") == {"one", "two"}
    assert complete("oncedrop replay t") == {"two"}
    assert complete("oncedrop replay -d a@b -j 2 one t") == {"two"}


def test_values(complete):
    words = set(re.findall(r"[a-z]+", forms("schema"))) - {"oncedrop", "schema"}
    assert complete("oncedrop schema ") == words == {"install", "upgrade", "method", "print", "version"}
    words = set(re.findall(r"(?<!\S)[a-z]+", forms("ledger"))) - {"oncedrop", "ledger"}
    assert complete("oncedrop ledger ") - {"one", "two", "--running"} == words and len(words) == 8
    assert complete("oncedrop list --state ") == {"pending", "appending", "stored", "failed", "expired",
                                                         "unfinished"}
    assert complete("oncedrop list --json --state p") == {"pending"}
    assert complete("oncedrop help ") == set(commands())


def test_nothing_is_made_up(complete):
    """Where only the administrator can know the value."""
    for line in ("replay -d ", "replay -j ", "purge --older-than ", "list --since ", "deliver -f ", "list --limit ",
                 "list --sender ", "list --queue-id ", "list --min-delay ", "list --until ", "list --mailbox ", "list --subject ",
                 "list --message-id "):
        assert complete(f"oncedrop {line}") == set(), line
