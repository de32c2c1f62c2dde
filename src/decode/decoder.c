/* SPDX-License-Identifier: ISC */
#include "decode/decode_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

/* grace: hard limit minus soft limit. */
static void limit(__rlimit_resource_t resource, rlim_t max, rlim_t grace)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        _exit(DECODER_NOT_SET_UP);
    max = max < now.rlim_max ? max : now.rlim_max;
    grace = grace < now.rlim_max - max ? grace : now.rlim_max - max;
    if (setrlimit(resource, &(struct rlimit){max, max + grace}) < 0)
        _exit(DECODER_NOT_SET_UP);
}

/* The parent's handlers would write a reply to Postfix. */
static void default_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number <= SIGRTMAX; number++)
        (void)sigaction(number, &standard, NULL); /* some cannot be set */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The child writes only to shared memory. (A sanitizer writes reports.) */
static void close_files(int end)
{
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_FSIZE, 0, 0);
    (void)close_range(0, (unsigned)end - 1, 0);
#endif
    (void)close_range((unsigned)end + 1, ~0U, 0);
}

/* The hard limit would send SIGKILL, which does not say the reason. */
static void limit_processor(int64_t seconds)
{
    struct rusage used = {0};

    (void)getrusage(RUSAGE_SELF, &used);
    limit(RLIMIT_CPU, (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + seconds), RLIM_INFINITY);
}

static void enter(pid_t parent, size_t memory, int end)
{
    if (!spawn_end_with(parent, SIGKILL) || prctl(PR_SET_DUMPABLE, 0) < 0)
        _exit(DECODER_NOT_SET_UP);
    default_signals();
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_DATA, base_data_size() + memory, 0);
    close_files(end);
}

/* Replies, and waits for the next message; false: none. */
static bool next(int end, const struct decoder_shared *shared, struct message *message, struct decoder_request *request)
{
    if (write(end, "", 1) != 1 || read(end, request, sizeof(*request)) != sizeof(*request))
        return false;
    *message = (struct message){.data = shared->message, .size = request->size, .header_size = request->header_size};
    return true;
}

static _Noreturn void serve(decoder_work work, const struct decoder *decoder, const struct message *first,
                            struct decoder_request request, int end)
{
    struct message message = *first;

    do {
        struct decode_writer writer = {.wire = &decoder->shared->wire};

        limit_processor(request.processor_s);
        work(&writer, &message, request.level);
    } while (decoder->keeps && next(end, decoder->shared, &message, &request));
    _exit(0);
}

/* Blocks signals until default_signals(). */
static bool fork_child(struct decoder *decoder, decoder_work work, const struct message *message,
                       struct decoder_request request, size_t memory)
{
    sigset_t all, before;
    pid_t parent = getpid();
    int pair[2], errnum;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return false;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    decoder->child = fork();
    if (decoder->child == 0) {
        enter(parent, memory, pair[1]);
        serve(work, decoder, message, request, pair[1]);
    }
    errnum = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    decoder->socket = pair[0];
    if (close(pair[1]) != 0) /* else the child's end would not be seen */
        return false;
    errno = errnum;
    return decoder->child > 0;
}

void decoder_free(struct decoder **decoder)
{
    if (*decoder == NULL)
        return;
    (void)base_kill(&(*decoder)->child);
    base_close(&(*decoder)->socket);
    if ((*decoder)->shared != MAP_FAILED)
        munmap((*decoder)->shared, sizeof(*(*decoder)->shared));
    base_free(decoder);
}

struct decoder *decoder_new(decoder_work work, const struct message *message, struct decoder_request request,
                            size_t memory, bool keeps, struct error *error)
{
    struct decoder *decoder = base_alloc(sizeof(*decoder));

    decoder->socket = -1;
    decoder->keeps = keeps;
    decoder->shared =
        mmap(NULL, sizeof(*decoder->shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (decoder->shared == MAP_FAILED || !fork_child(decoder, work, message, request, memory)) {
        error_set(error, DECODER_NOT_STARTED);
        decoder_free(&decoder);
    }
    return decoder;
}

bool decoder_ask(struct decoder *decoder, const struct message *message, struct decoder_request request)
{
    struct decoder_shared *shared = decoder->shared;

    memcpy(shared->message, message->data, message->size);
    /* erase the previous message */
    if (decoder->size > message->size)
        memset(shared->message + message->size, 0, decoder->size - message->size);
    decoder->size = message->size;
    atomic_store(&shared->wire.complete, 0);
    return send(decoder->socket, &request, sizeof(request), MSG_NOSIGNAL) == sizeof(request);
}

enum decoder_state decoder_wait(const struct decoder *decoder, int64_t until_ms)
{
    struct pollfd reply = {.fd = decoder->socket, .events = POLLIN};
    char byte;

    int ready = base_poll(&reply, 1, until_ms);

    if (ready == 0)
        return DECODER_TOO_LONG;
    if (ready < 0)
        return DECODER_UNKNOWN;
    return read(reply.fd, &byte, 1) == 1 ? DECODER_DONE : DECODER_ENDED;
}
