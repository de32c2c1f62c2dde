#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Whether what is released comes out the same when it is made twice, in two places: the tarball and its SBOM, and the Debian
# packages. It installs what that takes. $1: where to build.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(realpath "$1")
tests/install-packages deb
for place in first second/and-elsewhere; do
    rm -rf "${build:?}/$place"
    mkdir -p "$build/$place"
    BUILD="$build/$place" release/deb
done
same=yes
for file in "$build"/first/*.deb; do
    other=$build/second/and-elsewhere/${file##*/}
    if ! cmp "$file" "$other"; then
        echo "check-release: ${file##*/} differs: diffoscope $file $other" >&2
        same=no
    fi
done
release/tar >"$build/first.tar"
(umask 077 && TZ=Asia/Tokyo LC_ALL=C.UTF-8 release/tar) >"$build/second.tar"
cmp "$build/first.tar" "$build/second.tar" || same=no
[ $same = yes ]
