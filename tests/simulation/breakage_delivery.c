/* SPDX-License-Identifier: ISC
 *
 * The protocol broken in src/delivery. */
#include <string.h>

#include "breakage.h"
#include "delivery/delivery_internal.h"
#include "world.h"

struct plan *__real_plan_make(const struct ledger_state *found, const struct plan_request *request);
struct plan *__wrap_plan_make(const struct ledger_state *found, const struct plan_request *request);
void __real_copy_make(struct delivery_work *work, size_t target);
void __wrap_copy_make(struct delivery_work *work, size_t target);
struct copy_result __real_append_now(struct delivery_work *work, const struct append_item *item);
struct copy_result __wrap_append_now(struct delivery_work *work, const struct append_item *item);
struct copy_result __real_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone);
struct copy_result __wrap_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone);
enum search_result __real_search_copy(struct delivery_work *work, const struct append_item *item,
                                      struct copy_result *result);
enum search_result __wrap_search_copy(struct delivery_work *work, const struct append_item *item,
                                      struct copy_result *result);
void __real_quarantine_append(struct delivery_work *work, size_t target);
void __wrap_quarantine_append(struct delivery_work *work, size_t target);
bool __real_fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result);
bool __wrap_fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result);
void __real_fallback_append(struct delivery_work *work, size_t target);
void __wrap_fallback_append(struct delivery_work *work, size_t target);
void __real_reply_sent(struct delivery_work *work, enum outcome outcome, const char *text);
void __wrap_reply_sent(struct delivery_work *work, enum outcome outcome, const char *text);
void __real_reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);
void __wrap_reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);
const struct outcome_row *__real_outcome_row(enum outcome outcome);
const struct outcome_row *__wrap_outcome_row(enum outcome outcome);

/* As in the model, where an owner that has finished is not replaced. */
static void first_waits(const struct ledger_state *found, const struct plan_request *request, struct plan *plan)
{
    plan->sent_waits = plan->sent_waits && found->copies[plan->sent].owner != LEDGER_OTHER;
    for (size_t i = request->recipient_count; i-- > 0;)
        if (plan->sent_waits && plan_goes_on(plan, request->recipients[i]))
            plan->sent_owner = i;
}

/* Of copies for one account, in its folder and its inbox. */
static void plan_sibling(struct plan_target *target)
{
    if (breakage == BREAK_FALLBACK_UNSOUGHT)
        target->sibling = false;
    if (breakage == BREAK_FALLBACK_UNFENCED)
        target->sibling_in_flight = false;
}

static void tell_plan(const struct plan *plan, const struct plan_request *request)
{
    static const char *const actions[] = {
        [PLAN_DUPLICATE] = "duplicate", [PLAN_BUSY] = "busy",     [PLAN_VARIANT_HAS_COPY] = "elsewhere",
        [PLAN_SENT_FAILED] = "failed",  [PLAN_APPEND] = "append", [PLAN_SEARCH] = "search",
    };
    for (size_t i = 0; i < request->target_count; i++)
        TELL("plans for %s of %s: %s (%s)", request->targets[i].mailbox, request->targets[i].account,
             actions[plan->targets[i].action], plan_reason_text(plan->targets[i].reason));
}

struct plan *__wrap_plan_make(const struct ledger_state *found, const struct plan_request *request)
{
    struct plan *plan = __real_plan_make(found, request);
    for (size_t i = 0; i < request->target_count; i++) {
        struct plan_target *target = &plan->targets[i];
        bool by_id = request->targets[i].role == COPY_SENT && request->has_id;
        if (breakage == BREAK_NO_SEARCH && target->action == PLAN_SEARCH)
            target->action = PLAN_APPEND;
        if (breakage == BREAK_NO_DOUBT_OF_THE_CUT_OFF && target->reason == REASON_CUT_OFF && plan_makes_copy(target)) {
            target->doubt = false;
            target->action = by_id ? PLAN_SEARCH : PLAN_APPEND;
        }
    }
    for (size_t i = 0; i < request->target_count; i++)
        plan_sibling(&plan->targets[i]);
    if (breakage == BREAK_NO_OWNER)
        plan->sent_waits = false;
    if (breakage == BREAK_FIRST_WAITS)
        first_waits(found, request, plan);
    if (world_tells)
        tell_plan(plan, request);
    return plan;
}

static struct copy_result clear_doubt(struct copy_result result)
{
    if (breakage == BREAK_DOUBT_CLEARED_BY_REFUSAL && result.state == COPY_PENDING && world.current->certain)
        result.doubt = false;
    return result;
}

void __wrap_copy_make(struct delivery_work *work, size_t target)
{
    world.current->certain = true;
    __real_copy_make(work, target);
    work->results[target] = clear_doubt(work->results[target]);
}

struct copy_result __wrap_append_now(struct delivery_work *work, const struct append_item *item)
{
    world.current->certain = true;
    return clear_doubt(__real_append_now(work, item));
}

struct copy_result __wrap_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone)
{
    world.current->certain = true;
    return clear_doubt(__real_append_collect(work, target, until_ms, alone));
}

/* Before the explanation. */
enum search_result __wrap_search_copy(struct delivery_work *work, const struct append_item *item,
                                      struct copy_result *result)
{
    bool refused = result->quarantine == QUARANTINE_DUE;
    return refused && breakage == BREAK_REFUSAL_TRUSTED ? SEARCH_MISSING : __real_search_copy(work, item, result);
}

void __wrap_quarantine_append(struct delivery_work *work, size_t target)
{
    struct copy_result *result = &work->results[target];
    bool due = result->quarantine == QUARANTINE_DUE;
    __real_quarantine_append(work, target);
    if (breakage == BREAK_EXPLANATION_BOUNCES && due && result->report.outcome == OUTCOME_REFUSED_DEFER) {
        result->state = COPY_FAILED;
        result->report.outcome = OUTCOME_REFUSED_BOUNCE;
    }
}

bool __wrap_fallback_search(struct delivery_work *work, struct append_item *item, struct copy_result *result)
{
    if (breakage != BREAK_FALLBACK_FORGOTTEN)
        return __real_fallback_search(work, item, result);
    item->doubt = false;
    return true;
}

/* The others seem to have become nothing for certain. */
void __wrap_fallback_append(struct delivery_work *work, size_t target)
{
    struct copy_result seen[TARGETS] = {0}, *result = work->results;
    seen[target] = result[target];
    if (breakage == BREAK_FALLBACK_UNFENCED_WITHIN)
        work->results = seen;
    __real_fallback_append(work, target);
    if (work->results != result)
        result[target] = seen[target];
    work->results = result;
}

/* If a hold fails, the deferral is reported twice: to the copy's owner, and to all recipients whose result could not be
 * recorded. */
static bool forgets_sent(const struct delivery_work *work)
{
    return breakage == BREAK_WAITS_AFTER_HOLD && work->plan->sent_waits;
}

void __wrap_reply_sent(struct delivery_work *work, enum outcome outcome, const char *text)
{
    if (!forgets_sent(work) || strstr(text, "last attempt") != NULL)
        __real_reply_sent(work, outcome, text);
}

void __wrap_reply_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text)
{
    size_t owner = work->plan->sent_owner;
    bool forgets = forgets_sent(work) && owner != LEDGER_OTHER;
    struct report report = {.given = false};
    if (forgets)
        report = work->delivery->replies[owner].report;
    __real_reply_unrecorded(work, result, text);
    if (report.given)
        work->delivery->replies[owner].report = report;
}

const struct outcome_row *__wrap_outcome_row(enum outcome outcome)
{
    bool bounces = breakage == BREAK_TROUBLE_BOUNCES && outcome == OUTCOME_MAILBOX;
    return __real_outcome_row(bounces ? OUTCOME_UNKNOWN_BOUNCE : outcome);
}
