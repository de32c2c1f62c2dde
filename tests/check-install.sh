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
expect_mode /usr/local/libexec/oncedrop/oncedrop-main 755
expect_mode /etc/oncedrop/oncedrop.conf.sample 640
for page in man/*.[1-9]; do
    expect_mode "/usr/local/share/man/man${page##*.}/${page##*/}" 644
done
pieces=$(find conf/postfix conf/dovecot conf/systemd conf/pgbouncer conf/postgresql conf/grafana conf/apparmor conf/application conf/cyrus conf/courier -type f ! -perm -100)
for piece in $pieces; do
    expect_mode "/usr/local/share/oncedrop/${piece#conf/}" 644
    cmp "$piece" "$root/usr/local/share/oncedrop/${piece#conf/}" || fail "$piece was changed"
done
expect_mode /usr/local/share/oncedrop/application/listen 755
expect_mode /usr/local/share/oncedrop/courier/authProg 755
completions='/usr/local/share/bash-completion/completions/oncedrop /usr/local/share/zsh/site-functions/_oncedrop'
for file in $completions; do
    expect_mode "$file" 644
done
[ "$(cat "$live")" = live ] || fail 'the live configuration was overwritten'
"$root/usr/local/bin/oncedrop" version >/dev/null || fail 'the installed program does not run'

# Elsewhere: where the program and its configuration are is in the pieces, and in the sample. (-o: not compiled anew.)
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

# Group 0 would be no restriction for root: another one, that exists everywhere.
full=usr/libexec/oncedrop/oncedrop-main
expect_setgid() {
    expect_mode /usr/bin/oncedrop 755
    expect_mode "/$full" 2755
    for file in $full etc/oncedrop/oncedrop.conf.sample; do
        [ "$(stat -c %U:%G "$root/$file")" = root:mail ] || fail "the group of $file is not mail"
    done
    [ "$(stat -c %U:%G "$root/usr/bin/oncedrop")" = root:root ] || fail 'the small program has a group'
}
if [ "$(id -u)" = 0 ]; then
    for group in SETGID_GROUP=mail SETGID_GROUP=; do
        said=$(install install PREFIX=/usr $group)
        expect_setgid
    done
    case $said in *'oncedrop-main stays set-group-ID mail'*) ;; *) fail 'nobody hears that the program stays set-group-ID' ;; esac
    rm "$root/$full"        # as older versions installed it
    chgrp mail "$root/usr/bin/oncedrop"
    chmod 2755 "$root/usr/bin/oncedrop"
    said=$(install install PREFIX=/usr)
    expect_setgid
    case $said in *'oncedrop-main becomes, instead of '*', set-group-ID mail'*) ;; *) fail 'nobody hears that the group moves' ;; esac
    chmod g-s "$root/$full"
    install install PREFIX=/usr
    expect_mode "/$full" 755
    [ "$(stat -c %U:%G "$root/$full")" = root:root ] || fail 'the group is kept without its bit'
    expect_mode /etc/oncedrop/oncedrop.conf.sample 640
    install uninstall PREFIX=/usr
fi

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
for folder in /usr/local/share/oncedrop /usr/share/oncedrop /opt/od/share/oncedrop; do
    [ ! -e "$root$folder" ] || fail "uninstall left $folder"
done
[ -e "$live" ] || fail 'uninstall took the configuration'
echo 'check-install: all as promised'
