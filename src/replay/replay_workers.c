/* SPDX-License-Identifier: ISC
 *
 * A socket pair for each worker. A message is a length and that many bytes. */
#include "replay/replay_workers.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
    pid_t pid; /* 0: not started */
    int fd;
    bool busy;
    void *tag;
};

struct workers {
    const struct replay_setup *setup;
    size_t count;
    struct worker worker[];
};

struct workers *workers_new(const struct replay_setup *setup)
{
    struct workers *workers = base_alloc(sizeof(*workers) + setup->jobs * sizeof(struct worker));
    workers->setup = setup;
    workers->count = setup->jobs;
    return workers;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size > 0) {
        ssize_t n = TEMP_FAILURE_RETRY(send(fd, at, size, MSG_NOSIGNAL));
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool read_all(int fd, void *bytes, size_t size)
{
    char *at = bytes;
    while (size > 0) {
        ssize_t n = TEMP_FAILURE_RETRY(recv(fd, at, size, 0));
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

static bool send_bytes(int fd, GBytes *bytes)
{
    gsize size;
    const void *data = g_bytes_get_data(bytes, &size);
    return write_all(fd, &size, sizeof(size)) && write_all(fd, data, size);
}

static GBytes *receive_bytes(int fd)
{
    gsize size;
    if (!read_all(fd, &size, sizeof(size)))
        return NULL;
    char *data = base_alloc(size + 1);
    if (read_all(fd, data, size))
        return g_bytes_new_with_free_func(data, size, free, data);
    free(data);
    return NULL;
}

/* Runs until the parent or its socket is gone. */
static _Noreturn void work(const struct workers *workers, int fd)
{
    struct replay_worker *worker = replay_task_begin(workers->setup);
    for (;;) {
        GBytes *task = receive_bytes(fd);
        if (task == NULL)
            _exit(0);
        GBytes *answer = replay_task_serve(worker, task);
        if (!send_bytes(fd, answer))
            _exit(1);
        g_bytes_unref(answer);
        g_bytes_unref(task);
    }
}

static bool start(struct workers *workers, struct worker *worker, struct fault *fault)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
        fault_set(fault, "cannot create a socket for a worker process: %m");
        return false;
    }
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        /* The other workers' sockets too: a worker does not notice that the parent is gone while any copy is open. */
        for (size_t i = 0; i < workers->count; i++)
            if (workers->worker[i].pid != 0)
                close(workers->worker[i].fd);
        work(workers, pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        fault_set(fault, "cannot start a worker process: %m");
        close(pair[0]);
        return false;
    }
    *worker = (struct worker){.pid = pid, .fd = pair[0]};
    return true;
}

/* Ends a worker that is no longer of use, or never was; returns its wait status. */
static int reap(struct worker *worker)
{
    int status = 0;
    close(worker->fd);
    (void)TEMP_FAILURE_RETRY(waitpid(worker->pid, &status, 0));
    *worker = (struct worker){.pid = 0};
    return status;
}

static struct worker *find_idle(struct workers *workers)
{
    struct worker *unstarted = NULL;
    for (size_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->worker[i];
        if (worker->pid != 0 && !worker->busy)
            return worker;
        if (worker->pid == 0)
            unstarted = worker;
    }
    return unstarted;
}

size_t workers_busy(const struct workers *workers)
{
    size_t busy = 0;
    for (size_t i = 0; i < workers->count; i++)
        busy += workers->worker[i].busy;
    return busy;
}

bool workers_give(struct workers *workers, GBytes *task, void *tag, struct fault *fault)
{
    struct worker *worker = find_idle(workers);
    if (worker == NULL) {
        fault_set(fault, "every worker is busy");
        return false;
    }
    if (worker->pid == 0 && !start(workers, worker, fault))
        return false;
    /* If the worker has died, this is noticed when its answer is awaited. */
    (void)send_bytes(worker->fd, task);
    worker->busy = true;
    worker->tag = tag;
    return true;
}

bool workers_wait(struct workers *workers, int64_t ms, void **ret_tag, GBytes **ret_answer, int *ret_status)
{
    struct pollfd *sockets OD_CLEANUP(base_free) = base_alloc((workers->count + 1) * sizeof(*sockets));
    for (size_t i = 0; i < workers->count; i++)
        sockets[i] = (struct pollfd){.fd = workers->worker[i].busy ? workers->worker[i].fd : -1, .events = POLLIN};
    if (poll(sockets, workers->count, ms < 0 ? -1 : ms > INT32_MAX ? INT32_MAX : (int)ms) <= 0)
        return false;
    for (size_t i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->worker[i];
        if (sockets[i].fd < 0 || sockets[i].revents == 0)
            continue;
        *ret_tag = worker->tag;
        *ret_answer = receive_bytes(worker->fd);
        worker->busy = false;
        *ret_status = *ret_answer == NULL ? reap(worker) : 0;
        return true;
    }
    return false;
}

void workers_free(struct workers **workers)
{
    if (*workers == NULL)
        return;
    for (size_t i = 0; i < (*workers)->count; i++)
        if ((*workers)->worker[i].pid != 0)
            reap(&(*workers)->worker[i]);
    base_free(workers);
}
