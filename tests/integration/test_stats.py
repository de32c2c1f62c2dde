# SPDX-License-Identifier: ISC
"""stats: its text, its JSON, what Prometheus reads, and the dashboard that goes with it; counts that never fall.

Seen to fail with: copies of all states counted as stored; purge that does not add up; tries added up twice, or again at the
second purge; a counter that purge does not subtract from, that a deletion by other means leaves unchanged, or that counts
what is above its bounds; a try counted while its Sent copy is under way; a refusal that defers counted as a bounce; a bucket without
those below it; a delay's bucket below a second; a metric's name changed in the program or in the dashboard; counts that
stand still until the time to which the clock was ahead."""

import datetime
import hashlib
import json
import os
import re
from random import Random

import expect
import pytest
from lab import lab as lab_module, locks
from lab.messages import message, new_id
from test_expire import age, defer
from test_operator import answers, lock_of
from test_second_try import SCUBA, fake, refuse

DASHBOARD = os.path.join(lab_module.REPOSITORY, "conf", "grafana", "oncedrop.json")


def test_stats(site):
    scuba = site.account()
    assert answers(site, "stats")["messages"] == 0
    mails = [message() for _ in range(6)]
    for mail in mails:
        expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mails[0], scuba))
    site.sql("UPDATE oncedrop.copy SET state = 'pending' WHERE id = 4")
    site.sql("UPDATE oncedrop.copy SET state = 'failed' WHERE id = 5")
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL, first_at = %s WHERE id = 4", (site.ledger.ago(seconds=100),))
    site.sql("UPDATE oncedrop.copy SET generation = 2, first_at = stored_at WHERE id = 1")
    site.ledger.older("copy", "first_at", seconds=7, id=1)
    said = answers(site, "stats")
    expected = {"messages": 6, "stored": 4, "pending": 1, "appending": 0, "failed": 1, "expired": 0, "unfinished": 1,
                "duplicates": 1, "searches_in_doubt": 0}
    assert {name: said[name] for name in expected} == expected
    assert said["deliveries"] == {"stored": 6, "quarantined": 0, "duplicate": 1, "deferred": 0, "bounced": 0, "died": 0}
    assert said["bytes"] == site.value("SELECT sum(size) FROM oncedrop.message") and 99 <= said["oldest_unfinished"] < 200
    assert sum(hour["stored"] for hour in said["hours"]) == 4 and sum(hour["retried"] for hour in said["hours"]) == 1
    assert max(hour["p99"] for hour in said["hours"]) > 6
    text = site.run("stats").out
    for name in ("deliveries", "deferrals"):
        assert f"\n{name}: {', '.join(f'{label} {count}' for label, count in said[name].items())}\n" in text, text
    assert text.startswith(f"messages: 6\nbytes: {said['bytes']}\n") and "\nunfinished: 1\noldest_unfinished: " in text, text
    assert re.search(r"^seconds +p50 +p95 +p99\nread +\d", text, re.M) and "searches_in_doubt: 0\n" in text, text


def test_the_text_has_large_numbers(site):
    """None of them is cut."""
    expect.stored(site.deliver(message(), site.account()))
    large = 10 ** 11 + 1
    site.sql("UPDATE oncedrop.message SET size = %s", (10 ** 15,))
    site.ledger.insert("counter_bucket", ["name", "label", "le", "value"], [(*key, large) for key in (
        ("deliveries", "deferred", 0), ("deferrals", "mailbox", 0), ("searches", "", 0), ("phase", "imap", 0),
        ("delay", "", 7200000))])
    done = site.run("stats")
    assert done.exit == 0 and done.out.count(str(large)) == 3 and f"bytes: {10 ** 15}\n" in done.out, done.out
    assert re.search(r"^imap +>[\d.]+ +>[\d.]+ +>[\d.]+$", done.out, re.M), done.out
    assert re.search(r"^delay +7200 +7200 +7200$", done.out, re.M), done.out


SAMPLE = re.compile(r'(oncedrop_[a-z_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)+)\})? (-?\d+(?:\.\d+)?(?:e[+-]\d+)?)')
SUFFIX = re.compile("_(bucket|sum|count)$")


def metrics(site):
    """What Prometheus makes of it: (name, labels) → value. What its parser takes and what its makers ask for beyond that
    (promtool check metrics) is looked at."""
    done = site.run("stats", "--prometheus")
    assert done.exit == 0 and not done.err and done.out.endswith("\n"), done
    types, helped, values, family = {}, set(), {}, None
    for line in done.out.splitlines():
        if line.startswith("# HELP "):
            family = line.split()[2]
            assert family not in helped and len(line.split()) > 3, line
            helped.add(family)
        elif line.startswith("# TYPE "):
            assert line.split()[2] == family and family not in types, line
            types[family] = line.split()[3]
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            name = SUFFIX.sub("", found[1]) if types[family] == "histogram" else found[1]
            assert name == family, line     # a metric's lines stand together, under its TYPE
            labels = frozenset(re.findall(r'([a-z]+)="([^"]*)"', found[2] or ""))
            assert (found[1], labels) not in values, line
            values[found[1], labels] = float(found[3])
    assert helped == types.keys() and set(types.values()) == {"gauge", "counter", "histogram"}
    for name, kind in types.items():
        assert name.endswith("_total") == (kind == "counter"), name
    check_histograms([name for name, kind in types.items() if kind == "histogram"], values)
    return values


def check_histograms(names, values):
    for name in names:
        series = {labels for sample, labels in values if sample == f"{name}_count"}
        assert series, name
        for labels in series:
            bounds = {}
            for (sample, own), value in values.items():
                if sample == f"{name}_bucket" and own - {(key, le) for key, le in own if key == "le"} == labels:
                    bounds[float(dict(own)["le"])] = value
            counts = list(bounds.values())
            assert list(bounds) == sorted(bounds) and counts == sorted(counts), (name, labels)
            assert counts[-1] == values[f"{name}_count", labels] and float("inf") in bounds
            assert (f"{name}_sum", labels) in values


def counters(values):
    return {key: value for key, value in values.items()
            if key[0].endswith(("_total", "_bucket", "_sum", "_count"))}


def one(values, name, **labels):
    return values[f"oncedrop_{name}", frozenset(labels.items())]


def test_prometheus(site):
    scuba = site.account()
    none = metrics(site)
    assert {name for (name, _), value in none.items() if value != 0} == {"oncedrop_up", "oncedrop_build_info"}
    for _ in range(3):
        expect.stored(site.deliver(message(), scuba))
    values = metrics(site)
    assert values.keys() == none.keys()
    assert one(values, "messages") == 3 and one(values, "copies", state="stored") == 3
    assert one(values, "deliveries_total", outcome="stored") == 3
    assert one(values, "phase_seconds_count", phase="imap") == 3 and one(values, "phase_seconds_sum", phase="imap") > 0
    assert one(values, "delay_seconds_count") == 0      # when they were queued is unknown


@pytest.fixture
def eventful(site):
    """A site where all that is counted has happened once, except what is stored twice."""
    scuba, mail = site.account(), message(headers="X-A: b\n")
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    defer(site, message(), scuba)
    id = new_id()
    with locks.held(site, lock_of(site, id)):
        expect.held(site.deliver(message(id=id), scuba))
    for _ in range(2):
        expect.stored(site.deliver(message(), scuba))
    # A search in doubt that found it; a refusal that deferred, then one that bounced; a process that died.
    site.sql("UPDATE oncedrop.copy SET state = 'pending', doubt = true WHERE id = 1")
    site.sql("UPDATE oncedrop.delivery SET finished_at = NULL WHERE id = 1")
    expect.stored(site.deliver(mail, scuba))
    died, refused = site.sql("SELECT id, finished_at FROM oncedrop.delivery ORDER BY id DESC LIMIT 2")
    site.sql("UPDATE oncedrop.attempt SET outcome = 'refused' WHERE delivery = %s", (refused.id,))
    site.ledger.older("attempt", "ended_at", hours=1, delivery=refused.id)
    site.ledger.insert("attempt", ["delivery", "claim", "started_at", "ended_at", "host", "pid", "outcome", "read_ms", "lock_ms",
                               "database_ms", "imap_ms"],
                       [(refused.id, 1, site.ledger.now(), refused.finished_at, "h", 1, "refused", 1, 2, 3, 4)])
    site.sql("UPDATE oncedrop.attempt SET outcome = 'claimed', ended_at = NULL WHERE delivery = %s", (died.id,))
    site.ledger.older("attempt", "started_at", hours=2, delivery=died.id)
    site.sql("UPDATE oncedrop.attempt SET queued_at = started_at")
    site.ledger.older("attempt", "queued_at", minutes=20)
    return site


COUNTS = {"stored": 2, "duplicate": 1, "deferred": 3, "bounced": 1, "died": 1}


def test_what_is_counted(eventful):
    values = metrics(eventful)
    assert {outcome: one(values, "deliveries_total", outcome=outcome) for outcome in COUNTS} == COUNTS
    reasons = {"mailbox": 1, "busy": 1, "refused": 1, "overquota": 0}
    assert {reason: one(values, "deferrals_total", reason=reason) for reason in reasons} == reasons
    assert one(values, "doubt_searches_total") == 1
    assert one(values, "phase_seconds_count", phase="lock") == 6     # all but the one that died and the one that left no row
    assert one(values, "delay_seconds_bucket", le="300") == 0 and one(values, "delay_seconds_bucket", le="1800") == 2
    assert 2400 <= one(values, "delay_seconds_sum") < 3000


def test_delays_begin_at_a_second(site):
    """Postfix's times have whole seconds. Ledgers have counted in finer buckets; those are in the first one here."""
    site.ledger.insert("counter_bucket", ["name", "label", "le", "value"], [
        ("delay", "", 5, 1), ("delay", "", 500, 6), ("delay", "", 1000, 4), ("phase", "imap", 5, 3)])
    values = metrics(site)
    bounds = {dict(labels)["le"] for name, labels in values if name == "oncedrop_delay_seconds_bucket"}
    assert min(map(float, bounds)) == 1 and "0.005" in {dict(labels).get("le") for _, labels in values}
    assert [one(values, "delay_seconds_bucket", le=le) for le in ("1", "2.5", "+Inf")] == [11] * 3
    [line] = [line for line in site.run("stats").out.splitlines() if line.startswith("delay ")]
    assert line.split() == ["delay", "1", "1", "1"], line


@pytest.mark.parametrize("setting, bounced, deferred", [("bounce", 1, 0), ("defer", 0, 1)])
def test_one_outcome_bounces_and_defers(site, setting, bounced, deferred):
    """By delivery.overquota; the record has one word for both."""
    fake(site, APPEND=refuse("NO [OVERQUOTA] Full"))
    site.settings["delivery.overquota"] = setting
    assert site.deliver(message(), SCUBA).exit == (69 if bounced else 75)
    values = metrics(site)
    assert one(values, "deliveries_total", outcome="bounced") == bounced
    assert one(values, "deliveries_total", outcome="deferred") == one(values, "deferrals_total", reason="overquota") == deferred


def test_what_another_has_claimed_is_counted(site):
    """Nothing else is recorded of a try that finds all its copies claimed."""
    scuba, mail = site.account(), message()
    expect.stored(site.deliver(mail, scuba))
    site.ledger.claim()
    expect.held(site.deliver(mail, scuba))
    assert one(metrics(site), "deferrals_total", reason="busy") == 1


def test_counts_do_not_fall(eventful):
    """Neither by a purge, nor by the next one, nor by one that has nothing to remove."""
    before = counters(metrics(eventful))
    removed = []
    for days in (2, 0, 40, 40):
        age(eventful, days=days)
        eventful.ledger.older("attempt", "started_at", "ended_at", "queued_at", days=days)
        eventful.ledger.older("event", "at", days=days)
        assert counters(metrics(eventful)) == before
        removed.append(answers(eventful, "purge", "--older-than", "30d")["messages"])
        assert counters(metrics(eventful)) == before
    assert removed == [0, 0, 4, 0] and eventful.value("SELECT count(*) FROM oncedrop.attempt") == 0
    expect.stored(eventful.deliver(message(), eventful.account()))
    after = counters(metrics(eventful))
    assert after != before and all(after[key] >= before[key] for key in before)
    assert one(after, "deliveries_total", outcome="stored") == COUNTS["stored"] + 1


def test_counting_goes_on_after_the_clock_was_ahead(site):
    """From the next purge on."""
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    site.ledger.older("attempt", "started_at", "ended_at", hours=2)
    answers(site, "purge", "--older-than", "30d")
    site.sql("UPDATE oncedrop.counter_bucket SET value = value + %s WHERE name = 'counted_until'", (24 * 3600 * 1_000_000,))
    for count in (2, 3):
        answers(site, "purge", "--older-than", "30d")
        expect.stored(site.deliver(message(), scuba))
        assert one(metrics(site), "deliveries_total", outcome="stored") == count


def test_a_try_counts_when_it_is_over(site):
    """Its answer may change, and its times grow, for as long as its Sent copy is under way."""
    scuba = site.account()
    expect.stored(site.deliver(message(), scuba))
    site.sql("UPDATE oncedrop.copy SET state = 'appending'")
    assert one(metrics(site), "deliveries_total", outcome="stored") == 0
    site.sql("UPDATE oncedrop.copy SET state = 'stored'")
    assert one(metrics(site), "deliveries_total", outcome="stored") == 1
    site.sql("UPDATE oncedrop.attempt SET outcome = 'claimed', ended_at = NULL, started_at = %s", (site.ledger.ago(minutes=50),))
    assert one(metrics(site), "deliveries_total", outcome="died") == 0


def test_deliveries_write_no_totals(site):
    """What all of them changed they would wait for."""
    expect.stored(site.deliver(message(), site.account()))
    assert site.value("SELECT count(*) FROM oncedrop.counter_bucket") == site.value("SELECT count(*) FROM oncedrop.event") == 0


def expressions(thing):
    """Of a dashboard, however deep they are."""
    if isinstance(thing, dict):
        yield from ([thing["expr"]] if "expr" in thing else [])
        thing = list(thing.values())
    if isinstance(thing, list):
        for item in thing:
            yield from expressions(item)


def test_the_dashboard_asks_for_what_there_is(site):
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    site.settings["log.unrecorded_file"] = site.write("unrecorded", "")
    values = metrics(site)
    names = {name for name, _ in values}
    labels = {name: {key for sample, own in values if sample == name for key, _ in own} for name in names}
    asked = list(expressions(dashboard["panels"]))
    assert len(asked) >= 8
    for expr in asked:
        used = re.findall(r"(oncedrop_[a-z_]+)(?:\{([^}]*)\})?", expr)
        assert used, expr
        for name, selectors in used:
            assert name in names, (expr, name)
            keys = set(re.findall(r"(\w+)\s*!?=~?", selectors)) - {"instance"}
            assert keys <= labels[name], (expr, keys)
        for grouped in re.findall(r"by \(([^)]*)\)", expr):
            keys = {key.strip() for key in grouped.split(",")} - {"instance"}
            assert keys <= set().union(*(labels[name] for name, _ in used)), (expr, keys)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)) and dashboard["uid"] and dashboard["title"]


# Figures that are not read from all rows

STATES = ["stored", "pending", "appending", "failed", "expired"]

def fill(site, seed, rows, age=40):
    """A random part of a ledger, up to `age` days old."""
    random, now = Random(seed), site.ledger.now()
    after = site.value("SELECT coalesce(max(id), 0) FROM oncedrop.message")
    site.ledger.insert("message", ["identity", "digest", "lock_key", "sender", "size", "received_at"], [
        (hashlib.sha256(b"%d %d" % (seed, number)).digest(), bytes(32), number, "x", random.randrange(10000),
         now - datetime.timedelta(days=random.random() * age)) for number in range(rows)])
    messages = site.sql("SELECT id, received_at FROM oncedrop.message WHERE id > %s ORDER BY id", (after,))
    site.ledger.insert("delivery", ["message", "recipient", "account", "mailbox", "host", "outcome", "first_at", "last_at",
                                    "finished_at"], [
        (one.id, f"r{n}", f"a{n}", "INBOX", "h", random.choice(["stored", "duplicate", "mailbox"]), one.received_at,
         one.received_at, one.received_at if random.random() < 0.9 else None)
        for one in messages for n in (1, 2) if random.random() < 0.8])
    deliveries = site.sql("SELECT id, message, account, outcome, first_at FROM oncedrop.delivery WHERE message > %s"
                          " ORDER BY id", (after,))
    site.ledger.insert("copy", ["message", "account", "mailbox", "role", "state", "claim", "claimed_by", "host", "pid",
                                "first_at", "claimed_at", "stored_at"], [
        (one.message, one.account, "INBOX", "inbox", random.choice(["stored"] * 16 + STATES[1:]), one.id, one.id, "h", 1,
         one.first_at, one.first_at, one.first_at) for one in deliveries])
    site.ledger.insert("attempt", ["delivery", "claim", "started_at", "ended_at", "host", "pid", "outcome", "read_ms", "lock_ms",
                               "database_ms", "imap_ms"], [
        (one.id, one.id, one.first_at, one.first_at, "h", 1, one.outcome, 1, 2, 3, 4) for one in deliveries])


def full_scan(site):
    [messages] = site.sql("SELECT count(*) AS messages, coalesce(sum(size), 0) AS bytes FROM oncedrop.message")
    copies = dict(site.sql("SELECT state, count(*) FROM oncedrop.copy GROUP BY state"))
    return {**messages._asdict(), **{state: copies.get(state, 0) for state in STATES},
            "unfinished": site.value("SELECT count(*) FROM oncedrop.delivery WHERE finished_at IS NULL"),
            "duplicates": site.value("SELECT count(*) FROM oncedrop.delivery WHERE outcome = 'duplicate'")}


def check_figures(site):
    scanned = full_scan(site)
    said = answers(site, "stats")
    assert {name: said[name] for name in scanned} == scanned


def counted(site):
    return site.value("SELECT messages FROM oncedrop.counter")


@pytest.mark.parametrize("seed", range(3))
def test_the_figures_are_those_of_a_full_scan(site, seed):
    """Regardless of what was added up, purged, deleted by hand, or recorded since, also for old messages."""
    site.settings["record.expire_after"] = "3650d"
    check_figures(site)
    fill(site, seed, 300)
    check_figures(site)
    purged = answers(site, "purge", "--older-than", "30d")["messages"]
    assert 0 < purged < 100 and counted(site) > 0
    check_figures(site)
    fill(site, seed + 50, 200, age=0)
    site.sql("INSERT INTO oncedrop.copy (message, account, mailbox, role, state, claim, claimed_by, host, pid,"
             " first_at, claimed_at)"
             " SELECT message, 'later', 'INBOX', 'inbox', 'stored', 1, min(id), 'h', 1, %s, %s FROM oncedrop.delivery"
             " WHERE message %% 3 = 0 GROUP BY message", [site.ledger.now()] * 2)
    check_figures(site)
    known = counted(site)
    for days in (25, 20):
        assert answers(site, "purge", "--older-than", f"{days}d")["messages"] > 0
        check_figures(site)
    assert 0 < counted(site) < known + 200
    known = counted(site)
    site.sql("DELETE FROM oncedrop.message WHERE id % 7 = 0")
    assert counted(site) < known
    check_figures(site)
    assert answers(site, "purge", "--older-than", "15d")["messages"] > 0 and counted(site) > 0
    check_figures(site)


def test_stats_adds_up(site):
    """Only when it has much to read, and only after its answer."""
    fill(site, 1, 1000)
    before = counters(metrics(site))
    assert counted(site) == 0
    site.ledger.number_messages(30000)
    fill(site, 2, 10)
    check_figures(site)
    assert counted(site) > 900 and site.value("SELECT sum(value) FROM oncedrop.counter_bucket WHERE name = 'deliveries'") > 900
    after = counters(metrics(site))
    assert all(after[key] >= before[key] for key in before)
    site.ledger.number_messages(60000)
    fill(site, 3, 10)
    known = counted(site)
    check_figures(site)
    assert counted(site) == known       # it is not an hour since
