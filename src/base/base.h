/* SPDX-License-Identifier: ISC
 *
 * What every part of oncedrop uses: attributes, cleanup functions, and the text of a fault. */
#ifndef ONCEDROP_BASE_H
#define ONCEDROP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OD_MUST __attribute__((warn_unused_result))
#define OD_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define OD_CLEANUP(function) __attribute__((cleanup(function)))

/* Cleanup functions for OD_CLEANUP; each resets its variable to NULL or -1. */
void base_free(void *pointer);        /* free(3) of what *pointer points to */
void base_free_secret(char **secret); /* the same for text, which is overwritten first */
void base_close(int *fd);             /* close(2) when *fd >= 0; keeps errno */

/* Memory. These never return NULL: out of memory, the process aborts, and Postfix defers the mail (it treats death by a
 * signal as EX_TEMPFAIL, pipe_command.c). */
void *base_alloc(size_t size) OD_MUST; /* zeroed */
void *base_realloc(void *old, size_t size) OD_MUST;
char *base_strdup(const char *text) OD_MUST; /* NULL gives NULL */
char *base_strndup(const char *text, size_t length) OD_MUST;
char *base_printf(const char *format, ...) OD_PRINTF(1, 2) OD_MUST;

/* Writes all the bytes, in as many calls as it takes; false with errno set. */
bool base_write(int fd, const void *bytes, size_t size) OD_MUST;

/* poll(2) until this moment by base_now_ms(), or for INT32_MAX milliseconds; goes on after a signal. */
struct pollfd;
int base_poll(struct pollfd *waited, size_t count, int64_t until_ms) OD_MUST;

/* Size of the process's data in bytes; 0 if the kernel does not report it. Limits are relative to it: under a sanitizer
 * it is terabytes. */
size_t base_data_size(void) OD_MUST;

/* Limits the process to this many bytes of data on top of its present size (RLIMIT_DATA). Sets the soft limit only, so
 * that a child may set its own. Best effort: our parent may have set a lower limit. */
void base_limit_memory(int64_t bytes);

/* Why something failed: one line for an administrator that names the cause and, where there is one, the remedy. Set
 * where the failure is detected, and reported once by the caller that answers for the delivery. */
struct fault {
    char text[512];
    char code[16]; /* SQLSTATE, or the engine's name of it, if the database reported the fault, else "" */
};

#define FAULT_REMEDY "; remedy, type: " /* what follows in a fault's text, up to its end, is a command */

/* Replaces the text and clears the code. Text that is too long is cut at a character boundary; control characters
 * become blanks. Always false: what a function that fails returns. */
bool fault_set(struct fault *fault, const char *format, ...) OD_PRINTF(2, 3);

/* Puts "prefix: " before the text. Always false. */
bool fault_prefix(struct fault *fault, const char *format, ...) OD_PRINTF(2, 3);

/* Monotonic clock in milliseconds, which keeps counting while the machine is suspended (CLOCK_BOOTTIME). */
int64_t base_now_ms(void) OD_MUST;

/* The wall clock of this host, in microseconds since 1970. */
int64_t base_wall_us(void) OD_MUST;

/* Identifies this boot of this machine: half of its boot_id (random(4)). 0: unknown, since /proc cannot be read. */
int64_t base_boot(void) OD_MUST;

/* A random number from the kernel; false with the fault set if it gives none. */
bool base_random(int64_t *ret, struct fault *fault) OD_MUST;

/* What to say if this program was started set-user-ID or set-group-ID: it must end, as its caller decides what it does.
 * Else NULL. */
const char *base_excess_rights(void) OD_MUST;

/* Writes n bytes in hexadecimal, and a NUL, to text[2 * n + 1]. */
void base_hex(const unsigned char *bytes, size_t n, char *text);

#endif
