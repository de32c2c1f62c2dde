# SPDX-License-Identifier: ISC
"""The resident service: workers, the socket, kept connections, clients that wait, and signals.

Seen to fail with: sessions that end with each connection; no look at who listens at the path, or at whether its file is
still ours; addresses of other machines accepted; signals as inherited; new workers at once, however fast they die; a
worker that keeps the writing end of the pipe that would end it; a connection just accepted, or one that asked by RSET,
that gets 421; no turn for others at RSET."""

import contextlib
import os
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest
from lab import lab as lab_module
from lab.lmtp import Gone, stored, stuffed
from lab.messages import message, new_id
from lab.process import free_port, is_listening, wait_until
from lab.proxy import SERVER
from lab.service import Service, exists


def said(service, text):
    wait_until(lambda: text in service.log(), f"the service says: {text}")


def refused(service):
    """A service that does not start; returns its output."""
    assert service.finish() == 69, service.log()
    return service.log()


def gone(client):
    """Whether the connection ends without another byte."""
    rest = client.rest()
    assert rest == b"", rest
    return True


# The socket


def test_delivers_by_unix_socket(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    service = Service(site)
    for reply in service.deliver(message(), scuba, doug):
        stored(reply)
    assert site.count(scuba) == site.count(doug) == 1
    assert os.stat(service.socket).st_mode & 0o7777 == 0o666
    assert service.stop() == 0
    assert not os.path.exists(service.socket)


def test_prefers_the_credential_from_systemd(site):
    """A file with the name of imap.password_file: seen to fail without that, and without its variable in the environment."""
    scuba = site.account("scuba")
    os.mkdir(os.path.join(site.directory, "credentials"), 0o700)
    site.write("credentials/hidden", site.lab.dovecot.password + "\n")
    environment = {**site.environment(), "CREDENTIALS_DIRECTORY": os.path.join(site.directory, "credentials")}
    service = Service(site, settings={"imap.password_file": "/nowhere/hidden"}, env=environment)
    stored(service.deliver(message(), scuba)[0])
    service.renew({"imap.password_file": site.write("other", site.lab.dovecot.password + "\n")})
    stored(service.deliver(message(), scuba)[0])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_delivers_by_tcp(site, host):
    scuba, port = site.account("scuba"), free_port()
    service = Service(site, settings={"service.socket": f"{host}:{port}"})
    client = service.client(socket.create_connection((host.strip("[]"), port)))
    stored(client.deliver(message(), scuba)[0])
    assert service.stop() == 0


@pytest.mark.parametrize("name, why", [
    ("0.0.0.0:24", "set service.allowed_networks"), ("[::]:24", "set service.allowed_networks"), ("192.0.2.1:24", "set service.allowed_networks"),
    ("mail.example.org:24", "neither an absolute path nor"), ("run/lmtp", "neither an absolute path nor"),
    ("127.0.0.1:0", "neither an absolute path nor"), ("[127.0.0.1]:24", "neither an absolute path nor"),
    ("127.0.0.1:24x", "neither an absolute path nor"), ("/nonexistent/lmtp", "directory of service.socket must exist"),
    ("/" + 110 * "a", "longer than"),
])
def test_sockets_that_are_refused(site, name, why):
    assert why in refused(Service(site, settings={"service.socket": name}, wait=False))


def test_systemds_socket(site):
    """Connections that come while no service runs are served by the next one."""
    scuba = site.account("scuba")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.join(site.directory, "service.socket"))
        listener.listen()
        service = Service(site, listener=listener, settings={"service.socket": "/nonexistent/lmtp"})
        stored(service.deliver(message(), scuba)[0])
        assert service.stop() == 0
        waiting = service.connect(hello=False)
        service.start()
        waiting.hello()
        stored(waiting.deliver(message(), scuba)[0])
        assert os.path.exists(service.socket)


@pytest.mark.parametrize("address, listens, why", [
    (("0.0.0.0", 0), True, "set service.allowed_networks"), (("127.0.0.1", 0), False, "does not listen"), (None, True, "does not listen"),
])
def test_systemds_sockets_that_are_refused(site, address, listens, why):
    with open("/dev/null", "rb") if address is None else socket.socket() as listener:
        if address:
            listener.bind(address)
        if address and listens:
            listener.listen()
        assert why in refused(Service(site, listener=listener, wait=False))


def test_the_socket_of_a_dead_service_is_replaced(site):
    scuba = site.account("scuba")
    service = Service(site)
    service.close()
    assert os.path.exists(service.socket) and not is_listening(service.socket)
    service.start()
    stored(service.deliver(message(), scuba)[0])


def test_a_second_service_on_the_same_socket_is_refused(site):
    scuba = site.account("scuba")
    service = Service(site)
    second = Service(site, name="second", settings={"service.socket": service.socket}, wait=False)
    assert "another oncedrop serve listens there" in refused(second)
    stored(service.deliver(message(), scuba)[0])


def test_what_is_not_ours_is_left_alone(site):
    with socket.socket(socket.AF_UNIX) as listener:
        name = os.path.join(site.directory, "others")
        listener.bind(name)
        listener.listen()
        assert "another process listens there" in refused(Service(site, settings={"service.socket": name}, wait=False))
        assert is_listening(name)
    name = site.write("file", "precious")
    service = Service(site, name="third", settings={"service.socket": name}, wait=False)
    assert "is not a socket" in refused(service)
    with open(name, encoding="utf-8") as file:
        assert file.read() == "precious"


def test_a_socket_that_is_no_longer_ours_stays(site):
    service = Service(site)
    os.unlink(service.socket)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(service.socket)
        assert service.stop() == 0
        assert os.path.exists(service.socket)


# Kept connections


def test_sessions_are_kept_from_connection_to_connection(site):
    scuba = site.account("scuba")
    imap, database = site.imap_proxy(), site.database_proxy_if_any()
    service = Service(site, workers=1)
    for _ in range(4):
        stored(service.deliver(message(), scuba)[0])
    assert imap.accepted == 1 and (database is None or database.accepted == 1)
    assert site.count(scuba) == 4


@pytest.mark.parametrize("how", [pytest.param("restarted", marks=pytest.mark.postgres),
                                 pytest.param("idle", marks=pytest.mark.postgres), "imap"])
def test_a_kept_session_that_was_lost_defers_nothing(site, how):
    """The database was restarted, or has ended the idle session, or the IMAP server has."""
    scuba = site.account("scuba")
    imap, database = site.imap_proxy(), site.database_proxy_if_any()
    if how == "idle":
        site.settings["database.conninfo"] += " options='-c idle_session_timeout=300ms'"
    service = Service(site, workers=1)
    client = service.connect()
    stored(client.deliver(message(), scuba)[0])
    if how == "restarted":
        site.lab.postgres.restart(signal.SIGINT)
    elif how == "idle":
        wait_until(lambda: site.ledger.sessions() == 0, "the session was ended")
    else:
        for connection in imap.connections:
            connection.end()
    stored(client.deliver(message(), scuba)[0])
    client.close()
    stored(service.deliver(message(), scuba)[0])
    assert site.count(scuba) == 3
    assert imap.accepted == (2 if how == "imap" else 1)
    assert how != "imap" or database is None or database.accepted == 1


# Workers that end


def test_a_worker_killed_within_a_transaction(site):
    scuba, mail = site.account("scuba"), message()
    service = Service(site, workers=1)
    client = service.connect()
    client.envelope([scuba])
    client.send(stuffed(mail)[:-5])
    [worker] = service.workers()
    os.kill(worker, signal.SIGKILL)
    assert gone(client)
    said(service, f"worker {worker} was killed by signal 9")
    stored(service.deliver(mail, scuba)[0])
    assert service.workers() != [worker] and site.count(scuba) == 1


def test_a_worker_killed_during_the_append(site):
    """What it was about to store is stored once, by a try after the hold-off."""
    scuba, mail = site.account("scuba"), message()
    site.settings.update({"imap.tls": "none", "imap.port": site.lab.dovecot.port})
    service = Service(site, workers=1)
    [worker] = service.workers()

    def kill(connection, side, data):
        if side == SERVER and b"APPENDUID" in data and exists(worker):
            os.kill(worker, signal.SIGKILL)
            wait_until(lambda: not exists(worker), "the worker is gone")
        return data

    imap = site.imap_proxy(kill)
    service.renew()
    wait_until(lambda: worker not in service.workers(), "the worker from before the reload is gone")
    [worker] = service.workers()
    client = service.connect()
    client.envelope([scuba])
    client.send(stuffed(mail))
    assert gone(client) and imap.accepted == 1
    site.ledger.age(hours=1)
    replies = []
    wait_until(lambda: replies.append(service.deliver(mail, scuba)[0]) or replies[-1].code == 250, "delivered")
    assert {reply.code for reply in replies[:-1]} <= {451}
    assert site.count(scuba) == 1


def test_the_deadline_ends_only_a_worker(site):
    scuba, doug = site.account("scuba"), site.account("doug")
    service = Service(site, workers=2, settings={"delivery.deadline": "1s", "delivery.hold_off": "2s"})
    stalled = site.imap_proxy()
    stalled.stall()
    service.renew()
    workers = set(service.workers())
    client = service.connect()
    client.envelope([scuba])
    client.send(stuffed(message()))
    assert gone(client)
    said(service, "the deadline is over")
    wait_until(lambda: len(workers & set(service.workers())) == 1 and len(service.workers()) == 2, "one is replaced")
    stalled.resume()
    service.renew({"delivery.deadline": "60s", "delivery.hold_off": "61s"})
    stored(service.deliver(message(), doug)[0])


def test_workers_that_die_at_once_are_started_ever_more_slowly(site):
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    before = resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (3, before[1]))
    os.kill(service.workers()[0], signal.SIGKILL)
    begun = time.monotonic()
    wait_until(lambda: service.log().count("a worker cannot begin") >= 4, "four have died")
    assert time.monotonic() - begun >= 0.1 + 0.2 + 0.4
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, before)
    stored(service.deliver(message(), scuba)[0])


def test_workers_end_with_their_parent(site):
    """But not within a transaction."""
    scuba, mail = site.account("scuba"), message()
    service = Service(site)
    workers = service.workers()
    client = service.connect()
    client.envelope([scuba])
    service.process.kill()
    service.process.wait()
    wait_until(lambda: sum(map(exists, workers)) == 1, "the idle worker is gone")
    client.send(stuffed(mail))
    stored(client.reply())
    assert client.reply().code == 421 and gone(client)
    wait_until(lambda: not any(map(exists, workers)), "both are gone")


@pytest.mark.postgres
def test_modules_are_loaded_by_the_parent(site):
    """So that no worker meets files that an upgrade has replaced."""
    service = Service(site, workers=1)
    for pid in (service.process.pid, *service.workers()):
        with open(f"/proc/{pid}/maps", encoding="utf-8") as file:
            maps = file.read()
        assert all(name in maps for name in ("-decode.so", "-postgres.so", "libpq.so")), pid


# Signals


def inherit(ignored, blocked):
    def prepare():
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, blocked)

    return {"preexec_fn": prepare}


ENDING = [signal.SIGTERM, signal.SIGALRM]


@pytest.mark.parametrize("ignored, blocked", [([signal.SIGCHLD], []), (ENDING, []), ([], signal.valid_signals())])
def test_signals_that_its_parent_ignored_or_blocked(site, ignored, blocked):
    """Dead workers are replaced, the deadline of a delivery ends it, and SIGTERM the service."""
    scuba = site.account("scuba")
    service = Service(site, **inherit(ignored, blocked))
    workers = service.workers()
    os.kill(workers[0], signal.SIGKILL)
    service.await_replaced(workers[0])
    stored(service.deliver(message(), scuba)[0])
    with open(f"/proc/{service.workers()[0]}/status", encoding="ascii") as file:
        fields = dict(line.split(":\t", 1) for line in file if ":\t" in line)
    for number in [signal.SIGCHLD, *ENDING]:
        assert not (int(fields["SigBlk"], 16) | int(fields["SigIgn"], 16)) & 1 << number - 1, (number, fields)
    assert service.stop() == 0


def test_sighup_loads_the_configuration(site):
    scuba = site.account("scuba")
    service = Service(site, workers=2)
    old, used = service.connect(), service.connect()
    stored(used.deliver(message(), scuba)[0])
    old.envelope([scuba])
    service.reload({"delivery.size_limit": "123456", "service.workers": 3})
    assert "SIZE 123456" in service.connect(hello=False).hello().text
    assert used.reply().code == 421 and gone(used)
    old.send(stuffed(message()))
    stored(old.reply())
    assert old.reply().code == 421 and gone(old)
    wait_until(lambda: len(service.workers()) == 3, "the old workers are gone")
    assert site.count(scuba) == 2


def test_sighup_with_a_broken_configuration(site):
    scuba = site.account("scuba")
    service = Service(site)
    workers = service.workers()
    client = service.connect()
    stored(client.deliver(message(), scuba)[0])
    service.write_configuration({"delivery.deadline": "soon"})
    service.signal(signal.SIGHUP)
    said(service, "the old configuration stays in force: ")
    assert "[delivery] deadline = soon" in service.log()
    stored(client.deliver(message(), scuba)[0])
    assert service.workers() == workers
    service.reload({"delivery.deadline": "60s"})


def test_sighup_does_not_move_the_socket(site):
    service = Service(site)
    other = os.path.join(site.directory, "other")
    service.reload({"service.socket": other})
    assert f"service.socket has changed from {service.socket} to {other}: this takes a restart" in service.log()
    service.connect()


def test_a_connection_that_was_just_accepted_outlives_a_reload(site):
    """Postfix would defer a message whose MAIL is answered by 421."""
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    client = service.connect()
    service.reload()
    stored(client.deliver(message(), scuba)[0])
    assert client.reply().code == 421 and gone(client)


def test_a_client_that_asked_first_outlives_a_reload(site):
    """Postfix asks by RSET before it uses a connection again, and then would defer a message that is refused."""
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    client = service.connect()
    stored(client.deliver(message(), scuba)[0])
    assert client.command("RSET").code == 250
    service.reload()
    assert client.command("XFORWARD NAME=client.test").code == 250
    stored(client.deliver(message(), scuba)[0])
    assert client.reply().code == 421 and gone(client)


def test_a_client_that_asks_again_does_not_outlive_a_reload(site):
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    client = service.connect()
    stored(client.deliver(message(), scuba)[0])
    assert client.command("RSET").code == 250
    service.reload()
    assert client.command("NOOP").code == 421 and gone(client)


def test_sigterm_ends_transactions_first(site):
    scuba, mail = site.account("scuba"), message()
    service = Service(site, workers=3)
    idle, fresh, busy = service.connect(), service.connect(), service.connect()
    stored(idle.deliver(message(), scuba)[0])
    busy.envelope([scuba])
    service.signal(signal.SIGTERM)
    assert idle.reply().code == 421 and gone(idle)
    assert fresh.reply().code == 421 and gone(fresh)
    assert service.process.poll() is None and not os.path.exists(service.socket)
    busy.send(stuffed(mail))
    stored(busy.reply())
    assert busy.reply().code == 421 and gone(busy)
    assert service.finish() == 0
    assert site.count(scuba) == 2


@pytest.mark.parametrize("how", ["a second signal", "the deadline"])
def test_sigterm_breaks_transactions_off(site, how):
    scuba = site.account("scuba")
    deadline = "100ms" if how == "the deadline" else "60s"
    service = Service(site, settings={"delivery.deadline": deadline, "delivery.hold_off": "300s"})
    client = service.connect()
    client.envelope([scuba])
    service.signal(signal.SIGTERM)
    said(service, "stopping")
    if how == "a second signal":
        service.signal(signal.SIGTERM)
    assert gone(client)
    assert service.finish() == 0
    assert site.count(scuba) == 0


def test_sigterm_under_load(site):
    """A recipient with a 250 has the mail; everything is stored once when all others have tried again."""
    scuba = site.account("scuba")
    service = Service(site, workers=3)
    answered, ids = [], []

    def send():
        with contextlib.suppress(Gone, OSError, AssertionError):    # it may end before, between and after replies
            while True:
                ids.append(new_id())
                id = ids[-1]
                if service.deliver(message(id=id), scuba)[0].code == 250:
                    answered.append(id)

    clients = [threading.Thread(target=send) for _ in range(6)]
    for client in clients:
        client.start()
    wait_until(lambda: len(answered) > 30, "messages are delivered")
    assert service.stop() == 0
    for client in clients:
        client.join()
    stored_ids = {id for id in ids if any(id.encode() in one.raw for one in site.messages(scuba))}
    assert stored_ids.issuperset(answered)
    service.start()
    for id in set(ids) - set(answered):
        wait_until(lambda: service.deliver(message(id=id), scuba)[0].code == 250, "delivered by another try")
    assert site.count(scuba) == len(ids)


def test_systemd_is_told(site):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        name = os.path.join(site.directory, "notify")
        notified.bind(name)
        notified.settimeout(60)
        service = Service(site, env={**site.environment(), "NOTIFY_SOCKET": name})
        assert notified.recv(1000) == b"READY=1"
        service.reload()
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        reloading, usec = notified.recv(1000).decode().split("\nMONOTONIC_USEC=")
        assert reloading == "RELOADING=1" and now - 60_000_000 < int(usec) <= now
        assert notified.recv(1000) == b"READY=1"
        assert service.stop() == 0
        assert notified.recv(1000) == b"STOPPING=1"


# Clients that wait for others


def test_an_idle_client_makes_room(site):
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    idle = service.connect()
    stored(idle.deliver(message(), scuba)[0])
    waiting = service.connect(hello=False)
    assert idle.reply().code == 421 and gone(idle)
    waiting.hello()
    stored(waiting.deliver(message(), scuba)[0])


def test_a_silent_client_makes_room(site):
    service = Service(site, workers=1)
    silent = service.connect(hello=False)
    waiting = service.connect(hello=False)
    assert silent.reply().code == 220 and silent.reply().code == 421 and gone(silent)
    waiting.hello()


def test_an_idle_client_stays_while_a_worker_is_free(site):
    scuba = site.account("scuba")
    service = Service(site, workers=2)
    idle = service.connect()
    stored(idle.deliver(message(), scuba)[0])
    end = time.monotonic() + 1      # longer than it may be idle while others wait
    while time.monotonic() < end:
        stored(service.deliver(message(), scuba)[0])
    stored(idle.deliver(message(), scuba)[0])


def test_a_client_that_comes_back_for_more_lets_others_have_a_turn(site):
    """At RSET, where it does no harm."""
    scuba = site.account("scuba")
    service = Service(site, workers=1)
    busy = service.connect()
    stored(busy.deliver(message(), scuba)[0])
    assert busy.command("RSET").code == 250
    waiting = service.connect(hello=False)
    stored(busy.deliver(message(), scuba)[0])
    assert busy.command("RSET").code == 421 and gone(busy)
    waiting.hello()


# Users


def test_help_and_arguments(site):
    assert site.run("serve", "now").exit == 64
    done = subprocess.run([lab_module.program(), "help", "serve"], check=True, capture_output=True, text=True)
    assert "service.workers" in done.stdout


# What check says


def test_check_looks_at_the_service(site):
    service = Service(site, workers=1, settings={"service.trusted_users": "nobody nosuchuser"})
    site.settings.update(service.settings)
    done = site.check()
    assert f"answers on {service.socket}; believed are root, its own user and nobody nosuchuser" in " ".join(done.out.split())
    assert "there is no user nosuchuser" in done.out
    idle = service.connect()
    idle.envelope([site.account()])
    done = site.check()
    assert done.exit == 1 and "no worker of the service is free" in done.out, done
    idle.close()
    service.close()
    done = site.check()
    assert done.exit == 1 and f"{service.socket}: Connection refused" in " ".join(done.out.split()), done
    os.unlink(service.socket)
    assert "service " not in site.check().out


OTHER_CONFIGURATION = "runs with another configuration or password than this one"


def test_check_sees_that_the_service_runs_with_another_configuration(site):
    service = Service(site, workers=1)
    site.settings.update(service.settings)
    assert OTHER_CONFIGURATION not in " ".join(site.check().out.split())
    site.settings["delivery.deadline"] = "61s"
    done = site.check()
    assert OTHER_CONFIGURATION in " ".join(done.out.split()) and "SIGHUP" in done.out, done
    service.renew()
    assert OTHER_CONFIGURATION not in " ".join(site.check().out.split())
    with open(site.password_file, "r+", encoding="ascii") as file:
        password = file.read().strip()
        file.seek(0)
        file.write(f"{password}x\n")
    done = site.check()
    assert OTHER_CONFIGURATION in " ".join(done.out.split()) and password not in done.out, done


def test_only_who_is_believed_learns_the_configuration_in_force(site):
    service = Service(site, workers=1)
    assert service.connect().command("XCONFIG x").code == 550
    assert site.run("lmtp", stdin=b"XCONFIG x\r\n").out.splitlines()[1].startswith("500 ")
    if os.getuid() == 0:
        assert service.connect(user="nobody").command("XCONFIG x").code == 500
