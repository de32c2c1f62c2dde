# SPDX-License-Identifier: ISC
"""The scripts of a release, in a small repository: which commit a tree has, the tarball, and the tag.

Seen to fail with: files that git does not know ignored; the commit of an outer repository; the file COMMIT added to a tarball twice;
each of the tag's conditions left out; an unsigned tag in place of a signed one."""

import os
import shutil
import subprocess
import tarfile

import pytest
from lab.process import private_directory

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NEWS = "# News\n\n## 7.8.9\n\nNew.\n\n## 7.8.8\n\nOld.\n"
CHANGELOG = """oncedrop (7.8.9) unstable; urgency=medium

  * New.

 -- The oncedrop authors <oncedrop@example.org>  Tue, 24 Nov 2026 09:00:00 +0000

oncedrop (7.8.8) unstable; urgency=medium

  * Old.

 -- The oncedrop authors <oncedrop@example.org>  Mon, 23 Nov 2026 09:00:00 +0000
"""
DATE = "  Tue, 24 Nov 2026 09:00:00 +0000"

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


class Tree:
    """home: of the user."""

    def __init__(self, directory, home):
        self.directory = directory
        self.environment = {"PATH": os.environ["PATH"], "HOME": home, "GNUPGHOME": home, "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C"}

    def run(self, *words, status=0):
        done = subprocess.run(words, cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True,
                              check=False)
        assert done.returncode == status, done
        return done

    def text(self, *words):
        return self.run(*words).stdout.decode().strip()

    def git(self, *words):
        return self.text("git", *words)

    def write(self, name, text):
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def commit(self):
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message=change")

    def unpack(self, directory):
        """Its tarball, as another tree. Returns that and the tarball's bytes."""
        tar = self.run("release/tar").stdout
        path = os.path.join(self.directory, "..", "tar")
        with open(path, "wb") as file:
            file.write(tar)
        with tarfile.open(path) as archive:
            archive.extractall(directory)
        return Tree(os.path.join(directory, "oncedrop-7.8.9"), self.environment["HOME"]), tar


@pytest.fixture
def tree():
    """A repository with a commit that can be released. Its path is short, for a socket of `gpg` is below it."""
    top = private_directory()
    made = Tree(os.path.join(top, "tree"), os.path.join(top, "home"))
    os.mkdir(os.path.join(top, "home"), 0o700)
    shutil.copytree(os.path.join(TOP, "release"), os.path.join(made.directory, "release"))
    for name, text in (("VERSION", "7.8.9\n"), ("NEWS.md", NEWS), ("conf/debian/changelog", CHANGELOG), (".gitignore", "build/\n")):
        made.write(name, text)
    made.git("init", "--quiet")
    for name, value in (("user.name", "Lisa"), ("user.email", "lisa@example.org"), ("commit.gpgsign", "false")):
        made.git("config", name, value)
    made.commit()
    yield made
    if shutil.which("gpgconf"):
        made.run("gpgconf", "--kill", "gpg-agent")
    shutil.rmtree(top)


def test_the_commit(tree):
    head = tree.git("rev-parse", "HEAD")
    assert tree.text("release/commit") == head
    tree.write("build/ignored", "")
    assert tree.text("release/commit") == head
    tree.write("new", "")
    assert tree.text("release/commit") == head + "-dirty"
    tree.commit()
    assert tree.text("release/commit") == tree.git("rev-parse", "HEAD") != head
    tree.write("new", "changed")
    assert tree.text("release/commit") == tree.git("rev-parse", "HEAD") + "-dirty"


def test_the_commit_of_a_tarball(tree):
    """Also below another repository, as release/deb unpacks it; without the file it is unknown."""
    unpacked, tar = tree.unpack(os.path.join(tree.directory, "build"))
    assert unpacked.text("release/commit") == tree.git("rev-parse", "HEAD")
    assert unpacked.run("release/tar").stdout == tar
    names = unpacked.run("tar", "--list", "--file=../../../tar").stdout.decode().split()
    assert sorted(names) == sorted(f"oncedrop-7.8.9/{name}" for name in ["COMMIT", *tree.git("ls-files").split()])
    os.unlink(os.path.join(unpacked.directory, "COMMIT"))
    assert unpacked.text("release/commit") == ""


def test_the_commit_of_a_repository_of_another_user(tree):
    """As root, who installs what a user has compiled."""
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    os.chown(tree.directory, 2, 2)
    assert len(tree.text("release/commit")) == 40


def test_an_unsigned_tag(tree):
    out = tree.text("release/tag", "--unsigned")
    assert tree.git("cat-file", "-t", "v7.8.9") == "tag"
    assert tree.git("rev-parse", "v7.8.9^{commit}") == tree.git("rev-parse", "HEAD")
    assert tree.git("tag", "--list", "--format=%(contents)") == "oncedrop 7.8.9"
    for step in ("make dist", "gpg --armor --detach-sign build/dist/oncedrop-7.8.9.sha256", "git push origin v7.8.9"):
        assert step in out, out


@pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")
def test_a_signed_tag(tree):
    tree.run("gpg", "--batch", "--quiet", "--pinentry-mode=loopback", "--passphrase=", "--quick-generate-key", "lisa@example.org",
             "ed25519", "sign", "never")
    tree.git("config", "user.signingkey", "lisa@example.org")
    tree.run("release/tag")
    assert b"Good signature" in tree.run("git", "verify-tag", "v7.8.9").stderr
    assert tree.git("rev-parse", "v7.8.9^{commit}") == tree.git("rev-parse", "HEAD")


# Files with another text, whether that is committed, and what is said.
REFUSED = {
    "changed": ({"VERSION": "7.8.9"}, False, "changes that are not committed"),
    "unknown file": ({"src/new.c": ""}, False, "files that git does not know"),
    "no number": ({"VERSION": "7.8.9-rc1\n"}, True, "VERSION has no number: 7.8.9-rc1"),
    "other version": ({"VERSION": "7.9.0\n"}, True, "NEWS.md does not begin with version 7.9.0"),
    "older news": ({"NEWS.md": NEWS.replace("## 7.8.9\n\nNew.\n\n", "")}, True, "NEWS.md does not begin with version 7.8.9"),
    "newer news": ({"NEWS.md": NEWS.replace("## 7.8.9", "## 7.9.0\n\nNewer.\n\n## 7.8.9")}, True, "NEWS.md does not begin"),
    "no news": ({"NEWS.md": "# News\n"}, True, "NEWS.md does not begin with version 7.8.9"),
    "older changelog": ({"conf/debian/changelog": CHANGELOG.replace("7.8.9", "7.8.7")}, True, "changelog does not begin with"),
    "longer version": ({"conf/debian/changelog": CHANGELOG.replace("7.8.9", "7.8.9-1")}, True, "changelog does not begin with"),
    "unreleased": ({"conf/debian/changelog": CHANGELOG.replace("unstable", "UNRELEASED")}, True, "changelog says UNRELEASED"),
    "no date": ({"conf/debian/changelog": CHANGELOG.replace(DATE, "")}, True, "has no date for version 7.8.9"),
    "no line of the date": ({"conf/debian/changelog": CHANGELOG.replace(f" -- The oncedrop authors <oncedrop@example.org>{DATE}\n", "")},
                            True, "has no date for version 7.8.9"),
    "no such date": ({"conf/debian/changelog": CHANGELOG.replace("24 Nov", "44 Nov")}, True, "has no date for version 7.8.9"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_tagged(tree, name):
    files, committed, said = REFUSED[name]
    for path, text in files.items():
        tree.write(path, text)
    if committed:
        tree.commit()
    done = tree.run("release/tag", "--unsigned", status=1)
    assert said in done.stderr.decode() and not done.stdout and tree.git("tag") == "", done


def test_what_else_is_not_tagged(tree):
    assert b"no key to sign with" in tree.run("release/tag", status=1).stderr
    assert b"usage: " in tree.run("release/tag", "--signed", status=64).stderr
    assert tree.git("tag") == ""
    tree.git("tag", "v7.8.9")
    assert b"the tag v7.8.9 exists" in tree.run("release/tag", "--unsigned", status=1).stderr
    assert tree.git("cat-file", "-t", "v7.8.9") == "commit"
    unpacked, _ = tree.unpack(os.path.join(tree.directory, "build"))
    assert b"not a repository" in unpacked.run("release/tag", "--unsigned", status=1).stderr
