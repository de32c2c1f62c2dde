# SPDX-License-Identifier: ISC
import os, re, subprocess
from lab import process
from lab.messages import message, new_id

def sendmail(postfix, mail, recipient):
    etc = postfix.path("etc")
    subprocess.run([process.find_program("unshare"), "--mount", "sh", "-ec", 'mkdir -p /etc/postfix; mount --bind "$1" /etc/postfix; exec "$2" -f lisa@elsewhere.example "$3"', "-", etc, process.find_program("sendmail"), recipient], input=mail, check=True, cwd="/", timeout=60)

def test_queue_id(postfix):
    [scuba] = postfix.accounts(1)
    postfix.start()
    id = new_id()
    sendmail(postfix, message(id=id), scuba)
    [entry] = postfix.wait_for(1)
    print(entry)
    id = postfix.send(message(), [scuba])
    postfix.wait_for(2)
    print(id, postfix.site.sql("select queue_id from oncedrop.delivery"))
    print(b"\n".join(postfix.messages(scuba)).decode())
    assert 0
