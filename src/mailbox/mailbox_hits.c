/* SPDX-License-Identifier: ISC
 *
 * UID SEARCH, and what it finds. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY 86400
#define HITS_MOST 100000 /* no deadline is long enough to compare more */

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

/* The search keys. SINCE and BEFORE ignore time and zone, so there is an extra day on each side for the server's
 * zone. */
static char *criteria(const struct search *search, bool by_text)
{
    char larger[32] = "", smaller[32] = "";
    char since[MAILBOX_DATE_SIZE], before[MAILBOX_DATE_SIZE];
    if (by_text)
        return base_printf("HEADER Message-ID \"%s\"", search->message_id);
    mailbox_date(search->internal_date - 2 * DAY, false, since);
    mailbox_date(search->internal_date + 3 * DAY, false, before);
    if (search->smallest > 0)
        snprintf(larger, sizeof(larger), " LARGER %lld", (long long)search->smallest - 1);
    if (search->largest > 0)
        snprintf(smaller, sizeof(smaller), " SMALLER %lld", (long long)search->largest + 1);
    return base_printf("SINCE %s BEFORE %s%s%s", since, before, larger, smaller);
}

static void note_hits(void *context, struct mailbox_reply *reply)
{
    struct mailbox_hits *hits = context;
    if (reply->status != STATUS_NONE || strncasecmp(reply->data, "SEARCH", 6) != 0)
        return;
    hits->told = true;
    if (hits->count <= HITS_MOST && !mailbox_reply_search(reply, &hits->uids, &hits->count))
        hits->damaged = true;
}

static int newest_first(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* RFC 3501, 6.4.4: the untagged answer is mandatory, even if empty. Servers that leave out an empty one (hoodiecrow) say
 * nothing but the tagged OK; behind anything else there may be one in a form that we do not know. */
static bool is_told(const struct mailbox *mailbox, const struct mailbox_hits *hits, struct fault *fault)
{
    bool told = hits->told || mailbox->responses == 1;
    if (told && !hits->damaged && hits->count <= HITS_MOST)
        return true;
    fault_set(fault, "%s: the answer to UID SEARCH %s", mailbox->where,
              !told           ? "is missing"
              : hits->damaged ? "cannot be read"
                              : "has too many messages");
    return false;
}

bool mailbox_hits_ask(struct mailbox *mailbox, const struct search *search, bool by_text, struct mailbox_hits *hits,
                      struct fault *fault)
{
    struct mailbox_reply reply;
    char *keys OD_CLEANUP(base_free) = criteria(search, by_text);
    mailbox->response_max = MAILBOX_SEARCH_RESPONSE_MAX;
    bool answered = mailbox_dialogue_ask(mailbox, "UID SEARCH", note_hits, hits, &reply, fault, "UID SEARCH %s", keys);
    mailbox->response_max = MAILBOX_RESPONSE_MAX;
    if (!answered || !is_told(mailbox, hits, fault))
        return false;
    if (hits->count > 0)
        qsort(hits->uids, hits->count, sizeof(*hits->uids), newest_first);
    return true;
}
