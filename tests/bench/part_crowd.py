# SPDX-License-Identifier: ISC
"""(j) Twenty processes at once, as after an interruption: how many messages in a second, with each delivery agent;
and with a ledger in a file how long one waits for the writer's lock, and how many syncs a message costs."""

import concurrent.futures
import os
import re
import time

import competitors as agents
import measure

ROUNDS = 5
AT_ONCE = 20
EACH = 5            # messages of each of the twenty
PEERS = ("fdm, IMAP", "dovecot-lda")
# strace's lines are "PID call(arguments) = 0 <seconds>"; F_SETLKW is used for nothing but the writer's lock.
SYNCS = re.compile(r"^\d+ +f(?:data)?sync\(", re.MULTILINE)
WAITS = re.compile(r"F_SETLKW.*<([0-9.]+)>$", re.MULTILINE)


def competitors(bench):
    found = [agents.Oncedrop(bench.servers, bench.runner, f"{program.name} crowd", program) for program in bench.programs]
    return found + [kind(bench.servers, bench.runner, name) for name, kind in agents.PEERS if name in PEERS and kind.path]


def deliver(runner, agent, account, before=()):
    # A sanitizer cannot look for leaks in a process that is traced.
    environment = {**agent.environment(account), **({"ASAN_OPTIONS": "detect_leaks=0"} if before else {})}
    done = runner.run([*before, *agent.words(account)], environment, agents.mail(account))
    measure.must(done.exit == 0, f"{agent.name}: {done}")


def crowd(bench, agent, count, each, before=lambda number: ()):
    """This many at once, each to its own account; returns the seconds."""
    def one(triple):
        number, runner, account = triple
        for _ in range(each):
            deliver(runner, agent, account, before(number))

    runners = bench.several_runners(count)
    started = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        list(pool.map(one, zip(range(count), runners, agent.mailboxes)))
    return time.perf_counter() - started


def name_of(agent):
    return agent.name.removesuffix(" crowd")


def traced(bench, results, agent, strace, count, each, case):
    """What strace(1) saw of this many at once; a call that it does not trace does not stop."""
    directory = bench.servers.new_directory("crowd")
    os.chown(directory, bench.servers.user.pw_uid, bench.servers.user.pw_gid)

    def before(number):
        return [strace, "-f", "--seccomp-bpf", "-qq", "-T", "-e", "trace=fcntl,fdatasync,fsync", "-A", "-o",
                os.path.join(directory, str(number))]

    crowd(bench, agent, count, each, before)
    said = ""
    for number in range(count):
        with open(os.path.join(directory, str(number)), encoding="ascii", errors="replace") as file:
            said += file.read()
    waits = [float(seconds) * 1000 for seconds in WAITS.findall(said)]
    measure.must(waits, f"{agent.name}: no wait for the writer's lock was seen")
    results.add("crowd", f"syncs, {case}", name_of(agent), "per message", len(SYNCS.findall(said)) / count / each)
    results.add("crowd", f"longest wait for the writer, {case}", name_of(agent), "ms", max(waits))


def measure_part(bench, results):
    here = competitors(bench)
    each = 1 if bench.tiny else EACH

    def once(agent, number):
        seconds = crowd(bench, agent, AT_ONCE, each)
        if number >= 0:
            results.add("crowd", f"{AT_ONCE} at once", name_of(agent), "/s", AT_ONCE * each / seconds, larger=True)

    measure.rounds(here, bench.rounds or ROUNDS, once)
    strace = measure.agents_path("strace")
    if strace is None:
        results.note("Waits for the writer's lock and syncs are not counted: strace is not installed.")
        return
    for _ in range(bench.rounds or ROUNDS):
        for count, case in ((1, "alone"), (AT_ONCE, f"{AT_ONCE} at once")):
            traced(bench, results, here[1], strace, count, each, case)
