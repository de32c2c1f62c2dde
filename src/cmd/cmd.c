/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/log.h"
#include "route/route.h"

const char *const cmd_environment[] = {
    "SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT", "SASL_USERNAME", "LANG", "TZ", "TMPDIR", NULL,
};

const struct cmd cmd_table[] = {
    {"deliver", cmd_deliver, true,
     "[-f SENDER] [-d RECIPIENT] [-a ORIGINAL_RECIPIENT] [-q QUEUE_ID] [-s SIZE] [-u SASL_USER] < message",
     "deliver one message to one recipient",
     "Reads the message from standard input. What is not on the command line comes from the environment that Postfix\n"
     "local(8) sets, then from the header. Exit status 0: stored, or there already; 75: Postfix is to try again;\n"
     "67, 69, 65: refused for good. The one line of output says which and why.\n"},
    {"lmtp", cmd_lmtp, true, "", "serve LMTP on standard input and output",
     "For Postfix spawn(8), a systemd socket with Accept=yes, or inetd. All recipients of a message are delivered under\n"
     "one lock, each with a reply of its own; the database and IMAP sessions are kept from message to message.\n"},
    {"schema", cmd_schema, false, "install|upgrade|print|version", "create or upgrade the tables in the database",
     "install creates the schema of the setting database.schema, upgrade brings it to this program's version, print\n"
     "writes the SQL to standard output, version tells both versions. install and upgrade need the rights to create\n"
     "a schema; a delivery needs only those of the role SCHEMA_delivery, which install creates.\n"},
    {"check", cmd_check, false, "[ACCOUNT]", "see whether everything is in place",
     "Looks at the configuration, the database, the schema, whether the lock really excludes, logs in to IMAP as ACCOUNT,\n"
     "and compares Postfix's limits with ours when postconf(1) is there.\n"
     "Exit status 0: all is well; 1: something is not.\n"},
    {"config", cmd_config, false, "[-n | -d]", "print the settings in force",
     "-n prints those that differ from the defaults, -d the defaults.\n"},
    {"show", cmd_show, false, "MESSAGE-ID|QUEUE-ID|DIGEST", "tell everything known of a message, and the key of its lock",
     "The id may stand in <>. For an id that is not known the lock key is printed all the same.\n"
     "Exit status 0: known; 1: not known.\n"},
    {"locks", cmd_locks, false, "", "list deliveries in progress",
     "One line for each claim under way: key of the lock, Message-ID, host, process, age.\n"},
    {"version", cmd_version, false, "", "print the version", ""},
    {"help", cmd_help, false, "[COMMAND]", "explain a command", ""},
    {NULL, NULL, false, NULL, NULL, NULL},
};

const struct cmd *cmd_find(const char *name)
{
    for (const struct cmd *cmd = cmd_table; cmd->name != NULL; cmd++)
        if (strcmp(cmd->name, name) == 0)
            return cmd;
    return NULL;
}

int cmd_fail(int status, const char *format, ...)
{
    char text[2048], escaped[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    fprintf(stderr, "oncedrop: %s\n", log_escape(text, escaped, sizeof(escaped)));
    return status;
}

int cmd_usage(const char *name)
{
    const struct cmd *cmd = cmd_find(name);
    fprintf(stderr, "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... %s %s\n", name,
            cmd != NULL ? cmd->arguments : "");
    return EX_USAGE;
}

struct config *cmd_config_load(const struct cmd_options *options, int log_fd, struct fault *fault)
{
    struct config *config = config_load(options->config_file, options->overrides, fault);
    if (config != NULL && !route_check(config, fault))
        config_free(&config);
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

int cmd_config(const struct cmd_options *options, int argc, char **argv)
{
    enum config_print which = CONFIG_PRINT_ALL;
    if (argc == 2 && strcmp(argv[1], "-n") == 0)
        which = CONFIG_PRINT_NON_DEFAULT;
    else if (argc == 2 && strcmp(argv[1], "-d") == 0)
        which = CONFIG_PRINT_DEFAULTS;
    else if (argc != 1)
        return cmd_usage("config");
    struct config *config OD_CLEANUP(config_free) = NULL;
    if (which == CONFIG_PRINT_DEFAULTS) {
        config = config_defaults();
    } else {
        int status = cmd_open(options, &config, NULL);
        if (status != 0)
            return status;
    }
    config_print(stdout, config, which);
    return 0;
}

int cmd_version(const struct cmd_options *options, int argc, char **argv)
{
    (void)options;
    (void)argc;
    (void)argv;
    puts("oncedrop " VERSION);
    return 0;
}

int cmd_help(const struct cmd_options *options, int argc, char **argv)
{
    (void)options;
    const struct cmd *cmd = argc > 1 ? cmd_find(argv[1]) : NULL;
    if (argc > 1 && cmd == NULL)
        return cmd_fail(EX_USAGE, "no such command: %s; see oncedrop help", argv[1]);
    if (cmd != NULL) {
        printf("oncedrop %s %s\n\n%s%s\n%s", cmd->name, cmd->arguments, cmd->summary, cmd->help[0] != '\0' ? ".\n" : "",
               cmd->help);
        return 0;
    }
    puts("oncedrop delivers mail from Postfix over IMAP, exactly once.\n\n"
         "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... COMMAND\n");
    for (cmd = cmd_table; cmd->name != NULL; cmd++)
        printf("  %-10s%s\n", cmd->name, cmd->summary);
    puts("\n  -c FILE               configuration file (default " CONFIG_DEFAULT_FILE ")\n"
         "  -o GROUP.NAME=VALUE   override one setting, repeatable\n"
         "  -v                    more log, also to stderr\n\n"
         "More: oncedrop help COMMAND, oncedrop(1), oncedrop.conf(5).");
    return 0;
}
