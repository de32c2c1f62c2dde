#!/bin/sh
# SPDX-License-Identifier: ISC
#
# A minimal Debian in a chroot, for scripts that source this file in the top of the tree.
#
#   debian_new RELEASE    makes it in $root, with what is committed here in /oncedrop; it is removed when the script ends.
#                         ARCH=s390x: of this architecture, run by qemu-user-static (binfmt_misc)
#   $inside COMMAND...    runs a command in it, as root, with the machine's network
#
# Packages come from where this machine's come from. DEBIAN_BASE=DIRECTORY: copies the tree DIRECTORY/RELEASE, made earlier by
# `debootstrap --variant=minbase RELEASE DIRECTORY/RELEASE`, which takes seconds instead of minutes.

root=
inside=
mounted=

debian_clean_up() {
    [ -n "$root" ] || return 0
    rm -f "$root.log"
    # What was started in it and outlived its parent would keep the mounts busy.
    for process in /proc/[0-9]*; do
        [ "$(readlink "$process/root" 2>/dev/null)" != "$root" ] || kill -9 "${process#/proc/}" 2>/dev/null || :
    done
    for place in $mounted; do
        umount "$root$place" || umount -l "$root$place"
    done
    # Never through a mount into this machine's own /dev.
    if grep -q " $root/" /proc/self/mounts; then
        echo "$0: something is still mounted below $root, which is left as it is" >&2
    else
        rm -rf --one-file-system "$root"
    fi
}

debian_attach() {
    place=$1
    shift
    mkdir -p "$root$place"
    mount "$@" "$root$place"
    mounted="$place $mounted"
}

debian_new() {
    if [ "$(id -u)" != 0 ]; then
        echo "$0: only root can make a chroot" >&2
        exit 1
    fi
    for program in debootstrap git; do
        command -v $program >/dev/null || { echo "$0: $program is missing: apt-get install $program" >&2; exit 1; }
    done
    # shellcheck disable=SC2016  # apt-get's own variables
    mirror=$(apt-get indextargets --format '$(REPO_URI) $(LABEL) $(COMPONENT)' 'Identifier: Packages' |
        sed -n 's/ Debian main$//p' | head -n 1)
    [ -n "$mirror" ] || { echo "$0: this machine has no source of Debian packages" >&2; exit 1; }

    root=$(mktemp -d "${TMPDIR:-/var/tmp}/oncedrop-debian.XXXXXX")
    trap debian_clean_up EXIT
    trap 'exit 1' HUP INT TERM
    chmod 755 "$root"
    inside="env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=dumb chroot $root"
    echo "A minimal $1${ARCH:+ ($ARCH)} is made in $root."
    if [ -n "${DEBIAN_BASE:-}" ]; then
        cp -a "$DEBIAN_BASE/$1/." "$root"
    else
        debootstrap --variant=minbase ${ARCH:+--arch="$ARCH"} "$1" "$root" "$mirror" >"$root.log" 2>&1 ||
            { tail "$root.log" >&2; exit 1; }
        rm -f "$root.log"
    fi
    git clone -q --no-hardlinks . "$root/oncedrop"
    [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$root/etc/resolv.conf"
    debian_attach /proc --bind /proc
    debian_attach /dev --bind /dev
    debian_attach /dev/pts -t devpts -o newinstance,ptmxmode=0666 devpts
    debian_attach /dev/shm -t tmpfs tmpfs
    $inside apt-get -q update >/dev/null
    $inside apt-get -q install -y --no-install-recommends make >/dev/null 2>&1
}
