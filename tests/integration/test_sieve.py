# SPDX-License-Identifier: ISC
"""Users' Sieve scripts run on messages appended to INBOX, with the samples in conf/dovecot.

Seen to fail with: imapsieve_expunge_discarded = yes in the sample; a search in doubt that leaves out what is \\Deleted."""

import os

import expect
import pytest
from lab import dovecot_config, lab as lab_module
from lab.dovecot import Dovecot
from lab.messages import message
from lab.process import wait_until

FILES = 'require ["fileinto", "mailbox"]; if header :contains "subject" "cookies" { fileinto :create "Cookies"; }'
DISCARDS = 'if header :contains "subject" "cookies" { discard; }'
DELETED = {"\\Deleted"}


class SieveDovecot(Dovecot):
    def configuration(self, **values):
        name = "91-oncedrop-sieve-2.3.conf" if dovecot_config.is_old() else "91-oncedrop-sieve-2.4.conf"
        with open(os.path.join(lab_module.REPOSITORY, "conf", "dovecot", name), encoding="utf-8") as file:
            return super().configuration(**values) + f"sendmail_path = {self.path('sendmail')}\n" + file.read()

    def add_sendmail(self):
        """The program that redirect hands mail to: writes the arguments of each call to a file next to it."""
        self.write("sendmail", f"#!/bin/sh\ncat >/dev/null\necho \"$@\" >>{self.path('mail', 'sent')}\n")
        os.chmod(self.path("sendmail"), 0o755)

    def redirected(self):
        with open(self.path("mail", "sent"), encoding="utf-8") as file:
            return file.read().splitlines()

    def add_script(self, account, script):
        """As with ManageSieve: the active script is a link to a file in a folder."""
        home = self.path("mail", account)
        os.makedirs(os.path.join(home, "sieve"))
        with open(os.path.join(home, "sieve", "mine.sieve"), "w", encoding="utf-8") as file:
            file.write(script)
        os.symlink("sieve/mine.sieve", os.path.join(home, ".dovecot.sieve"))
        for path in (home, os.path.join(home, "sieve")):
            os.chown(path, self.user.pw_uid, self.user.pw_gid)


@pytest.fixture(scope="module")
def dovecot(lab):
    directory = lab.new_directory("sieve")
    os.chmod(directory, 0o711)
    server = SieveDovecot(directory, lab.certificate)
    server.add_sendmail()
    yield server.start()
    server.stop()


@pytest.fixture
def sieve(site, dovecot):
    """A function that creates an account with a script, to which the site delivers."""
    site.settings.update({"imap.tls": "none", "imap.port": dovecot.port,
                          "imap.password_file": site.write("sieve", dovecot.password + "\n")})

    def account(script, name="lisa"):
        address = f"{name}.{site.number}@example.org"
        dovecot.add_account(address)
        dovecot.add_script(address, script)
        return address
    return account


def flags(dovecot, account, mailbox="INBOX"):
    return [stored.flags for stored in dovecot.messages(account, mailbox)]


def lose_the_answer(site, mail, account):
    """A delivery whose APPEND succeeded but whose answer was lost; its hold-off is over."""
    lost = []

    def watch(_connection, _side, data):
        if b"APPENDUID" in data and not lost:
            lost.append(data)
            return None
        return data
    site.imap_proxy(watch)
    expect.deferred(site.deliver(mail, account))
    assert lost
    site.ledger.age(days=1)


def test_fileinto_moves_it_once(site, dovecot, sieve):
    lisa = sieve(FILES)
    mail = message(subject="cookies")
    expect.stored(site.deliver(mail, lisa))
    expect.duplicate(site.deliver(mail, lisa))
    assert (flags(dovecot, lisa), flags(dovecot, lisa, "Cookies")) == ([DELETED], [set()])
    expect.stored(site.deliver(message(subject="cake"), lisa))
    assert (flags(dovecot, lisa), flags(dovecot, lisa, "Cookies")) == ([DELETED, set()], [set()])


@pytest.mark.parametrize("script, filed", [(FILES, 1), (DISCARDS, 0)], ids=["fileinto", "discard"])
def test_in_doubt_the_original_is_found(site, dovecot, sieve, script, filed):
    lisa = sieve(script)
    mail = message(subject="cookies")
    lose_the_answer(site, mail, lisa)
    done = site.deliver(mail, lisa)
    assert done.exit == 0 and "(found there)" in done.out, done
    assert (flags(dovecot, lisa), len(flags(dovecot, lisa, "Cookies"))) == ([DELETED], filed)


def test_what_was_expunged_before_the_search_is_delivered_again(site, dovecot, sieve):
    """The limitation that the manual describes, and the reason why the sample does not expunge."""
    lisa = sieve(FILES)
    mail = message(subject="cookies")
    lose_the_answer(site, mail, lisa)
    with dovecot.session(lisa) as session:
        session.select()
        session.expunge()
    expect.stored(site.deliver(mail, lisa))
    assert len(flags(dovecot, lisa, "Cookies")) == 2


def test_other_actions(site, dovecot, sieve):
    lisa = sieve('require "imap4flags"; addflag "\\\\Flagged"; keep;')
    expect.stored(site.deliver(message(), lisa))
    assert flags(dovecot, lisa) == [{"\\Flagged"}]


def test_redirect_sends_it_once(site, dovecot, sieve):
    lisa = sieve('redirect "friend@elsewhere.example";')
    mail = message()
    lose_the_answer(site, mail, lisa)
    expect.stored(site.deliver(mail, lisa))
    expect.duplicate(site.deliver(mail, lisa))
    assert flags(dovecot, lisa) == [DELETED]
    assert [line.split()[-1] for line in dovecot.redirected()] == ["friend@elsewhere.example"]


def test_the_sent_copy_is_left_alone(site, dovecot, sieve):
    lisa, doug = sieve("discard;"), sieve("keep;", "doug")
    expect.stored(site.deliver(message(sender=lisa), doug, sender=lisa))
    assert (flags(dovecot, lisa, "Sent"), flags(dovecot, doug)) == ([{"\\Seen"}], [set()])


@pytest.mark.parametrize("script", ['require "vacation"; vacation "away";', 'require "reject"; reject "no";',
                                    'require "envelope"; if envelope "from" "x" { discard; }'],
                         ids=["vacation", "reject", "envelope"])
def test_a_script_that_needs_the_envelope_does_not_run(site, dovecot, sieve, script):
    """It is rejected as a whole, and the message stays in INBOX; Dovecot logs this."""
    lisa = sieve(script + " discard;")
    before = len(dovecot.log())
    expect.stored(site.deliver(message(), lisa))
    assert flags(dovecot, lisa) == [set()]
    wait_until(lambda: "unknown Sieve capability" in dovecot.log()[before:], "Dovecot has logged it")


def test_without_a_script(site, dovecot, sieve):
    lisa = sieve("keep;")
    os.unlink(dovecot.path("mail", lisa, ".dovecot.sieve"))
    before = len(dovecot.log())
    expect.stored(site.deliver(message(), lisa))
    assert flags(dovecot, lisa) == [set()] and "Error" not in dovecot.log()[before:]
