# SPDX-License-Identifier: ISC
"""What some work writes to PostgreSQL's log: commits, bytes of records, images of whole pages."""

import collections
import re
import subprocess

import measure
import part_commits

Written = collections.namedtuple("Written", "commits records images")
# pg_waldump --stats: Total, number, [100%], bytes of records, [share], of images, [share], both, [100%]
TOTAL = re.compile(r"^Total\s+\d+\s+(?:\[\S+\]\s+)?(\d+)\s+\[\S+\]\s+(\d+)\s+\[\S+\]\s+\d+", re.MULTILINE)


class Counter(part_commits.Counter):
    def during(self, work):
        since = self.ask("SELECT pg_current_wal_insert_lsn()")
        commits, _ = super().during(work)
        return Written(commits, *self.bytes(since))

    def bytes(self, since):
        """Bytes of records, without and of images of pages, after this position."""
        said = subprocess.run(
            [self.server.program("pg_waldump"), "-p", self.server.path("data", "pg_wal"), "--stats",
             "-s", since, "-e", self.ask("SELECT pg_current_wal_flush_lsn()")],
            capture_output=True, text=True, check=False, cwd="/")
        found = TOTAL.search(said.stdout)
        measure.must(found, f"pg_waldump: {said}")
        return int(found[1]), int(found[2])
