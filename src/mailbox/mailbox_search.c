/* SPDX-License-Identifier: ISC */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox/mailbox_internal.h"

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

struct examined {
    uint32_t uidvalidity;
    uint32_t uidnext; /* 0: not reported */
    uint32_t exists;
    bool has_exists;
};

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
        return SEARCH_UNKNOWN;
    enum ids_first ids_first = !by_text && search->doubt   ? IDS_HEADERS
                               : search->by_id || !by_text ? IDS_FIELDS
                                                           : IDS_NONE;
    return mailbox_candidates(imap, search, ids_first, hits.uids, hits.count, ret_uid, error);
}

static enum search_result search_all(struct imap *imap, const struct search *search, uint32_t exists, uint32_t *ret_uid,
                                     struct error *error)
{
    enum search_result result = SEARCH_MISSING;
    if (exists == 0)
        return result;
    if (search->message_id != NULL)
        result = search_hits(imap, search, true, ret_uid, error);
    if (result == SEARCH_MISSING && search->newest > 0)
        result = mailbox_candidates_newest(imap, search, exists, ret_uid, error);
    if (result == SEARCH_MISSING && !search->newest_only)
        result = search_hits(imap, search, false, ret_uid, error);
    return result;
}

/* Compares Message-IDs. The same one may be our message, changed by the server. */
static enum search_result compare_uid(struct imap *imap, const struct search *search, uint32_t uid, struct error *error)
{
    struct hits hits OD_CLEANUP(free_hits) = {.count = 0};
    uint32_t ignored;
    if (!imap_command(imap, record_hits, &hits, error, "UID SEARCH UID %u", uid))
        return SEARCH_UNKNOWN;
    if (hits.damaged || hits.count != 1 || hits.uids[0] != uid || search->ids == NULL)
        return SEARCH_DELETED;
    enum search_result result = mailbox_candidates(imap, search, IDS_HEADERS, &uid, 1, &ignored, error);
    return result == SEARCH_PRESENT ? SEARCH_DELETED : result;
}

/* A UID is assigned once, ascending, for each UIDVALIDITY (RFC 3501, 2.3.1.1), except after a restore. */
static enum search_result find_loss(struct imap *imap, const struct search *search, const struct examined *examined,
                                    uint32_t uidvalidity, uint32_t uid, struct error *error)
{
    if (uid == 0 || examined->uidvalidity == 0)
        return SEARCH_DELETED;
    if (examined->uidvalidity != uidvalidity || (examined->uidnext != 0 && examined->uidnext <= uid))
        return SEARCH_MISSING;
    return compare_uid(imap, search, uid, error);
}

static void record_examined(void *context, struct imap_reply *reply)
{
    struct examined *examined = context;
    if (imap_reply_exists(reply, &examined->exists))
        examined->has_exists = true;
    else if (!imap_reply_code_number(reply, "UIDVALIDITY", &examined->uidvalidity))
        (void)!imap_reply_code_number(reply, "UIDNEXT", &examined->uidnext);
}

/* Opens a mailbox read-only. SEARCH_PRESENT: open; SEARCH_MISSING: no such mailbox. Only LIST distinguishes that from most
 * temporary failures. Retries once if the mailbox is refused but listed: another delivery may just have created it. */
static enum search_result examine_named(struct imap *imap, const char *name, struct examined *ret, struct error *error)
{
    struct error minor;
    bool listed = true;
    for (int i = 0; i < 2 && listed; i++) {
        *ret = (struct examined){.exists = 0};
        if (imap_command(imap, record_examined, ret, error, "EXAMINE %s", name)) {
            if (ret->has_exists)
                return SEARCH_PRESENT;
            error_set(error, "%s: EXAMINE did not report the number of messages", imap->peer_name);
            return SEARCH_UNKNOWN;
        }
        if (imap->reply.status != STATUS_NO || !mailbox_refusal_maybe_missing(&imap->reply) ||
            !mailbox_folder_exists(imap, name, &listed, &minor))
            return SEARCH_UNKNOWN;
    }
    return listed ? SEARCH_UNKNOWN : SEARCH_MISSING;
}

static enum search_result open_mailbox(struct mailbox *mailbox, const char *utf8_name, struct examined *ret,
                                       struct error *error)
{
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, utf8_name, error);
    return name != NULL ? examine_named(mailbox->imap, name, ret, error) : SEARCH_UNKNOWN;
}

/* opened: the mailbox was selected. */
static enum search_result end_search(struct mailbox *mailbox, bool opened, enum search_result result,
                                     const struct error *why, struct error *error)
{
    struct imap *imap = mailbox->imap;
    struct error ignored;
    if (result == SEARCH_UNKNOWN) {
        *error = *why;
        imap_stream_drop(imap);
    } else if (opened && !imap_command(imap, NULL, NULL, &ignored, imap_can(imap, "UNSELECT") ? "UNSELECT" : "CLOSE")) {
        imap_stream_drop(imap);
    }
    return result;
}

enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct error *error)
{
    struct examined examined;
    struct error why;
    enum search_result result = open_mailbox(mailbox, search->mailbox, &examined, &why);
    bool opened = result == SEARCH_PRESENT;
    if (opened)
        result = search_all(mailbox->imap, search, examined.exists, ret_uid, &why);
    if (result == SEARCH_PRESENT)
        *ret_uidvalidity = examined.uidvalidity;
    return end_search(mailbox, opened, result, &why, error);
}

enum search_result mailbox_explain_missing(struct mailbox *mailbox, const struct search *search, uint32_t uidvalidity,
                                           uint32_t uid, struct error *error)
{
    struct examined examined;
    struct error why;
    enum search_result result = open_mailbox(mailbox, search->mailbox, &examined, &why);
    bool opened = result == SEARCH_PRESENT;
    if (opened)
        result = find_loss(mailbox->imap, search, &examined, uidvalidity, uid, &why);
    return end_search(mailbox, opened, result, &why, error);
}

enum search_result mailbox_fetch(struct mailbox *mailbox, const char *name, uint32_t uidvalidity, uint32_t uid,
                                 void (*take)(void *context, const void *bytes, size_t size), void *context,
                                 struct error *error)
{
    struct examined examined;
    struct error why;
    bool there = false;
    enum search_result result = open_mailbox(mailbox, name, &examined, &why);
    bool opened = result == SEARCH_PRESENT;
    if (opened && examined.uidvalidity != uidvalidity)
        result = SEARCH_MISSING;
    else if (opened && !mailbox_candidates_read(mailbox->imap, uid, take, context, &there, &why))
        result = SEARCH_UNKNOWN;
    else if (opened)
        result = there ? SEARCH_PRESENT : SEARCH_MISSING;
    return end_search(mailbox, opened, result, &why, error);
}
