/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <getopt.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 16 /* --name of a command; fewer than any letter */

struct option_row {
    const char *name; /* of --name; a single letter: of -n */
    /* returns false for a wrong value; NULL: a list, of which read_options() takes all values */
    bool (*take)(const struct option_row *row, const char *text, void *to);
    size_t to; /* in struct options */
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

/* Versions of clang-format differ in this. */
/* clang-format off */
#define OPTION(text, function, member, ...) \
    { \
        .name = text, .take = function, .to = offsetof(struct options, member), __VA_ARGS__ \
    }
/* clang-format on */
#define UTF8 "text, in UTF-8"
#define OLD_AGE \
    "an age of at least 7 days (7d, 30d), because Postfix may still retry what is younger; a number without a unit is" \
    " seconds"

static const struct option_row rows[] = {
    OPTION("follow", option_flag, follow),
    OPTION("raw", option_flag, bytes, .group = 's'),
    OPTION("part", option_text, part, .group = 's'),
    OPTION("tries", option_number, tries, .min = 1, .max = 1000000, .allowed = "a number from 1"),
    OPTION("json", option_flag, json, .group = 's'),
    OPTION("utc", option_flag, utc),
    OPTION("dry-run", option_flag, dry_run, .group = 'f'),
    OPTION("running", option_flag, running),
    OPTION("send", option_flag, send, .group = 'q'),
    OPTION("quick", option_flag, quick, .group = 'q'),
    OPTION("n", option_flag, non_default, .group = 'c'),
    OPTION("d", option_flag, defaults, .group = 'c'),
    OPTION("test", option_flag, test, .group = 'c'),
    OPTION("digest", option_flag, digest),
    OPTION("verify", option_flag, verify, .group = 'r'),
    OPTION("force", option_flag, force, .group = 'r'),
    OPTION("missing", option_flag, missing),
    OPTION("prometheus", option_flag, prometheus, .group = 's'),
    OPTION("include-deleted", option_flag, include_deleted),
    OPTION("yes", option_flag, yes, .group = 'f'),
    OPTION("undo", option_flag, undo),
    OPTION("sent-copies", option_flag, sent_copies),
    OPTION("state", option_word, state,
           .allowed = "pending, appending, stored, failed, expired or unfinished (pending or appending)"),
    OPTION("mbox", option_word, mbox, .allowed = "mboxrd, mboxo or mboxcl2"),
    OPTION("recipient", option_text, recipient),
    OPTION("sender", option_text, sender),
    OPTION("mailbox", option_text, mailbox, .allowed = UTF8),
    OPTION("subject", option_text, subject, .allowed = UTF8),
    OPTION("message-id", option_text, message_id, .allowed = UTF8),
    OPTION("queue-id", option_text, queue_id),
    OPTION("since", option_time, since, .allowed = PARSE_SINCE_ALLOWED),
    OPTION("until", option_time, until, .allowed = PARSE_SINCE_ALLOWED),
    OPTION("min-delay", option_age, min_delay_ms, .allowed = "a number and ms, s, m, h or d, such as 5m"),
    OPTION("older-than", option_age, older_than_ms, .min = LEDGER_PURGE_MIN_AGE_MS, .allowed = OLD_AGE),
    OPTION("limit", option_number, limit, .min = 1, .max = INT64_MAX, .allowed = "a number from 1"),
    OPTION("j", option_number, jobs, .min = 1, .max = 64, .allowed = "a number from 1 to 64"),
    OPTION("d", NULL, recipients),
    OPTION("f", option_text, sender),
    OPTION("account", option_text, account),
    OPTION("raw", option_text, raw),
    OPTION("domain", option_text, domain),
    OPTION("transport", option_text, passed_on),
    OPTION("accounts", option_text, passed_on),
    OPTION("conninfo", option_text, passed_on),
    OPTION("postmaster", option_text, passed_on),
    OPTION("root", option_text, passed_on),
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

/* Reports an option for which getopt_long(3) returned c. Returns CMD_USAGE. */
static int refuse_option(const struct cmd *cmd, const struct option *words, int c)
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

static int read_options(struct cmd *cmd, struct grammar *grammar)
{
    opterr = 0;
    for (int c; (c = getopt_long(cmd->argc, cmd->argv, grammar->short_options->str, grammar->words, NULL)) != -1;) {
        if (c == '?' || c == ':')
            return refuse_option(cmd, grammar->words, c);
        const struct option_row *row = grammar->rows[c];
        grammar->values[c] = optarg != NULL ? optarg : "";
        if (row->take == NULL)
            g_ptr_array_add(cmd->options.recipients, optarg);
        g_ptr_array_add(cmd->options.given,
                        base_printf("--%s%s%s", row->name, optarg != NULL ? "=" : "", grammar->values[c]));
    }
    return 0;
}

static int take_values(struct cmd *cmd, const struct grammar *grammar)
{
    const struct option_row *groups[SCHAR_MAX] = {NULL};
    if (g_ptr_array_find_with_equal_func(cmd->options.given, "--utc", g_str_equal, NULL))
        format_time_use_utc(); /* before times are read */
    for (int i = 0; i < SCHAR_MAX; i++) {
        const struct option_row *row = grammar->rows[i];
        const char *value = grammar->values[i];
        if (row == NULL || value == NULL)
            continue;
        if (row->take != NULL && !row->take(row, value, (char *)&cmd->options + row->to))
            return cmd_wrong(cmd, "%s%s %.200s: must be %s", dashes(row), row->name, value, row->allowed);
        const struct option_row **other = &groups[(int)row->group];
        if (row->group != '\0' && *other != NULL)
            return cmd_wrong(cmd, "give only one of %s%s and %s%s", dashes(*other), (*other)->name, dashes(row),
                             row->name);
        *other = row;
    }
    return 0;
}

int options_parse(struct cmd *cmd, const char *synopsis, int min, int max, const char *what)
{
    g_autoptr(GString) short_options = g_string_new(":");
    struct grammar grammar = {.short_options = short_options};
    cmd->options = (struct options){.min_delay_ms = -1, .jobs = 1, .limit = 50};
    cmd->options.recipients = g_ptr_array_new();
    cmd->options.given = g_ptr_array_new_with_free_func(g_free);
    read_synopsis(synopsis, &grammar);
    if (read_options(cmd, &grammar) != 0)
        return CMD_USAGE;
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
