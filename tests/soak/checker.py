# SPDX-License-Identifier: ISC
"""After the last delivery: is every accepted message in every mailbox once, every byte right, every row explained?"""

import collections
import glob
import hashlib
import os
import re
import time

from traffic import TAG

AT_ONCE = 50        # messages in one FETCH

# kind: "lost", "doubled", "false duplicate" or "other"
Wrong = collections.namedtuple("Wrong", "kind text")

LEFT_OVER = {
    "a copy that is not stored": "SELECT * FROM oncedrop.copy WHERE state <> 'stored'",
    "a delivery without end": "SELECT * FROM oncedrop.delivery WHERE finished_at IS NULL",
    "a message without a copy": "SELECT id AS message FROM oncedrop.message m"
                                " WHERE NOT EXISTS (SELECT 1 FROM oncedrop.copy WHERE message = m.id)",
}


def read_mailbox(dovecot, account, mailbox):
    """Its contents, as {tag: [(uid, SHA-256), ...]}."""
    found = collections.defaultdict(list)
    with dovecot.session(account) as session:
        if session.select(mailbox, readonly=True)[0] != "OK":
            return found
        uids = session.uid("SEARCH", "ALL")[1][0].split()
        for start in range(0, len(uids), AT_ONCE):
            chosen = b",".join(uids[start:start + AT_ONCE]).decode()
            status, answer = session.uid("FETCH", chosen, "(UID BODY.PEEK[])")
            if status != "OK":
                raise RuntimeError(f"FETCH: {answer}")
            for head, raw in (item for item in answer if isinstance(item, tuple)):
                tag = re.search(rf"^{TAG}: (\S+)\r?$".encode(), raw, re.MULTILINE)
                uid = int(re.search(rb"UID (\d+)", head)[1])
                found[tag and tag[1].decode()].append((uid, hashlib.sha256(raw).hexdigest()))
    return found


def when_stored(dovecot, account, tags):
    """For an extra copy: when the server began to take each, by which process (both are in the file's name), and when
    it was there. A copy that a server stores later than the hold-off could not be found by any search."""
    lines = []
    for path in glob.glob(dovecot.path("mail", account, "Maildir", "**"), recursive=True, include_hidden=True):
        if os.path.basename(os.path.dirname(path)) not in ("cur", "new") or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            tag = re.search(rf"^{TAG}: (\S+?)\r?$".encode(), file.read(8192), re.MULTILINE)
        if tag and tag[1].decode() in tags:
            name = os.path.basename(path)
            begun, process = int(name.split(".")[0]), re.search(r"P(\d+)", name)[1]
            lines.append(f"stored by process {process}: begun {clock(begun)}, there {clock(os.stat(path).st_ctime)}")
    return "".join(f"\n    {line}" for line in sorted(lines))


def clock(seconds):
    return time.strftime("%H:%M:%S", time.gmtime(seconds))


def check_mailboxes(servers, homes, expected, rows):
    """Returns what is wrong, and how many copies each server has. homes: account → the server that it is on, though every
    server has it. rows(tags, jobs): what the ledger knows about them, as text."""
    places = [(account, name) for account in homes for name in ("INBOX", "Sent")]
    mailboxes = {(account, name): read_mailbox(homes[account], account, name) for account, name in places}
    wrong, explained = [], collections.defaultdict(set)
    for one in expected:
        found = mailboxes[one.account, one.mailbox]
        explained[one.account, one.mailbox].update(one.choices)
        if problem := judge(one, found):
            late = when_stored(homes[one.account], one.account, one.choices) if problem[0] == "doubled" else ""
            wrong.append(Wrong(problem[0], f"{problem[1]}{late}{rows(one.choices, one.jobs)}"))
    for place, found in mailboxes.items():
        for tag in found.keys() - explained[place]:
            wrong.append(Wrong("other", f"{place} has a message {tag} that does not belong there: {found[tag]}"))
    for server in servers:
        for account, name in places:
            if server is not homes[account] and (found := read_mailbox(server, account, name)):
                wrong.append(Wrong("other", f"{account} {name} is on the other server, but here is {dict(found)}"))
    return wrong, [sum(len(uids) for place, found in mailboxes.items() if homes[place[0]] is server
                       for uids in found.values()) for server in servers]


def judge(one, found):
    """(kind, text) of what is wrong with one expected message, or None."""
    there = [(tag, uid, digest) for tag in one.choices for uid, digest in found.get(tag, ())]
    where = f"{one.account} {one.mailbox}: message {' or '.join(one.choices)}"
    if len(there) > 1:
        return "doubled", f"{where} is there {len(there)} times: {there}"
    accepted = [job for job in one.jobs if job.accepted]
    if there:
        tag, uid, digest = there[0]
        return None if digest == one.choices[tag] else ("lost", f"{where}, UID {uid}, has other bytes")
    # The Sent copy is guaranteed if all deliveries that could have made it were accepted.
    if accepted and (one.mailbox == "INBOX" or len(accepted) == len(one.jobs)):
        said = [job.last.output for job in accepted]
        duplicate = all("duplicate" in text for text in said)
        return "false duplicate" if duplicate else "lost", f"{where} is not there, but accepted: {said}"
    return None


def check_ledger(site, accepted_all, story):
    """Rows that a finished delivery must not leave behind. story(message): everything known about one."""
    if not accepted_all:
        return []
    wrong = [Wrong("other", f"a lock: {key}") for key in site.ledger.locked()]
    for what, query in LEFT_OVER.items():
        for row in site.sql(query):
            wrong.append(Wrong("other", f"{what}: {row}{story(row.message) if 'message' in row._fields else ''}"))
    return wrong
