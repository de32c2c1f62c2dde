/* SPDX-License-Identifier: ISC
 *
 * Commands out, responses in, with a bound on everything the server can make us read. */
#include "mailbox/mailbox_session.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET ((size_t) 16 * 1024 * 1024)
#define BUDGET_PER_LINE 64      /* so that empty lines use it up, too */

void mailbox_dialogue_drop(struct mailbox *mailbox)
{
    if (mailbox->stream != NULL)
        mailstream_close(mailbox->stream);
    mailbox->stream = NULL;
}

/* Always false. */
static bool give_up(struct mailbox *mailbox, struct fault *fault, const char *why)
{
    if (mailbox->farewell != NULL)
        fault_set(fault, "%s: %s: %s; it said: BYE %.200s", mailbox->where, mailbox->step, why, mailbox->farewell);
    else
        fault_set(fault, "%s: %s: %s", mailbox->where, mailbox->step, why);
    mailbox_dialogue_drop(mailbox);
    return false;
}

static bool connected(struct mailbox *mailbox, struct fault *fault)
{
    return mailbox->stream != NULL || give_up(mailbox, fault, "the connection was lost before");
}

/* What a failed read or write was; libetpan does not tell, but it leaves errno alone when time ran out. */
static bool stream_failed(struct mailbox *mailbox, int64_t started, struct fault *fault)
{
    int error = errno;
    char why[96];
    if (base_now_ms() - started >= mailbox->timeout)
        snprintf(why, sizeof why, "no answer within %lld s", (long long) (mailbox->timeout + 999) / 1000);
    else if (error != 0 && error != EAGAIN)
        snprintf(why, sizeof why, "connection lost: %s", strerror(error));
    else
        snprintf(why, sizeof why, "connection lost");
    return give_up(mailbox, fault, why);
}

/* Only for bytes that have come: what a server announces is not worth memory. */
static void reserve(struct mailbox *mailbox, size_t more)
{
    size_t needed = mailbox->size + more + 1;
    if (needed <= mailbox->capacity)
        return;
    mailbox->capacity = needed < 2 * mailbox->capacity ? 2 * mailbox->capacity : needed;
    mailbox->bytes = base_realloc(mailbox->bytes, mailbox->capacity);
}

/* Whether so many bytes more are allowed. */
static bool spend(struct mailbox *mailbox, size_t n, struct fault *fault)
{
    if (mailbox->size > mailbox->response_max || n > mailbox->response_max - mailbox->size || n > mailbox->budget)
        return give_up(mailbox, fault, "the server says more than it should");
    mailbox->budget -= n;
    return true;
}

/* Sees to it that the stream's buffer has something. */
static bool fill(struct mailbox *mailbox, struct fault *fault)
{
    if (mailbox->stream->read_buffer_len > 0)
        return true;
    int64_t started = base_now_ms();
    errno = 0;
    ssize_t n = mailstream_feed_read_buffer(mailbox->stream);
    if (n > 0)
        return true;
    return n == 0 ? give_up(mailbox, fault, "the server closed the connection")
                  : stream_failed(mailbox, started, fault);
}

/* Takes bytes that are in the stream's buffer. */
static void take_buffered(struct mailbox *mailbox, size_t n)
{
    reserve(mailbox, n);
    mailstream_read(mailbox->stream, mailbox->bytes + mailbox->size, n);
    mailbox->size += n;
}

/* Adds one line, without its end, to the response. */
static bool read_line(struct mailbox *mailbox, struct fault *fault)
{
    const char *end = NULL;
    size_t length = 0;
    if (mailbox->budget < BUDGET_PER_LINE)
        return give_up(mailbox, fault, "the server says more than it should");
    mailbox->budget -= BUDGET_PER_LINE;
    while (end == NULL) {
        if (!fill(mailbox, fault))
            return false;
        end = memchr(mailbox->stream->read_buffer, '\n', mailbox->stream->read_buffer_len);
        size_t n = end != NULL ? (size_t) (end - mailbox->stream->read_buffer) + 1 : mailbox->stream->read_buffer_len;
        length += n;
        if (!spend(mailbox, n, fault))
            return false;
        take_buffered(mailbox, n);
    }
    mailbox->size--;
    if (length > 1 && mailbox->bytes[mailbox->size - 1] == '\r')
        mailbox->size--;
    mailbox->bytes[mailbox->size] = '\0';
    return true;
}

static void add_two(struct mailbox *mailbox, const char *two)
{
    reserve(mailbox, 2);
    memcpy(mailbox->bytes + mailbox->size, two, 2);
    mailbox->size += 2;
}

/* Reads a literal into the response. */
static bool keep_literal(struct mailbox *mailbox, size_t literal, struct fault *fault)
{
    add_two(mailbox, "\r\n");
    while (literal > 0) {
        if (!fill(mailbox, fault))
            return false;
        size_t n = mailbox->stream->read_buffer_len < literal ? mailbox->stream->read_buffer_len : literal;
        if (!spend(mailbox, n, fault))
            return false;
        take_buffered(mailbox, n);
        literal -= n;
    }
    return true;
}

/* Passes a literal on; what was its announcement becomes an empty string. */
static bool pass_literal(struct mailbox *mailbox, size_t literal, size_t start, struct fault *fault)
{
    char piece[8192];
    if (literal > mailbox->body_budget)
        return give_up(mailbox, fault, "the server announces more than a message can have");
    mailbox->body_budget -= literal;
    mailbox->size = start;
    add_two(mailbox, "\"\"");
    mailbox->body(mailbox->body_context, NULL, 0);
    while (literal > 0) {
        if (!fill(mailbox, fault))
            return false;
        size_t n = mailbox->stream->read_buffer_len < literal ? mailbox->stream->read_buffer_len : literal;
        n = n < sizeof piece ? n : sizeof piece;
        mailstream_read(mailbox->stream, piece, n);
        mailbox->body(mailbox->body_context, piece, n);
        literal -= n;
    }
    return true;
}

/* Reads the literal announced at `start`. */
static bool read_literal(struct mailbox *mailbox, size_t literal, size_t start, struct fault *fault)
{
    if (start > 0 && mailbox->bytes[start - 1] == '~')     /* literal8, RFC 3516 */
        start--;
    bool is_body = start > 1 && memcmp(mailbox->bytes + start - 2, "] ", 2) == 0;
    return is_body && mailbox->body != NULL ? pass_literal(mailbox, literal, start, fault)
                                            : keep_literal(mailbox, literal, fault);
}

static void note_capabilities(struct mailbox *mailbox, const char *text, size_t size)
{
    free(mailbox->capabilities);
    mailbox->capabilities = base_strndup(text, size);
}

/* What concerns the session whatever the command. */
static void note_session(struct mailbox *mailbox, const struct mailbox_reply *reply)
{
    if (reply->status == STATUS_BYE && mailbox->farewell == NULL)
        mailbox->farewell = base_strdup(reply->text);
    if (strcmp(reply->code, "CAPABILITY") == 0)
        note_capabilities(mailbox, reply->arguments, reply->arguments_size);
    else if (reply->kind == REPLY_UNTAGGED && strncasecmp(reply->data, "CAPABILITY ", 11) == 0)
        note_capabilities(mailbox, reply->data + 11, reply->data_size - 11);
}

bool mailbox_dialogue_read(struct mailbox *mailbox, struct mailbox_reply *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    size_t literal, start;
    mailbox->size = 0;
    if (!connected(mailbox, fault) || !read_line(mailbox, fault))
        return false;
    mailbox_reply_parse(mailbox->bytes, mailbox->size, mailbox->tag, &reply);
    bool is_data = reply.kind == REPLY_UNTAGGED && reply.status == STATUS_NONE;
    size_t line = 0;    /* where the line read last begins */
    while (is_data && mailbox_reply_literal(mailbox->bytes + line, mailbox->size - line, &literal, &start)) {
        if (!read_literal(mailbox, literal, line + start, fault))
            return false;
        line = mailbox->size;
        if (!read_line(mailbox, fault))
            return false;
    }
    mailbox_reply_parse(mailbox->bytes, mailbox->size, mailbox->tag, &reply);
    note_session(mailbox, &reply);
    *ret = reply;
    return true;
}

static bool put(struct mailbox *mailbox, const void *bytes, size_t size)
{
    return mailstream_write(mailbox->stream, bytes, size) == (ssize_t) size;
}

bool mailbox_dialogue_line(struct mailbox *mailbox, const char *text, struct fault *fault)
{
    if (!connected(mailbox, fault))
        return false;
    int64_t started = base_now_ms();
    errno = 0;
    bool sent = put(mailbox, text, strlen(text)) && put(mailbox, "\r\n", 2) && mailstream_flush(mailbox->stream) == 0;
    return sent || stream_failed(mailbox, started, fault);
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
    OD_CLEANUP(base_free) char *command = NULL;
    mailbox->step = step;
    mailbox->budget = BUDGET;
    mailbox->body_budget = UINT32_MAX;  /* RFC 3501, 9: a literal's size is a number */
    if (vasprintf(&command, format, arguments) < 0)
        abort();
    snprintf(mailbox->tag, sizeof mailbox->tag, "A%u", ++mailbox->tag_number);
    OD_CLEANUP(base_free) char *line = base_printf("%s %s", mailbox->tag, command);
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
    for (;;) {
        if (!mailbox_dialogue_read(mailbox, &reply, fault))
            return false;
        if (reply.kind == REPLY_TAGGED)
            break;
        if (reply.kind == REPLY_UNTAGGED && untagged != NULL)
            untagged(context, &reply);
    }
    *ret = reply;
    return true;
}

bool mailbox_dialogue_ask(struct mailbox *mailbox, const char *step, mailbox_untagged *untagged, void *context,
                          struct mailbox_reply *ret, struct fault *fault, const char *format, ...)
{
    va_list arguments;
    *ret = (struct mailbox_reply){ .status = STATUS_NONE };
    va_start(arguments, format);
    bool sent = send_command(mailbox, step, fault, format, arguments);
    va_end(arguments);
    if (!sent || !mailbox_dialogue_finish(mailbox, untagged, context, ret, fault))
        return false;
    if (ret->status == STATUS_OK)
        return true;
    fault_set(fault, "%s: %s refused: %s", mailbox->where, step, ret->data);
    return false;
}

bool mailbox_dialogue_capabilities(struct mailbox *mailbox, struct fault *fault)
{
    struct mailbox_reply reply;
    if (mailbox->capabilities == NULL
        && !mailbox_dialogue_ask(mailbox, "CAPABILITY", NULL, NULL, &reply, fault, "CAPABILITY"))
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
        if ((unsigned char) *p < 0x20 || *p == 0x7f) {
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
