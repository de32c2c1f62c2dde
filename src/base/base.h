/* SPDX-License-Identifier: ISC */
#ifndef ONCEDROP_BASE_H
#define ONCEDROP_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* base.c */

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

/* Returns "ended with status 1", for example; valid until the next call. */
const char *base_status_text(int status) OD_MUST;

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

/* sha256.c
 * SHA-256 by nettle: five times as fast as GLib. */

#define SHA256_SIZE 32

/* May be copied, and needs no freeing. */
struct sha256 {
    uint64_t state[16]; /* only nettle reads it */
};

void sha256_begin(struct sha256 *sha256);
void sha256_feed(struct sha256 *sha256, const void *bytes, size_t size);

/* Nothing can be fed afterwards. */
void sha256_end(struct sha256 *sha256, unsigned char ret[SHA256_SIZE]);

/* same_mailbox.c */

/* Returns true if two names may be the same mailbox: \Sent and any, or names that differ in namespace prefix,
 * separator, case or Unicode normal form. INBOX has no other name. Only the server knows: a guess affects order and
 * searches, but never says that a copy is stored. */
bool same_mailbox_possible(const char *a, const char *b) OD_MUST;

/* counter.c */

/* Adds to a counter in a file shared by processes. Best effort: waits some milliseconds, reports no failure. Creates
 * the file, except as root, whose file others could not write. Never changes a file that is no counter. */
void counter_add(const char *path, size_t count);

/* Reads the counter; 0 without a file. Returns false if it is unreadable, or no counter. */
bool counter_read(const char *path, int64_t *ret) OD_MUST;

/* descriptor.c */

/* Needed at the same time. */
struct descriptors {
    size_t count; /* at most DESCRIPTORS_MAX */
    int below;    /* limit of their numbers, exclusive */
};

#define DESCRIPTORS_MAX 16

/* Returns true if these can be opened now. Call it before libraries that do not report EMFILE, or cannot use high
 * numbers. */
bool descriptors_available(struct descriptors wanted, struct error *error) OD_MUST;

/* spawn.c */

struct spawn_channels {
    int in, out, err; /* out, err: -1: inherited */
    bool group;       /* its own process group */
};

/* Starts a command, found by PATH, with default signals and no other descriptor. words, environment: NULL-terminated.
 * Returns 0 or an errno. */
int spawn_command(char **words, char **environment, struct spawn_channels channels, pid_t *ret_child) OD_MUST;

/* Lets the signal end this process when its parent ends (PR_SET_PDEATHSIG, prctl(2)). False: it has, or errno. */
bool spawn_end_with(pid_t parent, int signal) OD_MUST;

/* tempfile.c */

/* Returns an unlinked file in TMPDIR (default /tmp), or -1 with errno set. Ignores SIGXFSZ: beyond a file size limit
 * write(2) fails with EFBIG. */
int tempfile_open(void) OD_MUST;

/* Like tempfile_open, in memory (memfd_create(2)). */
int tempfile_memory(void) OD_MUST;

/* Sets the error, with a hint; returns false. what: "make a", "write the". */
bool tempfile_error(struct error *error, const char *what, int errnum);

/* secret_file.c
 * Files with secrets. One that others can access is refused. */

/* Returns the content of a regular file, at most `limit` bytes, as a new string; or NULL. */
char *secret_file_read(const char *path, size_t limit, size_t *ret_size, struct error *error) OD_MUST;

#define SECRET_FILE_MAX ((size_t)65536)

/* Returns the first line of content (`size` bytes and NUL), for base_free_secret. NULL: empty, or contains NUL.
 * `where` begins the error. */
char *secret_file_first_line(const char *where, const char *content, size_t size, struct error *error) OD_MUST;

/* Returns a file's first line, by these rules. */
char *secret_file_line(const char *path, struct error *error) OD_MUST;

/* output.c
 * Our reply to Postfix: one line, written once, before all else. With pipe(8) and local(8), stdout and stderr are
 * one pipe, whose first text decides what happens to the mail. */

/* Keeps stdout for the reply; points descriptors 1 and 2 to /dev/null against output of libraries. Returns a
 * descriptor for the log; -1: stderr is the same pipe or socket. Without this call replies go to descriptor 1. */
int output_open(void) OD_MUST;

/* Writes the reply, with its line end, unless one was written. */
void output_write_reply(const char *line, size_t length, int exit_status);

/* Defers with this line, unless a reply was written; ends the process with that reply's exit status.
 * Async-signal-safe. */
_Noreturn void output_exit(const char *line, size_t length);

/* Returns true if stdout is a pipe that the peer closed: Postfix stopped, and our input may be incomplete. */
bool output_peer_closed(void) OD_MUST;

#define OUTPUT_CUT "Postfix has gone away: the message may be cut short"

/* Returns true if a standard descriptor is a terminal: never for a delivery agent. */
bool output_is_typed(void) OD_MUST;

/* Returns a descriptor on which poll(2) reports POLLERR when the peer closes; -1: stdout is no pipe. */
int output_pipe(void) OD_MUST;

/* deadline.c
 * The deadline: a timer signal ends the process, even in a blocking call. */

/* Installs the handler for SIGALRM (the deadline), SIGTERM, SIGINT, SIGHUP, SIGXCPU and SIGBUS (a mapped file was
 * truncated or is unreadable), and unblocks them. SIGHUP and SIGINT stay ignored if they were (nohup(1)); SIGPIPE is
 * ignored. The handler must be async-signal-safe (signal-safety(7)) and not return; meanwhile the other signals are
 * blocked. */
void deadline_install(void (*end)(int signal));

#define DEADLINE_OVER "the deadline is over (delivery.deadline)"
#define DEADLINE_SIGNAL "ended by a signal"
#define DEADLINE_BUS "a file was cut, or could not be read, while it was in use (SIGBUS)"

/* Sets a child's process group, killed before the handler runs; 0: none. Block signals from before fork(2) until
 * this returns; set 0 after waitpid(2). */
void deadline_set_group(pid_t processes);

/* Restarts the timer: the process ends in `ms` milliseconds (CLOCK_BOOTTIME). On false the caller must not go on. A
 * child of fork(2) must arm its own. */
bool deadline_arm(int64_t ms, struct error *error) OD_MUST;

/* Returns milliseconds, at least 0; INT64_MAX: not armed. */
int64_t deadline_left_ms(void) OD_MUST;

void deadline_disarm(void);

/* privilege.c */

/* Changes root to this user for good, with the primary group only, like Postfix. Does nothing for other callers, "",
 * and unknown users. Keeps PR_SET_PDEATHSIG. reads_all: keep the right to read any file, for `replay`, which checks
 * itself what it may read. On false the process must end: the change may be incomplete. */
bool privilege_become(const char *user, bool reads_all, struct error *error) OD_MUST;

bool privilege_would_change(const char *user) OD_MUST;

/* Like privilege_become, but an unknown user is an error. */
bool privilege_must_become(const char *user, bool reads_all, struct error *error) OD_MUST;

/* Clears the environment except these (NULL-terminated), and resets PATH. A variable of libpq, SASL or GLib could send
 * our password to a server of the caller's choice. */
void privilege_clear_environment(const char *const *keep);

/* module.c
 * Parts with separate libraries, loaded on demand. They call the functions in modules.symbols. */

enum module {
    MODULE_PROGRAM,
    MODULE_TLS,
    MODULE_DECODE,
    MODULE_ENGINE, /* then as enum config_engine */
    MODULES = MODULE_ENGINE + 3,
};

/* Loads a module from module_path(). Refuses one of another build, truncated, or writable by others. Returns its object,
 * or NULL. Children inherit it: load it before giving up the right to read it, and before an upgrade. */
const void *module_load(enum module module, struct error *error) OD_MUST;

/* Returns a new string: versions of a module's libraries, or the error of module_load(). NULL: it is not installed. */
char *module_libraries(enum module module) OD_MUST;

/* Returns a new string: the file's path in the program's directory, in ../libexec/oncedrop, else where `make install`
 * puts it. If one is unusable, no other replaces it. */
char *module_path(const char *file) OD_MUST;

/* Returns the running program's path as a new string; NULL: unknown. */
char *module_program(void) OD_MUST;

/* elf_file.c
 * Detects truncated programs and libraries: once mapped, they cause SIGBUS or SIGSEGV. Nothing here allocates
 * memory. */

/* Returns true if the file is ELF (elf(5)) of this word size, with all mapped segments. On false errno is ENOEXEC,
 * or why it is unreadable. */
bool elf_file_is_complete(const char *path);

/* network.c
 * CIDR networks (RFC 4632, RFC 4291). IPv4-mapped addresses (::ffff:192.0.2.1), as from dual-stack sockets, count as
 * IPv4. */

struct sockaddr;
struct network {
    unsigned char address[16]; /* IPv4 is mapped */
    unsigned bits;             /* prefix length */
};

/* Parses ADDRESS/BITS or ADDRESS. Returns false, with *ret untouched, also if bits after the prefix are set
 * (192.0.2.1/24). */
bool network_parse(const char *text, struct network *ret) OD_MUST;

/* Returns true if a network of the list, with blanks or commas between, contains the address (AF_INET, AF_INET6).
 * Skips what network_parse refuses. */
bool network_list_contains(const char *list, const struct sockaddr *address) OD_MUST;

/* Returns true for loopback and AF_UNIX. */
bool network_is_loopback(const struct sockaddr *address) OD_MUST;

/* Returns true for the text of a loopback address; false for names, "localhost" too. */
bool network_is_loopback_text(const char *address) OD_MUST;

/* Returns the first entry that network_parse refuses, as a new string, or NULL. */
char *network_list_wrong(const char *list) OD_MUST;

#endif
