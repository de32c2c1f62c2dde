/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox/mailbox_candidates.h"
#include "mailbox/mailbox_examine.h"
#include "mailbox/mailbox_folder.h"

#define DAY 86400
#define HITS_MAX 100000 /* no deadline allows comparing more */
#define SEARCH_RESPONSE_MAX ((size_t)1024 * 1024)

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

struct hits {
    uint32_t *uids; /* newest first */
    size_t count;
    bool reported; /* a response came, perhaps empty */
    bool damaged;
};

static void free_hits(struct hits *hits)
{
    free(hits->uids);
}

/* SINCE and BEFORE ignore time and zone: one more day on each side. */
static char *criteria(const struct search *search, bool by_text)
{
    char larger[32] = "", smaller[32] = "";
    char since[IMAP_DATE_SIZE], before[IMAP_DATE_SIZE];
    if (by_text)
        return base_printf("HEADER Message-ID \"%s\"", search->message_id);
    imap_date(search->internal_date - 2 * DAY, false, since);
    imap_date(search->internal_date + 3 * DAY, false, before);
    if (search->smallest > 0)
        snprintf(larger, sizeof(larger), " LARGER %lld", (long long)search->smallest - 1);
    if (search->largest > 0)
        snprintf(smaller, sizeof(smaller), " SMALLER %lld", (long long)search->largest + 1);
    return base_printf("SINCE %s BEFORE %s%s%s", since, before, larger, smaller);
}

static void record_hits(void *context, struct imap_reply *reply)
{
    struct hits *hits = context;
    if (reply->status != STATUS_NONE || strncasecmp(reply->data, "SEARCH", 6) != 0)
        return;
    hits->reported = true;
    if (hits->count <= HITS_MAX && !imap_reply_search(reply, &hits->uids, &hits->count))
        hits->damaged = true;
}

static int newest_first(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a;
    uint32_t right = *(const uint32_t *)b;
    return (left < right) - (left > right);
}

/* The untagged response is mandatory, even if empty (RFC 3501, 6.4.4). Servers that omit it (hoodiecrow) send only the
 * tagged OK; any other response may be one of unknown form. */
static bool is_reported_uid(const struct imap *imap, const struct hits *hits, struct error *error)
{
    bool reported = hits->reported || imap->responses == 1;
    if (reported && !hits->damaged && hits->count <= HITS_MAX)
        return true;
    return error_set(error, "%s: the answer to UID SEARCH %s", imap->peer_name,
                     !reported       ? "is missing"
                     : hits->damaged ? "cannot be read"
                                     : "has too many messages");
}

static bool ask_hits(struct imap *imap, const struct search *search, bool by_text, struct hits *hits,
                     struct error *error)
{
    char *keys OD_CLEANUP(base_free) = criteria(search, by_text);
    imap->response_max = SEARCH_RESPONSE_MAX;
    bool replied = imap_command(imap, record_hits, hits, error, "UID SEARCH %s", keys);
    imap->response_max = IMAP_RESPONSE_MAX;
    if (!replied || !is_reported_uid(imap, hits, error))
        return false;
    if (hits->count > 0)
        qsort(hits->uids, hits->count, sizeof(*hits->uids), newest_first);
    return true;
}

/* by_text: by Message-ID, else by date and size: the step that decides. */
static enum search_result search_hits(struct imap *imap, const struct search *search, bool by_text, uint32_t *ret_uid,
                                      struct error *error)
{
    struct hits hits OD_CLEANUP(free_hits) = {.count = 0};
    if (!ask_hits(imap, search, by_text, &hits, error))
        return SEARCH_ERROR;
    enum ids_first ids_first = !by_text && search->doubt   ? IDS_HEADERS
                               : search->by_id || !by_text ? IDS_FIELDS
                                                           : IDS_NONE;
    return mailbox_candidates(imap, search, ids_first, hits.uids, hits.count, ret_uid, error);
}

static enum search_result search_all(struct imap *imap, const struct search *search, uint32_t exists, uint32_t *ret_uid,
                                     struct error *error)
{
    enum search_result result = SEARCH_ABSENT;
    if (exists == 0)
        return result;
    if (search->message_id != NULL)
        result = search_hits(imap, search, true, ret_uid, error);
    if (result == SEARCH_ABSENT && search->newest > 0)
        result = mailbox_candidates_newest(imap, search, exists, ret_uid, error);
    if (result == SEARCH_ABSENT && !search->newest_only)
        result = search_hits(imap, search, false, ret_uid, error);
    return result;
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct error *error)
{
    struct examined examined;
    struct error why;
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, search->mailbox, &why);
    enum search_result opened = name != NULL ? mailbox_examine(mailbox->imap, name, &examined, &why) : SEARCH_ERROR;
    enum search_result result = opened;
    if (opened == SEARCH_FOUND)
        result = search_all(mailbox->imap, search, examined.exists, ret_uid, &why);
    if (result == SEARCH_FOUND)
        *ret_uidvalidity = examined.uidvalidity;
    if (result == SEARCH_ERROR) {
        *error = why;
        imap_stream_drop(mailbox->imap);
    } else if (opened == SEARCH_FOUND) {
        mailbox_examine_end(mailbox->imap);
    }
    return result;
}
