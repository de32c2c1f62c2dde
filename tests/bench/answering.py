# SPDX-License-Identifier: ISC
"""An IMAP server that stores nothing and answers at once, so that a rate is the ledger's. It is a separate process, and
can be made to keep an APPEND waiting: meanwhile its delivery holds the message's lock."""

import asyncio
import contextlib
import multiprocessing
import os
import re
import signal
import socket

from lab import process

CAPABILITIES = "IMAP4rev1 SASL-IR AUTH=PLAIN UIDPLUS LITERAL+"
LITERAL = re.compile(rb"\{(\d+)(\+?)\}\r\n$")
PAUSE = 0.002       # seconds between two looks whether an APPEND may go on

SAID = {
    b"LIST": '* LIST () "/" INBOX',
    b"EXAMINE": "* 0 EXISTS\r\n* OK [UIDVALIDITY 7] valid\r\n* OK [UIDNEXT 1] next",
    b"UID": "* SEARCH",
    b"CAPABILITY": f"* CAPABILITY {CAPABILITIES}",
    b"LOGOUT": "* BYE",
}


class Server:
    """port: on 127.0.0.1. It takes every account with any password."""

    def __init__(self):
        listener = socket.create_server(("127.0.0.1", 0), backlog=500)
        self.port = listener.getsockname()[1]
        context = multiprocessing.get_context("fork")
        self.uid = 0
        self.waits, self.waiting = context.Event(), context.Event()
        self.child = context.Process(target=self.serve, args=(listener,), daemon=True)
        self.child.start()
        listener.close()

    def serve(self, listener):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        process.LIBC.prctl(process.PR_SET_PDEATHSIG, signal.SIGKILL)
        asyncio.run(self.accept(listener))
        os._exit(0)

    async def accept(self, listener):
        async with await asyncio.start_server(self.converse, sock=listener) as server:
            await server.serve_forever()

    async def converse(self, reader, writer):
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            writer.write(f"* OK [CAPABILITY {CAPABILITIES}] ready\r\n".encode())
            while line := await reader.readline():
                tag, name, _ = (line.rstrip() + b"  ").split(b" ", 2)
                said, code = SAID.get(name.upper(), ""), ""
                if literal := LITERAL.search(line):
                    if not literal[2]:
                        writer.write(b"+ go on\r\n")
                    await reader.readexactly(int(literal[1]))
                    await reader.readline()
                    await self.gate()
                    self.uid += 1
                    code = f"[APPENDUID 7 {self.uid}] "
                writer.write(f"{said}{said and chr(13) + chr(10)}{tag.decode()} OK {code}done\r\n".encode())
                await writer.drain()
                if name.upper() == b"LOGOUT":
                    break
        writer.close()

    async def gate(self):
        while self.waits.is_set():
            self.waiting.set()
            await asyncio.sleep(PAUSE)

    @contextlib.contextmanager
    def keeps_waiting(self):
        """While this lasts no APPEND is answered. Yields a function that returns once one waits."""
        self.waiting.clear()
        self.waits.set()
        try:
            yield lambda: process.wait_until(self.waiting.is_set, "an APPEND waits")
        finally:
            self.waits.clear()

    def settings(self, password_file):
        """Those of [imap] that lead here. Without a master user there is no trust to be checked."""
        return {"imap.port": self.port, "imap.master_user": None, "imap.password_file": password_file}

    def close(self):
        self.child.kill()
        self.child.join()
