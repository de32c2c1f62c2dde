/* SPDX-License-Identifier: ISC
 *
 * The Message-ID fields of several messages at once: little to read, and most messages are others by them. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <stdlib.h>

#define WANTED "(UID BODY.PEEK[HEADER.FIELDS (MESSAGE-ID)])"
#define UID_SIZE 11 /* with its comma */

/* The answer to one FETCH. */
struct answered {
    const struct search *search;
    struct mailbox_ids *ids;
    bool fed; /* with the fields of the current response, ... */
    bool any; /* ... and there was a byte of them */
};

static void feed_fields(void *context, const void *bytes, size_t size)
{
    struct answered *it = context;
    const struct search_reader *reader = &it->search->ids;
    if (size == 0 && it->fed) /* fields twice in one response: the last ones count */
        (void)!reader->end(reader->context);
    it->any = size > 0;
    it->fed = true;
    if (size > 0)
        reader->feed(reader->context, bytes, size);
}

/* The place of a message that was asked for; `count`: it was not. */
static size_t place_of(const struct mailbox_ids *ids, uint32_t number, uint32_t uid)
{
    size_t place = 0;
    if (ids->first > 0)
        return number >= ids->first && number - ids->first < ids->count ? number - ids->first : ids->count;
    while (place < ids->count && ids->uids[place] != uid)
        place++;
    return place;
}

/* Fields without an id are those of another message where the id decides; no fields at all, not even the blank line behind
 * them, are no answer. */
static enum candidate result_of(const struct answered *it, enum candidate candidate)
{
    if (candidate == CANDIDATE_SIMILAR && it->any && it->search->by_id)
        return CANDIDATE_OTHER;
    return it->any ? candidate : CANDIDATE_SIMILAR;
}

static void note_fields(void *context, struct mailbox_reply *reply)
{
    struct answered *it = context;
    const struct search_reader *reader = &it->search->ids;
    uint32_t number = (uint32_t)strtoul(reply->data, NULL, 10);
    struct reply_fetch fetch;
    bool wanted = mailbox_reply_fetch(reply, &fetch) && fetch.uid > 0 && fetch.body != NULL;
    if (wanted && fetch.body_size > 0) { /* not as a literal */
        feed_fields(it, NULL, 0);
        feed_fields(it, fetch.body, fetch.body_size);
    }
    enum candidate candidate = it->fed ? reader->end(reader->context) : CANDIDATE_SIMILAR;
    size_t place = wanted ? place_of(it->ids, number, fetch.uid) : it->ids->count;
    if (place < it->ids->count) {
        it->ids->uids[place] = fetch.uid;
        if (it->ids->told[place] != CANDIDATE_SAME)
            it->ids->told[place] = result_of(it, candidate);
    }
    it->fed = it->any = false;
}

/* Reads the answer to the FETCH that was sent. */
static bool take(struct mailbox *mailbox, const struct search *search, struct mailbox_ids *ids, struct fault *fault)
{
    struct answered it = {.search = search, .ids = ids};
    struct mailbox_reply reply;
    for (size_t i = 0; i < ids->count; i++)
        ids->told[i] = CANDIDATE_SIMILAR;
    mailbox->body = feed_fields;
    mailbox->body_context = &it;
    bool answered = mailbox_dialogue_take(mailbox, note_fields, &it, &reply, fault);
    mailbox->body = NULL;
    mailbox->body_context = NULL;
    for (size_t i = 0; answered && i < ids->count; i++) {
        if (ids->uids[i] == 0) {
            fault_set(fault, "%s: FETCH of message number %zu returned nothing", mailbox->where, ids->first + i);
            answered = false;
        }
    }
    return answered;
}

bool mailbox_ids_ask_newest(struct mailbox *mailbox, const struct search *search, uint32_t first, uint32_t last,
                            struct mailbox_ids *ret, struct fault *fault)
{
    *ret = (struct mailbox_ids){.first = first, .count = last - first + 1};
    return mailbox_dialogue_send(mailbox, "FETCH", fault, "FETCH %u:%u " WANTED, first, last) &&
           take(mailbox, search, ret, fault);
}

bool mailbox_ids_ask(struct mailbox *mailbox, const struct search *search, struct mailbox_ids *ids, struct fault *fault)
{
    char set[MAILBOX_IDS_MOST * UID_SIZE + 1];
    size_t length = 0;
    for (size_t i = 0; i < ids->count; i++)
        length += (size_t)snprintf(set + length, sizeof(set) - length, "%s%u", i > 0 ? "," : "", ids->uids[i]);
    return mailbox_dialogue_send(mailbox, "UID FETCH", fault, "UID FETCH %s " WANTED, set) &&
           take(mailbox, search, ids, fault);
}
