# SPDX-License-Identifier: ISC
"""What systemd and AppArmor allow the service: as little as possible, and all that it needs. Neither is in force here: the units
are rated by systemd-analyze(1), and the files that a service opens are compared with the profile's rules.

Seen to fail with: a unit without its filter of system calls, or with a capability more; a rule that ends with no comma; no rule for
a module, the root directory, or the ledger's lock file and -shm."""

import glob
import os
import re
import shutil
import subprocess

import pytest
from lab import lab as lab_module
from lab.ledger import SQLITE, engine
from lab.lmtp import stored
from lab.messages import message
from lab.process import find_program
from lab.service import Service

CONF = os.path.join(lab_module.REPOSITORY, "conf")
PROFILE = os.path.join(CONF, "apparmor", "oncedrop")
SERVICES = sorted(glob.glob(os.path.join(CONF, "systemd", "*.service")))
EXPOSURE = 20       # 2.0


def run(*words):
    return subprocess.run(words, text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def rates_files():
    return shutil.which("systemd-analyze") is not None and "--offline" in run("systemd-analyze", "--help").stdout


@pytest.mark.skipif(not rates_files(), reason="systemd-analyze is missing, or older than 250")
@pytest.mark.parametrize("path", SERVICES, ids=map(os.path.basename, SERVICES))
def test_exposure(path):
    done = run("systemd-analyze", "security", "--offline=yes", "--no-pager", f"--threshold={EXPOSURE}", path)
    assert "Overall exposure level" in done.stdout and done.returncode == 0, done.stdout


def parser():
    return shutil.which("apparmor_parser", path="/usr/sbin:/sbin:" + os.environ["PATH"])


needs_parser = pytest.mark.skipif(not parser(), reason="apparmor_parser is missing (Debian's package apparmor)")


@needs_parser
def test_the_profile_is_understood():
    done = run(parser(), "--skip-kernel-load", "--skip-cache", "--quiet", PROFILE)
    assert done.returncode == 0, done.stdout


# The rules, as a program reads them


def alternatives(text, variables):
    """Each text that this one stands for: a variable may have several values."""
    found = re.search(r"@\{(\w+)\}", text)
    if not found:
        return [text]
    values = variables[found[1]]
    return [one for value in values for one in alternatives(text[:found.start()] + value + text[found.end():], variables)]


def expression(pattern):
    """AppArmor's pattern as a regular expression (apparmor.d(5), "Globbing")."""
    parts = {"**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")", ",": "|"}

    def translated(one):
        return parts.get(one[0], one[0] if one[0].startswith("[") else re.escape(one[0]))
    return re.compile(re.sub(r"\*\*|[*?{},]|\[[^]]*\]|.", translated, re.sub("//+", "/", pattern)))


def rules_of(profile):
    """[(expression, permissions)] of files, with the rules that the profile includes."""
    variables, rules = {}, []
    text = subprocess.run([parser(), "--quiet", "--preprocess", profile], check=True, capture_output=True, text=True).stdout
    for line in map(str.strip, text.splitlines()):
        value = re.match(r"@\{(\w+)\}\s*\+?=\s*(.*)", line)
        if value:
            variables.setdefault(value[1], []).extend(value[2].split())
        rule = re.match(r'(?:owner\s+)?"?([/@]\S*?)"?\s+([a-zA-Z]+),', line)
        if rule:
            rules += [(expression(one), rule[2]) for one in alternatives(rule[1], variables)]
    return rules


def lacks(rules, path, wanted):
    granted = {letter for pattern, letters in rules if pattern.fullmatch(path) for letter in letters}
    return "".join(sorted(set(wanted) - granted))


@needs_parser
def test_rules():
    """What the comparison below is made of."""
    rules = [(expression(one), "r") for one in ("/a/*.so", "/b/**", "/c{,-d}", "/e[0-9]f")]
    allowed = ["/a/x.so", "/b/x/y", "/c", "/c-d", "/e1f"]
    assert [path for path in [*allowed, "/a/x/y.so", "/b", "/c-", "/exf"] if not lacks(rules, path, "r")] == allowed
    assert lacks(rules, "/c", "rw") == "w"


# What a service opens

INSTALLED = "/usr/local/libexec/oncedrop/oncedrop"
CALLS = "open,openat,connect,stat,lstat,newfstatat,statx,unlink,fcntl"        # those that AppArmor looks at


def used(trace, places):
    """{(path, permissions)}; places: [(where it is in the test, where it is installed)]."""
    found = set()
    with open(trace, encoding="utf-8", errors="backslashreplace") as file:
        for line in file:
            call = re.match(r'\d+ +(\w+)\((?:AT_FDCWD[^,]*, |\d+<([^>]*)>, )?[^"]*(?:"([^"]*)")?(.*)', line)
            if not call or re.search(r"= -1 (?!EINPROGRESS)", line):
                continue
            name, held, path, rest = call.groups()
            if name == "fcntl":
                path = held if "_SETLK" in rest or "_SETLK" in line else None
            if not path or not path.startswith("/"):
                continue
            writes = re.search(r"O_(RDWR|WRONLY|CREAT|TMPFILE)", rest) or name in ("connect", "unlink")
            needs = "k" if name == "fcntl" else "rw" if writes else "r"
            if path.endswith(".so") and "open" in name:
                needs = "mr"
            if "O_TMPFILE" in rest:
                path += "/#1"
            found.add((installed(path, places, "O_DIRECTORY" in rest or os.path.isdir(path)), needs))
    return found


def installed(path, places, is_directory):
    for ours, theirs in places:
        if path.startswith(ours):
            path = theirs + path[len(ours):]
            break
    else:
        path = re.sub("^/proc/self/", "/proc/1/", path)
        path = os.path.realpath(path) if not path.startswith("/proc/1/") else path
    return path + "/" if is_directory and not path.endswith("/") else path


def places_of(site, service):
    """The longest first."""
    ledger = [(site.database, "/var/lib/oncedrop/ledger.db"), (os.path.dirname(site.database), "/var/lib/oncedrop")] \
        if engine() == SQLITE else []
    program = os.path.join(os.path.dirname(lab_module.program()), "oncedrop")
    return [*ledger, (program + "-", INSTALLED + "-"), (program, "/usr/local/bin/oncedrop"),
            (service.socket, "/run/oncedrop/lmtp"), (site.settings["log.unrecorded_file"], "/var/lib/oncedrop/unrecorded"),
            (site.settings["imap.ca_file"], "/etc/ssl/certs/ca-certificates.crt"), (site.directory, "/etc/oncedrop")]


@needs_parser
@pytest.mark.skipif(lab_module.is_sanitized(), reason="strace is in the way of a sanitizer")
def test_the_profile_allows_what_a_service_opens(site):
    """From its start to its end, with TLS, decoding, a large message and a reload."""
    site.settings.update({"record.level": "raw", "log.unrecorded_file": site.write("unrecorded", "")})
    trace = os.path.join(site.lab.new_directory("trace"), "trace")
    service = Service(site, inside=[find_program("strace"), "-f", "-y", "-s", "4096", "-o", trace, "-e", f"trace={CALLS}"])
    account, other = site.account(), site.account("other")
    odd = b"Subject: =?koi8-r?q?=D4?=\nContent-Type: text/plain; charset=euc-jp\n"
    for mail in (odd + message(), message(body=b"0123456789abcde\n" * 2_000_000)):
        for reply in service.deliver(mail, account, other):
            stored(reply)
    service.reload()
    stored(service.deliver(odd + message(), account)[0])
    assert service.stop() == 0
    opened, rules = used(trace, places_of(site, service)), rules_of(PROFILE)
    for needed in (("/etc/oncedrop/service.conf", "r"), (INSTALLED + "-decode.so", "mr"), ("/tmp/#1", "rw"),
                   *([("/var/lib/oncedrop/ledger.db-lock", "k")] if engine() == SQLITE else [])):
        assert needed in opened, sorted(opened)
    denied = {path: lacks(rules, path, wanted) for path, wanted in opened if lacks(rules, path, wanted)}
    assert not denied, denied
