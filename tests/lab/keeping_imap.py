# SPDX-License-Identifier: ISC
"""A FakeImap with mailboxes in memory."""

import collections
import re

from .fake_imap import FakeImap


class KeepingImap(FakeImap):
    """Keeps what it stores, and finds it. `fault`, a function(client, tag, arguments), answers the next APPEND."""

    def __init__(self):
        super().__init__()
        self.kept = collections.defaultdict(list)       # (account, mailbox) → messages; the UID is the position, from 1
        self.appends = 0
        self.fault = None

    def do_authenticate(self, client, tag, arguments):
        super().do_authenticate(client, tag, arguments)
        client.account = client.credentials.split("\0")[0]

    def do_append(self, client, tag, arguments):
        self.appends += 1
        fault, self.fault = self.fault, None
        if fault:
            fault(client, tag, arguments)
        else:
            uid = self.keep(client, *self.read_append(client, arguments))
            client.send(f"{tag} OK [APPENDUID 7 {uid}] stored")

    def keep(self, client, mailbox, data):
        kept = self.kept[client.account, mailbox]
        kept.append(data)
        return len(kept)

    def do_list(self, client, tag, arguments):
        name = arguments.split()[-1].decode().strip('"')
        client.send(f'* LIST () "/" {name}')
        client.send(f"{tag} OK done")

    def do_examine(self, client, tag, arguments):
        client.kept = self.kept[client.account, arguments.decode().strip('"')]
        client.send(f"* {len(client.kept)} EXISTS")
        client.send("* OK [UIDVALIDITY 7] valid")
        client.send(f"{tag} OK [READ-ONLY] done")

    def do_uid_search(self, client, tag, arguments):
        """A Message-ID matches substrings, as in IMAP; other criteria are ignored."""
        wanted = re.search(rb'HEADER Message-ID "([^"]*)"', arguments)
        found = [str(place) for place, data in enumerate(client.kept, 1)
                 if not wanted or wanted[1].lower() in identity(data).lower()]
        client.send(" ".join(["* SEARCH", *found]))
        client.send(f"{tag} OK done")

    def do_uid_fetch(self, client, tag, arguments):
        """UIDs are sequence numbers here."""
        for uid in numbers(arguments.split()[0].decode()):
            data = client.kept[uid - 1]
            if b"HEADER.FIELDS" in arguments:
                part, data = "HEADER.FIELDS (MESSAGE-ID)", identity(data) + b"\r\n"
            else:
                part = ""
            client.send(f"* {uid} FETCH (UID {uid} BODY[{part}] {{{len(data)}}}\r\n".encode() + data + b")\r\n")
        client.send(f"{tag} OK done")

    do_fetch = do_uid_fetch


def numbers(chosen):
    for part in chosen.split(","):
        first, _, last = part.partition(":")
        yield from range(int(first), int(last or first) + 1)


def identity(data):
    found = re.search(rb"^Message-ID:.*\r\n", data, re.MULTILINE | re.IGNORECASE)
    return found[0] if found else b""
