# SPDX-License-Identifier: ISC
"""Our own trouble gives 75 with one line, never a bounce; once it is repaired, the message is delivered once."""

import os
import signal
import socket
import subprocess
import time

import expect
import pytest
from lab import certificates, lab as lab_module
from lab.fake_imap import FakeImap
from lab.messages import message, on_the_wire
from lab.process import free_port, wait_until
from lab.proxy import CLIENT, SERVER
from test_changed_by_server import forget_hold_off


def closed_database(site):
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY,
                                                                    port=free_port())


def wrong_database_password(site):
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY, "wrong")


def missing_database(site):
    site.settings["database.conninfo"] = site.lab.postgres.conninfo("nowhere", lab_module.DELIVERY)


def missing_schema(site):
    site.settings["database.schema"] = "elsewhere"


def missing_rights(site):
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.OWNER)
    site.sql("ALTER TABLE oncedrop.copy OWNER TO admin")
    site.sql("REVOKE ALL ON oncedrop.copy FROM owner")


def closed_imap(site):
    site.settings["imap.port"] = free_port()


def wrong_imap_password(site):
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")


def wrong_master_user(site):
    site.settings["imap.master_user"] = "nobody"


def untrusted_certificate(site):
    other = certificates.Authority(site.directory, "other")
    site.settings["imap.ca_file"] = other.certificate


def system_authorities(site):
    site.settings["imap.ca_file"] = None


def wrong_server_name(site):
    site.settings["imap.server_name"] = "imap.example.org"


def tls_to_a_plain_port(site):
    site.settings["imap.port"] = site.lab.dovecot.port


def plain_to_a_tls_port(site):
    site.settings["imap.tls"] = "none"
    site.settings["imap.timeout"] = "1s"


def silent_imap(site):
    site.settings["imap.timeout"] = "1s"
    listener = site.use(socket.create_server(("127.0.0.1", 0)))
    site.settings["imap.port"] = listener.getsockname()[1]


def silent_database(site):
    site.settings["delivery.deadline"] = "2s"
    site.settings["delivery.hold_off"] = "300s"
    listener = site.use(socket.create_server(("127.0.0.1", 0)))
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY,
                                                                    port=listener.getsockname()[1])


def unknown_imap_host(site):
    site.settings["imap.host"] = "nowhere..invalid"      # contains an empty label, so no name server is asked


def mailbox_name_with_line_end(site):
    site.settings["route.account_query"] = r"SELECT $1, E'IN\r\nx DELETE INBOX'"


def unknown_setting(site):
    site.settings["imap.hots"] = "localhost"


def unknown_group(site):
    site.settings["imapp.host"] = "localhost"


def bad_number(site):
    site.settings["imap.port"] = "99x"


def bad_choice(site):
    site.settings["imap.tls"] = "no"


def method_of_no_other_host(site):
    site.settings["lock.method"] = "lease"


def missing_password_file(site):
    site.settings["imap.password_file"] = "/nowhere/password"


def password_for_others_to_read(site):
    site.settings["imap.password_file"] = site.write("open", site.lab.dovecot.password + "\n", 0o644)


TROUBLE_WITH_POSTGRESQL = [
    (closed_database, r"4\.\d\.\d", []),
    (wrong_database_password, r"4\.\d\.\d", ["password"]),
    (missing_database, r"4\.\d\.\d", ["nowhere"]),
    (missing_schema, r"4\.\d\.\d", ["elsewhere"]),
    (missing_rights, r"4\.\d\.\d", ["permission"]),
    (silent_database, r"4\.\d\.\d", []),
    (mailbox_name_with_line_end, r"4\.\d\.\d", []),
    (method_of_no_other_host, r"4\.3\.0", ["lock", "method = lease", "agreed on advisory"]),
]
TROUBLE = [
    (closed_imap, r"4\.4\.1", ["127.0.0.1"]),
    (wrong_imap_password, r"4\.\d\.\d", []),
    (wrong_master_user, r"4\.\d\.\d", []),
    (untrusted_certificate, r"4\.\d\.\d", ["certificate"]),
    (system_authorities, r"4\.\d\.\d", ["certificate"]),
    (wrong_server_name, r"4\.\d\.\d", ["certificate", "imap.example.org"]),
    (tls_to_a_plain_port, r"4\.\d\.\d", []),
    (plain_to_a_tls_port, r"4\.\d\.\d", []),
    (silent_imap, r"4\.\d\.\d", []),
    (unknown_imap_host, r"4\.\d\.\d", ["nowhere..invalid"]),
    (unknown_setting, r"4\.3\.5", ["imap", "hots", "oncedrop.conf"]),
    (unknown_group, r"4\.3\.5", ["imapp", "oncedrop.conf"]),
    (bad_number, r"4\.3\.5", ["imap", "port", "99x"]),
    (bad_choice, r"4\.3\.5", ["imap", "tls"]),
    (missing_password_file, r"4\.3\.5", ["password_file", "/nowhere/password"]),
    (password_for_others_to_read, r"4\.3\.5", ["password_file", "open"]),
]
TROUBLE = [pytest.param(*case, id=case[0].__name__, marks=pytest.mark.postgres if case in TROUBLE_WITH_POSTGRESQL else ())
           for case in (*TROUBLE_WITH_POSTGRESQL, *TROUBLE)]


@pytest.mark.parametrize("break_it,code,words", TROUBLE)
def test_trouble_defers_and_mended_it_is_delivered_once(site, break_it, code, words):
    scuba = site.account()
    mail = message()
    right = dict(site.settings)
    break_it(site)
    for merge in (False, True):
        done = site.deliver(mail, scuba, merge=merge)
        expect.deferred(done, code, *words)
        assert done.seconds < 50    # the deadline is 60 s
    assert site.count(scuba) == 0
    site.settings = right
    if break_it is missing_rights:
        site.sql("ALTER TABLE oncedrop.copy OWNER TO owner")
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]


def test_a_configuration_that_is_missing_or_open_to_others(site):
    scuba = site.account()
    mail = message()
    path = site.write("oncedrop.conf", site.configuration())
    done = site.run("-c", path + ".not", "deliver", "-d", scuba, stdin=mail, config=False)
    expect.deferred(done, r"4\.3\.5", "oncedrop.conf.not")
    path = site.write("oncedrop.conf", site.configuration(), 0o644)
    done = site.run("-c", path, "deliver", "-d", scuba, stdin=mail, config=False)
    expect.deferred(done, r"4\.3\.5", "oncedrop.conf")
    expect.stored(site.deliver(mail, scuba))


@pytest.mark.parametrize("arguments", [["deliver", "--nonsense"], ["deliver", "-d"], ["deliver", "-s", "x"],
                                       ["deliver", "-d", "a@example.org", "surplus"]])
def test_wrong_usage_of_deliver_defers(site, arguments):
    expect.deferred(site.run(*arguments, stdin=message()), r"4\.3\.5")


@pytest.mark.parametrize("recipient", ["", " ", "a\nb@example.org", "a\x01@example.org", "x" * 2000, b"\xff@example.org"],
                         ids=["empty", "blank", "line end", "control", "long", "8 bit"])
def test_impossible_recipients_defer(site, recipient):
    expect.deferred(site.run("deliver", "-d", recipient, stdin=message()))


# Connections that end or stall in the middle; without TLS, so that the proxy can read the traffic.

def plain_imap(site, watch):
    site.settings["imap.tls"] = "none"
    site.settings["imap.port"] = site.lab.dovecot.port
    return site.imap_proxy(watch)


def claimed(site):
    """Waits until the claim of a delivery is committed."""
    wait_until(lambda: site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'appending'"), "the claim")


def cut_when(side, text, only_first=True):
    """For Proxy: resets the connection once, when this text arrives from that side, before passing it on."""
    cuts = []

    def watch(_connection, from_side, data):
        if from_side == side and text in data and not (only_first and cuts):
            cuts.append(data)
            return None
        return data
    watch.cuts = cuts
    return watch


CUTS = {
    "before the greeting": (SERVER, b"* OK"),
    "at the login": (CLIENT, b"AUTHENTICATE"),
    "at the APPEND": (CLIENT, b"APPEND"),
    "before the go-ahead": (SERVER, b"+ OK"),
    "at the literal": (CLIENT, b"the body"),
    "before the answer": (SERVER, b"APPENDUID"),
}


@pytest.mark.parametrize("side,text", CUTS.values(), ids=CUTS.keys())
def test_imap_connection_cut(site, side, text):
    """For any result of the first try, there is one copy in the end."""
    scuba = site.account()
    mail = message(body="the body\n" * (200_000 if text == b"+ OK" else 1))     # over 1 MB: it is not sent early
    watch = cut_when(side, text)
    plain_imap(site, watch)
    done = site.deliver(mail, scuba)
    assert len(watch.cuts) == 1
    if done.exit:
        expect.deferred(done)
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert [stored.raw for stored in site.messages(scuba)] == [on_the_wire(mail)]
    expect.duplicate(site.deliver(mail, scuba))


def test_what_may_have_been_stored_is_looked_for_after_the_hold_off(site):
    scuba = site.account()
    mail = message()
    plain_imap(site, cut_when(SERVER, b"APPENDUID"))
    site.settings["delivery.hold_off"] = "300s"
    expect.deferred(site.deliver(mail, scuba))
    [copy] = site.sql("SELECT state, doubt FROM oncedrop.copy")
    assert copy.state == "appending"
    assert site.count(scuba) == 1
    expect.held(site.deliver(mail, scuba))
    # By the database's clock, the only one that counts for the hold-off.
    claimed = site.ledger.ago(seconds=297)
    site.sql("UPDATE oncedrop.copy SET claimed_at = %s", (claimed,))
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 1
    [copy] = site.sql("SELECT state, uid, claimed_at FROM oncedrop.copy")
    assert (copy.state, copy.uid) == ("stored", site.messages(scuba)[0].uid)
    assert (copy.claimed_at - claimed).total_seconds() > 299.9


@pytest.mark.parametrize("id", [False, b"x" * 300 + b"@example.org", b"=?utf-8?q?abc?=@example.org", b"\xff@example.org"],
                         ids=["none", "long", "RFC 2047", "8 bit"])
def test_it_is_found_without_a_searchable_message_id(site, id):
    scuba = site.account()
    mail = message(id=id)
    plain_imap(site, cut_when(SERVER, b"APPENDUID"))
    with site.lab.dovecot.session(scuba) as session:
        session.append("INBOX", "", None, on_the_wire(message(id=id, body="Hallo!\n")))
    expect.deferred(site.deliver(mail, scuba))
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 2


def test_a_claim_of_which_nothing_was_sent_is_undone_at_once(site):
    scuba = site.account()
    mail = message()
    right = dict(site.settings)
    closed_imap(site)
    expect.deferred(site.deliver(mail, scuba))
    assert [copy.state for copy in site.sql("SELECT state FROM oncedrop.copy")] == ["pending"]
    site.settings = right
    expect.stored(site.deliver(mail, scuba))


def test_imap_that_stalls_is_given_up(site):
    scuba = site.account()
    mail = message()
    proxy = plain_imap(site, None)
    patient = dict(site.settings)
    site.settings["imap.timeout"] = "1s"
    proxy.stall()
    done = site.deliver(mail, scuba)
    expect.deferred(done)
    assert done.seconds < 30    # the deadline is 60 s
    proxy.resume()
    site.settings = patient
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 1


def test_the_deadline_ends_it(site):
    """The IMAP server drips: each read succeeds in time, all of them together do not."""
    scuba = site.account()

    def drip(client, tag, _arguments):
        for _ in range(1000):
            client.send("* OK still here")
            time.sleep(0.1)
    server = site.use(FakeImap(script={"CAPABILITY": drip, "AUTHENTICATE": drip, "NOOP": drip}))
    site.settings.update({"imap.tls": "none", "imap.port": server.port, "imap.timeout": "5s",
                          "delivery.deadline": "1500ms", "delivery.hold_off": "300s"})
    done = site.deliver(message(), scuba)
    assert done.exit == 75 or done.exit < 0, done
    assert done.exit < 0 or expect.deferred(done)
    assert 1 < done.seconds < 60    # the first command alone would take 100 s


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_defers(site, number):
    scuba = site.account()
    mail = message()
    proxy = plain_imap(site, None)
    brief = dict(site.settings)
    site.settings.update({"imap.timeout": "200s", "delivery.deadline": "250s"})
    proxy.stall()
    delivery = site.start_delivery(mail, scuba)
    wait_until(lambda: proxy.accepted, "it is at the IMAP server")
    claimed(site)
    delivery.signal(number)
    done = delivery.finish()
    assert done.exit == 75 or done.exit == -number, done
    assert done.seconds < 150, done     # neither of these two times
    if done.exit == 75:
        expect.deferred(done)
    proxy.resume()
    site.settings = brief
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 1


def test_the_signal_of_a_cut_file_defers(site):
    """SIGBUS, which the kernel sends to a process that uses a part of the ledger's index that is not there any more. Seen to fail
    with: no handler, exit -7."""
    scuba = site.account()
    proxy = plain_imap(site, None)
    site.settings.update({"imap.timeout": "200s", "delivery.deadline": "250s"})
    proxy.stall()
    delivery = site.start_delivery(message(), scuba)
    wait_until(lambda: proxy.accepted, "it is at the IMAP server")
    delivery.signal(signal.SIGBUS)
    expect.deferred(delivery.finish(), r"4\.3\.0", "was cut")
    proxy.resume()


@pytest.mark.postgres
def test_the_database_connection_is_lost_after_the_append(site):
    """The message is in the mailbox: a new session settles it, and the delivery succeeds."""
    scuba = site.account()
    mail = message()
    database = site.database_proxy()

    def lose_the_database(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data:
            database.cut()
        return data
    plain_imap(site, lose_the_database)
    expect.stored(site.deliver(mail, scuba))
    site.ledger.wait_for_no_session()
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


@pytest.mark.postgres
@pytest.mark.parametrize("lost", [CLIENT, SERVER], ids=["its statements", "its answer"])
def test_the_database_connection_is_lost_while_it_settles(site, lost):
    """It is unknown whether that was committed: the delivery settles again, on a new connection."""
    scuba = site.account()
    settling = []

    def watch(connection, side, data):
        if not settling and side == CLIENT and b"stored_at = CASE" in data:
            settling.append(connection)
            return None if lost == CLIENT else data
        return None if connection in settling and side == lost else data
    site.database_proxy(watch)
    mail = message()
    expect.stored(site.deliver(mail, scuba))
    assert settling and site.sql("SELECT state, generation FROM oncedrop.copy") == [("stored", 1)]
    site.ledger.wait_for_no_session()
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 1


@pytest.mark.postgres
def test_the_database_goes_after_the_append_and_comes_back(site):
    scuba = site.account()
    mail = message()
    right = dict(site.settings)
    database = site.database_proxy()

    def lose_the_database(_connection, side, data):
        if side == SERVER and b"APPENDUID" in data:
            database.close()
        return data
    plain_imap(site, lose_the_database)
    done = site.deliver(mail, scuba)
    assert done.exit == 75, done
    expect.deferred(done)
    assert site.count(scuba) == 1
    site.settings = right
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 1


@pytest.mark.postgres
def test_the_database_connection_is_lost_before_the_append(site):
    scuba = site.account()
    mail = message()
    database = site.database_proxy()
    cut = []

    def lose_the_database(_connection, side, data):
        if side == CLIENT and b"AUTHENTICATE" in data and not cut:
            cut.append(True)
            database.cut()
        return data
    plain_imap(site, lose_the_database)
    done = site.deliver(mail, scuba)
    assert done.exit in (0, 75), done
    site.ledger.wait_for_no_session()
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    assert tries[-1].exit == 0, tries
    assert site.count(scuba) == 1


@pytest.mark.postgres
def test_a_holder_that_was_stopped_loses_its_lock_and_does_no_harm(site):
    """idle_in_transaction_session_timeout = the deadline frees the lock of a stopped process. In SQLite it keeps it."""
    scuba = site.account()
    mail = message()
    proxy = plain_imap(site, None)
    patient = dict(site.settings)
    site.settings.update({"imap.timeout": "30s", "delivery.deadline": "15s"})
    proxy.stall()
    delivery = site.start_delivery(mail, scuba)
    wait_until(lambda: proxy.accepted, "it is at the IMAP server")
    claimed(site)
    delivery.signal(signal.SIGSTOP)
    proxy.resume()
    site.settings = patient
    forget_hold_off(site)
    tries = site.deliver_with_retries(mail, scuba)
    delivery.signal(signal.SIGCONT)
    done = delivery.finish()
    assert tries[-1].exit == 0, tries
    assert done.exit in (0, 75) or done.exit < 0, done
    assert site.count(scuba) == 1


def test_a_failing_sent_copy_defers_for_a_while_only(site):
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings["route.sent"] = "~"       # Dovecot accepts no name that begins with it
    mail = message(sender=lisa)
    expect.deferred(site.deliver(mail, scuba, sender=lisa))
    assert site.count(scuba) == 1
    site.settings["delivery.sent_expire_after"] = "0s"
    done = site.deliver(mail, scuba, sender=lisa)
    assert done.exit == 0, done
    assert site.count(scuba) == 1


def test_a_reader_that_is_gone_stops_the_delivery(site):
    """Postfix was stopped: the input may be incomplete, so it must not be delivered."""
    scuba = site.account()
    mail = message()
    read, write = os.pipe()
    path = site.write("oncedrop.conf", site.configuration())
    process = subprocess.Popen([lab_module.program(), "-c", path, "deliver", "-d", scuba], stdin=subprocess.PIPE,
                               stdout=write, stderr=write, env=site.environment())
    os.close(write)
    process.stdin.write(mail[:20])
    process.stdin.flush()
    os.close(read)
    process.stdin.close()
    assert process.wait(120) == 75
    assert site.count(scuba) == 0
    expect.stored(site.deliver(mail, scuba))
