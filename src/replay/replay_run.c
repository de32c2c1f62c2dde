/* SPDX-License-Identifier: ISC */
#include "replay/replay_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "replay/replay_output.h"
#include "replay/replay_workers.h"

#define RETRY_FIRST_MS 250
#define RETRY_LONGEST_MS 10000
#define DRY_PATIENCE_MS 2000 /* a dry run's workers may verify one id at once */
#define LOOK_MS 200          /* of the progress bar */
#define SAY_WAITING_MS 5000  /* most live deliveries end before */
#define UNHEARD_MOST 5       /* messages, before the ledger counts as dead */

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
    json_t *answer; /* last results of recipients; or NULL */
    int64_t busy_since_ms, due_ms, pause_ms;
};

struct run {
    const struct replay_setup *setup;
    struct workers *workers;
    struct replay_output *output;
    GQueue waiting;      /* struct item, by due_ms */
    GQueue unheard;      /* struct item: unacknowledged, before the first reply */
    bool heard;          /* the ledger has replied */
    int64_t patience_ms; /* how long to retry one message */
    bool all_begun, told_waiting;
    struct fault *fault;     /* of setup->next */
    GHashTable *would_store; /* copies that this dry run counted */
};

static void report_item(struct run *run, struct item *item)
{
    replay_output_message(run->output, item->name, item->answer);
    base_free(&item->name);
    json_decref(item->left);
    json_decref(item->answer);
    base_free(&item);
}

/* Returns true if the ledger replied for no recipient. Sets *ret_heard if it replied for one. */
static bool is_unheard(const json_t *answer, bool *ret_heard)
{
    size_t i, unheard = 0;
    json_t *recipient;
    json_array_foreach(replay_answer_recipients(answer), i, recipient)
    {
        enum outcome outcome = replay_answer_outcome(recipient);
        unheard += outcome == OUTCOME_DATABASE;
        *ret_heard |= outcome == OUTCOME_STORED || outcome == OUTCOME_DUPLICATE || outcome == OUTCOME_QUARANTINED ||
                      outcome == OUTCOME_BUSY;
    }
    return unheard > 0 && unheard == json_array_size(replay_answer_recipients(answer));
}

static bool is_ledger_dead(const struct run *run)
{
    return run->unheard.length >= UNHEARD_MOST;
}

static void report_unheard(struct run *run)
{
    while (!g_queue_is_empty(&run->unheard))
        report_item(run, g_queue_pop_head(&run->unheard));
}

/* Keeps messages until the ledger first replies: they may have one reason. */
static void finish_item(struct run *run, struct item *item)
{
    bool unheard = is_unheard(item->answer, &run->heard);
    if (unheard && !run->heard) {
        g_queue_push_tail(&run->unheard, item);
        return;
    }
    if (run->heard)
        report_unheard(run);
    report_item(run, item);
}

static void report_dead(struct run *run)
{
    const struct item *first = g_queue_peek_head(&run->unheard);
    const json_t *recipient = json_array_get(replay_answer_recipients(first->answer), 0);
    replay_output_stop(run->output, replay_answer_text(recipient, "text"));
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
    run->all_begun = run->all_begun || !run->setup->next(run->setup->context, &new.name, &new.number, run->fault);
    if (run->all_begun)
        return NULL;
    struct item *item = base_alloc(sizeof(*item));
    *item = new;
    return item;
}

static void change_busy(json_t *answer, enum outcome outcome, const char *text)
{
    size_t i;
    json_t *recipient;
    json_array_foreach(replay_answer_recipients(answer), i, recipient)
    {
        if (replay_answer_outcome(recipient) == OUTCOME_BUSY)
            replay_answer_change(recipient, outcome, text);
    }
}

/* The last attempt has no result. */
static void give_up(struct run *run, struct item *item, const char *reason)
{
    if (item->answer == NULL)
        item->answer = replay_answer_new(REPLAY_TROUBLE, reason, NULL);
    else
        change_busy(item->answer, OUTCOME_TROUBLE, reason);
    finish_item(run, item);
}

static void give_out(struct run *run)
{
    while (stops == 0 && !is_ledger_dead(run) && workers_busy(run->workers) < run->setup->jobs) {
        struct fault fault;
        struct item *item = next_item(run);
        if (item == NULL)
            return;
        json_t *task = json_pack("{s:I, s:O}", "number", (json_int_t)item->number, "left", item->left);
        if (!workers_give(run->workers, task, item, &fault))
            give_up(run, item, fault.text);
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
static void join_answer(json_t *answer, const json_t *further)
{
    enum replay_load load = replay_answer_load(further);
    json_t *old = replay_answer_recipients(answer), *new = replay_answer_recipients(further);
    if (load == REPLAY_NOTHING)
        change_busy(answer, OUTCOME_DUPLICATE, "finished by another delivery meanwhile");
    else if (load != REPLAY_LOADED)
        change_busy(answer, OUTCOME_TROUBLE, replay_answer_text(further, "error"));
    for (size_t i = 0; i < json_array_size(new); i++)
        join_recipient(old, json_array_get(new, i));
}

/* Returns a new array. */
static json_t *busy_recipients(const json_t *answer)
{
    json_t *busy = json_array(), *recipient;
    size_t i;
    json_array_foreach(replay_answer_recipients(answer), i, recipient)
    {
        if (replay_answer_outcome(recipient) == OUTCOME_BUSY)
            json_array_append(busy, json_object_get(recipient, "recipient"));
    }
    return busy;
}

/* A dry run records nothing, so it remembers its copies. */
static void mark_repeated(struct run *run, const json_t *answer)
{
    size_t i;
    json_t *recipient;
    json_array_foreach(replay_answer_recipients(answer), i, recipient)
    {
        if (replay_answer_outcome(recipient) != OUTCOME_STORED)
            continue;
        const char *mailbox = replay_answer_text(recipient, "mailbox");
        char *copy = g_strjoin("\n", replay_answer_text(answer, "message_id"), replay_answer_text(answer, "digest"),
                               replay_answer_text(recipient, "account"), mailbox, NULL);
        if (g_hash_table_add(run->would_store, copy) || run->setup->again == AGAIN_FORCE)
            continue;
        char *text OD_CLEANUP(base_free) = base_printf("would be a duplicate in mailbox=%s by then", mailbox);
        replay_answer_change(recipient, OUTCOME_DUPLICATE, text);
    }
}

static void handle_answer(struct run *run, struct item *item, json_t *answer)
{
    json_t *busy = busy_recipients(answer);
    if (item->answer == NULL) {
        item->answer = answer;
    } else {
        join_answer(item->answer, answer);
        json_decref(answer);
    }
    bool patient = item->busy_since_ms == 0 || base_now_ms() - item->busy_since_ms < run->patience_ms;
    if (json_array_size(busy) > 0 && patient) {
        json_decref(item->left);
        item->left = busy;
        let_wait(run, item);
        return;
    }
    json_decref(busy);
    if (run->setup->dry_run)
        mark_repeated(run, item->answer);
    finish_item(run, item);
}

static void handle_death(struct run *run, struct item *item, int status)
{
    char reason[128] = "the deadline is over (delivery.deadline)";
    if (!WIFEXITED(status) || WEXITSTATUS(status) != EX_TEMPFAIL)
        g_snprintf(reason, sizeof(reason), "its worker died (%s %d)", WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    give_up(run, item, reason);
}

/* Reports once that all messages wait for other deliveries, or for a hold-off. */
static void say_waiting(struct run *run)
{
    int64_t since_ms = 0;
    if (run->told_waiting || run->setup->dry_run || !run->all_begun || workers_busy(run->workers) > 0)
        return;
    for (const GList *link = run->waiting.head; link != NULL; link = link->next)
        since_ms = MAX(since_ms, ((const struct item *)link->data)->busy_since_ms);
    int64_t waited_ms = base_now_ms() - since_ms;
    if (since_ms == 0 || waited_ms < SAY_WAITING_MS)
        return;
    run->told_waiting = true;
    replay_output_waiting(run->output, run->waiting.length, run->patience_ms - waited_ms);
}

static void wait_for_answer(struct run *run)
{
    json_t *answer;
    int status;
    const struct item *waiting = g_queue_peek_head(&run->waiting);
    int ms = waiting != NULL ? (int)CLAMP(waiting->due_ms - base_now_ms(), 0, LOOK_MS) : LOOK_MS;
    struct item *item = workers_wait(run->workers, ms, &answer, &status);
    if (item == NULL)
        return;
    if (answer != NULL)
        handle_answer(run, item, answer);
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

int replay_run(const struct replay_setup *setup, struct fault *fault)
{
    struct run run = {
        .setup = setup,
        .output = replay_output_new(setup),
        .waiting = G_QUEUE_INIT,
        .unheard = G_QUEUE_INIT,
        .workers = workers_new(setup),
        .would_store = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .patience_ms = setup->dry_run ? DRY_PATIENCE_MS
                                      : setup->config->delivery.hold_off + setup->config->delivery.deadline,
        .fault = fault,
    };
    fault->text[0] = '\0';
    install_stop();
    while (give_out(&run), is_to_do(&run)) {
        say_waiting(&run);
        wait_for_answer(&run);
        replay_output_progress(run.output, g_queue_get_length(&run.waiting));
    }
    while (!g_queue_is_empty(&run.waiting)) /* stopped, or the ledger is dead */
        finish_item(&run, g_queue_pop_head(&run.waiting));
    if (is_ledger_dead(&run))
        report_dead(&run);
    report_unheard(&run);
    workers_free(&run.workers);
    g_hash_table_unref(run.would_store);
    int status = exit_status(&run);
    replay_output_end(&run.output, status == EX_TEMPFAIL, fault->text[0] != '\0');
    return status;
}
