/* SPDX-License-Identifier: ISC
 *
 * The program that users call. Hands a `deliver` over to the service. Loads the full program for all else, and for
 * what the service does not take. Uses only libc: most of a delivery's time is the full program's start. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/config.h"
#include "front/front_internal.h"

#define READ_MS 60000 /* to read the message */

_Static_assert(READ_MS + FRONT_TURN_MS + FRONT_HAND_OVER_MS + FRONT_REPLY_MS <= CONFIG_FRONT_MS,
               "Postfix's limit is checked for this");

static void defer_by_signal(int signal)
{
    static const char over[] = "4.3.0 the deadline is over\n";
    static const char asked[] = "4.3.0 " DEADLINE_SIGNAL "\n";
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

/* Reports that the full program cannot be loaded, which defers mail unless the command was typed. Returns the exit
 * status. */
static int refuse_to_run(const char *command, const char *why)
{
    if (output_is_typed()) {
        fprintf(stderr, "oncedrop: %s\n", why);
        return EX_UNAVAILABLE;
    }
    /* LMTP clients read a greeting; Postfix a status and a code */
    bool lmtp = strcmp(command, "lmtp") == 0;
    char *reply OD_CLEANUP(base_free) = base_printf(lmtp ? "421 4.3.5 %s\r\n" : "4.3.5 %s\n", why);
    output_write_reply(reply, strlen(reply), EX_TEMPFAIL);
    return EX_TEMPFAIL;
}

static int run_program(int argc, char **argv)
{
    const struct front_program *program;
    struct error error;
    deadline_disarm(); /* the full program has its own */
    return front_program_load(&program, &error) ? program->run(argc, argv)
                                                : refuse_to_run(command_of(argv), error.text);
}

static int deliver_otherwise(struct front_message *message, int argc, char **argv)
{
    struct error error;
    return front_message_restore(message, &error) ? run_program(argc, argv) : defer(error.text);
}

/* fd: a socket, not connected. */
static int hand_over(const struct front_request *request, int fd, int argc, char **argv)
{
    static struct front_reply reply;
    struct front_message message;
    struct error error;
    deadline_install(defer_by_signal);
    enum front_read read = deadline_arm(READ_MS, &error) ? front_message_read(&message, &error) : FRONT_READ_NOTHING;
    if (read == FRONT_READ_NOTHING)
        return run_program(argc, argv);
    if (read == FRONT_READ_ERROR)
        return defer(error.text);
    if (output_peer_closed())
        return defer(OUTPUT_CUT);
    switch (front_service_deliver(fd, request, &message, &reply)) {
    case FRONT_SERVICE_OK:
        return write_reply("", reply.text, reply.status);
    case FRONT_SERVICE_NOT_TAKEN:
        return deliver_otherwise(&message, argc, argv);
    case FRONT_SERVICE_BUSY:
        return defer("every worker of the service is busy (service.workers)");
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
    if (base_excess_rights() != NULL) /* the caller may control what it loads */
        return defer(base_excess_rights());
    if (!front_request_parse(argc, argv, &request))
        return run_program(argc, argv);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd > STDERR_FILENO)
        return hand_over(&request, fd, argc, argv);
    if (fd >= 0) /* instead of a closed standard descriptor */
        close(fd);
    return run_program(argc, argv);
}
