/* SPDX-License-Identifier: ISC
 *
 * The parent: signals, and the places for workers. Workers are told to end by a pipe that nobody writes to: its other
 * end is open in the parent alone, so that they also end when the parent dies. */
#include "lmtp/lmtp_service.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "lmtp/lmtp_service_notify.h"
#include "lmtp/lmtp_service_worker.h"

#define AT_ONCE_MS 1000 /* a worker that lives less long died at once */
#define FIRST_DELAY_MS 100
#define LAST_DELAY_MS 10000
#define GRACE_MS 2000 /* beyond the deadline of a delivery, and between SIGTERM and SIGKILL */

/* A place for a worker; times by base_now_ms(). */
struct place {
    pid_t pid;          /* 0: empty */
    int64_t started_ms; /* the last one */
    int64_t start_ms;   /* the next one, not before */
    int64_t delay_ms;   /* before it was started; 0: it was not delayed */
};

struct running {
    struct lmtp_service *service;
    GArray *places;                 /* of struct place */
    struct lmtp_service_load *load; /* of those in places; MAP_FAILED: none */
    GArray *leaving;                /* pid_t: told to end */
    int stop_fds[2];                /* of the present workers */
    bool stopping;
    int64_t end_ms; /* then signal next; by base_now_ms() */
    int next_signal;
    sigset_t signals, before;
};

static struct place *place_at(const struct running *running, guint i)
{
    return &g_array_index(running->places, struct place, i);
}

static _Noreturn void work(struct running *running, size_t number)
{
    struct fault fault;
    struct lmtp_service *service = running->service;
    close(running->stop_fds[1]);
    lmtp_service_socket_share(&service->socket);
    sigprocmask(SIG_SETMASK, &running->before, NULL);
    if (lmtp_service_worker(service->config, service->socket.fd, running->stop_fds[0], running->load, number, &fault))
        _exit(0);
    log_error("a worker cannot begin: %s", fault.text);
    _exit(75);
}

/* The next worker here comes later and later while they die at once. */
static void delay(struct place *place, int64_t now)
{
    int64_t next = place->delay_ms == 0 ? FIRST_DELAY_MS : 2 * place->delay_ms;
    bool at_once = now - place->started_ms < AT_ONCE_MS;
    place->delay_ms = !at_once ? 0 : next < LAST_DELAY_MS ? next : LAST_DELAY_MS;
    place->start_ms = now + place->delay_ms;
}

static void start_workers(struct running *running)
{
    int64_t now = base_now_ms();
    for (guint i = 0; i < running->places->len && !running->stopping; i++) {
        struct place *place = place_at(running, i);
        if (place->pid != 0 || place->start_ms > now)
            continue;
        place->started_ms = now;
        place->pid = fork();
        if (place->pid == 0)
            work(running, i);
        if (place->pid < 0) {
            log_error("cannot start a worker: %m");
            place->pid = 0;
            delay(place, now);
        }
    }
}

static size_t load_size(size_t workers)
{
    return sizeof(struct lmtp_service_load) + workers * sizeof(((struct lmtp_service_load *)NULL)->worker[0]);
}

/* MAP_FAILED: there is no memory. */
static struct lmtp_service_load *map_load(size_t workers)
{
    struct lmtp_service_load *load =
        mmap(NULL, load_size(workers), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (load != MAP_FAILED)
        load->workers = workers;
    return load;
}

static void unmap_load(struct running *running)
{
    if (running->load != MAP_FAILED)
        munmap(running->load, load_size(running->load->workers));
    running->load = MAP_FAILED;
}

/* Makes empty places for new workers, which the caller starts; false with the fault set: nothing has changed. */
static bool make_places(struct running *running, size_t count, struct fault *fault)
{
    int fds[2];
    struct lmtp_service_load *load = map_load(count);
    if (load == MAP_FAILED) {
        fault_set(fault, "no memory for the workers: %m");
        return false;
    }
    if (pipe2(fds, O_CLOEXEC) != 0) {
        fault_set(fault, "cannot make a pipe: %m");
        munmap(load, load_size(count));
        return false;
    }
    unmap_load(running);
    running->load = load;
    for (guint i = 0; i < running->places->len; i++)
        if (place_at(running, i)->pid != 0)
            g_array_append_val(running->leaving, place_at(running, i)->pid);
    base_close(&running->stop_fds[0]);
    base_close(&running->stop_fds[1]);
    memcpy(running->stop_fds, fds, sizeof(fds));
    g_array_set_size(running->places, 0);
    g_array_set_size(running->places, (guint)count);
    return true;
}

static void report_end(pid_t pid, int status)
{
    if (WIFSIGNALED(status))
        log_warning("worker %d was ended by signal %d (%s); its client will try again", (int)pid, WTERMSIG(status),
                    strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) != 0)
        log_warning("worker %d ended with status %d; its client will try again", (int)pid, WEXITSTATUS(status));
}

/* Forgets one that has ended. */
static void forget(struct running *running, pid_t pid)
{
    for (guint i = 0; i < running->places->len; i++)
        if (place_at(running, i)->pid == pid) {
            place_at(running, i)->pid = 0;
            lmtp_service_leave(running->load, i);
            delay(place_at(running, i), base_now_ms());
            return;
        }
    for (guint i = 0; i < running->leaving->len; i++)
        if (g_array_index(running->leaving, pid_t, i) == pid) {
            g_array_remove_index_fast(running->leaving, i);
            return;
        }
}

static void reap(struct running *running)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
        report_end(pid, status);
        forget(running, pid);
    }
}

static void say_if_changed(const char *name, const char *old, const char *new)
{
    if (strcmp(old, new) != 0)
        log_warning("service.%s has changed from %s to %s: this takes a restart", name, old, new);
}

static void reload(struct running *running)
{
    struct lmtp_service *service = running->service;
    struct fault fault;
    lmtp_service_notify_reload();
    struct config *config OD_CLEANUP(config_free) = service->load(service->context, &fault);
    if (config != NULL && make_places(running, (size_t)config->service.workers, &fault)) {
        say_if_changed("socket", service->config->service.socket, config->service.socket);
        say_if_changed("user", service->config->service.user, config->service.user);
        config_free(&service->config);
        service->config = g_steal_pointer(&config);
        log_info("the configuration was loaded anew: %d workers", (int)running->places->len);
        start_workers(running);
    } else {
        log_error("the old configuration stays in force: %s", fault.text);
    }
    lmtp_service_notify("READY=1");
}

static void signal_all(const struct running *running, int number)
{
    for (guint i = 0; i < running->places->len; i++)
        if (place_at(running, i)->pid != 0)
            kill(place_at(running, i)->pid, number);
    for (guint i = 0; i < running->leaving->len; i++)
        kill(g_array_index(running->leaving, pid_t, i), number);
}

/* Workers that are asked by SIGTERM log what they break off. */
static void break_off(struct running *running)
{
    signal_all(running, running->next_signal);
    running->next_signal = SIGKILL;
    running->end_ms = base_now_ms() + GRACE_MS;
}

static void stop(struct running *running)
{
    if (running->stopping) {
        break_off(running);
        return;
    }
    lmtp_service_notify("STOPPING=1");
    log_info("stopping: transactions under way will end");
    running->stopping = true;
    running->next_signal = SIGTERM;
    running->end_ms = base_now_ms() + running->service->config->delivery.deadline + GRACE_MS;
    lmtp_service_socket_close(&running->service->socket);
    base_close(&running->stop_fds[1]);
}

/* Until when there is nothing to do without a signal; INT64_MAX: for ever. */
static int64_t next_ms(const struct running *running)
{
    int64_t next = running->stopping ? running->end_ms : INT64_MAX;
    for (guint i = 0; i < running->places->len && !running->stopping; i++)
        if (place_at(running, i)->pid == 0 && place_at(running, i)->start_ms < next)
            next = place_at(running, i)->start_ms;
    return next;
}

/* 0: none came in time. */
static int wait_for_signal(const struct running *running)
{
    int64_t next = next_ms(running), left = next == INT64_MAX ? INT32_MAX : next - base_now_ms();
    struct timespec limit = {.tv_sec = left > 0 ? left / 1000 : 0, .tv_nsec = left > 0 ? left % 1000 * 1000000 : 0};
    int number = sigtimedwait(&running->signals, NULL, &limit);
    return number > 0 ? number : 0;
}

static bool any_left(const struct running *running)
{
    for (guint i = 0; i < running->places->len; i++)
        if (place_at(running, i)->pid != 0)
            return true;
    return running->leaving->len > 0;
}

static void handle(struct running *running, int number)
{
    if (number == SIGHUP && !running->stopping)
        reload(running);
    else if (number == SIGTERM || number == SIGINT)
        stop(running);
    else if (number == 0 && running->stopping && base_now_ms() >= running->end_ms)
        break_off(running);
    reap(running);
    start_workers(running);
}

void lmtp_service_run(struct lmtp_service *service)
{
    struct running running = {
        .service = service,
        .places = g_array_new(FALSE, TRUE, sizeof(struct place)),
        .leaving = g_array_new(FALSE, FALSE, sizeof(pid_t)),
        .load = MAP_FAILED,
        .stop_fds = {-1, -1},
    };
    struct fault fault;
    const int waited[] = {SIGCHLD, SIGHUP, SIGTERM, SIGINT};
    sigemptyset(&running.signals);
    for (size_t i = 0; i < sizeof(waited) / sizeof(waited[0]); i++)
        sigaddset(&running.signals, waited[i]);
    sigprocmask(SIG_BLOCK, &running.signals, &running.before);
    if (!make_places(&running, (size_t)service->config->service.workers, &fault)) {
        log_error("%s", fault.text);
        return;
    }
    start_workers(&running);
    lmtp_service_notify("READY=1");
    while (!running.stopping || any_left(&running))
        handle(&running, wait_for_signal(&running));
    g_array_unref(running.places);
    g_array_unref(running.leaving);
    unmap_load(&running);
    base_close(&running.stop_fds[0]);
    sigprocmask(SIG_SETMASK, &running.before, NULL);
}
