#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Whether what is released comes out the same when it is made twice: tarball, SHA-256, Debian's packages and source package, and
# the SBOMs. And whether all symbols are in separate packages, where a debugger finds them. $1: where to build.
#
# The second time from the tarball, by another user (as root), in another place, a year later, in another time zone and language, with
# another HOME and umask, and one process at a time. It installs what that takes, except faketime.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(realpath "$1")
version=$(cat VERSION)
name=oncedrop-$version
failed=0
place=$(mktemp -d /var/tmp/oncedrop-release.XXXXXX)
trap 'rm -rf "$place"' EXIT
trap 'exit 1' HUP INT TERM

fail() {
    echo "check-release: $*" >&2
    failed=1
}

# Not where this tree is, which may be in a folder that the other user may not search.
make_second() {
    release/tar | tar --extract --no-same-owner --directory="$place"
    mkdir "$place/home"
    localedef -i tr_TR -f UTF-8 "$place/tr_TR.UTF-8" 2>/dev/null || :     # else the language is that of C
    become=
    if [ "$(id -u)" = 0 ]; then
        chown -R games:games "$place"
        chmod 755 "$place"
        become='setpriv --reuid=games --regid=games --clear-groups'
    fi
    # shellcheck disable=SC2016,SC2086  # it is for the other shell; it is several words
    (cd "$place/$name" && $become env -i PATH=/usr/bin:/bin HOME="$place/home" LOCPATH="$place" LC_ALL=tr_TR.UTF-8 \
        TZ=Pacific/Kiritimati DEB_BUILD_OPTIONS='parallel=1 nocheck' BUILD="$place/and/elsewhere" \
        faketime -f +400d sh -c 'umask 077 && release/deb --source && release/dist') >"$place/log" 2>&1 ||
        { cat "$place/log" >&2; exit 1; }
}

#   made DIRECTORY    the names of what it has for users
made() {
    (cd "$1" && find . -path "./deb/$name" -prune -o -path './dist/*' -print -o -name '*.deb' -print -o \
        -name '*.spdx.json' -print -o -name '*.dsc' -print -o -name '*.tar.xz' -print | LC_ALL=C sort)
}

#   check_symbols PACKAGE    stripped, and its build IDs are in the package of its symbols
check_symbols() {
    rm -rf "$place/package" "$place/symbols"
    dpkg-deb --extract "$build/first/${1}_${version}"_*.deb "$place/package"
    dpkg-deb --extract "$build/first/deb/$1-dbgsym_${version}"_*.deb "$place/symbols" || { fail "$1 has no -dbgsym"; return; }
    programs=$(find "$place/package" -type f -exec grep -lq '^.ELF' {} \; -print)
    [ -n "$programs" ] || fail "$1 has no program"
    for program in $programs; do
        ! readelf --wide --sections "$program" | grep -q ' \.symtab \| \.debug_' || fail "$1: ${program##*/} is not stripped"
        id=$(readelf --notes "$program" | sed -n 's/.*Build ID: //p')
        file=$place/symbols/usr/lib/debug/.build-id/$(echo "$id" | cut -c 1-2)/$(echo "$id" | cut -c 3-).debug
        readelf --wide --sections "$file" 2>/dev/null | grep -q ' \.debug_info ' ||
            fail "$1: ${program##*/}: no symbols for its build ID, $id"
    done
}

command -v faketime >/dev/null || { echo 'check-release: faketime is missing' >&2; exit 1; }
tests/install-packages deb
rm -rf "$build/first"
mkdir -p "$build/first"
BUILD=$build/first release/deb --source
BUILD=$build/first release/dist
make_second
files=$(made "$build/first")
[ "$(echo "$files" | wc -l)" -ge 17 ] || fail "only $files were made"
[ "$files" = "$(made "$place/and/elsewhere")" ] || fail "not the same files: $files, but $(made "$place/and/elsewhere")"
for file in $files; do
    if ! cmp "$build/first/$file" "$place/and/elsewhere/$file"; then
        mkdir -p "$build/second/${file%/*}"
        cp "$place/and/elsewhere/$file" "$build/second/$file"
        fail "$file differs: diffoscope $build/first/$file $build/second/$file"
    fi
done
packages=$(sed -n 's/^Package: //p' conf/debian/control | grep -vx oncedrop-lab)
for package in $packages; do
    check_symbols "$package"
done
# As release/README.md verifies a download.
(cd "$build/first/dist" && sha256sum --check --quiet "$name.sha256") || fail 'the checksums are others'
release/tar | gzip -9n | cmp - "$build/first/dist/$name.tar.gz" || fail 'the tarball cannot be made again'
[ $failed = 0 ] && echo "check-release: $(echo "$files" | wc -l) files are the same twice; the symbols of all programs are in -dbgsym"
exit $failed
