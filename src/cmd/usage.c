/* SPDX-License-Identifier: ISC
 *
 * Option parsing for people. getopt_long(3)'s own messages say too little, so it is silenced. */
#include "cmd/usage.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"

bool usage_wrong(char **argv, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)cmd_fail(0, "%s: %s", argv[0], text);
    return false;
}

bool usage_value(char **argv, const char *option, const char *value, const char *allowed)
{
    return usage_wrong(argv, "%s %.200s: must be %s", option, value, allowed);
}

/* The long options that begin like this, as "--state, --since"; a new string. */
static char *candidates(const struct option *words, const char *word)
{
    char *list = base_strdup("");
    size_t length = strcspn(word + 2, "=");
    for (; words->name != NULL; words++) {
        if (strncmp(words->name, word + 2, length) != 0)
            continue;
        char *longer = base_printf("%s%s--%s", list, *list != '\0' ? ", " : "", words->name);
        base_free(&list);
        list = longer;
    }
    return list;
}

/* Reports what is wrong with a long option; word: as it was given. */
static void explain_word(char **argv, const struct option *words, const char *word, bool lacks_value)
{
    char *list OD_CLEANUP(base_free) = candidates(words, word);
    int length = (int)strcspn(word, "=");
    if (lacks_value)
        usage_wrong(argv, "option %s needs a value", list);
    else if (*list == '\0')
        usage_wrong(argv, "unknown option %.*s", length, word);
    else if (strchr(list, ',') != NULL)
        usage_wrong(argv, "option %.*s may be any of %s", length, word, list);
    else
        usage_wrong(argv, "option %s takes no value", list);
}

int usage_option(int argc, char **argv, const char *letters, const struct option *words)
{
    char silent[32] = ":";
    opterr = 0;
    strncat(silent, letters, sizeof(silent) - 2);
    int c = getopt_long(argc, argv, silent, words, NULL);
    if (c != '?' && c != ':')
        return c;
    /* optopt is 0 for an unknown long option. For a letter within a group, word is the argument before it. */
    const char *word = argv[optind - 1];
    bool is_word = strncmp(word, "--", 2) == 0 && (optopt == 0 || c == ':' || strchr(word, '=') != NULL);
    if (is_word)
        explain_word(argv, words, word, c == ':');
    else
        usage_wrong(argv, c == ':' ? "option -%c needs a value" : "unknown option -%c", optopt);
    return USAGE_WRONG;
}

bool usage_json(int argc, char **argv, bool *ret)
{
    static const struct option words[] = {{"json", no_argument, NULL, 'J'}, {0}};
    for (int c; (c = usage_option(argc, argv, "", words)) != -1;) {
        if (c == USAGE_WRONG)
            return false;
        *ret = true;
    }
    return true;
}

bool usage_operands(int argc, char **argv, int least, int most, const char *what)
{
    int count = argc - optind;
    if (count < least)
        return usage_wrong(argv, "%s is missing", what);
    if (count > most)
        return usage_wrong(argv, "unexpected argument '%.200s'", argv[optind + most]);
    return true;
}

bool usage_is_typed(void)
{
    return isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

static bool is_sent_something(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) != 0 || S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode) ||
           (S_ISREG(input.st_mode) && input.st_size > 0);
}

bool usage_asks_help(int argc, char **argv, bool delivers)
{
    if (delivers)
        return argc == 2 && strcmp(argv[1], "--help") == 0 && !is_sent_something();
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}
