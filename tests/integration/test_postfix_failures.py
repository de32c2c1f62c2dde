# SPDX-License-Identifier: ISC
"""Every failure with pipe(8) and LMTP: Postfix's own log says deferred, never bounced; after the repair there is one
copy."""

import contextlib
import functools
import os
import shutil
import signal

import pytest
from lab.messages import message, on_the_wire
from lab.process import find_program, wait_until

PATIENT = {"delivery.deadline": "60s", "delivery.hold_off": "70s"}
BIG = message(body="A line of a large message.\n" * 100000)


# Each failure is a context manager; if it yields a function, that is called once the message is on its way.

@contextlib.contextmanager
def database_stopped(postfix):
    server = postfix.site.lab.postgres
    server.stop()
    try:
        yield
    finally:
        server.start()


@contextlib.contextmanager
def imap_stopped(postfix):
    server = postfix.site.lab.dovecot
    server.stop()
    try:
        yield
    finally:
        server.start()
    postfix.site.settings["imap.port"] = server.tls_port
    postfix.configure()


@contextlib.contextmanager
def configuration_unreadable(postfix):
    os.chmod(postfix.path("o.conf"), 0)
    yield
    postfix.configure()


@contextlib.contextmanager
def configuration_wrong(postfix):
    postfix.site.settings["imap.hots"] = "localhost"
    postfix.configure()
    yield
    del postfix.site.settings["imap.hots"]
    postfix.configure()


@contextlib.contextmanager
def wrong_arguments(postfix):
    command = "lmtp" if postfix.way == "lmtp" else "deliver"
    with edited(postfix, "oncedrop " + command, f"oncedrop {command} --nonsense"):
        yield


@contextlib.contextmanager
def wrong_command(postfix):
    command = "lmtp" if postfix.way == "lmtp" else "deliver"
    with edited(postfix, "oncedrop " + command, f"oncedrop {command}y"):
        yield


@contextlib.contextmanager
def edited(postfix, old, new):
    postfix.edit = lambda name, text: text.replace(old, new)
    postfix.restart()
    yield
    postfix.edit = lambda name, text: text
    postfix.restart()


@contextlib.contextmanager
def away(path):
    os.rename(path, path + ".away")
    yield
    os.rename(path + ".away", path)


def program_missing(postfix):
    return away(postfix.program)


def full_program_missing(postfix):
    return away(postfix.full_program)


@contextlib.contextmanager
def without_library(path, library):
    """As in the middle of an upgrade."""
    with open(path, "rb") as file:
        code = file.read()
    assert b"\0" + library in code
    with away(path):
        with open(path, "wb") as file:
            file.write(code.replace(b"\0" + library, b"\0none"))
        shutil.copystat(path + ".away", path)
        yield
        os.unlink(path)


def library_missing(postfix):
    """The loader's exit status would be 127, which bounces without the status filters."""
    return without_library(postfix.full_program, b"libjansson.so")


def library_of_a_module_missing(postfix):
    return without_library(postfix.full_program.replace("-main.so", "-postgres.so"), b"libpq.so")


def no_room_for_the_message(postfix):
    """The temporary file for a large message cannot grow, as on a full disk."""
    return edited(postfix, postfix.program, f"{find_program('prlimit')} --fsize=1500000 {postfix.program}")


@contextlib.contextmanager
def held(postfix, action, **settings):
    """The delivery has its claim and waits for IMAP when action(postfix, proxy) is called; if it has only seconds, it
    may be over. The rest of its hold-off is not waited for."""
    site = postfix.site
    port = site.settings["imap.port"]
    proxy = site.imap_proxy()
    proxy.stall()
    site.settings.update({"delivery.deadline": "3s", "delivery.hold_off": "3100ms", **settings})
    postfix.configure()

    def act():
        wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'") or postfix.entries(),
                   "a claim, or the end")
        action(postfix, proxy)

    yield act
    proxy.close()
    site.settings.update({"imap.port": port, **PATIENT})
    postfix.configure()
    site.ledger.age(hours=1, state="appending")


def signalled(number):
    def action(postfix, _):
        agents = postfix.agents()
        assert agents
        for pid in agents:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
    return functools.partial(held, action=action, **PATIENT)


def killed(postfix):
    return signalled(signal.SIGKILL)(postfix)


def terminated(postfix):
    return signalled(signal.SIGTERM)(postfix)


def crashed(postfix):
    return signalled(signal.SIGSEGV)(postfix)


def over_the_deadline(postfix):
    return held(postfix, lambda *_: None)


@contextlib.contextmanager
def over_postfix_time_limit(postfix):
    """Our deadline comes first; if it fails, the status filters still prevent a bounce."""
    usual = postfix.settings
    limits = ("command_time_limit", "oncedrop_time_limit", "oncedrop-lmtp_time_limit")
    postfix.settings = {**usual, **dict.fromkeys(limits, "3s")}
    postfix.restart()
    with held(postfix, lambda *_: None, **PATIENT, **{"imap.timeout": "10s"}) as act:
        yield act
    postfix.settings = usual
    postfix.restart()


def database_lost_in_the_middle(postfix):
    """The message is in the mailbox, but the result cannot be recorded."""
    def action(postfix, proxy):
        server = postfix.site.lab.postgres
        server.stop()
        proxy.resume()
        try:
            postfix.wait_for(1)
        finally:
            server.start()
    return held(postfix, action)


def database_restarted_in_the_middle(postfix):
    def action(postfix, proxy):
        server = postfix.site.lab.postgres
        server.stop()
        server.start()
        proxy.resume()
    return held(postfix, action)


FAILURES = [database_stopped, imap_stopped, configuration_unreadable, configuration_wrong, wrong_arguments,
            wrong_command, program_missing, library_missing, library_of_a_module_missing, no_room_for_the_message,
            killed, terminated, crashed, over_the_deadline, over_postfix_time_limit, database_lost_in_the_middle,
            database_restarted_in_the_middle]
OF_POSTGRES = [database_stopped, library_of_a_module_missing, database_lost_in_the_middle,
               database_restarted_in_the_middle]
MAY_SUCCEED = [database_restarted_in_the_middle]    # the program connects again


@pytest.mark.parametrize("failure", [pytest.param(failure, id=failure.__name__, marks=pytest.mark.postgres
                                                  if failure in OF_POSTGRES else ()) for failure in FAILURES])
def test_failure_defers_and_mended_there_is_one_copy(postfix, failure):
    mail = BIG if failure is no_room_for_the_message else message()
    [address] = postfix.accounts(1)
    postfix.start()
    with failure(postfix) as act:
        queue_id = postfix.send(mail, [address])
        if act:
            act()
        entries = postfix.wait_for(1, queue_id)
        if not act:     # it stays broken, every time
            entries = postfix.try_again(2, queue_id)
    if failure not in MAY_SUCCEED:
        assert {(entry.status, entry.dsn[0]) for entry in entries} == {("deferred", "4")}, entries
    postfix.flush(90)
    wait_until(lambda: postfix.entries()[-1].status == "sent", "the log tells that it is sent")
    entries = postfix.entries()
    assert {entry.status for entry in entries} <= {"deferred", "sent"}, entries
    assert postfix.bounces() == []
    [stored] = postfix.messages(address)
    assert stored.endswith(on_the_wire(mail))
