/* SPDX-License-Identifier: ISC
 *
 * Files of any bytes taken for an mbox: every byte is in exactly one message, or in what separates them; what begins like
 * an mbox is one or is refused; and quoting comes off as a reference takes it off, however the bytes are cut. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "replay/replay_mbox.h"

/* An empty line at most, then a line that begins with "From ", or has only "From". */
static bool is_separator(const char *bytes, size_t size)
{
    const char *end = bytes + size, *at = bytes;

    while (at < end && *at == '\r')
        at++;
    at = at < end && *at == '\n' ? at + 1 : bytes;
    if (end - at < 4 || memcmp(at, "From", 4) != 0 || !(end - at == 4 || strchr(" \r\n", at[4]) != NULL))
        return false;
    at = memchr(at, '\n', (size_t)(end - at));
    return at == NULL || at + 1 == end;
}

/* Empty lines and a byte order mark may stand before the first message's line. */
static bool is_beginning(const char *bytes, size_t size)
{
    while (size > 0 && strchr("\xef\xbb\xbf\r\n", *bytes) != NULL && *bytes != '\0') {
        bytes++;
        size--;
    }
    return is_separator(bytes, size);
}

static bool is_empty_line(const char *bytes, size_t size)
{
    while (size > 0 && *bytes == '\r') {
        bytes++;
        size--;
    }
    return size == 0 || (size == 1 && *bytes == '\n');
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

static void check_messages(const struct fuzz_input *input, const GArray *messages)
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
            FUZZ_CHECK(is_separator(bytes + at, (size_t)(message.offset - at)));
        at = message.offset + message.size;
        if ((size_t)at < input->size)
            FUZZ_CHECK(bytes[at] == '\r' || bytes[at] == '\n' || !ends_empty(bytes, message));
    }
    FUZZ_CHECK(is_empty_line(bytes + at, input->size - (size_t)at));
}

/* Takes a '>' off the lines that begin with some and "From ". */
static GString *reference_unquote(const struct fuzz_input *input, enum mbox_quoting quoting)
{
    const char *at = (const char *)input->bytes, *end = at + input->size;
    GString *out = g_string_new(NULL);

    while (at < end) {
        const char *lf = memchr(at, '\n', (size_t)(end - at)), *next = lf != NULL ? lf + 1 : end, *from = at;

        while (from < end && *from == '>')
            from++;
        if (end - from >= 5 && memcmp(from, "From ", 5) == 0)
            at += quoting == MBOX_PLAIN ? 0 : quoting == MBOX_RD ? from > at : from == at + 1;
        g_string_append_len(out, at, next - at);
        at = next;
    }
    return out;
}

static void check_unquote(const struct fuzz_input *input, struct fuzz_cuts cuts, enum mbox_quoting quoting)
{
    struct mbox_unquote unquote = {.quoting = quoting};
    GString *expected = reference_unquote(input, quoting), *out = g_string_new(NULL);

    for (size_t at = 0, size; at < input->size; at += size) {
        size = fuzz_cut(&cuts, input->size - at);
        mbox_unquote_feed(&unquote, (const char *)input->bytes + at, size, out);
    }
    mbox_unquote_end(&unquote, out);
    FUZZ_CHECK(g_string_equal(out, expected));
    g_string_free(expected, TRUE);
    g_string_free(out, TRUE);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static int fd = -1;
    struct fuzz_input input = {bytes, size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);
    GArray *messages = NULL;
    enum mbox_quoting quoting = MBOX_PLAIN;
    struct error error = {.text = ""};

    if (fd < 0)
        fd = memfd_create("oncedrop-fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(ftruncate(fd, 0) == 0 && pwrite(fd, bytes, input.size, 0) == (ssize_t)input.size);
    if (mbox_scan(fd, &messages, &quoting, &error)) {
        FUZZ_CHECK(messages != NULL || input.size < 5 || memcmp(bytes, "From ", 5) != 0);
        if (messages != NULL)
            check_messages(&input, messages);
    } else {
        FUZZ_CHECK(messages == NULL && error.text[0] != '\0');
    }
    g_clear_pointer(&messages, g_array_unref);
    check_unquote(&input, cuts, MBOX_O);
    check_unquote(&input, cuts, MBOX_RD);
    check_unquote(&input, cuts, quoting);
    return 0;
}
