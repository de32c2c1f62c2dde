# SPDX-License-Identifier: ISC
"""Mail that keeps flowing through several mail hosts, and what became of it."""

import collections
import itertools
import os
import random
import re
import subprocess
import threading
import time

from lab import lab as lab_module
from lab.messages import message, new_id
from lab.process import wait_until

TRY_SECONDS = 60        # after which a try is killed

# What a message's two routes through two hosts have made of it.
Outcome = collections.namedtuple("Outcome", "messages accepted lost doubled refused")


class Host:
    """A mail host: its own configuration. before: words before the program's, such as `ip netns exec NAME`."""

    def __init__(self, name, site, before=(), **settings):
        self.name, self.before = name, list(before)
        kept = dict(site.settings)
        site.settings.update({key.replace("__", "."): value for key, value in settings.items()})
        self.configuration = site.write(f"{name}.conf", site.configuration())
        site.settings = kept

    def words(self, *arguments):
        return [*self.before, lab_module.program(), "-c", self.configuration, *arguments]

    def deliver(self, mail, inbox, sender="lisa@elsewhere.example"):
        """One try; returns (exit status, output)."""
        words = self.words("deliver", "-f", sender, "-d", inbox)
        try:
            done = subprocess.run(words, input=mail, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", check=False,
                                  timeout=TRY_SECONDS, env={"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"})
        except subprocess.TimeoutExpired as error:
            return -9, str(error)
        return done.returncode, done.stdout.decode(errors="replace").strip()


class Message:
    def __init__(self, inbox):
        self.id, self.inbox = new_id(), inbox
        self.mail = message(to=inbox, id=self.id, body=f"{random.getrandbits(64)}\n" * random.randint(1, 200))
        self.accepted = collections.Counter()   # by name of host
        self.changed = threading.Event()
        self.said = []
        self.started = time.monotonic()

    def __str__(self):
        return f"{self.id} to {self.inbox}:" + "".join(f"\n    {line}" for line in self.said[-5:])


class Flow:
    """Messages that are repeated until they are accepted, as Postfix does, several at a time. Each comes by two routes,
    through two hosts, as mail to an alias and a list does. together: by both at once; else by the second in again()."""

    def __init__(self, hosts, accounts, at_once=4, together=False):
        self.hosts, self.accounts, self.together = hosts, accounts, together
        self.messages, self.numbers = [], itertools.count()
        self.accepted = []      # (time, name of host) of each
        self.under_way = set()  # of tries: (number, time of its start)
        self.open, self.lock = True, threading.Lock()
        self.fail_rest = threading.Event()
        self.others = []        # threads that repeat a message, one for each host
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(at_once)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while self.open:
            with self.lock:
                number = next(self.numbers)
                one = Message(self.accounts[number % len(self.accounts)])
                self.messages.append(one)
            turn = number % len(self.hosts)
            routes = self.hosts[turn:] + self.hosts[:turn]
            self.run(one, routes if self.together else routes[:1])

    def run(self, one, hosts):
        """Returns when one of the hosts has accepted it."""
        threads = [threading.Thread(target=self.repeat, args=(one, host), daemon=True) for host in hosts]
        self.others += threads
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not one.accepted:
            one.changed.wait(1)

    def repeat(self, one, host):
        while not self.fail_rest.is_set():
            mark = (object(), time.monotonic())
            self.under_way.add(mark)
            status, text = host.deliver(one.mail, one.inbox)
            self.under_way.discard(mark)
            one.said.append(f"{mark[1] - one.started:.1f} s {host.name}: {status} {text}")
            if status == 0:
                one.accepted[host.name] += 1
                one.changed.set()
                self.accepted.append((time.monotonic(), host.name))
                return
            if status not in (75, -9):
                return      # would bounce: checked in the end
            self.fail_rest.wait(random.uniform(0.1, 0.3))

    def wait_for(self, count, host=None):
        """Waits until this many more were accepted, by this host or any."""
        def accepted():
            return sum(host in (None, name) for _, name in list(self.accepted))
        before = accepted()
        try:
            wait_until(lambda: accepted() >= before + count, f"{count} more messages accepted")
        except TimeoutError as error:
            raise TimeoutError(f"{error}{self.state()}") from None

    def settle_down(self):
        """Waits until all tries that are under way now have ended."""
        now = list(self.under_way)
        wait_until(lambda: not self.under_way.intersection(now), "tries under way end")

    def state(self):
        return "".join(f"\n{one}" for one in self.messages if not one.accepted)

    def close(self, seconds=120):
        """No new messages; waits until all there are were accepted."""
        self.open = False
        end = time.monotonic() + seconds
        for threads in (self.threads, self.others):
            for thread in threads:
                thread.join(max(0, end - time.monotonic()))
        self.fail_rest.set()
        for thread in self.threads + self.others:
            thread.join()

    def again(self):
        """Every message by its second route."""
        self.fail_rest.clear()
        left = collections.deque(self.messages)

        def work():
            while left and not self.fail_rest.is_set():
                try:
                    one = left.popleft()
                except IndexError:
                    return
                for host in self.hosts:
                    if not one.accepted[host.name]:
                        self.repeat(one, host)
        self.threads = [threading.Thread(target=work, daemon=True) for _ in self.threads]
        for thread in self.threads:
            thread.start()
        self.close()

    def longest_pause(self):
        """Seconds without a message accepted."""
        times = sorted(when for when, _ in self.accepted)
        return max((late - early for early, late in zip(times, times[1:])), default=0)

    def outcome(self, dovecot):
        """Looks into the mailboxes."""
        found = collections.Counter()
        for account in self.accounts:
            for stored in dovecot.messages(account):
                found[re.search(rb"^Message-ID: <(.*)>", stored.raw, re.M)[1].decode()] += 1
        accepted = [one for one in self.messages if len(one.accepted) == len(self.hosts)]
        return Outcome(self.messages, accepted, [one for one in self.messages if one.accepted and not found[one.id]],
                       [one for one in self.messages if found[one.id] > 1],
                       [one for one in self.messages if len(one.accepted) < len(self.hosts)])
