#!/bin/sh
# SPDX-License-Identifier: ISC
#
# What `make install` puts where, and that it leaves a live configuration alone.
#   tests/check-install.sh BUILD [MAKE]
set -eu
cd "$(dirname "$0")/.."
build=$1
make=${2:-make}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

fail() {
    echo "check-install: $*" >&2
    exit 1
}

expect_mode() {
    found=$(stat -c %a "$root$1" 2>/dev/null) || fail "$1 is not installed"
    [ "$found" = "$2" ] || fail "$1 has mode $found, not $2"
}

install() {
    "$make" -s BUILD="$build" CC=gcc WERROR=-Werror DESTDIR="$root" "$@"
}

live=$root/etc/oncedrop/oncedrop.conf
mkdir -p "${live%/*}"
echo 'live' >"$live"
install install
expect_mode /usr/local/bin/oncedrop 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-decode.so 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-tls.so 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-postgres.so 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-sqlite.so 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-mariadb.so 755
expect_mode /usr/local/libexec/oncedrop/oncedrop-main.so 755
expect_mode /etc/oncedrop/oncedrop.conf.sample 640
for page in man/*.[1-9]; do
    expect_mode "/usr/local/share/man/man${page##*.}/${page##*/}" 644
done
pieces=$(find conf/postfix conf/dovecot conf/systemd conf/pgbouncer conf/postgresql conf/mariadb conf/grafana conf/prometheus conf/apparmor conf/application conf/lab conf/cyrus conf/courier -type f ! -perm -100)
for piece in $pieces; do
    expect_mode "/usr/local/share/oncedrop/${piece#conf/}" 644
    cmp "$piece" "$root/usr/local/share/oncedrop/${piece#conf/}" || fail "$piece was changed"
done
for file in conf/application/*; do
    [ ! -x "$file" ] || expect_mode "/usr/local/share/oncedrop/${file#conf/}" 755
done
expect_mode /usr/local/share/oncedrop/courier/authProg 755
completions='/usr/local/share/bash-completion/completions/oncedrop /usr/local/share/zsh/site-functions/_oncedrop
/usr/local/share/fish/vendor_completions.d/oncedrop.fish'
expect_mode /usr/local/share/oncedrop-lab/oncedrop-lab 755
for file in $completions; do
    expect_mode "$file" 644
done
[ "$(cat "$live")" = live ] || fail 'the live configuration was overwritten'
"$root/usr/local/bin/oncedrop" version >/dev/null || fail 'the installed program does not run'

# Elsewhere: where the program and its configuration are is in the pieces, and in the sample. (-o: not compiled again.)
install -o all install PREFIX=/opt/od SYSCONFDIR=/opt/etc
pages=$(find man -name '*.[1-9]' | sed 's|.*/\(.*\.\(.\)\)$|od/share/man/man\2/\1|')
for file in etc/oncedrop/oncedrop.conf.sample $pages $(echo "$pieces" | sed 's|^conf|od/share/oncedrop|'); do
    ! grep -nE '/usr/local|[^t]/etc/oncedrop' "$root/opt/$file" || fail "PREFIX or SYSCONFDIR is not in $file"
done
for page in $pages; do
    grep -qx "\.Os oncedrop $(cat VERSION)" "$root/opt/$page" || fail "$page does not name the version"
done
grep -q 'argv=/opt/od/bin/oncedrop deliver' "$root/opt/od/share/oncedrop/postfix/master.cf.pipe" ||
    fail 'master.cf.pipe does not name the program'
grep -qx 'password_file = /opt/etc/oncedrop/imap.password' "$root/opt/etc/oncedrop/oncedrop.conf.sample" ||
    fail 'the sample does not name the password file'

"$root/opt/od/bin/oncedrop" version >/dev/null || fail 'the program installed elsewhere does not run'

# The laboratory, where it was installed: all of its library, and the paths of this installation.
install -o all install DESTDIR= PREFIX="$root/real" SYSCONFDIR="$root/real/etc"
status=0
# shellcheck disable=SC2016  # it is for the other shell
"$root/real/bin/oncedrop-lab" sh -c 'test "$ONCEDROP" = "$0" && exit 7' "$root/real/bin/oncedrop" || status=$?
[ $status = 7 ] || fail "the installed oncedrop-lab exits with $status"

# Over a program with rights comes one without.
chmod 2755 "$root/usr/local/bin/oncedrop"
install install
expect_mode /usr/local/bin/oncedrop 755

install uninstall PREFIX=/opt/od SYSCONFDIR=/opt/etc
[ -z "$(find "$root/opt" -type f)" ] || fail "uninstall left $(find "$root/opt" -type f)"
install uninstall
for file in /usr/local/bin/oncedrop /usr/local/libexec/oncedrop /opt/od/libexec/oncedrop; do
    [ ! -e "$root$file" ] || fail "uninstall left $file"
done
[ -z "$(find "$root/usr/local/share/man" -type f)" ] || fail 'uninstall left a manual'
for file in $completions; do
    [ ! -e "$root$file" ] || fail "uninstall left $file"
done
for folder in /usr/local/share/oncedrop /opt/od/share/oncedrop /usr/local/share/oncedrop-lab /usr/local/bin/oncedrop-lab; do
    [ ! -e "$root$folder" ] || fail "uninstall left $folder"
done
[ -e "$live" ] || fail 'uninstall took the configuration'
echo 'check-install: all as promised'
