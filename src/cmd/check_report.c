/* SPDX-License-Identifier: ISC
 *
 * Steps share items with the parent, which prints them. */
#include "cmd/check.h"

#include <errno.h>
#include <glib.h>
#include <jansson.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "replay/replay.h"

#define ITEMS_MAX 256
#define TIME_OVER 100 /* exit status after a timeout */

static const char *const statuses[] = {[CHECK_OK] = "ok", [CHECK_WARNING] = "warning", [CHECK_FAILED] = "failed"};

struct item {
    enum check_status status;
    char name[32];
    char text[1024];
};

struct items {
    size_t count, printed;
    struct item items[ITEMS_MAX];
};

static struct items *report;
static bool as_json, in_step;

void *check_shared(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        abort();
    return memory;
}

void check_begin(bool json)
{
    as_json = json;
    report = check_shared(sizeof(*report));
}

static void print_line(const struct item *item)
{
    char escaped[2 * sizeof(item->text)];
    printf("%-8s%-14s%s\n", statuses[item->status], item->name, log_escape(item->text, escaped, sizeof(escaped)));
}

static void print_new(void)
{
    for (; report->printed < report->count; report->printed++)
        if (!as_json)
            print_line(&report->items[report->printed]);
    fflush(stdout);
}

static size_t count_of(enum check_status status, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < report->count; i++)
        count += report->items[i].status == status && (name == NULL || strcmp(report->items[i].name, name) == 0);
    return count;
}

/* Removes "database: " in item database. */
static void strip_name(struct item *item)
{
    size_t length = strlen(item->name);
    if (strncmp(item->text, item->name, length) == 0 && strncmp(item->text + length, ": ", 2) == 0)
        memmove(item->text, item->text + length + 2, strlen(item->text + length + 2) + 1);
}

bool check_item(enum check_status status, const char *name, const char *format, ...)
{
    bool last = report->count == ITEMS_MAX - 1; /* very many servers */
    struct item *item = &report->items[report->count];
    va_list arguments;
    if (report->count == ITEMS_MAX ||
        (status == CHECK_OK && count_of(CHECK_WARNING, name) + count_of(CHECK_FAILED, name) > 0))
        return status != CHECK_FAILED;
    item->status = last ? CHECK_FAILED : status;
    snprintf(item->name, sizeof(item->name), "%s", last ? "check" : name);
    va_start(arguments, format);
    if (last)
        snprintf(item->text, sizeof(item->text), "there is more to report than %d items: the rest is left out",
                 ITEMS_MAX);
    else
        vsnprintf(item->text, sizeof(item->text), format, arguments);
    va_end(arguments);
    strip_name(item);
    report->count++;
    if (!in_step)
        print_new();
    return status != CHECK_FAILED;
}

static void end_step(int signal)
{
    _exit(signal == SIGALRM ? TIME_OVER : 128 + signal);
}

static _Noreturn void run_step(int64_t ms, void (*run)(struct check *check), struct check *check)
{
    struct error error;
    in_step = true;
    deadline_install(end_step);
    if (deadline_arm(ms, &error))
        run(check);
    else
        check_item(false, "step", "%s", error.text);
    _exit(0);
}

void check_step(const char *name, int64_t ms, const char *timeout_text, void (*run)(struct check *check),
                struct check *check)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        run_step(ms, run, check);
    int errnum = errno, status = base_wait(child);
    if (child < 0)
        check_item(false, name, "not tried: cannot start a process: %s", strerror(errnum));
    else if (WIFEXITED(status) && WEXITSTATUS(status) == TIME_OVER)
        check_item(false, name, "not done within %g s: %s", (double)ms / 1000, timeout_text);
    else if (status != 0)
        check_item(false, name, "this step %s", base_status_text(status));
    print_new();
}

static void print_json(void)
{
    json_t *array = json_array();
    for (size_t i = 0; i < report->count; i++) {
        const struct item *item = &report->items[i];
        json_array_append_new(array, json_pack("{s:s, s:s, s:o}", "item", item->name, "status", statuses[item->status],
                                               "text", replay_json_text(item->text)));
    }
    table_print_json(array);
}

size_t check_failures(void)
{
    return count_of(CHECK_FAILED, NULL);
}

int check_end(void)
{
    size_t warnings = count_of(CHECK_WARNING, NULL);
    if (as_json)
        print_json();
    else
        printf("%zu ok, %zu warning%s, %zu failed\n", count_of(CHECK_OK, NULL), warnings, warnings == 1 ? "" : "s",
               check_failures());
    fflush(stdout);
    return check_failures() > 0 ? 1 : 0;
}
