/* SPDX-License-Identifier: ISC
 *
 * What the fuzz targets share. A target is one file with libFuzzer's entry; whatever it gives to the program it judges
 * by an oracle of its own: a plain reference, or what must hold of every result.
 *
 * The last bytes of an input choose options and how the rest is cut into chunks, so that any message, reply or
 * configuration file is an input as it is. */
#ifndef ONCEDROP_FUZZ_H
#define ONCEDROP_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Ends the process; libFuzzer and fuzz_driver.c save the input then. */
#define FUZZ_CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

struct fuzz_input {
    const uint8_t *bytes;
    size_t size; /* without the options taken off its end */
};

/* Takes an option off the end; 0 when nothing is left. */
static inline uint8_t fuzz_option(struct fuzz_input *input)
{
    return input->size > 0 ? input->bytes[--input->size] : 0;
}

/* How bytes are cut into chunks. */
struct fuzz_cuts {
    uint32_t state;
    uint32_t longest; /* 0: not at all */
};

static inline struct fuzz_cuts fuzz_cuts(struct fuzz_input *input)
{
    uint8_t seed = fuzz_option(input);
    uint8_t longest = fuzz_option(input);

    return (struct fuzz_cuts){.state = seed + 1u, .longest = longest};
}

/* Size of the next chunk of what is left, at least 1 when something is. */
static inline size_t fuzz_cut(struct fuzz_cuts *cuts, size_t left)
{
    size_t size;

    cuts->state = cuts->state * 1664525u + 1013904223u;
    if (cuts->longest == 0)
        return left;
    size = 1 + (cuts->state >> 16) % cuts->longest;
    return size < left ? size : left;
}

/* A new string: the input with a NUL behind it; what follows a NUL in it is not seen by those who take strings. */
static inline char *fuzz_string(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);

    FUZZ_CHECK(text);
    if (size > 0)
        memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

#endif
