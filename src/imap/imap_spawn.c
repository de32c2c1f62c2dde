/* SPDX-License-Identifier: ISC
 *
 * imap.command: a server that greets with PREAUTH (doveadm exec imap, ...), over a socketpair. There is no shell: the
 * setting is first split into words, then %{account} is replaced in each of them. */
#include "imap/imap_connect.h"

#include <errno.h>
#include <glib.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ACCOUNT "%{account}"

static void free_words(char ***words)
{
    g_strfreev(*words);
}

/* The words of the command, or NULL with the fault set. */
static char **command_words(const char *command, const char *account, struct fault *fault)
{
    char **words = NULL;
    GError *error = NULL;
    if (account[0] == '-') {
        fault_set(fault, "imap.command: account %s would be taken for an option", account);
        return NULL;
    }
    if (!g_shell_parse_argv(command, NULL, &words, &error)) {
        fault_set(fault, "imap.command: %s", error->message);
        g_error_free(error);
        return NULL;
    }
    for (char **word = words; *word != NULL; word++) {
        char **pieces = g_strsplit(*word, ACCOUNT, -1);
        g_free(*word);
        *word = g_strjoinv(account, pieces);
        g_strfreev(pieces);
    }
    return words;
}

/* Starts the program; 0 or an error number. */
static int start_command(char **words, int fd, pid_t *ret_child)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigdefault(&attributes, &all); /* SIGPIPE is ignored here, and the command would inherit that */
    posix_spawnattr_setsigmask(&attributes, &none);
    struct rlimit ours = {0};
    bool limited = getrlimit(RLIMIT_DATA, &ours) == 0;
    if (limited) /* delivery.memory applies to us only */
        (void)setrlimit(RLIMIT_DATA, &(struct rlimit){ours.rlim_max, ours.rlim_max});
    int error = posix_spawnp(ret_child, words[0], &actions, &attributes, words, environ);
    if (limited)
        (void)setrlimit(RLIMIT_DATA, &ours);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

int imap_spawn(const struct config *config, const char *account, pid_t *ret_child, struct fault *fault)
{
    char **words OD_CLEANUP(free_words) = command_words(config->imap.command, account, fault);
    if (words == NULL)
        return -1;
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        fault_set(fault, "socketpair: %s", strerror(errno));
        return -1;
    }
    int ours OD_CLEANUP(base_close) = pair[0];
    int theirs OD_CLEANUP(base_close) = pair[1];
    int error = start_command(words, theirs, ret_child);
    if (error != 0) {
        fault_set(fault, "imap.command: cannot run %s: %s", words[0], strerror(error));
        return -1;
    }
    int fd = ours;
    ours = -1;
    return fd;
}

int imap_spawn_reap(pid_t *child)
{
    int status = -1;
    pid_t done = 0;
    if (*child <= 0)
        return -1;
    for (long ms = 1; ms <= 512 && done == 0; ms *= 2) {
        done = waitpid(*child, &status, WNOHANG);
        if (done == 0)
            nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
    }
    if (done == 0) {
        kill(*child, SIGKILL);
        while (waitpid(*child, &status, 0) < 0 && errno == EINTR) {
        }
    }
    *child = 0;
    return done > 0 ? status : -1;
}
