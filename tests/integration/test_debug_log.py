# SPDX-License-Identifier: ISC
"""The debug log: the dialogue with the IMAP server and the SQL steps, of all deliveries or of some accounts; no credential is
in it, and nothing of a message's content.

Seen to fail with: no mask for AUTHENTICATE, for LOGIN, for an answer to '+'; a server's words that repeat the credential shown; a
literal, a quoted text of FETCH shown; a value of a step not marked as content; the accounts not compared, or not forgotten after
the delivery; a shared session that keeps the account it was opened for; the log on standard output."""

import base64
import contextlib
import json
import re

import pytest
from lab import lab as lab_module, lmtp, one_login
from lab.fake_imap import FakeImap
from lab.ledger import SQLITE, engine
from lab.messages import message
from lab.process import wait_until
from lab.service import Service
from test_second_try import fake, plain, swallow

SCUBA, DOUG = "scuba@example.org", "doug@example.org"
SECRET = "s3cret,of=everybody"


def debug_lines(log):
    return [line.split("debug: ", 1)[1] for line in log.splitlines() if re.match(r"oncedrop\[\d+\]: debug: ", line)]


def dialogues(log):
    """The accounts whose dialogue is there."""
    return {match[1] for line in debug_lines(log) if (match := re.match(r"(?:\w+: )?imap (\S+) [CS]: ", line))}


def steps(log):
    return [match[1] for line in debug_lines(log) if (match := re.match(r"(?:\w+: )?sql: (\S+?):? ", line))]


def deliver(site, mail, to, *words, **settings):
    site.settings.update({"log.to": "stderr", **settings})
    done = site.deliver(mail, to, *words)
    assert done.out.count("\n") == 1 and "debug" not in done.out, done
    return done


def test_the_dialogue_and_the_steps(site):
    """Over TLS. At every other level there is nothing of it."""
    account = site.account()
    done = deliver(site, message(), account, "-q", "4DEBUG", **{"log.level": "debug"})
    assert done.exit == 0, done
    said = [line.removeprefix("4DEBUG: ") for line in debug_lines(done.err) if line.startswith("4DEBUG: ")]
    for wanted in (rf"imap {account}: connected to IMAP server 127\.0\.0\.1:\d+", rf"imap {account}: TLS, certificate of CN=.*",
                   rf"imap {account} S: \* OK .*", rf"imap {account} C: A\d+ AUTHENTICATE PLAIN \*\*\*\*",
                   rf"imap {account} C: A\d+ APPEND \"INBOX\" .* \{{\d+\+\}}", rf"imap {account} C: \(literal of \d+ bytes\)",
                   rf"imap {account} S: A\d+ OK \[APPENDUID \d+ \d+\].*", r"sql: claim_copy \(.*account '" + account + "'.*",
                   r"sql: \S+: \d+ rows?, \d+ us", r"sql: commit: done, \d+ us"):
        assert any(re.fullmatch(wanted, line) for line in said), (wanted, said)
    if engine() == SQLITE:
        assert "password" not in done.err
    for level in ("error", "warning", "info"):
        done = deliver(site, message(), account, **{"log.level": level})
        assert done.exit == 0 and not debug_lines(done.err), done


def test_the_ledgers_password_is_masked(site):
    """Where the ledger has one."""
    done = deliver(site, message(), SCUBA, **{"log.level": "debug", "imap.port": fake(site).port})
    [opened] = [line for line in debug_lines(done.err) if line.startswith("sql: connected to ")]
    assert engine() == SQLITE or ("***" in opened and f":{lab_module.DELIVERY}@" not in opened and
                                  f"password={lab_module.DELIVERY}" not in opened), opened


def test_failures(site):
    """Of the ledger, and of the IMAP server."""
    settings, said = site.ledger.out_of_reach()
    done = deliver(site, message(), SCUBA, **{"log.level": "debug", **settings})
    assert done.exit == 75
    assert any(line.startswith("sql: not connected to ") and said in line for line in debug_lines(done.err)), done
    site.settings.update(site.ledger.settings(lab_module.DELIVERY))
    fake(site, APPEND=swallow)
    done = deliver(site, message(), SCUBA)
    assert done.exit == 75
    assert any("the server closed the connection" in line for line in debug_lines(done.err)), done


def forms(secret):
    """The secret, and what of its base64 is the same with any text before and after it."""
    yield secret
    for shift in range(3):
        encoded = base64.b64encode(b"x" * shift + secret.encode()).decode()
        yield encoded[(shift * 8 + 5) // 6:len(secret) * 8 // 6]


def assert_hidden(secret, log):
    for form in forms(secret):
        assert len(form) > 8 and form not in log, form


def echo(answer):
    """A server that repeats in its answers what it was sent, as it came and decoded."""
    def say(client, tag, arguments):
        words = arguments.split()
        initial = words[1] if words[0] in (b"PLAIN", b"XOAUTH2", b"OAUTHBEARER") and len(words) > 1 else None
        if initial is None and words[0] in (b"PLAIN", b"XOAUTH2", b"OAUTHBEARER"):
            client.send("+ ")
            initial = client.line()
        initial = initial or arguments
        client.send(f"* OK I was sent {initial.decode()}")
        if words[0] in (b"XOAUTH2", b"OAUTHBEARER") and answer == "NO":
            client.send("+ " + base64.b64encode(f"no: {SECRET}".encode()).decode())
            client.line()
        client.send(f"{tag} {answer} {initial.decode()} {SECRET}")
    return say


@pytest.mark.parametrize("answer", ["OK", "NO", "polite"])
@pytest.mark.parametrize("initial", [" SASL-IR", ""], ids=["at-once", "asked-for"])
@pytest.mark.parametrize("way", ["plain", "master", "login", "xoauth2", "oauthbearer"])
def test_no_credential(site, way, initial, answer):
    script = {} if answer == "polite" else {"AUTHENTICATE": echo(answer), "LOGIN": echo(answer)}
    server = site.use(FakeImap(script=script, capabilities=f"IMAP4rev1{initial} AUTH=PLAIN AUTH=LOGIN AUTH=XOAUTH2 AUTH=OAUTHBEARER"))
    site.settings.update({"imap.port": server.port, "imap.tls": "none", "imap.auth": "plain" if way == "master" else way,
                          "imap.master_user": "themaster" if way == "master" else None,
                          "imap.password_file": site.write("secret", SECRET + "\n")})
    done = deliver(site, message(), SCUBA, **{"log.level": "debug"})
    assert done.exit == (75 if answer == "NO" else 0), done
    assert_hidden(SECRET, done.err + done.out)
    word = "LOGIN" if way == "login" else f"AUTHENTICATE {site.settings['imap.auth'].upper()}"
    assert re.search(rf"C: A\d+ {word}{' [*]{4}' if initial or way == 'login' else ''}$", done.err, re.M), done.err


MARK = "Xylophone"      # of the content


@pytest.mark.parametrize("level", ["envelope", "headers", "text", "raw"])
def test_no_content(site, level):
    """Recorded in any way, appended, searched for and fetched, and found by people."""
    plain(site)
    account = site.account()
    parts = "".join(f"--b\nContent-Type: {kind}\n{more}\n{MARK} in {kind}\n" for kind, more in
                    (("text/plain", ""), ("text/html", ""), ("text/plain", f'Content-Disposition: attachment; filename="{MARK}.txt"\n')))
    mail = message(subject=f"{MARK} {MARK}", to=f'"{MARK}" <{account}>', sender=f'"{MARK}" <lisa@example.net>',
                   headers=f'Cc: {MARK}: "{MARK}" <x@example.net>;\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n',
                   body=f"{parts}--b--\n")
    settings = {"record.level": level, "imap.search": "always", "log.level": "debug", "delivery.hold_off": "300s"}
    log = deliver(site, mail, account, **settings).err
    assert "record_message" in steps(log), log
    site.ledger.sql("DELETE FROM oncedrop.attempt")
    site.ledger.claim(seconds=400)
    log += deliver(site, mail, account).err
    assert "(literal of " in log and "FETCH" in log
    log += site.run("list", "--subject", MARK, "--json").err
    assert "sql: " in log and MARK not in log and base64.b64encode(MARK.encode()).decode()[:-2] not in log, log


def test_a_quoted_text_that_is_fetched(site):
    """A server may send a short text in place of a literal."""
    def fetched(client, tag, _arguments):
        client.send(f'* 1 FETCH (UID 1 BODY[HEADER.FIELDS (MESSAGE-ID)] "{MARK} \\" {MARK}")')
        client.send(f"{tag} OK done")

    def examined(client, tag, _arguments):
        client.send("* 1 EXISTS")
        client.send("* OK [UIDVALIDITY 7] valid")
        client.send(f"{tag} OK [READ-ONLY] done")
    fake(site, FETCH=fetched, UID_FETCH=fetched, EXAMINE=examined,
         UID_SEARCH=lambda client, tag, arguments: (client.send("* SEARCH 1"), client.send(f"{tag} OK done")))
    done = deliver(site, message(), SCUBA, **{"log.level": "debug", "imap.search": "always"})
    assert 'FETCH (UID 1 BODY[HEADER.FIELDS (MESSAGE-ID)] "...")' in done.err and MARK not in done.err, done.err


@pytest.mark.parametrize("level", ["error", "info"])
@pytest.mark.parametrize("chosen", [SCUBA, f"lisa@example.org, {SCUBA.upper()}"])
def test_one_account(site, chosen, level):
    """By LMTP: of a delivery that concerns it, its dialogue and all steps; nothing of the next one, in the same process."""
    fake(site)
    site.settings.update({"log.to": "stderr", "log.level": level, "log.debug_accounts": chosen})
    session = lmtp.start(site)
    for recipients in ((DOUG,), (SCUBA, DOUG), (DOUG,)):
        assert [reply.code for reply in session.deliver(message(), *recipients)] == [250] * len(recipients)
    session.command("QUIT")
    wait_until(lambda: "LOGOUT" in session.log(), "the session's end")
    assert dialogues(session.log()) == {SCUBA}
    assert sorted(re.findall(r"sql: claim_copy \(.*account '(\S+)',", session.log())) == [DOUG, SCUBA]


@pytest.mark.parametrize("chosen, shown", [("info@example.org", True), ("desk", True), ("info@example.net", False)])
def test_an_address_that_leads_to_the_account(site, chosen, shown):
    """Either is enough."""
    fake(site)
    site.settings.update({"route.account_query": "SELECT 'desk' WHERE $1 <> ''", "route.sent_copy": "off"})
    done = deliver(site, message(), "info@example.org", **{"log.debug_accounts": chosen})
    assert done.exit == 0, done
    assert dialogues(done.err) == ({"desk"} if shown else set())
    assert ("claim_copy" in steps(done.err)) == shown
    assert ("route.account_query" in steps(done.err)) == (chosen == "info@example.org")


def test_the_account_is_forgotten_after_the_delivery(site):
    """The next one is for another address of it, in the same process."""
    server = fake(site)
    site.settings.update({"route.account_query": "SELECT 'desk' WHERE $1 <> ''", "route.sent_copy": "off", "log.to": "stderr",
                          "log.debug_accounts": "info@example.org"})
    session = lmtp.start(site)
    for address in ("info@example.org", "sales@example.org"):
        assert [reply.code for reply in session.deliver(message(), address)] == [250]
    session.command("QUIT")
    session.finish()
    assert len(server.appended) == 2 and session.log().count("C: (literal of ") == 1


def test_one_login_for_everybody(site):
    """A session that serves several accounts has the name of the one it serves."""
    fake(site)
    site.settings.update({**one_login.SETTINGS, "imap.sessions": "1", "log.to": "stderr", "log.debug_accounts": SCUBA})
    session = lmtp.start(site)
    session.deliver(message(), DOUG)
    session.deliver(message(), SCUBA)
    wait_until(lambda: "APPEND" in session.log(), "the second delivery")
    said = debug_lines(session.log())
    assert dialogues(session.log()) == {SCUBA}
    assert f"users/{SCUBA}" in " ".join(said) and f"users/{DOUG}" not in " ".join(said) and "AUTHENTICATE" not in " ".join(said)


def test_as_json(site):
    fake(site)
    done = deliver(site, message(subject='"\\'), SCUBA, **{"log.level": "debug", "log.format": "json"})
    objects = [json.loads(line) for line in done.err.splitlines()]
    assert {one["level"] for one in objects} == {"debug", "info"}
    assert any("C: A" in one["message"] for one in objects if one["level"] == "debug")


def test_under_postfix(site):
    """Where standard error is part of the answer, nothing goes there."""
    fake(site)
    site.settings.update({"log.to": "stderr", "log.level": "debug"})
    done = site.run("deliver", "-d", SCUBA, stdin=message(), merge=True)
    assert (done.exit, done.out.count("\n")) == (0, 1) and done.out.startswith("2.1.5 stored"), done


def test_verbose(site):
    """-v: one level more, on standard error."""
    fake(site)
    site.settings["log.level"] = "info"
    done = site.run("deliver", "-d", SCUBA, stdin=message(), options=["-v"])
    assert dialogues(done.err) == {SCUBA} and "claim_copy" in steps(done.err)
    site.settings["log.level"] = "warning"
    done = site.run("deliver", "-d", SCUBA, stdin=message(), options=["-v"])
    assert "status=stored" in done.err and not debug_lines(done.err)


def test_by_the_service(site):
    """Which accounts may change while it runs."""
    fake(site)
    service = Service(site, workers=1)
    with contextlib.closing(service.connect()) as client:
        client.deliver(message(), SCUBA)
    assert not debug_lines(service.log())
    service.renew({"log.debug_accounts": SCUBA})
    with contextlib.closing(service.connect()) as client:
        client.deliver(message(), DOUG)
        client.deliver(message(), SCUBA)
    wait_until(lambda: "APPEND" in service.log(), "the delivery is logged")
    assert dialogues(service.log()) == {SCUBA}


def test_no_line_is_forged(site):
    """A server's words are escaped."""
    words = "to=<x@y>, dsn=2.0.0, status=stored (\x1b[31m"
    fake(site, GREETING=lambda client, tag, arguments: client.send(f"* OK [CAPABILITY IMAP4rev1 SASL-IR AUTH=PLAIN] {words}"))
    done = deliver(site, message(), SCUBA, **{"log.level": "debug"})
    [line] = [line for line in debug_lines(done.err) if "x@y" in line]
    assert "status=stored" not in line and "\x1b" not in line, line
