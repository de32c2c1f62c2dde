# SPDX-License-Identifier: ISC
#
# Makes COMMENT ON of the comments behind a table's name and its columns, for PostgreSQL, which has no other way to keep them in the
# database. A line with nothing but a comment goes on with the one before.
#
#    awk -f comments.awk FILE

function comment_on(kind, name, text)
{
    gsub(/'/, "''", text)
    return "COMMENT ON " kind " " name " IS '" text "';\n"
}

function end_comment()
{
    if (text != "")
        comments = comments comment_on(column == "" ? "TABLE" : "COLUMN", column == "" ? table : table "." column, text)
    text = ""
}

/^CREATE TABLE / { table = $3; column = comments = "" }
table != "" && match($0, / +-- /) {
    if (RSTART > 1)
        end_comment()
    text = text (text == "" ? "" : " ") substr($0, RSTART + RLENGTH)
    $0 = substr($0, 1, RSTART - 1)
    if (gsub(/'/, "&") % 2 == 1) {
        print FILENAME ": no comment, but a part of a string: " text >"/dev/stderr"
        exit 1
    }
    if ($0 == "")
        next
    if ($1 != "CREATE")
        column = $1
}
{ print }
/^\)/ && table != "" { end_comment(); printf "%s", comments; table = "" }
