/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_BASE_H
#define ONCEDROP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OD_MUST __attribute__((warn_unused_result))
#define OD_PRINTF(string, first) __attribute__((format(printf, string, first)))
#define OD_CLEANUP(function) __attribute__((cleanup(function)))

/* For OD_CLEANUP; each resets its variable to NULL or -1. */
void base_free(void *pointer);        /* pointer: address of a pointer of any type */
void base_free_secret(char **secret); /* overwrites the text first */
void base_close(int *fd);             /* keeps errno */

/* Memory; never NULL. If it runs out, the process aborts, and Postfix defers: death by a signal is EX_TEMPFAIL
 * (pipe_command.c). */
void *base_alloc(size_t size) OD_MUST; /* zeroed */
void *base_realloc(void *old, size_t size) OD_MUST;
char *base_strdup(const char *text) OD_MUST; /* NULL for NULL */
char *base_strndup(const char *text, size_t length) OD_MUST;
char *base_strip_brackets(const char *text) OD_MUST; /* without enclosing <> */
char *base_printf(const char *format, ...) OD_PRINTF(1, 2) OD_MUST;

/* Writes all bytes, in several calls if necessary. On false errno is set. */
bool base_write(int fd, const void *bytes, size_t size) OD_MUST;

/* Calls poll(2) until until_ms (base_now_ms), at most INT32_MAX ms; repeats after EINTR. */
struct pollfd;
int base_poll(struct pollfd *waited, size_t count, int64_t until_ms) OD_MUST;

/* Waits until a child ends. Returns its status (waitpid(2)); without such a child, that of a killed one. */
int base_wait(pid_t child) OD_MUST;

/* Kills a child, and waits for it; sets *child to 0. Returns its status, which is its own if it had ended. */
int base_kill(pid_t *child);

/* Returns the process's data in bytes; 0: unknown. Limits are relative to it: under a sanitizer it is terabytes. */
size_t base_data_size(void) OD_MUST;

/* Limits RLIMIT_DATA to the present size plus `bytes`, or less if the parent set less. Soft limit only: a child may
 * set its own. */
void base_limit_memory(int64_t bytes);

/* An error for the administrator: one line, with cause and hint. A function with this parameter sets it when it
 * fails. Only the caller that reports the delivery's outcome logs it. */
struct error {
    char text[512];
    char code[16]; /* SQLSTATE or the engine's own, or of mailbox.h; "": none */
};

#define ERROR_HINT "; to fix it, run: " /* a command follows, up to the end of the text */

/* Replaces the text and clears the code; returns false. Control characters become blanks; long text is truncated
 * between characters. */
bool error_set(struct error *error, const char *format, ...) OD_PRINTF(2, 3);

/* Puts "prefix: " before the text; returns false. */
bool error_prefix(struct error *error, const char *format, ...) OD_PRINTF(2, 3);

/* Returns CLOCK_BOOTTIME in milliseconds: monotonic, including suspended time. */
int64_t base_now_ms(void) OD_MUST;

/* Returns the wall clock: microseconds since 1970. */
int64_t base_wall_us(void) OD_MUST;

/* Identifies this boot: half of boot_id (random(4)). 0: unknown. */
int64_t base_boot(void) OD_MUST;

bool base_random(int64_t *ret, struct error *error) OD_MUST;

/* Returns an error text if the program runs set-user-ID or set-group-ID, else NULL. The program must end then: its
 * caller controls what it does. */
const char *base_excess_rights(void) OD_MUST;

/* Writes n bytes in hexadecimal, and NUL, to text[2 * n + 1]. */
void base_hex(const unsigned char *bytes, size_t n, char *text);

/* Reads n bytes. Returns false, without a change, if the text is not 2n hexadecimal digits. */
bool base_unhex(const char *text, unsigned char *bytes, size_t n) OD_MUST;

#endif
