# SPDX-License-Identifier: ISC
"""Fixtures: one set of servers for all tests (of one worker), a separate site for each test."""

import os
import re
import shlex
import shutil
import signal
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from lab import (courier as courier_module, cyrus as cyrus_module, lab as lab_module,  # noqa: E402
                 ledger as ledger_module, locks, postfix as postfix_module, process, site as site_module, small_disk, terminal)

collect_ignore_glob = ["integration/test_postfix_*.py"] if postfix_module.missing() else []
collect_ignore = [] if small_disk.available() else ["integration/test_full_disk.py"]
collect_ignore += [] if terminal.available() else ["integration/test_terminal.py"]


def pytest_addoption(parser):
    parser.addoption("--part", choices=["essential", "rest", "first"],
                     help="the tests of tests/essential; all others; the first case of each test that is not in it at all")


def first_cases(line, names):
    """What a line of a list stands for: of each test that it names, its first case; with [CASE], the cases named. In both "*"
    is for any characters."""
    bracket = "[" in line
    pattern = re.compile(re.escape(line).replace(r"\*", ".*"))
    found = {}
    for name in names:
        key = name if bracket else name.partition("[")[0]
        if pattern.fullmatch(key):
            found.setdefault(key, name)
    return set(found.values())


def listed(name, names, there):
    """Those of the names of tests that are in the list tests/NAME. there: all that their files have; else None."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        lines = [line for line in file.read().splitlines() if line and not line.startswith("#")]
    for line in lines:
        file = line.partition("::")[0] + "::"
        if there and not first_cases(line, there) and any(name.startswith(file) for name in there):
            raise pytest.UsageError(f"tests/{name} names a test that is not there: {line}")
    return set().union(*(first_cases(line, names) for line in lines))


def leave_out(config, items, unwanted):
    config.hook.pytest_deselected(items=[item for item in items if item in unwanted])
    items[:] = [item for item in items if item not in unwanted]


def of_postgres(item):
    return item.get_closest_marker("postgres") is not None


def pytest_collection_modifyitems(config, items):
    wanted = choose_part(config, items)
    for engine in ledger_module.ENGINES:
        if ledger_module.engine() != engine:
            wanted = [item for item in wanted if not item.get_closest_marker(engine)]
    leave_out(config, items, set(items).difference(wanted))


def essential(config, items, names):
    """The names of the tests that `make check` runs with this engine."""
    marked = {name for item, name in names.items() if of_postgres(item)}
    there = None if any("::" in argument for argument in config.args) else list(names.values())
    if ledger_module.engine() != ledger_module.POSTGRES:
        return listed("essential", [names[item] for item in items if names[item] not in marked], there)
    return listed("essential", [names[item] for item in items if names[item] in marked], None) | \
        listed("essential-postgres", list(names.values()), there)


def choose_part(config, items):
    part = config.getoption("part")
    if not part:
        return items
    names = {item: item.nodeid.removeprefix("tests/") for item in items}
    chosen = essential(config, items, names)
    if part != "first":
        return [item for item in items if (names[item] in chosen) == (part == "essential")]
    # With PostgreSQL, of those that no other engine runs.
    only = ledger_module.engine() == ledger_module.POSTGRES
    first = {names[item].partition("[")[0]: item for item in reversed(items) if of_postgres(item) == only}
    known = {name.partition("[")[0] for name in chosen}
    return [item for test, item in first.items() if test not in known]


def pytest_configure(config):
    """A request to stop is handled like Ctrl-C: in order, stopping the servers. Signals ignored by nohup(1) or
    similar commands become unignored, since the program would inherit that."""
    config.addinivalue_line("markers", "postgres: is about PostgreSQL, or speaks its SQL; nothing for a ledger of another engine")
    config.addinivalue_line("markers", "sqlite: is about a ledger in a file")
    config.addinivalue_line("markers", "mariadb: is about MariaDB, or speaks its SQL")
    if hasattr(config, "workerinput"):
        return      # started by the process that did this; and xdist may run it in any thread, where signals cannot be set
    for number, handler in ((signal.SIGQUIT, signal.SIG_DFL), (signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler),
                            (signal.SIGTERM, signal.default_int_handler)):
        signal.signal(number, handler)
    os.environ["LC_ALL"] = "C.UTF-8"    # what shells, servers and their tools say is read
    if os.getuid() == 0:
        use_copy(config)


def use_copy(config):
    """Root becomes other users, who may not reach the program where it was built: a home has mode 0700."""
    directory = process.private_directory()
    os.environ["ONCEDROP_BUILD"] = lab_module.build()
    config.add_cleanup(lambda: shutil.rmtree(directory))
    os.environ["ONCEDROP"] = lab_module.copy_program(directory)


@pytest.fixture(scope="session")
def lab():
    servers = lab_module.Lab()
    try:
        yield servers
    finally:
        servers.stop()


@pytest.fixture(scope="session")
def ledgers(lab):
    """Databases with the schema in them."""
    return site_module.install_schema(lab)


@pytest.fixture
def site(lab, ledgers, request):
    """A site with an empty ledger."""
    lab.dovecot.renew()
    new = site_module.new_site(lab, ledgers)
    request.node.site = new
    request.node.logs_before = lab.logs()
    yield new
    new.close()
    reports = new.sanitizer_reports()
    assert not reports, reports


def use_other(site, module, name):
    if module.missing():
        pytest.skip(module.missing())
    site.use_server(getattr(site.lab, name))
    return site.imap


@pytest.fixture
def cyrus(site):
    """The lab's Cyrus, to which the site delivers."""
    return use_other(site, cyrus_module, "cyrus")


@pytest.fixture
def courier(site):
    """The lab's Courier, to which the site delivers."""
    return use_other(site, courier_module, "courier")


@pytest.fixture(params=locks.METHODS)
def method(site, request):
    """The site's deliveries exclude each other by each of the methods."""
    locks.agree(site, request.param)
    return request.param


@pytest.fixture(params=postfix_module.WAYS)
def postfix(site, request):
    """A Postfix that delivers to the site, by each of the ways in; not started yet."""
    new = postfix_module.Postfix(site, request.param)
    yield new
    new.close()


def print_matrix(terminalreporter):
    """What tests put into the table of tests/integration/test_servers_matrix.py, or tests/faults/test_methods.py, as
    properties: "matrix" and (row, column, cell)."""
    table = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties if report.when == "call" else []:
                if name == "matrix":
                    row, column, cell = value
                    good = outcome == "passed" or cell.startswith("FAILED")     # which says more
                    table.setdefault(row, {}).setdefault(column, set()).add(cell if good else "FAILED")
    columns = sorted({column for row in table.values() for column in row})
    lines = [["", *columns]] if table else []
    for name, row in sorted(table.items()):
        lines.append([name, *(" and ".join(sorted(row.get(column, {"-"}))) for column in columns)])
    for line in lines:
        terminalreporter.write_line("  ".join(
            text.ljust(max(16, *(len(other[place]) for other in lines))) for place, text in enumerate(line)).rstrip())


def note_failures(terminalreporter):
    """For tests/steps.sh, so that a long output ends with the names."""
    path = os.environ.get("ONCEDROP_FAILED")
    if path:
        with open(path, "a", encoding="utf-8") as file:
            for outcome in ("failed", "error"):
                file.writelines(f"    {report.nodeid}\n" for report in terminalreporter.getreports(outcome))


def pytest_terminal_summary(terminalreporter):
    note_failures(terminalreporter)
    print_matrix(terminalreporter)
    if postfix_module.missing():
        terminalreporter.write_line(f"The tests with Postfix were left out: {postfix_module.missing()}.")
    for module in (cyrus_module, courier_module):
        if module.missing():
            terminalreporter.write_line(f"Tests with another server were left out: {module.missing()}.")
    if not small_disk.available():
        terminalreporter.write_line("The tests with a full disk were left out: this user may not mount a file system.")
    if not terminal.available():
        terminalreporter.write_line("The tests in a terminal were left out: no pseudo-terminals here (is /dev/pts mounted?).")


def command_of(item):
    """Runs this test alone, in the same way."""
    given = {name: value for name, value in os.environ.items() if name.startswith("ONCEDROP") and name != "ONCEDROP_FAILED"}
    given["ONCEDROP"] = os.path.join(given.pop("ONCEDROP_BUILD", None) or lab_module.build(), "oncedrop")
    settings = [f"{name}={shlex.quote(value)}" for name, value in sorted(given.items())]
    return " ".join([*settings, sys.executable, "-B -m pytest -q -p no:cacheprovider", shlex.quote(item.nodeid)])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """What the servers logged during a failed test belongs in its report."""
    outcome = yield
    report = outcome.get_result()
    site = getattr(item, "site", None)
    if report.failed:
        report.sections.append(("to run it alone", command_of(item)))
    if report.failed and site:
        report.sections.append(("oncedrop.conf", site.configuration()))
        for name, log in site.lab.logs().items():
            report.sections.append((f"log of {name}", log[len(item.logs_before.get(name, "")):]))
        if "postfix" in item.funcargs:
            report.sections.append(("log of Postfix", item.funcargs["postfix"].log()))
