/* SPDX-License-Identifier: ISC
 *
 * For the tests of message/: messages from bytes, and the usual headers. */
#ifndef ONCEDROP_MESSAGE_FIXTURE_H
#define ONCEDROP_MESSAGE_FIXTURE_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../message_bytes.h"
#include "message/message.h"

/* A string literal that may contain NULs, and its size. */
#define BYTES(literal) (literal), sizeof(literal) - 1

#define COUNT(array) (sizeof(array) / sizeof *(array))

static inline struct message *message_of(const void *bytes, size_t size)
{
    struct message *message = NULL;
    struct error error = {.text = ""};

    if (message_from_bytes(bytes, size, 0, &message, &error) != MESSAGE_OK)
        fail_msg("no message: %s", error.text);
    return message;
}

/* Feeds a comparison, and frees it. */
static inline bool is_same(struct message_comparison *comparison, const void *bytes, size_t size)
{
    message_comparison_feed(comparison, bytes, size);
    bool same = message_comparison_end(comparison) == MESSAGE_SAME;
    message_comparison_free(&comparison);
    return same;
}

/* `before`, `count` times `unit`, `after`: input that exposes non-linear algorithms. */
static inline char *repeated(const char *before, const char *unit, size_t count, const char *after, size_t *ret_size)
{
    size_t head = strlen(before), step = strlen(unit), tail = strlen(after);
    char *bytes = base_alloc(head + count * step + tail + 1);

    memcpy(bytes, before, head);
    for (size_t i = 0; i < count; i++)
        memcpy(bytes + head + i * step, unit, step);
    memcpy(bytes + head + count * step, after, tail);
    *ret_size = head + count * step + tail;
    return bytes;
}

/* Pseudo-random numbers, the same every time (xorshift). */
static inline unsigned next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (unsigned)(*state >> 32);
}

/* How often a test tries something random: `all` times if ONCEDROP_ROUNDS=all, as in make check-all, else a tenth. */
static inline int rounds(int all)
{
    const char *asked = getenv("ONCEDROP_ROUNDS");

    return asked != NULL && strcmp(asked, "all") == 0 ? all : all / 10;
}

/* Quadratic algorithms are ended by a signal. */
static inline void must_end_soon(void)
{
    signal(SIGALRM, SIG_DFL);
    alarm(1800);
}

#endif
