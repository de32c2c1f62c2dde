# SPDX-License-Identifier: ISC
"""The privileges of the roles. Deliveries of all kinds are tested in the other files: there the role they log in as has
oncedrop_delivery and nothing else, which is verified here.

Seen to fail with: rights on whole tables; the roles' names exchanged; a command's refusal without the role's name."""

import expect
import psycopg2
import pytest
from lab import lab as lab_module
from lab.lmtp import Session, stored
from lab.messages import message

pytestmark = pytest.mark.postgres

ID, OTHER = "sha256('a')", "sha256('b')"
FORBIDDEN = {
    "subjects": "SELECT subject FROM oncedrop.message",
    "senders": "SELECT sender, \"from\" FROM oncedrop.message",
    "Message-IDs": "SELECT message_id FROM oncedrop.message",
    "addresses": "SELECT address FROM oncedrop.address",
    "texts": "SELECT text FROM oncedrop.part",
    "bytes": "SELECT data FROM oncedrop.raw",
    "the view of inboxes": "SELECT * FROM oncedrop.inbox",
    "the view of outboxes": "SELECT * FROM oncedrop.outbox",
    "errors": "SELECT error FROM oncedrop.copy",
    "why tries failed": "SELECT reason FROM oncedrop.attempt",
    "times": "SELECT first_at, last_at FROM oncedrop.delivery",
    "another message's identity": f"UPDATE oncedrop.message SET identity = {OTHER}",
    "a copy of another message": "UPDATE oncedrop.copy SET message = 1",
    "a copy of another account": "UPDATE oncedrop.copy SET account = 'x'",
    "a copy in another mailbox": "UPDATE oncedrop.copy SET mailbox = 'x', role = 'sent'",
    "a delivery to somebody else": "UPDATE oncedrop.delivery SET recipient = 'x'",
    "a claim of another age": "INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid,"
                              " claimed_at) VALUES (1, 'a', 'b', 'inbox', 'appending', 1, 1, 'h', 1, '2100-01-01')",
    "no message": "DELETE FROM oncedrop.message",
    "no copy": "DELETE FROM oncedrop.copy",
    "no delivery": "DELETE FROM oncedrop.delivery",
    "no try": "DELETE FROM oncedrop.attempt",
    "a try under another id": "UPDATE oncedrop.attempt SET queue_id = 'x'",
    "no row at all": "TRUNCATE oncedrop.message CASCADE",
    "a table for itself": "LOCK TABLE oncedrop.copy IN ACCESS EXCLUSIVE MODE",
    "a table shared": "LOCK TABLE oncedrop.message IN SHARE MODE",
    "a table of its own": "CREATE TABLE oncedrop.mine (a int)",
    "what was counted": "UPDATE oncedrop.counter SET copies = 0",
    "an older version": "DELETE FROM oncedrop.schema_version",
    "a newer version": "INSERT INTO oncedrop.schema_version (version) VALUES (99)",
    "its rights": "GRANT ALL ON oncedrop.message TO oncedrop_delivery",
}


def as_role(site, role, statement):
    session = site.lab.postgres.connect(site.database, role, role)
    try:
        with session.cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(statement)
    finally:
        session.close()


@pytest.mark.parametrize("statement", FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_a_delivery_may_not(site, statement):
    with pytest.raises(psycopg2.errors.InsufficientPrivilege):
        as_role(site, lab_module.DELIVERY, statement)


def test_the_role_of_deliveries_has_no_other(site):
    # Roles belong to the whole server: another test may use a schema of another name at the same time.
    granted = site.sql("""SELECT g.rolname FROM pg_auth_members m JOIN pg_roles r ON r.oid = m.member
                          JOIN pg_roles g ON g.oid = m.roleid WHERE r.rolname = %s
                          AND has_schema_privilege(g.oid, 'oncedrop', 'USAGE')""", (lab_module.DELIVERY,))
    assert [row.rolname for row in granted] == ["oncedrop_delivery"]
    whole = site.sql("""SELECT table_name, privilege_type FROM information_schema.role_table_grants
                        WHERE grantee = 'oncedrop_delivery' AND table_schema = 'oncedrop' ORDER BY 1, 2""")
    assert ("schema_version", "SELECT") in [tuple(row) for row in whole]
    assert {row.table_name for row in whole}.isdisjoint({"message", "address", "part", "raw", "delivery", "copy", "attempt"})


@pytest.mark.parametrize("level", ["envelope", "text", "raw"])
def test_deliveries(site, level):
    """A first delivery, a second, a Sent copy, one that is refused and retried, LMTP, and all modes of replay."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    site.settings.update({"record.level": level, "record.notify": "mail"})
    mail = message(sender=lisa, to=scuba)
    expect.stored(site.deliver(mail, scuba, "-a", "alias@x", "-q", "4abcDEF", sender=lisa))
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    right = site.settings["imap.password_file"]
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")
    other = message(sender=lisa, to=scuba)
    expect.deferred(site.deliver(other, scuba, sender=lisa))
    site.settings["imap.password_file"] = right
    expect.stored(site.deliver(other, scuba, sender=lisa))
    assert site.value("SELECT refusals FROM oncedrop.refusal") == 1
    session = Session(site)
    session.hello()
    for reply in session.deliver(message(sender=lisa), scuba, lisa):
        stored(reply)
    path = site.write("one.eml", message().decode())
    for options in ([], ["--dry-run"], ["--verify"], ["--force"]):
        done = site.run("replay", *options, "-d", scuba, path)
        assert done.exit == 0, done
    done = site.check()
    assert done.exit == 0, done


COMMANDS = {"show": ["show", "x@y"], "show a queue id": ["show", "4abcDEF"], "list": ["list"], "locks": ["locks"],
            "stats": ["stats"], "resume": ["resume"], "restore": ["restore"], "purge": ["purge", "--older-than", "30d"],
            "purge --dry-run": ["purge", "--older-than", "30d", "--dry-run"], "expire": ["expire", "4abcDEF"],
            "expire --dry-run": ["expire", "--dry-run"], "export": ["export", "lisa@elsewhere.example"],
            "forget": ["forget", "lisa@elsewhere.example"], "forget --yes": ["forget", "--yes", "lisa@elsewhere.example"]}


@pytest.mark.parametrize("words", COMMANDS.values(), ids=COMMANDS.keys())
def test_a_command_says_which_role_it_needs(site, words):
    expect.stored(site.deliver(message(), site.account(), "-q", "4abcDEF"))
    site.sql("UPDATE oncedrop.message SET received_at = '2001-01-01'")
    site.sql("UPDATE oncedrop.delivery SET last_at = '2001-01-01'")
    delivery = ["-o", "database.conninfo=" + site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)]
    done = site.run(*words, options=delivery)
    assert done.exit == 69 and "grant the role oncedrop_operator" in " ".join(done.err.split()), done
    done = site.run(*words)
    assert done.exit in (0, 1) and "permission" not in done.err, done


def test_a_delivery_says_which_role_it_needs(site):
    site.lab.postgres.create_role("nobody_special")
    try:
        site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, "nobody_special")
        expect.deferred(site.deliver(message(), site.account()), r"4\.3\.0", "grant the role oncedrop_delivery")
        for partial in ("", "USAGE ON SCHEMA oncedrop", "SELECT ON oncedrop.schema_version"):    # not enough either
            if partial:
                site.sql(f"GRANT {partial} TO nobody_special")
            done = site.check()
            assert done.exit == 1 and " ".join(done.out.split()).count("(grant the role oncedrop_delivery") == 1, done
    finally:
        site.sql("REVOKE ALL ON ALL TABLES IN SCHEMA oncedrop FROM nobody_special")
        site.sql("REVOKE ALL ON SCHEMA oncedrop FROM nobody_special")
        site.lab.postgres.admin("DROP ROLE nobody_special")


def test_an_operator_may_deliver(site):
    scuba = site.account()
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.OPERATOR)
    expect.stored(site.deliver(message(), scuba))
    done = site.run("replay", "-d", scuba, site.write("one.eml", message().decode()))
    assert done.exit == 0 and site.count(scuba) == 2, done
