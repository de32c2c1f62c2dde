#!/bin/sh
# SPDX-License-Identifier: ISC
#
# What can be known of the release and of the Debian package without building it; tests/check-deb builds it.
#   tests/check-package.sh
set -eu
cd "$(dirname "$0")/.."
LC_ALL=C
export LC_ALL
failed=0

fail() {
    echo "check-package: $*" >&2
    failed=1
}

#   same WHAT ONE OTHER
same() {
    [ "$2" = "$3" ] || fail "$1: $2, but $3"
}

version=$(cat VERSION)
same 'VERSION and conf/debian/changelog' "$version" "$(sed -n '1s/^oncedrop (\(.*\)) .*/\1/p' conf/debian/changelog)"
same 'VERSION and NEWS.md' "## $version" "$(grep -m 1 '^## ' NEWS.md)"
for text in README.md man/oncedrop-setup.7; do
    same "VERSION and packages in $text" "_${version}_amd64.deb" "$(grep -o '_[0-9.]*_amd64\.deb' $text | sort -u)"
done
newest=$(find src/postgres/schema -name '[0-9]*.sql' | sort | tail -n 1 | sed 's,.*/0*\([0-9]*\)-.*,\1,')
same 'schema of NEWS.md and of src/postgres/schema' "Schema $newest." "$(grep -m 1 -o '^Schema [0-9]*\.' NEWS.md)"

# What is needed to compile is in the package's list, and nothing else but what is for packaging (libc6-dev, gcc and make are
# in build-essential; pkg-config is called pkgconf).
compile=$(sed -n "s/^BUILD='\(.*\)'/\1/p" tests/install-packages | tr ' ' '\n' | grep -vx 'gcc\|libc6-dev\|make' |
    sed 's/^pkg-config$/pkgconf/' | sort | tr '\n' ' ')
package=$(sed -n '/^Build-Depends:/,/^[^ ]/s/^ \([^ ,]*\).*/\1/p' conf/debian/control |
    grep -v '^debhelper-compat\|^dh-\|^libcmocka-dev' | sort | tr '\n' ' ')
same 'Build-Depends and tests/install-packages' "$package" "$compile"

# An engine, a package.
engines=$(sed -n 's/^ENGINES := //p' Makefile)
same 'ENGINES of Makefile and of conf/debian/rules' "$engines" "$(sed -n 's/^ENGINES := //p' conf/debian/rules)"
same 'ENGINES and conf/debian/control' "$engines" "$(sed -n 's/^Package: oncedrop-//p' conf/debian/control | grep -vx lab | xargs)"

# Everything that `make install` installs has its place in the package: folders of share/oncedrop, and units.
for file in conf/systemd/*; do
    case ${file##*/} in
        oncedrop.service | oncedrop.socket) ;; # units of the package
        oncedrop-purge.service | oncedrop-purge.timer | oncedrop-stats.service | oncedrop-stats.timer) ;;
        oncedrop-feed@.service) ;;  # a unit of the package
        oncedrop-lmtp.socket | oncedrop-lmtp@.service) ;;   # examples: they would listen where the service does
        *) fail "$file: conf/debian/rules does not know whether it is a unit of the package" ;;
    esac
done

# The licence: of each file by REUSE.toml, and in each that has room for it, by its header.
header=SPDX-License-Identifier
bare=$(release/files |
    grep -E '\.([ch]|py|sh|[1-9])$|^release/|^conf/debian/(rules|oncedrop\.p|tests/[fl])|^tests/(check|demo|lint|oncedrop-lab)|^conf/lab/' |
    xargs grep -L "$header: ISC") || :
[ -z "$bare" ] || fail "no licence in the header of $bare"

# The tarball makes the same tarball for any user at any time.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
release/tar >"$folder/tar"
(umask 077 && tar --extract --touch --no-same-permissions --directory="$folder" --file="$folder/tar")
if reuse convert-dep5 --help >/dev/null 2>&1; then  # before 4.0, as in Debian 12, it does not know REUSE.toml
    # there, for it looks at what was built, too
    said=$(reuse --root "$folder/oncedrop-$version" lint 2>&1) || fail "$said"
fi
(umask 077 && TZ=Pacific/Kiritimati "$folder/oncedrop-$version/release/tar") | cmp - "$folder/tar" ||
    fail 'a tarball made in an unpacked tarball differs from that'

[ $failed = 0 ] && echo 'check-package: all as promised'
exit $failed
