/* SPDX-License-Identifier: ISC
 *
 * The program that users call. Hands a `deliver` over to the service. The full program replaces it for all else, and
 * for what the service does not take. Uses only libc: most of a delivery's time is the full program's start. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/config.h"
#include "front/front_internal.h"

#define NAME "oncedrop-main"
#define INSTALLED LIBEXECDIR "/oncedrop/" NAME
#define READ_MS 60000 /* to read the message */

_Static_assert(READ_MS + FRONT_TURN_MS + FRONT_HAND_OVER_MS + FRONT_REPLY_MS <= CONFIG_FRONT_MS,
               "Postfix's limit is checked for this");
_Static_assert(FRONT_LIBRARIES_MS <= FRONT_REPLY_MS, "nothing is executed after a wait for a reply");

static void defer_by_signal(int signal)
{
    static const char over[] = "4.3.0 the deadline is over\n";
    static const char asked[] = "4.3.0 ended by a signal\n";
    if (signal == SIGALRM)
        output_exit(over, sizeof(over) - 1);
    output_exit(asked, sizeof(asked) - 1);
}

static int write_reply(const char *code, const char *text, int status)
{
    char line[FRONT_REPLY_MAX + 8]; /* malloc(3) costs system calls */
    snprintf(line, sizeof(line), "%s%s\n", code, text);
    output_write_reply(line, strlen(line), status);
    return status;
}

static int defer(const char *text)
{
    return write_reply("4.3.0 ", text, EX_TEMPFAIL);
}

/* Writes this program's path; returns the length of its directory, with the slash; 0: unknown. */
static size_t find_own_directory(char path[PATH_MAX])
{
    ssize_t length = readlink("/proc/self/exe", path, PATH_MAX);
    const char *slash = length > 0 ? memrchr(path, '/', (size_t)length) : NULL;
    return slash != NULL ? (size_t)(slash + 1 - path) : 0;
}

/* Finds the full program: next to this one, in ../libexec/oncedrop, else where `make install` puts it. If one is
 * unusable, tries no other. */
static void find_program(char path[PATH_MAX])
{
    static const char *const below[] = {NAME, "../libexec/oncedrop/" NAME};
    size_t length = find_own_directory(path);
    for (size_t i = 0; i < sizeof(below) / sizeof(*below) && length > 0; i++) {
        if (length + strlen(below[i]) >= PATH_MAX)
            break;
        strcpy(path + length, below[i]);
        if (access(path, F_OK) == 0 || errno == EACCES)
            return;
    }
    strcpy(path, INSTALLED);
}

/* Skips -v, and -c and -o with their values. */
static const char *command_of(char **argv)
{
    size_t at = argv[0] != NULL ? 1 : 0;
    for (; argv[at] != NULL && argv[at][0] == '-'; at++) {
        const char *takes = strpbrk(argv[at], "co");
        if (takes != NULL && takes[1] == '\0' && argv[at + 1] != NULL)
            at++;
    }
    return argv[at] != NULL ? argv[at] : "";
}

/* Reports a failed execve(2), which defers mail unless the command was typed. Returns the exit status. */
static int cannot_execute(const char *command, const char *path, const char *why)
{
    char *line OD_CLEANUP(base_free) = base_printf("cannot execute %s: %s", path, why);
    if (output_is_typed()) {
        fprintf(stderr, "oncedrop: %s\n", line);
        return EX_UNAVAILABLE;
    }
    /* LMTP clients read a greeting; Postfix a status and a code */
    bool lmtp = strcmp(command, "lmtp") == 0;
    char *reply OD_CLEANUP(base_free) = base_printf(lmtp ? "421 4.3.5 %s\r\n" : "4.3.5 %s\n", line);
    output_write_reply(reply, strlen(reply), EX_TEMPFAIL);
    return EX_TEMPFAIL;
}

/* Executes the full program; returns the exit status on failure. One that is truncated or lacks a library would die
 * silently, or Postfix would bounce. If it is unreadable, execve(2) decides. */
static int execute_program(char **argv)
{
    char path[PATH_MAX];
    struct error error;
    const char *command = command_of(argv);
    bool mail = strcmp(command, "deliver") == 0 || strcmp(command, "lmtp") == 0;
    find_program(path);
    if (elf_file_is_complete(path) || errno == EACCES) {
        if (mail && !front_libraries_suffice(path, &error))
            return cannot_execute(command, path, error.text);
        execv(path, argv);
    }
    error_set(&error, "%s; install it again, by `make install' or Debian's package oncedrop", strerror(errno));
    return cannot_execute(command, path, error.text);
}

static int deliver_otherwise(struct front_message *message, char **argv)
{
    struct error error;
    return front_message_restore(message, &error) ? execute_program(argv) : defer(error.text);
}

/* fd: a socket, not connected. */
static int hand_over(const struct front_request *request, int fd, char **argv)
{
    static struct front_reply reply;
    struct front_message message;
    struct error error;
    deadline_install(defer_by_signal);
    enum front_read read = deadline_arm(READ_MS, &error) ? front_message_read(&message, &error) : FRONT_READ_NOTHING;
    if (read == FRONT_READ_NOTHING)
        return execute_program(argv);
    if (read == FRONT_READ_ERROR)
        return defer(error.text);
    if (output_peer_closed())
        return defer(OUTPUT_CUT);
    switch (front_service_deliver(fd, request, &message, &reply)) {
    case FRONT_SERVICE_OK:
        return write_reply("", reply.text, reply.status);
    case FRONT_SERVICE_NOT_TAKEN:
        return deliver_otherwise(&message, argv);
    case FRONT_SERVICE_BUSY:
        return defer("the service is busy");
    case FRONT_SERVICE_GONE:
        return defer(OUTPUT_CUT);
    case FRONT_SERVICE_UNKNOWN:
        break;
    }
    return defer("the service did not answer; it may have delivered the message");
}

int main(int argc, char **argv)
{
    static struct front_request request;
    if (base_excess_rights() != NULL) /* the caller may control what it executes */
        return defer(base_excess_rights());
    if (!front_request_parse(argc, argv, &request))
        return execute_program(argv);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd > STDERR_FILENO)
        return hand_over(&request, fd, argv);
    if (fd >= 0) /* instead of a closed standard descriptor */
        close(fd);
    return execute_program(argv);
}
