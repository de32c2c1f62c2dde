/* SPDX-License-Identifier: ISC
 *
 * Settle: what became of the copies. Its COMMIT is the commit point of a delivery. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ledger/ledger_session.h"

static bool add_copy_state(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy *copy,
                           struct fault *fault)
{
    char uidvalidity[24], uid[24], token[24], attempt[24];
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = copy->account}, {.data = copy->mailbox},
        {.data = pg_number(copy->attempt + 1, attempt)}, {.data = pg_number(claim->token, token)},
        {.data = ledger_state_name(copy->new_state)}, {.data = copy->new_doubt ? "t" : "f"},
        {.data = copy->new_uid != 0 ? pg_number(copy->new_uidvalidity, uidvalidity) : NULL},
        {.data = copy->new_uid != 0 ? pg_number(copy->new_uid, uid) : NULL},
        {.data = copy->error[0] != '\0' ? copy->error : NULL},
    };
    return pg_add(ledger->pg,
                  "UPDATE @schema@.copy c SET state = $7, doubt = $8::boolean, uidvalidity = $9, uid = $10, error = $11,"
                  " stored_at = CASE WHEN $7 = 'stored' THEN pg_catalog.clock_timestamp() END"
                  " FROM @schema@.message m WHERE m.identity = $1 AND m.digest = $2 AND c.message = m.id"
                  " AND c.account = $3 AND c.mailbox = $4 AND c.attempt = $5::integer AND c.claim = $6::bigint",
                  11, params, fault);
}

/* For the Sent copy the Message-ID alone decides: what was claimed for other content with this id, and came to nothing,
 * is settled by this one. */
static bool add_variants_state(struct ledger *ledger, const struct ledger_claim *claim, const struct ledger_copy *copy,
                               struct fault *fault)
{
    char uidvalidity[24], uid[24];
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = copy->account}, {.data = copy->mailbox},
        {.data = copy->new_uid != 0 ? pg_number(copy->new_uidvalidity, uidvalidity) : NULL},
        {.data = copy->new_uid != 0 ? pg_number(copy->new_uid, uid) : NULL},
    };
    return pg_add(ledger->pg,
                  "UPDATE @schema@.copy c SET state = 'stored', doubt = false, uidvalidity = $5, uid = $6, error = NULL,"
                  " stored_at = pg_catalog.clock_timestamp()"
                  " FROM @schema@.message m WHERE m.identity = $1 AND m.digest <> $2 AND c.message = m.id"
                  " AND c.account = $3 AND c.mailbox = $4 AND c.role = 'sent' AND c.state IN ('pending', 'appending')",
                  6, params, fault);
}

static bool settles_variants(const struct ledger_copy *copy)
{
    return copy->wanted && copy->role == COPY_SENT && copy->new_state == COPY_STORED;
}

static bool add_delivery_outcome(struct ledger *ledger, const struct ledger_claim *claim,
                                 const struct ledger_delivery *delivery, struct fault *fault)
{
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = delivery->recipient}, {.data = delivery->outcome}, {.data = delivery->reason},
        {.data = delivery->finished ? "t" : "f"}, {.data = delivery->whole ? "t" : "f"},
    };
    return pg_add(ledger->pg,
                  "UPDATE @schema@.delivery d SET outcome = $4, reason = $5, last_at = pg_catalog.clock_timestamp(),"
                  " finished_at = CASE WHEN $6::boolean THEN coalesce(d.finished_at, pg_catalog.clock_timestamp())"
                  " ELSE d.finished_at END, whole = d.whole OR $7::boolean"
                  " FROM @schema@.message m WHERE m.identity = $1 AND m.digest = $2 AND d.message = m.id"
                  " AND d.recipient = $3",
                  7, params, fault);
}

static bool add_notify(struct ledger *ledger, const struct ledger_claim *claim, struct fault *fault)
{
    const struct pg_param params[] = {
        LEDGER_KEY(claim), {.data = ledger->config->record.notify},
    };
    return pg_add(ledger->pg,
                  "SELECT pg_catalog.pg_notify($3, id::text) FROM @schema@.message WHERE identity = $1 AND digest = $2",
                  3, params, fault);
}

static bool to_notify(const struct ledger *ledger, const struct ledger_claim *claim)
{
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].wanted && claim->copies[i].new_state == COPY_STORED)
            return ledger->config->record.notify[0] != '\0';
    return false;
}

bool ledger_add_settle(struct ledger *ledger, const struct ledger_claim *claim, size_t *ret_more, struct fault *fault)
{
    *ret_more = 0;
    for (size_t i = 0; i < claim->copy_count; i++)
        if (claim->copies[i].wanted && !add_copy_state(ledger, claim, &claim->copies[i], fault))
            return false;
    for (size_t i = 0; i < claim->copy_count; i++)
        if (settles_variants(&claim->copies[i]) &&
            (++*ret_more, !add_variants_state(ledger, claim, &claim->copies[i], fault)))
            return false;
    for (size_t i = 0; i < claim->delivery_count; i++)
        if (claim->deliveries[i].wanted &&
            (++*ret_more, !add_delivery_outcome(ledger, claim, &claim->deliveries[i], fault)))
            return false;
    return !to_notify(ledger, claim) || (++*ret_more, add_notify(ledger, claim, fault));
}

/* Everything up to and with the COMMIT. *skip_first: results before the first UPDATE; *skip_last: after the last. */
static bool send_settle(struct ledger *ledger, const struct ledger_claim *claim, size_t *skip_first, size_t *skip_last,
                        struct fault *fault)
{
    *skip_first = 0;
    if (!ledger->in_transaction) {
        *skip_first = 1 + LEDGER_BEGIN_STATEMENTS;
        if (!pg_add(ledger->pg, "ROLLBACK", 0, NULL, fault) || !ledger_add_begin(ledger, PG_TIMEOUT_MS, fault))
            return false;
    }
    return ledger_add_settle(ledger, claim, skip_last, fault) && pg_add(ledger->pg, "COMMIT", 0, NULL, fault);
}

/* Reads the results up to and with the COMMIT. An UPDATE that met no row met another's attempt. */
static enum ledger_result take_settle(struct ledger *ledger, struct ledger_claim *claim, size_t skip_first,
                                      size_t skip_last, struct fault *fault)
{
    enum ledger_result result = LEDGER_OK;
    if (!pg_skip(ledger->pg, skip_first, fault))
        return LEDGER_TROUBLE;
    bool *taken_over OD_CLEANUP(base_free) = base_alloc(claim->copy_count + 1);
    for (size_t i = 0; i < claim->copy_count; i++) {
        if (!claim->copies[i].wanted)
            continue;
        PGresult *update OD_CLEANUP(pg_clear) = pg_next(ledger->pg, fault);
        if (update == NULL)
            return LEDGER_TROUBLE;
        taken_over[i] = strcmp(PQcmdTuples(update), "1") != 0;
    }
    if (!pg_skip(ledger->pg, skip_last, fault) || !pg_committed(ledger->pg, fault))
        return LEDGER_TROUBLE;
    for (size_t i = 0; i < claim->copy_count; i++) {
        if (taken_over[i]) {
            claim->copies[i].new_state = COPY_NONE;
            result = LEDGER_HELD;
        }
    }
    return result;
}

/* One attempt at settling on the session as it is. */
static enum ledger_result settle(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_copy *next,
                                 bool *ret_next, struct fault *fault)
{
    size_t skip_first, skip_last;
    if (!ledger_connect(ledger, fault))
        return LEDGER_TROUBLE;
    bool sent = send_settle(ledger, claim, &skip_first, &skip_last, fault) &&
                (next == NULL || ledger_add_hold(ledger, claim, &next, 1, fault)) && pg_send(ledger->pg, fault);
    ledger->in_transaction = false;
    enum ledger_result result = sent ? take_settle(ledger, claim, skip_first, skip_last, fault) : LEDGER_TROUBLE;
    struct fault ignored;
    *ret_next = next != NULL && result != LEDGER_TROUBLE && ledger_take_hold(ledger, 1, &ignored) == LEDGER_OK;
    if (sent)
        pg_finish(ledger->pg);
    else
        pg_close(&ledger->pg);
    return result;
}

enum ledger_result ledger_settle(struct ledger *ledger, struct ledger_claim *claim, const struct ledger_copy *next,
                                 bool *ret_next, struct fault *fault)
{
    enum ledger_result result = settle(ledger, claim, next, ret_next, fault);
    if (result != LEDGER_TROUBLE)
        return result;
    /* The message may be in the mailbox: worth a second session before the next delivery has to look for it. */
    log_warning("settling failed, trying once more on a new connection: %s", fault->text);
    pg_close(&ledger->pg);
    *ret_next = false;
    result = settle(ledger, claim, NULL, ret_next, fault);
    if (result == LEDGER_TROUBLE)
        pg_close(&ledger->pg);
    return result;
}

void ledger_undo(struct ledger *ledger, struct ledger_claim *claim)
{
    struct fault fault;
    bool next;
    if (!claim->committed) {
        ledger_rollback(ledger);
        return;
    }
    for (size_t i = 0; i < claim->copy_count; i++) {
        struct ledger_copy *copy = &claim->copies[i];
        if (!copy->wanted)
            continue;
        copy->new_state = COPY_PENDING;
        copy->new_doubt = copy->doubt;
    }
    if (ledger_settle(ledger, claim, NULL, &next, &fault) == LEDGER_TROUBLE)
        log_warning("a claim could not be undone; it ends with delivery.hold_off: %s", fault.text);
}
