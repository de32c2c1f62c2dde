# SPDX-License-Identifier: ISC
"""An IMAP server for very many sessions with TLS, as a separate process: it accepts every login, stores nothing, and counts."""

import asyncio
import re
import signal
import ssl
import subprocess
import sys

GREETING = b"* OK [CAPABILITY IMAP4rev1 SASL-IR AUTH=PLAIN UIDPLUS] hello\r\n"


class CrowdImap:
    """certificate: (certificate, key)."""

    def __init__(self, certificate):
        self.process = subprocess.Popen([sys.executable, "-B", __file__, *certificate], stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def end(self):
        """Ends it; returns how many connections it had, and how many messages."""
        self.process.send_signal(signal.SIGTERM)
        return tuple(map(int, self.process.communicate(timeout=60)[0].split()))

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Counting:
    def __init__(self):
        self.accepted = self.appended = 0

    async def converse(self, reader, writer):
        self.accepted += 1
        writer.write(GREETING)
        try:
            while line := await reader.readline():
                await self.answer(line, reader, writer)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, ssl.SSLError):
            pass
        writer.close()

    async def answer(self, line, reader, writer):
        tag, name = line.split(None, 2)[:2]
        code = b""
        if name == b"APPEND":
            writer.write(b"+ go on\r\n")
            await writer.drain()
            await reader.readexactly(int(re.search(rb"\{(\d+)\}", line)[1]) + 2)
            self.appended += 1
            code = b"[APPENDUID 7 1] "
        elif name == b"CAPABILITY":
            writer.write(b"* CAPABILITY IMAP4rev1 UIDPLUS\r\n")
        writer.write(tag + b" OK " + code + b"done\r\n")


async def serve(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    counting, ended = Counting(), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    server = await asyncio.start_server(counting.converse, "127.0.0.1", 0, ssl=context, backlog=100)
    print(server.sockets[0].getsockname()[1], flush=True)
    await ended.wait()
    print(counting.accepted, counting.appended, flush=True)


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]))
