# SPDX-License-Identifier: ISC
#
# Reads the steps, and writes what is compiled of them.
#
#    awk -v folder=FOLDER -f steps.awk OUTCOMES FILE... OWN...    the texts of an engine, for its table; OWN: its files, in FOLDER
#    awk -f steps.awk OUTCOMES FILE...                            the steps: their numbers, what they take and give (sql_steps.h)
#
# FILE is of src/sql/steps, which has each step, and its text if that is the same in several engines. OWN has the texts and macros
# of one engine, which replace those of FILE. OUTCOMES has macros for all engines.
#
# A file consists of paragraphs, which end with an empty line, or at the next macro:
#
#    -- NAME[, NAME]...: what they do             steps with the same values and columns; then their text, if there is one for all
#    -- params: NAME[:content]...                  their values, which stand in the text as :NAME; several lines add up. content: of
#                                                 the message; the debug log has only its size. :NAME::TYPE is that value in the
#                                                 type of PostgreSQL, by macro cast; other engines leave ::TYPE away
#    -- columns: NAME[:TYPE]...                     their columns, in the same way. TYPE: bool, number, json, bytes; else it is as the
#                                                 value is
#    -- then                                      between statements: the rows are the last one's
#    -- table NAME: by KEY...                     steps dump_NAME, which reads rows after a key, and load_NAME, which inserts one;
#    -- columns: NAME[:TYPE]...                     KEY: its first columns. TYPE: also moment, list, content
#    -- macro NAME: what it means                  @NAME@ stands for the text, and @NAME(X)@ for it with X in place of {};
#                                                 except for macros there is no @ in X
#
# and in OWN:
#
#    -- NAME: what is special                      the step's text in this engine; the part after the colon may be missing
#
# A line of a step that ends in "-- if NAME" is there only if that value is. Other comments are dropped. Each engine has all steps.
# It has only those of lock.sql and locks.sql, for its methods of locking, and of file.sql, for a ledger that is a file, that OWN names:
# as NAME[, NAME]... without a text, if they are as in FILE.

function fail(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

# Whether a file is one of the engine's own.
function is_own(file)
{
    return folder != "" && index(file, folder "/") == 1
}

# The number of a value, as two digits.
function value_number(name,    i)
{
    for (i = 1; i <= taken; i++)
        if (params[i] == name)
            return sprintf("%02d", i - 1)
    fail(step ": params no " name)
}

function with_macros(line,    whole, name, argument, text)
{
    gsub(/@schema@/, "\003", line)
    while (match(line, /@[a-z_]+(\([^@]*\))?@/)) {
        whole = substr(line, RSTART + 1, RLENGTH - 2)
        name = whole
        sub(/\(.*/, "", name)
        argument = whole == name ? "" : substr(whole, length(name) + 2, length(whole) - length(name) - 2)
        if (!(name in macros))
            fail(step ": there is no macro " name)
        text = macros[name]
        gsub(/@schema@/, "\003", text)
        gsub(/&/, "\\\\&", argument)
        gsub(/[{][}]/, argument, text)
        line = substr(line, 1, RSTART - 1) text substr(line, RSTART + length(whole) + 2)
    }
    if (line ~ /@[a-z_]+[(]|[)]@/)
        fail(step ": a macro is not expanded: its argument must not have @ in it, nor go on in the next line")
    if ("schema" in macros)
        gsub(/\003\./, macros["schema"] (macros["schema"] == "" ? "" : "."), line)
    gsub("\003", "@schema@", line)
    return line
}

# A value, by its number: by macro value, which counts from 1, or as sql_text_render() reads it.
function value_in_text(number,    text)
{
    if (!("value" in macros))
        return "\\001" number
    text = macros["value"]
    sub(/[{][}]/, number + 1, text)
    return text
}

# Puts the values' numbers in, each with its type, if the engine has macro cast.
function with_values(line,    out, name, type)
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
        out = out value_in_text(value_number(substr(name, 2)))
        while (match(line, /^::[a-z]+(\[\])?/)) {
            type = macros["cast"]
            sub(/[{][}]/, substr(line, 3, RLENGTH - 2), type)
            out = out type
            line = substr(line, RLENGTH + 1)
        }
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

function add_step(name, values, columns, text)
{
    if (name in texts)
        fail(name ": is there twice")
    order[++steps] = name
    optional[name] = last_file ~ /\/(locks?|file)\.sql$/
    common[name] = text
    texts[name] = optional[name] ? "" : text
    step_params[name] = values
    step_columns[name] = columns
}

# The text of the engine itself; none: it has an optional step as others do.
function own_step(name, text)
{
    if (!(name in texts) || name in own)
        fail(name ": not in src/sql/steps, or twice here")
    if (text == "" && (!optional[name] || common[name] == "") || list_params list_columns != "")
        fail(name ": has no text, or has values or columns")
    own[name] = 1
    texts[name] = text == "" ? common[name] : text
}

# The steps of a table, whose keys are its first columns.
function add_table(name, key_names,    keys, columns, count, names, i, column, type, mark, all, read, after, sort, kinds, values, given)
{
    keys = split(key_names, after_keys, / +/)
    count = split(list_columns, columns, / +/)
    for (i = 1; i <= count; i++) {
        split(columns[i], names, ":")
        column = names[1]
        type = names[2]
        if (i <= keys && column != after_keys[i])
            fail("table " name ": " column " is not its key " after_keys[i])
        mark = i > 1 ? ", " : ""
        all = all mark "\"" column "\""
        read = read mark (type == "moment" ? "@us(\"" column "\")@" : type == "list" ? "@dumped_list(\"" column "\")@" : "\"" column "\"")
        given = given mark (type == "moment" ? "@moment(:" column ")@" : type == "list" ? "@loaded_list(:" column ")@" : ":" column)
        kinds = kinds (i > 1 ? " " : "") column \
            (type == "moment" ? ":number" : type == "number" || type == "bool" || type == "bytes" ? ":" type : "")
        values = values (i > 1 ? " " : "") column (type == "content" ? ":content" : "")
        if (i <= keys) {
            sort = sort mark (type == "number" ? "\"" column "\"" : "@bytewise(" column ")@")
            after = after mark ":" column (type == "number" ? "::bigint" : "::text")
        }
    }
    add_step("dump_" name, key_names " max", kinds, "SELECT " read "\nFROM @schema@." name " WHERE " \
        (keys > 1 ? "@from_key(" after_keys[1] ")@ (" sort ") > (" after ")" : sort " > " after) "\nORDER BY " sort " LIMIT :max::bigint")
    add_step("load_" name, values, "", "INSERT INTO @schema@." name " (" all ")\n@overriding@ VALUES (" given ")")
}

function end_paragraph(    names, count, i)
{
    if (macro != "") {
        if ((is_own(last_file), macro) in defined)
            fail("macro " macro ": is there twice")
        defined[is_own(last_file), macro] = 1
        gsub(/\n/, " ", text)
        macros[macro] = text
    } else if (table != "") {
        add_table(table, table_keys)
    } else if (heads != "") {
        count = split(heads, names, /, /)
        for (i = 1; i <= count; i++) {
            if (is_own(last_file))
                own_step(names[i], text)
            else
                add_step(names[i], list_params, list_columns, text)
        }
    }
    macro = table = heads = text = list_params = list_columns = ""
}

FNR == 1 && NR > 1 { end_paragraph() }
/^-- macro [a-z_]+:/ { end_paragraph(); last_file = FILENAME; macro = $3; sub(/:$/, "", macro); next }
{ last_file = FILENAME }
/^$/ { end_paragraph(); next }
/^-- table [a-z_]+: by / {
    table = $3
    sub(/:$/, "", table)
    table_keys = $0
    sub(/^.*: by /, "", table_keys)
    next
}
/^-- params: / { list_params = list_params (list_params == "" ? "" : " ") substr($0, 12); next }
/^-- columns: / { list_columns = list_columns (list_columns == "" ? "" : " ") substr($0, 13); next }
/^-- [a-z_]+(, [a-z_]+)*:( |$)/ && heads macro text == "" { heads = substr($0, 4); sub(/:.*/, "", heads); next }
/^ *--/ && !/^-- then$/ { next }
{
    if (heads == "" && macro == "")
        fail("neither a step nor a macro has begun")
    sub(/^ +/, "")
    if (macro != "" && / -- if [a-z][a-z0-9_]*$/)
        fail("a macro is the same for all")
    text = text (text == "" ? "" : "\n") $0
}

# A step's text, in C.
function text_of(name,    lines, count, i, line, condition, out)
{
    step = name
    taken = split(step_params[name], params, / +/)
    for (i = 1; i <= taken; i++)
        sub(/:content$/, "", params[i])
    count = split(texts[name], lines, "\n")
    for (i = 1; i <= count; i++) {
        line = lines[i]
        if (line == "-- then") {
            if (condition != "")
                fail(step ": the line before is there only if " condition ", and so would be the end of the statement")
            out = out ";"
            continue
        }
        condition = ""
        if (match(line, / +-- if [a-z][a-z0-9_]*$/)) {
            condition = substr(line, RSTART)
            sub(/^.*if /, "", condition)
            line = substr(line, 1, RSTART - 1)
        }
        line = with_values(in_c(with_macros(line)))
        if (condition != "")
            line = "\\002" value_number(condition) line
        out = out (i == 1 ? "" : "\\n\"") "\n        \"" line
    }
    return out "\""
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
            name = order[i]
            if (texts[name] == "" && optional[name])
                continue
            if (texts[name] == "")
                fail(folder ": there is no step " name)
            printf "    [SQL_STEP_%s] = {\"%s\", %d, \"%s\", \"%s\",%s},\n", name, name, split(step_params[name], list, / +/),
                   step_params[name], types_of(step_columns[name]), text_of(name)
        }
        print "};"
    }
}
