/* SPDX-License-Identifier: ISC */
#include "mailbox/mailbox_internal.h"

#include <stdlib.h>
#include <string.h>

#define FETCH_MAX 100 /* limits the command line (RFC 2683, 3.2.1.5) */

struct fetch {
    uint32_t first; /* sequence number; 0: known by UID */
    size_t count;
    uint32_t uids[FETCH_MAX];
    bool reported[FETCH_MAX];                    /* at least a byte came, ... */
    enum message_likeness likenesses[FETCH_MAX]; /* ... with this result */
};

struct replied {
    struct fetch *fetch;
    struct message_comparison *comparison;
    bool has_body; /* the response has a body, ... */
    bool any;      /* ... which is not empty */
};

static void feed_body(void *context, const void *bytes, size_t size)
{
    struct replied *it = context;
    if (size == 0 && it->has_body) /* a second body in a response: the last counts */
        (void)!message_comparison_end(it->comparison);
    it->any = size > 0;
    it->has_body = true;
    if (size > 0)
        message_comparison_feed(it->comparison, bytes, size);
}

static size_t index_of(const struct fetch *fetch, uint32_t number, uint32_t uid)
{
    size_t i = 0;
    if (fetch->first > 0)
        return number >= fetch->first && number - fetch->first < fetch->count ? number - fetch->first : fetch->count;
    while (i < fetch->count && fetch->uids[i] != uid)
        i++;
    return i;
}

/* An empty body, without even the blank line after a header, is like NIL: the message cannot be read now. */
static void record_fetched(void *context, struct imap_reply *reply)
{
    struct replied *it = context;
    uint32_t number = (uint32_t)strtoul(reply->data, NULL, 10);
    struct reply_fetch reported;
    bool wanted = imap_reply_fetch(reply, &reported) && reported.uid > 0 && reported.body != NULL;
    if (wanted && reported.body_size > 0) { /* not a literal */
        feed_body(it, NULL, 0);
        feed_body(it, reported.body, reported.body_size);
    }
    enum message_likeness likeness = it->has_body ? message_comparison_end(it->comparison) : MESSAGE_OTHER;
    size_t i = wanted ? index_of(it->fetch, number, reported.uid) : it->fetch->count;
    if (i < it->fetch->count) {
        it->fetch->uids[i] = reported.uid;
        it->fetch->reported[i] |= it->any;
        if (it->any && likeness > it->fetch->likenesses[i])
            it->fetch->likenesses[i] = likeness;
    }
    it->has_body = it->any = false;
}

static GString *set_of(const struct fetch *fetch)
{
    GString *set = g_string_new(NULL);
    if (fetch->first > 0)
        g_string_printf(set, "%u:%u", fetch->first, fetch->first + (uint32_t)fetch->count - 1);
    for (size_t i = 0; fetch->first == 0 && i < fetch->count; i++)
        g_string_append_printf(set, "%s%u", i > 0 ? "," : "", fetch->uids[i]);
    return set;
}

/* Reads BODY[part] of each. Sets `reported`, `likenesses` and, for sequence numbers, `uids`. */
static bool fetch_part(struct imap *imap, struct fetch *fetch, const char *part, struct message_comparison *comparison,
                       struct error *error)
{
    struct replied it = {.fetch = fetch, .comparison = comparison};
    const char *command = fetch->first > 0 ? "FETCH" : "UID FETCH";
    g_autoptr(GString) set = set_of(fetch);
    imap->body = feed_body;
    imap->body_context = &it;
    bool replied = imap_command(imap, record_fetched, &it, error, "%s %s (UID BODY.PEEK[%s])", command, set->str, part);
    imap->body = NULL;
    imap->body_context = NULL;
    for (size_t i = 0; replied && i < fetch->count; i++)
        if (fetch->uids[i] == 0)
            replied =
                error_set(error, "%s: FETCH of message number %zu returned nothing", imap->peer_name, fetch->first + i);
    return replied;
}

struct reading {
    uint32_t uid;
    void (*take)(void *context, const void *bytes, size_t size);
    void *context;
    bool any, there;
};

static void read_body(void *context, const void *bytes, size_t size)
{
    struct reading *it = context;
    it->any = it->any || size > 0;
    it->take(it->context, size > 0 ? bytes : NULL, size);
}

static void record_read(void *context, struct imap_reply *reply)
{
    struct reading *it = context;
    struct reply_fetch reported;
    if (!imap_reply_fetch(reply, &reported) || reported.uid != it->uid || reported.body == NULL)
        return;
    if (reported.body_size > 0) { /* not a literal */
        read_body(it, NULL, 0);
        read_body(it, reported.body, reported.body_size);
    }
    it->there = it->any;
}

bool mailbox_candidates_read(struct imap *imap, uint32_t uid,
                             void (*take)(void *context, const void *bytes, size_t size), void *context,
                             bool *ret_there, struct error *error)
{
    struct reading it = {.uid = uid, .take = take, .context = context};
    imap->body = read_body;
    imap->body_context = &it;
    bool replied = imap_command(imap, record_read, &it, error, "UID FETCH %u (UID BODY.PEEK[])", uid);
    imap->body = NULL;
    imap->body_context = NULL;
    *ret_there = it.there;
    return replied;
}

/* Without a response, nothing is known; with by_id, a message without an id is another. */
static enum message_likeness result_for(const struct search *search, const struct fetch *fetch, size_t i)
{
    if (!fetch->reported[i])
        return MESSAGE_SIMILAR;
    return search->by_id && fetch->likenesses[i] == MESSAGE_SIMILAR ? MESSAGE_OTHER : fetch->likenesses[i];
}

static bool compare(struct imap *imap, const struct search *search, uint32_t uid, enum message_likeness *ret,
                    struct error *error)
{
    struct fetch complete = {.count = 1, .uids = {uid}};
    struct message_comparison *comparison = search->by_id ? search->ids : search->complete;
    if (!fetch_part(imap, &complete, search->by_id ? "HEADER" : "", comparison, error))
        return false;
    if (!complete.reported[0])
        error_set(error, "%s: UID FETCH of message %u returned nothing", imap->peer_name, uid);
    *ret = result_for(search, &complete, 0);
    return complete.reported[0];
}

struct best {
    enum message_likeness likeness;
    uint32_t uid;
};

/* A field shows only which messages to leave out. */
static bool compare_all(struct imap *imap, const struct search *search, enum ids_first ids_first, struct fetch *ids,
                        struct best *best, struct error *error)
{
    const char *part = ids_first == IDS_HEADERS ? "HEADER" : "HEADER.FIELDS (MESSAGE-ID)";
    bool by_header = search->by_id && ids_first == IDS_HEADERS;
    if (ids_first != IDS_NONE && !fetch_part(imap, ids, part, search->ids, error))
        return false;
    for (size_t i = 0; i < ids->count && best->likeness != MESSAGE_SAME; i++) {
        enum message_likeness likeness = result_for(search, ids, i);
        bool decided = likeness == MESSAGE_OTHER || (by_header && likeness == MESSAGE_SAME);
        if (!decided && !compare(imap, search, ids->uids[i], &likeness, error))
            return false;
        if (likeness > best->likeness)
            *best = (struct best){likeness, ids->uids[i]};
    }
    return true;
}

static enum search_result result_of(const struct best *best, uint32_t *ret_uid)
{
    if (best->likeness == MESSAGE_OTHER)
        return SEARCH_MISSING;
    *ret_uid = best->uid;
    return SEARCH_PRESENT;
}

enum search_result mailbox_candidates(struct imap *imap, const struct search *search, enum ids_first ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid, struct error *error)
{
    struct best best = {.likeness = MESSAGE_OTHER};
    struct fetch ids;
    for (size_t i = 0; i < count && best.likeness != MESSAGE_SAME; i += ids.count) {
        ids = (struct fetch){.count = count - i < FETCH_MAX ? count - i : FETCH_MAX};
        memcpy(ids.uids, uids + i, ids.count * sizeof(*uids));
        if (!compare_all(imap, search, search->ids != NULL ? ids_first : IDS_NONE, &ids, &best, error))
            return SEARCH_UNKNOWN;
    }
    return result_of(&best, ret_uid);
}

enum search_result mailbox_candidates_newest(struct imap *imap, const struct search *search, uint32_t exists,
                                             uint32_t *ret_uid, struct error *error)
{
    struct best best = {.likeness = MESSAGE_OTHER};
    uint32_t least = exists > search->newest ? exists - search->newest + 1 : 1;
    for (uint32_t last = exists, first; best.likeness == MESSAGE_OTHER && last >= least; last = first - 1) {
        first = last - least >= FETCH_MAX ? last - FETCH_MAX + 1 : least;
        struct fetch ids = {.first = first, .count = last - first + 1};
        if (!compare_all(imap, search, IDS_FIELDS, &ids, &best, error))
            return SEARCH_UNKNOWN;
    }
    return result_of(&best, ret_uid);
}
