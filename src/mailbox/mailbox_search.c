/* SPDX-License-Identifier: ISC
 *
 * Searches for a message. The result is "absent" only if the server was asked and answered. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400
#define CANDIDATES_MOST 100000 /* no deadline is long enough to compare more */

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

/* Opens the mailbox read-only. SEARCH_FOUND: it is open; SEARCH_ABSENT: there is no mailbox of that name. */
static enum search_result examine_once(struct mailbox *mailbox, const char *name, struct examined *ret, bool *ret_again,
                                       struct fault *fault)
{
    struct mailbox_reply reply;
    struct fault list_fault;
    *ret = (struct examined){.exists = 0};
    if (mailbox_dialogue_ask(mailbox, "EXAMINE", note_examined, ret, &reply, fault, "EXAMINE %s", name)) {
        if (ret->has_exists)
            return SEARCH_FOUND;
        fault_set(fault, "%s: EXAMINE did not report the number of messages", mailbox->where);
        return SEARCH_TROUBLE;
    }
    /* Only the list of mailboxes distinguishes a missing mailbox from one in trouble; other codes certainly mean
     * trouble. */
    bool perhaps_missing = reply.status == STATUS_NO && mailbox_refusal_perhaps_missing(&reply);
    bool exists;
    if (!perhaps_missing || !mailbox_folder_exists(mailbox, name, &exists, &list_fault))
        return SEARCH_TROUBLE;
    *ret_again = exists;
    return exists ? SEARCH_TROUBLE : SEARCH_ABSENT;
}

/* A mailbox that is refused but then listed may have been created in between, by the delivery of another message: tries
 * once more. */
static enum search_result examine(struct mailbox *mailbox, const char *name, struct examined *ret, struct fault *fault)
{
    struct fault trouble;
    bool again = false;
    enum search_result result = examine_once(mailbox, name, ret, &again, &trouble);
    if (again)
        result = examine_once(mailbox, name, ret, &again, &trouble);
    if (result == SEARCH_TROUBLE)
        *fault = trouble;
    return result;
}

/* The search keys. SINCE and BEFORE ignore time and zone, so there is an extra day on each side for the server's
 * zone. */
static char *criteria(const struct search *search, uint32_t exists)
{
    char range[32] = "";
    char sizes[64] = "";
    char since[MAILBOX_DATE_SIZE], before[MAILBOX_DATE_SIZE];
    if (search->newest > 0 && exists > search->newest)
        snprintf(range, sizeof range, "%u:* ", exists - search->newest + 1);
    if (search->message_id != NULL)
        return base_printf("%sHEADER Message-ID \"%s\"", range, search->message_id);
    mailbox_date(search->internal_date - 2 * DAY, false, since);
    mailbox_date(search->internal_date + 3 * DAY, false, before);
    if (search->smallest > 0 && search->largest > 0)
        snprintf(sizes, sizeof sizes, " LARGER %lld SMALLER %lld", (long long)search->smallest - 1,
                 (long long)search->largest + 1);
    return base_printf("%sSINCE %s BEFORE %s%s", range, since, before, sizes);
}

struct candidates {
    uint32_t *uids;
    size_t count;
    bool told; /* there was an answer, even if empty */
    bool damaged;
};

static void free_candidates(struct candidates *candidates)
{
    free(candidates->uids);
}

static void note_candidates(void *context, struct mailbox_reply *reply)
{
    struct candidates *candidates = context;
    if (reply->status != STATUS_NONE || strncasecmp(reply->data, "SEARCH", 6) != 0)
        return;
    candidates->told = true;
    if (candidates->count <= CANDIDATES_MOST && !mailbox_reply_search(reply, &candidates->uids, &candidates->count))
        candidates->damaged = true;
}

static int newest_first(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* RFC 3501, 6.4.4: the untagged answer is mandatory, even if empty. */
static bool told_candidates(const struct mailbox *mailbox, const struct candidates *found, struct fault *fault)
{
    if (found->told && !found->damaged && found->count <= CANDIDATES_MOST)
        return true;
    fault_set(fault, "%s: the answer to UID SEARCH %s", mailbox->where,
              !found->told     ? "is missing"
              : found->damaged ? "cannot be read"
                               : "has too many messages");
    return false;
}

static bool find_candidates(struct mailbox *mailbox, const struct search *search, uint32_t exists,
                            struct candidates *found, struct fault *fault)
{
    struct mailbox_reply reply;
    char *keys OD_CLEANUP(base_free) = criteria(search, exists);
    mailbox->response_max = MAILBOX_SEARCH_RESPONSE_MAX;
    bool answered =
        mailbox_dialogue_ask(mailbox, "UID SEARCH", note_candidates, found, &reply, fault, "UID SEARCH %s", keys);
    mailbox->response_max = MAILBOX_RESPONSE_MAX;
    if (!answered || !told_candidates(mailbox, found, fault))
        return false;
    if (found->count > 0)
        qsort(found->uids, found->count, sizeof *found->uids, newest_first);
    return true;
}

struct fetched {
    const struct search *search;
    uint32_t uid;
    bool fed; /* with the body of the current response */
    bool told;
    enum candidate candidate;
};

static void feed_body(void *context, const void *bytes, size_t size)
{
    struct fetched *fetched = context;
    if (size == 0 && fetched->fed) /* a second body in one response: the last one counts */
        (void)!fetched->search->end(fetched->search->context);
    fetched->fed = true;
    if (size > 0)
        fetched->search->feed(fetched->search->context, bytes, size);
}

static void note_fetched(void *context, struct mailbox_reply *reply)
{
    struct fetched *fetched = context;
    struct reply_fetch fetch;
    bool wanted = mailbox_reply_fetch(reply, &fetch) && fetch.uid == fetched->uid && fetch.body != NULL;
    if (wanted && fetch.body_size > 0) { /* not as a literal */
        feed_body(fetched, NULL, 0);
        feed_body(fetched, fetch.body, fetch.body_size);
    }
    enum candidate candidate = CANDIDATE_OTHER;
    if (fetched->fed || wanted)
        candidate = fetched->search->end(fetched->search->context);
    fetched->fed = false;
    fetched->told |= wanted;
    if (wanted && candidate > fetched->candidate)
        fetched->candidate = candidate;
}

/* Fetches one candidate and compares it. False with the fault set: the result is unknown. */
static bool compare(struct mailbox *mailbox, const struct search *search, uint32_t uid, enum candidate *ret,
                    struct fault *fault)
{
    struct fetched fetched = {.search = search, .uid = uid};
    struct mailbox_reply reply;
    const char *part = search->header_only ? "HEADER.FIELDS (MESSAGE-ID)" : "";
    mailbox->body = feed_body;
    mailbox->body_context = &fetched;
    bool answered = mailbox_dialogue_ask(mailbox, "UID FETCH", note_fetched, &fetched, &reply, fault,
                                         "UID FETCH %u (UID BODY.PEEK[%s])", uid, part);
    mailbox->body = NULL;
    mailbox->body_context = NULL;
    *ret = fetched.candidate;
    if (answered && !fetched.told)
        fault_set(fault, "%s: UID FETCH of message %u returned nothing", mailbox->where, uid);
    return answered && fetched.told;
}

static enum search_result compare_all(struct mailbox *mailbox, const struct search *search,
                                      const struct candidates *found, uint32_t *ret_uid, struct fault *fault)
{
    enum candidate best = CANDIDATE_OTHER;
    uint32_t uid = 0;
    for (size_t i = 0; i < found->count && best != CANDIDATE_SAME; i++) {
        enum candidate candidate;
        if (!compare(mailbox, search, found->uids[i], &candidate, fault))
            return SEARCH_TROUBLE;
        if (candidate > best) {
            best = candidate;
            uid = found->uids[i];
        }
    }
    if (best == CANDIDATE_OTHER)
        return SEARCH_ABSENT;
    *ret_uid = uid;
    return SEARCH_FOUND;
}

static enum search_result search_mailbox(struct mailbox *mailbox, const struct search *search, const char *name,
                                         bool *ret_selected, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                         struct fault *fault)
{
    struct examined examined;
    struct candidates found OD_CLEANUP(free_candidates) = {.count = 0};
    enum search_result result = examine(mailbox, name, &examined, fault);
    if (result != SEARCH_FOUND)
        return result;
    *ret_selected = true;
    if (examined.exists == 0)
        return SEARCH_ABSENT;
    if (!find_candidates(mailbox, search, examined.exists, &found, fault))
        return SEARCH_TROUBLE;
    result = compare_all(mailbox, search, &found, ret_uid, fault);
    if (result == SEARCH_FOUND)
        *ret_uidvalidity = examined.uidvalidity;
    return result;
}

bool mailbox_searchable(const char *id, size_t length, bool folded)
{
    if (folded || length == 0 || length > 200)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool encoded_word = id[i] == '=' && i + 1 < length && id[i + 1] == '?';
        if (id[i] <= 0x20 || id[i] >= 0x7f || id[i] == '"' || id[i] == '\\' || encoded_word)
            return false;
    }
    return true;
}

/* Leaves the mailbox. */
static void leave(struct mailbox *mailbox)
{
    struct mailbox_reply reply;
    struct fault fault;
    const char *command = mailbox_dialogue_can(mailbox, "UNSELECT") ? "UNSELECT" : "CLOSE";
    if (!mailbox_dialogue_ask(mailbox, command, NULL, NULL, &reply, &fault, "%s", command))
        mailbox_dialogue_drop(mailbox);
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault)
{
    bool selected = false;
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, search->mailbox, fault);
    enum search_result result = SEARCH_TROUBLE;
    if (name != NULL)
        result = search_mailbox(mailbox, search, name, &selected, ret_uidvalidity, ret_uid, fault);
    if (result == SEARCH_TROUBLE)
        mailbox_dialogue_drop(mailbox);
    else if (selected)
        leave(mailbox);
    return result;
}
