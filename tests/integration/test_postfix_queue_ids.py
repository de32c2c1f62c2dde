# SPDX-License-Identifier: ISC
"""With pipe(8) and LMTP, the record and the log have the queue id of Postfix's log: also for mail from
sendmail(1), whose Received field is folded before the id, and with any fields a stranger puts below ours.

Seen to fail with: the first field with an id taken, wherever it stands; the id sought in the field's first line only."""

import os
import re
import shutil
import subprocess
import time

from lab import process
from lab.messages import message, new_id

FORGED = ("Received: from a (b [192.0.2.1])\n\tby postfix.test (Postfix) with ESMTP id 4FORGED;\n\t"
          "Fri, 1 Aug 2025 10:00:00 +0200\n"
          "Received: by postfix.test (Postfix, from userid 0)\n\tid 4BELOW; Fri, 1 Aug 2025 10:00:00 +0200\n").encode()


def sendmail(postfix, mail, recipient):
    """As a user would. postdrop(1), being set-group-ID, reads only /etc/postfix: a copy that is not stands in for it."""
    directory, etc = postfix.site.lab.new_directory("sendmail"), postfix.path("etc")
    copy, script = os.path.join(directory, "copy"), os.path.join(directory, "postdrop")
    shutil.copyfile(process.find_program("postdrop"), copy)
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nexec {copy} -c {etc} "$@"\n')
    os.chmod(copy, 0o755)
    os.chmod(script, 0o755)
    with open(os.path.join(etc, "main.cf"), encoding="utf-8") as file:
        settings = re.sub(r"^(config|command)_directory *=.*", rf"\1_directory = {directory}", file.read(), flags=re.M)
    with open(os.path.join(directory, "main.cf"), "w", encoding="utf-8") as file:
        file.write(settings)
    subprocess.run([process.find_program("sendmail"), "-C", directory, "-f", "lisa@elsewhere.example", recipient],
                   input=mail, check=True, cwd="/", timeout=60)


def known(postfix, id):
    """What is recorded about the message: its queue id, and whether Postfix received it just now."""
    [row] = postfix.site.sql("SELECT d.queue_id, t.queue_id AS of_try, t.queued_at"
                             " FROM oncedrop.message m JOIN oncedrop.delivery d ON d.message = m.id"
                             " JOIN oncedrop.attempt t ON t.delivery = d.id WHERE m.message_id = %s", (id,))
    assert abs(time.time() - row.queued_at.timestamp()) < 600, row
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
    for mail in (message(id=new_id()), FORGED + message(id=new_id())):
        before = len(postfix.entries())
        sendmail(postfix, mail, scuba)
        entry = postfix.wait_for(before + 1)[-1]
        assert known(postfix, mail.split(b"Message-ID: <")[1].split(b">")[0].decode()) == entry.queue_id
    said = postfix.site.run("show", entry.queue_id)
    assert said.exit == 0 and scuba.split("@")[0] in said.out, said
