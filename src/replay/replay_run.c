/* SPDX-License-Identifier: ISC */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "replay/replay_internal.h"

#define RETRY_FIRST_MS 250
#define RETRY_LONGEST_MS 10000
#define DRY_RUN_TIMEOUT_MS 2000 /* a dry run's workers may verify one id at once */
#define REDRAW_MS 200           /* of the counter */
#define SAY_WAITING_MS 5000     /* most live deliveries end before */
#define UNACKNOWLEDGED_MAX 5    /* messages, before the ledger counts as dead */

static volatile sig_atomic_t stops; /* number of stop signals */

/* The second signal waits for no worker. */
static void count_stop(int signal)
{
    (void)signal;
    if (++stops > 1)
        _exit(EX_TEMPFAIL);
}

struct item {
    char *name;
    int64_t number;
    json_t *left;   /* null: all */
    json_t *result; /* last results of recipients; or NULL */
    int64_t busy_since_ms, due_ms, pause_ms;
};

struct run {
    const struct replay_setup *setup;
    struct workers *workers;
    struct replay_output *output;
    GQueue waiting;        /* struct item, by due_ms */
    GQueue unacknowledged; /* struct item: unacknowledged, before the first reply */
    bool last_reply;       /* the ledger has replied */
    int64_t timeout_ms;    /* how long to retry one message */
    bool all_begun, reported_waiting;
    struct error *error;     /* of setup->next */
    GHashTable *would_store; /* copies that this dry run counted */
};

static void report_item(struct run *run, struct item *item)
{
    replay_output_message(run->output, item->name, item->result);
    base_free(&item->name);
    json_decref(item->left);
    json_decref(item->result);
    base_free(&item);
}

/* Returns true if the ledger replied for no recipient. Sets *ret_heard if it replied for one. */
static bool is_unacknowledged(const json_t *result, bool *ret_heard)
{
    size_t i, unacknowledged = 0;
    json_t *recipient;
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        enum outcome outcome = replay_result_outcome(recipient);
        unacknowledged += outcome == OUTCOME_DATABASE;
        *ret_heard |= outcome == OUTCOME_STORED || outcome == OUTCOME_DUPLICATE || outcome == OUTCOME_QUARANTINED ||
                      outcome == OUTCOME_BUSY;
    }
    return unacknowledged > 0 && unacknowledged == json_array_size(replay_result_recipients(result));
}

static bool is_ledger_dead(const struct run *run)
{
    return run->unacknowledged.length >= UNACKNOWLEDGED_MAX;
}

static void report_unacknowledged(struct run *run)
{
    while (!g_queue_is_empty(&run->unacknowledged))
        report_item(run, g_queue_pop_head(&run->unacknowledged));
}

/* Keeps messages until the ledger first replies: they may have one reason. */
static void finish_item(struct run *run, struct item *item)
{
    bool unacknowledged = is_unacknowledged(item->result, &run->last_reply);
    if (unacknowledged && !run->last_reply) {
        g_queue_push_tail(&run->unacknowledged, item);
        return;
    }
    if (run->last_reply)
        report_unacknowledged(run);
    report_item(run, item);
}

static void report_dead(struct run *run)
{
    const struct item *first = g_queue_peek_head(&run->unacknowledged);
    const json_t *recipient = json_array_get(replay_result_recipients(first->result), 0);
    replay_output_stop(run->output, replay_result_text(recipient, "text"));
}

static gint by_due(gconstpointer a, gconstpointer b, gpointer context)
{
    const struct item *first = a, *second = b;
    (void)context;
    return first->due_ms < second->due_ms ? -1 : first->due_ms > second->due_ms;
}

static void let_wait(struct run *run, struct item *item)
{
    int64_t now = base_now_ms();
    if (item->busy_since_ms == 0)
        item->busy_since_ms = now;
    item->pause_ms = item->pause_ms == 0 ? RETRY_FIRST_MS : MIN(item->pause_ms * 2, RETRY_LONGEST_MS);
    item->due_ms = now + item->pause_ms;
    g_queue_insert_sorted(&run->waiting, item, by_due, NULL);
}

/* Returns an item whose pause is over, else a new one, else NULL. */
static struct item *next_item(struct run *run)
{
    const struct item *waiting = g_queue_peek_head(&run->waiting);
    struct item new = {.left = json_null()};
    if (waiting != NULL && waiting->due_ms <= base_now_ms())
        return g_queue_pop_head(&run->waiting);
    run->all_begun = run->all_begun || !run->setup->next(run->setup->context, &new.name, &new.number, run->error);
    if (run->all_begun)
        return NULL;
    struct item *item = base_alloc(sizeof(*item));
    *item = new;
    return item;
}

static void change_busy(json_t *result, enum outcome outcome, const char *text)
{
    size_t i;
    json_t *recipient;
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        if (replay_result_outcome(recipient) == OUTCOME_BUSY)
            replay_result_change(recipient, outcome, text);
    }
}

/* The last attempt has no result. */
static void fail_rest(struct run *run, struct item *item, const char *reason)
{
    if (item->result == NULL)
        item->result = replay_result_new(REPLAY_ERROR, reason, NULL);
    else
        change_busy(item->result, OUTCOME_TEMPFAIL, reason);
    finish_item(run, item);
}

static void assign(struct run *run)
{
    while (stops == 0 && !is_ledger_dead(run) && workers_busy(run->workers) < run->setup->jobs) {
        struct error error;
        struct item *item = next_item(run);
        if (item == NULL)
            return;
        json_t *task = json_pack("{s:I, s:O}", "number", (json_int_t)item->number, "left", item->left);
        if (!workers_assign(run->workers, task, item, &error))
            fail_rest(run, item, error.text);
        json_decref(task);
    }
}

/* The Sent copy may have no earlier result. */
static void join_recipient(json_t *recipients, json_t *recipient)
{
    size_t i = 0;
    while (i < json_array_size(recipients) && !json_equal(json_object_get(json_array_get(recipients, i), "recipient"),
                                                          json_object_get(recipient, "recipient")))
        i++;
    if (i < json_array_size(recipients))
        json_array_set(recipients, i, recipient);
    else
        json_array_append(recipients, recipient);
}

/* A further attempt is for some recipients only. */
static void join_result(json_t *result, const json_t *further)
{
    enum replay_load load = replay_result_load(further);
    json_t *old = replay_result_recipients(result), *new = replay_result_recipients(further);
    if (load == REPLAY_NOTHING)
        change_busy(result, OUTCOME_DUPLICATE, "finished by another delivery meanwhile");
    else if (load != REPLAY_LOADED)
        change_busy(result, OUTCOME_TEMPFAIL, replay_result_text(further, "error"));
    for (size_t i = 0; i < json_array_size(new); i++)
        join_recipient(old, json_array_get(new, i));
}

/* Returns a new array. */
static json_t *busy_recipients(const json_t *result)
{
    json_t *busy = json_array(), *recipient;
    size_t i;
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        if (replay_result_outcome(recipient) == OUTCOME_BUSY)
            json_array_append(busy, json_object_get(recipient, "recipient"));
    }
    return busy;
}

/* A dry run records nothing, so it remembers its copies. */
static void mark_repeated(struct run *run, const json_t *result)
{
    size_t i;
    json_t *recipient;
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        if (replay_result_outcome(recipient) != OUTCOME_STORED)
            continue;
        const char *mailbox = replay_result_text(recipient, "mailbox");
        char *copy = g_strjoin("\n", replay_result_text(result, "message_id"), replay_result_text(result, "digest"),
                               replay_result_text(recipient, "account"), mailbox, NULL);
        if (g_hash_table_add(run->would_store, copy) || run->setup->redeliver == REDELIVER_FORCE)
            continue;
        char *text OD_CLEANUP(base_free) = base_printf("would be a duplicate in mailbox=%s", mailbox);
        replay_result_change(recipient, OUTCOME_DUPLICATE, text);
    }
}

static void handle_result(struct run *run, struct item *item, json_t *result)
{
    json_t *busy = busy_recipients(result);
    if (item->result == NULL) {
        item->result = result;
    } else {
        join_result(item->result, result);
        json_decref(result);
    }
    bool patient = item->busy_since_ms == 0 || base_now_ms() - item->busy_since_ms < run->timeout_ms;
    if (json_array_size(busy) > 0 && patient) {
        json_decref(item->left);
        item->left = busy;
        let_wait(run, item);
        return;
    }
    json_decref(busy);
    if (run->setup->dry_run)
        mark_repeated(run, item->result);
    finish_item(run, item);
}

static void handle_death(struct run *run, struct item *item, int status)
{
    char reason[128] = DEADLINE_OVER;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EX_TEMPFAIL)
        g_snprintf(reason, sizeof(reason), "its worker %s", base_status_text(status));
    fail_rest(run, item, reason);
}

/* Reports once that all messages wait for other deliveries, or for a hold-off. */
static void say_waiting(struct run *run)
{
    int64_t since_ms = 0;
    if (run->reported_waiting || run->setup->dry_run || !run->all_begun || workers_busy(run->workers) > 0)
        return;
    for (const GList *link = run->waiting.head; link != NULL; link = link->next)
        since_ms = MAX(since_ms, ((const struct item *)link->data)->busy_since_ms);
    int64_t waited_ms = base_now_ms() - since_ms;
    if (since_ms == 0 || waited_ms < SAY_WAITING_MS)
        return;
    run->reported_waiting = true;
    replay_output_waiting(run->output, run->waiting.length, run->timeout_ms - waited_ms);
}

static void wait_for_result(struct run *run)
{
    json_t *result;
    int status;
    const struct item *waiting = g_queue_peek_head(&run->waiting);
    int ms = waiting != NULL ? (int)CLAMP(waiting->due_ms - base_now_ms(), 0, REDRAW_MS) : REDRAW_MS;
    struct item *item = workers_wait(run->workers, ms, &result, &status);
    if (item == NULL)
        return;
    if (result != NULL)
        handle_result(run, item, result);
    else
        handle_death(run, item, status);
}

static bool is_to_do(const struct run *run)
{
    if (workers_busy(run->workers) > 0)
        return true;
    return stops == 0 && !is_ledger_dead(run) && (!run->all_begun || run->waiting.length > 0);
}

static void install_stop(void)
{
    struct sigaction action = {.sa_handler = count_stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static int exit_status(const struct run *run)
{
    if (replay_output_count(run->output, REPLAY_FAILED) + replay_output_count(run->output, REPLAY_MISSING) > 0)
        return EX_DATAERR;
    bool all_tried = run->all_begun && stops == 0;
    return replay_output_count(run->output, REPLAY_DEFERRED) > 0 || !all_tried ? EX_TEMPFAIL : 0;
}

int replay_run(const struct replay_setup *setup, struct error *error)
{
    struct run run = {
        .setup = setup,
        .output = replay_output_new(setup),
        .waiting = G_QUEUE_INIT,
        .unacknowledged = G_QUEUE_INIT,
        .workers = workers_new(setup),
        .would_store = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .timeout_ms = setup->dry_run ? DRY_RUN_TIMEOUT_MS
                                     : setup->config->delivery.hold_off + setup->config->delivery.deadline,
        .error = error,
    };
    error->text[0] = '\0';
    install_stop();
    while (assign(&run), is_to_do(&run)) {
        say_waiting(&run);
        wait_for_result(&run);
        replay_output_progress(run.output, g_queue_get_length(&run.waiting));
    }
    while (!g_queue_is_empty(&run.waiting)) /* stopped, or the ledger is dead */
        finish_item(&run, g_queue_pop_head(&run.waiting));
    if (is_ledger_dead(&run))
        report_dead(&run);
    report_unacknowledged(&run);
    workers_free(&run.workers);
    g_hash_table_unref(run.would_store);
    int status = exit_status(&run);
    replay_output_end(&run.output, status == EX_TEMPFAIL, error->text[0] != '\0');
    return status;
}
