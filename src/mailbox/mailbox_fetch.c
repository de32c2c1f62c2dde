/* SPDX-License-Identifier: ISC
 *
 * FETCH, and what it tells. */
#include "mailbox/mailbox_fetch.h"

#include <glib.h>
#include <stdlib.h>

struct answered {
    struct mailbox_fetch *fetch;
    const struct search_reader *reader;
    bool fed; /* with the body of the current response, ... */
    bool any; /* ... and there was a byte of it */
};

static void feed_body(void *context, const void *bytes, size_t size)
{
    struct answered *it = context;
    if (size == 0 && it->fed) /* a second body in one response: the last one counts */
        (void)!it->reader->end(it->reader->context);
    it->any = size > 0;
    it->fed = true;
    if (size > 0)
        it->reader->feed(it->reader->context, bytes, size);
}

/* The index of a message that was asked for; `count`: it was not. */
static size_t index_of(const struct mailbox_fetch *fetch, uint32_t number, uint32_t uid)
{
    size_t i = 0;
    if (fetch->first > 0)
        return number >= fetch->first && number - fetch->first < fetch->count ? number - fetch->first : fetch->count;
    while (i < fetch->count && fetch->uids[i] != uid)
        i++;
    return i;
}

/* A body without a byte, not even the blank line behind a header, is a message that cannot be read now, like NIL. */
static void note_fetched(void *context, struct imap_reply *reply)
{
    struct answered *it = context;
    uint32_t number = (uint32_t)strtoul(reply->data, NULL, 10);
    struct reply_fetch told;
    bool wanted = imap_reply_fetch(reply, &told) && told.uid > 0 && told.body != NULL;
    if (wanted && told.body_size > 0) { /* not as a literal */
        feed_body(it, NULL, 0);
        feed_body(it, told.body, told.body_size);
    }
    enum candidate candidate = it->fed ? it->reader->end(it->reader->context) : CANDIDATE_OTHER;
    size_t i = wanted ? index_of(it->fetch, number, told.uid) : it->fetch->count;
    if (i < it->fetch->count) {
        it->fetch->uids[i] = told.uid;
        it->fetch->told[i] |= it->any;
        if (it->any && candidate > it->fetch->candidates[i])
            it->fetch->candidates[i] = candidate;
    }
    it->fed = it->any = false;
}

/* The numbers as IMAP lists them. */
static GString *set_of(const struct mailbox_fetch *fetch)
{
    GString *set = g_string_new(NULL);
    if (fetch->first > 0)
        g_string_printf(set, "%u:%u", fetch->first, fetch->first + (uint32_t)fetch->count - 1);
    for (size_t i = 0; fetch->first == 0 && i < fetch->count; i++)
        g_string_append_printf(set, "%s%u", i > 0 ? "," : "", fetch->uids[i]);
    return set;
}

bool mailbox_fetch(struct imap *imap, struct mailbox_fetch *fetch, const char *part, const struct search_reader *reader,
                   struct fault *fault)
{
    struct answered it = {.fetch = fetch, .reader = reader};
    const char *command = fetch->first > 0 ? "FETCH" : "UID FETCH";
    GString *set = set_of(fetch);
    imap->body = feed_body;
    imap->body_context = &it;
    bool answered = imap_ask(imap, note_fetched, &it, fault, "%s %s (UID BODY.PEEK[%s])", command, set->str, part);
    imap->body = NULL;
    imap->body_context = NULL;
    g_string_free(set, TRUE);
    for (size_t i = 0; answered && i < fetch->count; i++)
        if (fetch->uids[i] == 0)
            answered =
                fault_set(fault, "%s: FETCH of message number %zu returned nothing", imap->where, fetch->first + i);
    return answered;
}
