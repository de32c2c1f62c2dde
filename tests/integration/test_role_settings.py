# SPDX-License-Identifier: ISC
"""What is set for the roles does no harm: search_path (a user who may create something in a schema that it names runs nothing
with the rights of deliveries, operators or the owner) and default_transaction_read_only.

Seen to fail with: the path left out of ledger_add_begin, ledger_add_begin_idle, the step path and what `ledger print`
prints; an operator in the statement that sets it; the path set for account_query too;
a statement that writes outside of a transaction of ours."""

import glob
import os
import re

import expect
import pytest
from lab import lab as lab_module, locks
from lab.lmtp import Session
from lab.messages import message, new_id

pytestmark = pytest.mark.postgres

SOURCES = os.path.join(lab_module.REPOSITORY, "src", "postgres", "*", "*.sql")
ROLES = (lab_module.DELIVERY, lab_module.OPERATOR, lab_module.OWNER)

# Operators and functions for every pair of types, found first, also where those of pg_catalog fit exactly. A sequence counts
# the calls: it is not rolled back.
TRAPS = """
    SET check_function_bodies = off;    -- for speed
    CREATE SCHEMA evil;
    GRANT USAGE ON SCHEMA evil TO PUBLIC;
    CREATE SEQUENCE evil.called;
    GRANT ALL ON SEQUENCE evil.called TO PUBLIC;
    CREATE FUNCTION evil.trap() RETURNS void LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_catalog.nextval('evil.called'); RAISE EXCEPTION 'a trap'; END $$;
    DO $$
    DECLARE
        types text[] := '{text,name,"char",numeric,int,bigint,float8,interval,timestamptz,bytea,bool,oid,xid,jsonb,text[],'
                        'bigint[]}';
        sign text; a text; b text; name text; result text; made int := 0;
        body text := ' LANGUAGE plpgsql AS ''BEGIN PERFORM evil.trap(); END''';
    BEGIN
        FOREACH a IN ARRAY types LOOP
            FOREACH b IN ARRAY types LOOP
                FOREACH sign IN ARRAY '{+,-,*,/,||,|,&,<<,->>,=,<>,<,>,<=,>=,~~}'::text[] LOOP
                    made := made + 1;
                    result := CASE WHEN sign IN ('=', '<>', '<', '>', '<=', '>=', '~~') THEN 'bool'
                                   WHEN 'timestamptz' IN (a, b) THEN 'timestamptz' WHEN 'interval' IN (a, b) THEN 'interval'
                                   WHEN sign IN ('||', '->>') THEN a ELSE 'bigint' END;
                    EXECUTE format('CREATE FUNCTION evil.trap_%%s(%%s, %%s) RETURNS %%s' || body, made, a, b, result);
                    EXECUTE format('CREATE OPERATOR evil.%%s (LEFTARG = %%s, RIGHTARG = %%s, FUNCTION = evil.trap_%%s)',
                                   sign, a, b, made);
                END LOOP;
                FOR name, result IN SELECT proname, format_type(min(prorettype::bigint)::oid, NULL) FROM pg_proc
                     WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (%s) AND NOT proretset
                     GROUP BY 1 LOOP
                    CONTINUE WHEN result ~ '^(any|internal|cstring|record|"any)';
                    EXECUTE format('CREATE FUNCTION evil.%%I(%%s, %%s) RETURNS %%s' || body, name, a, b, result);
                    IF b = 'text' THEN
                        EXECUTE format('CREATE FUNCTION evil.%%I(%%s) RETURNS %%s' || body, name, a, result);
                    END IF;
                    IF a = 'text' AND b = 'text' THEN
                        EXECUTE format('CREATE FUNCTION evil.%%I() RETURNS %%s' || body, name, result);
                    END IF;
                END LOOP;
            END LOOP;
        END LOOP;
    END $$;
"""


def called(site):
    return site.value("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM evil.called")


def set_traps(site):
    names = set()
    for path in glob.glob(SOURCES):
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"\b([a-z_0-9]+)\(", file.read()))
    site.sql(TRAPS, (sorted(names),))
    for role in ROLES:
        site.sql(f"ALTER ROLE {role} IN DATABASE {site.database} SET search_path = evil, pg_catalog, public")


def test_they_are_traps(site):
    set_traps(site)
    session = site.lab.postgres.connect(site.database, lab_module.DELIVERY, lab_module.DELIVERY)
    with session.cursor() as cursor:
        for expression in ("1::bigint * interval '1 s'", "1 = 1", "'a' = 'b'", "clock_timestamp()", "'a'::text LIKE 'b'"):
            with pytest.raises(Exception, match="a trap"):
                cursor.execute(f"SELECT {expression}")
    session.close()
    assert called(site) == 5


def age(site):
    """So that there is something to abandon, to add up, to purge, and to ask the server."""
    site.sql("UPDATE oncedrop.message SET received_at = received_at - interval '40 days'")
    site.sql("UPDATE oncedrop.delivery SET last_at = last_at - interval '40 days', first_at = first_at - interval '40 days'")
    site.sql("UPDATE oncedrop.attempt SET started_at = started_at - interval '40 days'")
    site.sql("UPDATE oncedrop.copy SET first_at = first_at - interval '40 days', claimed_at = claimed_at - interval '40 days'")
    site.sql("UPDATE oncedrop.server SET checked_at = checked_at - interval '2 days', tried_at = tried_at - interval '2 days'")


def deliver_all(site):
    """A first delivery with its Sent copy, a second, one that is held, one that is refused, LMTP, and all kinds of
    replay."""
    lisa, scuba = site.account("lisa"), site.account("scuba")
    mail = message(sender=lisa, to=scuba)
    expect.stored(site.deliver(mail, scuba, "-q", "4abcDEF", sender=lisa))
    expect.duplicate(site.deliver(mail, scuba, sender=lisa))
    with locks.held(site, site.value("SELECT lock_key FROM oncedrop.message ORDER BY id LIMIT 1")):
        expect.deferred(site.deliver(mail, scuba, sender=lisa))
        assert site.run("locks").exit == 0
    right = site.settings["imap.password_file"]
    site.settings["imap.password_file"] = site.write("wrong", "wrong\n")
    expect.deferred(site.deliver(message(sender=lisa, to=scuba), scuba, "-q", "4abcDEG", sender=lisa))
    site.settings["imap.password_file"] = right
    session = Session(site)
    session.hello()
    session.deliver(message(sender=lisa), scuba, lisa)
    path = site.write("one.eml", message().decode())
    for options in ([], ["--dry-run"], ["--verify"], ["--force"]):
        done = site.run("replay", *options, "-d", scuba, path)
        assert done.exit == 0, done
    return scuba


COMMANDS = (["show", "x@y"], ["show", "4abcDEF"], ["list"], ["list", "--state", "unfinished", "--since", "1d"], ["locks"],
            ["stats"], ["stats", "--json"], ["stats", "--prometheus"], ["resume"], ["restore"], ["expire", "--dry-run", "4abcDEG"],
            ["purge", "--older-than", "30d", "--dry-run"], ["purge", "--older-than", "30d"], ["stats"])


def do_everything(site):
    site.settings.update({"record.level": "raw", "record.notify": "mail", "record.trace": "yes", "lock.wait": "1s"})
    scuba = deliver_all(site)
    done = site.check(scuba)
    assert done.exit == 0, done
    for old_enough in (False, True):
        if old_enough:
            age(site)
        for words in COMMANDS:
            done = site.run(*words)
            assert done.exit in (0, 1) and "a trap" not in done.err, (words, done)
        expect.stored(site.deliver(message(id=new_id()), scuba))
    assert site.value("SELECT count(*) FROM oncedrop.message WHERE received_at < now() - interval '30 days'") == 0
    for words in (["ledger", "version"], ["ledger", "install"], ["ledger", "upgrade"], ["ledger", "method"]):
        done = site.run(*words, options=["-o", "database.conninfo=" + site.lab.postgres.conninfo(site.database, lab_module.OWNER)])
        assert done.exit == 0, done


def test_nothing_of_a_stranger_runs(site, method):
    set_traps(site)
    do_everything(site)
    assert called(site) == 0


def test_read_only_by_default(site, method):
    for role in ROLES:
        site.sql(f"ALTER ROLE {role} IN DATABASE {site.database} SET default_transaction_read_only = on")
    do_everything(site)
    if method == "lease":
        assert site.value("SELECT count(*) FROM oncedrop.lease") == 0
    assert site.value("SELECT count(*) FROM oncedrop.counter_bucket") > 0
    assert not site.sql("SELECT FROM oncedrop.server WHERE tried_at < now() - interval '1 day'")


def test_nor_in_what_schema_print_made(site):
    site.database = site.lab.postgres.create_database(lab_module.OWNER)
    set_traps(site)
    session = site.lab.postgres.connect(site.database, lab_module.OWNER, lab_module.OWNER)
    with session.cursor() as cursor:
        cursor.execute(site.run("ledger", "print").out)
    session.close()
    site.trusted.clear()
    site.settings["database.conninfo"] = site.lab.postgres.conninfo(site.database, lab_module.DELIVERY)
    expect.stored(site.deliver(message(), site.account()))
    assert site.value("SELECT count(*) FROM oncedrop.inbox") == 1 and called(site) == 0


def test_an_account_query_has_the_path_of_its_role(site):
    """It is the site's own, and may rely on it."""
    scuba = site.account()
    site.sql("CREATE SCHEMA people")
    site.sql("CREATE TABLE people.login (address text, account text)")
    site.sql(f"GRANT USAGE ON SCHEMA people TO {lab_module.DELIVERY}")
    site.sql(f"GRANT SELECT ON people.login TO {lab_module.DELIVERY}")
    site.sql("INSERT INTO people.login VALUES ('a@b.example', %s)", (scuba,))
    site.sql(f"ALTER ROLE {lab_module.DELIVERY} IN DATABASE {site.database} SET search_path = people")
    site.settings["route.account_query"] = "SELECT account FROM login WHERE address = $1"
    expect.stored(site.deliver(message(), "a@b.example"))
    assert site.count(scuba) == 1
