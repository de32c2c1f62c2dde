# SPDX-License-Identifier: ISC
#
# Makes words for the steps (steps.awk) of the table of outcomes, so that the class of an outcome is decided there alone.
#
#    awk -f outcomes.awk outcome.c

/^ *\[OUTCOME_[A-Z_]+\] = / {
    if ($0 !~ /^ *\[OUTCOME_[A-Z_]+\] = \{"[a-z-]+", EX_[A-Z]+, "[0-9.]+", [0-9]+, "[a-z]+", (true|false)\},$/) {
        printf "%s:%d: a row that cannot be read\n", FILENAME, FNR > "/dev/stderr"
        failed = 1
        exit 1
    }
    split($0, parts, "\"")
    name = parts[2]
    status = parts[6]
    if (!(name in seen))
        names[++count] = name
    seen[name] = 1
    is[name, status] = 1
    good[name] = $0 ~ /, EX_OK,/
}

# The names of a class, as a list of SQL.
function list(class,    i, name, out)
{
    for (i = 1; i <= count; i++) {
        name = names[i]
        if (class == "good" ? good[name] : class == "stored" ? is[name, "stored"] : \
            is[name, "bounced"] && (class == "sometimes") == ((name, "deferred") in is))
            out = out (out == "" ? "" : ", ") "'" name "'"
    }
    return out
}

END {
    if (failed)
        exit 1
    print "-- macro good_outcomes: the message is in its mailbox, or was\n" list("good") "\n"
    print "-- macro stored_outcomes: this attempt stored it\n" list("stored") "\n"
    print "-- macro bounced_outcomes: always a bounce\n" list("always") "\n"
    print "-- macro maybe_bounced_outcomes: a bounce or a deferral\n" list("sometimes") "\n"
}
