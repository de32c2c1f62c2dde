# SPDX-License-Identifier: ISC
"""What goes to stderr as JSON says what the text says, for any message, by either way.

Seen to fail with: a field's value escaped as in the text; the whole text as message; the lines of a signal handler as text;
copies of -v as text."""

import datetime
import json
import re

import pytest
from lab import lmtp
from lab.lmtp import stuffed
from lab.messages import message
from lab.process import wait_until
from lab.service import Service
from test_history import take
from test_second_try import fake, refuse

NUMBERS = ["uid", "size", "delay"]
DIFFER = ["delay", "delays", "pid", "size", "time", "uid"]  # from one delivery to the next
ADDRESSES = [
    "scuba@example.org",
    '"quo\\"te\\\\d, status=x, to=<y>"@example.org',
    "\u00e4\u202e\u2764@example.org",
    "nonsense@",                                # refused by LMTP
]


def plain(text):
    """What the text of a line stands for, as JSON can say it."""
    pieces = re.split(rb"\\(\\|\d{3})", text.encode())
    octal = [b"\\" if one == b"\\" else bytes([int(one, 8)]) for one in pieces[1::2]]
    found = b"".join(one for pair in zip(pieces[::2], [*octal, b""], strict=True) for one in pair)
    return re.sub("[\udc80-\udcff]", "\ufffd", found.decode(errors="surrogateescape"))


def of_text(log):
    """Each line about a recipient, as the object that it should be."""
    found = []
    for line in log.splitlines():
        pid, level, queue_id, rest = re.fullmatch(r"oncedrop\[(\d+)\]: (\w+): (.*?): (.*)", line).groups() \
            if ", status=" in line else [None] * 4
        if rest is None:
            continue
        names, text = re.fullmatch(r"(.*?, status=[a-z]+) \((.*)\)", rest).groups()
        one = {"level": level, "pid": int(pid), "queue-id": plain(queue_id), "message": plain(text)}
        for part in names.split(", "):
            name, value = re.fullmatch(r"([a-z-]+)=<?(.*?)>?", part).groups()
            one[name] = json.loads(value) if name in NUMBERS else plain(value)
        found.append(one)
    return found


def of_json(log):
    """The same lines; each line of the log is an object with at least what it should have."""
    found = []
    for line in log.splitlines():
        one = json.loads(line)
        moment = datetime.datetime.strptime(one["time"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=datetime.timezone.utc)
        assert abs(datetime.datetime.now(datetime.timezone.utc) - moment) < datetime.timedelta(hours=1)
        assert {"time", "level", "pid", "message"} <= one.keys() and isinstance(one["pid"], int), one
        if "status" in one:
            found.append(one)
    return found


READ = {"text": of_text, "json": of_json}


def comparable(lines):
    """Without what is never the same."""
    return [{name: re.sub(r"uid=\d+|:\d+: ", "", value) if name == "message" else value
             for name, value in one.items() if name not in DIFFER} for one in lines]


def same(text, json_):
    assert [one.keys() | {"time"} for one in text] == [one.keys() for one in json_]
    assert comparable(text) == comparable(json_)


def by_deliver(site, mail, recipients):
    return "".join(site.deliver(mail, one, "-q", "4\u202eQ").err for one in recipients if one != "nonsense@")


def over_lmtp(site, client, log, mail, recipients):
    client.command("XFORWARD IDENT=4QUEUED")
    client.command("MAIL FROM:<lisa@elsewhere.example>")
    good = [one for one in recipients if client.command(f"RCPT TO:<{one}>").code == 250]
    client.command("DATA")
    client.send(stuffed(mail))
    client.replies(len(good))
    read = READ[site.settings["log.format"]]
    wait_until(lambda: len(read(log())) == len(recipients), "a line for each recipient")
    return log()


def by_lmtp(site, mail, recipients):
    session = lmtp.start(site)
    return over_lmtp(site, session, session.log, mail, recipients)


def by_serve(site, mail, recipients):
    service = Service(site, workers=1, name=site.settings["log.format"])
    return over_lmtp(site, service.connect(), service.log, mail, recipients)


WAYS = {"deliver": by_deliver, "lmtp": by_lmtp, "serve": by_serve}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("refused", [None, 'NO [LIMIT] "\\ \u202e\u00e4 status=stored, to=<x>'])
def test_the_same_as_the_text(site, way, refused):
    """Stored, refused by the IMAP server in its own words, and refused before there is a message."""
    found = {}
    for form, read in READ.items():
        fake(site, **({"APPEND": refuse(refused)} if refused else {}))
        site.settings.update({"log.to": "stderr", "log.format": form})
        mail = message(id='x>, status=stored, "\\<y@z', body=f"{way} {form}\n")
        found[form] = read(WAYS[way](site, mail, ADDRESSES))
        site.sql("DELETE FROM oncedrop.attempt")
        site.sql("DELETE FROM oncedrop.copy")
        site.sql("DELETE FROM oncedrop.delivery")
    same(found["text"], found["json"])
    status = "deferred" if refused else "stored"
    assert {one["to"] for one in found["json"]} >= {ADDRESSES[0], ADDRESSES[2]}
    assert [one["status"] for one in found["json"] if one["to"] == ADDRESSES[0]] == [status]


@pytest.mark.parametrize("form", READ)
def test_a_delivery_that_is_ended(site, form):
    """The line is written by a signal handler."""
    fake(site, APPEND=take)
    site.settings.update({"delivery.deadline": "2s", "delivery.hold_off": "300s", "imap.timeout": "60s", "log.to": "stderr",
                          "log.format": form})
    [line] = READ[form](site.deliver(message(id='"\\@x'), ADDRESSES[1], "-q", "4DEADLINE").err)
    assert (line["queue-id"], line["message-id"], line["to"]) == ("4DEADLINE", '"\\@x', ADDRESSES[1])
    assert (line["status"], line["message"]) == ("deferred", "the deadline is over (delivery.deadline)")


def test_lines_without_fields_and_those_of_the_command_line(site):
    """Other lines are objects, too, also the copies of -v; those written before the configuration is read are text."""
    fake(site)
    site.settings["log.format"] = "json"
    done = site.run("deliver", "-d", ADDRESSES[0], stdin=message(), options=["-v"])
    [line] = of_json(done.err)
    assert (line["status"], line["level"]) == ("stored", "info")
    service = Service(site, settings={"log.format": "json"})
    service.reload()
    service.write_configuration({"lock.wait": "a while"})
    service.signal(1)
    wait_until(lambda: "stays in force" in service.log(), "the wrong configuration is reported")
    levels = [json.loads(line)["level"] for line in service.log().splitlines()]
    assert levels[0] == "info" and levels[-1] == "error", service.log()
    assert service.stop() == 0
    site.settings["lock.wait"] = "a while"
    done = site.run("deliver", "-d", ADDRESSES[0], stdin=message(), options=["-v"])
    assert [line["status"] for line in of_text(done.err)] == ["deferred"]
