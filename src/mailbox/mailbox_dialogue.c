/* SPDX-License-Identifier: ISC
 *
 * Commands: each is sent, and answered by responses up to its tagged one. Also closes connections that cannot go on. */
#include "mailbox/mailbox_session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET ((size_t)16 * 1024 * 1024)

void mailbox_dialogue_drop(struct mailbox *mailbox)
{
    if (mailbox->stream != NULL)
        mailstream_close(mailbox->stream);
    mailbox->stream = NULL;
}

bool mailbox_dialogue_give_up(struct mailbox *mailbox, struct fault *fault, const char *why)
{
    if (mailbox->farewell != NULL)
        fault_set(fault, "%s: %s: %s; it said: BYE %.200s", mailbox->where, mailbox->step, why, mailbox->farewell);
    else
        fault_set(fault, "%s: %s: %s", mailbox->where, mailbox->step, why);
    mailbox_dialogue_drop(mailbox);
    return false;
}

bool mailbox_dialogue_connected(struct mailbox *mailbox, struct fault *fault)
{
    return mailbox->stream != NULL || mailbox_dialogue_give_up(mailbox, fault, "the connection was lost earlier");
}

/* What has arrived is read even if the time is over. */
int64_t mailbox_dialogue_patience(const struct mailbox *mailbox)
{
    int64_t left = mailbox->until_ms != 0 ? mailbox->until_ms - base_now_ms() : mailbox->timeout;
    return left < 1 ? 1 : left < mailbox->timeout ? left : mailbox->timeout;
}

/* libetpan does not report the cause, but leaves errno alone after a timeout. */
bool mailbox_dialogue_failed(struct mailbox *mailbox, int64_t started, struct fault *fault)
{
    int error = errno;
    char why[96];
    bool late = base_now_ms() - started >= mailbox->timeout ||
                (mailbox->until_ms != 0 && base_now_ms() >= mailbox->until_ms);
    if (late)
        snprintf(why, sizeof(why), "no answer within %lld s", (long long)(mailbox->timeout + 999) / 1000);
    else if (error != 0 && error != EAGAIN)
        snprintf(why, sizeof(why), "connection lost: %s", strerror(error));
    else
        snprintf(why, sizeof(why), "connection lost");
    mailbox->ended = mailbox->stream != NULL && !late;
    return mailbox_dialogue_give_up(mailbox, fault, why);
}

static bool put(struct mailbox *mailbox, const void *bytes, size_t size)
{
    return mailstream_write(mailbox->stream, bytes, size) == (ssize_t)size;
}

bool mailbox_dialogue_line(struct mailbox *mailbox, const char *text, struct fault *fault)
{
    if (!mailbox_dialogue_connected(mailbox, fault))
        return false;
    int64_t started = base_now_ms();
    errno = 0;
    bool sent = put(mailbox, text, strlen(text)) && put(mailbox, "\r\n", 2) && mailstream_flush(mailbox->stream) == 0;
    return sent || mailbox_dialogue_failed(mailbox, started, fault);
}

bool mailbox_dialogue_literal(struct mailbox *mailbox, const struct iovec *pieces, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!put(mailbox, pieces[i].iov_base, pieces[i].iov_len))
            return false;
    }
    return put(mailbox, "\r\n", 2) && mailstream_flush(mailbox->stream) == 0;
}

OD_PRINTF(4, 0)
static bool send_command(struct mailbox *mailbox, const char *step, struct fault *fault, const char *format,
                         va_list arguments)
{
    char *command OD_CLEANUP(base_free) = NULL;
    mailbox->step = step;
    mailbox->responses = 0;
    mailbox->budget = BUDGET;
    mailbox->body_budget = UINT32_MAX; /* RFC 3501, 9: the size of a literal is a number */
    if (vasprintf(&command, format, arguments) < 0)
        abort();
    snprintf(mailbox->tag, sizeof(mailbox->tag), "A%u", ++mailbox->tag_number);
    char *line OD_CLEANUP(base_free) = base_printf("%s %s", mailbox->tag, command);
    bool sent = mailbox_dialogue_line(mailbox, line, fault);
    explicit_bzero(command, strlen(command));
    explicit_bzero(line, strlen(line));
    return sent;
}

bool mailbox_dialogue_send(struct mailbox *mailbox, const char *step, struct fault *fault, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    bool sent = send_command(mailbox, step, fault, format, arguments);
    va_end(arguments);
    return sent;
}

bool mailbox_dialogue_finish(struct mailbox *mailbox, mailbox_untagged *untagged, void *context,
                             struct mailbox_reply *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    *ret = mailbox_reply_none();
    for (;;) {
        if (!mailbox_response_read(mailbox, &reply, fault))
            return false;
        mailbox->responses++;
        if (reply.kind == REPLY_TAGGED)
            break;
        if (reply.kind == REPLY_UNTAGGED && untagged != NULL)
            untagged(context, &reply);
    }
    *ret = reply;
    return true;
}

bool mailbox_dialogue_take(struct mailbox *mailbox, mailbox_untagged *untagged, void *context,
                           struct mailbox_reply *ret, struct fault *fault)
{
    if (!mailbox_dialogue_finish(mailbox, untagged, context, ret, fault))
        return false;
    if (ret->status == STATUS_OK)
        return true;
    fault_set(fault, "%s: %s refused: %s", mailbox->where, mailbox->step, ret->data);
    return false;
}

bool mailbox_dialogue_ask(struct mailbox *mailbox, const char *step, mailbox_untagged *untagged, void *context,
                          struct mailbox_reply *ret, struct fault *fault, const char *format, ...)
{
    va_list arguments;
    *ret = mailbox_reply_none();
    va_start(arguments, format);
    bool sent = send_command(mailbox, step, fault, format, arguments);
    va_end(arguments);
    return sent && mailbox_dialogue_take(mailbox, untagged, context, ret, fault);
}

bool mailbox_dialogue_capabilities(struct mailbox *mailbox, struct fault *fault)
{
    struct mailbox_reply reply;
    if (mailbox->capabilities == NULL &&
        !mailbox_dialogue_ask(mailbox, "CAPABILITY", NULL, NULL, &reply, fault, "CAPABILITY"))
        return false;
    if (mailbox->capabilities == NULL)
        fault_set(fault, "%s: CAPABILITY was answered without a capability", mailbox->where);
    return mailbox->capabilities != NULL;
}

bool mailbox_dialogue_can(const struct mailbox *mailbox, const char *capability)
{
    return mailbox->capabilities != NULL && mailbox_reply_has_word(mailbox->capabilities, capability);
}

char *mailbox_dialogue_quote(const char *text)
{
    char *quoted = base_alloc(2 * strlen(text) + 3);
    char *out = quoted;
    *out++ = '"';
    for (const char *p = text; *p != '\0'; p++) {
        if ((unsigned char)*p < 0x20 || *p == 0x7f) {
            free(quoted);
            return NULL;
        }
        if (*p == '"' || *p == '\\')
            *out++ = '\\';
        *out++ = *p;
    }
    *out = '"';
    return quoted;
}
