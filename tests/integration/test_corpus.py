# SPDX-License-Identifier: ISC
"""Real and awkward messages arrive with their bytes and are recorded."""

import glob
import os

import expect
import pytest
from lab.lab import REPOSITORY
from lab.messages import on_the_wire

FILES = sorted(glob.glob(os.path.join(REPOSITORY, "tests", "corpus", "*.msg")))


def test_the_corpus_is_there():
    assert len(FILES) > 60


@pytest.mark.parametrize("path", FILES, ids=map(os.path.basename, FILES))
def test_corpus(site, path):
    scuba, doug = site.account("scuba"), site.account("doug")
    site.settings["record.level"] = "raw"
    with open(path, "rb") as file:
        mail = file.read()
    for recipient in (scuba, doug):
        expect.stored(site.deliver(mail, recipient, sender="lisa@example.org"))
    expect.duplicate(site.deliver(mail, scuba, sender="lisa@example.org"))
    for recipient in (scuba, doug):
        assert [stored.raw for stored in site.messages(recipient)] == [on_the_wire(mail)]
    [row] = site.sql("SELECT id, size FROM oncedrop.message")
    assert row.size == len(on_the_wire(mail))
    chunks = site.sql("SELECT data FROM oncedrop.raw WHERE message = %s ORDER BY chunk", (row.id,))
    assert b"".join(bytes(chunk.data) for chunk in chunks) == on_the_wire(mail)
    assert site.value("SELECT count(*) FROM oncedrop.delivery WHERE outcome = 'stored' OR outcome = 'duplicate'") == 2
    assert site.value("SELECT count(*) FROM oncedrop.copy WHERE state = 'stored' AND role = 'inbox'") == 2
