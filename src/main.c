/* SPDX-License-Identifier: ISC
 *
 * oncedrop: the table of commands, and what has to be right before any of them runs. */
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/privilege.h"
#include "cmd/cmd.h"
#include "delivery/answer.h"

/* A closed standard descriptor would be taken by the next open(2), and our answer written into that. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* Under Postfix a wrong command line must defer the mail, not bounce it, whatever is wrong with it. */
static int defer_usage(const char *text)
{
    struct report report;
    report_set(&report, OUTCOME_CONFIG, "%s; see oncedrop help", text);
    answer_give(&report);
    return outcome_row(report.outcome)->exit_status;
}

static const char **add_override(const char **overrides, size_t count, const char *text)
{
    overrides = base_realloc(overrides, (count + 2) * sizeof(*overrides));
    overrides[count] = text;
    overrides[count + 1] = NULL;
    return overrides;
}

int main(int argc, char **argv)
{
    static const struct option long_options[] = {{"help", no_argument, NULL, 'h'},
                                                 {"version", no_argument, NULL, 'V'},
                                                 {0}};
    struct cmd_options options = {.config_file = CONFIG_DEFAULT_FILE};
    const char **overrides OD_CLEANUP(base_free) = NULL;
    const char *name = NULL;
    size_t count = 0;
    bool own_settings = false;

    fill_standard_descriptors();
    umask(077);
    setlocale(LC_CTYPE, "C.UTF-8");
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+c:o:vhV", long_options, NULL)) != -1;) {
        switch (c) {
        case 'c':
            options.config_file = optarg;
            own_settings = true;
            break;
        case 'o':
            overrides = add_override(overrides, count++, optarg);
            own_settings = true;
            break;
        case 'v':
            options.verbose = true;
            break;
        case 'h':
            name = "help";
            break;
        case 'V':
            name = "version";
            break;
        default:
            return defer_usage("unknown option before the command, or one without its value");
        }
    }
    options.overrides = overrides;
    if (name == NULL && optind >= argc)
        return defer_usage("no command");
    if (name == NULL)
        name = argv[optind];
    const struct cmd *cmd = cmd_find(name);
    if (cmd == NULL)
        return defer_usage("no such command");
    if ((own_settings || cmd->run != cmd_deliver) && !privilege_drop())
        return defer_usage("the group of the set-group-ID installation cannot be given up");
    char *own_name OD_CLEANUP(base_free) = base_strdup(cmd->name);
    char *own_argv[] = {own_name, NULL};
    bool given = optind < argc && strcmp(argv[optind], cmd->name) == 0; /* not so with --help, --version */
    int cmd_argc = given ? argc - optind : 1;
    char **cmd_argv = given ? argv + optind : own_argv;
    optind = 0; /* glibc: starts getopt(3) anew */
    return cmd->run(&options, cmd_argc, cmd_argv);
}
