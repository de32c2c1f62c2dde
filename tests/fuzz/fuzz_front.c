/* SPDX-License-Identifier: ISC
 *
 * The front reads what claims to be the service's replies, in pieces: lines as long as its buffer allows, and of these only
 * what Postfix understands. A regular expression and a table say what that is. */
#include "fuzz.h"

#include <fcntl.h>
#include <glib.h>
#include <unistd.h>

#include "front/front_internal.h"

#define PIPE_ROOM 60000

/* The status of EX_… in each class of RFC 3463. */
static bool is_status(const char *status, char class)
{
    static const char *const known[] = {"2 0", "4 75", "5 65", "5 67", "5 69"};
    for (size_t i = 0; i < G_N_ELEMENTS(known); i++)
        if (known[i][0] == class && atoi(known[i] + 2) == atoi(status))
            return true;
    return false;
}

static bool is_reply(const char *line, char **ret_text)
{
    static GRegex *form;
    g_autoptr(GMatchInfo) match = NULL;

    if (form == NULL)
        form = g_regex_new("^250 ([0-9]{1,3}) (([245])\\.[0-9]{1,3}\\.[0-9]{1,3} [^\\x00-\\x1f\\x7f]*)$",
                           G_REGEX_RAW | G_REGEX_DOLLAR_ENDONLY, 0, NULL);
    if (!g_regex_match(form, line, 0, &match))
        return false;
    g_autofree char *status = g_match_info_fetch(match, 1), *class = g_match_info_fetch(match, 3);
    *ret_text = g_match_info_fetch(match, 2);
    return is_status(status, class[0]);
}

static void check_line(const char *line)
{
    g_autofree char *wanted = NULL;
    const char *text = NULL;
    int64_t ms = -1;
    int status = -1;

    FUZZ_CHECK(strchr(line, '\n') == NULL && strlen(line) < FRONT_REPLY_MAX);
    FUZZ_CHECK(front_reply_codes(line, &status, &text) == is_reply(line, &wanted));
    FUZZ_CHECK(text == NULL || (strcmp(text, wanted) == 0 && status == atoi(line + 4)));
    if (front_reply_accepts(line, &ms))
        FUZZ_CHECK(strncmp(line, "354 ", 4) == 0 && ms >= 0 && strspn(line + 4, "0123456789") == strlen(line + 4));
}

/* Lines, in the order in which they come; what is longer than the buffer ends them. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    struct fuzz_cuts cuts = fuzz_cuts(&input);
    struct front_replies replies = {0};
    size_t at = 0, read = 0;
    int ends[2];
    char *line;

    FUZZ_CHECK(input.size < PIPE_ROOM && pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    replies.fd = ends[0];
    for (bool ended = false; !ended;) {
        enum front_line got = front_reply_read(&replies, base_now_ms(), -1, &line);
        size_t next = fuzz_cut(&cuts, input.size - at);

        if (got == FRONT_LINE_OK) {
            const uint8_t *end = memchr(input.bytes + read, '\n', input.size - read);
            size_t length = strlen(line);

            FUZZ_CHECK(end != NULL && memcmp(input.bytes + read, line, length) == 0);
            read = (size_t)(end + 1 - input.bytes);
            check_line(line);
        } else if (got == FRONT_LINE_NONE && at < input.size) {
            FUZZ_CHECK(write(ends[1], input.bytes + at, next) == (ssize_t)next);
            at += next;
        } else {
            FUZZ_CHECK(got == FRONT_LINE_END || got == FRONT_LINE_NONE);
            ended = true;
        }
    }
    if (at == input.size && input.size - read < FRONT_REPLY_MAX)
        FUZZ_CHECK(memchr(input.bytes + read, '\n', input.size - read) == NULL);
    close(ends[0]);
    close(ends[1]);
    return 0;
}
