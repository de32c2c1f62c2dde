# SPDX-License-Identifier: ISC
"""The examples in conf/ for the servers around oncedrop, unchanged except for names, ports and paths."""

import os
import pwd
import subprocess

import expect
import pytest
from lab import dovecot_config, lab as lab_module, pgbouncer_sample, process
from lab.dovecot import Dovecot
from lab.messages import message, on_the_wire
from lab.process import wait_until


class ExampleDovecot(Dovecot):
    """The example replaces the master user in the tests' own configuration."""

    def configuration(self, **values):
        ours = {"/etc/dovecot/master-users": self.path("master-users")}
        return (super().configuration(**values, master="", sessions=None)
                + lab_module.example("dovecot", dovecot_config.example(), **ours))


def test_dovecot(site):
    server = ExampleDovecot(site.directory, site.lab.certificate)
    os.chmod(site.directory, 0o711)
    server.write("master-users", f"oncedrop:{{PLAIN}}{server.password}::::::allow_nets=127.0.0.1,::1\n")
    site.use(server.start()).close = server.stop
    server.add_account("lisa@example.org")
    site.settings.update({"imap.port": server.tls_port, "imap.password_file": site.write("p", server.password + "\n")})
    mail = message()
    expect.stored(site.deliver(mail, "lisa@example.org"))
    assert [stored.raw for stored in server.messages("lisa@example.org")] == [on_the_wire(mail)]
    server.write("master-users", f"oncedrop:{{PLAIN}}{server.password}::::::allow_nets=127.0.0.2\n")
    # Dovecot checks its files once a second.
    wait_until(lambda: site.deliver(message(), "lisa@example.org").exit == 75, "allow_nets counts")


@pytest.fixture
def pooled(site):
    """A site behind the example's PgBouncer, whose deliveries log in as the user who runs the tests."""
    database = site.lab.postgres
    login = pwd.getpwuid(os.getuid()).pw_name
    database.let_pooler_in(login)
    database.admin("SELECT pg_catalog.pg_reload_conf()")
    database.admin(f'CREATE ROLE "{login}" LOGIN IN ROLE oncedrop_delivery')
    os.chmod(site.directory, 0o711)
    server = pgbouncer_sample.PgBouncer(site.directory, database, login)
    server.start()
    site.settings["database.conninfo"] = server.conninfo(site.database)
    yield server
    server.stop()
    database.admin(f'DROP ROLE "{login}"')


@pytest.mark.postgres
def test_pgbouncer(pooled, site):
    mail = message()
    scuba = site.account()
    deliveries = [site.start_delivery(mail, scuba, options=["-o", "lock.wait=50s"]) for _ in range(8)]
    answers = [delivery.finish().out.split()[1] for delivery in deliveries]
    assert sorted(answers) == ["duplicate"] * 7 + ["stored"]
    assert site.count(scuba) == 1


@pytest.mark.postgres
@pytest.mark.skipif(os.getuid() != 0, reason="only root can become another user")
def test_pgbouncer_lets_nobody_else_in(pooled, site):
    done = subprocess.run(["psql", "-Xwd", pooled.conninfo(site.database), "-c", "SELECT 1"], capture_output=True, text=True,
                          check=False, cwd="/", **process.run_as(process.account_for("games")))
    assert done.returncode != 0 and "unix socket login rejected" in done.stderr, done


@pytest.mark.postgres
def test_postgresql(site):
    """The server knows every setting, and takes the file on a reload."""
    server = site.lab.postgres
    os.chmod(site.directory, 0o711)
    sample = os.path.join(lab_module.REPOSITORY, "conf", "postgresql", "oncedrop.conf")
    with open(sample, encoding="utf-8") as file:
        settings = dict(line.split(" = ") for line in file.read().splitlines() if line and not line.startswith("#"))
    assert settings
    copy = site.write("postgresql.conf", "".join(f"{name} = {value}\n" for name, value in settings.items()))
    os.chown(copy, server.user.pw_uid, server.user.pw_gid)
    told = subprocess.run([server.program("postgres"), "-D", server.path("data"), f"--config-file={copy}", "-C", "commit_delay"],
                          capture_output=True, text=True, check=False, cwd="/", **process.run_as(server.user))
    assert told.returncode == 0 and told.stdout == settings["commit_delay"] + "\n", told
    context = {row.name: row.context for row in site.sql("SELECT name, context FROM pg_settings WHERE name = ANY (%s)",
                                                         (list(settings),))}
    assert context.keys() == settings.keys() and not {"postmaster", "internal"} & set(context.values()), context


def setting(postfix, name):
    return postfix.command("postconf", "-hx", name).strip()


def test_postfix_finds_nothing_to_warn_of(postfix):
    postfix.sent_copies = True
    postfix.start()
    output = postfix.command("postconf", "-n")
    assert "unused parameter" not in output
    assert setting(postfix, "recipient_delimiter") == "+"
    assert "warning" not in postfix.log()


def copies(postfix, login, recipients, sender=None):
    mail = message(sender=sender or login)
    postfix.send(mail, recipients, sender=sender or login, login=login, submission=True)
    postfix.wait_idle()
    return on_the_wire(mail)


def test_sent_copies_of_mail_that_goes_elsewhere(postfix):
    """With sender_bcc_maps; mail that goes to both still gets one copy."""
    postfix.sent_copies = True
    postfix.site.settings.update({"route.sent_copy": "authenticated", "route.detail": "folder", "lock.wait": "20s"})
    postfix.configure()
    lisa, scuba = postfix.accounts(2)
    postfix.start()
    outside = copies(postfix, lisa, ["doug@elsewhere.example"])
    assert [raw.endswith(outside) for raw in postfix.messages(lisa, "Sent")] == [True]
    assert postfix.messages(lisa) == []
    both = copies(postfix, lisa, ["doug@elsewhere.example", scuba])
    assert [raw.endswith(both) for raw in postfix.messages(lisa, "Sent")] == [False, True]
    assert [raw.endswith(both) for raw in postfix.messages(scuba)] == [True]
    own = copies(postfix, lisa, [lisa])
    assert sum(raw.endswith(own) for raw in postfix.messages(lisa, "Sent")) == 1
    assert sum(raw.endswith(own) for raw in postfix.messages(lisa)) == 1
    assert len(postfix.bounces()) == 2
    assert postfix.queue() == []


def test_nobody_sends_into_the_sent_mailbox_of_another(postfix):
    postfix.sent_copies = True
    postfix.site.settings.update({"route.sent_copy": "authenticated", "route.detail": "folder"})
    postfix.configure()
    lisa, scuba = postfix.accounts(2)
    postfix.start()
    with pytest.raises(RuntimeError, match="RCPT.*553"):
        copies(postfix, scuba, ["doug@elsewhere.example"], sender=lisa)
    with pytest.raises(RuntimeError, match="RCPT.*554"):
        postfix.send(message(sender=lisa), [lisa.replace("@", "+Sent@")])
    postfix.send(message(sender=lisa), [scuba], sender=lisa)
    postfix.wait_idle()
    assert postfix.messages(lisa, "Sent") == []
    assert len(postfix.messages(scuba)) == 1
