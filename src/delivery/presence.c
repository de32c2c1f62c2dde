/* SPDX-License-Identifier: ISC */
#include "delivery/presence.h"

#include <glib.h>
#include <string.h>

#include "decode/decode.h"

/* An earlier attempt may have stored other transport fields; servers that count a line end as one byte report half of
 * the size. No MTA passes on a header over 1 MiB (Exim, header_maxsize; Postfix 100 KiB). */
#define TRANSPORT_MAX (1024 * 1024)

static const char *const *ignored_fields(const struct presence_query *query)
{
    return (const char *const *)query->server->identity.ignore_headers;
}

static bool is_searchable(const struct message *message)
{
    return message->message_id != NULL &&
           mailbox_searchable(message->message_id, message->message_id_length, message->message_id_folded);
}

static enum search_result search_message(struct mailbox *mailbox, const struct presence_query *query,
                                         struct presence_place *ret, bool *ret_unclear, struct error *error)
{
    const struct message *message = query->message;
    bool by_id = message->message_id != NULL && (query->by_id || query->server->imap.match == IMAP_MATCH_MESSAGE_ID);
    bool newest_only = by_id && query->newest_only;
    bool has_ids = by_id || is_searchable(message), sized = !has_ids && message->size > 0;
    struct message_comparison *complete OD_CLEANUP(message_comparison_free) =
        by_id ? NULL : message_comparison_new(message, ignored_fields(query));
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = has_ids ? message_comparison_new_id(message)
                                                                                 : NULL;
    const struct search search = {
        .mailbox = query->mailbox,
        .message_id = is_searchable(message) && !newest_only ? message->message_id : NULL,
        .internal_date = query->received_at,
        .smallest = sized ? MAX((int64_t)message->content_size / 2, 1) : 1,
        .largest = sized ? (int64_t)message->size + TRANSPORT_MAX : 0,
        .newest = by_id ? query->newest : 0,
        .newest_only = newest_only,
        .by_id = by_id,
        .doubt = query->doubt,
        .complete = complete,
        .ids = ids,
    };
    if (complete != NULL)
        message_comparison_set_variants(complete, query->variants, query->variant_count);
    enum search_result result = mailbox_search(mailbox, &search, &ret->uidvalidity, &ret->uid, error);
    *ret_unclear = message_comparison_unclear(complete);
    return result;
}

/* Without the message's bytes, the notice's id must do. */
static enum search_result search_notice(struct mailbox *mailbox, const struct presence_query *query,
                                        struct presence_place *ret, struct error *error)
{
    bool by_id = query->message->data == NULL;
    char *id OD_CLEANUP(base_free) = notice_id(query->server->lock.namespace, query->message);
    const struct message named = {.message_id = id, .message_id_length = strlen(id)};
    struct message_comparison *notice OD_CLEANUP(message_comparison_free) =
        message_comparison_new_notice(query->message, ignored_fields(query));
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) = message_comparison_new_id(&named);
    const struct search search = {
        .mailbox = query->mailbox,
        .message_id = id,
        .internal_date = query->received_at,
        .smallest = 1,
        .newest = by_id ? PRESENCE_NEWEST : 0,
        .by_id = by_id,
        .doubt = true,
        .complete = notice,
        .ids = ids,
    };
    return mailbox_search(mailbox, &search, &ret->uidvalidity, &ret->uid, error);
}

static enum search_result explain_by_place(struct mailbox *mailbox, const struct presence_query *query,
                                           const struct presence_place *recorded, struct error *error)
{
    struct message_comparison *ids OD_CLEANUP(message_comparison_free) =
        query->message->message_id != NULL ? message_comparison_new_id(query->message) : NULL;
    const struct search search = {.mailbox = query->mailbox, .by_id = true, .ids = ids};
    return mailbox_explain_missing(mailbox, &search, recorded->uidvalidity, recorded->uid, error);
}

static struct mailbox *acquire(const struct presence_query *query, bool *ret_reused, struct error *error)
{
    return sessions_acquire(query->sessions, query->server, query->account, query->age, 0, ret_reused, error);
}

/* Returns true if the search should be repeated on a new session. */
static bool release_session(const struct presence_query *query, enum search_result result, bool reused)
{
    if (result == SEARCH_UNKNOWN)
        sessions_discard(query->sessions, query->server, query->account);
    else
        sessions_release(query->sessions, query->server, query->account);
    return result == SEARCH_UNKNOWN && reused && deadline_left_ms() >= query->retry_ms;
}

enum search_result presence_search(const struct presence_query *query, struct presence_place *ret, struct error *error)
{
    enum search_result result;
    bool reused, unclear;
    do {
        struct mailbox *mailbox = acquire(query, &reused, error);
        if (mailbox == NULL)
            return SEARCH_UNKNOWN;
        result = search_message(mailbox, query, ret, &unclear, error);
        ret->notice = result == SEARCH_MISSING && query->notice;
        if (ret->notice)
            result = search_notice(mailbox, query, ret, error);
    } while (release_session(query, result, reused));
    if (result != SEARCH_MISSING || !unclear)
        return result;
    error_set(error, "a message %s has other content: it is another one, or the server has changed this one",
              query->message->message_id != NULL ? "with its Message-ID" : "of those days");
    return SEARCH_UNKNOWN;
}

enum search_result presence_explain_missing(const struct presence_query *query, const struct presence_place *recorded,
                                            struct error *error)
{
    enum search_result result;
    bool reused;
    do {
        struct mailbox *mailbox = acquire(query, &reused, error);
        if (mailbox == NULL)
            return SEARCH_UNKNOWN;
        result = explain_by_place(mailbox, query, recorded, error);
    } while (release_session(query, result, reused));
    return result;
}
