# SPDX-License-Identifier: ISC
"""A full disk anywhere is trouble of ours: mail is deferred as long as Postfix retries, and delivered once when there
is room again.

Seen to fail with: any NO behind the literal taken for a refusal of the content (mailbox_refusal.c)."""

import os
import random

import expect
import pytest
from lab import lab as lab_module
from lab.messages import message
from lab.postgres import Postgres
from lab.small_disk import SmallDisk


def words(size, seed=1):
    """Text that does not compress."""
    return random.Random(seed).randbytes(size // 2).hex() + "\n"


def deferred_for_days(site, mail, recipient, code, **options):
    """Now, and after longer than delivery.refuse_after."""
    expect.deferred(site.deliver(mail, recipient, **options), code)
    for column, days in (("first_at", 2), ("claimed_at", 1)):
        site.ledger.older("copy", column, days=days, state=("pending", "appending"))
    expect.deferred(site.deliver(mail, recipient, **options), code)


@pytest.mark.parametrize("overquota", ["defer", "bounce"])
def test_a_full_disk_under_dovecot(site, overquota):
    scuba = site.account()
    dovecot = site.lab.dovecot
    disk = site.use(SmallDisk(dovecot.path("mail", scuba), "1m", dovecot.user))
    site.settings["delivery.overquota"] = overquota
    expect.stored(site.deliver(message(), scuba))
    mail = message(body=words(20_000))
    disk.fill()
    deferred_for_days(site, mail, scuba, r"4\.4\.1")
    disk.make_room()
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    assert site.count(scuba) == 2


@pytest.mark.postgres
def test_a_full_disk_under_postgresql(site):
    scuba = site.account()
    disk = site.use(SmallDisk(site.lab.new_directory("disk"), "160m"))
    server = Postgres(disk.directory).start()
    try:
        for role in (lab_module.OWNER, lab_module.DELIVERY):
            server.create_role(role)
        server.admin(f"ALTER ROLE {lab_module.OWNER} CREATEROLE")
        database = server.create_database(lab_module.OWNER)
        site.settings["database.conninfo"] = server.conninfo(database, lab_module.OWNER)
        assert site.run("ledger", "install").exit == 0
        server.admin(f"GRANT oncedrop_delivery TO {lab_module.DELIVERY}")
        site.settings["database.conninfo"] = server.conninfo(database, lab_module.DELIVERY)
        server.admin("SELECT pg_switch_wal()")      # a new file, for which there is still room; otherwise the whole server ends
        expect.stored(site.deliver(message(), scuba))
        mail = message(body=words(500_000))
        disk.fill()
        for _ in range(2):
            expect.deferred(site.deliver(mail, scuba), r"4\.3\.0", "no space left")
        disk.make_room()
        expect.stored(site.deliver(mail, scuba))
        expect.duplicate(site.deliver(mail, scuba))
    finally:
        server.stop()
    assert site.count(scuba) == 2


def test_a_full_temporary_directory(site):
    scuba = site.account()
    disk = site.use(SmallDisk(site.lab.new_directory("disk"), "2m"))
    mail = message(body=words(3_000_000))
    disk.fill()
    for _ in range(2):
        expect.deferred(site.deliver(mail, scuba, env={"TMPDIR": disk.directory}), r"4\.3\.0", "no space left")
    disk.make_room()
    expect.deferred(site.deliver(mail, scuba, env={"TMPDIR": disk.directory}), r"4\.3\.0", "no space left")
    small = message(body=words(1_500_000))
    expect.stored(site.deliver(small, scuba, env={"TMPDIR": disk.directory}))
    assert os.listdir(disk.directory) == []
    expect.stored(site.deliver(mail, scuba))
    assert site.count(scuba) == 2
