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

static void note_examined(void *context, struct mailbox_reply *reply)
{
    struct examined *examined = context;
    if (mailbox_reply_exists(reply, &examined->exists))
        examined->has_exists = true;
    else
        (void)!mailbox_reply_uidvalidity(reply, &examined->uidvalidity);
}

/* Opens the mailbox read-only. SEARCH_FOUND: it is open; SEARCH_ABSENT: there is none of that name. Only the list of
 * mailboxes distinguishes a missing mailbox from one in trouble; other codes certainly mean trouble. *ret_listed: it was
 * refused, but is listed. */
static enum search_result examine_once(struct mailbox *mailbox, const char *name, struct examined *ret,
                                       bool *ret_listed, struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault list_fault;
    bool exists;
    *ret = (struct examined){.exists = 0};
    *ret_listed = false;
    if (mailbox_dialogue_ask(mailbox, "EXAMINE", note_examined, ret, &reply, fault, "EXAMINE %s", name)) {
        if (ret->has_exists)
            return SEARCH_FOUND;
        fault_set(fault, "%s: EXAMINE did not report the number of messages", mailbox->where);
        return SEARCH_TROUBLE;
    }
    if (reply.status != STATUS_NO || !mailbox_refusal_perhaps_missing(&reply) ||
        !mailbox_folder_exists(mailbox, name, &exists, &list_fault))
        return SEARCH_TROUBLE;
    *ret_listed = exists;
    return exists ? SEARCH_TROUBLE : SEARCH_ABSENT;
}

/* A mailbox that is refused but then listed may have been created in between, by the delivery of another message: tries
 * once more. */
static enum search_result examine(struct mailbox *mailbox, const char *name, struct examined *ret, struct fault *fault)
{
    bool listed;
    enum search_result result = examine_once(mailbox, name, ret, &listed, fault);
    return listed ? examine_once(mailbox, name, ret, &listed, fault) : result;
}

static void free_hits(struct mailbox_hits *hits)
{
    free(hits->uids);
}

/* By the Message-ID (by_text), or else by date and size. */
static enum search_result look_for_hits(struct mailbox *mailbox, const struct search *search, bool by_text,
                                        uint32_t *ret_uid, struct fault *fault)
{
    struct mailbox_hits hits OD_CLEANUP(free_hits) = {.count = 0};
    if (!mailbox_hits_ask(mailbox, search, by_text, &hits, fault))
        return SEARCH_TROUBLE;
    return mailbox_candidates(mailbox, search, search->by_id || !by_text, hits.uids, hits.count, ret_uid, fault);
}

/* Among the newest, from the end of the mailbox on, some at a time. */
static enum search_result look_at_newest(struct mailbox *mailbox, const struct search *search, uint32_t exists,
                                         uint32_t *ret_uid, struct fault *fault)
{
    uint32_t least = exists > search->newest ? exists - search->newest + 1 : 1;
    enum search_result result = SEARCH_ABSENT;
    if (search->newest == 0)
        return result;
    for (uint32_t last = exists, first; result == SEARCH_ABSENT && last >= least; last = first - 1) {
        struct mailbox_ids ids;
        first = last - least >= MAILBOX_IDS_MOST ? last - MAILBOX_IDS_MOST + 1 : least;
        if (!mailbox_ids_ask_newest(mailbox, search, first, last, &ids, fault))
            return SEARCH_TROUBLE;
        result = mailbox_candidates_of(mailbox, search, &ids, ret_uid, fault);
    }
    return result;
}

/* In the open mailbox: in one place after the other, until it is found. */
static enum search_result look(struct mailbox *mailbox, const struct search *search, uint32_t exists, uint32_t *ret_uid,
                               struct fault *fault)
{
    enum search_result result = SEARCH_ABSENT;
    if (exists == 0)
        return result;
    if (search->message_id != NULL)
        result = look_for_hits(mailbox, search, true, ret_uid, fault);
    if (result == SEARCH_ABSENT)
        result = look_at_newest(mailbox, search, exists, ret_uid, fault);
    if (result == SEARCH_ABSENT && !search->newest_only)
        result = look_for_hits(mailbox, search, false, ret_uid, fault);
    return result;
}

static void leave(struct mailbox *mailbox)
{
    struct mailbox_reply reply;
    struct fault ignored;
    const char *command = mailbox_dialogue_can(mailbox, "UNSELECT") ? "UNSELECT" : "CLOSE";
    if (!mailbox_dialogue_ask(mailbox, command, NULL, NULL, &reply, &ignored, "%s", command))
        mailbox_dialogue_drop(mailbox);
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault)
{
    struct examined examined;
    struct fault why;
    uint32_t uid;
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, search->mailbox, &why);
    enum search_result opened = name != NULL ? examine(mailbox, name, &examined, &why) : SEARCH_TROUBLE;
    enum search_result result = opened;
    if (opened == SEARCH_FOUND)
        result = look(mailbox, search, examined.exists, &uid, &why);
    if (result == SEARCH_FOUND) {
        *ret_uidvalidity = examined.uidvalidity;
        *ret_uid = uid;
    }
    if (result == SEARCH_TROUBLE) {
        *fault = why;
        mailbox_dialogue_drop(mailbox);
    } else if (opened == SEARCH_FOUND) {
        leave(mailbox);
    }
    return result;
}
