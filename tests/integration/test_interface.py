# SPDX-License-Identifier: ISC
"""What the program has, compared with what it promises: STABLE INTERFACE in oncedrop(1), and the lists in tests/interface.

This says only how each kind of line is found in the program. What a notification contains is in test_record.py.

Seen to fail with: a member of JSON, or a column of a view, left out; a setting or a metric with another name; another exit status,
reply or default; a name in the lists that the manual lacks."""

import json
import os
import re

import expect
from lab import lab as lab_module, lmtp
from lab.ledger import MARIADB, POSTGRES, SQLITE, engine
from lab.messages import message
from test_choices import choices_of_the_program
from test_completion import commands, forms, help_of
from test_feed import PARTS
from test_history import received, take
from test_lmtp import accounts_query
from test_log_json import of_json
from test_manual import text as page
from test_operator import held_claim
from test_options import ONE, TWO, Scene
from test_quarantine import BAD, REFUSAL, Picky
from test_second_try import SCUBA, fake, refuse
from test_stats import SAMPLE, SUFFIX

LISTS = os.path.join(lab_module.REPOSITORY, "tests", "interface")
# What the manual's pages must name of each kind of line. {}: the command. Commands and options are in the help, which is made of them;
# settings are for tests/check-settings.sh.
PAGES = {"choice": "oncedrop.conf.5", "json": "oncedrop-{}.1", "log-field": "oncedrop-log.7", "log-json": "oncedrop-log.7",
         "variable": "oncedrop-{}.1", "column": "oncedrop-record.7 oncedrop-feed.1", "role": "oncedrop-security.7",
         "metric": "oncedrop-stats.1"}
KINDS = {"command", "option", "status", "exit", "reply", "setting", *PAGES}


def lists():
    """{line: version}: what is promised with this engine."""
    found = {}
    for version in sorted(os.listdir(LISTS), key=lambda name: list(map(int, name.split(".")))):
        with open(os.path.join(LISTS, version), encoding="utf-8") as file:
            lines = [line.partition(" @") for line in file.read().splitlines() if line and not line.startswith("#")]
        for line in [line for line, _, engines in lines if not engines or engine() in engines.split(",")]:
            if line.startswith("-"):
                del found[line[1:]]
            else:
                assert line not in found and line.split()[0] in KINDS, f"{version}: {line}"
                found[line] = version
    return found


def compare(found):
    """found: lines; of their kinds these and no others are promised."""
    kinds = {line.split()[0] for line in found}
    promised = {line: version for line, version in lists().items() if line.split()[0] in kinds}
    new, said = sorted(found - promised.keys()), []
    for line in sorted(promised.keys() - found):
        name = line.split()[:3 if line.startswith(("exit ", "json ", "reply ")) else 2]
        others = ", ".join(other for other in new if other.split()[:len(name)] == name)
        said += [f"BROKEN: {line}", f"    {promised[line]} promises it, and the program has {others or 'nothing of that name'}."
                 " Undo that. Or announce it in NEWS.md, and do it one version later, whose list then has:", f"    -{line}"]
    for line in new:
        said += [f"NOT PROMISED: {line}", "    If it is to stay, name it in the manual, and add this line to the list of the next version in"
                 f" tests/interface (with ' @{engine()}' behind it, if other engines do not have it)."]
    assert not said, "\n" + "\n".join(said)


def forms_of_commands():
    """(command with its second word, the rest of the form)."""
    for command in commands():
        for form in forms(command).splitlines():
            words, rest = re.fullmatch(rf"oncedrop {command}((?: \|| [a-z]+)*)( .*|)", form).groups()
            for word in words.split(" | "):
                yield " ".join([command, *word.split()]), rest


def test_commands():
    """An option that may be left out has a line, and is not in that of its command."""
    found = set()
    for command, rest in forms_of_commands():
        found |= {f"option {command} {option}" for option in re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*(?: [A-Z_]+)?", rest)}
        rest = re.sub(r"\[--?[A-Za-z](?:[^][]|\[[^]]*\])*\](?:\.\.\.)?", "", rest)
        found.add(" ".join(["command", command, *rest.split()]))
    for command in commands():
        said = re.search(r"^Exit status:\n(.*?)\n\n", help_of(command), re.M | re.S)[1]
        found |= {f"status {command} {status}" for row in re.findall(r"^  (\d[\d, ]*)  ", said, re.M)
                  for status in re.findall(r"\d+", row)}
    compare(found)


LATER, FULL = "NO [UNAVAILABLE] later", "NO [OVERQUOTA] full"
NOBODY = {"route.account_query": accounts_query({"a@x": "a"})}
# case: a command's words. "wrong": with a wrong setting; "no-ledger": without ledger
FAILURES = {
    "show unknown": ("show", "unknown"), "show usage": ("show",), "list nothing": ("list", "--queue-id", "unknown"),
    "list wrong": ("list",), "expire unknown": ("expire", "unknown"), "export unknown": ("export", SCUBA),
    "export not-empty": ("export", "--raw", "{scene.site.directory}", "{scene.scuba}"), "forget unknown": ("forget", "--yes", SCUBA),
    "stats no-ledger": ("stats",), "config wrong": ("config",), "check wrong": ("check",), "check wrong-quick": ("check", "--quick"),
    "serve wrong": ("serve",), "lmtp wrong": ("lmtp",), "feed wrong": ("feed", "list"), "feed unknown": ("feed", "show", "99"),
    "route unknown": ("route", SCUBA), "route no-ledger": ("route", SCUBA), "help unknown": ("help", "unknown"),
    "replay missing": ("replay", "-d", SCUBA, "/nonexistent"), "replay stored": ("replay", "-d", "{scene.scuba}", "{scene.stored}"),
    "replay refused": ("replay", "-d", SCUBA, "{scene.file}"), "replay deferred": ("replay", "-d", SCUBA, "{scene.file}"),
}


def test_exits(site):
    """Of the commands for people."""
    scene, found, kept = Scene(site), set(), dict(site.settings)
    for case, words in FAILURES.items():
        if "wrong" in case:
            site.settings["imap.port"] = "none"
        elif "no-ledger" in case or case == "route unknown":
            site.settings.update({**NOBODY, **(site.ledger.out_of_reach()[0] if "no-ledger" in case else {})})
        elif words[0] == "replay":
            fake(site, APPEND=refuse(LATER if case == "replay deferred" else REFUSAL))
            site.settings["delivery.refuse_after"] = "0s"
        found.add(f"exit {case} {site.run(*[word.format(scene=scene) for word in words]).exit}")
        site.settings = dict(kept)
    compare(found)


# case: what the IMAP server says to APPEND, and settings
REPLIES = {
    "stored": (None, {}), "duplicate": (None, {}), "held": (None, {}), "no-ledger": (None, {}), "wrong": (None, {"imap.port": "none"}),
    "refused": (REFUSAL, {"delivery.refuse_after": "0s"}), "refused-at-first": (REFUSAL, {}), "no-mailbox": (LATER, {}),
    "quarantined": (None, {"delivery.refuse_after": "0s", "delivery.refused": "quarantine"}),
    "too-large": (None, {"delivery.size_limit": "1024"}),
    "overquota-defer": (FULL, {}), "overquota-bounce": (FULL, {"delivery.overquota": "bounce"}),
    "unknown-bounce": (None, NOBODY), "unknown-defer": (None, {**NOBODY, "route.unknown_account": "defer"}),
}


def reply(site, way, mail):
    """The status or code, and the enhanced one. LMTP's greeting is the reply, if it refuses all."""
    if way == "lmtp":
        session = lmtp.Session(site)
        code, text = session.reply()
        if code == 220:
            session.command("LHLO client.test")
            [(code, text)] = session.deliver(mail, SCUBA)
    else:
        code, text, *_ = site.deliver(mail, SCUBA)
    return f"{code} {text.split()[0]}"


def test_replies(site):
    """What Postfix gets."""
    kept, found = dict(site.settings), set()
    for case, (answer, settings) in REPLIES.items():
        for way in ("deliver", "lmtp"):
            mail = message(headers=BAD, body="x" * 2000 + "\n")
            fake(site, **({"APPEND": refuse(answer)} if answer else {}))
            if case == "quarantined":
                site.settings["imap.port"] = site.use(Picky()).port
            if case in ("duplicate", "held"):
                reply(site, "deliver", mail)
            if case == "held":
                site.ledger.claim(seconds=1)
            site.settings.update({**settings, **(site.ledger.out_of_reach()[0] if case == "no-ledger" else {})})
            found.add(f"reply {way} {case} {reply(site, way, mail)}")
            site.settings = dict(kept)
    compare(found)


def test_settings(site):
    defaults = json.loads(site.run("config", "-d", "--json").out)
    compare({f"setting {name} {value}".rstrip() for name, value in defaults.items()}
            | {f"choice {name} {value}" for name, values in choices_of_the_program(site).items() for value in values})


def members(value, path=""):
    """(path, kind) of all that it consists of. The elements of an array stand at the path of the array."""
    kinds = {dict: "object", list: "array", str: "text", bool: "boolean", int: "number", float: "number", type(None): "null"}
    yield path or ".", kinds[type(value)]
    for element in value if isinstance(value, list) else []:
        for at, kind in members(element, path):
            yield at, f"array of {kind}" if at == (path or ".") else kind
    for name, member in value.items() if isinstance(value, dict) else []:
        yield from members(member, f"{path}.{name}".lstrip("."))


def shapes(values):
    """A line for each path. null is no kind, and array one only without elements."""
    found = {}
    for path, kind in [pair for value in values for pair in members(value)]:
        found.setdefault(path, set()).add(kind)
    for path, kinds in found.items():
        kinds -= {"null", "array" if any(kind.startswith("array of ") for kind in kinds) else "null"}
        yield f"{path} {' or '.join(sorted(kinds))}".rstrip()


def values_of(out):
    """One or more, each of which begins a line."""
    return json.loads(f"[{re.sub('^(?=[{[])', ',', out, flags=re.M).lstrip(',')}]")


HEADERS = "MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\nReferences: <a@x> <b@x>\nIn-Reply-To: <b@x>\nCc: G: One <one@x>;\n"
# In this order: the last ones change what the others show.
JSON = {
    "list": [()], "show": [(ONE, "--verify"), ("full@x", "--verify"), (TWO, "--verify")], "check": [("--quick",)], "stats": [()],
    "version": [()], "route": [("{scene.scuba}", "nobody@x")], "feed-list": [("list",)], "feed-list-of": [("list", "all")],
    "feed-show": [("show", "{row}")], "feed-wait": [("wait", "all")],
    "replay": [("-d", "{scene.scuba}", "{scene.stored}"), ("{scene.file}",), ("/nonexistent",)],
    "export": [("{scene.scuba}", "--raw", "{scene.new}"), ("{scene.doug}",)], "expire": [("--dry-run", "six@x"), ("six@x",)],
    "resume": [()], "restore": [()], "purge": [("--older-than", "7d", "--dry-run"), ("--older-than", "7d")],
}


def test_json(site):
    """Of commands with --json, and of export. The members of config are the settings, and test_commands.py compares them."""
    scene = Scene(site)
    site.settings.update({"feed all.role": "both", "record.trace": "yes", "log.unrecorded_file": site.write("unrecorded", "")})
    mail = received("4FULL", 5) + message(id="full@x", headers=HEADERS, body=PARTS, sender=scene.lisa)
    expect.stored(site.deliver(mail, scene.scuba, "-q", "4FULL", "-a", "alias@x", sender=scene.lisa))
    scene.deliver_in_vain("six@x", "delta")
    site.run("feed", "run", "all", "false")
    row = site.value("SELECT min(id) FROM oncedrop.feed")
    servers = {"route.account_query": accounts_query({scene.scuba: "doug"}), "route.server": "south", "imap south.host": "localhost"}
    kept = dict(site.settings)
    fake(site, APPEND=take)
    running = site.start_delivery(message(), SCUBA)
    found = {"locks": [[held_claim(site)]]}
    running.stop()
    for name, cases in JSON.items():
        if name == "restore":
            scene.empty()
        site.settings = {**kept, **(servers if name == "route" else {})}
        json_ = ["--json"] if name != "export" else []
        found[name] = [value for words in cases for value in values_of(site.run(
            name.partition("-")[0], *[word.format(scene=scene, row=row) for word in words], *json_).out)]
    assert {command.split()[0] for command, rest in forms_of_commands() if "--json" in rest} | {"export"} == \
        {name.partition("-")[0] for name in found} | {"config"}
    compare({f"json {name} {shape}" for name, values in found.items() for shape in shapes(values)})


def test_log(site):
    """Of a stored message and its Sent copy."""
    log = {}
    for form in ("text", "json"):
        fake(site)
        site.settings.update({"log.to": "stderr", "log.format": form})
        log[form] = site.deliver(message(sender=SCUBA), SCUBA, "-q", "4FULL", sender=SCUBA).err
    found = {f"log-field {name}" for name in re.findall(r"[:,] ([a-z-]+)=", log["text"])}
    compare(found | {f"log-json {shape}" for shape in shapes(of_json(log["json"]))})


def test_variables(site):
    """Of deliver those that the manual names, if what they say is found in the record; of feed those that a command gets."""
    fake(site)
    site.settings.update({"route.sent_copy": "authenticated", "record.level": "raw", "feed all.role": "both"})
    names = re.findall(r"^\.It Ev ([A-Z_]+)$", page("oncedrop-deliver.1"), re.M)
    values = {name: f"{name.lower()}@example.org" for name in names if name != "TMPDIR"}
    expect.stored(site.deliver(message(sender=values["SASL_USERNAME"]), None, env=values))
    rows = site.sql("SELECT m.sender, d.recipient, d.original_recipient, c.account FROM oncedrop.message m"
                    " JOIN oncedrop.delivery d ON d.message = m.id JOIN oncedrop.copy c ON c.message = m.id")
    found = {f"variable deliver {name}" for name, value in values.items() if any(value in row for row in rows)}
    found |= {f"variable feed {name}" for name in re.findall(r"^(ONCEDROP_\w+)=", site.run("feed", "run", "all", "env").out, re.M)}
    compare(found)


# of a server, of a file
COLUMNS = ("SELECT c.table_name, c.column_name, c.data_type, table_type = 'VIEW' FROM information_schema.columns c"
           " JOIN information_schema.tables USING (table_schema, table_name) WHERE table_schema = %s",
           "SELECT m.name, c.name, lower(c.type), m.type = 'view' FROM oncedrop.sqlite_schema m,"
           " pragma_table_info(m.name, 'oncedrop') c WHERE m.name <> %s")
ROLES = {POSTGRES: "SELECT rolname FROM pg_roles", MARIADB: "SELECT user FROM mysql.user WHERE is_role = 'Y'", SQLITE: "SELECT ''"}
OF_OTHER_VIEWS = {"delivery_to_sender", "stored_copy"}


def test_record(site):
    """Columns, with their types, of views and of the tables that the lists name; roles."""
    named = {line.split()[1].partition(".")[0] for line in lists() if line.startswith("column ")}
    rows = site.sql(COLUMNS[engine() == SQLITE], (site.database if engine() == MARIADB else "oncedrop",))
    found = {f"column {table}.{column} {kind.replace(' ', '_')}".rstrip() for table, column, kind, is_view in map(tuple, rows)
             if table in named or is_view and table not in OF_OTHER_VIEWS}
    compare(found | {f"role {name}" for name, in site.sql(ROLES[engine()]) if name.startswith("oncedrop_")})


def test_metrics(site):
    """Their types, labels, and the values of labels, unless they are of a site or a build."""
    scene, found = Scene(site), set()
    site.settings["feed all.role"] = "both"
    expect.stored(site.deliver(message(), scene.scuba))
    out = site.run("stats", "--prometheus").out
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", out, re.M))
    for name, labels, _ in SAMPLE.findall(out):
        name = name if name in types else SUFFIX.sub("", name)
        labels = [f"{key}={value}" if key not in ("engine", "feed", "version") else key
                  for key, value in re.findall(r'(\w+)="(.*?)"', labels) if key != "le"]
        found.add(" ".join(["metric", name, *labels, types[name]]))
    compare(found)


def test_the_manual_names_them():
    """Each promise is, as a word, in the page that STABLE INTERFACE refers to; members of JSON also in one that this page refers to."""
    missing = []
    for kind, *words in [line.split() for line in lists() if line.split()[0] in PAGES]:
        there = " ".join(page(name) for name in PAGES[kind].format(words[0].partition("-")[0]).split())
        if kind == "json":
            there += "".join(page(f"{name}.1") for name in re.findall(r"\bXr (oncedrop-[a-z]+) 1", there.partition(".Sh SEE ALSO")[0]))
        names = {"metric": words[:-1], "role": [words[0].removeprefix("oncedrop")], "json": words[1:2], "choice": words[1:],
                 "variable": words[1:]}.get(kind, words[:1])
        missing += [f"{kind} {' '.join(words)}" for name in re.findall(r"[\w-]+", " ".join(names))
                    if not re.search(rf"(?<![\w-]){name}(?![\w-])", there)]
    assert not missing, "not in the manual:\n" + "\n".join(missing)
