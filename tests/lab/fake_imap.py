# SPDX-License-Identifier: ISC
"""An IMAP server that follows a script, for behaviour that a real one cannot be made to show."""

import base64
import re
import socket
import ssl
import threading

from .proxy import end_listening

CAPABILITIES = "IMAP4rev1 SASL-IR AUTH=PLAIN AUTH=LOGIN UIDPLUS"


NOBODY = "oncedrop-probe"    # the account that is asked for to see whether a server accepts any name


class Gone(Exception):
    """The client has closed the connection."""


class Client:
    """One connection, as a script sees it."""

    def __init__(self, server, sock):
        self.server = server
        self.socket = sock
        self.stream = sock.makefile("rb")
        self.credentials = None     # those it has logged in with

    def send(self, line):
        self.socket.sendall(line.encode() + b"\r\n" if isinstance(line, str) else line)

    def line(self):
        line = self.stream.readline()
        if not line.endswith(b"\n"):
            raise Gone
        return line.rstrip(b"\r\n")

    def exactly(self, size):
        data = self.stream.read(size)
        if len(data) != size:
            raise Gone
        return data

    def start_tls(self):
        self.socket = self.server.tls.wrap_socket(self.socket, server_side=True)
        self.stream = self.socket.makefile("rb")

    def close(self):
        """Ends the connection without sending anything."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.socket.close()
        raise Gone


class FakeImap:
    """Answers politely, except where `script` says otherwise.

    script  command name (in capitals; also GREETING) → function(client, tag, arguments) that answers in its place
    tls     (certificate, key): spoken from the start with implicit=True, else after STARTTLS
    more    capabilities after the login, which its OK announces

    What happened is in commands (name, arguments), credentials (text of LOGIN or decoded SASL answers) and appended
    (mailbox, bytes)."""

    def __init__(self, script=None, tls=None, implicit=True, capabilities=CAPABILITIES, more=None):
        self.script = script or {}
        self.capabilities = capabilities
        self.more = f"[CAPABILITY {capabilities} {more}] " if more else ""
        self.implicit = implicit and tls is not None
        self.tls = None
        if tls:
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(*tls)
            self.tls.sni_callback = lambda sock, name, context: self.server_names.append(name)
            if not implicit:
                self.capabilities += " STARTTLS"
        self.accepted = 0
        self.server_names = []
        self.commands = []
        self.credentials = []
        self.appended = []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        self.sockets = []
        self.threads = []
        threading.Thread(target=self.accept, daemon=True).start()

    def close(self):
        end_listening(self.listener)
        for sock in self.sockets:
            sock.close()

    def accept(self):
        while True:
            try:
                sock, _ = self.listener.accept()
            except OSError:
                return
            self.accepted += 1
            self.sockets.append(sock)
            self.threads.append(threading.Thread(target=self.converse, args=(sock,), daemon=True))
            self.threads[-1].start()

    def wait_idle(self):
        """Until it has ended with all who have connected."""
        with socket.create_connection(("127.0.0.1", self.port)) as probe:
            probe.recv(1)       # who came before has been accepted
        while self.threads:
            self.threads.pop().join()

    def converse(self, sock):
        try:
            if self.implicit:
                sock = self.tls.wrap_socket(sock, server_side=True)
            client = Client(self, sock)
            self.answer(client, "GREETING", "*", b"")
            while True:
                words = client.line().split(b" ", 2)
                name = words[1].decode(errors="replace").upper() if len(words) > 1 else ""
                arguments = words[2] if len(words) > 2 else b""
                if name == "UID":
                    name, _, arguments = arguments.partition(b" ")
                    name = "UID " + name.decode(errors="replace").upper()
                self.commands.append((name, arguments))
                self.answer(client, name, words[0].decode(errors="replace"), arguments)
        except (Gone, OSError):
            pass
        finally:
            sock.close()

    def answer(self, client, name, tag, arguments):
        if name in self.script:
            self.script[name](client, tag, arguments)
            return
        method = getattr(self, "do_" + name.lower().replace(" ", "_"), None)
        if method:
            method(client, tag, arguments)
        else:
            client.send(f"{tag} OK done")

    def do_greeting(self, client, _tag, _arguments):
        client.send(f"* OK [CAPABILITY {self.capabilities}] ready")

    def do_capability(self, client, tag, _arguments):
        client.send(f"* CAPABILITY {self.capabilities}")
        client.send(f"{tag} OK done")

    def do_starttls(self, client, tag, _arguments):
        client.send(f"{tag} OK begin")
        client.start_tls()

    def do_login(self, client, tag, arguments):
        self.credentials.append(arguments.decode())
        client.send(f"{tag} OK {self.more}logged in")

    def do_authenticate(self, client, tag, arguments):
        words = arguments.split()
        initial = words[1] if len(words) > 1 else None
        if initial is None:
            client.send("+ ")
            initial = client.line()
        credentials = base64.b64decode(initial).decode()
        if NOBODY in credentials:
            client.send(f"{tag} NO [AUTHENTICATIONFAILED] no such account")
            return
        client.credentials = credentials
        self.credentials.append(credentials)
        client.send(f"{tag} OK {self.more}logged in")

    def do_append(self, client, tag, arguments):
        mailbox, data = self.read_append(client, arguments)
        self.appended.append((mailbox, data))
        client.send(f"{tag} OK [APPENDUID 7 {len(self.appended)}] stored")

    @staticmethod
    def read_append(client, arguments):
        """Asks for the literal, unless it comes unasked (LITERAL+), and reads the command's end; returns (mailbox,
        bytes)."""
        if not arguments.endswith(b"+}"):
            client.send("+ go on")
        mailbox, data = FakeImap.read_literal(client, arguments)
        client.line()
        return mailbox, data

    @staticmethod
    def read_literal(client, arguments):
        size = int(re.search(rb"\{(\d+)\+?\}$", arguments)[1])
        mailbox = re.match(rb'"(?:[^"\\]|\\.)*"|\S+', arguments)[0].decode().strip('"')
        return mailbox, client.exactly(size)

    def do_list(self, client, tag, _arguments):
        client.send('* LIST () "/" INBOX')
        client.send(f"{tag} OK done")

    def do_examine(self, client, tag, _arguments):
        client.send(f"* {len(self.appended)} EXISTS")
        client.send("* OK [UIDVALIDITY 7] valid")
        client.send(f"* OK [UIDNEXT {len(self.appended) + 1}] next")
        client.send(f"{tag} OK [READ-ONLY] done")

    def do_uid_search(self, client, tag, _arguments):
        client.send("* SEARCH")
        client.send(f"{tag} OK done")

    def do_fetch(self, client, tag, arguments):
        """What is there has no Message-ID."""
        first, last = map(int, re.match(rb"(\d+):(\d+) ", arguments).groups())
        for number in range(first, last + 1):
            client.send(f"* {number} FETCH (UID {number} BODY[HEADER.FIELDS (MESSAGE-ID)] {{2}}\r\n\r\n)")
        client.send(f"{tag} OK done")

    def do_logout(self, client, tag, _arguments):
        client.send("* BYE")
        client.send(f"{tag} OK done")
        client.close()
