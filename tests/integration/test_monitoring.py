# SPDX-License-Identifier: ISC
"""Monitoring, also while there is no ledger: what is counted without one, the unit that writes the file, the alerts, and the
dashboard.

Seen to fail with: what the ledger has counted again, after a claim that is committed; what the database refused not counted;
a route that a lost ledger does not give taken for other trouble; a count for each message instead of each recipient; figures
that the unit leaves old while there is no ledger, or replaces without any; each alert's condition turned round; a name in
the dashboard that there is not."""

import json
import math
import os
import re
import shlex
import subprocess

import expect
import pytest
from lab import lab as lab_module, lmtp
from lab.messages import message
from lab.process import find_program, wait_until
from lab.prometheus import Prometheus
from lab.service import Service
from test_operator import answers
from test_second_try import SCUBA, fake
from test_stats import DASHBOARD, expressions, metrics, one

RULES = os.path.join(lab_module.REPOSITORY, "conf", "prometheus", "oncedrop.rules.yml")
UNITS = os.path.join(lab_module.REPOSITORY, "conf", "systemd")
DOUG = "doug@example.org"
SECRET = "secret" * 3 + "\n"      # as long as a counter


@pytest.fixture
def counting(site):
    """A site whose host counts what no ledger could record; the file is there, for root would not make it."""
    site.settings["log.unrecorded_file"] = site.write("unrecorded", "")
    return site


def unrecorded(site):
    return one(metrics(site), "deferrals_unrecorded_total")


class Away:
    """Within this context the ledger is out of reach."""

    def __init__(self, site):
        self.site, self.kept = site, dict(site.settings)

    def __enter__(self):
        self.site.settings.update(self.site.ledger.out_of_reach()[0])

    def __exit__(self, *_):
        self.site.settings.clear()
        self.site.settings.update(self.kept)


def without_ledger(site, *words):
    """`stats`, which fails and says why."""
    with Away(site):
        done = site.run("stats", *words)
        assert done.exit == 69 and site.ledger.out_of_reach()[1] in done.err, done
    return done.out


# What no ledger could record


def test_without_a_ledger(counting):
    """It is counted, shown without a ledger and with one, and not counted again."""
    scuba, mail = counting.account(), message()
    assert unrecorded(counting) == 0
    with Away(counting):
        for _ in range(2):
            expect.deferred(counting.deliver(mail, scuba), r"4\.3\.0")
    out = without_ledger(counting, "--prometheus")
    samples = [line for line in out.splitlines() if not line.startswith("#")]
    engine = counting.run("config").out.partition("database.conninfo = ")[2]
    engine = "sqlite" if engine.startswith("sqlite:") else "mariadb" if engine.startswith("mariadb:") else "postgres"
    version = counting.run("version").out.split()[1]
    assert samples == ["oncedrop_up 0", f'oncedrop_build_info{{version="{version}",engine="{engine}"}} 1',
                       "oncedrop_deferrals_unrecorded_total 2"], out
    assert json.loads(without_ledger(counting, "--json")) == {"unrecorded": 2}
    assert without_ledger(counting) == "unrecorded: 2\n"
    expect.stored(counting.deliver(mail, scuba))
    for _ in range(2):
        values = metrics(counting)
        assert one(values, "up") == one(values, "build_info", version=version, engine=engine) == 1
        assert one(values, "deferrals_unrecorded_total") == answers(counting, "stats")["unrecorded"] == 2
        assert one(values, "deliveries_total", outcome="deferred") == 0
    assert "\nunrecorded: 2\n" in counting.run("stats").out


def quit_session(session):
    """What it does after its answers is done then."""
    session.send("QUIT")
    assert session.finish() == 0


def test_each_way_in_counts_recipients(counting):
    """LMTP by itself, and the service, which delivers for the small program too."""
    with Away(counting):
        session = lmtp.start(counting)
        assert [reply.code for reply in session.deliver(message(), SCUBA, DOUG)] == [451] * 2
        quit_session(session)
        service = Service(counting)
        assert [reply.code for reply in service.deliver(message(), SCUBA, DOUG)] == [451] * 2
        done = counting.start("deliver", "-d", SCUBA, "-S", service.socket, stdin=message(), config=False).finish()
        expect.deferred(done, r"4\.3\.0")
        assert service.stop() == 0
    assert unrecorded(counting) == 5


def test_what_a_kept_session_cannot_look_up(counting):
    """A worker whose ledger has gone since its last delivery: the route is not known then."""
    proxy = counting.database_proxy_if_any()
    if proxy is None:
        return
    scuba = counting.account()
    counting.settings.update({"route.account_query": "SELECT $1", "route.sent_copy": "off"})
    session = lmtp.start(counting)
    lmtp.stored(session.deliver(message(), scuba)[0])
    proxy.close()
    assert session.deliver(message(), scuba)[0].code == 451
    quit_session(session)
    with open(counting.settings["log.unrecorded_file"], encoding="ascii") as file:
        assert int(file.read()) == 1


def rename(site, old, new):
    site.sql(f"ALTER TABLE oncedrop.{old} RENAME TO {new}")


def test_what_the_database_refuses(counting):
    """A claim that certainly is not there, as with a full disk."""
    scuba = counting.account()
    rename(counting, "attempt", "tried")
    expect.deferred(counting.deliver(message(), scuba), r"4\.3\.0")
    rename(counting, "tried", "attempt")
    assert counting.value("SELECT count(*) FROM oncedrop.delivery") == 0
    assert unrecorded(counting) == 1


def test_what_the_ledger_has_is_not_counted(counting):
    """The claim is committed, so the try counts there, as one that died; only its result is not known."""
    def break_off(client, tag, arguments):
        server.appended.append(server.read_append(client, arguments))   # which begins only after the claim's commit
        if proxy:
            proxy.close()
        else:
            rename(counting, "attempt", "tried")
        client.send(f"{tag} OK [APPENDUID 7 1] stored")
    kept = dict(counting.settings)
    proxy = counting.database_proxy_if_any()
    counting.settings["route.sent_copy"] = "off"
    server = fake(counting, APPEND=break_off)
    expect.deferred(counting.deliver(message(), SCUBA), r"4\.3\.0")
    counting.settings.update(kept)
    if not proxy:
        rename(counting, "tried", "attempt")
    assert counting.value("SELECT count(*) FROM oncedrop.delivery") == 1
    assert unrecorded(counting) == 0


@pytest.mark.parametrize("path", ["", "/nonexistent/unrecorded", "/dev/full", "a directory", "a secret"])
def test_no_delivery_fails_for_it(site, path):
    """The answer is the same, and nothing is written over."""
    own = {"a directory": site.directory, "a secret": site.write("secret", SECRET)}
    site.settings["log.unrecorded_file"] = own.get(path, path)
    with Away(site):
        expect.deferred(site.deliver(message(), SCUBA), r"4\.3\.0")
    known = [line for line in without_ledger(site, "--prometheus").splitlines() if "unrecorded_total" in line]
    assert known[2:] == (["oncedrop_deferrals_unrecorded_total 0"] if path.startswith("/nonexistent") else [])
    with open(own["a secret"], encoding="ascii") as file:
        assert file.read() == SECRET


# The unit


def read_unit(name):
    """Its settings, the last of each name."""
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("=", 1) for line in file if re.match(r"\w+=", line))


class Unit:
    """What oncedrop-stats.service runs, for a site, without systemd."""

    def __init__(self, site):
        self.site, self.file = site, os.path.join(site.directory, "oncedrop.prom")

    def run(self):
        configuration = self.site.write_configuration(["stats"])
        unit = read_unit("oncedrop-stats.service")
        words = shlex.split(unit["ExecStart"])
        assert words.pop() == "${TEXTFILE}" and unit["Environment"].startswith("TEXTFILE=/")
        words = [word.replace("$$", "$").replace("/usr/local/bin/oncedrop", f"{lab_module.program()} -c {configuration}")
                 for word in words]
        return subprocess.run([*words, self.file], env=self.site.environment(), umask=int(unit["UMask"], 8), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE).returncode

    def text(self):
        with open(self.file, encoding="utf-8") as file:
            return file.read()


def test_the_unit_replaces_the_file(counting):
    unit = Unit(counting)
    assert unit.run() == 0
    assert "\noncedrop_up 1\n" in unit.text() and "\noncedrop_messages 0\n" in unit.text()
    assert os.stat(unit.file).st_mode & 0o7777 == 0o644
    with open(unit.file, encoding="utf-8") as before:
        with Away(counting):
            assert unit.run() == 69
        assert "oncedrop_messages" in before.read()     # a reader has all of the old one
    assert "\noncedrop_up 0\n" in unit.text() and "oncedrop_messages" not in unit.text()


def test_the_unit_keeps_a_file_without_figures(counting):
    """It then grows old."""
    unit = Unit(counting)
    assert unit.run() == 0
    counting.settings["imap.port"] = "none"
    assert unit.run() not in (0, 69)
    assert "\noncedrop_up 1\n" in unit.text()


def test_the_units_are_understood(site):
    """By systemd, with our program in place of the one that is not installed."""
    names = sorted(os.listdir(UNITS))
    for name in names:
        with open(os.path.join(UNITS, name), encoding="utf-8") as file:
            text = file.read().replace("/usr/local/bin/oncedrop", lab_module.program())
        with open(os.path.join(site.directory, name), "w", encoding="utf-8") as file:
            file.write(text)
    wanted = [name.replace("@", "@1") for name in names]
    done = subprocess.run([find_program("systemd-analyze"), "verify", "--man=no",
                           *(os.path.join(site.directory, name) for name in wanted)],
                          env={**os.environ, "SYSTEMD_UNIT_PATH": site.directory + ":"}, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = [line for line in done.stdout.splitlines() if "oncedrop" in line]
    assert not said, done.stdout


# Alerts


def check_rules(*words):
    done = subprocess.run([find_program("promtool"), *words], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout
    return done.stdout


# alert; series, with a value for each minute; a minute at which it fires, and one at which it does not
UP = "oncedrop_up"
TRIES = 'oncedrop_deliveries_total{outcome="died"}'
MAILBOX, HELD = 'oncedrop_deferrals_total{reason="mailbox"}', 'oncedrop_deferrals_total{reason="busy"}'
FILE = 'node_textfile_mtime_seconds{file="%soncedrop.prom"}'
DEBIAN = FILE % "/var/lib/prometheus/node-exporter/"
CASES = [
    ("LedgerUnreachable", {UP: "1x9 0x90"}, [16], [4, 12]),
    ("LedgerUnreachable", {UP: "0x3 1x90"}, [], [8, 60]),
    ("Deferring", {MAILBOX: "0+1x200"}, [70, 150], [50]),
    ("Deferring", {MAILBOX: "0+1x30 30x200"}, [], [20, 50, 100]),
    ("Deferring", {HELD: "0+1x200", MAILBOX: "7x200"}, [], [70, 150]),
    ("Deferring", {"oncedrop_deferrals_unrecorded_total": "0+1x200"}, [70], [50]),
    ("ClaimsInDoubt", {TRIES: "0x60 10x120"}, [70], [50, 150]),
    ("ClaimsInDoubt", {TRIES: "0x60 3x120"}, [], [50, 70]),
    ("ClaimsInDoubt", {"oncedrop_doubt_searches_total": "0+1x90"}, [70], []),
    ("Unfinished", {"oncedrop_oldest_unfinished_seconds": "86000+60x60"}, [40], [5, 15]),
    ("FeedWaits", {'oncedrop_feed_oldest_seconds{feed="support"}': "3540+60x60"}, [30], [5, 12]),
    ("FeedWaits", {'oncedrop_feed_dead{feed="support"}': "0x20 1x60"}, [60], [10, 25]),
    ("FiguresOld", {UP: "1x60", DEBIAN: "0x60"}, [30], [10, 22]),
    ("FiguresOld", {UP: "1x60", FILE % "": "0x60"}, [30], [10]),
    ("FiguresOld", {UP: "1x60", DEBIAN: "0+60x60"}, [], [10, 30, 55]),
    ("FiguresOld", {'node_textfile_mtime_seconds{file="/x/other.prom"}': "0x60", UP: "1x60"}, [], [30]),
    ("FiguresOld", {"node_load1": "1x60"}, [10], []),
]


@pytest.mark.parametrize("name, series, fires, is_silent", CASES, ids=[f"{case[0]} {n}" for n, case in enumerate(CASES)])
def test_alerts(tmp_path, name, series, fires, is_silent):
    def firing(minute, count):
        return {"expr": f'count(ALERTS{{alertname="Oncedrop{name}",alertstate="firing"}})', "eval_time": f"{minute}m",
                "exp_samples": [{"labels": "{}", "value": count}] if count else []}
    file = tmp_path / "test.json"       # which is YAML, too
    file.write_text(json.dumps({"rule_files": [RULES], "evaluation_interval": "1m", "tests": [{
        "interval": "1m", "input_series": [{"series": name, "values": values} for name, values in series.items()],
        "promql_expr_test": [firing(minute, 1) for minute in fires] + [firing(minute, 0) for minute in is_silent]}]}))
    check_rules("test", "rules", str(file))


def test_the_alerts_ask_for_what_there_is(counting):
    assert "6 rules found" in check_rules("check", "rules", RULES)
    counting.settings["feed all.role"] = "both"     # what waits in no feed has no figures
    expect.stored(counting.deliver(message(), counting.account()))
    with open(RULES, encoding="utf-8") as file:
        asked = set(re.findall(r"\boncedrop_\w+", file.read()))
    assert asked and asked <= {name for name, _ in metrics(counting)}
    with open(RULES, encoding="utf-8") as file:
        for name, value in re.findall(r"oncedrop (list|show|resume|expire|check)\b(?: --state (\w+))?", file.read()):
            assert counting.run(name, *(["--state", value] if value else ["--help"])).exit in (0, 64)


# What a Prometheus makes of it


def lint(text):
    done = subprocess.run([find_program("promtool"), "check", "metrics"], input=text, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert done.returncode == 0 and not done.stdout, done.stdout


def test_every_query_of_the_dashboard_has_an_answer(counting):
    """Asked of a Prometheus, which has scraped figures that grew."""
    def figures():
        done = counting.run("stats", "--prometheus")
        assert done.exit == 0, done
        lint(done.out)
        return done.out

    scuba = counting.account()
    expect.stored(counting.deliver(message(), scuba))
    prometheus = counting.use(Prometheus(counting.directory, figures()))
    os.chmod(counting.directory, 0o711)
    prometheus.start()
    wait_until(lambda: prometheus.query("count_over_time(oncedrop_up[1m]) > 1"), "it has scraped twice")
    expect.stored(counting.deliver(message(), scuba))
    counting.sql("UPDATE oncedrop.attempt SET queued_at = started_at")
    prometheus.page.text = figures()
    with open(DASHBOARD, encoding="utf-8") as file:
        dashboard = json.load(file)
    asked = [expr.replace("$instance", ".+").replace("$__rate_interval", "1m") for expr in expressions(dashboard["panels"])]
    assert len(asked) >= 14 and not any("$" in expr for expr in asked)
    for expr in asked:
        wait_until(lambda expr=expr: any(not math.isnan(value) for value in prometheus.query(expr)), expr, 20)
    variable = dashboard["templating"]["list"][1]["query"]["query"]
    assert prometheus.query(re.fullmatch(r"label_values\((\w+), instance\)", variable)[1]) == [1]
    lint(without_ledger(counting, "--prometheus"))
