/* SPDX-License-Identifier: ISC
 *
 * What every part of oncedrop shares: attributes, cleanup, and the text of a fault. */
#ifndef ONCEDROP_BASE_H
#define ONCEDROP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OD_MUST __attribute__((warn_unused_result))
#define OD_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define OD_CLEANUP(function) __attribute__((cleanup(function)))

/* Cleanup functions for OD_CLEANUP; each leaves its variable NULL or -1. */
void base_free(void *pointer); /* free(3) of what *pointer points to */
void base_close(int *fd);      /* close(2) when *fd >= 0; keeps errno */

/* Memory: never NULL; without memory the process aborts, which defers the mail
 * (a death by signal is EX_TEMPFAIL to Postfix, pipe_command.c). */
void *base_alloc(size_t size) OD_MUST; /* zeroed */
void *base_realloc(void *old, size_t size) OD_MUST;
char *base_strdup(const char *text) OD_MUST; /* NULL gives NULL */
char *base_strndup(const char *text, size_t length) OD_MUST;
char *base_printf(const char *format, ...) OD_PRINTF(1, 2) OD_MUST;

/* Bytes of data that the process has; 0 when the kernel does not tell. Limits are counted from there: with a sanitizer it
 * is terabytes. */
size_t base_data_size(void) OD_MUST;

/* From now on the process may have at most so many bytes of data more than it has (RLIMIT_DATA). Only the soft limit: a
 * child may set its own. Best effort: who started us may have set less. */
void base_limit_memory(int64_t bytes);

/* Why something did not work: one line for an administrator that names the cause and, where there is one,
 * the remedy. Written by whoever detects the fault, read once by whoever answers for the delivery. */
struct fault {
    char text[512];
    char code[8]; /* the database's own (SQLSTATE), where it is its fault; "": none */
};

/* Replaces the text, cut at a character boundary when too long, control characters made blanks; there is no code. */
void fault_set(struct fault *fault, const char *format, ...) OD_PRINTF(2, 3);

/* Puts "prefix: " before the text. */
void fault_prefix(struct fault *fault, const char *format, ...) OD_PRINTF(2, 3);

/* Monotonic milliseconds that go on while the machine sleeps (CLOCK_BOOTTIME). */
int64_t base_now_ms(void) OD_MUST;

/* True for a program started set-user-ID or set-group-ID (AT_SECURE, getauxval(3)). */
bool base_is_privileged(void) OD_MUST;

/* Writes n bytes in hexadecimal, and a NUL, to text[2 * n + 1]. */
void base_hex(const unsigned char *bytes, size_t n, char *text);

#endif
