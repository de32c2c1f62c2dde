/* SPDX-License-Identifier: ISC */
#include <stdlib.h>
#include <string.h>

#include "imap/imap.h"

#define BUDGET_PER_LINE 64 /* charged even for empty lines */

static bool fail_oversize(struct imap *imap, struct error *error)
{
    return imap_stream_fail(imap, error, "the response is larger than any that is expected");
}

/* For bytes that have arrived, not for what is merely announced. */
static void reserve(struct imap *imap, size_t more)
{
    size_t needed = imap->size + more + 1;
    if (needed <= imap->capacity)
        return;
    imap->capacity = needed < 2 * imap->capacity ? 2 * imap->capacity : needed;
    imap->bytes = base_realloc(imap->bytes, imap->capacity);
}

static bool keep_bytes(struct imap *imap, size_t n, struct error *error)
{
    if (imap->size > imap->response_max || n > imap->response_max - imap->size || n > imap->budget)
        return fail_oversize(imap, error);
    imap->budget -= n;
    reserve(imap, n);
    imap_stream_take(imap, imap->bytes + imap->size, n);
    imap->size += n;
    return true;
}

/* Appends a line without its end. */
static bool read_text_line(struct imap *imap, struct error *error)
{
    const char *arrived, *end = NULL;
    size_t length = 0, start = imap->size;
    if (imap->budget < BUDGET_PER_LINE)
        return fail_oversize(imap, error);
    imap->budget -= BUDGET_PER_LINE;
    while (end == NULL) {
        size_t n = imap_stream_wait(imap, &arrived, error);
        if (n == 0)
            return false;
        end = memchr(arrived, '\n', n);
        n = end != NULL ? (size_t)(end - arrived) + 1 : n;
        length += n;
        if (!keep_bytes(imap, n, error))
            return false;
    }
    imap->size--;
    if (length > 1 && imap->bytes[imap->size - 1] == '\r')
        imap->size--;
    imap->bytes[imap->size] = '\0';
    imap_debug_received(&imap->debug, imap->bytes, imap->bytes + start);
    return true;
}

static void add_two(struct imap *imap, const char *two)
{
    reserve(imap, 2);
    memcpy(imap->bytes + imap->size, two, 2);
    imap->size += 2;
}

static bool keep_literal(struct imap *imap, size_t literal, struct error *error)
{
    const char *arrived;
    add_two(imap, "\r\n");
    while (literal > 0) {
        size_t n = imap_stream_wait(imap, &arrived, error);
        n = n < literal ? n : literal;
        if (n == 0 || !keep_bytes(imap, n, error))
            return false;
        literal -= n;
    }
    return true;
}

/* Passes a literal to imap->body; an empty string replaces it in the response. */
static bool pass_literal(struct imap *imap, size_t literal, size_t start, struct error *error)
{
    char piece[8192];
    const char *arrived;
    if (literal > imap->body_budget)
        return imap_stream_fail(imap, error, "the server announces more than the 4 GiB that a message can have");
    imap->body_budget -= literal;
    imap->size = start;
    add_two(imap, "\"\"");
    imap->body(imap->body_context, NULL, 0);
    while (literal > 0) {
        size_t n = imap_stream_wait(imap, &arrived, error);
        if (n == 0)
            return false;
        n = n < literal ? n : literal;
        n = n < sizeof(piece) ? n : sizeof(piece);
        imap_stream_take(imap, piece, n);
        imap->body(imap->body_context, piece, n);
        literal -= n;
    }
    return true;
}

static bool read_literal(struct imap *imap, size_t literal, size_t start, struct error *error)
{
    if (start > 0 && imap->bytes[start - 1] == '~') /* literal8 (RFC 3516) */
        start--;
    imap_debug_received_literal(&imap->debug, literal);
    bool is_body = start > 1 && memcmp(imap->bytes + start - 2, "] ", 2) == 0;
    return is_body && imap->body != NULL ? pass_literal(imap, literal, start, error)
                                         : keep_literal(imap, literal, error);
}

static void record_capabilities(struct imap *imap, const char *text, size_t size)
{
    free(imap->capabilities);
    imap->capabilities = base_strndup(text, size);
}

static void record_session(struct imap *imap, const struct imap_reply *reply)
{
    if (reply->status == STATUS_BYE && imap->bye_text == NULL)
        imap->bye_text = base_strdup(reply->text);
    if (strcmp(reply->code, "CAPABILITY") == 0)
        record_capabilities(imap, reply->arguments, reply->arguments_size);
    else if (reply->kind == REPLY_UNTAGGED && strncasecmp(reply->data, "CAPABILITY ", 11) == 0)
        record_capabilities(imap, reply->data + 11, reply->data_size - 11);
}

bool imap_response_read(struct imap *imap, struct error *error)
{
    struct imap_reply reply;
    size_t literal, start;
    imap->reply = imap_reply_none();
    imap->size = 0;
    if (!read_text_line(imap, error))
        return false;
    imap_reply_parse(imap->bytes, imap->size, imap->tag, &reply);
    bool is_data = reply.kind == REPLY_UNTAGGED && reply.status == STATUS_NONE;
    size_t line = 0; /* where the last line begins */
    while (is_data && imap_token_literal(imap->bytes + line, imap->size - line, &literal, &start)) {
        if (!read_literal(imap, literal, line + start, error))
            return false;
        line = imap->size;
        if (!read_text_line(imap, error))
            return false;
    }
    imap_reply_parse(imap->bytes, imap->size, imap->tag, &imap->reply);
    record_session(imap, &imap->reply);
    return true;
}
