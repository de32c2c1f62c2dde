# SPDX-License-Identifier: ISC
"""A private Prometheus that scrapes one page, several times a second, which a test may change."""

import http.server
import json
import os
import threading
import urllib.error
import urllib.parse
import urllib.request

from . import process

CONFIGURATION = """
global:
  scrape_interval: 200ms
  scrape_timeout: 200ms
scrape_configs:
  - job_name: oncedrop
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):       # pylint: disable=invalid-name
        text = self.server.text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_words):     # pylint: disable=arguments-differ
        pass


class Prometheus(process.Server):
    name = "prometheus"

    def __init__(self, directory, text):
        """text: the page, at first."""
        super().__init__(directory)
        self.user = process.account_for("prometheus", "nobody")
        os.chown(self.directory, self.user.pw_uid, self.user.pw_gid)
        self.page = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
        self.page.text = text
        threading.Thread(target=self.page.serve_forever, daemon=True).start()
        self.port = None

    def launch(self):
        self.port = process.free_port()
        with open(self.path("prometheus.yml"), "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(port=self.page.server_port))
        self.spawn([process.find_program("prometheus"), f"--config.file={self.path('prometheus.yml')}",
                    f"--storage.tsdb.path={self.path('data')}", f"--web.listen-address=127.0.0.1:{self.port}",
                    "--log.level=error"], **process.run_as(self.user))

    def answers(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/-/ready", timeout=60) as answer:
                return answer.status == 200
        except (OSError, urllib.error.URLError):
            return False

    def query(self, expression):
        """The values of the expression now; an error of Prometheus raises one here."""
        words = urllib.parse.urlencode({"query": expression})
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/api/v1/query?{words}", timeout=60) as answer:
            found = json.load(answer)
        assert found["status"] == "success" and found["data"]["resultType"] == "vector", found
        return [float(one["value"][1]) for one in found["data"]["result"]]

    def stop(self):
        super().stop()
        self.page.shutdown()
        self.page.server_close()

    close = stop
