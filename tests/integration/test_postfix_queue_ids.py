# SPDX-License-Identifier: ISC
"""With each of the three ways in, the record and the log have the queue id of Postfix's log: also for mail from
sendmail(1), whose Received field is folded before the id, and whatever fields a stranger puts below ours.

Seen to fail with: the first field with an id taken, wherever it stands; the id sought in the field's first line only."""

import os
import subprocess
import time

import pytest
from lab import process, small_disk
from lab.messages import message, new_id

FORGED = ("Received: from a (b [192.0.2.1])\n\tby postfix.test (Postfix) with ESMTP id 4FORGED;\n\t"
          "Fri, 1 Aug 2025 10:00:00 +0200\n"
          "Received: by postfix.test (Postfix, from userid 0)\n\tid 4BELOW; Fri, 1 Aug 2025 10:00:00 +0200\n").encode()


def sendmail(postfix, mail, recipient):
    """As a user would. postdrop(1) is set-group-ID and reads only /etc/postfix, so our Postfix's files must be
    there."""
    script = 'mount --bind "$1" /etc/postfix; exec "$2" -f lisa@elsewhere.example "$3"'
    subprocess.run([process.find_program("unshare"), "--mount", "sh", "-ec", script, "-", postfix.path("etc"),
                    process.find_program("sendmail"), recipient], input=mail, check=True, cwd="/", timeout=60)


def known(postfix, id):
    """What is recorded about the message: its queue id, and whether Postfix received it just now."""
    [row] = postfix.site.sql("SELECT d.queue_id, t.queue_id AS of_try, extract(epoch FROM t.queued_at) AS queued_at"
                             " FROM oncedrop.message m JOIN oncedrop.delivery d ON d.message = m.id"
                             " JOIN oncedrop.try t ON t.delivery = d.id WHERE m.message_id = %s", (id,))
    assert abs(time.time() - float(row.queued_at)) < 600, row
    assert row.queue_id == row.of_try
    return row.queue_id


def test_queue_ids(postfix):
    [scuba] = postfix.accounts(1)
    postfix.start()
    plain, forged = new_id(), new_id()
    sent = {plain: postfix.send(message(id=plain), [scuba]),
            forged: postfix.send(FORGED + message(id=forged), [scuba])}
    postfix.wait_for(2)
    assert {id: known(postfix, id) for id in sent} == sent
    if not small_disk.available() or not os.path.isdir("/etc/postfix"):
        pytest.skip("no sendmail(1): nothing can be mounted here")
    for mail in (message(id=new_id()), FORGED + message(id=new_id())):
        before = len(postfix.entries())
        sendmail(postfix, mail, scuba)
        entry = postfix.wait_for(before + 1)[-1]
        assert known(postfix, mail.split(b"Message-ID: <")[1].split(b">")[0].decode()) == entry.queue_id
    said = postfix.site.run("show", entry.queue_id)
    assert said.exit == 0 and scuba.split("@")[0] in said.out, said
