# SPDX-License-Identifier: ISC
"""The commands for people: ordinary exit statuses, errors on stderr."""

import json
import os
import re
import sqlite3
import subprocess

import expect
import pytest
from lab import lab as lab_module
from lab.ledger import MARIADB, POSTGRES, SQLITE, engine
from lab.messages import message, new_id

COMMANDS = ["deliver", "lmtp", "serve", "replay", "resume", "restore", "setup", "schema", "ledger", "check", "route", "config", "show", "list", "locks", "stats", "purge",
            "expire", "export", "forget", "version", "help"]


def test_version(site):
    """The same as text and for programs, and by the option; without a configuration."""
    done = site.run("version", config=False)
    first, *lines = done.out.splitlines()
    assert done.exit == 0 and re.fullmatch(r"oncedrop \d+(\.\d+)+", first) and not done.err, done
    facts = dict(line.split(": ", 1) for line in lines)
    assert list(facts) == ["commit", "compiler", "main", "tls", "decode", "postgres", "sqlite", "mariadb"], done
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?|unknown", facts["commit"]), done
    assert facts["sqlite"] == "SQLite " + sqlite3.sqlite_version, done
    for name, pattern in (("compiler", r".*\d\.\d.*"), ("main", r"GLib 2\.\d+\.\d+"), ("decode", r"gmime 3\.\d+\.\d+"),
                          ("tls", r"GnuTLS \d+\.\d+\.\d+, libetpan \d\.\d+"), ("postgres", r"libpq \d+\.\d+"),
                          ("mariadb", r"libmariadb \d+\.\d+\.\d+")):
        assert re.fullmatch(pattern, facts[name]), (name, done)
    assert site.run(options=["--version"], config=False).out == done.out
    commit = None if facts["commit"] == "unknown" else facts["commit"]
    assert json.loads(site.run("version", "--json", config=False).out) == {"version": first.split()[1], **facts, "commit": commit}


def test_help(site):
    done = site.run("help", config=False)
    assert done.exit == 0 and not done.err, done
    for command in COMMANDS:
        assert command in done.out
        more = site.run("help", command, config=False)
        assert more.exit == 0 and command in more.out, more


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["-x", "deliver"], ["-c"], ["-o"]])
def test_what_is_wrong_before_the_command_defers(site, arguments):
    """The caller may be Postfix."""
    expect.deferred(site.run(*arguments, config=False))


@pytest.mark.parametrize("arguments", [["schema"], ["schema", "nonsense"], ["ledger"], ["ledger", "nonsense"], ["show"], ["show", "a", "b"], ["locks", "a"],
                                       ["config", "-x"], ["help", "nonsense"]])
def test_wrong_usage_for_people(site, arguments):
    done = site.run(*arguments)
    assert done.exit == 64 and done.err and not done.out, done


@pytest.mark.parametrize("arguments", [["ledger", "install"], ["show", "a"], ["locks"], ["check"], ["config"]])
def test_a_bad_configuration_for_people(site, arguments):
    site.settings["imap.hots"] = "x"
    done = site.run(*arguments)
    assert done.exit == 78 and "hots" in done.err and "oncedrop.conf" in done.err and not done.out, done


@pytest.mark.postgres
@pytest.mark.parametrize("arguments", [["ledger", "install"], ["ledger", "version"], ["show", "a"], ["locks"]])
def test_a_database_that_is_not_there_for_people(site, arguments):
    site.settings["database.conninfo"] = "host=127.0.0.1 port=1 dbname=x user=x"
    done = site.run(*arguments)
    assert done.exit in (69, 75) and done.err, done


def settings_of(done):
    assert done.exit == 0 and not done.err, done
    return dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in done.out.splitlines())


def test_config(site):
    site.settings["lock.wait"] = "5s"
    everything, changed = settings_of(site.run("config")), settings_of(site.run("config", "-n"))
    defaults = settings_of(site.run("config", "-d"))
    foreign = {POSTGRES: {"database.durability"}, MARIADB: {"database.schema", "record.notify"},
               SQLITE: {"database.tls", "database.durability", "database.schema", "record.notify"}}[engine()]
    assert everything.keys() == defaults.keys() - foreign
    assert len(everything) > 35
    assert {name: everything[name] for name in changed} == changed
    assert changed == {name: value for name, value in everything.items() if value != defaults[name]}
    assert everything["lock.wait"] == "5s" and defaults["lock.wait"] == "0s"
    assert defaults["delivery.hold_off"] in ("320s", "5m20s")


def test_config_for_programs(site):
    site.settings["lock.wait"] = "5s"
    for words in ([], ["-n"], ["-d"]):
        assert json.loads(site.run("config", "--json", *words).out) == settings_of(site.run("config", *words)), words
    assert json.loads(site.run("config", "-n", "--json").out)["lock.wait"] == "5s"
    assert "password=mailer" not in site.run("config", "--json").out
    done = site.run("config", "--json", "--test")
    assert done.exit == 0 and not done.out, done


def test_config_shows_no_password(site):
    done = site.run("config")
    shown = {POSTGRES: "password=***", MARIADB: "database.conninfo=mariadb://mailer:***@127.0.0.1:",
             SQLITE: f"database.conninfo={site.settings['database.conninfo']}\n"}[engine()]
    assert shown in done.out.replace("'", "").replace(" = ", "="), done
    assert site.lab.dovecot.password not in done.out and "password=mailer" not in done.out and ":mailer@" not in done.out


def test_override(site):
    settings = settings_of(site.run("config", options=["-o", "lock.wait=7s", "-o", "lock.wait=8s"]))
    assert settings["lock.wait"] == "8s"
    for override in ("lock.wait", "lock.wait=x", "lock.nonsense=1", "nonsense=1", "=", ""):
        done = site.run("config", options=["-o", override])
        assert done.exit == 78 and not done.out, done
        expect.deferred(site.deliver(message(), "scuba@example.org", options=["-o", override]), r"4\.3\.5")


@pytest.mark.postgres
def test_schema(site):
    fresh = site.lab.postgres.create_database(lab_module.OWNER)
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(fresh, lab_module.OWNER)
        assert site.run("ledger", "version").exit == 1
        done = site.run("ledger", "upgrade")
        assert done.exit == 1 and "install" in done.err, done
        for command in ("install", "install", "upgrade", "version"):
            done = site.run("ledger", command)
            assert done.exit == 0 and not done.err, (command, done)
    finally:
        site.lab.postgres.drop_database(fresh)


@pytest.mark.postgres
def test_schema_installed_by_several_at_once(site):
    fresh = site.lab.postgres.create_database(lab_module.OWNER)
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(fresh, lab_module.OWNER)
        running = [site.start("ledger", "install") for _ in range(5)]
        for process in running:
            done = process.finish()
            assert done.exit == 0, done
    finally:
        site.lab.postgres.drop_database(fresh)


@pytest.mark.postgres
def test_schema_print_is_sql(site):
    done = site.run("ledger", "print")
    assert done.exit == 0 and "@schema@" not in done.out, done
    fresh = site.lab.postgres.create_database(lab_module.OWNER)
    try:
        conninfo = site.lab.postgres.conninfo(fresh, lab_module.OWNER)
        psql = [site.lab.postgres.program("psql"), "-qv", "ON_ERROR_STOP=1", conninfo]
        cut = subprocess.run(psql, input=done.out.removesuffix("COMMIT;\n"), text=True, capture_output=True, check=False)
        site.settings["database.conninfo"] = conninfo
        assert cut.returncode == 0 and "version 0 installed" in site.run("ledger", "version").out, cut
        subprocess.run(psql, input=done.out, text=True, check=True)
        assert site.run("ledger", "version").exit == 0
    finally:
        site.lab.postgres.drop_database(fresh)


@pytest.mark.postgres
def test_every_table_and_column_has_a_comment(site):
    bare = site.sql("""
        SELECT c.relname, a.attname FROM pg_class c
          JOIN pg_attribute a ON a.attrelid = c.oid AND (a.attnum > 0) AND NOT a.attisdropped
         WHERE c.relnamespace = 'oncedrop'::regnamespace AND c.relkind = 'r'
           AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)""")
    assert bare == []


def test_show(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    id = new_id()
    done = site.run("show", id)
    assert done.exit == 1 and "lock_key: " in done.out, done
    expect.stored(site.deliver(message(id=id, sender=lisa, subject="What is this?"), scuba, "-q", "4abcDEF", sender=lisa))
    for name in (id, f"<{id}>", "4abcDEF", site.value("SELECT digest FROM oncedrop.message").hex()):
        done = site.run("show", name)
        assert done.exit == 0 and not done.err, done
        for word in (id, scuba, lisa, "INBOX", "Sent", "stored"):
            assert word in done.out, (word, done)


def test_show_prints_no_control_characters(site):
    scuba = site.account()
    expect.stored(site.deliver(b"Subject: =?utf-8?q?=1b[31m_red?=\n" + message(id=b"x\x1b[31m@y"), scuba))
    done = site.run("show", "x\x1b[31m@y")
    assert done.exit == 0, done
    assert "\x1b" not in done.out


def test_locks_when_there_are_none(site):
    done = site.run("locks")
    assert done.exit == 0 and not done.err, done


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_standard_descriptors(site, closed):
    scuba = site.account()
    path = site.write("oncedrop.conf", site.configuration())
    words = [lab_module.program(), "-c", path, "deliver", "-d", scuba]
    done = subprocess.run(["sh", "-c", f'exec "$@" {closed}', "sh", *words], input=message(), env=site.environment(),
                          stdout=subprocess.PIPE, check=False)
    assert done.returncode == (75 if "<&-" in closed else 0)
    assert site.count(scuba) == (0 if "<&-" in closed else 1)


def test_surplus_descriptors_and_an_empty_environment(site):
    scuba = site.account()
    path = site.write("oncedrop.conf", site.configuration())
    read, write = os.pipe()
    done = subprocess.run([lab_module.program(), "-c", path, "deliver", "-d", scuba], input=message(), env={},
                          stdout=subprocess.PIPE, pass_fds=[read, write], check=False)
    os.close(read)
    os.close(write)
    assert done.returncode == 0


@pytest.mark.parametrize("command", ["config", "config -d", "version", "help", "help list", "list --help", "ledger print",
                                     "ledger version", "list", "list --json", "stats", "stats --json", "stats --prometheus",
                                     "show <{id}>", "show --json <{id}>", "locks --json", "route {scuba}",
                                     "route --json {scuba}", "check {scuba}", "check --json {scuba}",
                                     "purge --older-than 7d", "purge --older-than 7d --json", "replay --dry-run {file}",
                                     "replay --dry-run --json {file}", "export {scuba}", "forget {scuba}"])
def test_what_cannot_be_printed_is_told(site, command):
    """A disk that is full is; that the reader has gone makes the exit status only.

    Seen to fail: main without end_output."""
    scuba, id = site.account(), new_id()
    mail = message(id=id)
    expect.stored(site.deliver(mail, scuba))
    words = [word.format(id=id, scuba=scuba, file=site.write("mail", mail.decode())) for word in command.split()]
    words = [lab_module.program(), "-c", site.write_configuration(words), *words]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, env=site.environment(), check=False, text=True)
    assert done.returncode > 0 and "oncedrop: cannot write the output: " in done.stderr, done
    for restore in (True, False):       # whether SIGPIPE ends it
        reader, writer = os.pipe()
        os.close(reader)
        with open(writer, "wb") as gone:
            done = subprocess.run(words, stdout=gone, stderr=subprocess.PIPE, env=site.environment(), check=False, text=True,
                                  restore_signals=restore)
        assert done.returncode and "cannot write" not in done.stderr, done
