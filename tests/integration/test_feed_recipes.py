# SPDX-License-Identifier: ISC
"""The recipes for feeds in conf/application, as they are installed.

feed-pipe gets a stand-in for a help desk's program: none of those that it names was run.

Seen to fail with: parts ordered as text, attachments taken for the text; no SKIP LOCKED; no COMMIT; no DELETE; a ticket that
the table refuses and that ends the recipe; no ON CONFLICT; status 1 for a locked database; a random Idempotency-Key; a
redirection taken for success; 429, 503 or no connection taken for a refusal; a program that is not there, or takes too long,
taken for a refusal; arguments split at blanks; a ticket that Django makes twice."""

import contextlib
import http.server
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import textwrap
import threading

import expect
import pytest
from lab import lab as lab_module
from lab.messages import message, new_id
from lab.process import free_port, wait_until

FOLDER = os.path.join(lab_module.REPOSITORY, "conf", "application")
NODE, NODE_PATH = shutil.which("node"), os.environ.get("NODE_PATH") or "/usr/share/nodejs"
PDF = "--b\nContent-Type: application/pdf\n\nx\n"


@pytest.fixture
def site(site):
    site.settings["feed support.recipient"] = "support*"
    return site


def recipe(name):
    return os.path.join(FOLDER, name)


def deliver(site, **more):
    expect.stored(site.deliver(message(id=new_id(), **more), site.account("support")))


def run(site, *command, env=None):
    """`feed run`, with one try; returns how many messages were finished, left for later, or are dead."""
    done = site.run("feed", "run", "--tries", "1", "support", "--", *command, env=env)
    found = re.fullmatch(r"(\d+) finished, (\d+) left for later, (\d+) dead\n", done.out)
    assert found, done
    return tuple(map(int, found.groups()))


def run_again(site, *command, env=None):
    """As if the time until the next try were over."""
    site.sql("UPDATE oncedrop.feed SET not_before = added_at")
    return run(site, *command, env=env)


FINISHED, LATER, DEAD = (1, 0, 0), (0, 1, 0), (0, 0, 1)


# feed-ticket.py

class Tickets:
    """Starts the recipe with a role and a table as its comment creates them."""

    def __init__(self, site):
        self.site, self.role = site, f"helpdesk{site.number}"
        site.lab.postgres.create_role(self.role)
        with open(recipe("feed-ticket.py"), encoding="utf-8") as file:
            statements = re.findall(r"^    ((?:GRANT|CREATE TABLE|INSERT) .*);$", file.read(), re.M)
        assert len(statements) == 4
        for statement in statements:
            site.sql(re.sub(r"\bhelpdesk\b", self.role, statement))
        self.processes = []

    def start(self):
        conninfo = self.site.lab.postgres.conninfo(self.site.database, self.role)
        self.processes.append(subprocess.Popen([sys.executable, "-B", recipe("feed-ticket.py"), conninfo, "support"]))

    def start_node(self):
        server = f"127.0.0.1:{self.site.lab.postgres.port}/{self.site.database}"
        self.processes.append(subprocess.Popen([NODE, recipe("feed-ticket.js"), f"postgresql://{self.role}:{self.role}@{server}",
                                                "support"], env={**os.environ, "NODE_PATH": NODE_PATH}))

    def wait_for(self, *expected):
        def are_there():
            assert all(process.poll() is None for process in self.processes), "the recipe ended"
            return sorted(self.subjects()) == sorted(expected)
        wait_until(are_there, f"tickets {expected}", 30)

    def subjects(self):
        return [row.subject for row in self.site.sql("SELECT subject FROM public.ticket ORDER BY id")]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.site.sql("DELETE FROM oncedrop.feed_reader")
        self.site.sql(f"DROP OWNED BY {self.role}")
        self.site.lab.postgres.admin(f"DROP ROLE {self.role}")


@pytest.fixture
def tickets(site):
    with contextlib.closing(Tickets(site)) as made:
        yield made


def waiting(site):
    return site.value("SELECT count(*) FROM oncedrop.feed")


@pytest.mark.postgres
def test_ticket(site, tickets):
    """Also one that comes while the recipe waits."""
    deliver(site, subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=", body="Der Hafenmeister\n")
    tickets.start()
    tickets.wait_for("Grüße")
    deliver(site, subject="Later")
    tickets.wait_for("Grüße", "Later")
    row = site.sql("SELECT subject, sender, text FROM public.ticket ORDER BY id")[0]
    assert (row.sender, row.text.strip()) == ("lisa@elsewhere.example", "Der Hafenmeister")
    assert waiting(site) == 0


@pytest.mark.postgres
def test_ticket_has_the_first_text(site, tickets):
    """Neither the attachment before it nor part 10, which is less than 2 as text."""
    attached = "--b\nContent-Type: text/plain\nContent-Disposition: attachment\n\nattached\n"
    parts = [attached, "--b\n\nsecond\n", *[PDF] * 7, "--b\n\ntenth\n"]
    deliver(site, headers="MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n", body="".join(parts) + "--b--\n")
    tickets.start()
    tickets.wait_for("Hello")
    assert site.value("SELECT text FROM public.ticket").strip() == "second"


@pytest.mark.postgres
def test_ticket_of_two_at_a_time(site, tickets):
    """A row that another application has taken is skipped, and is free when that one's transaction is rolled back."""
    subjects = [f"Number {i}" for i in range(6)]
    for subject in subjects:
        deliver(site, subject=subject)
    other = site.ledger.connect()
    other.cursor().execute("SELECT id FROM oncedrop.feed ORDER BY id LIMIT 1 FOR UPDATE")
    tickets.start()
    tickets.start()
    tickets.wait_for(*subjects[1:])
    other.rollback()
    other.close()
    tickets.wait_for(*subjects)
    assert waiting(site) == 0


@pytest.mark.postgres
def test_ticket_that_is_refused(site, tickets):
    site.sql("ALTER TABLE public.ticket ADD CHECK (subject <> 'Refused')")
    deliver(site, subject="Refused")
    deliver(site, subject="Good")
    tickets.start()
    tickets.wait_for("Good")
    [row] = json.loads(site.run("feed", "list", "--json", "support").out)
    assert (row["tries"], row["dead"]) == (1, False) and "ticket_subject_check" in row["error"], row


# feed-ticket.js

def pg_is_there():
    return NODE and subprocess.run([NODE, "-e", "require('pg')"], env={**os.environ, "NODE_PATH": NODE_PATH}, capture_output=True,
                                   check=False).returncode == 0


@pytest.mark.postgres
@pytest.mark.skipif(not pg_is_there(), reason="node-pg is not there")
def test_ticket_by_node(site, tickets):
    site.sql("ALTER TABLE public.ticket ADD CHECK (subject <> 'Refused')")
    for subject in ("Refused", "First", "Second"):
        deliver(site, subject=subject)
    tickets.start_node()
    tickets.start_node()
    tickets.wait_for("First", "Second")
    deliver(site, subject="Later")
    tickets.wait_for("First", "Second", "Later")
    [row] = json.loads(site.run("feed", "list", "--json", "support").out)
    assert (row["tries"], row["dead"]) == (1, False) and "ticket_subject_check" in row["error"], row


# feed-django.py

MANAGE = """#!{python}
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
sys.dont_write_bytecode = True
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
SETTINGS = """SECRET_KEY = "-"
INSTALLED_APPS = ["helpdesk"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": {database!r}, "OPTIONS": {{"timeout": 0}}}}}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
"""


@pytest.fixture
def project(site):
    """A Django project with the recipe in it, and the model of its comment; returns its manage.py."""
    with open(recipe("feed-django.py"), encoding="utf-8") as file:
        command = file.read()
    model = re.search(r"^    class Ticket.*?\n\n", command, re.M | re.S)[0]
    folder = os.path.join(site.directory, "helpdesk", "management", "commands")
    os.makedirs(folder)
    for package in (folder, os.path.dirname(folder), os.path.join(site.directory, "helpdesk")):
        site.write(os.path.join(package, "__init__.py"), "")
    site.write(os.path.join(folder, "receive_mail.py"), command)
    site.write(os.path.join(site.directory, "helpdesk", "models.py"), "from django.db import models\n" + textwrap.dedent(model))
    site.write("settings.py", SETTINGS.format(database=os.path.join(site.directory, "django.db")))
    manage = site.write("manage.py", MANAGE.format(python=sys.executable), 0o755)
    subprocess.run([manage, "migrate", "--run-syncdb", "-v", "0"], check=True)
    return manage


def test_ticket_by_django(site, project):
    path = os.path.join(site.directory, "django.db")
    deliver(site, subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=", body="Der Hafenmeister\n")
    dying = site.write("dying", f'#!/bin/sh\n{project} receive_mail\nkill -9 $PPID\n', 0o755)
    assert site.run("feed", "run", "support", "--", dying).exit == -9
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as session:
        session.execute("BEGIN EXCLUSIVE")
        assert run_again(site, project, "receive_mail") == LATER
    assert run_again(site, project, "receive_mail") == FINISHED
    with contextlib.closing(sqlite3.connect(path)) as session:
        [(subject, text)] = session.execute("SELECT subject, text FROM helpdesk_ticket").fetchall()
    assert (subject, text.strip()) == ("Grüße", "Der Hafenmeister")


# feed-ticket-sqlite.py

def tickets_in(path):
    with contextlib.closing(sqlite3.connect(path)) as session:
        return session.execute("SELECT subject, sender, text FROM ticket ORDER BY id").fetchall()


def test_ticket_in_a_file(site):
    path = os.path.join(site.directory, "ticket.db")
    deliver(site, subject="=?utf-8?q?Gr=C3=BC=C3=9Fe?=", body="Der Hafenmeister\n")
    deliver(site, headers="MIME-Version: 1.0\nContent-Type: text/plain; charset=unheard-of\n", body="Text\n")
    deliver(site, headers="MIME-Version: 1.0\nContent-Type: application/pdf\n")
    assert run(site, recipe("feed-ticket-sqlite.py"), path) == (3, 0, 0)
    assert [(subject, text.strip()) for subject, _, text in tickets_in(path)] == \
        [("Grüße", "Der Hafenmeister"), ("Hello", "Text"), ("Hello", "")]
    assert all("lisa@elsewhere.example" in sender for _, sender, _ in tickets_in(path))


def test_ticket_in_a_file_once(site):
    """`feed run` dies after the ticket was made: the command is run again."""
    path = os.path.join(site.directory, "ticket.db")
    deliver(site)
    dying = site.write("dying", f'#!/bin/sh\n{recipe("feed-ticket-sqlite.py")} {path}\nkill -9 $PPID\n', 0o755)
    assert site.run("feed", "run", "support", "--", dying).exit == -9
    assert len(tickets_in(path)) == 1
    assert run_again(site, recipe("feed-ticket-sqlite.py"), path) == FINISHED
    assert len(tickets_in(path)) == 1


def test_ticket_in_a_file_that_is_locked(site):
    path = os.path.join(site.directory, "ticket.db")
    deliver(site)
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as session:
        os.chmod(path, 0o666)
        session.execute("BEGIN EXCLUSIVE")
        assert run(site, recipe("feed-ticket-sqlite.py"), path) == LATER
    assert run_again(site, recipe("feed-ticket-sqlite.py"), path) == FINISHED
    assert len(tickets_in(path)) == 1


# feed-webhook

class Hook(http.server.ThreadingHTTPServer):
    """Replies with these statuses, one after the other; requests: the header and body of each POST."""

    def __init__(self, *statuses):
        super().__init__(("127.0.0.1", 0), HookHandler)
        self.statuses, self.requests = list(statuses), []
        self.url = f"http://127.0.0.1:{self.server_port}/hook"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class HookHandler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.requests.append((self.headers, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.statuses.pop(0))
        self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format, *args):
        pass


def test_webhook(site):
    """Each message has one key, regardless of the number of tries, and no two have the same."""
    with contextlib.closing(Hook(503, 200, 200)) as hook:
        deliver(site, body="Posted\n")
        assert run(site, recipe("feed-webhook"), env={"WEBHOOK_URL": hook.url}) == LATER
        assert run_again(site, recipe("feed-webhook"), env={"WEBHOOK_URL": hook.url}) == FINISHED
        deliver(site)
        assert run(site, recipe("feed-webhook"), env={"WEBHOOK_URL": hook.url}) == FINISHED
    first, second, other = [headers["Idempotency-Key"] for headers, _ in hook.requests]
    assert first and first == second != other
    for headers, body in hook.requests[:2]:
        assert headers["Content-Type"] == "message/rfc822" and b"\nSubject: Hello" in body and body.endswith(b"\r\n\r\nPosted\r\n")


@pytest.mark.parametrize("status, expected", [(204, FINISHED), (301, DEAD), (400, DEAD), (404, DEAD), (429, LATER), (500, LATER)])
def test_webhook_statuses(site, status, expected):
    deliver(site)
    with contextlib.closing(Hook(status)) as hook:
        assert run(site, recipe("feed-webhook"), env={"WEBHOOK_URL": hook.url}) == expected
    assert len(hook.requests) == 1


def test_webhook_without_a_server(site):
    deliver(site)
    assert run(site, recipe("feed-webhook"), env={"WEBHOOK_URL": f"http://127.0.0.1:{free_port()}/"}) == LATER
    assert run_again(site, recipe("feed-webhook")) == LATER


# feed-pipe

def stand_in(site, status, command=""):
    """For the program of a help desk."""
    path = os.path.join(site.directory, "received")
    return path, site.write("program", f'#!/bin/sh\nprintf "%s," "$@" >{path}\ncat >>{path}\n{command}\nexit {status}\n', 0o755)


@pytest.mark.parametrize("status, expected", [(0, FINISHED), (75, LATER), (66, DEAD), (255, DEAD)])
def test_pipe(site, status, expected):
    deliver(site, body="Piped\n")
    path, program = stand_in(site, status)
    assert run(site, recipe("feed-pipe"), program, "-q", "two words") == expected
    with open(path, encoding="utf-8") as file:
        received = file.read()
    assert received.startswith("-q,two words,") and "\nSubject: Hello" in received and received.endswith("\n\nPiped\n")


def test_pipe_to_a_program_that_cannot_be_run(site):
    deliver(site)
    assert run(site, recipe("feed-pipe"), "/nonexistent/program") == LATER
    assert run_again(site, recipe("feed-pipe"), site.write("program", "#!/bin/sh\n", 0o644)) == LATER
    assert run_again(site, recipe("feed-pipe"), stand_in(site, 0, "sleep 60")[1], env={"PIPE_TIMEOUT": "1"}) == LATER
