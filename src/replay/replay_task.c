/* SPDX-License-Identifier: ISC */
#include "replay/replay.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

/* The parent counts the message as deferred; the ledger has what was begun. */
static void end_worker(int signal)
{
    delivery_log_end(signal);
    _exit(signal == SIGALRM ? EX_TEMPFAIL : 128 + signal); /* as a shell reports it */
}

struct replay_worker *replay_task_begin(const struct replay_setup *setup)
{
    struct replay_worker *worker = base_alloc(sizeof(*worker));
    worker->setup = setup;
    worker->sessions = sessions_new(setup->config, setup->jobs);
    /* The parent handles the terminal's signals. */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    deadline_install(end_worker);
    return worker;
}

struct ledger *replay_task_ledger(struct replay_worker *worker, struct error *error)
{
    if (worker->ledger == NULL)
        worker->ledger = ledger_open(worker->setup->config, NULL, error);
    return worker->ledger;
}

static void message_clear(struct replay_message *message)
{
    message_free(&message->message);
    base_free(&message->sender);
    base_free(&message->queue_id);
    g_strfreev(message->recipients);
    g_strfreev(message->originals);
    route_clear(&message->sender_route);
}

/* left: an array of strings; null: all. */
static bool is_still_left(const json_t *left, const char *recipient)
{
    for (size_t i = 0; i < json_array_size(left); i++)
        if (strcmp(json_string_value(json_array_get(left, i)), recipient) == 0)
            return true;
    return json_is_null(left);
}

static struct delivery_recipient *choose_recipients(const struct replay_message *message, const json_t *left,
                                                    size_t *ret_count)
{
    struct delivery_recipient *chosen = base_alloc((g_strv_length(message->recipients) + 1) * sizeof(*chosen));
    *ret_count = 0;
    for (size_t i = 0; message->recipients[i] != NULL; i++) {
        const char *original = message->originals != NULL ? message->originals[i] : "";
        if (is_still_left(left, message->recipients[i]))
            chosen[(*ret_count)++] = (struct delivery_recipient){
                .address = message->recipients[i],
                .original = original[0] != '\0' ? original : NULL,
            };
    }
    return chosen;
}

/* Other accounts' recipients serve the Sent copy only. */
static bool is_reported(const struct delivery_request *request, const struct delivery_reply *result)
{
    return request->only_account == NULL || result->route.account == NULL ||
           strcmp(request->only_account, result->route.account) == 0 ||
           outcome_row(result->report.outcome)->exit_status != 0;
}

/* If verified, the Sent copy counts, as it may be the only one missing; if it is busy, its owner's result says so. */
static void add_replies(const struct delivery *delivery, json_t *result)
{
    const struct delivery_request *request = delivery->request;
    const struct delivery_sent *sent = &delivery->sent;
    for (size_t i = 0; i < request->recipient_count; i++) {
        const struct delivery_reply *said = &delivery->replies[i];
        if (is_reported(request, said))
            replay_result_add(result, request->recipients[i].address, &said->report, said->route.account,
                              delivery_mailbox(said), said->uid);
    }
    if (verify_is_wanted(request) && sent->account != NULL && sent->report.outcome != OUTCOME_BUSY)
        replay_result_add(result, "", &sent->report, sent->account, sent->mailbox, sent->uid);
}

static void deliver_loaded(struct replay_worker *worker, const struct replay_message *message, const json_t *left,
                           json_t *result)
{
    const struct replay_setup *setup = worker->setup;
    size_t count;
    struct error error;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = choose_recipients(message, left, &count);
    const struct delivery_request request = {
        .config = setup->config,
        .sessions = worker->sessions,
        .message = message->message,
        .sender = message->sender,
        .queue_id = message->queue_id,
        .sender_route = message->sender_known ? &message->sender_route : NULL,
        .received_at = message->received_at,
        .complete = true,
        .redeliver = setup->redeliver,
        .only_account = setup->only_account,
        .id_only = message->id_only,
        .dry_run = setup->dry_run || message->id_only,
        .skip_recorded = true,
        .recipients = recipients,
        .recipient_count = count,
    };
    struct delivery delivery OD_CLEANUP(delivery_clear) = {
        .request = &request,
        .ledger = replay_task_ledger(worker, &error),
        .started_ms = base_now_ms(),
    };
    if (delivery.ledger == NULL) {
        delivery_refuse(&delivery, OUTCOME_DATABASE, error.text);
    } else {
        delivery_run(&delivery);
        deadline_disarm();
    }
    if (!request.dry_run)
        delivery_log(&delivery);
    add_replies(&delivery, result);
}

json_t *replay_task_serve(struct replay_worker *worker, const json_t *task)
{
    struct replay_message message OD_CLEANUP(message_clear) = {.message = NULL};
    struct error error = {.text = ""};
    int64_t number = json_integer_value(json_object_get(task, "number"));
    enum replay_load load = worker->setup->load(worker, number, &message, &error);
    json_t *result = replay_result_new(load, load == REPLAY_LOADED ? "" : error.text, message.message);
    if (load == REPLAY_LOADED)
        deliver_loaded(worker, &message, json_object_get(task, "left"), result);
    return result;
}
