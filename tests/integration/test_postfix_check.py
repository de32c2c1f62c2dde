# SPDX-License-Identifier: ISC
"""`oncedrop check` reads Postfix's settings with postconf(1), and warns of those that would bounce mail or cost a Sent copy;
settings that keep mail from arriving at all are failures. Each rule has a row here.

Seen to fail: with each row of the table taken out, and with settings read of the system's Postfix."""

import os

import pytest
from lab import lab as lab_module
from lab.front import FakeService

FILTER = os.path.join(lab_module.REPOSITORY, "conf", "postfix", "oncedrop_status")

PIPE = ("oncedrop unix - n n - - pipe flags=R user=uucp argv=/usr/local/bin/oncedrop deliver -d ${recipient}"
        " -u ${sasl_username}\n")
SPAWN = "oncedrop-lmtp unix - n n - - spawn user=uucp argv=/usr/local/bin/oncedrop lmtp\n"
LMTP = SPAWN + "oncedrop unix - - n - - lmtp -o lmtp_send_xforward_command=yes\n"
OTHER = "other unix - n n - - pipe user=uucp argv=/bin/true\n"
GOOD = {"virtual_transport": "oncedrop", "oncedrop_destination_recipient_limit": "1", "oncedrop_time_limit": "600s",
        "pipe_delivery_status_filter": f"regexp:{FILTER}"}
GOOD_LMTP = {"virtual_transport": "oncedrop:unix:private/oncedrop-lmtp", "smtpd_sasl_authenticated_header": "yes"}
GOOD_COMMAND = {"mailbox_command": "/usr/local/bin/oncedrop deliver", "local_delivery_status_filter": f"regexp:{FILTER}",
                "alias_maps": "static:lisa"}


def said(site, main, master, *address, alone=True):
    """The complaints about Postfix, as (status, text). alone: without the other servers, since those take longer than the
    rest."""
    settings = {"compatibility_level": "3.6", **main}
    if "oncedrop" in settings.get("mailbox_command", ""):
        have_service(site, settings)
    text = "".join(f"{name} = {value}\n" for name, value in settings.items() if value is not None)
    directory = site.lab.postfix_directory(text, master)
    site.settings["lock.wait"] = "10s"
    site.settings.setdefault("delivery.hold_off", "300s")
    if alone:
        site.settings.update({"database.conninfo": "host=127.0.0.1 port=1 dbname=x user=x", "imap.port": 1})
    done = site.check(*address, env={"MAIL_CONFIG": directory})
    lines = [line.split(None, 2) for line in done.out.splitlines()]
    items = [(line[0], line[2]) for line in lines if line[1:2] == ["postfix"]]
    assert alone or done.exit == (1 if "failed" in [kind for kind, _ in items] else 0), done
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


def warned(site, main, master, alone=True):
    """The only complaint is this warning; returns its text."""
    [(kind, text)] = said(site, main, master, alone=alone)
    assert kind == "warning", text
    return text


def failed(site, main, master, alone=True):
    [(kind, text)] = said(site, main, master, alone=alone)
    assert kind == "failed", text
    return text


@pytest.mark.parametrize("main,master", [
    (GOOD, PIPE), (GOOD_LMTP, LMTP), (GOOD_COMMAND, ""),
    ({**GOOD_LMTP, "virtual_transport": "lmtp:unix:private/oncedrop-lmtp"}, SPAWN + "lmtp unix - - n - - lmtp\n"),
    ({**GOOD, "mydestination": "localhost, b.example", "virtual_mailbox_domains": "example.org"}, PIPE),
])
def test_nothing_to_say(site, main, master):
    assert said(site, main, master) == []


def test_a_postfix_that_is_not_set_up_yet(site):
    """And nothing is said of the address."""
    untouched = [("ok", "settings read; none of them leads to oncedrop yet")]
    assert said(site, {}, OTHER, "lisa@example.org") == untouched


@pytest.mark.parametrize("main,master,word", [
    ({**GOOD, "oncedrop_destination_recipient_limit": "2"}, PIPE, "oncedrop_destination_recipient_limit = 2"),
    ({**GOOD, "oncedrop_destination_recipient_limit": None}, PIPE, "oncedrop_destination_recipient_limit = 50"),
    ({**GOOD, "oncedrop_time_limit": "120s"}, PIPE, "oncedrop_time_limit = 120s"),
    ({**GOOD, "oncedrop_time_limit": "$command_time_limit", "command_time_limit": "2m"}, PIPE, "oncedrop_time_limit = 2m:"),
    (GOOD, PIPE.replace("pipe ", "pipe -o oncedrop_time_limit=50s "), "oncedrop_time_limit = 50s"),
    ({**GOOD_COMMAND, "mailbox_command": "/usr/local/bin/oncedrop deliver -a \"$USER\""}, "", "shell"),
    ({**GOOD_COMMAND, "command_time_limit": "100s"}, "", "command_time_limit = 100s"),
])
def test_limits(site, main, master, word):
    assert word in warned(site, main, master)


RETRY = "not above delivery.hold_off, sent_expire_after and refuse_after"


@pytest.mark.parametrize("lifetime,settings,word", [
    ("5d", {}, None), ("2h", {}, None), ("1h", {}, RETRY), ("2h", {"delivery.sent_expire_after": "3h"}, RETRY),
    ("2h", {"delivery.refuse_after": "3h"}, RETRY), ("2h", {"delivery.hold_off": "3h"}, RETRY),
    ("10d", {}, "not below record.expire_after"), ("20d", {"record.expire_after": "21d"}, None),
])
def test_the_lifetime_of_the_queue(site, lifetime, settings, word):
    site.settings.update(settings)
    texts = [text for kind, text in said(site, {**GOOD, "maximal_queue_lifetime": lifetime}, PIPE)]
    assert len(texts) == (1 if word else 0) and all(word in text for text in texts), texts


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
    assert "example.org" in text.lower() and f" is in {first}, too: " in text


@pytest.mark.parametrize("main,master,missing", [
    ({**GOOD, "virtual_transport": "oncedrop", "mailbox_transport": "droponce:x"}, PIPE, "droponce"),
    ({"mailbox_transport": "oncedrop"}, OTHER, "oncedrop"),
    (GOOD_LMTP, LMTP.split("\n", maxsplit=1)[1], "oncedrop-lmtp"),
])
def test_a_transport_that_is_not_defined(site, main, master, missing):
    assert f"master.cf has no service {missing}:" in failed(site, main, master, alone=False)


def test_a_mailbox_command_that_is_not_run(site):
    main = {**GOOD_COMMAND, "mailbox_transport": "other"}
    assert "mailbox_transport = other: it overrides mailbox_command" in warned(site, main, OTHER)


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
    assert said(site, {**good, name: f"regexp:{useless}, regexp:{FILTER}"}, master) == []


@pytest.mark.parametrize("good,master", [(GOOD_LMTP, LMTP), (GOOD, PIPE.replace(" -u ${sasl_username}", ""))])
def test_logins_that_are_not_told(site, good, master):
    main = {**good, "smtpd_sasl_authenticated_header": "no"}
    site.settings["route.sent_copy"] = "authenticated"
    assert "smtpd_sasl_authenticated_header = no" in warned(site, main, master)
    submission = "127.0.0.1:26 inet n - n - - smtpd -o smtpd_sasl_authenticated_header=yes\n"
    assert said(site, main, master + submission) == []
    site.settings["route.sent_copy"] = "off"
    assert said(site, main, master) == []


def test_logins_that_pipe_tells(site):
    site.settings["route.sent_copy"] = "authenticated"
    assert said(site, {**GOOD, "smtpd_sasl_authenticated_header": "no"}, PIPE) == []


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
    assert not [text for kind, text in said(site, main, master, "lisa@Example.org") if kind == "failed"]


@pytest.mark.parametrize("main,master,words", [
    ({**VIRTUAL, "virtual_mailbox_domains": "b.example"}, PIPE,
     "virtual_mailbox_domains = b.example: example.org is not a domain of this Postfix"),
    ({**VIRTUAL, "mydestination": "localhost, example.org", "virtual_mailbox_domains": "b.example"}, PIPE,
     "mydestination = localhost, example.org: example.org is in it, from where no mail comes to oncedrop"),
    ({**COMMAND, "mailbox_transport": "other"}, PIPE.replace("oncedrop unix", "x unix") + OTHER,
     "mydestination = example.org: example.org is in it"),
    ({**VIRTUAL, "virtual_transport": "other"}, PIPE + OTHER,
     "example.org is in it, but virtual_transport does not lead to oncedrop"),
    ({**VIRTUAL, "virtual_transport": "lmtp:unix:private/another"}, PIPE + "lmtp unix - - n - - lmtp\n"
     "another unix - n n - - spawn user=uucp argv=/bin/true\n", "virtual_transport does not lead to oncedrop"),
])
def test_a_domain_whose_mail_does_not_come_here(site, main, master, words):
    """As on Debian's "Internet Site", which has it in mydestination."""
    assert words in [text for kind, text in said(site, main, master, "lisa@example.org") if kind == "failed" and
                     words in text][0]
    assert not [text for kind, text in said(site, main, master, "lisa@other.example")
                if kind == "failed" and ": example.org" in text]


@pytest.mark.parametrize("setting,command,why", [
    ("/nonexistent/lmtp", " -S /nonexistent/lmtp", "no service is on /nonexistent/lmtp: mail for local users is deferred"),
    ("/nonexistent/lmtp", "", "no service is on /run/oncedrop/lmtp: "),
    ("/run/oncedrop/lmtp", " -S/nonexistent/lmtp", "no service is on /nonexistent/lmtp: "),
])
def test_a_mailbox_command_without_its_service(site, setting, command, why):
    site.settings["service.socket"] = setting
    main = {**GOOD_COMMAND, "mailbox_command": GOOD_COMMAND["mailbox_command"] + command}
    assert why in warned(site, main, "")


def test_a_mailbox_command_whose_accounts_have_a_domain(site):
    site.settings["route.account"] = "%{address}"
    assert "route.account = %{address} needs a domain" in warned(site, GOOD_COMMAND, "")
