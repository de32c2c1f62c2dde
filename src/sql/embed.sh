#!/bin/sh
# SPDX-License-Identifier: ISC
#
# Writes the schema's SQL files, named on the command line as NNN-what.sql, as a C table for an engine. PostgreSQL's get COMMENT ON
# of their comments (comments.awk).
set -eu

echo '/* Made by src/sql/embed.sh; edit the SQL files instead. */'
echo '#include "sql/sql_engine.h"'
echo 'static const struct sql_schema_file schema_files[] = {'
for file; do
    name=${file##*/}
    case $name in
        [0-9][0-9][0-9]-*.sql) ;;
        *) echo "$0: $file: its name has to look like 001-what.sql" >&2; exit 1 ;;
    esac
    # Leading zeros would make the number octal in C.
    version=$(echo "$name" | sed 's/-.*//; s/^0*//')
    printf '    {%s, "%s",\n' "${version:?$file: versions count from 1}" "$name"
    case $file in
        */postgres/*) text=$(LC_ALL=C awk -f "${0%/*}/comments.awk" "$file") ;;
        *) text=$(cat "$file") ;;
    esac
    # "\?" keeps two question marks from being read as the start of a trigraph.
    printf '%s\n' "$text" | sed 's/[\\"]/\\&/g; s/??/?\\?/g; s/^/        "/; s/$/\\n"/'
    echo '    },'
done
echo '    {0, NULL, NULL}};'
