/* SPDX-License-Identifier: ISC
 *
 * The search of src/mailbox/mailbox.h, and the comparison it uses (src/message/message.h). */
#include <string.h>

#include "breakage.h"
#include "faults.h"
#include "imap.h"
#include "imap_session.h"
#include "mailbox/mailbox.h"
#include "message/message.h"
#include "scheduler.h"

static bool is_named(const struct search *search, const struct stored *stored)
{
    return search->message_id != NULL && stored->content->message.message_id != NULL &&
           strcmp(stored->content->message.message_id, search->message_id) == 0;
}

static bool is_dated(const struct search *search, const struct stored *stored)
{
    if (breakage == BREAK_MISS_IS_BELIEVED && search->message_id != NULL)
        return false;
    int64_t size = (int64_t)stored->content->message.size;
    int64_t apart = stored->internal_date - search->internal_date;
    return !search->newest_only && apart >= -86400 && apart <= 86400 &&
           (search->largest == 0 || (size >= search->smallest && size <= search->largest));
}

/* misses: the search by text finds nothing. */
static enum search_result look_through(unsigned account, const struct search *search, bool misses, uint32_t *ret_uid)
{
    const struct box_content *box = imap_box(account, world_box(search->mailbox));
    struct message_comparison *comparison = search->by_id ? search->ids : search->complete;
    for (size_t i = 0; i < box->count; i++) {
        const struct stored *stored = &box->stored[i];
        bool is_new = box->count - i <= search->newest;
        bool is_hinted = !misses && is_named(search, stored);
        if (!is_new && !is_hinted && !is_dated(search, stored))
            continue;
        message_comparison_feed(comparison, stored->content, sizeof(*stored->content));
        if (message_comparison_end(comparison) == MESSAGE_SAME) {
            *ret_uid = box->stored[i].uid;
            return SEARCH_PRESENT;
        }
    }
    return SEARCH_MISSING;
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct error *error)
{
    unsigned account = imap_account(mailbox);
    strcpy(error->text, "IMAP: SEARCH");
    struct call call = call_begin(CALL_SEARCH);
    if (!call_pass(&call, 0))
        return SEARCH_UNKNOWN;
    enum search_result result = look_through(account, search, call.error == ERROR_SEARCH_MISSES, ret_uid);
    if (!call_pass(&call, 1))
        return SEARCH_UNKNOWN;
    world.current->certain = true;
    if (call.error == ERROR_SEARCH_FAILED || imap_is_lost(mailbox)) {
        TELL("cannot search");
        return breakage == BREAK_FAILED_SEARCH_IS_ABSENT ? SEARCH_MISSING : SEARCH_UNKNOWN;
    }
    if (result == SEARCH_PRESENT)
        *ret_uidvalidity = 1;
    TELL("searches %s of %s by %s: %s", search->mailbox, world_account(account),
         search->message_id != NULL ? "its id" : "its date", result == SEARCH_PRESENT ? "found" : "not there");
    return result;
}

/* No episode restores what a server has lost. */
enum search_result mailbox_explain_missing(struct mailbox *mailbox, const struct search *search, uint32_t uidvalidity,
                                           uint32_t uid, struct error *error)
{
    (void)mailbox, (void)search, (void)uidvalidity, (void)uid;
    strcpy(error->text, "IMAP: not asked for");
    return SEARCH_UNKNOWN;
}

bool mailbox_searchable(const char *id, size_t length, bool folded)
{
    return length <= 200 && !folded && id != NULL;
}

/* A candidate is fed as a pointer to its content. */
struct message_comparison {
    const struct content *looked_for, *candidate;
    bool by_id, notice;
};

static struct message_comparison *comparison(const struct message *message, bool by_id, bool notice)
{
    struct message_comparison *it = base_alloc(sizeof(*it));
    it->looked_for = (const struct content *)(const void *)message->data;
    it->by_id = by_id;
    it->notice = notice;
    return it;
}

struct message_comparison *message_comparison_new(const struct message *message, const char *const *ignore)
{
    (void)ignore;
    return comparison(message, false, false);
}

struct message_comparison *message_comparison_new_id(const struct message *message)
{
    return comparison(message, true, false);
}

struct message_comparison *message_comparison_new_notice(const struct message *message, const char *const *ignore)
{
    (void)ignore;
    return comparison(message, false, true);
}

void message_comparison_set_variants(struct message_comparison *it,
                                     const unsigned char (*variants)[MESSAGE_DIGEST_SIZE], size_t count)
{
    (void)it, (void)variants, (void)count;
}

void message_comparison_feed(struct message_comparison *it, const void *bytes, size_t size)
{
    (void)size;
    it->candidate = bytes;
}

enum message_likeness message_comparison_end(struct message_comparison *it)
{
    if (it->notice)
        return breakage != BREAK_EXPLANATION_UNSOUGHT && it->candidate->explains == it->looked_for ? MESSAGE_SAME
                                                                                                   : MESSAGE_OTHER;
    bool same = it->candidate == it->looked_for || (it->by_id && it->candidate->identity == it->looked_for->identity);
    return same ? MESSAGE_SAME : MESSAGE_OTHER;
}

bool message_comparison_unclear(const struct message_comparison *it)
{
    (void)it;
    return false;
}

void message_comparison_free(struct message_comparison **it)
{
    base_free(it);
}
