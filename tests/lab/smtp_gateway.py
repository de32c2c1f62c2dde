# SPDX-License-Identifier: ISC
"""SMTP without Postfix, which only root can start: a client's commands go on to `oncedrop serve` as LMTP, one for one, and what
that answers comes back. There is no queue: the client waits for the delivery, and repeats what is deferred."""

import base64
import binascii
import contextlib
import re
import signal
import smtplib
import socketserver
import ssl
import threading

LOCAL = "localhost"
LONGEST = 65536     # a command; of a message, what is passed on at once
PASSED_ON = ("8BITMIME", "SMTPUTF8", "SIZE", "ENHANCEDSTATUSCODES")     # of what the service offers
RECIPIENT = re.compile(r"(?i)TO:\s*<?([^<>\s]*?)(\+[^<>@\s]*)?@([^<>@\s]+)>?(\s.*)?")


def account_of(words):
    """The account to which a RCPT's "TO:<user+detail@domain>" leads."""
    match = RECIPIENT.fullmatch(words)
    return f"{match[1]}@{match[3]}".lower() if match else words


def one_for_all(replies):
    """SMTP has one answer for all recipients: to repeat the message, if that is the answer for any of them."""
    return max(replies, key=lambda reply: (reply[0] // 100 == 4, reply[0] // 100 == 5))


class Session(socketserver.StreamRequestHandler):
    def handle(self):
        self.recipients = 0     # accepted, of this message
        with contextlib.suppress(OSError, EOFError):        # the client is gone
            try:
                with smtplib.LMTP(self.server.lmtp, local_hostname=LOCAL) as self.lmtp:
                    self.lmtp.command_encoding = "latin-1"
                    self.reply(220, f"{LOCAL} ESMTP")
                    self.serve()
            except smtplib.SMTPException as error:
                self.reply(421, f"4.3.2 oncedrop: {error}")

    def serve(self):
        while True:
            words = self.line()
            verb, _, rest = words.partition(" ")
            if verb.upper() == "QUIT":
                self.reply(221, "2.0.0 bye")
                return
            own = getattr(self, "do_" + verb.lower(), None)
            if own:
                own(rest)
            else:
                self.pass_on(words)

    def line(self):
        line = self.rfile.readline(LONGEST)
        if not line.endswith(b"\n"):
            raise EOFError
        return line.rstrip(b"\r\n").decode("latin-1")

    def reply(self, code, text):
        lines = (text if isinstance(text, str) else text.decode("latin-1")).split("\n")
        marks = ["-"] * (len(lines) - 1) + [" "]
        self.wfile.write("".join(f"{code}{mark}{line}\r\n" for mark, line in zip(marks, lines)).encode("latin-1"))

    def pass_on(self, words):
        """Returns whether it was accepted."""
        code, text = self.lmtp.docmd(words)
        self.reply(code, text)
        return code // 100 == 2

    def do_ehlo(self, rest):
        code, text = self.lmtp.docmd("LHLO", rest)
        if code == 250:
            offered = [line for line in text.decode("latin-1").split("\n") if line.split()[0] in PASSED_ON]
            tls = [] if isinstance(self.connection, ssl.SSLSocket) else ["STARTTLS"]
            text = "\n".join([LOCAL, *offered, *tls, "AUTH PLAIN"])
        self.recipients = 0
        self.reply(code, text)

    def do_helo(self, rest):
        self.recipients = 0
        code, text = self.lmtp.docmd("LHLO", rest)
        self.reply(code, LOCAL if code == 250 else text)

    def do_starttls(self, _rest):
        self.reply(220, "2.0.0 go ahead")
        self.connection = self.server.context.wrap_socket(self.connection, server_side=True)
        self.rfile, self.wfile = self.connection.makefile("rb"), self.connection.makefile("wb", 0)

    def do_auth(self, rest):
        mechanism, _, words = rest.partition(" ")
        if mechanism.upper() != "PLAIN":
            self.reply(504, "5.5.4 only PLAIN")
            return
        if not words:
            self.reply(334, "")
            words = self.line()
        try:
            _, account, password = base64.b64decode(words).decode().split("\0")
        except (binascii.Error, ValueError):
            self.reply(501, "5.5.2 this is not PLAIN")
            return
        if account in self.server.accounts and password == self.server.password:
            self.reply(235, "2.7.0 welcome")
        else:
            self.reply(535, "5.7.8 wrong account or password")

    def do_mail(self, rest):
        if self.pass_on(f"MAIL {rest}"):
            self.recipients = 0

    def do_rset(self, _rest):
        self.recipients = 0
        self.pass_on("RSET")

    def do_rcpt(self, rest):
        account = account_of(rest)
        if account in self.server.accounts:
            self.recipients += self.pass_on(f"RCPT {rest}")
        else:
            self.reply(550, f"5.1.1 {account} is no account of this oncedrop-lab; mail for others takes its Postfix")

    def do_data(self, _rest):
        code, text = self.lmtp.docmd("DATA")
        self.reply(code, text)
        if code != 354:
            return
        end = b"\r\n"
        while not end.endswith(b"\r\n.\r\n"):
            line = self.rfile.readline(LONGEST)
            if not line:
                raise EOFError
            self.lmtp.send(line)
            end = (end + line)[-5:]
        replies = [self.lmtp.getreply() for _ in range(self.recipients)]
        self.recipients = 0
        self.reply(*one_for_all(replies))


class SmtpGateway(socketserver.ThreadingTCPServer):
    """Listens on the port `port` of 127.0.0.1. lmtp: the service's socket; accounts: who have mail here, all with this password;
    certificate: (certificate, key) files."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, lmtp, accounts, password, certificate):
        self.lmtp, self.accounts, self.password = lmtp, frozenset(accounts), password
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*certificate)
        super().__init__(("127.0.0.1", 0), Session)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_without_signals, daemon=True).start()

    def serve_without_signals(self):
        """Signals are for the main thread, which may wait for them; the sessions' threads inherit this."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        self.serve_forever(0.05)

    def close(self):
        self.shutdown()
        self.server_close()
