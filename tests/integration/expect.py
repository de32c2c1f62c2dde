# SPDX-License-Identifier: ISC
"""The possible answers of a delivery: the table of outcomes, as Postfix reads it."""

import re


def one_line(done):
    """Postfix takes the first line of stdout and stderr together as the answer, so there must be only one."""
    assert done.err == "", done
    assert re.fullmatch(r"[245]\.\d\.\d [^\n]+\n", done.out), done
    assert len(done.out) < 500, done
    return done.out.rstrip("\n")


def stored(done, mailbox="INBOX"):
    """Returns the UID."""
    assert done.exit == 0, done
    found = re.match(r"2\.1\.5 stored uid=(\d+) mailbox=", one_line(done))
    assert found and f"mailbox={mailbox}" in done.out, done
    return int(found[1])


def duplicate(done):
    assert done.exit == 0, done
    assert one_line(done).startswith("2.1.5 duplicate"), done


def deferred(done, code=r"4\.\d\.\d", *words):
    assert done.exit == 75, done
    line = one_line(done)
    assert re.match(code + " ", line), done
    for word in words:
        assert word.lower() in line.lower(), done
    return line


def held(done):
    deferred(done, r"4\.3\.0", "is being delivered elsewhere")


def bounced(done, exit, code, *words):
    assert done.exit == exit, done
    line = one_line(done)
    assert line.startswith(code + " "), done
    for word in words:
        assert word.lower() in line.lower(), done
