# SPDX-License-Identifier: ISC
"""Errors in a command line, a database and a configuration: the message has the cause, once, and what is allowed.

Seen to fail with: an option's value not named; libpq's lines said twice, or not at all; a password among them; the hint
for a missing schema left out; the ledger opened before a wrong command line is refused; an option of two forms of a command line
taken for ambiguous; --help taken for success where a user sends a message."""

import datetime
import grp
import os
import re
import subprocess

import expect
import pytest
from lab import lab as lab_module, terminal
from lab.messages import message

COMMANDS = ["deliver", "lmtp", "serve", "replay", "resume", "restore", "setup", "schema", "ledger", "check", "route", "config", "show", "list", "locks", "stats",
            "purge", "expire", "export", "forget", "version", "help"]

# Arguments, and words of the answer.
WRONG = [
    ("list --state foo", "--state foo", "pending, appending, stored, failed, expired or unfinished"),
    ("list --since banana", "--since banana", "yesterday", "2h", "2025-08-01T10:00Z"),
    ("list --since 5", "--since 5", "2h"),
    ("list --since 2025-02-30", "--since 2025-02-30"),
    ("list --limit many", "--limit many", "a number from 1"),
    ("list --limit", "--limit needs a value"),
    ("list --recipient", "--recipient needs a value"),
    ("list --sta", "--state needs a value"),
    ("list --s x", "may be any of --state, --since"),
    ("list x", "unexpected argument 'x'"),
    ("purge --older-than banana", "--older-than banana", "at least 7 days"),
    ("purge --older-than 6d", "7 days"),
    ("list --missing --state pending", "--missing is of stored copies"),
    ("purge", "--older-than AGE is missing"),
    ("setup --dry x", "'x'"),
    ("purge --older-than 30d x", "'x'"),
    ("export", "an address is missing"),
    ("forget --yes", "an address is missing"),
    ("forget --yes --dry-run a@b", "give only one of --dry-run and --yes"),
    ("replay", "PATH is missing"),
    ("replay -j 0 x", "-j 0", "from 1 to 64"),
    ("replay -j", "-j needs a value"),
    ("replay -xd a x", "unknown option -x"),
    ("replay --verify --force x", "only one of --verify and --force"),
    ("resume -j 65", "-j 65", "from 1 to 64"),
    ("resume x", "'x'"),
    ("restore --since soon", "--since", "an age"),
    ("schema", "install, upgrade, method, print or version"),
    ("schema instal", "instal", "install, upgrade, method, print or version"),
    ("schema install now", "'now'"),
    ("ledger", "backup, check, copy, install, upgrade, method, print or version"),
    ("ledger instal", "instal", "backup, check, copy, install, upgrade, method, print or version"),
    ("ledger install now", "install: takes nothing more"),
    ("check --jsno", "--jsno"),
    ("check a b", "'b'"),
    ("route", "ADDRESS is missing"),
    ("config -x", "-x"),
    ("config -n -d", "only one of"),
    ("config --test=1", "--test takes no value"),
    ("show", "id of a message is missing"),
    ("show a b", "'b'"),
    ("show --digest a", "--digest a", "64 hexadecimal digits"),
    ("locks now", "'now'"),
    ("stats --json --prometheus", "--json", "--prometheus"),
    ("stats --jason", "--jason"),
    ("help lsit", "lsit", "nearest: list"),
    ("help list show", "unexpected argument 'show'"),
    ("version x", "unexpected argument 'x'"),
]


def test_a_wrong_command_line(site):
    site.settings.update(site.ledger.out_of_reach()[0])      # which is not even tried
    for typed, *words in WRONG:
        done = site.run(*typed.split())
        assert done.exit == 64 and not done.out, (typed, done)
        first = done.err.split("\n")[0]
        assert first.startswith(f"oncedrop: {typed.split()[0]}: ") and all(word in first for word in words), (typed, done)


def test_relative_times(site):
    """One of two copies is new."""
    for _ in range(2):
        expect.stored(site.deliver(message(), site.account()))
    ago, now = site.ledger.ago(hours=1), site.ledger.now().astimezone(datetime.timezone.utc)
    the_day_before = now.replace(hour=0, minute=0) - datetime.timedelta(minutes=2)
    for since, then, found in (("2h", ago, 2), ("1m", ago, 1), ("today", the_day_before, 1), ("yesterday", the_day_before, 2),
                               ("YESTERDAY", the_day_before, 2)):
        site.sql("UPDATE oncedrop.copy SET first_at = %s WHERE id = 1", (then,))
        done = site.run("list", "--since", since, env={"TZ": "UTC0"})
        assert done.exit == 0 and len(done.out.splitlines()) == 1 + found, (since, done)


def test_help_behind_a_command(site):
    for command in COMMANDS:
        helped = site.run("help", command, config=False)
        done = subprocess.run([lab_module.program(), command, "--help"], stdin=subprocess.DEVNULL, env=site.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, helped.out, "") and helped.exit == 0, done
    assert site.run("list", "--limit", "5", "--help").out == site.run("help", "list").out


def test_help_is_no_delivery(site):
    """Exit status 0 would tell Postfix that the message was delivered."""
    for arguments in (["deliver", "--help"], ["deliver", "-d", "a@b", "--help"]):
        expect.deferred(site.run(*arguments, stdin=message()))


def test_a_wrong_command_line_of_a_delivery(site):
    for typed, said in (("--frob", "option --frob is unknown"), ("-x", "option -x is unknown"), ("-d", "option -d needs a value"),
                        ("-s much", "option -s needs a number"), ("a b", "unexpected argument 'a'")):
        expect.deferred(site.run("deliver", *typed.split(), stdin=message()), r"4\.3\.5", said)


def on_terminal(site, *words):
    process, fd = terminal.spawn([lab_module.program(), *words], site.environment({"TERM": "xterm"}))
    output = b""
    try:
        while piece := os.read(fd, 65536):
            output += piece
    except OSError:     # end of file at a terminal
        pass
    os.close(fd)
    return process.wait(), output.decode()


@pytest.mark.skipif(not terminal.available(), reason="no pseudo-terminals here")
def test_what_is_typed_wrong_before_the_command(site):
    for words, said in ((["lsit"], "nearest: list"), (["LST"], "nearest: list"), (["ersio"], "nearest: version"),
                        (["most"], "no such command: most; see"), (["x"], "no such command: x; see"), (["frobnicate"], "no such command: frobnicate"), ([], "no command"),
                        (["-x", "list"], "unknown option -x"), (["--nonsense", "list"], "unknown option --nonsense"),
                        (["-c"], "-c before")):
        status, output = on_terminal(site, *words)
        assert status == 64 and said in output and "oncedrop help" in " ".join(output.split()), output
        expect.deferred(site.run(*words, config=False), r"4\.3\.5")


def test_config_test(site):
    done = site.run("config", "--test")
    assert (done.exit, done.out, done.err) == (0, "", ""), done
    site.settings["imap.hots"] = "x"
    done = site.run("config", "--test")
    assert done.exit == 78 and "hots" in done.err and not done.out, done


def test_no_configuration(site):
    """Where make install has left a sample, it is named."""
    path = os.path.join(site.directory, "none.conf")
    done = site.run("list", config=False, options=["-c", path])
    assert done.exit == 78 and done.err == f"oncedrop: {path}: cannot be opened: No such file or directory\n", done
    site.write("none.conf.sample", "")
    done = site.run("list", config=False, options=["-c", path])
    assert done.exit == 78 and done.err.endswith(f"; to begin with: oncedrop setup --help, or copy {path}.sample there\n"), done


@pytest.mark.skipif(os.getuid() != 0, reason="not root")
def test_a_configuration_for_others(site):
    path = site.write("other.conf", site.configuration(), 0o640)
    for directory in (site.lab.directory, site.directory):
        os.chmod(directory, 0o755)
    os.chown(path, 0, grp.getgrnam("mail").gr_gid)
    for_all = site.lab.new_directory("program")
    os.chmod(for_all, 0o755)
    program = lab_module.copy_program(for_all)
    done = subprocess.run(["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program, "-c", path, "list"],
                          env=site.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True)
    assert done.returncode == 78 and "Permission denied for the user nobody; root and the group mail may read it" in done.stderr


def test_a_template_that_is_none_is_in_a_file(site):
    site.settings["route.account"] = "%{foo}"
    done = site.run("config", "--test")
    assert done.exit == 78 and re.match(r"oncedrop: /\S+oncedrop\.conf: \[route\] account = %{foo}: only", done.err), done


@pytest.mark.postgres
def test_a_schema_is_installed_once(site):
    fresh = site.lab.postgres.create_database(lab_module.OWNER)
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(fresh, lab_module.OWNER)
        done = site.run("ledger", "install")
        assert done.exit == 0 and "installed" in done.out, done
        for command in ("install", "upgrade"):
            done = site.run("ledger", command)
            assert (done.exit, done.out, done.err) == (0, "", ""), done
    finally:
        site.lab.postgres.drop_database(fresh)


@pytest.mark.postgres
@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_of_another_encoding(site, encoding):
    postgres, name = site.lab.postgres, site.lab.postgres.new_name()
    postgres.admin(f"CREATE DATABASE {name} OWNER {lab_module.OWNER} TEMPLATE template0 ENCODING {encoding} LOCALE 'C'")
    try:
        site.settings["database.conninfo"] = postgres.conninfo(name, lab_module.OWNER)
        done = site.run("ledger", "install")
        assert done.exit == 69 and f"is {encoding}" in done.err and "--encoding=UTF8" in done.err, done
        done = site.run("check")
        assert done.exit == 1 and re.search(rf"^failed +encoding .*{encoding}", done.out, re.M), done
    finally:
        postgres.drop_database(name)


@pytest.mark.postgres
def test_no_schema(site):
    path = site.write("one.eml", message().decode())
    for words in ("list", "show a@b", "locks", "stats", "resume", "restore", "purge --older-than 30d", "purge --older-than 30d --dry-run",
                  "export a@b", "forget a@b", "forget --yes a@b", f"replay -d a@b {path}", f"replay --dry-run -d a@b {path}", "ledger upgrade", "check", "deliver -d a@b"):
        done = site.run(*words.split(), options=["-o", "database.schema=elsewhere"], stdin=message())
        assert done.exit != 0 and "oncedrop ledger install" in " ".join((done.out + done.err).split()), (words, done)


@pytest.mark.postgres
def test_the_owner_is_named(site):
    """A role that may not read the schema's version does not own it either."""
    site.lab.postgres.admin("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, "stranger")
        done = site.run("ledger", "upgrade")
        assert done.exit == 69 and "connect as the schema's owner" in done.err, done
    finally:
        site.lab.postgres.admin("DROP ROLE stranger")


@pytest.mark.postgres
def test_a_summary_of_nothing(site):
    """resume has not begun when the record cannot be read."""
    done = site.run("resume", options=["-o", "database.schema=elsewhere"])
    assert done.exit == 69 and not done.out and done.err.count("\n") == 1, done


def test_route_says_once_that_the_query_fails(site):
    site.settings["route.account_query"] = "SELECT nonsense"
    done = site.run("route", "a@b", "c@d", "e@f")
    assert done.exit == 69 and done.err.count("nonsense") == 1, done


@pytest.mark.postgres
def test_a_database_that_one_may_not_enter(site):
    """libpq's DETAIL is a part of the sentence."""
    site.lab.postgres.admin("CREATE ROLE stranger LOGIN PASSWORD 'stranger'")
    site.lab.postgres.admin(f"REVOKE CONNECT ON DATABASE {site.database} FROM PUBLIC")
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, "stranger")
        done = site.run("check")
        assert (f'failed: FATAL: permission denied for database "{site.database}": User does not have CONNECT privilege;'
                " to fix it, run: runuser") in done.out, done
    finally:
        site.lab.postgres.admin(f"GRANT CONNECT ON DATABASE {site.database} TO PUBLIC")
        site.lab.postgres.admin("DROP ROLE stranger")


@pytest.mark.postgres
def test_what_libpq_says_again_is_said_once(site):
    """There is a line for each address, or with and without TLS."""
    site.settings["database.conninfo"] = "host=127.0.0.1,127.0.0.1 port=1,1 dbname=x user=x"
    done = site.run("list")
    assert done.exit == 69 and done.err.count("Connection refused. Is the server running") == 1, done


@pytest.mark.postgres
def test_a_wrong_password(site):
    """Once, after the name of the item, and not shown."""
    site.settings["database.conninfo"] = site.settings["database.conninfo"].replace("password=mailer", "password=wrong")
    for done in (site.run("check"), site.run("replay", "-d", "a@b", site.write("one.eml", message().decode()))):
        said = done.out + done.err
        assert done.exit != 0 and said.count("password authentication failed") == 1 and "wrong" not in said, done
    assert re.search(r"^failed +database +no connection: ", site.run("check").out, re.M)


CONNINFOS = [   # libpq's words, and what must not be shown
    ("dbnam=x", 'invalid connection option "dbnam"', "?"),
    ("host=x y", 'missing "=" after "y"', "?"),
    ("password=one two", 'missing "="', "two"),
    ("host=x password='one", "unterminated", "one"),
    ("postgresql://a:secret@[::1", "looking for matching", "secret"),
    ("postgresql://a:secret@h/d?x", "missing key/value separator", "secret"),
]


@pytest.mark.postgres
def test_a_conninfo_that_is_none(site):
    for conninfo, said, hidden in CONNINFOS:
        site.settings["database.conninfo"] = conninfo
        done = site.run("list")
        assert done.exit == 69 and said in done.err and hidden not in done.err, done


def test_nothing_is_said_twice_by_check(site):
    """Nor an ok after a warning of the same item."""
    site.settings.update({"route.sent": "\\Sent", "database.conninfo": "host=127.0.0.1 port=1 dbname=x"})
    done = site.run("check", site.account())
    items = re.findall(r"^(ok|warning|failed) +(\S+)", done.out, re.M)
    bad = {item for status, item in items if status != "ok"}
    assert "sent" in bad and not bad & {item for status, item in items if status == "ok"}, done
    assert not re.search(r"^\w+ +(\w+) +\1: ", done.out, re.M), done
