/* SPDX-License-Identifier: ISC
 *
 * The parent. Workers end when it dies or closes the write end of a pipe, which only it has. */
#include "lmtp/lmtp_internal.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define AT_ONCE_MS 1000 /* a shorter life gets backoff */
#define FIRST_DELAY_MS 100
#define LAST_DELAY_MS 10000
#define GRACE_MS 2000 /* after a delivery's deadline; before SIGKILL */

/* Times by base_now_ms(). */
struct worker {
    pid_t pid;               /* 0: does not run */
    size_t number;           /* in `load`; LEAVING: is not replaced */
    int64_t started_ms;      /* of the present or last process */
    int64_t start_ms;        /* not before */
    int64_t delay_ms;        /* 0: none */
    struct sql_group *group; /* it writes for; NULL: it is a worker */
};

#define LEAVING SIZE_MAX

struct running {
    struct lmtp_service *service;
    GArray *workers;                /* of struct worker */
    struct lmtp_service_load *load; /* of present workers; MAP_FAILED: none */
    struct sql_group *group;        /* of present workers; NULL: none */
    int stop_fds[2];
    bool stopping;
    int64_t end_ms; /* when next_signal is due */
    int next_signal;
    sigset_t signals, before;
};

static struct worker *worker_at(const struct running *running, guint i)
{
    return &g_array_index(running->workers, struct worker, i);
}

/* sd_notify(3) without libsystemd. Best effort. */
static void notify(const char *lines)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const char *path = getenv("NOTIFY_SOCKET");
    size_t length = path != NULL ? strlen(path) : 0;
    if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') /* abstract socket */
        address.sun_path[0] = '\0';
    int fd OD_CLEANUP(base_close) = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        (void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (struct sockaddr *)&address,
                     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
}

/* Ends when the workers have, not by a signal. */
static _Noreturn void become_writer(struct running *running)
{
    base_close(&running->stop_fds[1]);
    base_close(&running->service->socket.fd);
    base_close(&running->service->socket.lock_fd);
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    sigprocmask(SIG_SETMASK, &running->before, NULL);
    ledger_group_write(running->group, running->service->config);
    _exit(0);
}

static _Noreturn void become_worker(struct running *running, size_t number)
{
    struct error error;
    struct lmtp_service *service = running->service;
    close(running->stop_fds[1]);
    base_close(&service->socket.lock_fd); /* only the parent locks the path */
    ledger_group_join(running->group, number);
    sigprocmask(SIG_SETMASK, &running->before, NULL);
    if (lmtp_service_worker(service->config, service->socket.fd, running->stop_fds[0], running->load, number, &error))
        _exit(0);
    log_error("a worker cannot begin: %s", error.text);
    _exit(75);
}

/* After a worker's death. */
static void set_backoff(struct worker *worker, int64_t now)
{
    int64_t next = worker->delay_ms == 0 ? FIRST_DELAY_MS : 2 * worker->delay_ms;
    bool at_once = now - worker->started_ms < AT_ONCE_MS;
    worker->delay_ms = at_once ? MIN(next, LAST_DELAY_MS) : 0;
    worker->start_ms = now + worker->delay_ms;
}

static void start_workers(struct running *running)
{
    int64_t now = base_now_ms();
    for (guint i = 0; i < running->workers->len && !running->stopping; i++) {
        struct worker *worker = worker_at(running, i);
        if (worker->pid != 0 || worker->start_ms > now)
            continue;
        worker->started_ms = now;
        worker->pid = fork();
        if (worker->pid == 0 && worker->group != NULL)
            become_writer(running);
        if (worker->pid == 0)
            become_worker(running, worker->number);
        if (worker->pid < 0) {
            log_error("cannot start a worker: %m");
            worker->pid = 0;
            set_backoff(worker, now);
        }
    }
}

/* Present workers leave; start_workers() starts others. A failure changes nothing. */
static bool prepare_workers(struct running *running, const struct config *config, struct error *error)
{
    size_t count = (size_t)config->service.workers;
    int fds[2];
    struct lmtp_service_load *load =
        mmap(NULL, sizeof(*load), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (load == MAP_FAILED || pipe2(fds, O_CLOEXEC) != 0) {
        error_set(error, "cannot prepare the workers: %m");
        if (load != MAP_FAILED)
            munmap(load, sizeof(*load));
        return false;
    }
    if (running->load != MAP_FAILED)
        munmap(running->load, sizeof(*load));
    running->load = load;
    load->workers = count;
    ledger_group_leave(&running->group);
    running->group = count > 1 ? ledger_group_new(config, count) : NULL;
    base_close(&running->stop_fds[0]);
    base_close(&running->stop_fds[1]);
    memcpy(running->stop_fds, fds, sizeof(fds));
    for (guint i = running->workers->len; i > 0; i--)
        if (worker_at(running, i - 1)->pid == 0)
            g_array_remove_index_fast(running->workers, i - 1);
        else
            worker_at(running, i - 1)->number = LEAVING;
    for (size_t i = 0; i < count; i++)
        g_array_append_vals(running->workers, &(struct worker){.number = i}, 1);
    if (running->group != NULL)
        g_array_append_vals(running->workers, &(struct worker){.group = running->group}, 1);
    return true;
}

static void report_end(const struct worker *worker, pid_t pid, int status)
{
    const char *what = worker->group != NULL ? "the ledger's writer" : "worker";
    const char *then = worker->group != NULL ? "" : "; its client will try again";
    if (status != 0)
        log_warning("%s %d %s%s", what, (int)pid, base_status_text(status), then);
}

/* The process may not be a worker: a container's first process inherits children. */
static void forget(struct running *running, pid_t pid, int status)
{
    guint i = 0;
    while (i < running->workers->len && worker_at(running, i)->pid != pid)
        i++;
    if (i == running->workers->len)
        return;
    struct worker *worker = worker_at(running, i);
    report_end(worker, pid, status);
    if (worker->group != NULL)
        ledger_group_writer_died(worker->group);
    if (worker->number == LEAVING) {
        g_array_remove_index_fast(running->workers, i);
        return;
    }
    worker->pid = 0;
    if (worker->group == NULL)
        lmtp_service_leave(running->load, worker->number);
    set_backoff(worker, base_now_ms());
}

static void reap_workers(struct running *running)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        forget(running, pid, status);
}

static void say_if_changed(const char *name, const char *old, const char *new)
{
    if (strcmp(old, new) != 0)
        log_warning("service.%s has changed from %s to %s: this takes a restart", name, old, new);
}

static void reload(struct running *running)
{
    struct lmtp_service *service = running->service;
    struct error error;
    char *lines OD_CLEANUP(base_free) = /* Type=notify-reload needs the time */
        base_printf("RELOADING=1\nMONOTONIC_USEC=%" G_GINT64_FORMAT, g_get_monotonic_time());
    notify(lines);
    struct config *config OD_CLEANUP(config_free) = service->load(service->context, &error);
    if (config != NULL && prepare_workers(running, config, &error)) {
        say_if_changed("socket", service->config->service.socket, config->service.socket);
        say_if_changed("user", service->config->service.user, config->service.user);
        config_free(&service->config);
        service->config = g_steal_pointer(&config);
        log_info("the configuration was reloaded: %d workers", (int)service->config->service.workers);
        start_workers(running);
    } else {
        log_error("the old configuration stays in force: %s", error.text);
    }
    notify("READY=1");
}

/* Signals all workers (0: none). Returns whether there are any. */
static bool signal_all(const struct running *running, int number)
{
    bool any = false;
    for (guint i = 0; i < running->workers->len; i++) {
        pid_t pid = worker_at(running, i)->pid;
        any = any || pid != 0;
        if (pid != 0 && number != 0)
            kill(pid, number);
    }
    return any;
}

/* SIGTERM makes workers log deliveries in flight. */
static void break_off(struct running *running)
{
    (void)signal_all(running, running->next_signal);
    running->next_signal = SIGKILL;
    running->end_ms = base_now_ms() + GRACE_MS;
}

static void stop_service(struct running *running)
{
    if (running->stopping) {
        break_off(running);
        return;
    }
    notify("STOPPING=1");
    log_info("stopping: transactions under way will end");
    running->stopping = true;
    running->next_signal = SIGTERM;
    running->end_ms = base_now_ms() + running->service->config->delivery.deadline + GRACE_MS;
    lmtp_service_socket_close(&running->service->socket);
    base_close(&running->stop_fds[1]);
    ledger_group_leave(&running->group);
}

/* When the next action is due; INT64_MAX: none. */
static int64_t next_ms(const struct running *running)
{
    int64_t next = running->stopping ? running->end_ms : INT64_MAX;
    for (guint i = 0; i < running->workers->len && !running->stopping; i++)
        if (worker_at(running, i)->pid == 0 && worker_at(running, i)->start_ms < next)
            next = worker_at(running, i)->start_ms;
    return next;
}

/* 0: timeout. */
static int wait_for_signal(const struct running *running)
{
    int64_t left = CLAMP(next_ms(running) - base_now_ms(), 0, INT32_MAX);
    struct timespec limit = {.tv_sec = left / 1000, .tv_nsec = left % 1000 * 1000000};
    int number = sigtimedwait(&running->signals, NULL, &limit);
    return number > 0 ? number : 0;
}

static void handle(struct running *running, int number)
{
    if (number == SIGHUP && !running->stopping)
        reload(running);
    else if (number == SIGTERM || number == SIGINT)
        stop_service(running);
    else if (number == 0 && running->stopping && base_now_ms() >= running->end_ms)
        break_off(running);
    reap_workers(running);
    start_workers(running);
}

void lmtp_service_run(struct lmtp_service *service)
{
    struct running running = {
        .service = service,
        .workers = g_array_new(FALSE, TRUE, sizeof(struct worker)),
        .load = MAP_FAILED,
        .stop_fds = {-1, -1},
    };
    struct error error;
    const int waited[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT};
    sigemptyset(&running.signals);
    for (size_t i = 0; i < sizeof(waited) / sizeof(waited[0]); i++)
        sigaddset(&running.signals, waited[i]);
    sigprocmask(SIG_BLOCK, &running.signals, &running.before);
    if (!prepare_workers(&running, service->config, &error)) {
        log_error("%s", error.text);
        return;
    }
    start_workers(&running);
    notify("READY=1");
    while (!running.stopping || signal_all(&running, 0))
        handle(&running, wait_for_signal(&running));
    g_array_unref(running.workers);
    munmap(running.load, sizeof(*running.load));
    base_close(&running.stop_fds[0]);
    sigprocmask(SIG_SETMASK, &running.before, NULL);
}
