/* SPDX-License-Identifier: ISC */
#include "message/decoding.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/deadline.h"

#define PROCESSOR_S 10
#define BYTES_PER_S ((size_t)16 << 20)
#define MEMORY ((size_t)256 << 20)

struct decoding {
    pid_t child;                /* 0: ended */
    int end;                    /* a pipe that nothing is written to: its other end is closed with the child */
    int64_t until_ms;           /* by base_now_ms() */
    struct decode_wire *wire;
    struct decoded *result;     /* NULL: not waited for yet */
    struct fault fault;         /* "": the result is whole */
};

/* Bytes of data that the process has. Limits are by that: with a sanitizer it is terabytes. */
static size_t data_size(void)
{
    OD_CLEANUP(base_close) int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    char text[128] = "";
    size_t pages = 0;

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0 || sscanf(text, "%*s %*s %*s %*s %*s %zu", &pages) != 1)
        return 0;
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* grace: how much more the hard limit is. */
static void limit(__rlimit_resource_t resource, rlim_t most, rlim_t grace)
{
    struct rlimit now;

    if (getrlimit(resource, &now) < 0)
        _exit(1);
    most = most < now.rlim_max ? most : now.rlim_max;
    grace = grace < now.rlim_max - most ? grace : now.rlim_max - most;
    if (setrlimit(resource, &(struct rlimit){most, most + grace}) < 0)
        _exit(1);
}

/* Our handlers write an answer to Postfix: the child must not. */
static void reset_signals(void)
{
    struct sigaction standard = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number <= SIGRTMAX; number++)
        (void)sigaction(number, &standard, NULL);       // some cannot be set, and do not need it
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Nothing can be written any more, but to the memory. A sanitizer has to get its reports out. */
static void close_files(int end)
{
#ifndef __SANITIZE_ADDRESS__
    limit(RLIMIT_FSIZE, 0, 0);
    (void)close_range(0, (unsigned)end - 1, 0);
#endif
    (void)close_range((unsigned)end + 1, ~0U, 0);
}

static _Noreturn void serve(decoding_work work, const struct decoding_limits *limits, struct decode_wire *wire,
                            const struct message *message, enum record_level level, pid_t parent, int end)
{
    struct decode_writer writer = {.wire = wire};

    // the order: a parent that died before the call is noticed after it
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent || prctl(PR_SET_DUMPABLE, 0) < 0)
        _exit(1);
    reset_signals();
    limit(RLIMIT_CORE, 0, 0);
    limit(RLIMIT_CPU, (rlim_t)limits->processor_s, 1);      // the hard one's signal would be SIGKILL, which says nothing
    limit(RLIMIT_DATA, data_size() + limits->memory, 0);
    close_files(end);
    work(&writer, message, level);
    _exit(0);
}

/* Signals wait meanwhile: in the child our handlers must not run. */
static pid_t fork_child(decoding_work work, const struct decoding_limits *limits, struct decode_wire *wire,
                        const struct message *message, enum record_level level, int end)
{
    sigset_t all, before;
    pid_t parent = getpid(), child;
    int error;

    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    child = fork();
    if (child == 0)
        serve(work, limits, wire, message, level, parent, end);
    error = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return child;
}

struct decoding *decoding_start_work(decoding_work work, const struct decoding_limits *limits,
                                     const struct message *message, enum record_level level, struct fault *fault)
{
    struct decode_wire *wire = mmap(NULL, sizeof *wire, PROT_READ | PROT_WRITE,
                                    MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    int pair[2] = {-1, -1};
    pid_t child = -1;

    if (wire != MAP_FAILED && pipe2(pair, O_CLOEXEC) == 0)
        child = fork_child(work, limits, wire, message, level, pair[1]);
    if (child < 0)
        fault_set(fault, "no process to decode the message in: %m");
    base_close(&pair[1]);
    if (child < 0) {
        base_close(&pair[0]);
        if (wire != MAP_FAILED)
            munmap(wire, sizeof *wire);
        return NULL;
    }
    struct decoding *decoding = base_alloc(sizeof *decoding);
    *decoding = (struct decoding){child, pair[0], base_now_ms() + limits->clock_ms, wire, NULL, {""}};
    return decoding;
}

static void write_step(void *context, const struct decoded *decoded, enum decode_stage stage)
{
    struct decode_writer *writer = context;

    decode_wire_write(writer, decoded, stage);
    if (writer->full)
        _exit(1);
}

static void decode(struct decode_writer *writer, const struct message *message, enum record_level level)
{
    struct decoded *decoded = decode_message_steps(message, level, write_step, writer);

    (void)decoded;      // ends with the process
}

struct decoding *decoding_start(const struct message *message, enum record_level level, struct fault *fault)
{
    static unsigned messages;
    int64_t processor_s = PROCESSOR_S + (int64_t)(message->size / BYTES_PER_S);
    int64_t clock_ms = 2000 * processor_s, half = deadline_left_ms() / 2;
    struct decoding_limits limits = {processor_s, half < clock_ms ? half : clock_ms, MEMORY};

    // where there are many messages, the children find done what each would do
    if (messages++ == 1)
        decode_prepare();
    return decoding_start_work(decode, &limits, message, level, fault);
}

/* Waits for the child's end, which closes its end of the pipe; false when it took too long. */
static bool wait_for_end(const struct decoding *decoding)
{
    struct pollfd end = {.fd = decoding->end};

    for (;;) {
        int64_t left = decoding->until_ms - base_now_ms();
        int ready = poll(&end, 1, left > 0 ? (int)left : 0);

        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

/* Returns the wait status. It has ended, is ending, or has to. */
static int reap(struct decoding *decoding)
{
    int status = 0;

    (void)kill(decoding->child, SIGKILL);
    while (waitpid(decoding->child, &status, 0) < 0 && errno == EINTR)
        ;
    decoding->child = 0;
    return status;
}

static void describe(struct decoding *decoding, bool in_time, int status)
{
    if (!in_time)
        fault_set(&decoding->fault, "decoding it took too long");
    else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU)
        fault_set(&decoding->fault, "decoding it took too much time of the processor");
    else if (WIFSIGNALED(status))
        fault_set(&decoding->fault, "decoding it died of signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else
        fault_set(&decoding->fault, "decoding it ended early");
}

const struct decoded *decoding_result(struct decoding *decoding)
{
    if (decoding->result)
        return decoding->result;
    bool in_time = wait_for_end(decoding);
    int status = reap(decoding);

    decoding->result = decoded_new();
    if (!decode_wire_read(decoding->wire, decoding->result))
        describe(decoding, in_time, status);
    return decoding->result;
}

const char *decoding_fault(const struct decoding *decoding)
{
    return decoding->fault.text[0] ? decoding->fault.text : NULL;
}

void decoding_free(struct decoding **decoding)
{
    if (!*decoding)
        return;
    if ((*decoding)->child)
        (void)reap(*decoding);
    base_close(&(*decoding)->end);
    munmap((*decoding)->wire, sizeof *(*decoding)->wire);
    decoded_free(&(*decoding)->result);
    base_free(decoding);
}
