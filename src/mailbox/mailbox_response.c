/* SPDX-License-Identifier: ISC
 *
 * Reads responses from the stream: lines and literals. Everything that the server can make us read is limited. */
#include "mailbox/mailbox_session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_PER_LINE 64 /* so that empty lines use up the budget, too */

/* Only for bytes that have arrived: no memory is reserved for what a server merely announces. */
static void reserve(struct mailbox *mailbox, size_t more)
{
    size_t needed = mailbox->size + more + 1;
    if (needed <= mailbox->capacity)
        return;
    mailbox->capacity = needed < 2 * mailbox->capacity ? 2 * mailbox->capacity : needed;
    mailbox->bytes = base_realloc(mailbox->bytes, mailbox->capacity);
}

/* Whether this many more bytes are allowed. */
static bool spend(struct mailbox *mailbox, size_t n, struct fault *fault)
{
    if (mailbox->size > mailbox->response_max || n > mailbox->response_max - mailbox->size || n > mailbox->budget)
        return mailbox_dialogue_give_up(mailbox, fault, "the server sends more than it should");
    mailbox->budget -= n;
    return true;
}

/* Makes sure that the stream's buffer is not empty. */
static bool fill(struct mailbox *mailbox, struct fault *fault)
{
    if (mailbox->stream->read_buffer_len > 0)
        return true;
    int64_t started = base_now_ms();
    mailbox_setup_patience(mailbox_dialogue_patience(mailbox));
    errno = 0; /* mailbox_dialogue_failed */
    ssize_t n = mailstream_feed_read_buffer(mailbox->stream);
    mailbox_setup_patience(mailbox->timeout);
    if (n > 0) {
        mailbox->until_ms = 0; /* it speaks */
        return true;
    }
    mailbox->ended = n == 0;
    return n == 0 ? mailbox_dialogue_give_up(mailbox, fault, "the server closed the connection")
                  : mailbox_dialogue_failed(mailbox, started, fault);
}

/* Takes bytes from the stream's buffer. */
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
        return mailbox_dialogue_give_up(mailbox, fault, "the server sends more than it should");
    mailbox->budget -= BUDGET_PER_LINE;
    while (end == NULL) {
        if (!fill(mailbox, fault))
            return false;
        end = memchr(mailbox->stream->read_buffer, '\n', mailbox->stream->read_buffer_len);
        size_t n = end != NULL ? (size_t)(end - mailbox->stream->read_buffer) + 1 : mailbox->stream->read_buffer_len;
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

/* Passes a literal on; in the response its announcement is replaced by an empty string. */
static bool pass_literal(struct mailbox *mailbox, size_t literal, size_t start, struct fault *fault)
{
    char piece[8192];
    if (literal > mailbox->body_budget)
        return mailbox_dialogue_give_up(mailbox, fault, "the server announces more than a message can have");
    mailbox->body_budget -= literal;
    mailbox->size = start;
    add_two(mailbox, "\"\"");
    mailbox->body(mailbox->body_context, NULL, 0);
    while (literal > 0) {
        if (!fill(mailbox, fault))
            return false;
        size_t n = mailbox->stream->read_buffer_len < literal ? mailbox->stream->read_buffer_len : literal;
        n = n < sizeof(piece) ? n : sizeof(piece);
        mailstream_read(mailbox->stream, piece, n);
        mailbox->body(mailbox->body_context, piece, n);
        literal -= n;
    }
    return true;
}

/* Reads the literal announced at `start`. */
static bool read_literal(struct mailbox *mailbox, size_t literal, size_t start, struct fault *fault)
{
    if (start > 0 && mailbox->bytes[start - 1] == '~') /* literal8, RFC 3516 */
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

/* Evaluates what concerns the session, whatever the command. */
static void note_session(struct mailbox *mailbox, const struct mailbox_reply *reply)
{
    if (reply->status == STATUS_BYE && mailbox->farewell == NULL)
        mailbox->farewell = base_strdup(reply->text);
    if (strcmp(reply->code, "CAPABILITY") == 0)
        note_capabilities(mailbox, reply->arguments, reply->arguments_size);
    else if (reply->kind == REPLY_UNTAGGED && strncasecmp(reply->data, "CAPABILITY ", 11) == 0)
        note_capabilities(mailbox, reply->data + 11, reply->data_size - 11);
}

bool mailbox_response_read(struct mailbox *mailbox, struct mailbox_reply *ret, struct fault *fault)
{
    struct mailbox_reply reply;
    size_t literal, start;
    *ret = mailbox_reply_none();
    mailbox->size = 0;
    if (!mailbox_dialogue_connected(mailbox, fault) || !read_line(mailbox, fault))
        return false;
    mailbox_reply_parse(mailbox->bytes, mailbox->size, mailbox->tag, &reply);
    bool is_data = reply.kind == REPLY_UNTAGGED && reply.status == STATUS_NONE;
    size_t line = 0; /* where the last line begins */
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
