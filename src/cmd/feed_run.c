/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#define TRIES 20
#define FIRST_PAUSE_MS INT64_C(10000) /* doubled by each try */
#define LAST_PAUSE_MS INT64_C(3600000)
#define KEEP_MS (LEDGER_FEED_LEASE_MS / 3)
#define POLL_MS 1000

struct counts {
    _Atomic int64_t finished, left, dead;
};

struct run {
    struct cmd *cmd;
    const char *feed;
    char **command;
    sigset_t watched; /* blocked: SIGCHLD, SIGTERM, SIGINT */
    int signals;      /* signalfd(2) of these; it is readable when one came */
    bool ends;        /* by a signal: nothing more is taken */
    struct counts *counts;
    pid_t parent; /* of several jobs; 0: none */
};

/* Waits for a watched signal. Returns it, or 0 after ms. */
static int wait_signal(struct run *run, int64_t ms)
{
    const struct timespec limit = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    int signal = sigtimedwait(&run->watched, NULL, &limit);
    run->ends = run->ends || signal == SIGTERM || signal == SIGINT;
    return signal > 0 ? signal : 0;
}

static GPtrArray *environment_of(const struct sql_rows *rows)
{
    static const struct {
        const char *name;
        size_t column;
    } variables[] = {
        {"ONCEDROP_ID", READ_ROW_COPY},
        {"ONCEDROP_FEED", READ_ROW_FEED},
        {"ONCEDROP_MESSAGE_ID", READ_ROW_MESSAGE_ID},
        {"ONCEDROP_SENDER", READ_ROW_SENDER},
        {"ONCEDROP_RECIPIENTS", READ_ROW_RECIPIENTS},
        {"ONCEDROP_ACCOUNT", READ_ROW_ACCOUNT},
        {"ONCEDROP_MAILBOX", READ_ROW_MAILBOX},
        {"ONCEDROP_UIDVALIDITY", READ_ROW_UIDVALIDITY},
        {"ONCEDROP_UID", READ_ROW_UID},
        {"ONCEDROP_TRIES", READ_ROW_TRIES},
    };
    GPtrArray *environment = g_ptr_array_new_with_free_func(g_free);
    for (char **variable = environ; *variable != NULL; variable++)
        if (strncmp(*variable, "ONCEDROP_", strlen("ONCEDROP_")) != 0)
            g_ptr_array_add(environment, base_strdup(*variable));
    for (size_t i = 0; i < G_N_ELEMENTS(variables); i++)
        g_ptr_array_add(environment, base_printf("%s=%s", variables[i].name, sql_text(rows, 0, variables[i].column)));
    g_ptr_array_add(environment, NULL);
    return environment;
}

/* The message is standard input. Out of reach of a terminal's signals. Returns 0 or an errno. */
static int start(const struct run *run, int message, const struct sql_rows *rows, pid_t *ret)
{
    g_autoptr(GPtrArray) environment = environment_of(rows);
    return spawn_command(run->command, (char **)environment->pdata,
                         (struct spawn_channels){.in = message, .out = -1, .err = -1, .group = true}, ret);
}

/* Waits for the command, and keeps the row meanwhile. If the ledger does not answer, another may take the row: it runs
 * with the same ONCEDROP_ID. */
static int wait_command(struct run *run, const struct ledger_feed_row *row, pid_t child)
{
    int status;
    bool ours;
    int64_t next = base_now_ms() + KEEP_MS;
    while (waitpid(child, &status, WNOHANG) == 0) {
        (void)wait_signal(run, KEEP_MS);
        if (base_now_ms() < next)
            continue;
        (void)!ledger_feed_keep(run->cmd->ledger, row, &ours, &run->cmd->error);
        next = base_now_ms() + KEEP_MS;
    }
    return status;
}

static int64_t pause_after(int64_t tries)
{
    int64_t pause = FIRST_PAUSE_MS;
    for (int64_t i = 1; i < tries && pause < LAST_PAUSE_MS; i++)
        pause *= 2;
    return MIN(pause, LAST_PAUSE_MS);
}

static bool leave(struct run *run, const struct ledger_feed_row *row, const struct sql_rows *rows, bool for_good,
                  const char *why)
{
    int64_t tries = sql_number(rows, 0, READ_ROW_TRIES), limit = run->cmd->options.tries;
    bool dead = for_good && tries >= (limit != 0 ? limit : TRIES);
    log_warning("feed %s: row %" PRId64 ", try %" PRId64 ": %s%s", run->feed, row->id, tries, why,
                dead ? "; it is not tried again until: oncedrop feed retry" : "");
    if (!ledger_feed_fail(run->cmd->ledger, row, pause_after(tries), dead, why, &run->cmd->error))
        return false;
    *(dead ? &run->counts->dead : &run->counts->left) += 1;
    return true;
}

static bool end_row(struct run *run, const struct ledger_feed_row *row, const struct sql_rows *rows, int status)
{
    bool ours;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        if (!ledger_feed_finish(run->cmd->ledger, row, &ours, &run->cmd->error))
            return false;
        run->counts->finished++;
        return true;
    }
    bool temporary = WIFSIGNALED(status) || WEXITSTATUS(status) == EX_TEMPFAIL;
    char *why OD_CLEANUP(base_free) = base_printf("the command %s", base_status_text(status));
    return leave(run, row, rows, !temporary, why);
}

/* Returns false with the command's error set if the ledger fails. */
static bool run_row(struct run *run, const struct ledger_feed_row *row)
{
    struct cmd *cmd = run->cmd;
    bool gone, ours;
    pid_t child;
    struct sql_rows *rows OD_CLEANUP(sql_rows_free) = ledger_feed_read(cmd->ledger, row->id, &cmd->error);
    if (rows == NULL)
        return false;
    if (rows->count == 0) /* dropped, or its message was deleted by other means */
        return ledger_feed_fail(cmd->ledger, row, 0, true, "its message is not recorded any more", &cmd->error);
    int message OD_CLEANUP(base_close) = feed_message_open(cmd, rows, &gone);
    if (message < 0) {
        char *why OD_CLEANUP(base_free) = base_strdup(cmd->error.text);
        return leave(run, row, rows, gone, why);
    }
    /* Reading it may have taken longer than the row was kept. */
    if (!ledger_feed_keep(cmd->ledger, row, &ours, &cmd->error))
        return false;
    if (!ours)
        return true;
    int errnum = start(run, message, rows, &child);
    if (errnum != 0) {
        char *why OD_CLEANUP(base_free) = base_printf("cannot execute %s: %s", run->command[0], strerror(errnum));
        return leave(run, row, rows, false, why);
    }
    return end_row(run, row, rows, wait_command(run, row, child));
}

static bool run_all(struct run *run)
{
    struct ledger_feed_row row;
    while (!run->ends) {
        if (!ledger_feed_take(run->cmd->ledger, run->feed, &row, &run->cmd->error))
            return false;
        if (row.id != 0 && !run_row(run, &row))
            return false;
        if (row.id == 0 && !run->cmd->options.follow)
            break;
        if (row.id == 0)
            ledger_feed_wait(run->cmd->ledger, run->signals);
        (void)wait_signal(run, 0);
    }
    return true;
}

/* One job: with its own session, for none is carried over a fork(2). Returns the exit status. */
static int work(struct run *run)
{
    struct cmd *cmd = run->cmd;
    int status = cmd_open_ledger(cmd);
    if (status != 0)
        return status;
    if (config_feed(cmd->config, run->feed) == NULL)
        return cmd_no_feed(cmd, run->feed);
    if (!verify_begin(cmd))
        return cmd_error(EX_OSERR, cmd);
    /* No job goes on without the parent. A change of user would undo this (prctl(2)). */
    if (run->parent != 0 && !spawn_end_with(run->parent, SIGTERM))
        return EX_OSERR;
    return run_all(run) ? 0 : cmd_error(EX_UNAVAILABLE, cmd);
}

/* Waits for all jobs. Once one has failed, or a signal has come, no other takes anything more. */
static int wait_jobs(struct run *run, pid_t group)
{
    int worst = 0, status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) >= 0;) {
        int code = ended == 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : EX_SOFTWARE;
        worst = code != 0 ? code : worst;
        run->ends = run->ends || code != 0;
        if (ended == 0)
            (void)wait_signal(run, POLL_MS);
        if (run->ends && group != 0)
            (void)kill(-group, SIGTERM);
    }
    return worst;
}

/* The jobs are a process group, which a terminal's signals do not reach. */
static int run_jobs(struct run *run, int64_t count)
{
    pid_t group = 0;
    run->parent = getpid();
    fflush(stdout);
    for (int64_t i = 0; i < count; i++) {
        pid_t job = fork();
        if (job == 0)
            _exit(work(run));
        if (job < 0) {
            cmd_fail(EX_OSERR, "feed run: cannot start a job: %m");
            run->ends = true;
            (void)wait_jobs(run, group);
            return EX_OSERR;
        }
        group = group != 0 ? group : job;
        (void)setpgid(job, group);
    }
    return wait_jobs(run, group);
}

int feed_run(struct cmd *cmd, const char *feed, char **command)
{
    struct run run = {.cmd = cmd, .feed = feed, .command = command};
    run.counts = mmap(NULL, sizeof(*run.counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    sigemptyset(&run.watched);
    sigaddset(&run.watched, SIGCHLD);
    sigaddset(&run.watched, SIGTERM);
    sigaddset(&run.watched, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &run.watched, NULL);
    run.signals = signalfd(-1, &run.watched, SFD_CLOEXEC);
    if (run.counts == MAP_FAILED || run.signals < 0)
        return cmd_fail(EX_OSERR, "feed run: cannot begin, too little memory or too many open files: %m");
    int status = cmd->options.jobs > 1 ? run_jobs(&run, cmd->options.jobs) : work(&run);
    if (status == EX_USAGE || status == EX_CONFIG)
        return status;
    printf("%" PRId64 " finished, %" PRId64 " left for later, %" PRId64 " dead\n", run.counts->finished,
           run.counts->left, run.counts->dead);
    return status == 0 && run.counts->left + run.counts->dead > 0 ? 1 : status;
}
