/* SPDX-License-Identifier: ISC
 *
 * The life of a worker; the format of tasks and answers. */
#include "replay/replay_task.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/deadline.h"
#include "decode/decode.h"

#define TASK_TYPE "(vmas)"
#define ANSWER_TYPE "(ysssta(susssu))"

/* On the deadline or a signal. The parent counts the message as deferred; the ledger knows what was begun. */
static void end_by_signal(int signal)
{
    delivery_log_end(signal);
    _exit(signal == SIGALRM ? EX_TEMPFAIL : 128 + signal); /* as a shell reports it */
}

struct replay_worker *replay_task_begin(const struct replay_setup *setup)
{
    struct replay_worker *worker = base_alloc(sizeof(*worker));
    worker->setup = setup;
    worker->sessions = sessions_new(setup->config, setup->jobs);
    /* A signal that the terminal sends to all of us is for the parent to handle. */
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
    deadline_install(end_by_signal);
    return worker;
}

struct ledger *replay_task_ledger(struct replay_worker *worker, struct fault *fault)
{
    if (worker->ledger == NULL)
        worker->ledger = ledger_open(worker->setup->config, NULL, fault);
    return worker->ledger;
}

GBytes *replay_task_new(GVariant *task, const char *const *recipients)
{
    GVariant *only = recipients != NULL ? g_variant_new_strv(recipients, -1) : NULL;
    GVariant *maybe = g_variant_new_maybe(G_VARIANT_TYPE_STRING_ARRAY, only);
    GVariant *variant = g_variant_ref_sink(g_variant_new("(v@mas)", task, maybe));
    GBytes *bytes = g_variant_get_data_as_bytes(variant);
    g_variant_unref(variant);
    return bytes;
}

static void message_clear(struct replay_message *message)
{
    message_free(&message->message);
    base_free(&message->sender);
    base_free(&message->queue_id);
    g_clear_pointer(&message->recipients, g_ptr_array_unref);
    g_clear_pointer(&message->originals, g_ptr_array_unref);
    route_clear(&message->sender_route);
}

static bool is_among(const char *const *list, const char *text)
{
    return list == NULL || g_strv_contains(list, text);
}

/* The recipients, or those remaining, in the form of a delivery. */
static struct delivery_recipient *choose_recipients(const struct replay_message *message, const char *const *only,
                                                    size_t *ret_count)
{
    struct delivery_recipient *recipients = base_alloc((message->recipients->len + 1) * sizeof(*recipients));
    *ret_count = 0;
    for (guint i = 0; i < message->recipients->len; i++) {
        const char *original = message->originals != NULL ? message->originals->pdata[i] : "";
        if (is_among(only, message->recipients->pdata[i]))
            recipients[(*ret_count)++] = (struct delivery_recipient){
                .address = message->recipients->pdata[i],
                .original = original[0] != '\0' ? original : NULL,
            };
    }
    return recipients;
}

static void add_verdicts(GVariantBuilder *verdicts, const struct delivery *delivery)
{
    for (size_t i = 0; i < delivery->request->recipient_count; i++) {
        const struct delivery_answer *answer = &delivery->answers[i];
        const char *mailbox = delivery_mailbox(answer), *recipient = delivery->request->recipients[i].address;
        char *address OD_CLEANUP(base_free) = decode_scrub(recipient, strlen(recipient));
        g_variant_builder_add(verdicts, "(susssu)", address, (guint32)answer->report.outcome, answer->report.text,
                              answer->route.account != NULL ? answer->route.account : "",
                              mailbox != NULL ? mailbox : "", answer->uid);
    }
}

static void deliver_loaded(struct replay_worker *worker, const struct replay_message *message, const char *const *only,
                           GVariantBuilder *verdicts)
{
    const struct replay_setup *setup = worker->setup;
    size_t count;
    struct fault fault;
    struct delivery_recipient *recipients OD_CLEANUP(base_free) = choose_recipients(message, only, &count);
    const struct delivery_request request = {
        .config = setup->config,
        .sessions = worker->sessions,
        .message = message->message,
        .sender = message->sender,
        .queue_id = message->queue_id,
        .sender_known = message->sender_known,
        .sender_route = message->sender_route.account != NULL ? &message->sender_route : NULL,
        .received_at = message->received_at,
        .whole = true,
        .again = setup->again,
        .dry_run = setup->dry_run,
        .recipients = recipients,
        .recipient_count = count,
    };
    struct delivery delivery OD_CLEANUP(delivery_clear) = {
        .request = &request,
        .ledger = replay_task_ledger(worker, &fault),
        .started_ms = base_now_ms(),
    };
    if (delivery.ledger == NULL) {
        delivery_refuse(&delivery, OUTCOME_DATABASE, fault.text);
    } else {
        delivery_run(&delivery);
        deadline_disarm();
    }
    if (!setup->dry_run)
        delivery_log(&delivery);
    add_verdicts(verdicts, &delivery);
}

static GBytes *new_answer(enum replay_load load, const char *text, const struct message *message,
                          GVariantBuilder *verdicts)
{
    char digest[2 * MESSAGE_DIGEST_SIZE + 1] = "";
    char *id OD_CLEANUP(base_free) = NULL;
    if (message != NULL) {
        base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
        if (message->message_id != NULL)
            id = decode_scrub(message->message_id, message->message_id_length);
    }
    char *valid = g_utf8_make_valid(text, -1);
    GVariant *variant = g_variant_ref_sink(g_variant_new(ANSWER_TYPE, (guchar)load, valid, id != NULL ? id : "", digest,
                                                         (guint64)(message != NULL ? message->size : 0), verdicts));
    GBytes *bytes = g_variant_get_data_as_bytes(variant);
    g_variant_unref(variant);
    g_free(valid);
    return bytes;
}

GBytes *replay_task_serve(struct replay_worker *worker, GBytes *bytes)
{
    struct replay_message message OD_CLEANUP(message_clear) = {.message = NULL};
    struct fault fault = {.text = ""};
    GVariantBuilder verdicts;
    GVariant *variant = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(TASK_TYPE), bytes, TRUE));
    GVariant *task, *only;
    g_variant_get(variant, "(v@mas)", &task, &only);
    GVariant *list = g_variant_get_maybe(only);
    const gchar **recipients = list != NULL ? g_variant_get_strv(list, NULL) : NULL;
    g_variant_builder_init(&verdicts, G_VARIANT_TYPE("a(susssu)"));
    enum replay_load load = worker->setup->load(worker, task, &message, &fault);
    if (load == REPLAY_LOADED)
        deliver_loaded(worker, &message, recipients, &verdicts);
    GBytes *answer = new_answer(load, fault.text, message.message, &verdicts);
    g_free(recipients);
    g_clear_pointer(&list, g_variant_unref);
    g_variant_unref(only);
    g_variant_unref(task);
    g_variant_unref(variant);
    return answer;
}

static void verdict_free(void *pointer)
{
    struct replay_verdict *verdict = pointer;
    g_free(verdict->recipient);
    g_free(verdict->text);
    g_free(verdict->account);
    g_free(verdict->mailbox);
    g_free(verdict);
}

struct replay_answer *replay_answer_read(GBytes *bytes)
{
    struct replay_answer *answer = g_new0(struct replay_answer, 1);
    struct replay_verdict verdict;
    guchar load;
    guint32 outcome;
    GVariantIter *iter;
    GVariant *variant = g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(ANSWER_TYPE), bytes, TRUE));
    g_variant_get(variant, ANSWER_TYPE, &load, &answer->text, &answer->message_id, &answer->digest, &answer->size,
                  &iter);
    answer->load = (enum replay_load)load;
    answer->verdicts = g_ptr_array_new_with_free_func(verdict_free);
    while (g_variant_iter_next(iter, "(susssu)", &verdict.recipient, &outcome, &verdict.text, &verdict.account,
                               &verdict.mailbox, &verdict.uid)) {
        verdict.outcome = (enum outcome)outcome;
        g_ptr_array_add(answer->verdicts, g_memdup2(&verdict, sizeof(verdict)));
    }
    g_variant_iter_free(iter);
    g_variant_unref(variant);
    return answer;
}

void replay_answer_free(struct replay_answer **answer)
{
    if (*answer == NULL)
        return;
    g_free((*answer)->text);
    g_free((*answer)->message_id);
    g_free((*answer)->digest);
    g_ptr_array_unref((*answer)->verdicts);
    g_free(*answer);
    *answer = NULL;
}
