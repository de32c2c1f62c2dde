# SPDX-License-Identifier: ISC
"""Unusual messages arrive byte for byte and are recorded."""

import os
import re

import expect
import pytest
from lab import corpus
from lab.messages import on_the_wire

# What editors and transfers would repair, so that the message would no longer show its feature.
BYTES = {
    "plain-bare-cr": b"one\rtwo", "plain-nul": b"a\0b", "plain-control": b"\x1b[31m", "plain-crlf": b"on.  \r\nTell",
    "plain-mixed-ends": b"them.\r\nSecond by the other.\n\r\n", "plain-flowed": b"its  \n", "header-many-cr": b"\r" * 129 + b"\n",
    "header-original-to-8bit": b"To: \xff@", "header-blank-separator": b"\r\n \r\n", "header-bom": b"\xef\xbb\xbfFrom",
    "charset-utf8-broken": b"\xed\xa0\x80", "charset-cn-ext-body": b"x\x0e", "multipart-boundary-blanks": b"--wall  \t\t  \r\n",
}
UNENDED = ["plain-no-final-newline", "text-base64-cut", "charset-cn-ext-body", "multipart-end-missing"]


def test_the_corpus_is_there():
    """Every file is in the table, and contains the bytes that make it special."""
    table = re.findall(rb"^\| `([^`]+)`", corpus.read(os.path.join(corpus.OURS, "README.md")), re.MULTILINE)
    found = [os.path.relpath(os.path.join(directory, name), corpus.OURS)
             for directory, _, names in os.walk(corpus.OURS) for name in names if name != "README.md"]
    assert sorted(found) == sorted(name.decode() for name in table) and len(found) > 100
    for name, wanted in BYTES.items():
        assert wanted in corpus.read(os.path.join(corpus.OURS, name + ".msg")), name
    for name in UNENDED:
        assert not corpus.read(os.path.join(corpus.OURS, name + ".msg")).endswith(b"\n"), name


@pytest.mark.parametrize("path", corpus.FILES, ids=map(os.path.basename, corpus.FILES))
def test_corpus(site, path):
    scuba, doug = site.account("scuba"), site.account("doug")
    site.settings["record.level"] = "raw"
    mail = corpus.read(path)
    for recipient in (scuba, doug):
        expect.stored(site.deliver(mail, recipient, sender="lisa@example.org"))
    expect.duplicate(site.deliver(mail, scuba, sender="lisa@example.org"))
    for recipient in (scuba, doug):
        assert [corpus.one_cr(stored.raw) for stored in site.messages(recipient)] == [corpus.one_cr(on_the_wire(mail))]
    [row] = site.sql("SELECT id, size FROM oncedrop.message")
    assert row.size == len(on_the_wire(mail))
    chunks = site.sql("SELECT data FROM oncedrop.raw WHERE message = %s ORDER BY chunk", (row.id,))
    assert b"".join(bytes(chunk.data) for chunk in chunks) == on_the_wire(mail)
    assert site.value("SELECT count(*) FROM oncedrop.delivery WHERE outcome = 'stored' OR outcome = 'duplicate'") == 2
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'stored' AND role = 'inbox'") == 2

# Number of messages, or the line that is unclear.
MBOXES = {"dash": 3, "dash-crlf": 2, "dash-undated": "line 1", "number-undated": "line 1", "zone-before-year": 2,
          "sender-only": "line 1", "mixed-dates": "line 9"}


@pytest.mark.parametrize("name", MBOXES)
def test_an_mbox_is_split(site, name):
    """Or refused, naming the line; never one message made of several."""
    scuba = site.account()
    path = os.path.join(corpus.OURS, "mbox", name + ".mbox")
    done = site.run("replay", "-d", scuba, path)
    if isinstance(MBOXES[name], str):
        assert done.exit == 66 and MBOXES[name] in done.err and not site.messages(scuba), done
        return
    subjects = [re.search(rb"^Subject: (.*)\r$", stored.raw, re.MULTILINE)[1] for stored in site.messages(scuba)]
    assert done.exit == 0 and len(subjects) == MBOXES[name], done
    assert sorted(subjects) == sorted(re.findall(rb"^Subject: (.*?)\r?$", corpus.read(path), re.MULTILINE))
