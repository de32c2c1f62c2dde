/* SPDX-License-Identifier: ISC */
#include "delivery/copies.h"

#include <glib.h>
#include <string.h>

#include "delivery/sender.h"
#include "message/decode.h"

static void report_route(struct delivery *delivery, struct delivery_recipient *recipient, enum route_result result,
                         const struct fault *fault)
{
    bool bounce = delivery->config->route.unknown == UNKNOWN_BOUNCE;
    if (result == ROUTE_NONE)
        report_set(&recipient->report, bounce ? OUTCOME_UNKNOWN_BOUNCE : OUTCOME_UNKNOWN_DEFER, "%s", fault->text);
    else
        report_set(&recipient->report, OUTCOME_TROUBLE, "%s", fault->text);
}

/* The place of (account, mailbox) among the copies, added when it is new: two addresses may lead to one mailbox. */
static size_t place_copy(struct delivery_work *work, const char *account, const char *mailbox, enum copy_role role,
                         const char *recipient)
{
    struct ledger_claim *claim = &work->claim;
    for (size_t i = 0; i < claim->copy_count; i++)
        if (strcmp(work->copies[i].account, account) == 0 && strcmp(work->copies[i].mailbox, mailbox) == 0)
            return i;
    work->copies[claim->copy_count] = (struct ledger_copy){
        .account = account, .mailbox = mailbox, .role = role, .recipient = recipient,
    };
    return claim->copy_count++;
}

/* The route of one recipient, and whether the caller may deliver there. */
static enum route_result route_recipient(struct delivery *delivery, struct delivery_recipient *recipient,
                                         struct fault *fault)
{
    enum route_result result = route_find(delivery->config, delivery->ledger, recipient->address, &recipient->route, fault);
    if (result != ROUTE_OK || delivery->only_login == NULL)
        return result;
    result = route_is_account_of(delivery->config, delivery->ledger, delivery->only_login, recipient->route.account,
                                 fault);
    if (result != ROUTE_NONE)
        return result;
    fault_set(fault, "user %s may not deliver to %s: this set-group-ID program delivers only to its caller's own account",
              delivery->only_login, recipient->route.account);
    return ROUTE_TROUBLE;
}

static bool route_recipients(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    size_t routed = 0;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        struct fault fault;
        enum route_result result = route_recipient(delivery, recipient, &fault);
        recipient->copy = COPIES_NO_COPY;
        if (result != ROUTE_OK) {
            report_route(delivery, recipient, result, &fault);
            continue;
        }
        recipient->copy = place_copy(work, recipient->route.account, recipient->route.inbox, COPY_INBOX,
                                     recipient->address);
        work->deliveries[i] = (struct ledger_delivery){
            .recipient = recipient->address, .original_recipient = recipient->original,
            .account = recipient->route.account, .mailbox = recipient->route.inbox,
        };
        routed++;
    }
    return routed > 0;
}

static enum route_result recorded_sender(const struct delivery *delivery, struct route *ret)
{
    if (delivery->sender_route == NULL)
        return ROUTE_NONE;
    ret->account = base_strdup(delivery->sender_route->account);
    ret->sent = base_strdup(delivery->sender_route->sent);
    return ROUTE_OK;
}

/* Adds the Sent copy, if the sender has an account here and one is due; false when that cannot be told. */
static bool add_sent(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    struct fault fault;
    enum route_result result = delivery->sender_known ? recorded_sender(delivery, &work->sender)
                                                      : sender_route(delivery, &work->sender, &fault);
    if (result == ROUTE_TROUBLE) {
        for (size_t i = 0; i < delivery->recipient_count; i++)
            if (delivery->recipients[i].copy != COPIES_NO_COPY)
                report_set(&delivery->recipients[i].report, OUTCOME_TROUBLE, "sender: %s", fault.text);
        return false;
    }
    if (result == ROUTE_NONE)
        return true;
    size_t place = place_copy(work, work->sender.account, work->sender.sent, COPY_SENT, NULL);
    if (work->copies[place].role == COPY_SENT)
        work->sent = &work->copies[place];
    return true;
}

static void shuffle(struct delivery_work *work)
{
    size_t count = work->claim.copy_count;
    work->order = base_alloc((count + 1) * sizeof(*work->order));
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)g_random_int_range(0, (gint32)i + 1);
        work->order[i] = work->order[j];
        work->order[j] = i;
    }
}

static void set_identity(struct delivery_work *work)
{
    const struct message *message = work->delivery->message;
    struct ledger_claim *claim = &work->claim;
    char digest[2 * MESSAGE_DIGEST_SIZE + 1];
    base_hex(message->digest, MESSAGE_DIGEST_SIZE, digest);
    bool has_id = message->message_id != NULL;
    message_identity(work->delivery->config->lock.namespace, has_id ? message->message_id : digest,
                     has_id ? message->message_id_length : strlen(digest), claim->identity);
    memcpy(claim->digest, message->digest, LEDGER_HASH_SIZE);
    /* Whoever may run the set-group-ID program may also stop it while it has the lock: of his own account only. Against
     * deliveries by other ways, the claims in the rows are the fence, as they are when a lock is lost. */
    claim->lock_key = work->delivery->only_login != NULL
                          ? message_account_key(claim->identity, work->copies[0].account)
                          : message_lock_key(claim->identity);
    work->message_id = has_id ? decode_scrub(message->message_id, message->message_id_length) : NULL;
    work->sender_text = decode_scrub(work->delivery->sender, strlen(work->delivery->sender));
    claim->message_id = work->message_id;
    claim->sender = work->sender_text;
}

bool copies_collect(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    work->copies = base_alloc((delivery->recipient_count + 1) * sizeof(*work->copies));
    work->deliveries = base_alloc((delivery->recipient_count + 1) * sizeof(*work->deliveries));
    work->claim.copies = work->copies;
    work->claim.deliveries = work->deliveries;
    work->claim.delivery_count = delivery->recipient_count;
    work->claim.queue_id = delivery->queue_id;
    work->claim.size = (int64_t)delivery->message->size;
    work->claim.data = delivery->message->data;
    if (!route_recipients(work) || !add_sent(work))
        return false;
    shuffle(work);
    set_identity(work);
    return true;
}

static bool too_fresh(const struct delivery_work *work, const struct ledger_copy *copy)
{
    return copy->state == COPY_APPENDING && copy->attempt_age_ms < work->delivery->config->delivery.hold_off;
}

/* Claims a copy anew: what was appending before and has outlived its hold-off may be there or not, and what is stored by
 * the ledger is looked for too, unless it is to be made once more. */
static void want(const struct delivery_work *work, struct ledger_copy *copy)
{
    bool verify = copy->state == COPY_STORED && work->delivery->again == AGAIN_VERIFY;
    copy->wanted = true;
    copy->doubt = copy->doubt || copy->state == COPY_APPENDING || verify;
}

static void decide_inbox(struct delivery_work *work, struct delivery_recipient *recipient,
                         struct ledger_delivery *delivery)
{
    struct ledger_copy *copy = &work->copies[recipient->copy];
    if (copy->state == COPY_STORED && work->delivery->again == AGAIN_NO) {
        recipient->uid = (uint32_t)copy->uid;
        report_set(&recipient->report, OUTCOME_DUPLICATE, "duplicate uid=%u mailbox=%s", recipient->uid, copy->mailbox);
    } else if (too_fresh(work, copy)) {
        report_set(&recipient->report, OUTCOME_HELD, "message <%s> is being delivered elsewhere, or was when its delivery died",
                   work->message_id != NULL ? work->message_id : "");
        return;
    } else {
        want(work, copy);
    }
    delivery->wanted = true;
}

/* The Sent copy is claimed for the first recipient that goes on. A fresh claim of it is the business of the delivery that
 * made it, whose recipient Postfix will bring again. When that is one of ours, it is this very one that must come again;
 * when it will not come any more, one of ours takes its place. */
static void decide_sent(struct delivery_work *work)
{
    struct ledger_copy *sent = work->sent;
    bool verify = sent->state == COPY_STORED && work->delivery->again == AGAIN_VERIFY;
    if ((sent->state == COPY_STORED && !verify) || sent->state == COPY_FAILED || sent->elsewhere)
        return;
    if (!too_fresh(work, sent)) {
        sent->recipient = work->delivery->recipients[work->sent_owner].address;
        want(work, sent);
        return;
    }
    work->sent_waits = sent->claimed_by != LEDGER_OTHER || sent->claimed_by_finished;
    if (sent->claimed_by != LEDGER_OTHER && !sent->claimed_by_finished)
        work->sent_owner = sent->claimed_by;
}

size_t copies_decide(struct delivery_work *work)
{
    struct delivery *delivery = work->delivery;
    size_t wanted = 0;
    work->sent_owner = delivery->recipient_count;
    for (size_t i = 0; i < delivery->recipient_count; i++) {
        struct delivery_recipient *recipient = &delivery->recipients[i];
        if (recipient->copy == COPIES_NO_COPY)
            continue;
        decide_inbox(work, recipient, &work->deliveries[i]);
        if (work->deliveries[i].wanted && work->sent_owner == delivery->recipient_count)
            work->sent_owner = i;
    }
    if (work->sent != NULL && work->sent_owner < delivery->recipient_count)
        decide_sent(work);
    for (size_t i = 0; i < work->claim.copy_count; i++)
        wanted += work->copies[i].wanted;
    return wanted;
}

void copies_clear(struct delivery_work *work)
{
    base_free(&work->copies);
    base_free(&work->order);
    base_free(&work->deliveries);
    base_free(&work->message_id);
    base_free(&work->sender_text);
    route_clear(&work->sender);
}
