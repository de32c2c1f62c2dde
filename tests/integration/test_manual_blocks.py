# SPDX-License-Identifier: ISC
"""Each code block of README and of the manuals is run: by another test, which is named, or here; or it is listed with the reason
why not.

Seen to fail with: a block that no test runs; a reason for a block that there is not; a wrong option in an example; a setting with a
wrong name in one; a misspelled setting of Postfix."""

import glob
import os
import re
import shutil
import subprocess
import sys

import expect
import pytest
from lab import lab as lab_module
from lab.messages import message

sys.path.insert(0, os.path.join(lab_module.REPOSITORY, "tests", "walkthrough"))
import steps        # noqa: E402

PAGES = sorted(glob.glob(os.path.join(lab_module.REPOSITORY, "man", "*.[1-9]")))
README = os.path.join(lab_module.REPOSITORY, "README.md")

# Run by another test: a page, and what its blocks begin with.
ELSEWHERE = {
    "oncedrop-record.7": ("", "test_views.py"),
    "oncedrop.conf.5": (r"account_file = |# postmap -s|# getent passwd", "test_account_file.py"),
}

# Parts of a configuration without its group.
GROUPS = {"conninfo = ": "database", "ignore_headers = ": "identity"}

# Of Postfix: postconf(1) reads them.
MAIN = ["virtual_transport = ", "smtpd_recipient_restrictions = ", "# main.cf"]
MASTER = ["oncedrop  unix ", "oncedrop-lmtp   unix "]

# Commands; those of others, such as postfix(1), do nothing here. With the exit statuses that are not 0 here.
COMMANDS = {
    "oncedrop-check.1": {1},     # no Postfix
    "oncedrop-expire.1": (),
    "oncedrop-config.1": (),
    "oncedrop-deliver.1": (),
    "oncedrop-export.1": (),
    "oncedrop-forget.1": {75},   # too young
    "oncedrop-help.1": (),
    "oncedrop-ledger.1": (),
    "oncedrop-ledger.7": (),
    "oncedrop-list.1": (),
    "oncedrop-locks.1": (),
    "oncedrop-log.7": (),
    "oncedrop-purge.1": (),
    "oncedrop-replay.1": (),
    "oncedrop-restore.1": (),
    "oncedrop-resume.1": (),
    "oncedrop-route.1": (),
    "oncedrop-schema.1": (),
    "oncedrop-serve.1": (),
    "oncedrop-show.1": (),
    "oncedrop-stats.1": (),
    "oncedrop-version.1": (),
    "oncedrop-imap.7": {1},
    "oncedrop-postfix.7": {1},
    "oncedrop.1": {1},
    "oncedrop.conf.5": {1},
}

# Not run: a page, the beginning of a block, and why.
PRINTED, SERVER = "what is printed", "for a server that this test does not have; test_server_setups.py has the files of conf"
NOT_RUN = {
    ("oncedrop-deliver.1", "2.1.5 stored"): PRINTED,
    ("oncedrop-feed.1", "# oncedrop feed run"): "it goes on; test_feed.py runs it",
    ("oncedrop-feed.1", "# systemctl enable"): "it needs systemd",
    ("oncedrop-feed.1", "CREATE TABLE ticket"): "an application's statements; test_feed.py has such",
    ("oncedrop-feed.1", "GRANT oncedrop_feed"): "it needs a database server; test_feed_sql.py does it",
    ("oncedrop-feed.1", "BEGIN;"): "an application's transaction; test_feed_sql.py has such ones",
    ("oncedrop-feed.1", "SET SESSION TRANSACTION"): "an application's session; test_feed_sql.py has such ones",
    ("oncedrop-imap.7", "proxyservers:"): SERVER,
    ("oncedrop-imap.7", "# saslpasswd2"): SERVER,
    ("oncedrop-imap.7", "authmodulelist="): SERVER,
    ("oncedrop-imap.7", "MAXDAEMONS="): SERVER,
    ("oncedrop-imap.7", "plugin {"): "a line for each of two versions of Dovecot; test_names.py has both",
    ("oncedrop-lab.1", "oncedrop-lab python3"): "FILE and tests of somebody's application; test_lab.py runs conf/lab",
    ("oncedrop-lab.1", "$ oncedrop-lab"): "it is interactive; test_lab.py runs conf/lab",
    ("oncedrop-lab.1", "lab = subprocess"): "it is Python; test_lab.py does the same",
    ("oncedrop-ledger.1", "# owner='host"): "it needs PostgreSQL with an owner; the walkthrough does the same",
    ("oncedrop-ledger.7", "mkdir /var/lib"): "a damaged file; tests/faults/test_ledger_files.py does the same",
    ("oncedrop-ledger.7", "runuser -u oncedrop"): "a damaged file; tests/faults/test_ledger_files.py does the same",
    ("oncedrop-ledger.7", "install -o oncedrop"): "a damaged file; tests/faults/test_ledger_files.py does the same",
    ("oncedrop-ledger.7", "T='host=localhost"): "two ledgers; test_ledger.py copies between all engines",
    ("oncedrop-locks.1", "GRANT pg_read_all_stats"): "a superuser's statement in PostgreSQL; test_roles.py has it",
    ("oncedrop-log.7", "oncedrop[725]:"): PRINTED,
    ("oncedrop-log.7", '{"time"'): PRINTED,
    ("oncedrop-log.7", "debug: "): PRINTED,
    ("oncedrop-migration.7", "T='host=db2"): "two ledgers; test_migration.py does it with hosts of this machine",
    ("oncedrop-postfix.7", "# doveadm expunge"): "of a system's Dovecot",
    ("oncedrop-route.1", "address: info"): PRINTED,
    ("oncedrop-scale.7", "$ make bench"): "it takes an hour",
    ("oncedrop-setup.1", "# oncedrop setup"): "it changes the system; test_setup.py and the walkthrough run it",
    ("oncedrop-setup.7", "oncedrop[725]:"): PRINTED,
    ("oncedrop-setup.7", "apt install"): "it needs the network, or the package; tests/check-deb installs that",
    ("oncedrop-show.1", "$ oncedrop show cookies.1@example.org |"): "a session of psql; test_lock_method.py holds such locks",
}


def of_page(page):
    """Each block, as a reader sees it."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    if page == README:
        yield from re.findall(r"^```.*\n((?:.*\n)*?)```$", text, re.M)
        return
    for literal, line in re.findall(r"^\.Bd -literal.*\n((?:.*\n)*?)\.Ed$|^\.Dl (.*)$", text, re.M):
        yield re.sub(r"\\&", "", (literal or line + "\n").replace(r"\e", "\\"))


def walked():
    """What the walkthrough runs: test_readme.py."""
    return {block.text for way in steps.WAYS for block in steps.blocks(way)}


def kind(name, text, walk):
    """Who runs a block: None if no test does."""
    if text in walk:
        return "walkthrough"
    for (page, start), _ in NOT_RUN.items():
        if page == name and text.startswith(start):
            return "not run"
    if name in ELSEWHERE and re.match(ELSEWHERE[name][0], text):
        return "elsewhere"
    if text.startswith("[") or any(text.startswith(start) for start in GROUPS):
        return "configuration"
    if any(text.startswith(start) for start in MAIN):
        return "main.cf"
    if any(text.startswith(start) for start in MASTER):
        return "master.cf"
    return "commands" if name in COMMANDS and re.match(r"[#$] ", text) else None


def blocks():
    walk = walked()
    for page in [README, *PAGES]:
        name = os.path.basename(page)
        for text in of_page(page):
            yield name, text, kind(name, text, walk)


def of_kind(*kinds):
    found = [(name, text) for name, text, of in blocks() if of in kinds]
    return pytest.mark.parametrize("name,text", found, ids=[f"{name}: {text.splitlines()[0][:40]}" for name, text in found])


def test_each_block_is_run_or_listed():
    assert not [(name, text) for name, text, of in blocks() if of is None]


def test_the_lists_are_of_what_there_is():
    found = [(name, text) for name, text, _ in blocks()]
    for page, start in NOT_RUN:
        assert [text for name, text in found if name == page and text.startswith(start)], (page, start)
    for start in [*GROUPS, *MAIN, *MASTER]:
        assert [text for _, text in found if text.startswith(start)], start
    used = {name for name, _, of in blocks() if of == "commands"}
    assert used == set(COMMANDS)


@of_kind("configuration")
def test_configuration(site, name, text):
    """It is valid, given a password. What is printed in several lines, and said to be one, is joined."""
    for start, group in GROUPS.items():
        if text.startswith(start):
            blank = "" if "mariadb:" in text else " "
            text = f"[{group}]\n" + blank.join(line.strip() for line in text.splitlines()) + "\n"
    options = ["-c", site.write("block.conf", text)]
    if "password_command" not in text and "\ncommand =" not in text:
        options += ["-o", f"imap.password_file={site.password_file}"]
    done = site.run("config", "--test", config=False, options=options)
    assert done.exit == 0, (name, done)


@pytest.mark.skipif(not shutil.which("postconf"), reason="no Postfix")
@of_kind("main.cf", "master.cf")
def test_postfix(tmp_path, name, text):
    """Postfix reads it, and knows each name."""
    of = kind(name, text, set())
    main = f"compatibility_level = 3.6\n{text if of == 'main.cf' else ''}"
    (tmp_path / "main.cf").write_text(main)
    (tmp_path / "master.cf").write_text("" if of == "main.cf" else text)
    done = subprocess.run(["postconf", "-c", str(tmp_path), "-n" if of == "main.cf" else "-M"], capture_output=True, text=True, check=True)
    unknown = [line for line in done.stderr.splitlines() if "oncedrop_destination" not in line]
    assert done.stdout and not unknown, (name, unknown)


# Commands

OTHERS = ["postfix", "postqueue", "postsuper", "systemctl"]


@pytest.fixture
def shell(site):
    """Runs a script in which oncedrop has this site's configuration, and the files that the manuals name are there: returns the
    exit status of each command."""
    lisa, doug = site.account("lisa"), site.account("doug")
    directory = site.lab.new_directory("shell")
    programs, backup = (os.path.join(directory, name) for name in ("programs", "backup"))
    for path in (programs, f"{backup}/Maildir/cur", f"{backup}/Maildir/new", f"{backup}/Maildir/tmp"):
        os.makedirs(path)
    site.settings.update({"record.level": "raw", "service.user": ""})
    expect.stored(site.deliver(message(id="cookies.1@example.org"), lisa, "-q", "4bcDEf1GhjzKl"))
    password = site.settings["imap.password_file"]
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")
    for queue_id in ("3D1C4398", "3D1C4399"):
        expect.deferred(site.deliver(message(), doug, "-q", queue_id))
    site.settings["imap.password_file"] = password
    for path in ("Maildir/new/1", "lisa.mbox"):
        with open(os.path.join(backup, path), "wb") as file:
            file.write(b"From x@example.net Fri Aug  1 10:00:00 2025\n" * (path == "lisa.mbox") +
                       f"Delivered-To: {lisa}\n".encode() + message())
    with open(os.path.join(backup, "Inbox"), "wb") as file:
        file.write(b"From - \r\n" + message())
    with open(os.path.join(directory, "message"), "wb") as file:
        file.write(message())
    site.write("new.conf", site.configuration())

    def program(name, text):
        path = os.path.join(programs, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
    for other in OTHERS:
        program(other, ":")
    configuration = site.write("block.conf", site.configuration())
    program("oncedrop", f"""'{lab_module.program()}' -c '{configuration}' "$@"\nstatus=$?\necho $status >>"$STATUSES"\nexit $status""")
    statuses = os.path.join(directory, "statuses")

    def run(script):
        for there, here in (("lisa@example.org", lisa), ("doug@example.org", doug), ("info@example.org", lisa), ("/backup/", backup + "/"),
                            ("/var/backups/oncedrop/", directory + "/"), ("/var/backups/", directory + "/"), ("sqlite:FILE", f"sqlite:{site.database}"),
                            ("/etc/oncedrop", site.directory)):
            script = script.replace(there, here)
        environment = {**site.environment(), "PATH": f"{programs}:{os.environ['PATH']}", "STATUSES": statuses, "HOME": directory}
        done = subprocess.run(["sh", "-ec", script.replace("\noncedrop", "\n oncedrop")], cwd=directory, env=environment, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)
        if not os.path.exists(statuses):
            return [done.returncode], done
        with open(statuses, encoding="utf-8") as file:
            return [int(line) for line in file], done
    return run


@pytest.mark.sqlite
@of_kind("commands")
def test_commands(shell, name, text):
    """What stands behind the prompts, and what goes on in the next lines."""
    script = re.sub(r"^[#$] ", "", text, flags=re.M)
    statuses, done = shell("set +e\n" + script)
    count = len(re.findall(r"^oncedrop |&& oncedrop ", script, re.M))
    assert len(statuses) >= max(count, 1) and set(statuses) <= {0, *COMMANDS[name]}, done
