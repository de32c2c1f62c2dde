/* SPDX-License-Identifier: ISC
 *
 * The protocol broken in src/delivery. */
#include <string.h>

#include "breakage.h"
#include "delivery/answers.h"
#include "delivery/append.h"
#include "delivery/copy.h"
#include "delivery/fallback.h"
#include "delivery/quarantine.h"
#include "delivery/search.h"
#include "world.h"

struct plan *__real_plan_make(const struct ledger_found *found, const struct plan_request *request);
struct plan *__wrap_plan_make(const struct ledger_found *found, const struct plan_request *request);
void __real_copy_make(struct delivery_work *work, size_t target);
void __wrap_copy_make(struct delivery_work *work, size_t target);
struct made __real_append_now(struct delivery_work *work, const struct letter *letter);
struct made __wrap_append_now(struct delivery_work *work, const struct letter *letter);
struct made __real_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone);
struct made __wrap_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone);
enum search_result __real_search_copy(struct delivery_work *work, const struct letter *letter, struct made *made);
enum search_result __wrap_search_copy(struct delivery_work *work, const struct letter *letter, struct made *made);
void __real_quarantine_append(struct delivery_work *work, size_t target);
void __wrap_quarantine_append(struct delivery_work *work, size_t target);
bool __real_fallback_search(struct delivery_work *work, struct letter *letter, struct made *made);
bool __wrap_fallback_search(struct delivery_work *work, struct letter *letter, struct made *made);
void __real_fallback_append(struct delivery_work *work, size_t target);
void __wrap_fallback_append(struct delivery_work *work, size_t target);
void __real_answers_sent(struct delivery_work *work, enum outcome outcome, const char *text);
void __wrap_answers_sent(struct delivery_work *work, enum outcome outcome, const char *text);
void __real_answers_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);
void __wrap_answers_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text);
const struct outcome_row *__real_outcome_row(enum outcome outcome);
const struct outcome_row *__wrap_outcome_row(enum outcome outcome);

/* As in the model, where nobody replaces an owner that has finished. */
static void first_waits(const struct ledger_found *found, const struct plan_request *request, struct plan *plan)
{
    plan->sent_waits = plan->sent_waits && found->copies[plan->sent].owner != LEDGER_OTHER;
    for (size_t i = request->recipient_count; i-- > 0;)
        if (plan->sent_waits && plan_goes_on(plan, request->recipients[i]))
            plan->sent_owner = i;
}

/* Of copies for one account, in its folder and its inbox. */
static void plan_beside(struct plan_target *target)
{
    if (breakage == BREAK_FALLBACK_UNSOUGHT)
        target->beside = false;
    if (breakage == BREAK_FALLBACK_UNFENCED)
        target->fenced = false;
}

static void tell_plan(const struct plan *plan, const struct plan_request *request)
{
    static const char *const actions[] = {
        [PLAN_DUPLICATE] = "duplicate", [PLAN_BUSY] = "busy",     [PLAN_ELSEWHERE] = "elsewhere",
        [PLAN_GIVEN_UP] = "given up",   [PLAN_APPEND] = "append", [PLAN_SEARCH] = "search",
    };
    for (size_t i = 0; i < request->target_count; i++)
        TELL("plans for %s of %s: %s (%s)", request->targets[i].mailbox, request->targets[i].account,
             actions[plan->targets[i].action], plan_why_text(plan->targets[i].why));
}

struct plan *__wrap_plan_make(const struct ledger_found *found, const struct plan_request *request)
{
    struct plan *plan = __real_plan_make(found, request);
    for (size_t i = 0; i < request->target_count; i++) {
        struct plan_target *target = &plan->targets[i];
        bool by_id = request->targets[i].role == COPY_SENT && request->has_id;
        if (breakage == BREAK_NO_SEARCH && target->action == PLAN_SEARCH)
            target->action = PLAN_APPEND;
        if (breakage == BREAK_NO_DOUBT_OF_THE_CUT_OFF && target->why == WHY_CUT_OFF && plan_is_made(target)) {
            target->doubt = false;
            target->action = by_id ? PLAN_SEARCH : PLAN_APPEND;
        }
    }
    for (size_t i = 0; i < request->target_count; i++)
        plan_beside(&plan->targets[i]);
    if (breakage == BREAK_NO_OWNER)
        plan->sent_waits = false;
    if (breakage == BREAK_FIRST_WAITS)
        first_waits(found, request, plan);
    if (world_tells)
        tell_plan(plan, request);
    return plan;
}

static struct made clear_doubt(struct made made)
{
    if (breakage == BREAK_DOUBT_CLEARED_BY_REFUSAL && made.state == COPY_PENDING && world.current->certain)
        made.doubt = false;
    return made;
}

void __wrap_copy_make(struct delivery_work *work, size_t target)
{
    world.current->certain = true;
    __real_copy_make(work, target);
    work->made[target] = clear_doubt(work->made[target]);
}

struct made __wrap_append_now(struct delivery_work *work, const struct letter *letter)
{
    world.current->certain = true;
    return clear_doubt(__real_append_now(work, letter));
}

struct made __wrap_append_collect(struct delivery_work *work, size_t target, int64_t until_ms, bool alone)
{
    world.current->certain = true;
    return clear_doubt(__real_append_collect(work, target, until_ms, alone));
}

/* Before the explanation. */
enum search_result __wrap_search_copy(struct delivery_work *work, const struct letter *letter, struct made *made)
{
    bool refused = made->quarantine == QUARANTINE_DUE;
    return refused && breakage == BREAK_REFUSAL_TRUSTED ? SEARCH_ABSENT : __real_search_copy(work, letter, made);
}

void __wrap_quarantine_append(struct delivery_work *work, size_t target)
{
    struct made *made = &work->made[target];
    bool due = made->quarantine == QUARANTINE_DUE;
    __real_quarantine_append(work, target);
    if (breakage == BREAK_EXPLANATION_BOUNCES && due && made->report.outcome == OUTCOME_REFUSED_DEFER) {
        made->state = COPY_FAILED;
        made->report.outcome = OUTCOME_REFUSED_BOUNCE;
    }
}

bool __wrap_fallback_search(struct delivery_work *work, struct letter *letter, struct made *made)
{
    if (breakage != BREAK_FALLBACK_FORGOTTEN)
        return __real_fallback_search(work, letter, made);
    letter->doubt = false;
    return true;
}

/* The others seem to have become nothing for certain. */
void __wrap_fallback_append(struct delivery_work *work, size_t target)
{
    struct made seen[TARGETS] = {0}, *made = work->made;
    seen[target] = made[target];
    if (breakage == BREAK_FALLBACK_UNFENCED_WITHIN)
        work->made = seen;
    __real_fallback_append(work, target);
    if (work->made != made)
        made[target] = seen[target];
    work->made = made;
}

/* If a hold fails, the deferral is reported twice: to the copy's owner, and to all recipients whose result could not be
 * recorded. */
static bool forgets_sent(const struct delivery_work *work)
{
    return breakage == BREAK_WAITS_AFTER_HOLD && work->plan->sent_waits;
}

void __wrap_answers_sent(struct delivery_work *work, enum outcome outcome, const char *text)
{
    if (!forgets_sent(work) || (strcmp(text, "not held") != 0 && strstr(text, "elsewhere") == NULL))
        __real_answers_sent(work, outcome, text);
}

void __wrap_answers_unrecorded(struct delivery_work *work, enum ledger_result result, const char *text)
{
    size_t owner = work->plan->sent_owner;
    bool forgets = forgets_sent(work) && owner != LEDGER_OTHER;
    struct report report = {.given = false};
    if (forgets)
        report = work->delivery->answers[owner].report;
    __real_answers_unrecorded(work, result, text);
    if (report.given)
        work->delivery->answers[owner].report = report;
}

const struct outcome_row *__wrap_outcome_row(enum outcome outcome)
{
    bool bounces = breakage == BREAK_TROUBLE_BOUNCES && outcome == OUTCOME_MAILBOX;
    return __real_outcome_row(bounces ? OUTCOME_UNKNOWN_BOUNCE : outcome);
}
