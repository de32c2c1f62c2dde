/* SPDX-License-Identifier: ISC
 *
 * Searches for a message. The result is "absent" only if the server was asked and answered. */
#include "mailbox/mailbox_session.h"

#include <stdlib.h>
#include <string.h>

struct examined {
    uint32_t uidvalidity;
    uint32_t exists;
    bool has_exists;
};

/* Which answer comes next; STEP_NAME, STEP_REFUSED: none, but something has to be asked for. */
enum step {
    STEP_OVER,
    STEP_NAME,
    STEP_NAMESPACE,
    STEP_EXAMINE,
    STEP_REFUSED,
    STEP_SEARCH,
    STEP_COMPARE,
    STEP_NEWEST,
    STEP_COMPARE_NEWEST,
    STEP_LEAVE
};

/* Where a message is looked for, one after the other, until it is found. */
enum look { LOOK_NONE, LOOK_ID, LOOK_NEWEST, LOOK_DATE, LOOK_OVER };

/* The search under way. */
struct searching {
    struct search search;
    enum step step;
    char *name; /* as sent */
    bool again; /* EXAMINE was repeated */
    struct examined examined;
    enum look look;
    struct mailbox_hits hits;
    struct mailbox_ids ids; /* LOOK_NEWEST: a part of them, from the newest on */
    enum search_result result;
    uint32_t uid;
    struct fault why;
};

static void note_examined(void *context, struct mailbox_reply *reply)
{
    struct examined *examined = context;
    if (mailbox_reply_exists(reply, &examined->exists))
        examined->has_exists = true;
    else
        (void)!mailbox_reply_uidvalidity(reply, &examined->uidvalidity);
}

static void send_examine(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    it->examined = (struct examined){.exists = 0};
    bool sent = mailbox_dialogue_send(mailbox, "EXAMINE", &it->why, "EXAMINE %s", it->name);
    it->step = sent ? STEP_EXAMINE : STEP_OVER;
}

static void send_search(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    bool sent = mailbox_hits_send(mailbox, &it->search, it->look == LOOK_ID, &it->hits, &it->why);
    it->step = sent ? STEP_SEARCH : STEP_OVER;
}

/* The result is known; the mailbox is open. */
static void send_leave(struct mailbox *mailbox, enum search_result result)
{
    struct searching *it = mailbox->searching;
    struct fault ignored;
    const char *command = mailbox_dialogue_can(mailbox, "UNSELECT") ? "UNSELECT" : "CLOSE";
    it->result = result;
    it->step = mailbox_dialogue_send(mailbox, command, &ignored, "%s", command) ? STEP_LEAVE : STEP_OVER;
}

/* Those before the ones that were asked for last. */
static bool send_newest(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    uint32_t exists = it->examined.exists, newest = it->search.newest;
    uint32_t last = it->ids.first > 0 ? it->ids.first - 1 : exists;
    uint32_t least = exists > newest ? exists - newest + 1 : 1;
    if (last < least)
        return false;
    uint32_t first = last - least >= MAILBOX_IDS_MOST ? last - MAILBOX_IDS_MOST + 1 : least;
    it->step = mailbox_ids_send_newest(mailbox, &it->ids, first, last, &it->why) ? STEP_NEWEST : STEP_OVER;
    return true;
}

/* Begins the look, if this search has it. */
static bool send_look(struct mailbox *mailbox)
{
    const struct searching *it = mailbox->searching;
    if (it->look == LOOK_NEWEST)
        return send_newest(mailbox);
    if (it->look == LOOK_ID && it->search.message_id == NULL)
        return false;
    if (it->look == LOOK_DATE && it->search.newest_only)
        return false;
    send_search(mailbox);
    return true;
}

/* Nothing was found so far. */
static void look_on(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    if (it->look == LOOK_NEWEST && send_newest(mailbox))
        return;
    while (++it->look < LOOK_OVER && !send_look(mailbox)) {
    }
    if (it->look == LOOK_OVER)
        send_leave(mailbox, SEARCH_ABSENT);
}

/* Only the list of mailboxes distinguishes a missing mailbox from one in trouble; other codes certainly mean trouble. A
 * mailbox that is refused but then listed may have been created in between, by the delivery of another message: tries
 * once more. */
static void explain_refusal(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    struct fault list_fault;
    bool exists;
    it->step = STEP_OVER;
    if (!mailbox_folder_exists(mailbox, it->name, &exists, &list_fault))
        return;
    if (!exists) {
        it->result = SEARCH_ABSENT;
    } else if (!it->again) {
        it->again = true;
        send_examine(mailbox);
    }
}

/* The mailbox is open now, read-only, or there is none of that name. */
static void take_examine(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    struct mailbox_reply reply;
    it->step = STEP_OVER;
    if (!mailbox_dialogue_take(mailbox, note_examined, &it->examined, &reply, &it->why))
        it->step = reply.status == STATUS_NO && mailbox_refusal_perhaps_missing(&reply) ? STEP_REFUSED : STEP_OVER;
    else if (!it->examined.has_exists)
        fault_set(&it->why, "%s: EXAMINE did not report the number of messages", mailbox->where);
    else if (it->examined.exists == 0)
        send_leave(mailbox, SEARCH_ABSENT);
    else
        look_on(mailbox);
}

static void take_search(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    it->step = STEP_OVER;
    if (!mailbox_hits_take(mailbox, &it->hits, &it->why))
        return;
    if (it->hits.count == 0)
        look_on(mailbox);
    else
        it->step = STEP_COMPARE;
}

static void take_newest(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    bool others = true;
    it->step = STEP_OVER;
    if (!mailbox_ids_take(mailbox, &it->search, &it->ids, &it->why))
        return;
    for (size_t i = 0; i < it->ids.count; i++)
        others &= it->ids.told[i] == CANDIDATE_OTHER;
    if (others)
        look_on(mailbox);
    else
        it->step = STEP_COMPARE_NEWEST;
}

static void take_compared(struct mailbox *mailbox, enum search_result compared)
{
    mailbox->searching->step = STEP_OVER;
    if (compared == SEARCH_ABSENT)
        look_on(mailbox);
    else if (compared == SEARCH_FOUND)
        send_leave(mailbox, compared);
}

static void take_name(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    it->step = STEP_OVER;
    it->name = mailbox_folder_name(mailbox, it->search.mailbox, &it->why);
    if (it->name != NULL)
        send_examine(mailbox);
}

/* Asks for what has to be known about the mailbox's name: for where \Sent is only by waiting. */
static void begin(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    if (mailbox_folder_known(mailbox, it->search.mailbox))
        take_name(mailbox);
    else if (strcasecmp(it->search.mailbox, "\\Sent") == 0)
        it->step = STEP_NAME;
    else
        it->step = mailbox_namespace_send(mailbox, &it->why) ? STEP_NAMESPACE : STEP_OVER;
}

static void take_step(struct mailbox *mailbox)
{
    struct searching *it = mailbox->searching;
    struct mailbox_reply reply;
    struct fault ignored;
    switch (it->step) {
    case STEP_NAMESPACE:
        it->step = STEP_OVER;
        if (mailbox_namespace_take(mailbox, &it->why))
            take_name(mailbox);
        break;
    case STEP_NAME:
        take_name(mailbox);
        break;
    case STEP_EXAMINE:
        take_examine(mailbox);
        break;
    case STEP_REFUSED:
        explain_refusal(mailbox);
        break;
    case STEP_SEARCH:
        take_search(mailbox);
        break;
    case STEP_COMPARE:
        take_compared(mailbox, mailbox_candidates(mailbox, &it->search, it->search.by_id || it->look == LOOK_DATE,
                                                  it->hits.uids, it->hits.count, &it->uid, &it->why));
        break;
    case STEP_NEWEST:
        take_newest(mailbox);
        break;
    case STEP_COMPARE_NEWEST:
        take_compared(mailbox, mailbox_candidates_of(mailbox, &it->search, &it->ids, &it->uid, &it->why));
        break;
    case STEP_LEAVE:
        it->step = STEP_OVER;
        if (!mailbox_dialogue_take(mailbox, NULL, NULL, &reply, &ignored))
            mailbox_dialogue_drop(mailbox);
        break;
    case STEP_OVER:
        break;
    }
}

void mailbox_search_begin(struct mailbox *mailbox, const struct search *search)
{
    mailbox_search_forget(mailbox);
    struct searching *it = mailbox->searching = base_alloc(sizeof *it);
    it->search = *search;
    it->result = SEARCH_TROUBLE;
    begin(mailbox);
}

enum mailbox_ahead mailbox_search_ahead(struct mailbox *mailbox)
{
    const struct searching *it = mailbox->searching;
    while (it->step != STEP_OVER) {
        bool asks = it->step == STEP_NAME || it->step == STEP_REFUSED || it->step == STEP_COMPARE ||
                    it->step == STEP_COMPARE_NEWEST;
        enum mailbox_ahead arrived = asks ? AHEAD_STUCK : mailbox_ahead_arrived(mailbox, AWAITED_ANSWER);
        if (arrived != AHEAD_OVER)
            return arrived;
        take_step(mailbox);
    }
    return it->result == SEARCH_TROUBLE ? AHEAD_STUCK : AHEAD_OVER;
}

void mailbox_search_forget(struct mailbox *mailbox)
{
    if (mailbox->searching == NULL)
        return;
    free(mailbox->searching->name);
    free(mailbox->searching->hits.uids);
    base_free(&mailbox->searching);
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault)
{
    if (mailbox->searching == NULL)
        mailbox_search_begin(mailbox, search);
    struct searching *it = mailbox->searching;
    while (it->step != STEP_OVER)
        take_step(mailbox);
    enum search_result result = it->result;
    if (result == SEARCH_FOUND) {
        *ret_uidvalidity = it->examined.uidvalidity;
        *ret_uid = it->uid;
    } else if (result == SEARCH_TROUBLE) {
        *fault = it->why;
        mailbox_dialogue_drop(mailbox);
    }
    mailbox_search_forget(mailbox);
    return result;
}
