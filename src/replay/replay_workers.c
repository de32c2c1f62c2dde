/* SPDX-License-Identifier: ISC
 *
 * Socket pairs carry JSON: a task, its result, the next task. */
#include "replay/replay_internal.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct worker {
    pid_t pid; /* 0: not started */
    int fd;
    void *tag; /* NULL: idle */
};

struct workers {
    const struct replay_setup *setup;
    struct worker worker[]; /* [setup->jobs] */
};

struct workers *workers_new(const struct replay_setup *setup)
{
    struct workers *workers = base_alloc(sizeof(*workers) + setup->jobs * sizeof(struct worker));
    workers->setup = setup;
    return workers;
}

static bool send_json(int fd, const json_t *json)
{
    char *text OD_CLEANUP(base_free) = json_dumps(json, JSON_COMPACT);
    return base_write(fd, text, strlen(text));
}

/* For json_load_callback. */
static size_t receive_some(void *buffer, size_t size, void *fd)
{
    ssize_t n = TEMP_FAILURE_RETRY(read(*(int *)fd, buffer, size));
    return n > 0 ? (size_t)n : 0;
}

/* Returns NULL if the peer closed. Nothing follows in the socket: the peer waits for the answer. */
static json_t *receive_json(int fd)
{
    return json_load_callback(receive_some, &fd, JSON_DISABLE_EOF_CHECK, NULL);
}

static _Noreturn void serve_parent(const struct workers *workers, int fd)
{
    struct replay_worker *worker = replay_task_begin(workers->setup);
    for (;;) {
        json_t *task = receive_json(fd);
        if (task == NULL)
            _exit(0);
        json_t *result = replay_task_serve(worker, task);
        if (!send_json(fd, result))
            _exit(1);
        json_decref(result);
        json_decref(task);
    }
}

static bool start_worker(struct workers *workers, struct worker *worker, struct error *error)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0)
        return error_set(error, "cannot create a socket for a worker process: %m");
    pid_t pid = fork();
    if (pid == 0) {
        close(pair[0]);
        /* A worker notices the parent's end only if no other has its socket. */
        for (size_t i = 0; i < workers->setup->jobs; i++)
            if (workers->worker[i].pid != 0)
                close(workers->worker[i].fd);
        serve_parent(workers, pair[1]);
    }
    close(pair[1]);
    if (pid < 0) {
        error_set(error, "cannot start a worker process: %m");
        close(pair[0]);
        return false;
    }
    *worker = (struct worker){.pid = pid, .fd = pair[0]};
    return true;
}

/* Returns the wait status. */
static int reap(struct worker *worker)
{
    close(worker->fd);
    int status = base_wait(worker->pid);
    *worker = (struct worker){.pid = 0};
    return status;
}

static struct worker *find_idle(struct workers *workers)
{
    struct worker *unstarted = NULL;
    for (size_t i = 0; i < workers->setup->jobs; i++) {
        struct worker *worker = &workers->worker[i];
        if (worker->pid != 0 && worker->tag == NULL)
            return worker;
        if (worker->pid == 0)
            unstarted = worker;
    }
    return unstarted;
}

size_t workers_busy(const struct workers *workers)
{
    size_t busy = 0;
    for (size_t i = 0; i < workers->setup->jobs; i++)
        busy += workers->worker[i].tag != NULL;
    return busy;
}

bool workers_assign(struct workers *workers, const json_t *task, void *tag, struct error *error)
{
    struct worker *worker = find_idle(workers);
    if (worker == NULL)
        return error_set(error, "every worker is busy");
    if (worker->pid == 0 && !start_worker(workers, worker, error))
        return false;
    /* workers_wait notices a dead worker */
    (void)!send_json(worker->fd, task);
    worker->tag = tag;
    return true;
}

void *workers_wait(struct workers *workers, int ms, json_t **ret_result, int *ret_status)
{
    struct pollfd *sockets OD_CLEANUP(base_free) = base_alloc((workers->setup->jobs + 1) * sizeof(*sockets));
    for (size_t i = 0; i < workers->setup->jobs; i++)
        sockets[i] =
            (struct pollfd){.fd = workers->worker[i].tag != NULL ? workers->worker[i].fd : -1, .events = POLLIN};
    if (poll(sockets, workers->setup->jobs, ms) <= 0)
        return NULL;
    struct worker *worker = workers->worker;
    for (const struct pollfd *socket = sockets; socket->revents == 0; socket++)
        worker++;
    void *tag = worker->tag;
    worker->tag = NULL;
    *ret_result = receive_json(worker->fd);
    *ret_status = *ret_result == NULL ? reap(worker) : 0;
    return tag;
}

void workers_free(struct workers **workers)
{
    for (size_t i = 0; i < (*workers)->setup->jobs; i++)
        if ((*workers)->worker[i].pid != 0)
            reap(&(*workers)->worker[i]);
    base_free(workers);
}
