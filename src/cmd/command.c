/* SPDX-License-Identifier: ISC
 *
 * The table of commands, and help. */
#include "cmd/cmd.h"

#include <glib.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "command_pages.h" /* PAGE_DELIVER ... */

static int run_help(struct cmd *cmd);

static const struct command commands[] = {
    {"deliver", cmd_deliver, true, false, 0, 0, NULL, PAGE_DELIVER},
    {"lmtp", cmd_lmtp, true, false, 0, 0, NULL, PAGE_LMTP},
    {"serve", cmd_serve, false, false, 0, 0, NULL, PAGE_SERVE},
    {"replay", cmd_replay, false, false, 1, INT_MAX, "PATH", PAGE_REPLAY},
    {"resume", cmd_resume, false, true, 0, 0, NULL, PAGE_RESUME},
    {"restore", cmd_restore, false, true, 0, 0, NULL, PAGE_RESTORE},
    {"setup", cmd_setup, false, false, 0, 0, NULL, PAGE_SETUP},
    {"schema", cmd_schema, false, false, 1, 1, CMD_SCHEMA_WORDS, PAGE_SCHEMA},
    {"ledger", cmd_ledger, false, false, 1, 2, CMD_LEDGER_WORDS, PAGE_LEDGER},
    {"check", cmd_check, false, false, 0, 1, NULL, PAGE_CHECK},
    {"route", cmd_route, false, false, 1, INT_MAX, "ADDRESS", PAGE_ROUTE},
    {"config", cmd_config, false, false, 0, 0, NULL, PAGE_CONFIG},
    {"show", cmd_show, false, false, 1, 1, "the id of a message", PAGE_SHOW},
    {"list", cmd_list, false, false, 0, 0, NULL, PAGE_LIST},
    {"feed", cmd_feed, false, false, 1, INT_MAX, CMD_FEED_WORDS, PAGE_FEED},
    {"locks", cmd_locks, false, true, 0, 0, NULL, PAGE_LOCKS},
    {"stats", cmd_stats, false, false, 0, 0, NULL, PAGE_STATS},
    {"purge", cmd_purge, false, false, 0, 0, NULL, PAGE_PURGE},
    {"expire", cmd_expire, false, true, 0, INT_MAX, NULL, PAGE_EXPIRE},
    {"export", cmd_export, false, false, 1, 1, "an address", PAGE_EXPORT},
    {"forget", cmd_forget, false, false, 1, 1, "an address", PAGE_FORGET},
    {"version", cmd_version, false, false, 0, 0, NULL, PAGE_VERSION},
    {"help", run_help, false, false, 0, 1, NULL, PAGE_HELP},
    {.name = NULL},
};

const struct command *command_find(const char *name)
{
    for (const struct command *command = commands; command->name != NULL; command++)
        if (strcmp(command->name, name) == 0)
            return command;
    return NULL;
}

/* Returns true if at most one character inserted, deleted, replaced, or exchanged with the next one, makes a of b. */
static bool is_near(const char *a, const char *b)
{
    for (; *a == *b; a++, b++)
        if (*a == '\0')
            return true;
    if (*a == '\0' || *b == '\0')
        return strlen(a) + strlen(b) == 1;
    return strcmp(a + 1, b) == 0 || strcmp(a, b + 1) == 0 || strcmp(a + 1, b + 1) == 0 ||
           (a[0] == b[1] && a[1] == b[0] && strcmp(a + 2, b + 2) == 0);
}

const char *command_suggest(const char *name)
{
    g_autofree char *lower = g_ascii_strdown(name, -1);
    for (const struct command *command = commands; command->name != NULL; command++)
        if (is_near(lower, command->name) || (strlen(lower) > 2 && strstr(command->name, lower) != NULL))
            return command->name;
    return NULL;
}

/* Prints each form of the command line on its own line: `first` and then `next` stand before the name. */
static void print_forms(FILE *out, const struct command *command, const char *first, const char *next)
{
    const char *before = first, *form = command->arguments;
    do {
        int length = (int)strcspn(form, "\n");
        fprintf(out, "%s%s%s%.*s\n", before, command->name, length > 0 ? " " : "", length, form);
        before = next;
        form += length;
    } while (*form++ == '\n');
}

static int usage(const struct command *command)
{
    print_forms(stderr, command, "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... ", "   or: oncedrop ");
    return EX_USAGE;
}

void command_print_help(const struct command *command)
{
    print_forms(stdout, command, "oncedrop ", "oncedrop ");
    printf("\n%c%s.\n\n%s\nMore: oncedrop-%s(1).\n", g_ascii_toupper(command->summary[0]), command->summary + 1,
           command->help, command->name);
}

static int run_help(struct cmd *cmd)
{
    const char *name = cmd->operands[0];
    const struct command *command = name != NULL ? command_find(name) : NULL;
    if (name != NULL && command == NULL) {
        const char *suggestion = command_suggest(name);
        return cmd_fail(EX_USAGE, "help: no such command: %s%s%s; see oncedrop help", name,
                        suggestion != NULL ? "; nearest: " : "", suggestion != NULL ? suggestion : "");
    }
    if (command != NULL) {
        command_print_help(command);
        return 0;
    }
    puts(
        "oncedrop delivers mail from Postfix over IMAP, exactly once.\n\n"
        "usage: oncedrop [-v] [-c FILE] [-o GROUP.NAME=VALUE]... COMMAND\n");
    for (command = commands; command->name != NULL; command++)
        printf("  %-10s%s\n", command->name, command->summary);
    puts("\n  -c FILE               configuration file (default " CONFIG_DEFAULT_FILE
         ")\n"
         "  -o GROUP.NAME=VALUE   override one setting, repeatable\n"
         "  -v                    log more, also to stderr\n\n"
         "More: oncedrop help COMMAND, oncedrop(1), oncedrop.conf(5).");
    return 0;
}

int command_run(const struct command *command, struct cmd *cmd)
{
    int status = 0;
    if (!command->delivers)
        status = options_parse(cmd, command->arguments, command->min, command->max, command->what);
    if (status == 0 && command->opens_ledger)
        status = cmd_open_ledger(cmd);
    if (status == 0)
        status = command->run(cmd);
    options_clear(&cmd->options);
    return status == CMD_USAGE ? usage(command) : status;
}
