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
expect_mode /etc/oncedrop/oncedrop.conf.sample 640
for page in man/*.[1-9]; do
    expect_mode "/usr/local/share/man/man${page##*.}/${page##*/}" 644
done
completions='/usr/local/share/bash-completion/completions/oncedrop /usr/local/share/zsh/site-functions/_oncedrop'
for file in $completions; do
    expect_mode "$file" 644
done
[ "$(cat "$live")" = live ] || fail 'the live configuration was overwritten'
"$root/usr/local/bin/oncedrop" version >/dev/null || fail 'the installed program does not run'

# Group 0 would be no restriction for root: another one, that exists everywhere.
if [ "$(id -u)" = 0 ]; then
    install install PREFIX=/usr SETGID_GROUP=mail
    expect_mode /usr/bin/oncedrop 2755
    for file in usr/bin/oncedrop etc/oncedrop/oncedrop.conf.sample; do
        [ "$(stat -c %U:%G "$root/$file")" = root:mail ] || fail "the group of $file is not mail"
    done
fi

install uninstall
[ ! -e "$root/usr/local/bin/oncedrop" ] || fail 'uninstall left the program'
[ -z "$(find "$root/usr/local/share/man" -type f)" ] || fail 'uninstall left a manual'
for file in $completions; do
    [ ! -e "$root$file" ] || fail "uninstall left $file"
done
[ -e "$live" ] || fail 'uninstall took the configuration'
echo 'check-install: all as promised'
