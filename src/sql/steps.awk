# SPDX-License-Identifier: ISC
#
# Reads the steps of the engines, and writes what is compiled of them.
#
#    awk -v folder=FOLDER -f steps.awk OUTCOMES FILE...    the texts of the engine in FOLDER, for its table
#    awk -f steps.awk OUTCOMES FILE...                     the steps: their numbers, what they take and give (sql_steps.h)
#
# A file that is in no folder of steps, OUTCOMES, has macros for all engines.
#
# A file consists of paragraphs, which end with an empty line:
#
#    -- NAME: what it does                        a step; then its text
#    -- params: NAME[:content]...                  its values, which stand in the text as :NAME; several lines add up. content: of
#                                                 the message; the debug log has only its size
#    -- columns: NAME[:TYPE]...                     its columns, in the same way. TYPE: bool, number, json, bytes; else it is as the value is
#    -- then                                      between statements: the rows are the last one's
#    -- macro NAME: what it means                  @NAME@ stands for the text, and @NAME(X)@ for it with X in place of {};
#                                                 except for macros there is no @ in X
#
# A line of a step that ends in "-- if NAME" is there only if that value is. Other comments are dropped. A step that several engines
# have params and columns the same in each. Each engine has all steps, except those in lock.sql and locks.sql, which are for
# its methods of locking, and in file.sql, which are of a ledger that is a file.

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
        if (params[i] == name)
            return sprintf("%02d", i - 1)
    fail(step ": params no " name)
}

function with_macros(line,    whole, name, argument, text, engine)
{
    gsub(/@schema@/, "\003", line)
    while (match(line, /@[a-z_]+(\([^@]*\))?@/)) {
        whole = substr(line, RSTART + 1, RLENGTH - 2)
        name = whole
        sub(/\(.*/, "", name)
        argument = whole == name ? "" : substr(whole, length(name) + 2, length(whole) - length(name) - 2)
        engine = ("", name) in macros ? "" : engine_of(FILENAME)
        if (!((engine, name) in macros))
            fail("there is no macro " name)
        text = macros[engine, name]
        gsub(/@schema@/, "\003", text)
        gsub(/&/, "\\\\&", argument)
        gsub(/[{][}]/, argument, text)
        line = substr(line, 1, RSTART - 1) text substr(line, RSTART + length(whole) + 2)
    }
    if (line ~ /@[a-z_]+[(]|[)]@/)
        fail("a macro is not expanded: its argument must not have @ in it, nor go on in the next line")
    name = engine_of(FILENAME)
    gsub("\003", (name, "schema") in macros ? macros[name, "schema"] : "@schema@", line)
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
    if (macro != "") {
        macros[engine_of(last_file), macro] = text
    } else if (step != "") {
        key = list_params "|" list_columns
        if (step in shapes && shapes[step] != key)
            fail(step ": another engine's params or columns something else")
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
        step_params[step] = list_params
        step_columns[step] = list_columns
    }
    macro = step = text = list_params = list_columns = ""
    taken = 0
}

FNR == 1 && NR > 1 { end_paragraph() }
{ last_file = FILENAME }
/^$/ { end_paragraph(); next }
/^-- macro [a-z_]+:/ { macro = $3; sub(/:$/, "", macro); next }
/^-- params: / {
    list_params = list_params (list_params == "" ? "" : " ") substr($0, 12)
    taken = split(list_params, params, / +/)
    for (i = 1; i <= taken; i++)
        sub(/:content$/, "", params[i])
    next
}
/^-- columns: / { list_columns = list_columns (list_columns == "" ? "" : " ") substr($0, 13); next }
/^-- [a-z_]+: / && step == "" && macro == "" && text == "" { step = $2; sub(/:$/, "", step); next }
/^-- then$/ {
    if (condition != "")
        fail("the line before is there only if " condition ", and so would be the end of the statement")
    text = text ";"
    next
}
/^ *--/ { next }
{
    if (step == "" && macro == "")
        fail("neither a step nor a macro has begun")
    condition = ""
    line = $0
    if (match(line, / +-- if [a-z][a-z0-9_]*$/)) {
        condition = substr(line, RSTART)
        sub(/^.*if /, "", condition)
        line = substr(line, 1, RSTART - 1)
        if (step == "")
            fail("a macro is the same for all")
    }
    sub(/^ +/, "", line)
    line = with_macros(line)
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
    count = split(step_columns[step], names, / +/)
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
function types_of(columns,    names, count, i, letters)
{
    count = split(columns, names, / +/)
    for (i = 1; i <= count; i++)
        letters = letters (names[i] ~ /:bool$/ ? "t" : names[i] ~ /:json$/ ? "j" : names[i] ~ /:number$/ ? "n" : names[i] ~ /:bytes$/ ? "b" : "-")
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
            members = step_params[order[i]]
            gsub(/:content/, "", members)
            gsub(/ +/, ", ", members)
            printf "struct sql_params_%s {%s};\n", order[i], (members == "" ? "" : " struct sql_value " members "; ")
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
            printf "    [SQL_STEP_%s] = {\"%s\", %d, \"%s\", \"%s\",%s},\n", order[i], order[i], split(step_params[order[i]], list, / +/),
                   step_params[order[i]], types_of(step_columns[order[i]]), texts[folder, order[i]]
        }
        print "};"
    }
}
