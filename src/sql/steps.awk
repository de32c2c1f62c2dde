# SPDX-License-Identifier: ISC
#
# Reads the steps of the engines, and writes what is compiled of them.
#
#    awk -v folder=FOLDER -f steps.awk OUTCOMES FILE...    the texts of the engine in FOLDER, for its table
#    awk -f steps.awk OUTCOMES FILE...                     the steps: their numbers, what they take and give (sql_steps.h)
#
# A file that is in no folder of steps, OUTCOMES, has words for all engines.
#
# A file consists of paragraphs, which end with an empty line:
#
#    -- NAME: what it does                        a step; then its text
#    -- takes: NAME[:content]...                  its values, which stand in the text as :NAME; several lines add up. content: of
#                                                 the message; the debug log has only its size
#    -- gives: NAME[:TYPE]...                     its columns; likewise. TYPE: truth, number, json, bytes; else it is as the value is
#    -- then                                      between statements: the rows are the last one's
#    -- word NAME: what it means                  @NAME@ stands for the text, and @NAME(X)@ for it with X in place of {};
#                                                 but for words there is no @ in X
#
# A line of a step that ends in "-- if NAME" is there only if that value is. Other comments are dropped. A step that several engines
# have takes and gives the same in each. Each engine has all steps, but for those in lock.sql and locks.sql, which are of
# its own methods of locking, and in file.sql, which are of a ledger that is a file.

function fail(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

function engine_of(file)
{
    return sub(/\/steps\/[^\/]*$/, "/steps", file) ? file : ""
}

# The number of a value, as two digits.
function value_number(name,    i)
{
    for (i = 1; i <= taken; i++)
        if (takes[i] == name)
            return sprintf("%02d", i - 1)
    fail(step ": takes no " name)
}

function with_words(line,    whole, name, argument, text, engine)
{
    gsub(/@schema@/, "\003", line)
    while (match(line, /@[a-z_]+(\([^@]*\))?@/)) {
        whole = substr(line, RSTART + 1, RLENGTH - 2)
        name = whole
        sub(/\(.*/, "", name)
        argument = whole == name ? "" : substr(whole, length(name) + 2, length(whole) - length(name) - 2)
        engine = ("", name) in words ? "" : engine_of(FILENAME)
        if (!((engine, name) in words))
            fail("there is no word " name)
        text = words[engine, name]
        gsub(/@schema@/, "\003", text)
        gsub(/&/, "\\\\&", argument)
        gsub(/[{][}]/, argument, text)
        line = substr(line, 1, RSTART - 1) text substr(line, RSTART + length(whole) + 2)
    }
    if (line ~ /@[a-z_]+[(]|[)]@/)
        fail("a word is not expanded: its argument must not have @ in it, nor go on in the next line")
    name = engine_of(FILENAME)
    gsub("\003", (name, "schema") in words ? words[name, "schema"] : "@schema@", line)
    return line
}

# Puts the values' numbers in; "::" is a cast.
function with_values(line,    out, name)
{
    out = ""
    while (match(line, /(^|[^:]):[a-z][a-z0-9_]*/)) {
        name = substr(line, RSTART, RLENGTH)
        out = out substr(line, 1, RSTART - 1)
        if (substr(name, 1, 1) != ":") {
            out = out substr(name, 1, 1)
            name = substr(name, 2)
        }
        line = substr(line, RSTART + RLENGTH)
        out = out "\\001" value_number(substr(name, 2))
    }
    return out line
}

# As part of a C string; the octal numbers are already in it.
function in_c(line)
{
    gsub(/\\/, "\\\\", line)
    gsub(/"/, "\\\"", line)
    gsub(/[?][?]/, "?\\?", line)
    return line
}

function end_paragraph(    key)
{
    if (word != "") {
        words[engine_of(last_file), word] = text
    } else if (step != "") {
        key = list_takes "|" list_gives
        if (step in shapes && shapes[step] != key)
            fail(step ": another engine's takes or gives something else")
        if (!(step in shapes)) {
            shapes[step] = key
            order[++steps] = step
            own[step] = last_file ~ /\/(locks?|file)\.sql$/
        }
        if (text == "")
            fail(step ": has no text")
        text = text "\""
        if ((engine_of(last_file), step) in texts)
            fail(step ": is there twice")
        texts[engine_of(last_file), step] = text
        takes_of[step] = list_takes
        gives_of[step] = list_gives
    }
    word = step = text = list_takes = list_gives = ""
    taken = 0
}

FNR == 1 && NR > 1 { end_paragraph() }
{ last_file = FILENAME }
/^$/ { end_paragraph(); next }
/^-- word [a-z_]+:/ { word = $3; sub(/:$/, "", word); next }
/^-- takes: / {
    list_takes = list_takes (list_takes == "" ? "" : " ") substr($0, 11)
    taken = split(list_takes, takes, / +/)
    for (i = 1; i <= taken; i++)
        sub(/:content$/, "", takes[i])
    next
}
/^-- gives: / { list_gives = list_gives (list_gives == "" ? "" : " ") substr($0, 11); next }
/^-- [a-z_]+: / && step == "" && word == "" && text == "" { step = $2; sub(/:$/, "", step); next }
/^-- then$/ {
    if (condition != "")
        fail("the line before is there only if " condition ", and so would be the end of the statement")
    text = text ";"
    next
}
/^ *--/ { next }
{
    if (step == "" && word == "")
        fail("neither a step nor a word has begun")
    condition = ""
    line = $0
    if (match(line, / +-- if [a-z][a-z0-9_]*$/)) {
        condition = substr(line, RSTART)
        sub(/^.*if /, "", condition)
        line = substr(line, 1, RSTART - 1)
        if (step == "")
            fail("a word is the same for all")
    }
    sub(/^ +/, "", line)
    line = with_words(line)
    if (step != "") {
        line = in_c(line)
        line = with_values(line)
        if (condition != "")
            line = "\\002" value_number(condition) line
        text = text (text == "" ? "" : "\\n\"") "\n        \"" line
    } else {
        text = text (text == "" ? "" : " ") line
    }
}

function columns_of(step,    names, count, i, upper)
{
    count = split(gives_of[step], names, / +/)
    if (count == 0)
        return
    upper = toupper(step)
    printf "enum {"
    for (i = 1; i <= count; i++) {
        sub(/:.*/, "", names[i])
        printf "%s %s_%s", (i > 1 ? "," : ""), upper, toupper(names[i])
    }
    print " };"
}

# A letter for each column.
function types_of(gives,    names, count, i, letters)
{
    count = split(gives, names, / +/)
    for (i = 1; i <= count; i++)
        letters = letters (names[i] ~ /:truth$/ ? "t" : names[i] ~ /:json$/ ? "j" : names[i] ~ /:number$/ ? "n" : names[i] ~ /:bytes$/ ? "b" : "-")
    return letters
}

END {
    if (failed)
        exit 1
    end_paragraph()
    print "/* Made by src/sql/steps.awk; edit the .sql files instead. */"
    if (folder != "")
        print "#include \"sql/sql_engine.h\"\n"
    if (folder == "") {
        print "#ifndef ONCEDROP_SQL_STEPS_H\n#define ONCEDROP_SQL_STEPS_H"
        print "enum sql_step {"
        for (i = 1; i <= steps; i++)
            printf "    SQL_STEP_%s,\n", order[i]
        print "    SQL_STEPS\n};"
        for (i = 1; i <= steps; i++) {
            members = takes_of[order[i]]
            gsub(/:content/, "", members)
            gsub(/ +/, ", ", members)
            printf "struct sql_takes_%s {%s};\n", order[i], (members == "" ? "" : " struct sql_value " members "; ")
            columns_of(order[i])
        }
        print "#endif"
    } else {
        print "static const struct sql_step_text steps[SQL_STEPS] = {"
        for (i = 1; i <= steps; i++) {
            if (!((folder, order[i]) in texts) && own[order[i]])
                continue
            if (!((folder, order[i]) in texts)) {
                printf "%s: there is no step %s\n", folder, order[i] > "/dev/stderr"
                exit 1
            }
            printf "    [SQL_STEP_%s] = {\"%s\", %d, \"%s\", \"%s\",%s},\n", order[i], order[i], split(takes_of[order[i]], list, / +/),
                   takes_of[order[i]], types_of(gives_of[order[i]]), texts[folder, order[i]]
        }
        print "};"
    }
}
