# SPDX-License-Identifier: ISC
"""What is delivered, what the result must be, and one attempt after another until it is accepted, as Postfix would."""

import collections
import hashlib
import os
import re
import socket
import subprocess
import threading
import time

from lab import lab as lab_module, lmtp
from lab.messages import message, new_id, on_the_wire

DOMAIN = "example.org"
ATTEMPT_SECONDS = 60        # an attempt that takes longer is a finding: its deadline should have ended it
AGAIN_SECONDS = 1
NICE = ["nice", "-n", "10"]
TAG = "X-Soak"

# Exactly one of these messages has to be in the mailbox; choices: tag → SHA-256 of the bytes. jobs: those that, when
# accepted, promise it. ids: for looking into the ledger.
Expected = collections.namedtuple("Expected", "account mailbox choices jobs ids")

Result = collections.namedtuple("Result", "status output")


def digest(data):
    return hashlib.sha256(data).hexdigest()


class Job:
    """One entry in a Postfix queue: retried until every recipient is accepted."""

    def __init__(self, host, kind):
        self.host = host
        self.kind = kind
        self.attempts = 0
        self.last = None
        self.accepted = False
        self.wrong = None       # text of a finding; it is then not tried any more
        self.answers = []       # last answer of each attempt, for a finding

    def note(self, result):
        self.attempts += 1
        self.last = result
        self.answers.append((time.strftime("%H:%M:%S"), result.status, result.output[-200:]))
        del self.answers[:-12]
        if result.status not in (0, 75) and not result.status < 0:
            self.wrong = f"{self}: exit {result.status}: {result.output}"

    def __str__(self):
        return f"{self.kind} on host {self.host.number}"


class OneShot(Job):
    """`deliver` for one recipient, or `replay` of a file."""

    def __init__(self, host, kind, words, stdin, file=None):
        super().__init__(host, kind)
        self.words, self.stdin, self.file = words, stdin, file

    def __str__(self):
        return f"{super().__str__()}: {' '.join(self.words)}"

    def attempt(self, running):
        process = running.start(self.host, self.words, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        try:
            output, _ = process.communicate(self.stdin, ATTEMPT_SECONDS)
        except subprocess.TimeoutExpired:
            running.end(process)
            output, _ = process.communicate()
            self.wrong = f"{self}: took more than {ATTEMPT_SECONDS} s"
        finally:
            running.ended(process)
        result = Result(process.returncode, output.decode(errors="replace"))
        self.note(result)
        self.accepted = result.status == 0

    def forget(self):
        self.stdin = b""
        if self.file:
            os.unlink(self.file)


class Session(Job):
    """An LMTP session for several recipients; those left over are retried in another one."""

    def __init__(self, host, sender, recipients, mail):
        super().__init__(host, "lmtp")
        self.sender, self.left, self.mail = sender, list(recipients), mail

    def __str__(self):
        return f"{super().__str__()}: from {self.sender} to {' '.join(self.left)}"

    def attempt(self, running):
        ours, theirs = socket.socketpair()
        client = lmtp.Client(ours)
        with theirs:
            process = running.start(self.host, ["lmtp"], stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL)
        replies = []
        try:
            self.talk(client, replies)
        except (lmtp.Gone, OSError) as error:
            replies.append(repr(error))
        finally:
            client.close()
            try:
                process.wait(ATTEMPT_SECONDS)
            except subprocess.TimeoutExpired:
                running.end(process)
                process.wait()
                self.wrong = f"{self}: took more than {ATTEMPT_SECONDS} s"
            running.ended(process)
        self.note(Result(process.returncode, "; ".join(map(str, replies))))
        self.accepted = not self.left

    def talk(self, client, replies):
        """Those left over are tried once more at once, by a process that has sessions and passwords in memory."""
        client.hello()
        for pause in (0, AGAIN_SECONDS):
            if self.left and not self.wrong:
                time.sleep(pause)
                self.transaction(client, replies)
        client.send("QUIT")
        client.reply()

    def transaction(self, client, replies):
        client.send([f"MAIL FROM:<{self.sender}>", *[f"RCPT TO:<{one}>" for one in self.left], "DATA"])
        answers = client.replies(len(self.left) + 2)
        replies.extend(f"{answer.code} {answer.text}" for answer in answers if answer.code >= 400)
        taken = [one for one, answer in zip(self.left, answers[1:]) if answer.code == 250]
        if answers[-1].code != 354:
            return
        client.send(lmtp.stuffed(self.mail))
        for recipient in taken:
            answer = client.reply()
            replies.append(f"{recipient}: {answer.code} {answer.text}")
            if answer.code == 250:
                self.left.remove(recipient)
            elif answer.code // 100 != 4:
                self.wrong = f"{self}: {replies}"

    def forget(self):
        self.mail = b""


class Mix:
    """Makes families of jobs: messages with one Message-ID, or one message without."""

    def __init__(self, random, hosts, accounts, directory):
        self.random, self.hosts, self.accounts, self.directory = random, hosts, accounts, directory
        self.families = 0
        self.messages = 0
        self.bytes = 0
        self.expected = []

    def body(self):
        kind = self.random.random()
        size = (self.random.randint(1, 3000) if kind < 0.84 else
                self.random.randint(90_000, 110_000) if kind < 0.985 else self.random.randint(1_000_000, 4_000_000))
        line = self.random.choice([b"Every bit counts.\n", b".\n..dots\n", "Grüße, naïve Ω\n".encode(),
                                   b"long " * 150 + b"\n", b"8 bit \xff\xfe\x80\n", b"From me\n>From you\n"])
        return b"%d\n" % self.random.getrandbits(64) + line * (size // len(line) + 1)

    def family(self):
        """The jobs of a new family, in the order in which they arrive."""
        self.families += 1
        id = new_id() if self.random.random() < 0.9 else False
        variants = 2 if self.random.random() < 0.15 else 1
        sender = self.random.choice(self.accounts) if self.random.random() < 0.6 else "lisa@elsewhere.example"
        recipients = self.random.sample(self.accounts, self.random.choice([1, 1, 2, 3, 4, 5]))
        jobs, sent = [], {}
        for variant in range(variants):
            tag = f"{self.families}.{variant}"
            mail = message(sender=sender, to=", ".join(recipients), id=id, subject=f"Soak {tag}", body=self.body(),
                           headers=f"{TAG}: {tag}\n")
            self.messages += 1
            self.bytes += len(mail)
            added = self.deliveries(sender, recipients, mail, tag, id)
            jobs += added
            sent[tag] = digest(on_the_wire(mail))
            if sender in self.accounts and (not id or variant == variants - 1):
                self.expected.append(Expected(sender, "Sent", sent, list(jobs) if id else added, id))
                sent = {} if not id else sent
        if variants > 1:
            self.random.shuffle(jobs)
        return jobs

    def deliveries(self, sender, recipients, mail, tag, id):
        """One of many ways to deliver one message to its recipients."""
        way = self.random.random()
        prefix = {one: b"" for one in recipients}
        if way < 0.4 or (way >= 0.95 and len(recipients) == 1):
            jobs = [Session(self.host(), sender, recipients, mail)]
            promised = {one: list(jobs) for one in recipients}
            if self.random.random() < 0.2:      # and by another way in
                one = self.random.choice(recipients)
                jobs.append(self.one_shot(sender, one, mail))
                promised[one].append(jobs[-1])
        elif way < 0.95:
            if self.random.random() < 0.3:
                prefix = {one: f"Delivered-To: {one}\n".encode() for one in recipients}
            promised = {one: [self.one_shot(sender, one, prefix[one] + mail)] for one in recipients}
            for one in recipients:
                if self.random.random() < 0.1:
                    promised[one].append(self.one_shot(sender, one, prefix[one] + mail))
                if self.random.random() < 0.03:
                    promised[one].append(self.replay(sender, [one], prefix[one] + mail))
            jobs = [job for those in promised.values() for job in those]
        else:
            jobs = [self.replay(sender, recipients, mail)]
            promised = {one: list(jobs) for one in recipients}
        for one in recipients:
            choices = {tag: digest(on_the_wire(prefix[one] + mail))}
            self.expected.append(Expected(one, "INBOX", choices, promised[one], id))
        return jobs

    def host(self):
        return self.random.choice(self.hosts)

    def one_shot(self, sender, recipient, mail):
        queue_id = f"{self.random.getrandbits(40):010X}"
        return OneShot(self.host(), "deliver", ["deliver", "-f", sender, "-d", recipient, "-q", queue_id], mail)

    def replay(self, sender, recipients, mail):
        path = os.path.join(self.directory, f"{self.random.getrandbits(64):x}.eml")
        with open(path, "wb") as file:
            file.write(mail)
        to = [word for one in recipients for word in ("-d", one)]
        return OneShot(self.host(), "replay", ["replay", "-f", sender, *to, path], b"", path)


class Running:
    """The attempts in progress, which may be killed and stopped."""

    def __init__(self, disturb):
        self.lock = threading.Lock()
        self.processes = set()
        self.disturb = disturb      # called with each new process
        self.count = 0

    def start(self, host, words, **streams):
        process = subprocess.Popen([*NICE, lab_module.program(), "-c", host.configuration, *words], cwd="/",
                                   start_new_session=True, env=environment(), **streams)
        with self.lock:
            self.processes.add(process)
            self.count += 1
        self.disturb(process)
        return process

    def ended(self, process):
        with self.lock:
            self.processes.discard(process)

    def now(self):
        with self.lock:
            return list(self.processes)

    @staticmethod
    def end(process):
        if process.poll() is None:
            os.killpg(process.pid, 9)


def environment():
    return {"PATH": os.environ["PATH"], "ASAN_OPTIONS": "detect_leaks=0"}


class Traffic:
    """Threads that each take a job and repeat it until it is accepted; new ones arrive as long as it is open."""

    def __init__(self, mix, running, at_once, random):
        self.mix, self.running, self.random = mix, running, random
        self.lock = threading.Lock()
        self.waiting = collections.deque()
        self.open = True
        self.abandoned = threading.Event()
        self.begun, self.done = 0, 0
        self.under_way = set()
        self.wrong = []
        self.statuses = collections.Counter()
        self.threads = [threading.Thread(target=self.work, daemon=True) for _ in range(at_once)]

    def start(self):
        for thread in self.threads:
            thread.start()

    def next_job(self):
        with self.lock:
            if not self.waiting and self.open:
                self.waiting.extend(self.mix.family())
            if not self.waiting:
                return None
            job = self.waiting.popleft()
            self.begun += 1
            self.under_way.add(job)
            return job

    def work(self):
        while job := self.next_job():
            self.finish(job)
            if self.abandoned.is_set():
                return

    def finish(self, job):
        pause = 0.1
        while not (job.accepted or job.wrong or self.abandoned.is_set()):
            try:
                job.attempt(self.running)
            except Exception as error:
                job.wrong = f"{job}: {error!r}"
                break
            self.statuses["killed" if job.last.status < 0 else outcome(job.last.output)] += 1
            if not job.accepted:
                self.abandoned.wait(pause * self.random.uniform(0.5, 1.5))
                pause = min(3, 2 * pause)
        job.forget()
        with self.lock:
            self.done += job.accepted
            self.under_way.discard(job)
            if job.wrong:
                self.wrong.append(job)


def outcome(output):
    found = re.search(r"([245]\.\d+\.\d+ .{0,30})", output)
    return re.sub(r"<.*|uid=.*|a\d+@.*", "", found[1]) if found else output[:40]
