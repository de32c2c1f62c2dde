#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Every setting of the program is in the manual and in the sample file, with its default, and they have no others; the
# program takes the sample file.
#
#   tests/check-settings.sh [BINARY]      default: $BUILD/oncedrop
set -eu
LC_ALL=C
export LC_ALL

binary=${1:-${BUILD:-build}/oncedrop}
top=$(dirname "$0")/..
manual=$top/man/oncedrop.conf.5
sample=$top/conf/oncedrop.conf

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# All three as "group.name = default", the form of `oncedrop config -d`; an empty default ends with "=".
"$binary" config -d | sort >"$work/program"
[ "$(wc -l <"$work/program")" -gt 10 ] || {
    echo "check-settings: $binary config -d printed no settings" >&2
    exit 1
}

# .Ss [group] / .It Ic name / Type; default / .Ql value .   or   Type; default empty.
awk '
    function flush() {
        if (name != "")
            print group "." name " =" (found ? (value == "" ? "" : " " value) : " (no default named)")
        name = ""
    }
    /^\.(Sh|Ss) / { flush(); group = ""; if ($0 ~ /^\.Ss \[.*\]$/) group = substr($2, 2, length($2) - 2) }
    /^\.It / { flush() }
    /^\.It Ic / && group != "" { name = $3; found = 0; value = ""; next }
    name != "" && !found && /default empty\.$/ { found = 1 }
    name != "" && !found && after_default && /^\.Ql / { found = 1; value = $2 }
    { after_default = /(^|[ ;])default$/ }
    END { flush() }
' "$manual" | sort >"$work/manual"

# Prose comments have a blank after the "#"; settings have none. If a setting is set there, its default is unknown here.
awk '
    /^\[.*\]$/ { group = substr($0, 2, length($0) - 2) }
    /^#[a-z_]+ =/ { print group "." substr($0, 2) }
    /^[a-z_]+ =/ { print group "." $1 " SET" }
' "$sample" | sort >"$work/sample"

status=0
compare() {     # NAME FILE LIST: says what differs from the program
    while read -r setting rest; do
        line=$(awk -v s="$setting" '$1 == s' "$work/$3")
        if [ -z "$line" ]; then
            echo "$2: $setting is missing" >&2
        elif [ "$line" != "$setting SET" ] && [ "$line" != "$setting $rest" ]; then
            echo "$2: '$line', but the program says '$setting $rest'" >&2
        else
            continue
        fi
        status=1
    done <"$work/program"
    for setting in $(awk '{ print $1 }' "$work/$3" | uniq); do
        awk -v s="$setting" '$1 == s { found = 1 } END { exit !found }' "$work/program" || {
            echo "$2: $setting is no setting of the program" >&2
            status=1
        }
    done
}

compare manual "$manual" manual
compare sample "$sample" sample

umask 077
cp "$sample" "$work/oncedrop.conf"
chmod 600 "$work/oncedrop.conf"
echo secret >"$work/password"
"$binary" -c "$work/oncedrop.conf" -o "imap.password_file=$work/password" config -n >"$work/effective" || {
    echo "$sample: the program does not take it" >&2
    status=1
}
exit "$status"
