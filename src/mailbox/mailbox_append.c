/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "mailbox/mailbox_internal.h"

#define LAST ((size_t)3)                 /* the literal's last byte and CRLF */
#define EARLY_MAX ((size_t)1024 * 1024)  /* larger messages are only announced: a lost claim must not cost much */
#define LITERAL_MINUS_MAX ((size_t)4096) /* RFC 7888, 5 */
#define UNUSED_MS 60000
#define TOO_EARLY "%s: APPEND answered before the message was sent: %s"

/* Functions that end an APPEND return false. */
static bool end(struct mailbox *mailbox, enum append_result result)
{
    mailbox->appending.step = APPEND_OVER;
    mailbox->appending.result = result;
    return false;
}

/* Nothing of the literal was sent. */
static bool end_unsent(struct mailbox *mailbox)
{
    return end(mailbox, mailbox->imap->stream == NULL ? APPEND_LOST : APPEND_NOT_SENT);
}

static bool end_refused(struct mailbox *mailbox, bool literal_sent)
{
    const struct imap_reply *reply = &mailbox->imap->reply;
    struct appending *it = &mailbox->appending;
    error_set(&it->why, "%s: APPEND to mailbox %s refused: %s%s", mailbox->imap->peer_name, it->append.mailbox,
              reply->data, mailbox->shared && reply->status == STATUS_NO ? " (imap.user needs rights there)" : "");
    it->maybe_missing = mailbox_refusal_maybe_missing(reply) && strcmp(it->name, "\"INBOX\"") != 0;
    it->after_literal = literal_sent;
    it->impossible = mailbox_refusal_is_permanent(reply);
    if (it->early && (it->sent < it->size || reply->status == STATUS_BAD)) /* which bytes are literal to the server? */
        imap_stream_drop(mailbox->imap);
    return end(mailbox, mailbox_refusal(reply, literal_sent));
}

/* Not on a session unused for long: it may be lost without a sign, which only '+' shows before the literal. */
static bool is_early(const struct mailbox *mailbox, size_t size)
{
    const struct imap *imap = mailbox->imap;
    size_t max = imap_can(imap, "LITERAL+") ? EARLY_MAX : imap_can(imap, "LITERAL-") ? LITERAL_MINUS_MAX : 0;
    return imap->stream != NULL && size > 0 && size <= max && base_now_ms() - imap->heard_ms < UNUSED_MS;
}

/* Builds what is sent: command, message, and CRLF. Returns the message's size. */
static size_t build_pieces(struct appending *it)
{
    static char line_end[] = "\r\n";
    const size_t count = it->append.piece_count;
    size_t size = 0;
    base_free(&it->pieces);
    it->pieces = base_alloc((count + 3) * sizeof(*it->pieces));
    it->pieces[1] = it->pieces[count + 2] = (struct iovec){line_end, 2};
    for (size_t i = 0; i < count; i++) {
        it->pieces[i + 2] = it->append.pieces[i];
        size += it->append.pieces[i].iov_len;
    }
    return size;
}

/* Waits up to ms for each write. False: not all. */
static bool send_up_to(struct mailbox *mailbox, size_t size, int64_t ms)
{
    struct appending *it = &mailbox->appending;
    return imap_stream_send(mailbox->imap, it->pieces, it->append.piece_count + 3, &it->sent, size, ms);
}

/* Does not wait for the socket, so as not to delay the claim: mailbox_append_send() sends the rest. */
static void send_early(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    imap_debug_sent(&mailbox->imap->debug, mailbox->imap->tag, it->line);
    imap_stream_discard_unsent(mailbox->imap, true);
    (void)!send_up_to(mailbox, it->size - LAST, 0);
}

static void send_append(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    char date[IMAP_DATE_SIZE];
    size_t size = build_pieces(it);
    imap_date(it->append.internal_date, true, date);
    it->step = APPEND_BEGUN;
    it->early = is_early(mailbox, size);
    base_free(&it->line);
    it->line = imap_begin(mailbox->imap, "APPEND %s %s\"%s\" {%zu%s}", it->name, it->append.seen ? "(\\Seen) " : "",
                          date, size, it->early ? "+" : "");
    it->pieces[0] = (struct iovec){it->line, strlen(it->line)};
    it->sent = it->early ? 0 : it->pieces[0].iov_len + 2;
    it->size = it->pieces[0].iov_len + 2 + size + 2;
    if (it->early)
        send_early(mailbox);
    else if (!imap_stream_line(mailbox->imap, it->line, &it->why))
        end_unsent(mailbox);
}

void mailbox_append_clear(struct appending *appending)
{
    base_free(&appending->name);
    base_free(&appending->line);
    base_free(&appending->pieces);
}

void mailbox_append_begin(struct mailbox *mailbox, const struct append *append)
{
    struct appending *it = &mailbox->appending;
    mailbox_append_clear(it);
    *it = (struct appending){.append = *append};
    it->name = mailbox_folder_name(mailbox, append->mailbox, &it->why);
    if (it->name == NULL)
        end_unsent(mailbox);
    else
        send_append(mailbox);
}

/* By a tagged response before the literal. OK to an early literal is a doubt: a proxy may have stored it all the same. */
static bool end_before_literal(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    const struct imap_reply *reply = &mailbox->imap->reply;
    if (reply->status != STATUS_OK)
        return end_refused(mailbox, false);
    error_set(&it->why, TOO_EARLY, mailbox->imap->peer_name, reply->data);
    imap_stream_drop(mailbox->imap);
    return end(mailbox, it->early ? APPEND_UNKNOWN : APPEND_NOT_SENT);
}

/* True: '+' came. */
static bool read_go_ahead(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    const struct imap_reply *reply = &mailbox->imap->reply;
    do {
        if (!imap_response_read(mailbox->imap, &it->why))
            return end_unsent(mailbox);
    } while (reply->kind == REPLY_UNTAGGED || reply->kind == REPLY_GARBAGE);
    return reply->kind == REPLY_CONTINUE || end_before_literal(mailbox);
}

/* Reads what the server said before the last byte of an early literal. After NO it still waits for that byte. True: no
 * tagged response. */
static bool read_early_responses(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    const struct imap_reply *reply = &mailbox->imap->reply;
    while (imap_stream_arrived(mailbox->imap)) {
        if (!imap_response_read(mailbox->imap, &it->why))
            return end_unsent(mailbox);
        if (reply->kind != REPLY_TAGGED)
            continue;
        if (reply->status == STATUS_NO && send_up_to(mailbox, it->size, 0))
            imap_stream_discard_unsent(mailbox->imap, false);
        return end_before_literal(mailbox);
    }
    return true;
}

/* If the server does not take an early literal, its response says why. */
static bool ready_for_literal(struct mailbox *mailbox)
{
    const struct appending *it = &mailbox->appending;
    return it->early && send_up_to(mailbox, it->size - LAST, mailbox->imap->timeout) ? read_early_responses(mailbox)
                                                                                     : read_go_ahead(mailbox);
}

/* Asks LIST if the response does not say it. */
static bool is_missing(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    struct error minor;
    bool exists;
    if (it->result == APPEND_NO_MAILBOX || !it->maybe_missing || mailbox->imap->stream == NULL)
        return it->result == APPEND_NO_MAILBOX;
    return mailbox_folder_exists(mailbox->imap, it->name, &exists, &minor) && !exists;
}

/* Begins again once, if a missing mailbox could be created. If another delivery created it, the message may be stored
 * there, except after TRYCREATE. */
static bool append_again(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    if (it->step != APPEND_OVER || it->tried_again)
        return false;
    it->tried_again = true;
    if (!is_missing(mailbox))
        return false;
    enum mailbox_created created = mailbox_create(mailbox, it->name, it->append.home, &it->why);
    if (created >= CREATE_EXISTS)
        mailbox_subscribe(mailbox, it->name);
    if (created == CREATE_IMPOSSIBLE || (created == CREATE_ERROR && it->impossible && mailbox->imap->stream != NULL))
        it->result = APPEND_IMPOSSIBLE;
    bool again = created == CREATE_DONE ||
                 (created == CREATE_EXISTS && (it->result == APPEND_NO_MAILBOX || !it->after_literal));
    if (!again)
        return false;
    send_append(mailbox);
    return it->step == APPEND_BEGUN;
}

/* From the literal's first byte on, or the last one of an early literal, only the tagged response says what is
 * stored. */
static void send_literal(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    imap_stream_discard_unsent(mailbox->imap, true);
    if (it->append.wanted != NULL && !it->append.wanted(it->append.context)) {
        error_set(&it->why, "the message was no longer wanted when the IMAP server was ready for it");
        imap_stream_drop(mailbox->imap); /* the server waits for the literal or its end: nothing else cancels */
        end(mailbox, APPEND_NOT_SENT);
        return;
    }
    if (!imap_stream_connected(mailbox->imap)) { /* if '+' came long ago */
        error_set(&it->why, "%s: the server closed the connection before the message was sent",
                  mailbox->imap->peer_name);
        imap_stream_drop(mailbox->imap);
        end_unsent(mailbox);
        return;
    }
    it->step = APPEND_FED;
    mailbox->imap->step = "APPEND (the message may be stored)";
    imap_debug_sent_literal(&mailbox->imap->debug, it->append.pieces, it->append.piece_count);
    it->complete = send_up_to(mailbox, it->size, mailbox->imap->timeout);
    it->sent_ms = base_now_ms();
}

void mailbox_append_send(struct mailbox *mailbox, int64_t until_ms)
{
    if (mailbox->appending.step != APPEND_BEGUN)
        return;
    mailbox->imap->until_ms = until_ms;
    bool ready = ready_for_literal(mailbox);
    mailbox->imap->until_ms = 0;
    if (!ready)
        ready = append_again(mailbox) && ready_for_literal(mailbox);
    if (ready)
        send_literal(mailbox);
}

/* Waits for the tagged response; true: stored. */
static bool is_stored(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid)
{
    struct appending *it = &mailbox->appending;
    const struct imap_reply *reply = &mailbox->imap->reply;
    mailbox->imap->until_ms = it->sent_ms + mailbox->imap->timeout;
    bool replied = imap_finish(mailbox->imap, NULL, NULL, &it->why);
    mailbox->imap->until_ms = 0;
    if (!replied)
        return end(mailbox, APPEND_UNKNOWN);
    if (it->complete)
        imap_stream_discard_unsent(mailbox->imap, false);
    else
        imap_stream_drop(mailbox->imap);
    if (reply->status != STATUS_OK)
        return end_refused(mailbox, true);
    if (!it->complete) {
        error_set(&it->why, TOO_EARLY, mailbox->imap->peer_name, reply->data);
        return end(mailbox, APPEND_UNKNOWN);
    }
    uint32_t uidvalidity = 0, uid = 0;
    (void)!imap_reply_appenduid(reply, &uidvalidity, &uid);
    *ret_uidvalidity = uidvalidity;
    *ret_uid = uid;
    end(mailbox, APPEND_STORED);
    return true;
}

enum append_result mailbox_append(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                  struct error *error)
{
    struct appending *it = &mailbox->appending;
    do {
        mailbox_append_send(mailbox, base_now_ms() + mailbox->imap->timeout);
        if (it->step == APPEND_FED && is_stored(mailbox, ret_uidvalidity, ret_uid))
            return APPEND_STORED;
    } while (append_again(mailbox));
    *error = it->why;
    return it->result;
}
