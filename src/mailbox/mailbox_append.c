/* SPDX-License-Identifier: ISC
 *
 * APPEND (RFC 3501, 6.3.11). Its result says what is stored, what may be, and what certainly is not. */
#include "mailbox/mailbox_session.h"

#include <sys/socket.h>

/* With a linger time of 0, unsent data is discarded when the socket closes (or its process dies). */
static void set_linger(struct mailbox *mailbox, bool on)
{
    struct linger linger = {.l_onoff = on, .l_linger = 0};
    (void)setsockopt(mailstream_low_get_fd(mailstream_get_low(mailbox->stream)), SOL_SOCKET, SO_LINGER, &linger,
                     sizeof linger);
}

static bool send_append(struct mailbox *mailbox, const struct append *append, const char *name, struct fault *fault)
{
    size_t size = 0;
    char date[MAILBOX_DATE_SIZE];
    for (size_t i = 0; i < append->piece_count; i++)
        size += append->pieces[i].iov_len;
    mailbox_date(append->internal_date, true, date);
    return mailbox_dialogue_send(mailbox, "APPEND", fault, "APPEND %s %s\"%s\" {%zu}", name,
                                 append->seen ? "(\\Seen) " : "", date, size);
}

static enum append_result take_refusal(struct mailbox *mailbox, const struct append *append,
                                       const struct mailbox_reply *reply, bool literal_sent, struct fault *fault)
{
    fault_set(fault, "%s: APPEND to mailbox %s refused: %s", mailbox->where, append->mailbox, reply->data);
    return mailbox_refusal(reply, literal_sent);
}

/* Sends the command and waits until the server is ready for the literal. True: it answered '+'. */
static bool ready_for_literal(struct mailbox *mailbox, const struct append *append, const char *name,
                              enum append_result *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    *ret = APPEND_NOT_SENT;
    if (!send_append(mailbox, append, name, fault))
        return false;
    do {
        if (!mailbox_response_read(mailbox, &reply, fault))
            return false;
    } while (reply.kind == REPLY_UNTAGGED || reply.kind == REPLY_GARBAGE);
    if (reply.kind == REPLY_CONTINUE)
        return true;
    if (reply.status != STATUS_OK) {
        *ret = take_refusal(mailbox, append, &reply, false, fault);
        return false;
    }
    fault_set(fault, "%s: APPEND answered before it was sent: %s", mailbox->where, reply.data);
    mailbox_dialogue_drop(mailbox);
    return false;
}

/* From the first byte of the literal on, only the server's tagged answer says whether the message is stored. */
static enum append_result send_message(struct mailbox *mailbox, const struct append *append, uint32_t *ret_uidvalidity,
                                       uint32_t *ret_uid, struct fault *fault)
{
    struct mailbox_reply reply;
    mailbox->step = "APPEND (the message may be stored)";
    bool sent = mailbox_dialogue_literal(mailbox, append->pieces, append->piece_count);
    if (!mailbox_dialogue_finish(mailbox, NULL, NULL, &reply, fault))
        return APPEND_UNKNOWN;
    if (sent)
        set_linger(mailbox, false);
    else
        mailbox_dialogue_drop(mailbox);
    if (reply.status != STATUS_OK)
        return take_refusal(mailbox, append, &reply, true, fault);
    if (!sent) {
        fault_set(fault, "%s: APPEND answered before the message was sent: %s", mailbox->where, reply.data);
        return APPEND_UNKNOWN;
    }
    uint32_t uidvalidity = 0, uid = 0;
    (void)!mailbox_reply_appenduid(&reply, &uidvalidity, &uid);
    *ret_uidvalidity = uidvalidity;
    *ret_uid = uid;
    return APPEND_STORED;
}

static enum append_result append_once(struct mailbox *mailbox, const struct append *append, const char *name,
                                      uint32_t *ret_uidvalidity, uint32_t *ret_uid, struct fault *fault)
{
    enum append_result result;
    if (!ready_for_literal(mailbox, append, name, &result, fault))
        return result;
    set_linger(mailbox, true);
    if (append->wanted == NULL || append->wanted(append->context))
        return send_message(mailbox, append, ret_uidvalidity, ret_uid, fault);
    fault_set(fault, "the message was no longer wanted when the IMAP server was ready for it");
    mailbox_dialogue_drop(mailbox); /* the server waits for the literal: there is no other way to cancel */
    return APPEND_NOT_SENT;
}

enum append_result mailbox_append(struct mailbox *mailbox, const struct append *append, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault)
{
    char *name OD_CLEANUP(base_free) = mailbox_folder_name(mailbox, append->mailbox, fault);
    if (name == NULL)
        return APPEND_NOT_SENT;
    struct fault why;
    enum append_result result = append_once(mailbox, append, name, ret_uidvalidity, ret_uid, &why);
    if (result == APPEND_NO_MAILBOX && mailbox_folder_create(mailbox, name, &why))
        result = append_once(mailbox, append, name, ret_uidvalidity, ret_uid, &why);
    if (result != APPEND_STORED)
        *fault = why;
    return result;
}
