/* SPDX-License-Identifier: ISC
 *
 * oncedrop: parses options before the command, and runs it. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "commit.h"
#include "delivery/outcome.h"
#include "delivery/sessions.h"
#include "front/front.h"
#include "module_build.h"

/* Otherwise open(2) would reuse a closed descriptor, and our reply would go to that file. */
static void fill_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

/* For commands without their own handler. */
static void end_by_bus(int signal)
{
    static const char text[] = "oncedrop: " DEADLINE_BUS "\n";
    (void)signal;
    (void)!write(STDERR_FILENO, text, sizeof(text) - 1);
    _exit(EX_TEMPFAIL);
}

/* With SIGCHLD ignored, no child could be waited for. A delivery unblocks signals when it can reply
 * (base/deadline.c). */
static void reset_inherited_signals(bool delivers)
{
    sigset_t none;
    sigemptyset(&none);
    signal(SIGCHLD, SIG_DFL);
    if (!delivers)
        sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Reports a wrong command line. Postfix must defer the mail, never bounce. */
OD_PRINTF(1, 2) static int refuse_usage(const char *format, ...)
{
    struct report report;
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    report_set(&report, OUTCOME_CONFIG, "%s; see oncedrop help", text);
    if (output_is_typed())
        return cmd_fail(EX_USAGE, "%s", report.text);
    report_write(&report);
    return outcome_row(report.outcome)->exit_status;
}

/* Reports an option that getopt_long rejected. */
static int refuse_word(int c, char **argv)
{
    char option[] = {'-', (char)optopt, '\0'};
    if (c == ':')
        return refuse_usage("option -%c before the command needs a value", optopt);
    return refuse_usage("unknown option %.80s before the command", optopt != 0 ? option : argv[optind - 1]);
}

static int refuse_command(const char *name)
{
    const char *suggestion = command_suggest(name);
    return refuse_usage("no such command: %.80s%s%s", name, suggestion != NULL ? "; nearest: " : "",
                        suggestion != NULL ? suggestion : "");
}

static bool is_sent_something(void)
{
    struct stat input;
    return fstat(STDIN_FILENO, &input) != 0 || S_ISFIFO(input.st_mode) || S_ISSOCK(input.st_mode) ||
           (S_ISREG(input.st_mode) && input.st_size > 0);
}

/* Returns true for --help. For a delivery, it must be alone, with no message on standard input: exit status 0 means
 * delivered. */
static bool asks_help(const struct cmd *cmd, bool delivers)
{
    if (delivers)
        return cmd->argc == 2 && strcmp(cmd->argv[1], "--help") == 0 && !is_sent_something();
    for (int i = 1; i < cmd->argc && strcmp(cmd->argv[i], "--") != 0; i++)
        if (strcmp(cmd->argv[i], "--help") == 0)
            return true;
    return false;
}

/* Reports lost output, which a script would take for complete, unless the peer closed. Returns the exit status. */
static int end_output(int status)
{
    int error = fflush(stdout) == 0 ? 0 : errno;
    bool written = error == 0 && ferror(stdout) == 0;
    bool reads = written || !output_peer_closed();
    if (fclose(stdout) != 0) {
        error = errno;
        written = false;
    }
    if (written)
        return status;
    if (status == 0)
        status = EX_IOERR;
    return reads ? cmd_fail(status, "cannot write the output: %s", error != 0 ? strerror(error) : "it is incomplete")
                 : status;
}

/* Parses options before the command into cmd and overrides (argc + 1 elements). Returns the command's name. NULL: an
 * error was reported, and *ret_status is set. */
static const char *parse_global_options(int argc, char **argv, struct cmd *cmd, const char **overrides, int *ret_status)
{
    static const struct option words[] = {{"help", no_argument, NULL, 'h'}, {"version", no_argument, NULL, 'V'}, {0}};
    const char *name = NULL;
    optind = 0; /* glibc: restarts getopt(3), which the front called */
    opterr = 0;
    for (int c; (c = getopt_long(argc, argv, "+:c:o:vhV", words, NULL)) != -1;) {
        switch (c) {
        case 'c':
            cmd->config_file = optarg;
            break;
        case 'o':
            *overrides++ = optarg;
            break;
        case 'v':
            cmd->verbose = true;
            break;
        case 'h':
            name = "help";
            break;
        case 'V':
            name = "version";
            break;
        default:
            *ret_status = refuse_word(c, argv);
            return NULL;
        }
    }
    if (name != NULL || optind < argc)
        return name != NULL ? name : argv[optind];
    *ret_status = refuse_usage("no command");
    return NULL;
}

static int run_command(const struct command *command, struct cmd *cmd)
{
    reset_inherited_signals(command->delivers);
    signal(SIGBUS, end_by_bus);
    if (asks_help(cmd, command->delivers)) {
        command_print_help(command);
        return end_output(0);
    }
    optind = 0; /* glibc: restarts getopt(3) */
    int status = command_run(command, cmd);
    sessions_free(&cmd->sessions);
    ledger_close(&cmd->ledger);
    config_free(&cmd->config);
    return command->delivers ? status : end_output(status);
}

static int run_words(int argc, char **argv)
{
    const char **overrides OD_CLEANUP(base_free) = base_alloc(((size_t)argc + 1) * sizeof(*overrides));
    struct cmd cmd = {.config_file = CONFIG_DEFAULT_FILE, .overrides = overrides, .commit = COMMIT};
    int status = EX_USAGE;
    fill_standard_descriptors();
    umask(077);
    setlocale(LC_CTYPE, "C.UTF-8");
    const char *name = parse_global_options(argc, argv, &cmd, overrides, &status);
    if (name == NULL)
        return status;
    const struct command *command = command_find(name);
    if (command == NULL)
        return refuse_command(name);
    char *own_name OD_CLEANUP(base_free) = base_strdup(command->name);
    char *own_argv[] = {own_name, NULL};
    bool given = optind < argc && strcmp(argv[optind], command->name) == 0; /* not for --help, --version */
    cmd.argc = given ? argc - optind : 1;
    cmd.argv = given ? argv + optind : own_argv;
    return run_command(command, &cmd);
}

/* read by module_load */
extern const char oncedrop_program_build[];
extern const struct front_program oncedrop_program;
const char oncedrop_program_build[] = MODULE_BUILD;
const struct front_program oncedrop_program = {run_words, iconv_open, iconv};
