# SPDX-License-Identifier: ISC
"""(c) Through a real Postfix: from the first connection of smtp-source(1) until the queue is empty again."""

import os
import re
import shutil
import subprocess
import time

import measure
from lab import postfix as postfix_module, postfix_base, process

ROUNDS = 5
MESSAGES = 400
ACCOUNTS = 20
SESSIONS = 8        # of smtp-source
AT_ONCE = 20        # deliveries, as in conf/postfix
WORKERS = 4         # of the service, by default; its clients are as many (conf/postfix/main.cf.service)
SECONDS = 300

MAIN_CF = """
mydestination =
virtual_mailbox_domains = {domains}
virtual_mailbox_maps =
virtual_alias_maps = regexp:{directory}/etc/accounts
virtual_alias_domains =
transport_maps = inline:{{ {transports} }}
enable_long_queue_ids = yes
in_flow_delay = 0
smtpd_recipient_restrictions = permit_mynetworks, reject
smtpd_client_connection_rate_limit = 0
"""
# smtp-source puts a running number before the recipient, or after it (since 3.10): of every 20 in turn.
ACCOUNTS_MAP = r"""
/^[0-9]*[02468]([0-9])to(@.*)$/ user000$1$2
/^[0-9]*[13579]([0-9])to(@.*)$/ user001$1$2
/^([0-9])to(@.*)$/ user000$1$2
/^to[0-9]*[02468]([0-9])(@.*)$/ user000$1$2
/^to[0-9]*[13579]([0-9])(@.*)$/ user001$1$2
/^to([0-9])(@.*)$/ user000$1$2
"""
# As in every master.cf: without it LMTP connections are not kept from message to message.
SCACHE = "scache unix - - n - 1 scache"
# Each competitor has its own domain.
LIMITS = """{name}_destination_concurrency_limit = {at_once}
{name}_destination_recipient_limit = {recipients}
"""
PIPE = """
{name} unix - n n - {at_once} pipe
  flags={flags} user={user} null_sender= argv={argv}
"""
SPAWN = """
{name}-server unix - n n - {at_once} spawn
  user={user} argv={argv}
"""
LMTP = """
{name} unix - - n - {at_once} lmtp
  -o lmtp_send_xforward_command=yes -o lmtp_line_length_limit=0
  flags=RX
"""


class Competitor:
    """name: in the table; service: in master.cf; master: its lines there; nexthop: where its domain's mail goes."""

    def __init__(self, bench, number, name, master, nexthop="", recipients=1000, at_once=AT_ONCE, **values):
        self.name, self.at_once = name, at_once
        self.service = f"bench{number}"
        self.domain = f"{self.service}.example"
        self.master = master.format(name=self.service, at_once=at_once, user=bench.servers.user.pw_name, **values)
        self.transport = self.service + (f":{nexthop.format(name=self.service)}" if nexthop else ":")
        self.recipients = recipients
        self.accounts = [f"user{one:04}@{self.domain}" for one in range(ACCOUNTS)]
        for account in self.accounts:
            bench.servers.dovecot.add_account(account)


def competitors(bench):
    """Everybody whom Postfix hands its mail."""
    numbers, found = iter(range(100)), []
    for program in bench.programs:
        words = " ".join(program.words())
        found += [
            Competitor(bench, next(numbers), f"pipe {program.name}", PIPE, recipients=1, flags="ORX",
                      argv=f"{words} deliver -f ${{sender}} -d ${{recipient}} -a ${{original_recipient}}"
                           " -q ${queue_id} -s ${size} -u ${sasl_username}"),
            Competitor(bench, next(numbers), f"lmtp {program.name}", SPAWN + LMTP, "unix:private/{name}-server",
                      argv=f"{words} lmtp")]
        if program.service:
            front = f"{program.path} deliver -S {program.service.socket}"
            found += [
                Competitor(bench, next(numbers), f"pipe {program.name} service", PIPE, recipients=1, flags="ORX",
                          argv=f"{front} -f ${{sender}} -d ${{recipient}} -a ${{original_recipient}} -q ${{queue_id}}"
                               " -s ${size} -u ${sasl_username}"),
                Competitor(bench, next(numbers), f"lmtp {program.name} service", LMTP, f"unix:{program.service.socket}",
                          at_once=WORKERS)]
    dovecot = bench.servers.dovecot
    if measure.agents_path("dovecot-lda"):
        found.append(Competitor(
            bench, next(numbers), "pipe dovecot-lda", PIPE, recipients=1, flags="ODRX",
            argv=f"{measure.agents_path('dovecot-lda')} -c {dovecot.path('dovecot.conf')} -o log_path=/dev/stderr"
                 " -f ${sender} -d ${recipient}"))
    if measure.agents_path("lmtp"):
        found.append(Competitor(bench, next(numbers), "lmtp dovecot", LMTP, f"unix:{dovecot.lmtp_socket}"))
    return found


class Postfix(process.Server):
    """One for all of them."""

    name = "postfix"

    def __init__(self, bench, here):
        self.directory = postfix_module.short_directory()
        self.process, self.logged_before = None, 0
        self.user = bench.servers.user.pw_name
        self.here = here
        self.port = process.free_port()
        for name in ("etc", "outside"):
            os.mkdir(self.path(name), 0o755)
        os.chown(self.path("outside"), bench.servers.user.pw_uid, -1)
        postfix_base.make_directories(queue_directory=self.path("queue"), data_directory=self.path("data"))

    def launch(self):
        own = {"directory": self.directory, "domain": "bench.example", "port": self.port, "user": self.user,
               "dd": process.find_program("dd"),
               **{name: postfix_base.postconf(name) for name in ("command_directory", "daemon_directory", "mail_owner",
                                                                 "setgid_group")}}
        transports = ", ".join(f"{{{one.domain} = {one.transport}}}" for one in self.here)
        main = [postfix_base.MAIN_CF.format(**own),
                MAIN_CF.format(directory=self.directory, domains=" ".join(one.domain for one in self.here),
                               transports=transports),
                *[LIMITS.format(name=one.service, at_once=one.at_once, recipients=one.recipients) for one in self.here]]
        master = [postfix_base.MASTER_CF.format(**own), SCACHE, *[one.master for one in self.here]]
        for name, texts in (("main.cf", main), ("master.cf", master), ("accounts", [ACCOUNTS_MAP])):
            with open(self.path("etc", name), "w", encoding="utf-8") as file:
                file.write("\n".join(texts))
        self.spawn([os.path.join(own["daemon_directory"], "master"), "-c", self.path("etc"), "-d"])

    def answers(self):
        return process.accepts(self.port)

    def stop(self):
        super().stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def rate(self, competitor, messages):
        """Messages per second until the queue is empty. By the log, which costs nothing."""
        with open(self.log_file, encoding="utf-8", errors="replace") as log:
            log.seek(0, os.SEEK_END)
            removed, said, rest, end = 0, [], "", time.monotonic() + SECONDS
            started = time.perf_counter()
            with subprocess.Popen([process.find_program("smtp-source"), "-N", "-s", str(SESSIONS), "-m", str(messages),
                                   "-l", "3000", "-f", "lisa@elsewhere.example", "-t", f"to@{competitor.domain}",
                                   f"127.0.0.1:{self.port}"], stdin=subprocess.DEVNULL) as source:
                while removed < messages:
                    text = log.read()
                    if not text:
                        measure.must(time.monotonic() < end, f"{competitor.name}: {removed} after {SECONDS} s:\n"
                                     + "".join(said)[-3000:])
                        time.sleep(0.002)
                    # What is read may end within a line.
                    text, end_of_line, rest = (rest + text).rpartition("\n")
                    said.append(text + end_of_line)
                    removed += said[-1].count(": removed\n")
                seconds = time.perf_counter() - started
        measure.must(source.returncode == 0, f"smtp-source: {source.returncode}")
        sent = len(re.findall(r": to=<.*status=sent", "".join(said)))
        measure.must(sent == messages, f"{competitor.name}: {sent} of {messages} delivered:\n" + "".join(said)[-3000:])
        return messages / seconds


def measure_part(bench, results):
    missing = postfix_module.missing()
    if missing:
        results.note(f"postfix was left out: {missing}")
        return
    here = competitors(bench)
    server = Postfix(bench, here)
    try:
        server.start()

        def once(competitor, number):
            before = bench.servers.stored(competitor.accounts)
            found = server.rate(competitor, MESSAGES if number >= 0 else ACCOUNTS)
            stored = bench.servers.stored(competitor.accounts) - before
            measure.must(stored == (MESSAGES if number >= 0 else ACCOUNTS), f"{competitor.name}: {stored} stored")
            if number >= 0:
                results.add("postfix", "to empty queue", competitor.name, "/s", found, larger=True)

        measure.rounds(here, bench.rounds or ROUNDS, once)
    finally:
        server.stop()
