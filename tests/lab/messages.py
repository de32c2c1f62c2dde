# SPDX-License-Identifier: ISC
"""Messages to deliver, as bytes with LF line ends as Postfix pipes them."""

import itertools
import os

COUNTER = itertools.count(1)


def new_id():
    """A Message-ID, without < and >, that no other test has."""
    return f"{os.getpid()}.{next(COUNTER)}.{os.urandom(4).hex()}@test.example"


def message(sender="lisa@elsewhere.example", to="scuba@example.org", id=None, subject="Hello", body="Hello.\n", headers=""):
    """id: None makes a new one, False omits the field, bytes or str is used unchanged between < and >. headers: further
    header lines, each with its line end."""
    if id is None:
        id = new_id()
    fields = [f"From: {sender}\nTo: {to}\nSubject: {subject}\nDate: Fri, 1 Aug 2025 10:00:00 +0200\n".encode()]
    if id is not False:
        fields.append(b"Message-ID: <" + (id if isinstance(id, bytes) else id.encode()) + b">\n")
    return b"".join(fields) + encode(headers) + b"\n" + encode(body)


def encode(text):
    return text if isinstance(text, bytes) else text.encode()


def on_the_wire(message_bytes):
    """The bytes as they should arrive in a mailbox: CRLF line ends, without the mbox From_ line, NUL as 0x80."""
    lines = message_bytes.split(b"\n")
    if lines[0].startswith((b"From ", b">From ")):
        del lines[0]
    ended = [line[:-1] if line.endswith(b"\r") else line for line in lines[:-1]]
    return b"".join(line + b"\r\n" for line in ended).replace(b"\0", b"\x80") + lines[-1].replace(b"\0", b"\x80")
