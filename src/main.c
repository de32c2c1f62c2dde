/* SPDX-License-Identifier: ISC
 *
 * oncedrop: parses the options before the command, and runs the command. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/output.h"
#include "cmd/command.h"
#include "delivery/outcome.h"

/* The next open(2) would reuse a closed standard descriptor, and our answer would go to that file. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* What whoever started us ignores or blocks is inherited. With SIGCHLD ignored no child could be waited for. A delivery
 * unblocks what ends it when it has an answer for that (base/deadline.h). */
static void reset_signals(bool delivers)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGCHLD, SIG_DFL);
    if (!delivers)
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Under Postfix a wrong command line must always defer the mail, never bounce it. */
static int refuse_usage(const char *text)
{
    struct report report;
    if (output_is_typed())
        return cmd_fail(EX_USAGE, "%s; see oncedrop help", text);
    report_set(&report, OUTCOME_CONFIG, "%s; see oncedrop help", text);
    report_give(&report);
    return outcome_row(report.outcome)->exit_status;
}

/* Reports an option before the command that getopt_long rejected. */
static int refuse_option(int c, char **argv)
{
    const char *word = argv[optind - 1];
    char letter[] = {'-', (char)optopt, '\0'};
    char *text OD_CLEANUP(base_free) =
        c == ':' ? base_printf("option -%c before the command needs a value", optopt)
                 : base_printf("unknown option %.80s before the command", optopt != 0 ? letter : word);
    return refuse_usage(text);
}

static int refuse_command(const char *name)
{
    const char *nearest = command_nearest(name);
    char *text OD_CLEANUP(base_free) = base_printf("no such command: %.80s%s%s", name,
                                                   nearest != NULL ? "; nearest: " : "",
                                                   nearest != NULL ? nearest : "");
    return refuse_usage(text);
}

static const char **add_override(const char **overrides, size_t count, const char *text)
{
    overrides = base_realloc(overrides, (count + 2) * sizeof(*overrides));
    overrides[count] = text;
    overrides[count + 1] = NULL;
    return overrides;
}

/* Reports what could not be written to standard output, which a script would take for complete; but not to one that
 * has stopped reading. Returns the exit status. */
static int end_output(int status)
{
    int error = fflush(stdout) == 0 ? 0 : errno;
    bool written = error == 0 && ferror(stdout) == 0;
    bool reads = written || !output_reader_gone();
    if (fclose(stdout) != 0) {
        error = errno;
        written = false;
    }
    if (written)
        return status;
    if (status == 0)
        status = EX_IOERR;
    return reads ? cmd_fail(status, "write error: %s", error != 0 ? strerror(error) : "the output is incomplete")
                 : status;
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

    fill_standard_descriptors();
    umask(077);
    setlocale(LC_CTYPE, "C.UTF-8");
    opterr = 0;
    if (base_excess_rights() != NULL)
        return refuse_usage(base_excess_rights());
    for (int c; (c = getopt_long(argc, argv, "+:c:o:vhV", long_options, NULL)) != -1;) {
        switch (c) {
        case 'c':
            options.config_file = optarg;
            break;
        case 'o':
            overrides = add_override(overrides, count++, optarg);
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
            return refuse_option(c, argv);
        }
    }
    options.overrides = overrides;
    if (name == NULL && optind >= argc)
        return refuse_usage("no command");
    if (name == NULL)
        name = argv[optind];
    const struct command *command = command_find(name);
    if (command == NULL)
        return refuse_command(name);
    reset_signals(command->delivers);
    char *own_name OD_CLEANUP(base_free) = base_strdup(command->name);
    char *own_argv[] = {own_name, NULL};
    bool given = optind < argc && strcmp(argv[optind], command->name) == 0; /* false for --help and --version */
    int cmd_argc = given ? argc - optind : 1;
    char **cmd_argv = given ? argv + optind : own_argv;
    if (cmd_asks_help(cmd_argc, cmd_argv, command->delivers)) {
        command_print_help(command);
        return end_output(0);
    }
    optind = 0; /* glibc: restarts getopt(3) */
    int status = command->run(&options, cmd_argc, cmd_argv);
    if (status == CMD_USAGE)
        status = command_usage(command);
    return command->delivers ? status : end_output(status);
}
