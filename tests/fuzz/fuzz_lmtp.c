/* SPDX-License-Identifier: ISC
 *
 * LMTP's lines and messages against a reference that has all bytes at once, however they are cut into reads; and the words
 * of its commands. The descriptors are none: read(2) and poll(2) are replaced at link time. */
#include "fuzz.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <unistd.h>

#include "lmtp/lmtp_internal.h"

#define PEER 1000000 /* the descriptor that stands for the peer */
#define LINE_SIZE 256

static struct fuzz_input peer;
static struct fuzz_cuts peer_cuts;

ssize_t __real_read(int fd, void *buffer, size_t size);
ssize_t __wrap_read(int fd, void *buffer, size_t size);
int __real_poll(struct pollfd *fds, nfds_t count, int timeout);
int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout);

ssize_t __wrap_read(int fd, void *buffer, size_t size)
{
    size_t n;

    if (fd != PEER)
        return __real_read(fd, buffer, size);
    n = fuzz_cut(&peer_cuts, peer.size < size ? peer.size : size);
    if (n > 0)
        memcpy(buffer, peer.bytes, n);
    peer.bytes += n;
    peer.size -= n;
    return (ssize_t)n;
}

int __wrap_poll(struct pollfd *fds, nfds_t count, int timeout)
{
    return count == 1 && fds->fd == PEER ? 1 : __real_poll(fds, count, timeout);
}

/* The message at the beginning of the bytes, its dots unstuffed, into *out; returns what it takes with its end, 0 when
 * there is none. */
static size_t reference_data(const char *bytes, size_t size, GString *out)
{
    bool line_start = true;

    for (size_t at = 0; at < size; at++) {
        if (line_start && size - at >= 3 && memcmp(bytes + at, ".\r\n", 3) == 0)
            return at + 3;
        if (!line_start || bytes[at] != '.')
            g_string_append_c(out, bytes[at]);
        line_start = at > 0 && bytes[at] == '\n' && bytes[at - 1] == '\r';
    }
    return 0;
}

static void take(void *context, const void *bytes, size_t size)
{
    g_string_append_len(context, bytes, (gssize)size);
}

/* Returns what of the bytes was read; all at the end of input. */
static size_t check_data(struct lmtp_stream *stream, const char *bytes, size_t size)
{
    GString *expected = g_string_new(NULL), *got = g_string_new(NULL);
    size_t used = reference_data(bytes, size, expected);
    enum lmtp_read result = lmtp_stream_data(stream, 1000000, INT64_MAX, take, got);

    FUZZ_CHECK(result == (used > 0 ? LMTP_READ_OK : LMTP_READ_END));
    if (used > 0)
        FUZZ_CHECK(g_string_equal(got, expected));
    else /* a CR or a dot may be held back, since it could have begun the end */
        FUZZ_CHECK(got->len <= expected->len && memcmp(got->str, expected->str, got->len) == 0);
    g_string_free(expected, TRUE);
    g_string_free(got, TRUE);
    return used > 0 ? used : size;
}

static void check_xtext(const char *text)
{
    GString *encoded = g_string_new(NULL);
    char *any OD_CLEANUP(base_free) = base_strdup(text);
    size_t pluses = 0;

    for (const char *at = text; *at; at++) {
        if (*at > ' ' && *at <= '~' && *at != '+' && *at != '=')
            g_string_append_c(encoded, *at);
        else
            g_string_append_printf(encoded, "+%02X", (unsigned)(unsigned char)*at);
    }
    FUZZ_CHECK(lmtp_command_xtext(encoded->str) && strcmp(encoded->str, text) == 0);
    g_string_free(encoded, TRUE);
    for (const char *at = text; *at; at++)
        pluses += *at == '+';
    if (lmtp_command_xtext(any)) /* nothing of it becomes a NUL */
        FUZZ_CHECK(strlen(any) == strlen(text) - 2 * pluses);
}

/* Parameters put together again are what was given, except its blanks. */
static void check_parameters(const char *parameters)
{
    GString *joined = g_string_new(NULL);
    char *name, *value;

    for (const char *at = parameters; lmtp_command_parameter(&at, &name, &value);) {
        FUZZ_CHECK(strpbrk(name, " =") == NULL && strchr(value, ' ') == NULL);
        g_string_append(joined, name);
        g_string_append(joined, value);
        check_xtext(value);
        base_free(&name);
        base_free(&value);
    }
    for (const char *at = joined->str; *parameters; parameters++) {
        bool same = *at == *parameters;

        FUZZ_CHECK(same || *parameters == ' ' || *parameters == '=');
        at += same;
        FUZZ_CHECK(parameters[1] != '\0' || *at == '\0');
    }
    g_string_free(joined, TRUE);
}

static void check_path(const char *arguments, const char *keyword)
{
    char *path OD_CLEANUP(base_free) = NULL;
    const char *parameters = NULL, *open;

    if (!lmtp_command_path(arguments, keyword, &path, &parameters)) {
        FUZZ_CHECK(path == NULL && parameters == NULL);
        return;
    }
    open = strchr(arguments, '<');
    FUZZ_CHECK(open != NULL && parameters > open && parameters[-1] == '>' &&
               (*parameters == '\0' || *parameters == ' '));
    FUZZ_CHECK(strlen(path) <= (size_t)(parameters - open - 2));
    if (memchr(open, '"', (size_t)(parameters - open)) == NULL && open[1] != '@')
        FUZZ_CHECK(strlen(path) == (size_t)(parameters - open - 2) && memcmp(path, open + 1, strlen(path)) == 0);
    check_parameters(parameters);
}

/* Returns the bytes of the line; `line` has it as it was read. */
static size_t check_line(struct lmtp_stream *stream, const char *bytes, size_t size, char line[LINE_SIZE])
{
    const char *lf = size > 0 ? memchr(bytes, '\n', size) : NULL;
    enum lmtp_read result = lmtp_stream_line(stream, line, LINE_SIZE, INT64_MAX);
    size_t length = lf != NULL ? (size_t)(lf - bytes) : 0;
    bool fits = length < LINE_SIZE && (length == 0 || memchr(bytes, '\0', length) == NULL);

    FUZZ_CHECK(result == (lf == NULL ? LMTP_READ_END : fits ? LMTP_READ_OK : LMTP_READ_TOO_LONG));
    if (result == LMTP_READ_OK) {
        size_t shown = length > 0 && bytes[length - 1] == '\r' ? length - 1 : length;

        FUZZ_CHECK(strlen(line) == shown && (shown == 0 || memcmp(line, bytes, shown) == 0));
    } else {
        line[0] = '\0';
    }
    return lf != NULL ? length + 1 : size;
}

int LLVMFuzzerTestOneInput(const uint8_t *input_bytes, size_t input_size)
{
    struct fuzz_input input = {input_bytes, input_size};
    const char *bytes = (const char *)input_bytes, *arguments;
    struct lmtp_stream *stream = lmtp_stream_new(PEER, -1, INT64_MAX);
    char line[LINE_SIZE] = "";

    peer_cuts = fuzz_cuts(&input);
    peer = input;
    for (size_t at = 0; at < input.size;) {
        at += check_line(stream, bytes + at, input.size - at, line);
        switch (lmtp_command_verb(line, &arguments)) {
        case LMTP_MAIL:
            check_path(arguments, "FROM:");
            break;
        case LMTP_RCPT:
            check_path(arguments, "TO:");
            break;
        case LMTP_XFORWARD:
            check_parameters(arguments);
            break;
        case LMTP_DATA:
            at += check_data(stream, bytes + at, input.size - at);
            break;
        default:
            break;
        }
    }
    lmtp_stream_free(&stream);
    return 0;
}
