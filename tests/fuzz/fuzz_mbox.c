/* SPDX-License-Identifier: ISC
 *
 * Files of any bytes taken for an mbox: every byte is in exactly one message, or in what separates them; what begins like
 * an mbox is one or is rejected; without Content-Length, no line of a message begins with "From "; and quoting comes off as
 * a reference takes it off, however the bytes are cut. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "replay/replay.h"

static const char *skip_line_end(const char *at, const char *end)
{
    const char *behind = at;

    while (behind < end && *behind == '\r')
        behind++;
    return behind < end && *behind == '\n' ? behind + 1 : at;
}

/* An empty line at most (mboxcl2: two line ends), then a line that begins with "From ". */
static bool is_separator(const char *bytes, size_t size, enum mbox_dialect dialect)
{
    const char *end = bytes + size, *at = skip_line_end(bytes, end);

    if (dialect == MBOX_CL2)
        at = skip_line_end(at, end);
    if (end - at < 5 || memcmp(at, "From ", 5) != 0)
        return false;
    at = memchr(at, '\n', (size_t)(end - at));
    return at != NULL && at + 1 == end;
}

/* Empty lines and a byte order mark may stand before the first message's line. */
static bool is_beginning(const char *bytes, size_t size)
{
    while (size > 0 && strchr("\xef\xbb\xbf\r\n", *bytes) != NULL && *bytes != '\0') {
        bytes++;
        size--;
    }
    return is_separator(bytes, size, MBOX_RD);
}

/* Returns true for what may follow the last message. */
static bool is_end(const char *bytes, size_t size, enum mbox_dialect dialect)
{
    const char *end = bytes + size;

    if (dialect == MBOX_CL2)
        return skip_line_end(skip_line_end(bytes, end), end) == end;
    while (bytes < end && *bytes == '\r')
        bytes++;
    return end - bytes == 0 || (end - bytes == 1 && *bytes == '\n');
}

static bool has_from_line(const char *bytes, size_t size)
{
    for (const char *at = bytes, *end = bytes + size; at != NULL && at < end;
         at = memchr(at, '\n', (size_t)(end - at))) {
        at += at > bytes;
        if (end - at >= 5 && memcmp(at, "From ", 5) == 0)
            return true;
    }
    return false;
}

/* Whether the message's last line is an empty one, which belongs to the separator. */
static bool ends_empty(const char *bytes, struct mbox_message message)
{
    const char *start = bytes + message.offset, *end = start + message.size;

    if (end == start || end[-1] != '\n')
        return false;
    for (end--; end > start && end[-1] == '\r'; end--)
        ;
    return end > start && end[-1] == '\n';
}

static void check_messages(const struct fuzz_input *input, const GArray *messages, enum mbox_dialect dialect)
{
    const char *bytes = (const char *)input->bytes;
    int64_t at = 0;

    for (guint i = 0; i < messages->len; i++) {
        struct mbox_message message = g_array_index(messages, struct mbox_message, i);

        FUZZ_CHECK(message.offset >= at && message.size >= 0);
        FUZZ_CHECK(message.size <= (int64_t)input->size && message.offset <= (int64_t)input->size - message.size);
        FUZZ_CHECK(message.from_time >= 0);
        if (i == 0)
            FUZZ_CHECK(is_beginning(bytes, (size_t)message.offset));
        else
            FUZZ_CHECK(is_separator(bytes + at, (size_t)(message.offset - at), dialect));
        at = message.offset + message.size;
        if (dialect == MBOX_CL2)
            continue;
        FUZZ_CHECK(!has_from_line(bytes + message.offset, (size_t)message.size));
        if ((size_t)at < input->size)
            FUZZ_CHECK(bytes[at] == '\r' || bytes[at] == '\n' || !ends_empty(bytes, message));
    }
    FUZZ_CHECK(is_end(bytes + at, input->size - (size_t)at, dialect));
}

/* Takes a '>' off the lines that begin with some and "From ". */
static GString *reference_unquote(const struct fuzz_input *input, enum mbox_dialect dialect)
{
    const char *at = (const char *)input->bytes, *end = at + input->size;
    GString *out = g_string_new(NULL);

    while (at < end) {
        const char *lf = memchr(at, '\n', (size_t)(end - at)), *next = lf != NULL ? lf + 1 : end, *from = at;

        while (from < end && *from == '>')
            from++;
        if (end - from >= 5 && memcmp(from, "From ", 5) == 0)
            at += dialect == MBOX_CL2 ? 0 : dialect == MBOX_RD ? from > at : from == at + 1;
        g_string_append_len(out, at, next - at);
        at = next;
    }
    return out;
}

static void check_unquote(const struct fuzz_input *input, struct fuzz_cuts cuts, enum mbox_dialect dialect)
{
    struct mbox_unquote unquote = {.dialect = dialect};
    GString *expected = reference_unquote(input, dialect), *out = g_string_new(NULL);

    for (size_t at = 0, size; at < input->size; at += size) {
        size = fuzz_cut(&cuts, input->size - at);
        mbox_unquote_feed(&unquote, (const char *)input->bytes + at, size, out);
    }
    mbox_unquote_end(&unquote, out);
    FUZZ_CHECK(g_string_equal(out, expected));
    g_string_free(expected, TRUE);
    g_string_free(out, TRUE);
}

static void check_dialect(const struct fuzz_input *input, int fd, enum mbox_dialect dialect)
{
    GArray *messages = NULL;
    struct error error = {.text = ""};

    if (mbox_scan(fd, dialect, &messages, &error)) {
        FUZZ_CHECK(messages != NULL || input->size < 5 || memcmp(input->bytes, "From ", 5) != 0);
        if (messages != NULL)
            check_messages(input, messages, dialect);
    } else {
        FUZZ_CHECK(messages == NULL && error.text[0] != '\0');
    }
    g_clear_pointer(&messages, g_array_unref);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    struct fuzz_input input = {bytes, size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);

    if (fd < 0)
        fd = memfd_create("oncedrop-fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, input.size, 0) == (ssize_t)input.size);
    for (int dialect = MBOX_RD; dialect <= MBOX_CL2; dialect++) {
        check_dialect(&input, fd, (enum mbox_dialect)dialect);
        check_unquote(&input, cuts, (enum mbox_dialect)dialect);
    }
    return 0;
}
