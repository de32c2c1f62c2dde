/* SPDX-License-Identifier: ISC
 *
 * The queue of messages to retry, and the workers' answers. */
#include "replay/replay_run.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include "replay/replay_workers.h"

#define RETRY_FIRST_MS 250
#define RETRY_LONGEST_MS 10000
#define DRY_PATIENCE_MS 2000 /* a dry run waits only for its own workers, which may look at one id at once */
#define LOOK_MS 200          /* how often to update the progress bar */

static volatile sig_atomic_t stops; /* how often we were asked to stop */

/* After a second signal the workers are not waited for. */
static void stop(int signal)
{
    (void)signal;
    if (++stops > 1)
        _exit(EX_TEMPFAIL);
}

/* A message in progress. */
struct item {
    char *name;
    GVariant *task;
    char **left;                  /* remaining recipients; NULL: all */
    struct replay_answer *answer; /* of all tries so far, with the last verdict of each recipient; NULL: none yet */
    int64_t busy_since_ms, due_ms, pause_ms;
};

struct run {
    const struct replay_setup *setup;
    const struct replay_source *source;
    struct workers *workers;
    struct replay_output *output;
    GQueue waiting;      /* of struct item, by due_ms */
    int64_t patience_ms; /* how long to retry one message */
    bool source_ended;
    GHashTable *would_store; /* copies that this dry run would have made, and would not make again */
};

static void item_free(struct item *item)
{
    base_free(&item->name);
    g_variant_unref(item->task);
    g_strfreev(item->left);
    replay_answer_free(&item->answer);
    g_free(item);
}

static gint by_due(gconstpointer a, gconstpointer b, gpointer context)
{
    const struct item *first = a, *second = b;
    (void)context;
    return first->due_ms < second->due_ms ? -1 : first->due_ms > second->due_ms;
}

static void wait_with(struct run *run, struct item *item)
{
    int64_t now = base_now_ms();
    if (item->busy_since_ms == 0)
        item->busy_since_ms = now;
    item->pause_ms = item->pause_ms == 0 ? RETRY_FIRST_MS : MIN(item->pause_ms * 2, RETRY_LONGEST_MS);
    item->due_ms = now + item->pause_ms;
    g_queue_insert_sorted(&run->waiting, item, by_due, NULL);
}

/* The next message to try: one whose pause is over, else a new one, else NULL. */
static struct item *next_item(struct run *run)
{
    struct item *waiting = g_queue_peek_head(&run->waiting);
    if (waiting != NULL && waiting->due_ms <= base_now_ms())
        return g_queue_pop_head(&run->waiting);
    if (run->source_ended)
        return NULL;
    struct item *item = g_new0(struct item, 1);
    GVariant *task;
    run->source_ended = !run->source->next(run->source->context, &item->name, &task);
    if (run->source_ended) {
        g_free(item);
        return NULL;
    }
    item->task = g_variant_ref_sink(task);
    return item;
}

/* Gives out tasks while there are idle workers. */
static void give_out(struct run *run)
{
    while (stops == 0 && workers_busy(run->workers) < run->setup->jobs) {
        struct fault fault;
        struct item *item = next_item(run);
        if (item == NULL)
            return;
        GBytes *task = replay_task_new(item->task, (const char *const *)item->left);
        if (!workers_give(run->workers, task, item, &fault)) {
            replay_output_trouble(run->output, item->name, fault.text);
            item_free(item);
        }
        g_bytes_unref(task);
    }
}

static gboolean same_recipient(gconstpointer a, gconstpointer b)
{
    const struct replay_verdict *first = a, *second = b;
    return strcmp(first->recipient, second->recipient) == 0;
}

/* Sets the verdict of the remaining recipients if a further try returned none for them. */
static void answer_left(struct replay_answer *answer, enum outcome outcome, const char *text)
{
    for (guint i = 0; i < answer->verdicts->len; i++) {
        struct replay_verdict *verdict = answer->verdicts->pdata[i];
        if (verdict->outcome != OUTCOME_BUSY)
            continue;
        verdict->outcome = outcome;
        g_free(verdict->text);
        verdict->text = g_strdup(text);
    }
}

/* The verdicts of a further try, which was for some recipients only, replace their earlier ones. */
static void take_answer(struct item *item, struct replay_answer **answer)
{
    guint place;
    if (item->answer == NULL) {
        item->answer = *answer;
        *answer = NULL;
        return;
    }
    if ((*answer)->load == REPLAY_NOTHING)
        answer_left(item->answer, OUTCOME_DUPLICATE, "finished by another delivery meanwhile");
    else if ((*answer)->load != REPLAY_LOADED)
        answer_left(item->answer, OUTCOME_TROUBLE, (*answer)->text);
    for (guint i = 0; i < (*answer)->verdicts->len; i++) {
        gpointer *new = &(*answer)->verdicts->pdata[i];
        if (g_ptr_array_find_with_equal_func(item->answer->verdicts, *new, same_recipient, &place)) {
            gpointer old = item->answer->verdicts->pdata[place];
            item->answer->verdicts->pdata[place] = *new;
            *new = old;
        }
    }
    replay_answer_free(answer);
}

/* The recipients whose copy another delivery is making; NULL if there are none. */
static char **busy_recipients(const struct replay_answer *answer)
{
    GPtrArray *busy = g_ptr_array_new();
    for (guint i = 0; i < answer->verdicts->len; i++) {
        const struct replay_verdict *verdict = answer->verdicts->pdata[i];
        if (verdict->outcome == OUTCOME_BUSY)
            g_ptr_array_add(busy, g_strdup(verdict->recipient));
    }
    g_ptr_array_add(busy, NULL);
    char **list = (char **)g_ptr_array_free(busy, FALSE);
    if (list[0] == NULL)
        g_clear_pointer(&list, g_strfreev);
    return list;
}

/* A dry run writes nothing, so the ledger does not know what the run itself would already have done. */
static void mark_repeated(struct run *run, const struct replay_answer *answer)
{
    for (guint i = 0; i < answer->verdicts->len; i++) {
        struct replay_verdict *verdict = answer->verdicts->pdata[i];
        if (verdict->outcome != OUTCOME_STORED)
            continue;
        char *copy = g_strjoin("\n", answer->message_id, answer->digest, verdict->account, verdict->mailbox, NULL);
        if (g_hash_table_add(run->would_store, copy) || run->setup->again == AGAIN_FORCE)
            continue;
        verdict->outcome = OUTCOME_DUPLICATE;
        g_free(verdict->text);
        verdict->text = g_strdup_printf("would be a duplicate in mailbox=%s by then", verdict->mailbox);
    }
}

/* Handles an answer: the message is finished, or waits for other deliveries. */
static void handle_answer(struct run *run, struct item *item, GBytes *bytes)
{
    struct replay_answer *answer = replay_answer_read(bytes);
    char **busy = busy_recipients(answer);
    take_answer(item, &answer);
    bool patient = item->busy_since_ms == 0 || base_now_ms() - item->busy_since_ms < run->patience_ms;
    if (busy != NULL && patient) {
        g_strfreev(item->left);
        item->left = busy;
        wait_with(run, item);
        return;
    }
    g_strfreev(busy);
    if (run->setup->dry_run)
        mark_repeated(run, item->answer);
    replay_output_message(run->output, item->name, item->answer);
    item_free(item);
}

static void handle_death(struct run *run, struct item *item, int status)
{
    char reason[128];
    if (WIFEXITED(status) && WEXITSTATUS(status) == EX_TEMPFAIL)
        strcpy(reason, "the deadline is over (delivery.deadline)");
    else
        g_snprintf(reason, sizeof(reason), "its worker died (%s %d)", WIFSIGNALED(status) ? "signal" : "exit status",
                   WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    if (item->answer != NULL) {
        answer_left(item->answer, OUTCOME_TROUBLE, reason);
        replay_output_message(run->output, item->name, item->answer);
    } else {
        replay_output_trouble(run->output, item->name, reason);
    }
    item_free(item);
}

/* Waits until an answer arrives, a pause is over, or the progress bar is due. */
static void wait_for_answer(struct run *run)
{
    void *item;
    GBytes *answer;
    int status;
    int64_t ms = LOOK_MS;
    const struct item *waiting = g_queue_peek_head(&run->waiting);
    if (waiting != NULL)
        ms = CLAMP(waiting->due_ms - base_now_ms(), 0, LOOK_MS);
    if (!workers_wait(run->workers, ms, &item, &answer, &status))
        return;
    if (answer == NULL) {
        handle_death(run, item, status);
        return;
    }
    handle_answer(run, item, answer);
    g_bytes_unref(answer);
}

static bool to_do(const struct run *run)
{
    if (workers_busy(run->workers) > 0)
        return true;
    return stops == 0 && (!run->source_ended || run->waiting.length > 0);
}

static void install_stop(void)
{
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Gives up what was not completely tried when we were asked to stop. */
static void give_up_waiting(struct run *run)
{
    struct item *item;
    while ((item = g_queue_pop_head(&run->waiting)) != NULL) {
        replay_output_message(run->output, item->name, item->answer);
        item_free(item);
    }
}

int replay_run(const struct replay_setup *setup, const struct replay_source *source, struct replay_output *output)
{
    struct run run = {
        .setup = setup,
        .source = source,
        .output = output,
        .waiting = G_QUEUE_INIT,
        .workers = workers_new(setup),
        .would_store = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
        .patience_ms = setup->dry_run ? DRY_PATIENCE_MS
                                      : setup->config->delivery.hold_off + setup->config->delivery.deadline,
    };
    install_stop();
    while (give_out(&run), to_do(&run)) {
        wait_for_answer(&run);
        replay_output_progress(output, g_queue_get_length(&run.waiting));
    }
    give_up_waiting(&run);
    workers_free(&run.workers);
    g_hash_table_unref(run.would_store);
    if (replay_output_count(output, REPLAY_FAILED) > 0)
        return EX_DATAERR;
    bool all_tried = run.source_ended && stops == 0;
    return replay_output_count(output, REPLAY_DEFERRED) > 0 || !all_tried ? EX_TEMPFAIL : 0;
}
