# SPDX-License-Identifier: ISC
#
# Reads the manual pages of the commands, man/oncedrop-NAME.1, and writes what `oncedrop help NAME` prints, so that the two
# cannot differ:
#
#    awk -f pages.awk FILE... >command_pages.h
#
# For each page: #define PAGE_NAME "arguments", "summary", "text"
#
#    arguments  SYNOPSIS, a line for each form, without "oncedrop NAME"
#    summary    .Nd
#    text       the first paragraph of DESCRIPTION; of SUBCOMMANDS and OPTIONS each item with its first paragraph; of EXIT STATUS
#               the same
#
# An item is an .It of a list of the outermost level. In these places a page may use only the macros below: any other is an
# error. An argument (.Ar) is in capitals.

BEGIN {
    WIDTH = 78
    WIDEST_TAG = 18
    split("Nm Cm Ic Li Pa Ev Dv Em Sy No", names)
    for (i in names)
        is_plain[names[i]] = 1
    opens["Op"] = "["; closes["Op"] = "]"
    opens["Pq"] = "("; closes["Pq"] = ")"
    opens["Ql"] = "'"; closes["Ql"] = "'"
    opens["Dq"] = "\""; closes["Dq"] = "\""
    opens["Aq"] = "<"; closes["Aq"] = ">"
    begins["Oo"] = "["; ends["Oc"] = "]"
    begins["Po"] = "("; ends["Pc"] = ")"
}

function fail(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text > "/dev/stderr"
    failed = 1
    exit 1
}

function is_macro(word)
{
    return word in is_plain || word in opens || word in begins || word in ends || word ~ /^(Fl|Ar|Xr|Ns)$/
}

# Characters that roff writes in another way.
function plain(text)
{
    gsub(/\\&/, "", text)
    gsub(/\\ /, " ", text)
    gsub(/\\\(dq/, "\"", text)
    gsub(/\\e/, "\\", text)
    return text
}

function add(word)
{
    paragraph = paragraph (paragraph == "" || joined ? "" : " ") word
    joined = 0
}

# Splits the arguments of a macro: "several words" are one.
function split_words(line, words,    count, word)
{
    count = 0
    while (match(line, /[^ ]/)) {
        line = substr(line, RSTART)
        if (line ~ /^"/ && match(substr(line, 2), /"/)) {
            word = substr(line, 2, RSTART - 1)
            line = substr(line, RSTART + 2)
        } else {
            match(line, /^[^ ]+/)
            word = substr(line, 1, RLENGTH)
            line = substr(line, RLENGTH + 1)
        }
        words[++count] = word
    }
    return count
}

function add_word(word, macro)
{
    if (macro == "Fl")
        word = "-" word
    else if (macro == "Ar")
        word = toupper(word)
    add(plain(word))
}

# Appends a line of macros to the paragraph. Punctuation at its end stands behind what is closed there.
function add_macros(line,    words, count, last, i, macro, closing)
{
    count = split_words(line, words)
    last = count
    while (last > 1 && words[last] ~ /^[.,;:)?!]$/)
        last--
    closing = ""
    for (i = 1; i <= last; i++) {
        if (is_macro(words[i])) {
            macro = words[i]
            if (macro in opens) {
                add(opens[macro])
                joined = 1
                closing = closes[macro] closing
            } else if (macro in begins) {
                add(begins[macro])
                joined = 1
            } else if (macro in ends) {
                joined = 1
                add(ends[macro])
            } else if (macro == "Ns") {
                joined = 1
            } else if (macro == "Nm" && i == last) {
                add("oncedrop")
            } else if (macro == "Xr") {
                add(words[i + 1] "(" words[i + 2] ")")
                i += 2
            }
        } else if (i == 1) {
            fail("." words[i] " is not known here")
        } else if (words[i] ~ /^[.,;:)?!]$/) {
            joined = 1
            add(words[i])
        } else if (words[i] == "|" || words[i] == "(") {
            add(words[i])
            joined = words[i] == "("
        } else {
            add_word(words[i], macro)
        }
    }
    if (closing != "") {
        joined = 1
        add(closing)
    }
    for (; i <= count; i++) {
        joined = 1
        add(words[i])
    }
}

function add_line(line)
{
    if (line ~ /^\./)
        add_macros(substr(line, 2))
    else
        add(plain(line))
}

function take_paragraph(    text)
{
    text = paragraph
    paragraph = ""
    joined = 0
    return text
}

# The text in lines of WIDTH columns, of which all but the first begin with this many blanks.
function wrap(text, indent,    words, count, i, lines, line)
{
    count = split(text, words, " ")
    line = sprintf("%" indent "s", "")
    sub(/^ */, "", line)
    lines = ""
    for (i = 1; i <= count; i++) {
        if (line != "" && indent + length(line) + 1 + length(words[i]) > WIDTH) {
            lines = lines line "\n" sprintf("%" indent "s", "")
            line = ""
        }
        line = line (line == "" ? "" : " ") words[i]
    }
    return lines line "\n"
}

# The items of the list as a table: those whose tag is long have their text below it.
function list_text(    i, width, text)
{
    width = 0
    for (i = 1; i <= items; i++)
        if (length(tag[i]) > width && length(tag[i]) <= WIDEST_TAG)
            width = length(tag[i])
    text = ""
    for (i = 1; i <= items; i++)
        text = text "  " (length(tag[i]) > width ? tag[i] "\n" sprintf("%" width + 4 "s", "") : sprintf("%-" width "s  ", tag[i])) \
            wrap(body[i], width + 4)
    return text
}

# What stands before the present line is complete.
function end_part()
{
    if (state == "summary" || state == "form") {
        forms = forms (state == "form" ? (form_count++ ? "\n" : "") take_paragraph() : "")
    } else if (state == "first") {
        intro = wrap(take_paragraph(), 0)
        state = "rest"
    } else if (state == "item") {
        body[items] = take_paragraph()
        state = "rest"
    }
}

function end_section()
{
    end_part()
    if (items > 0)
        lists = lists "\n" (section == "EXIT STATUS" ? "Exit status:\n" : section == "SUBCOMMANDS" ? "Subcommands:\n" : "") list_text()
    items = depth = 0
    state = ""
}

function in_c(text,    lines, count, i, result)
{
    gsub(/[\\"]/, "\\\\&", text)
    count = split(text, lines, "\n")
    if (count <= 1)
        return "\"" text "\""
    result = ""
    for (i = 1; i <= count; i++)
        if (i < count || lines[i] != "")
            result = result (i > 1 ? " \\\n    " : "") "\"" lines[i] (i < count ? "\\n" : "") "\""
    return result
}

function end_page()
{
    end_section()
    if (name == "")
        return
    if (summary == "" || intro == "")
        fail(name " lacks .Nd or DESCRIPTION")
    printf "#define PAGE_%s \\\n    %s, \\\n    %s, \\\n    %s\n", toupper(name), in_c(forms), in_c(summary), in_c(intro lists)
}

FNR == 1 {
    end_page()
    name = FILENAME
    sub(/.*oncedrop-/, "", name)
    sub(/\.1$/, "", name)
    section = summary = forms = intro = lists = ""
    form_count = 0
}

/^\.Sh / {
    end_section()
    section = substr($0, 5)
    if (section == "DESCRIPTION")
        state = "first"
    next
}

/^\.\\"/ {
    next
}

/^\.Nd / {
    summary = plain(substr($0, 5))
    next
}

section == "SYNOPSIS" && /^\.Nm / {
    end_part()
    if ($2 != "oncedrop" || $3 != name)
        fail(".Nm oncedrop " name " is missing")
    state = "form"
    next
}

# Nested lists and displays are for readers of the page.
/^\.Bl / && section ~ /^(SUBCOMMANDS|OPTIONS|EXIT STATUS)$/ && depth == 0 {
    depth = 1
    next
}

/^\.B[ld]/ {
    end_part()
    depth++
    next
}

/^\.E[ld]/ {
    end_part()
    depth--
    next
}

/^\.It/ && depth == 1 && section ~ /^(SUBCOMMANDS|OPTIONS|EXIT STATUS)$/ {
    end_part()
    add_macros(section == "EXIT STATUS" ? "No" substr($0, 4) : substr($0, 5))
    tag[++items] = take_paragraph()
    state = "item"
    next
}

/^\.(Pp|Ss|It)/ {
    end_part()
    next
}

state == "form" || state == "first" || state == "item" {
    add_line($0)
}

END {
    if (!failed)
        end_page()
    exit failed
}
