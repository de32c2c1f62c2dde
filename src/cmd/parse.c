/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16 /* --name of a command; fewer than any letter */

struct option_row {
    const char *name;                                                       /* of --name; a single letter: of -n */
    bool (*take)(const struct option_row *row, const char *text, void *to); /* returns false for a wrong value */
    size_t to;                                                              /* in struct options */
    const char *allowed;
    int64_t min, max;
    char group; /* options of a group exclude each other */
};

static bool option_flag(const struct option_row *row, const char *text, void *to)
{
    (void)row;
    (void)text;
    return *(bool *)to = true;
}

static bool option_text(const struct option_row *row, const char *text, void *to)
{
    *(const char **)to = text;
    return row->allowed == NULL || (text[0] != '\0' && g_utf8_validate(text, -1, NULL));
}

static bool option_word(const struct option_row *row, const char *text, void *to)
{
    g_auto(GStrv) words = g_strsplit_set(row->allowed, " ,()", -1);
    *(const char **)to = text;
    return text[0] != '\0' && strcmp(text, "or") != 0 && g_strv_contains((const char *const *)words, text);
}

/* read_options() takes all values. */
static bool option_list(const struct option_row *row, const char *text, void *to)
{
    (void)row;
    (void)text;
    return to != NULL;
}

static bool option_number(const struct option_row *row, const char *text, void *to)
{
    return g_ascii_string_to_signed(text, 10, row->min, row->max, to, NULL);
}

static bool option_age(const struct option_row *row, const char *text, void *to)
{
    return config_parse_duration(text, to) && *(int64_t *)to >= row->min;
}

static bool option_time(const struct option_row *row, const char *text, void *to)
{
    (void)row;
    return parse_since(text, to);
}

#define TO(member) offsetof(struct options, member)
/* Versions of clang-format differ in these. */
/* clang-format off */
#define FLAG(name, member, group) \
    { \
        name, option_flag, TO(member), NULL, 0, 0, group \
    }
#define VALUE(name, take, member, allowed) \
    { \
        name, take, TO(member), allowed, 0, 0, 0 \
    }
#define NUMBER(name, take, member, min, max, allowed) \
    { \
        name, take, TO(member), allowed, min, max, 0 \
    }
/* clang-format on */
#define UTF8 "text, in UTF-8"

static const struct option_row rows[] = {
    FLAG("json", json, 's'),
    FLAG("utc", utc, 0),
    FLAG("dry-run", dry_run, 'f'),
    FLAG("running", running, 0),
    FLAG("send", send, 'q'),
    FLAG("quick", quick, 'q'),
    FLAG("n", non_default, 'c'),
    FLAG("d", defaults, 'c'),
    FLAG("test", test, 'c'),
    FLAG("digest", digest, 0),
    FLAG("verify", verify, 'r'),
    FLAG("force", force, 'r'),
    FLAG("missing", missing, 0),
    FLAG("prometheus", prometheus, 's'),
    FLAG("include-deleted", include_deleted, 0),
    FLAG("yes", yes, 'f'),
    FLAG("undo", undo, 0),
    FLAG("sent-copies", sent_copies, 0),
    VALUE("state", option_word, state,
          "pending, appending, stored, failed, expired or unfinished (pending or appending)"),
    VALUE("mbox", option_word, mbox, "mboxrd, mboxo or mboxcl2"),
    VALUE("recipient", option_text, recipient, NULL),
    VALUE("sender", option_text, sender, NULL),
    VALUE("mailbox", option_text, mailbox, UTF8),
    VALUE("subject", option_text, subject, UTF8),
    VALUE("message-id", option_text, message_id, UTF8),
    VALUE("queue-id", option_text, queue_id, NULL),
    VALUE("since", option_time, since, PARSE_SINCE_ALLOWED),
    VALUE("until", option_time, until, PARSE_SINCE_ALLOWED),
    VALUE("min-delay", option_age, min_delay_ms, "a number and ms, s, m, h or d, such as 5m"),
    NUMBER("older-than", option_age, older_than_ms, LEDGER_PURGE_MIN_AGE_MS, 0,
           "an age of at least 7 days (7d, 30d), because Postfix may still retry what is younger; a number without a"
           " unit is seconds"),
    NUMBER("limit", option_number, limit, 1, INT64_MAX, "a number from 1"),
    NUMBER("j", option_number, jobs, 1, 64, "a number from 1 to 64"),
    VALUE("d", option_list, recipients, NULL),
    VALUE("f", option_text, sender, NULL),
    VALUE("account", option_text, account, NULL),
    VALUE("raw", option_text, raw, NULL),
    VALUE("domain", option_text, domain, NULL),
    VALUE("transport", option_text, passed_on, NULL),
    VALUE("accounts", option_text, passed_on, NULL),
    VALUE("conninfo", option_text, passed_on, NULL),
    VALUE("postmaster", option_text, passed_on, NULL),
    VALUE("root", option_text, passed_on, NULL),
};

/* What a command takes. Indices are short_options or, for --name, 1, 2 ... */
struct grammar {
    const struct option_row *rows[SCHAR_MAX];
    const char *values[SCHAR_MAX]; /* the last; NULL: not given */
    struct option words[WORDS_MAX + 1];
    GString *short_options;
};

static const char *dashes(const struct option_row *row)
{
    return row->name[1] == '\0' ? "-" : "--";
}

static const struct option_row *find_row(const char *name, size_t length, bool takes)
{
    for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
        if (strncmp(rows[i].name, name, length) == 0 && rows[i].name[length] == '\0' &&
            (rows[i].take != option_flag) == takes)
            return &rows[i];
    return NULL;
}

static void add_option_word(struct grammar *grammar, const struct option_row *row)
{
    size_t count = 0;
    while (grammar->rows[count + 1] != NULL && grammar->rows[count + 1] != row)
        count++;
    if (grammar->rows[count + 1] == row) /* of another form of the command line */
        return;
    if (count == WORDS_MAX)
        abort();
    int argument = row->take == option_flag ? no_argument : required_argument;
    grammar->words[count] = (struct option){row->name, argument, NULL, (int)count + 1};
    grammar->rows[count + 1] = row;
}

/* An option takes a value if a word in capitals follows. */
static void read_synopsis(const char *synopsis, struct grammar *grammar)
{
    g_auto(GStrv) words = g_strsplit_set(synopsis, " \n", -1);
    for (char **word = words; *word != NULL; word++) {
        const char *name = *word + strspn(*word, "[");
        size_t dash = strspn(name, "-"), length = strcspn(name + dash, "]");
        bool takes = name[dash + length] == '\0' && word[1] != NULL && g_ascii_isupper(word[1][0]);
        const struct option_row *row = dash > 0 ? find_row(name + dash, length, takes) : NULL;
        if (row != NULL && dash == 1) {
            g_string_append_printf(grammar->short_options, "%s%s", row->name, takes ? ":" : "");
            grammar->rows[(int)row->name[0]] = row;
        } else if (row != NULL) {
            add_option_word(grammar, row);
        }
    }
}

/* Reports an option for which getopt_long(3) returned c. Returns false. */
static bool refuse_option(const struct cmd *cmd, const struct option *words, int c)
{
    /* optopt is 0 for an unknown long option; in a group of short_options, word is the argument before. */
    const char *word = cmd->argv[optind - 1];
    if (strncmp(word, "--", 2) != 0 || (optopt != 0 && c != ':' && strchr(word, '=') == NULL))
        return cmd_wrong(cmd, c == ':' ? "option -%c needs a value" : "unknown option -%c", optopt);
    int length = (int)strcspn(word, "=");
    g_autoptr(GString) list = g_string_new(NULL);
    for (; words->name != NULL; words++)
        if (strncmp(words->name, word + 2, (size_t)length - 2) == 0)
            g_string_append_printf(list, "%s--%s", list->len > 0 ? ", " : "", words->name);
    if (c == ':')
        return cmd_wrong(cmd, "option %s needs a value", list->str);
    if (list->len == 0)
        return cmd_wrong(cmd, "unknown option %.*s", length, word);
    if (strchr(list->str, ',') != NULL)
        return cmd_wrong(cmd, "option %.*s may be any of %s", length, word, list->str);
    return cmd_wrong(cmd, "option %s takes no value", list->str);
}

static bool read_options(struct cmd *cmd, struct grammar *grammar)
{
    opterr = 0;
    for (int c; (c = getopt_long(cmd->argc, cmd->argv, grammar->short_options->str, grammar->words, NULL)) != -1;) {
        if (c == '?' || c == ':')
            return refuse_option(cmd, grammar->words, c);
        const struct option_row *row = grammar->rows[c];
        grammar->values[c] = optarg != NULL ? optarg : "";
        if (row->take == option_list)
            g_ptr_array_add(cmd->options.recipients, optarg);
        g_ptr_array_add(cmd->options.given,
                        base_printf("--%s%s%s", row->name, optarg != NULL ? "=" : "", grammar->values[c]));
    }
    return true;
}

static bool take_values(struct cmd *cmd, const struct grammar *grammar)
{
    const struct option_row *groups[SCHAR_MAX] = {NULL};
    if (g_ptr_array_find_with_equal_func(cmd->options.given, "--utc", g_str_equal, NULL))
        format_time_use_utc(); /* before times are read */
    for (int i = 0; i < SCHAR_MAX; i++) {
        const struct option_row *row = grammar->rows[i];
        const char *value = grammar->values[i];
        if (row == NULL || value == NULL)
            continue;
        if (!row->take(row, value, (char *)&cmd->options + row->to))
            return cmd_wrong(cmd, "%s%s %.200s: must be %s", dashes(row), row->name, value, row->allowed);
        const struct option_row **other = &groups[(int)row->group];
        if (row->group != '\0' && *other != NULL)
            return cmd_wrong(cmd, "give only one of %s%s and %s%s", dashes(*other), (*other)->name, dashes(row),
                             row->name);
        *other = row;
    }
    return true;
}

bool options_parse(struct cmd *cmd, const char *synopsis, int min, int max, const char *what)
{
    struct grammar grammar = {.short_options = g_string_new(":")};
    cmd->options = (struct options){.min_delay_ms = -1, .jobs = 1, .limit = 50};
    cmd->options.recipients = g_ptr_array_new();
    cmd->options.given = g_ptr_array_new_with_free_func(g_free);
    read_synopsis(synopsis, &grammar);
    bool good = read_options(cmd, &grammar);
    g_string_free(grammar.short_options, TRUE);
    if (!good)
        return false;
    cmd->operands = cmd->argv + optind;
    int count = cmd->argc - optind;
    if (count < min)
        return cmd_wrong(cmd, "%s is missing", what);
    if (count > max)
        return cmd_wrong(cmd, "unexpected argument '%.200s'", cmd->operands[max]);
    return take_values(cmd, &grammar);
}

void options_clear(struct options *options)
{
    g_clear_pointer(&options->recipients, g_ptr_array_unref);
    g_clear_pointer(&options->given, g_ptr_array_unref);
}
