/* SPDX-License-Identifier: ISC
 *
 * Waits until another process writes to the log. */
#include <poll.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "sqlite/lite.h"

#define REST_MS 50 /* after an event: a delivery writes several times, and each look needs the writer's lock */

/* Nothing that is written later is missed. */
static bool watch_log(struct sql_session *lite)
{
    char *log OD_CLEANUP(base_free) = base_printf("%s-wal", lite->path);
    int watch OD_CLEANUP(base_close) = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    if (watch < 0 || inotify_add_watch(watch, log, IN_MODIFY) < 0)
        return false;
    lite->watch = watch;
    watch = -1;
    return true;
}

bool lite_wait(struct sql_session *lite, const struct config *config, int fd)
{
    char events[4096];
    (void)config;
    if (lite->watch == 0)
        return watch_log(lite);
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = lite->watch, .events = POLLIN}};
    if (poll(polled, G_N_ELEMENTS(polled), SQL_WATCH_MS) > 0 && polled[0].revents == 0)
        (void)poll(polled, 1, REST_MS);
    while (read(lite->watch, events, sizeof(events)) > 0)
        continue;
    return true;
}
