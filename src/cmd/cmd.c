/* SPDX-License-Identifier: ISC
 *
 * What the commands share. */
#include "cmd/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "base/privilege.h"
#include "base/terminal.h"
#include "decode/decode_module.h"
#include "ledger/ledger_remedy.h"
#include "route/route.h"

const char *const cmd_environment[] = {
    "SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT", "SASL_USERNAME", "CREDENTIALS_DIRECTORY", "LANG", "TZ", "TMPDIR", NULL,
};

int cmd_fail(int status, const char *format, ...)
{
    char text[2048], escaped[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    char *line OD_CLEANUP(base_free) = base_printf("oncedrop: %s", log_escape(text, escaped, sizeof(escaped)));
    char *command = isatty(STDERR_FILENO) ? strstr(line, LEDGER_TYPE) : NULL;
    if (command != NULL) {
        command += strlen(LEDGER_TYPE);
        command[-1] = '\0';
    }
    terminal_print(stderr, 2, line);
    if (command != NULL)
        fprintf(stderr, "%s\n", command); /* in one piece, so that it can be copied */
    return status;
}

bool cmd_wrong(char **argv, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    (void)cmd_fail(0, "%s: %s", argv[0], text);
    return false;
}

bool cmd_wrong_value(char **argv, const char *option, const char *value, const char *allowed)
{
    return cmd_wrong(argv, "%s %.200s: must be %s", option, value, allowed);
}

/* Reports an option that getopt_long(3) answered with c: its own messages say too little. Always false. */
static bool refuse_option(char **argv, const struct option *words, int c)
{
    /* optopt is 0 for an unknown long option. For a letter within a group, word is the argument before it. */
    const char *word = argv[optind - 1];
    if (strncmp(word, "--", 2) != 0 || (optopt != 0 && c != ':' && strchr(word, '=') == NULL))
        return cmd_wrong(argv, c == ':' ? "option -%c needs a value" : "unknown option -%c", optopt);
    size_t length = strcspn(word, "=");
    g_autoptr(GString) list = g_string_new(NULL);
    for (; words->name != NULL; words++)
        if (strncmp(words->name, word + 2, length - 2) == 0)
            g_string_append_printf(list, "%s--%s", list->len > 0 ? ", " : "", words->name);
    if (c == ':')
        return cmd_wrong(argv, "option %s needs a value", list->str);
    if (list->len == 0)
        return cmd_wrong(argv, "unknown option %.*s", (int)length, word);
    if (strchr(list->str, ',') != NULL)
        return cmd_wrong(argv, "option %.*s may be any of %s", (int)length, word, list->str);
    return cmd_wrong(argv, "option %s takes no value", list->str);
}

static void take_option(const struct cmd_option *option)
{
    if (option->flag != NULL)
        *option->flag = true;
    else if (option->text != NULL)
        *option->text = optarg;
    else
        g_ptr_array_add(option->list, optarg);
}

bool cmd_parse(int argc, char **argv, const struct cmd_option *options, int least, int most, const char *what)
{
    const struct cmd_option *by_value[256] = {NULL};
    struct option words[16] = {{0}}, *word = words;
    g_autoptr(GString) letters = g_string_new(":");
    for (int value = 1; options != NULL && options->name != NULL; options++, value++) {
        bool takes = options->flag == NULL, is_letter = options->name[1] == '\0';
        if (is_letter)
            g_string_append_printf(letters, "%c%s", *options->name, takes ? ":" : "");
        else
            *word++ = (struct option){options->name, takes ? required_argument : no_argument, NULL, value};
        by_value[is_letter ? (unsigned char)*options->name : value] = options;
    }
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, letters->str, words, NULL)) != -1;) {
        if (c == '?' || c == ':')
            return refuse_option(argv, words, c);
        take_option(by_value[c]);
    }
    if (argc - optind < least)
        return cmd_wrong(argv, "%s is missing", what);
    return argc - optind <= most || cmd_wrong(argv, "unexpected argument '%.200s'", argv[optind + most]);
}

bool cmd_parse_jobs(char **argv, const char *text, size_t *ret)
{
    gint64 jobs = 1;
    if (text != NULL && !g_ascii_string_to_signed(text, 10, 1, 64, &jobs, NULL))
        return cmd_wrong_value(argv, "-j", text, "a number from 1 to 64");
    *ret = (size_t)jobs;
    return true;
}

char *cmd_strip_brackets(const char *id)
{
    size_t length = strlen(id);
    bool enclosed = length >= 2 && id[0] == '<' && id[length - 1] == '>';
    return enclosed ? base_strndup(id + 1, length - 2) : base_strdup(id);
}

static bool is_sent_something(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) != 0 || S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode) ||
           (S_ISREG(input.st_mode) && input.st_size > 0);
}

bool cmd_asks_help(int argc, char **argv, bool delivers)
{
    if (delivers)
        return argc == 2 && strcmp(argv[1], "--help") == 0 && !is_sent_something();
    for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0)
            return true;
    return false;
}

/* Where there is no configuration yet, make install has left a sample. */
static void add_sample(const char *path, struct fault *fault)
{
    char *sample OD_CLEANUP(base_free) = base_printf("%s.sample", path);
    if (access(path, F_OK) != 0 && errno == ENOENT && access(sample, F_OK) == 0)
        fault_set(fault, "%s; to begin with, copy %s there", fault->text, sample);
}

struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault)
{
    struct config *config = config_load(options->config_file, options->overrides, fault);
    if (config == NULL)
        add_sample(options->config_file, fault);
    if (config != NULL && !route_check(config, fault)) {
        fault_prefix(fault, "%s", options->config_file);
        config_free(&config);
    }
    if (config != NULL)
        log_open(config->log.to, config->log.level, options->verbose, log_fd);
    return config;
}

int cmd_open(const struct cmd_options *options, struct config **config, struct ledger **ledger)
{
    struct fault fault;
    *config = cmd_config_load(options, STDERR_FILENO, &fault);
    if (*config == NULL)
        return cmd_fail(EX_CONFIG, "%s", fault.text);
    if (ledger == NULL)
        return 0;
    *ledger = ledger_open(*config, NULL, &fault);
    if (*ledger != NULL)
        return 0;
    config_free(config);
    return cmd_fail(EX_UNAVAILABLE, "%s", fault.text);
}

int cmd_become_service(const struct config *config, bool reads_all)
{
    struct fault fault;
    if (geteuid() == 0)
        (void)!decode_module_load(&fault); /* where root alone may read it; if it fails, so will decoding */
    if (!ledger_login_is_service(config) || privilege_become(config->service.user, reads_all, &fault))
        return 0;
    return cmd_fail(EX_OSERR, "%s", fault.text);
}
