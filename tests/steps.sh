# SPDX-License-Identifier: ISC
# shellcheck shell=sh
#
# What tests/check and tests/check-all are made of. A failure does not keep the other steps from being tried.
#
#   BUILD    builds go to $BUILD-gcc, $BUILD-clang and $BUILD-asan
#   WORKERS  integration tests at a time (default: three for each processor, since they wait as well,
#            but at most 16, since each has its own servers)

build=${BUILD:-build}
make=${MAKE:-make}
python=${PYTHON:-/usr/bin/python3}
jobs=$(nproc)
workers=${WORKERS:-$((jobs < 6 ? jobs * 3 : 16))}
start=$(date +%s)
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
failed=

step() {
    name=$1
    shift
    printf '\n== %s (%s s)\n' "$name" "$(($(date +%s) - start))"
    "$@" || failed="$failed
  $name"
}

# Steps that only need a processor take what the others leave of it; each prints what it has to say at the end.
beside=$(mktemp -d)
export ONCEDROP_FAILED="$beside/failed"
trap 'kill $(jobs -p) 2>/dev/null; wait; rm -rf "$beside"' EXIT
trap 'exit 1' HUP INT TERM

aside() {
    file=$beside/$1
    shift
    {
        "$@" >"$file" 2>&1
        echo $? >"$file.status"
    }
}

nicely() {
    read -r pid _ </proc/self/stat      # of this subshell
    renice -n 19 -p "$pid" >/dev/null
    "$@"
}

report() {
    cat "$beside/$1" && return "$(cat "$beside/$1.status")"
}

finish() {
    seconds=$(($(date +%s) - start))
    if [ -n "$failed" ]; then
        printf '\n%s: FAILED, after %s s, in:%s\n' "$1" "$seconds" "$failed"
        sort -u "$ONCEDROP_FAILED" 2>/dev/null
        exit 1
    fi
    printf '\n%s: everything passed, in %s s.\n' "$1" "$seconds"
}

compile() {
    "$make" -s -O -j "$jobs" WERROR=-Werror "$@"
}

sanitized() {
    compile BUILD="$build-asan" CC=gcc HARDENING= CFLAGS="-O1 -g $sanitize" LDFLAGS="$sanitize" "$@"
}

# $1: the program; the others: options of pytest, and which tests.
tests() {
    program=$1
    shift
    ONCEDROP=$program "$python" -B -m pytest -q -p no:cacheprovider --dist loadgroup "$@"
}

# Like tests, with ledgers of this engine.
tests_with() {
    (
        export ONCEDROP_ENGINE="$1"
        shift
        tests "$@"
    )
}
