/* SPDX-License-Identifier: ISC */
#include <string.h>

#include "mailbox/mailbox_internal.h"

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
    it->fed = literal_sent;
    it->impossible = mailbox_refusal_is_permanent(reply);
    return end(mailbox, mailbox_refusal(reply, literal_sent));
}

static void send_append(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    char date[IMAP_DATE_SIZE];
    size_t size = 0;
    for (size_t i = 0; i < it->append.piece_count; i++)
        size += it->append.pieces[i].iov_len;
    imap_date(it->append.internal_date, true, date);
    it->step = APPEND_BEGUN;
    if (!imap_send(mailbox->imap, &it->why, "APPEND %s %s\"%s\" {%zu}", it->name, it->append.seen ? "(\\Seen) " : "",
                   date, size))
        end_unsent(mailbox);
}

void mailbox_append_begin(struct mailbox *mailbox, const struct append *append)
{
    struct appending *it = &mailbox->appending;
    base_free(&it->name);
    *it = (struct appending){.append = *append};
    it->name = mailbox_folder_name(mailbox, append->mailbox, &it->why);
    if (it->name == NULL)
        end_unsent(mailbox);
    else
        send_append(mailbox);
}

/* True: '+' came. */
static bool ready_for_literal(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    const struct imap_reply *reply = &mailbox->imap->reply;
    do {
        if (!imap_response_read(mailbox->imap, &it->why))
            return end_unsent(mailbox);
    } while (reply->kind == REPLY_UNTAGGED || reply->kind == REPLY_GARBAGE);
    if (reply->kind == REPLY_CONTINUE)
        return true;
    if (reply->status != STATUS_OK)
        return end_refused(mailbox, false);
    error_set(&it->why, "%s: APPEND answered before it was sent: %s", mailbox->imap->peer_name, reply->data);
    imap_stream_drop(mailbox->imap);
    return end(mailbox, APPEND_NOT_SENT);
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
    bool again = created == CREATE_DONE || (created == CREATE_EXISTS && (it->result == APPEND_NO_MAILBOX || !it->fed));
    if (!again)
        return false;
    send_append(mailbox);
    return it->step == APPEND_BEGUN;
}

/* From the literal's first byte on, only the tagged response says what is stored. */
static void send_literal(struct mailbox *mailbox)
{
    struct appending *it = &mailbox->appending;
    imap_stream_discard_unsent(mailbox->imap, true);
    if (it->append.wanted != NULL && !it->append.wanted(it->append.context)) {
        error_set(&it->why, "the message was no longer wanted when the IMAP server was ready for it");
        imap_stream_drop(mailbox->imap); /* the server waits for the literal: nothing else cancels */
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
    it->complete = imap_stream_write(mailbox->imap, it->append.pieces, it->append.piece_count);
    it->fed_ms = base_now_ms();
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
    mailbox->imap->until_ms = it->fed_ms + mailbox->imap->timeout;
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
        error_set(&it->why, "%s: APPEND answered before the message was sent: %s", mailbox->imap->peer_name,
                  reply->data);
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
