/* SPDX-License-Identifier: ISC
 *
 * Shared by the fuzz targets. A target is one file with libFuzzer's entry point; it checks the program's results with
 * its own oracle: a simple reference, or properties that must hold for every result.
 *
 * The last bytes of an input choose options and how the rest is cut into chunks, so any message, reply or configuration
 * file can be used as an input. */
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

/* Ends the process; libFuzzer or fuzz_driver.c then saves the input. */
#define FUZZ_CHECK(condition) \
    do { \
        if (!(condition)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort(); \
        } \
    } while (0)

struct fuzz_input {
    const uint8_t *bytes;
    size_t size; /* without the options removed from its end */
};

/* Removes an option from the end; 0 if nothing is left. */
static inline uint8_t fuzz_option(struct fuzz_input *input)
{
    return input->size > 0 ? input->bytes[--input->size] : 0;
}

/* How bytes are cut into chunks. */
struct fuzz_cuts {
    uint32_t state;
    uint32_t longest; /* 0: no cuts */
};

static inline struct fuzz_cuts fuzz_cuts(struct fuzz_input *input)
{
    uint8_t seed = fuzz_option(input);
    uint8_t longest = fuzz_option(input);

    return (struct fuzz_cuts){.state = seed + 1u, .longest = longest};
}

/* Size of the next chunk, at least 1 if anything is left. */
static inline size_t fuzz_cut(struct fuzz_cuts *cuts, size_t left)
{
    size_t size;

    cuts->state = cuts->state * 1664525u + 1013904223u;
    if (cuts->longest == 0)
        return left;
    size = 1 + (cuts->state >> 16) % cuts->longest;
    return size < left ? size : left;
}

/* A new string: the input with a NUL added; functions on strings ignore what follows a NUL in it. */
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
