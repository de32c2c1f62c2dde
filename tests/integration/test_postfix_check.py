# SPDX-License-Identifier: ISC
"""`oncedrop check` reads Postfix's settings with postconf(1), and warns of those that do not fit ours; settings that
keep mail from arriving at all are failures.

Seen to fail: with each of the conditions turned round, and with settings read of the system's Postfix."""

import os

import pytest
from lab import lab as lab_module
from lab.front import FakeService

FILTER = os.path.join(lab_module.REPOSITORY, "conf", "postfix", "oncedrop_status")

PIPE = ("oncedrop unix - n n - {maxproc} pipe flags=R user=uucp argv=/usr/local/bin/oncedrop deliver -d ${{recipient}}"
        " -u ${{sasl_username}}\n")
SPAWN = "oncedrop-lmtp unix - n n - {maxproc} spawn user=uucp argv=/usr/local/bin/oncedrop lmtp\n"
LMTP = SPAWN + "oncedrop unix - - n - - lmtp -o lmtp_send_xforward_command=yes\n"
OTHER = "other unix - n n - - pipe user=uucp argv=/bin/true\n"
GOOD = {"virtual_transport": "oncedrop", "oncedrop_destination_recipient_limit": "1", "oncedrop_time_limit": "600s",
        "pipe_delivery_status_filter": f"regexp:{FILTER}"}
GOOD_LMTP = {"virtual_transport": "oncedrop:unix:private/oncedrop-lmtp", "smtpd_sasl_authenticated_header": "yes"}
GOOD_COMMAND = {"mailbox_command": "/usr/local/bin/oncedrop deliver", "local_delivery_status_filter": f"regexp:{FILTER}",
                "alias_maps": "static:lisa"}


def said(site, main, master, maxproc, *address):
    """The complaints about Postfix, as (status, text). Only the number of its processes is compared with other servers:
    otherwise those are left out, because they take longer than the rest."""
    settings = {"compatibility_level": "3.6", **main}
    if "oncedrop" in settings.get("mailbox_command", ""):
        have_service(site, settings)
    text = "".join(f"{name} = {value}\n" for name, value in settings.items() if value is not None)
    directory = site.lab.postfix_directory(text, master.format(maxproc=maxproc))
    site.settings["lock.wait"] = "10s"
    site.settings["delivery.hold_off"] = "300s"
    if maxproc == "20":
        site.settings.update({"database.conninfo": "host=127.0.0.1 port=1 dbname=x user=x", "imap.port": 1})
    done = site.check(*address, env={"MAIL_CONFIG": directory})
    lines = [line.split(None, 2) for line in done.out.splitlines()]
    items = [(line[0], line[2]) for line in lines if line[1:2] == ["postfix"]]
    assert maxproc == "20" or done.exit == (1 if "failed" in [kind for kind, _ in items] else 0), done
    assert items, done.out
    return [] if items == [("ok", "settings read")] else items


def have_service(site, settings):
    """A socket for it, and accounts that recipients may deliver to."""
    path = os.path.join(site.directory, "service")
    if "service.socket" not in site.settings:
        site.use(FakeService(path, lambda client: client.send("220 fake")))
        site.settings["service.socket"] = path
    if site.settings["service.socket"] == path:
        settings["mailbox_command"] = settings["mailbox_command"].replace(" deliver", f" deliver -S {path}")
    site.settings.setdefault("route.account", "%{user}")


def warned(site, main, master, maxproc="20"):
    """The only complaint is this warning; returns its text."""
    [(kind, text)] = said(site, main, master, maxproc)
    assert kind == "warning", text
    return text


def failed(site, main, master, maxproc="20"):
    [(kind, text)] = said(site, main, master, maxproc)
    assert kind == "failed", text
    return text


@pytest.mark.parametrize("main,master", [
    (GOOD, PIPE), (GOOD_LMTP, LMTP), (GOOD_COMMAND, ""),
    ({**GOOD_LMTP, "virtual_transport": "lmtp:unix:private/oncedrop-lmtp"}, SPAWN + "lmtp unix - - n - - lmtp\n"),
    ({**GOOD, "mydestination": "localhost, b.example", "virtual_mailbox_domains": "example.org"}, PIPE),
])
def test_nothing_to_say(site, main, master):
    assert said(site, main, master, "20") == []


def test_processes_of_others_do_not_count(site):
    assert said(site, {**GOOD, "default_process_limit": "5000"}, PIPE + OTHER, "40") == []


def test_a_postfix_that_is_not_set_up_yet(site):
    assert said(site, {}, OTHER, "20") == [("ok", "settings read; none of them leads to oncedrop yet")]


@pytest.mark.parametrize("main,master,maxproc,word", [
    ({**GOOD, "oncedrop_destination_recipient_limit": "2"}, PIPE, "20", "oncedrop_destination_recipient_limit = 2"),
    ({**GOOD, "oncedrop_destination_recipient_limit": None}, PIPE, "20", "oncedrop_destination_recipient_limit = 50"),
    ({**GOOD, "oncedrop_time_limit": "120s"}, PIPE, "20", "oncedrop_time_limit = 120s"),
    ({**GOOD, "oncedrop_time_limit": "$command_time_limit", "command_time_limit": "2m"}, PIPE, "20", "oncedrop_time_limit"),
    ({**GOOD, "soft_bounce": "yes"}, PIPE, "20", "soft_bounce"),
    (GOOD, PIPE, "5000", "5000 processes"),
    ({**GOOD, "default_process_limit": "5000"}, PIPE, "-", "5000 processes"),
    ({**GOOD_LMTP, "oncedrop-lmtp_time_limit": "700s"}, LMTP, "20", "700s"),
    (GOOD_LMTP, LMTP, "5000", "5000 processes"),
    (GOOD, PIPE, "0", "any number of processes"),
    ({**GOOD_LMTP, "lmtp_data_done_timeout": "1m"}, LMTP, "20", "lmtp_data_done_timeout = 1m"),
    (GOOD_LMTP, LMTP.replace("-o ", "-o lmtp_data_done_timeout=50s -o "), "20", "lmtp_data_done_timeout = 50s"),
    ({**GOOD_COMMAND, "mailbox_command": "/usr/local/bin/oncedrop deliver -a \"$USER\""}, "", "", "shell"),
    ({**GOOD_COMMAND, "command_time_limit": "100s"}, "", "", "command_time_limit = 100s"),
])
def test_limits(site, main, master, maxproc, word):
    assert word in warned(site, main, master, maxproc)


SERVICE = "oncedrop unix - - n - {maxproc} lmtp -o lmtp_send_xforward_command=yes\n"
GOOD_SERVICE = {"virtual_transport": "oncedrop:unix:/run/od/lmtp", "smtpd_sasl_authenticated_header": "yes"}
CONCURRENCY = "oncedrop_destination_concurrency_limit"


@pytest.mark.parametrize("main,maxproc", [
    ({CONCURRENCY: "4"}, "0"), ({"default_destination_concurrency_limit": "3"}, "20"),
    ({}, "4"), ({"default_process_limit": "4"}, "-"),
    ({"virtual_transport": "oncedrop:unix:/run/od/other"}, "20"),
    ({"virtual_transport": None, "mailbox_transport": "oncedrop:unix:/run/od/lmtp"}, "4"),
])
def test_as_many_clients_of_the_service_as_workers(site, main, maxproc):
    assert not clients_of_service(site, "/run/od/lmtp", {**GOOD_SERVICE, **main}, maxproc)


@pytest.mark.parametrize("socket,main,maxproc,word", [
    ("/run/od/lmtp", {}, "20", f"{CONCURRENCY} = 20, but service.workers = 4"),
    ("/run/od/lmtp", {CONCURRENCY: "0"}, "0", f"{CONCURRENCY} = 0"),
    ("/run/od/lmtp", {"virtual_transport": "lmtp:unix:/run/od/lmtp"}, "4", "lmtp_destination_concurrency_limit = 20"),
    ("127.0.0.1:24", {"virtual_transport": "oncedrop:inet:127.0.0.1:24"}, "-", f"{CONCURRENCY} = 20"),
    ("[::1]:24", {"virtual_transport": "oncedrop:[::1]:24"}, "-", f"{CONCURRENCY} = 20"),
    ("/run/od/lmtp", {"virtual_transport": None, "mailbox_transport": "oncedrop:unix:/run/od/lmtp", CONCURRENCY: "4"}, "-",
     "maxproc"),
])
def test_more_clients_of_the_service_than_workers(site, socket, main, maxproc, word):
    [text] = clients_of_service(site, socket, {**GOOD_SERVICE, **main}, maxproc)
    assert word in text


def clients_of_service(site, socket, main, maxproc):
    """What is said about them."""
    site.settings["service.socket"] = socket
    master = SERVICE.format(maxproc=maxproc) + "lmtp unix - - n - - lmtp\n"
    return [text for kind, text in said(site, main, master, "20") if "service.workers" in text and kind == "warning"]


@pytest.mark.parametrize("main,table,first", [
    ({"mydestination": "localhost, Example.org", "virtual_mailbox_domains": "b.example example.org"}, None, "mydestination"),
    ({"mydestination": "$mydomain", "mydomain": "example.org", "virtual_mailbox_domains": "$mydomain"}, None, "mydestination"),
    ({"mydestination": "example.org", "virtual_mailbox_domains": "texthash:{table}"}, "example.org -", "mydestination"),
    ({"mydestination": "texthash:{table}", "virtual_mailbox_domains": "example.org"}, "example.org -", "mydestination"),
    ({"virtual_alias_maps": "texthash:{table}", "virtual_mailbox_domains": "example.org"}, "example.org -",
     "virtual_alias_domains"),
])
def test_a_domain_in_two_classes(site, main, table, first):
    path = site.write("domains", f"{table}\n")
    main = {name: value.format(table=path) for name, value in main.items()}
    text = failed(site, {**GOOD, **main}, PIPE)
    assert "example.org is in both" in text.lower() and text.endswith(f"remove it from {first}")


def test_a_domain_of_mailbox_command_in_two_classes(site):
    main = {"mydestination": "example.org", "virtual_mailbox_domains": "example.org"}
    assert failed(site, {**GOOD_COMMAND, **main}, "").endswith("remove it from virtual_mailbox_domains")


@pytest.mark.parametrize("main,master,missing", [
    ({**GOOD, "virtual_transport": "oncedrop", "mailbox_transport": "droponce:x"}, PIPE, "droponce"),
    ({"mailbox_transport": "oncedrop"}, OTHER, "oncedrop"),
    (GOOD_LMTP, LMTP.split("\n", maxsplit=1)[1], "oncedrop-lmtp"),
])
def test_a_transport_that_is_not_defined(site, main, master, missing):
    assert f"master.cf has no service {missing}:" in failed(site, main, master, maxproc="40")


@pytest.mark.parametrize("main,master,service", [
    ({**GOOD, "virtual_transport": None}, PIPE, "oncedrop"),
    (GOOD, PIPE + SPAWN, "oncedrop-lmtp"),
])
def test_a_transport_that_is_not_used(site, main, master, service):
    main = {**main, "smtpd_sasl_authenticated_header": "yes"}
    assert f"nothing uses the service {service} " in warned(site, main, master)
    tables = {"transport_maps": "texthash:" + site.write("transport", "example.org oncedrop:\n")}
    assert said(site, {**main, **tables}, master, "20") == []
    named = f"127.0.0.1:26 inet n - n - - smtpd -o virtual_transport={service}\n"
    assert said(site, main, master + named, "20") == []


def test_a_mailbox_command_that_is_not_run(site):
    main = {**GOOD_COMMAND, "mailbox_transport": "other"}
    assert "mailbox_transport = other overrides mailbox_command" in warned(site, main, OTHER)


def test_mail_for_root_that_nobody_reads(site):
    for tables in ("", "texthash:" + site.write("aliases", "postmaster root\n")):
        assert "root: lisa" in warned(site, {**GOOD_COMMAND, "alias_maps": tables}, "")


@pytest.mark.parametrize("good,master,name", [
    (GOOD, PIPE, "pipe_delivery_status_filter"), (GOOD_COMMAND, "", "local_delivery_status_filter")])
def test_accidents_that_bounce(site, good, master, name):
    useless, worse = site.write("filter", "/^4/ 5.0.0\n"), site.write("worse", "/^5/ 5.0.0\n")
    for value in (None, f"regexp:{useless}", f"regexp:{worse}", f"regexp:{useless}.missing"):
        text = warned(site, {**good, name: value}, master)
        assert text.startswith(f"{name} is not set" if value is None else f"{name} = {value}"), text
    assert said(site, {**good, name: f"regexp:{useless}, regexp:{FILTER}"}, master, "20") == []


@pytest.mark.parametrize("good,master", [(GOOD_LMTP, LMTP), (GOOD, PIPE.replace(" -u ${{sasl_username}}", ""))])
def test_logins_that_are_not_told(site, good, master):
    main = {**good, "smtpd_sasl_authenticated_header": "no"}
    site.settings["route.sent_copy"] = "authenticated"
    assert "smtpd_sasl_authenticated_header = no" in warned(site, main, master)
    submission = "127.0.0.1:26 inet n - n - - smtpd -o smtpd_sasl_authenticated_header=yes\n"
    assert said(site, main, master + submission, "20") == []
    site.settings["route.sent_copy"] = "off"
    assert said(site, main, master, "20") == []


def test_logins_that_pipe_tells(site):
    site.settings["route.sent_copy"] = "authenticated"
    assert said(site, {**GOOD, "smtpd_sasl_authenticated_header": "no"}, PIPE, "20") == []


VIRTUAL = {**GOOD, "virtual_mailbox_domains": "example.org, b.example", "mydestination": "localhost"}
COMMAND = {**GOOD_COMMAND, "mydestination": "example.org"}


@pytest.mark.parametrize("main,master", [
    (VIRTUAL, PIPE), (COMMAND, ""),
    ({**VIRTUAL, "virtual_mailbox_domains": "static:all", "mydestination": ""}, PIPE),
    ({**VIRTUAL, "virtual_transport": "lmtp:inet:127.0.0.1:24"}, SPAWN + "lmtp unix - - n - - lmtp\n"),
    ({"mydestination": "example.org", **GOOD_LMTP, "virtual_transport": None, "mailbox_transport": "oncedrop:unix:private/"
      "oncedrop-lmtp"}, LMTP),
    ({**VIRTUAL, "virtual_mailbox_domains": "", "virtual_alias_domains": "example.org"}, PIPE),
    ({**VIRTUAL, "virtual_mailbox_domains": "", "relay_domains": "Example.org"}, PIPE),
    ({**VIRTUAL, "virtual_mailbox_domains": "", "transport_maps": "static:oncedrop"}, PIPE),
])
def test_a_domain_whose_mail_comes_here(site, main, master):
    """Or may come: what tables and servers elsewhere do is not known."""
    assert not [text for kind, text in said(site, main, master, "20", "lisa@Example.org") if kind == "failed"]


@pytest.mark.parametrize("main,master,words", [
    ({**VIRTUAL, "virtual_mailbox_domains": "b.example"}, PIPE, "example.org is not a domain of this Postfix"),
    ({**VIRTUAL, "mydestination": "localhost, example.org", "virtual_mailbox_domains": "b.example"}, PIPE,
     "example.org is in mydestination, from where no mail comes to oncedrop"),
    ({**COMMAND, "mailbox_transport": "other"}, PIPE.replace("oncedrop unix", "x unix") + OTHER, "example.org is in mydestination"),
    ({**VIRTUAL, "virtual_transport": "other"}, PIPE + OTHER,
     "example.org is in virtual_mailbox_domains, but virtual_transport = other does not lead to oncedrop"),
    ({**VIRTUAL, "virtual_transport": "lmtp:unix:private/another"}, PIPE + "lmtp unix - - n - - lmtp\n"
     "another unix - n n - - spawn user=uucp argv=/bin/true\n", "virtual_transport = lmtp:unix:private/another"),
])
def test_a_domain_whose_mail_does_not_come_here(site, main, master, words):
    """As on Debian's "Internet Site", which has it in mydestination."""
    assert words in [text for kind, text in said(site, main, master, "20", "lisa@example.org") if kind == "failed" and
                     words in text][0]
    assert not [text for kind, text in said(site, main, master, "20", "lisa@other.example")
                if kind == "failed" and "example.org" in text]


@pytest.mark.parametrize("setting,command,why", [
    ("/nonexistent/lmtp", " -S /nonexistent/lmtp", "no service is on /nonexistent/lmtp: mail for local users is deferred"),
    ("/nonexistent/lmtp", "", "a service on /run/oncedrop/lmtp, but service.socket = /nonexistent/lmtp"),
    ("/run/oncedrop/lmtp", " -S/nonexistent/lmtp", "a service on /nonexistent/lmtp, but service.socket = /run/oncedrop/lmtp"),
])
def test_a_mailbox_command_without_its_service(site, setting, command, why):
    site.settings["service.socket"] = setting
    main = {**GOOD_COMMAND, "mailbox_command": GOOD_COMMAND["mailbox_command"] + command}
    assert why in warned(site, main, "")


def test_a_mailbox_command_whose_accounts_have_a_domain(site):
    site.settings["route.account"] = "%{address}"
    assert "mailbox_command runs as the recipient, whose login name has no domain" in warned(site, GOOD_COMMAND, "")
