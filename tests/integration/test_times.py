# SPDX-License-Identifier: ISC
"""People read and write local times, with their offset; programs read UTC.

Seen to fail with: UTC printed; the offset of another season; midnight in UTC; an hour that comes twice taken for its second; a
time that no clock shows refused; --utc read after the times; reasons in `why` left in UTC."""

import datetime
import json
import re

import expect
import pytest
from lab.messages import message, new_id

UTC = datetime.timezone.utc
BERLIN = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}      # in full: there may be no list of zones
SUMMER, WINTER = datetime.datetime(2024, 10, 27, 0, 30, tzinfo=UTC), datetime.datetime(2024, 10, 27, 1, 30, tzinfo=UTC)


def copies_of(site, *moments):
    """Copies that were first attempted then; their subjects are their numbers."""
    scuba = site.account()
    for number, moment in enumerate(moments):
        expect.stored(site.deliver(message(subject=f"number {number}"), scuba, "-q", f"4T{number}"))
        site.sql("UPDATE oncedrop.copy SET first_at = %s WHERE message = (SELECT id FROM oncedrop.message WHERE subject = %s)",
                 (moment, f"number {number}"))


def listed(site, *words, env=None):
    rows = json.loads(site.run("list", "--json", *words, env=env or BERLIN).out)
    return sorted(int(row["subject"].split()[1]) for row in rows)


def test_the_hour_that_comes_twice(site):
    copies_of(site, SUMMER, WINTER)
    done = site.run("list", env=BERLIN)
    lines = done.out.splitlines()
    assert lines[1].startswith("2024-10-27 02:30:00+01:00  ") and lines[2].startswith("2024-10-27 02:30:00+02:00  "), done
    for words, found in ((["--since", "2024-10-27T02:30"], [0, 1]), (["--since", "2024-10-27T02:31"], [1]),
                         (["--since", "2024-10-27 02:30:01"], [1]), (["--until", "2024-10-27T02:30"], []),
                         (["--until", "2024-10-27T02:30+01:00"], [0]), (["--until", "2024-10-27T02:30:01"], [0]),
                         (["--until", "2024-10-27T03:00"], [0, 1]), (["--since", "2024-10-27T01:30Z"], [1])):
        assert listed(site, *words) == found, words


def test_the_hour_that_is_left_out(site):
    copies_of(site, *(datetime.datetime(2024, 3, 31, 0, 59, 59, tzinfo=UTC) + datetime.timedelta(seconds=seconds)
                      for seconds in (0, 1, 1801)))
    printed = [line[:25] for line in site.run("list", env=BERLIN).out.splitlines()[1:]]
    assert printed == ["2024-03-31 03:30:00+02:00", "2024-03-31 03:00:00+02:00", "2024-03-31 01:59:59+01:00"]
    assert listed(site, "--since", "2024-03-31T02:00") == [1, 2]
    assert listed(site, "--since", "2024-03-31T02:30") == [2]
    assert listed(site, "--since", "2024-03-31T03:30") == [2]
    assert listed(site, "--until", "2024-03-31T01:59:59") == []


def test_a_day_is_local(site):
    """In a zone where it is past noon, so that no midnight is near."""
    now = site.ledger.now().astimezone(UTC)
    ahead = datetime.timedelta(hours=12 - now.hour, minutes=30)
    minutes = int(ahead.total_seconds()) // 60
    there = {"TZ": f"XXX{'-' if minutes > 0 else '+'}{abs(minutes) // 60}:{abs(minutes) % 60:02}"}     # POSIX: ahead is -
    midnight = (now + ahead).replace(hour=0, minute=0, second=0, microsecond=0)
    a_minute, a_day = datetime.timedelta(minutes=1), datetime.timedelta(days=1)
    copies_of(site, midnight - ahead - a_day - a_minute, midnight - ahead - a_day + a_minute, midnight - ahead - a_minute,
              midnight - ahead + a_minute)
    day, before = midnight.strftime("%Y-%m-%d"), (midnight - a_day).strftime("%Y-%m-%d")
    for words, found in ((["--since", "today"], [3]), (["--since", day], [3]), (["--since", "yesterday"], [1, 2, 3]),
                         (["--since", "YESTERDAY", "--until", "today"], [1, 2]), (["--since", before, "--until", day], [1, 2]),
                         (["--until", "yesterday"], [0]), (["--since", f"{day}T00:00Z", "--until", f"{day}T00:00Z"], [])):
        assert listed(site, *words, env=there) == found, words
    for word, moment in (("today", now), ("yesterday", now - a_day)):
        since = moment.strftime("%Y-%m-%dT00:00Z")
        assert listed(site, "--utc", "--since", word, env=there) == listed(site, "--since", since, env=there), word
        assert listed(site, "--since", word, "--utc", env=there) == listed(site, "--since", since, env=there), word


@pytest.mark.parametrize("zone", ["CET-1CEST,M3.5.0,M10.5.0/3", "UTC0", "XXX9:30"])
def test_programs_read_utc(site, zone):
    copies_of(site, SUMMER)
    [row] = json.loads(site.run("list", "--json", env={"TZ": zone}).out)
    assert row["at"] == "2024-10-27T00:30:00Z"
    one = site.run("show", "--json", "4T0", env={"TZ": zone}).out
    assert re.fullmatch(r"[\d-]{10}T[\d:]{8}Z", json.loads(one)["messages"][0]["received_at"])
    assert json.loads(one)["messages"][0]["copies"][0]["first_at"] == "2024-10-27T00:30:00Z"
    for hour in json.loads(site.run("stats", "--json", env={"TZ": zone}).out)["hours"]:
        assert hour["hour"].endswith(":00:00Z")


def test_show(site):
    """In its lines, its tables and its sentences."""
    id, moment = new_id(), "2024-11-26 14:03:07+01:00"
    scuba, mail = site.account(), message(id=id)
    expect.stored(site.deliver(mail, scuba))
    expect.duplicate(site.deliver(mail, scuba))
    at = datetime.datetime(2024, 11, 26, 13, 3, 7, tzinfo=UTC)
    site.sql("UPDATE oncedrop.message SET received_at = %s, date = %s", (at, at))
    site.sql("UPDATE oncedrop.copy SET first_at = %s, claimed_at = %s, stored_at = %s", (at, at, at))
    done = site.run("show", id, env=BERLIN)
    assert f"\ndate: {moment}\n" in done.out and f"\nreceived_at: {moment}\n" in done.out, done
    assert f"already, stored {moment} by" in done.out and not re.search(r"\dT\d\d:\d\d", done.out), done
    assert done.out.count(moment) == 6, done
    said = site.run("show", "--utc", id, env=BERLIN).out
    assert said.count("2024-11-26 13:03:07+00:00") == 6 and "+01:00" not in said, said
    assert said == site.run("show", id, env={"TZ": "UTC0"}).out
    unknown = site.run("show", "unknown@x", env=BERLIN)
    assert f"the record goes back to {moment}" in " ".join(unknown.err.split()), unknown


def test_a_time_that_others_wrote_is_theirs(site):
    """A subject is no time, even if it looks like one."""
    expect.stored(site.deliver(message(subject="2024-11-26T13:03:07Z"), site.account()))
    assert "2024-11-26T13:03:07Z" in site.run("list", env=BERLIN).out
