# SPDX-License-Identifier: ISC
"""The machine that the figures belong to."""

import os
import socket
import statistics
import time


def file_system(path):
    """The type of the file system that a path is on."""
    found = ("", "")
    with open("/proc/mounts", encoding="utf-8") as file:
        for line in file:
            _, point, kind, *_ = line.split(" ")
            if os.path.commonpath([point, os.path.realpath(path)]) == point and len(point) >= len(found[0]):
                found = (point, kind)
    return found[1] or "unknown"


def fsync_ms(directory, times=50):
    """The median time in milliseconds of a page written and synced, as for a commit."""
    path, took = os.path.join(directory, "fsync"), []
    with open(path, "wb", buffering=0) as file:
        file.write(bytes(8192 * times))
        os.fsync(file.fileno())
        for number in range(times):
            started = time.perf_counter()
            os.pwrite(file.fileno(), os.urandom(8192), 8192 * number)
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - started) * 1000)
    os.unlink(path)
    return statistics.median(took)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else os.uname().machine


def describe(servers):
    """What stands above the figures, and in bench.json."""
    with open("/etc/os-release", encoding="utf-8") as file:
        system = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"), "host": socket.gethostname(),
        "system": system.get("PRETTY_NAME", "").strip('"'), "processors": os.cpu_count(), "processor": processor(),
        "load": round(os.getloadavg()[0], 2), "disk": file_system(servers.directory),
        "fsync_ms": round(fsync_ms(servers.directory), 3),
        "postgresql": servers.postgres.settings, "dovecot": servers.dovecot.settings(),
        "tuned": servers.tuned, "apart": servers.apart,
    }
