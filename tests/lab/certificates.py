# SPDX-License-Identifier: ISC
"""Certificates from our own certificate authority, made with openssl(1)."""

import datetime
import os
import subprocess

from . import process

GOOD_NAMES = "DNS:localhost,IP:127.0.0.1"


def openssl(*arguments):
    done = subprocess.run([process.find_program("openssl"), *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode:
        raise RuntimeError(f"openssl {' '.join(arguments)}:\n{done.stdout.decode(errors='replace')}")


def validity(days):
    """Options of `openssl x509` for a certificate that expires in this many days. For one that has expired, use
    -not_after since 3.4, and -days before that, which 3.5 does not accept."""
    help_text = subprocess.run([process.find_program("openssl"), "x509", "-help"], capture_output=True, check=False).stderr
    if days > 0 or b"-not_after" not in help_text:
        return ["-days", str(days)]
    now = datetime.datetime.now(datetime.timezone.utc)
    times = [(now + datetime.timedelta(days=ago)).strftime("%Y%m%d%H%M%SZ") for ago in (days - 1, days)]
    return ["-not_before", times[0], "-not_after", times[1]]


class Authority:
    """A certificate authority, and the certificates it has signed, as PEM files in one directory."""

    def __init__(self, directory, name="authority"):
        self.directory = os.path.join(directory, name)
        os.mkdir(self.directory, 0o755)
        self.certificate, self.key = self.files("ca")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", f"/CN=Test {name}", "-keyout", self.key, "-out", self.certificate,
                "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")

    def files(self, name):
        return os.path.join(self.directory, f"{name}.pem"), os.path.join(self.directory, f"{name}.key")

    def self_signed(self, name, names=GOOD_NAMES):
        certificate, key = self.files(name)
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                "-subj", "/CN=localhost", "-addext", f"subjectAltName={names}", "-keyout", key, "-out", certificate)
        return certificate, key

    def issue(self, name, names=GOOD_NAMES, common_name="localhost", days=2):
        """Returns (certificate, key), paths. A negative number of days gives one that has expired."""
        certificate, key = self.files(name)
        request = os.path.join(self.directory, f"{name}.csr")
        extensions = os.path.join(self.directory, f"{name}.ext")
        with open(extensions, "w", encoding="ascii") as file:
            file.write("basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n")
            if names:
                file.write(f"subjectAltName={names}\n")
        openssl("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                "-subj", f"/CN={common_name}", "-keyout", key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.certificate, "-CAkey", self.key, "-CAcreateserial",
                *validity(days), "-extfile", extensions, "-out", certificate)
        return certificate, key
