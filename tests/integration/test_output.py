# SPDX-License-Identifier: ISC
"""Text written by strangers, in the log, on the terminal and as JSON.

Seen to fail with: values of a log line as they came except control characters; bytes given to jansson as they came;
characters that turn the direction of text left unchanged."""

import json
import re

import expect
import pytest
from lab.lmtp import start, stored
from lab.messages import message
from lab.process import wait_until

ID = "x>, status=stored, to=<y@z"
INVISIBLE = ["\u202e", "\u2066", "\U000e0001", "\u200b", "\ufeff", "\ue000"]


def octal(text):
    return "".join(f"\\{byte:03o}" for byte in text.encode())


def fields(line):
    """Parses a log line as log readers do."""
    return [re.match(r"([a-z-]+)=<?(.*?)>?$", part).groups() for part in line.split(": ", 3)[3].split(" (")[0].split(", ")]


@pytest.mark.parametrize("id", [ID, "x, status=stored", "x,status=stored,to=y@z", "x> , y=<z", "x\u202ey"])
def test_no_value_forges_a_field_of_the_log(site, id):
    scuba = site.account()
    site.settings["log.to"] = "stderr"
    session = start(site)
    stored(session.deliver(message(id=id), scuba)[0])
    wait_until(lambda: "message-id=" in session.log(), "the line for the recipient")
    [line] = [line for line in session.log().splitlines() if "message-id=" in line]
    names = [name for name, _ in fields(line)]
    assert names == ["message-id", "to", "account", "mailbox", "uid", "size", "delay", "delays", "dsn", "status"], line
    assert dict(fields(line))["to"] == scuba and dict(fields(line))["status"] == "stored", line
    assert len(re.findall("status=", line)) == len(re.findall(r"\bto=", line)) == 1, line
    assert "\u202e" not in line


def test_nothing_invisible_is_printed(site):
    scuba = site.account()
    subject = "a" + "b".join(INVISIBLE) + "c \u00e4 \u2764\ufe0f"
    mail = message(headers="X: y\n").replace(b"Subject: ", b"Subject: " + subject.encode() + b" ")
    expect.stored(site.deliver(mail, scuba))
    [id] = [row.message_id for row in site.sql("SELECT message_id FROM oncedrop.message")]
    shown = site.run("show", id).out
    assert not [one for one in INVISIBLE if one in shown] and "\u00e4 \u2764\ufe0f" in shown, shown
    assert octal("\u202e") in shown, shown
    assert subject in json.loads(site.run("show", "--json", id).out)["messages"][0]["subject"]


@pytest.mark.parametrize("id", [b"\xff", b"\xff\xfe@x", b"a\xe2\x82", b"\xed\xa0\x80", b"\x01\"\\"])
def test_json_is_json_whatever_is_asked(site, id):
    done = site.run("show", "--json", id)
    answer = json.loads(done.out)
    assert done.exit == 1 and (answer["id"] == id.decode(errors="replace") or "\ufffd" in answer["id"]), done


def test_json_of_hostile_messages(site):
    scuba = site.account()
    mail = message(id=None, headers="X: y\n").replace(b"Subject: ", b"Message-ID: <\xff\x01@x>\nSubject: \xff\x1b[31m ")
    expect.stored(site.deliver(mail, scuba, "-q", b"Q\xff", "-a", b"\xff@x"))
    assert json.loads(site.run("show", "--json", b"\xff\x01@x").out)["messages"]
    for command in (["list", "--json"], ["locks", "--json"], ["stats", "--json"]):
        assert json.loads(site.run(*command).out) is not None, command
    path = site.write("\udcff\u202e.eml", "x")
    with open(path, "wb") as file:
        file.write(mail)
    done = site.run("replay", "--json", "-d", scuba, path)
    assert json.loads(done.out.splitlines()[0])["recipients"][0]["status"] == "duplicate", done
