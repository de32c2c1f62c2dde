/* SPDX-License-Identifier: ISC
 *
 * What the files of lmtp/ share, from the stream up. */
#ifndef ONCEDROP_LMTP_INTERNAL_H
#define ONCEDROP_LMTP_INTERNAL_H

#include <glib.h>
#include <stdatomic.h>

#include "lmtp/lmtp.h"
#include "message/message.h"
#include "route/route.h"

/* lmtp_stream.c
 * Reads lines and writes replies, over a socket or two pipes. Buffers replies until it has to wait, for pipelining (RFC
 * 2920). Times are by base_now_ms(). */

struct lmtp_stream;

/* After end_ms, writing does not wait. */
struct lmtp_stream *lmtp_stream_new(int in, int out, int64_t end_ms) OD_MUST;
void lmtp_stream_free(struct lmtp_stream **stream); /* leaves the descriptors open */

enum lmtp_read {
    LMTP_READ_OK,
    LMTP_READ_TOO_LONG, /* line skipped; also one with NUL */
    LMTP_READ_END,      /* or an error */
    LMTP_READ_TIMEOUT,
};

enum lmtp_wait {
    LMTP_WAIT_INPUT, /* or its end */
    LMTP_WAIT_EVENT, /* another descriptor is readable */
    LMTP_WAIT_TIMEOUT,
};

/* Waits for input, which comes first, or until another descriptor (-1: none) is readable. */
enum lmtp_wait lmtp_stream_wait(struct lmtp_stream *stream, int stop_fd, int others_fd, int64_t until_ms) OD_MUST;

/* Reads a line, without LF or CR LF. */
enum lmtp_read lmtp_stream_line(struct lmtp_stream *stream, char *line, size_t size, int64_t until_ms) OD_MUST;

/* Returns whether buffered input begins with this word, in any case. */
bool lmtp_stream_continues(const struct lmtp_stream *stream, const char *word) OD_MUST;

typedef void lmtp_feed(void *context, const void *bytes, size_t size);

/* Reads the message after DATA up to CR LF . CR LF and nothing else (RFC 5321, 4.1.1.4). Passes it to feed in pieces,
 * unstuffed. idle_ms: per wait. */
enum lmtp_read lmtp_stream_data(struct lmtp_stream *stream, int64_t idle_ms, int64_t until_ms, lmtp_feed *feed,
                                void *context) OD_MUST;

/* Passes exactly `size` bytes to feed. */
enum lmtp_read lmtp_stream_bytes(struct lmtp_stream *stream, size_t size, int64_t until_ms, lmtp_feed *feed,
                                 void *context) OD_MUST;

/* Adds a reply and CR LF; control characters become blanks. */
void lmtp_stream_reply(struct lmtp_stream *stream, const char *format, ...) OD_PRINTF(2, 3);

/* Sends buffered replies; false if the peer takes none. */
bool lmtp_stream_flush(struct lmtp_stream *stream);

/* lmtp_serve.c */

#define LMTP_RECIPIENTS_MAX 1000

struct lmtp_recipient {
    char *path;
    struct address address;
    char *original; /* ORCPT, or NULL */
};

struct lmtp_transaction {
    char *sender;       /* NULL before MAIL */
    GArray *recipients; /* of struct lmtp_recipient */
    char *queue_id;     /* XFORWARD IDENT, which precedes MAIL; or NULL */
};

/* The session. */
struct lmtp {
    const struct config *config;
    const struct lmtp_terms *terms;
    struct lmtp_cache *cache;
    struct lmtp_stream *stream;
    char host[256];
    int64_t end_ms;    /* base_now_ms() */
    uint64_t messages; /* received */
    int errors;
    int fd; /* of the connection, for input */
    bool greeted;
    bool expected; /* our reply to RSET, NOOP or XFORWARD invites a transaction */
    struct lmtp_transaction transaction;
};

/* lmtp_transaction.c
 * The envelope, from MAIL, RCPT and XFORWARD (RFC 2033, RFC 5321, 4.1.1). */

struct lmtp_transaction lmtp_transaction_new(void) OD_MUST;
void lmtp_transaction_clear(struct lmtp_transaction *transaction);

/* Clears it for the next message. */
void lmtp_transaction_reset(struct lmtp_transaction *transaction);

/* Handle a command, and reply. A refused command changes nothing. False: a client error, to be counted. */
bool lmtp_transaction_mail(struct lmtp *lmtp, const char *arguments) OD_MUST;

/* Refuses a recipient without an account, or during its login backoff, so that Postfix's address verification learns of
 * it. Not if the next command is pipelined (RFC 2920): the delivery may find the message stored. */
bool lmtp_transaction_rcpt(struct lmtp *lmtp, const char *arguments) OD_MUST;

void lmtp_transaction_xforward(struct lmtp *lmtp, const char *arguments);

/* lmtp_deliver.c
 * XDELIVER: `oncedrop deliver` hands over a delivery on the same host (src/front). LMTP's own commands would change
 * replies and some messages.
 *
 *    XDELIVER [NAME=xtext]...   SENDER, RECIPIENT, ORIGINAL, QUEUEID, LOGIN: of command line and environment;
 *                               SIZE: expected bytes; SINCE: base_now_ms() at the start
 *    BDAT n, n bytes            like RFC 3030, without a reply
 *    354 milliseconds           limit of the delivery after the final mark
 *    BDAT 0 LAST                the final mark: the message is complete
 *    250 STATUS D.S.N text      exit status and output of `deliver`
 *
 * The front pipelines all before the final mark, which waits for 354, the reply to XDELIVER. If the peer closes before
 * that mark, nothing is stored. */

/* arguments: after the verb. Afterwards the session is over. */
void lmtp_deliver(struct lmtp *lmtp, const char *arguments);

/* Reads the message after DATA, delivers it, and replies for each recipient. False: the session is over. */
bool lmtp_message_receive(struct lmtp *lmtp) OD_MUST;

/* Opens the database session unless it is open. */
bool lmtp_open_ledger(struct lmtp *lmtp, const char *queue_id, struct error *error) OD_MUST;

/* lmtp_command.c
 * Parses LMTP commands (RFC 2033, RFC 5321, 4.1). Strings returned are for free(3). */

enum lmtp_verb {
    LMTP_UNKNOWN,
    LMTP_LHLO,
    LMTP_MAIL,
    LMTP_RCPT,
    LMTP_DATA,
    LMTP_RSET,
    LMTP_NOOP,
    LMTP_QUIT,
    LMTP_VRFY,
    LMTP_XFORWARD,
    LMTP_XDELIVER,
    LMTP_XCONFIG,
    LMTP_HELO, /* SMTP's HELO and EHLO */
};

/* Returns the line's verb; *ret_arguments points past it and blanks. */
enum lmtp_verb lmtp_command_verb(const char *line, const char **ret_arguments) OD_MUST;

/* Parses "FROM:<path> parameters" or "TO:<path> parameters". keyword: with its colon, in any case. *ret_path: without
 * source route, the local part unquoted (like Postfix); "" for <>. *ret_parameters points past the path. False: syntax
 * error. */
bool lmtp_command_path(const char *arguments, const char *keyword, char **ret_path,
                       const char **ret_parameters) OD_MUST;

/* Removes the next "NAME" or "NAME=value" from *parameters; value: "" if absent. False: none left. */
bool lmtp_command_parameter(const char **parameters, char **ret_name, char **ret_value) OD_MUST;

/* Returns the address in ORCPT (RFC 3461, 4.2). NULL: not of type rfc822, which is no error. */
char *lmtp_command_orcpt(const char *value) OD_MUST;

/* Decodes xtext (RFC 3461, 4) in place; false if invalid. */
bool lmtp_command_xtext(char *text) OD_MUST;

/* lmtp_service_worker.c */

#define LMTP_WORKERS_MAX 300 /* of service.workers */

/* The workers' state, in shared memory. The parent clears a dead worker's. */
struct lmtp_service_load {
    size_t workers;
    _Atomic size_t admission_mutex; /* the number of its holder + 1; 0: free */
    struct {
        _Atomic bool busy;
        _Atomic int64_t uid; /* of an untrusted client, plus 1; 0: none */
    } worker[LMTP_WORKERS_MAX];
};

/* Clears the worker's state. */
void lmtp_service_leave(struct lmtp_service_load *load, size_t number);

/* Serves connections until stop_fd is readable, and finishes the transaction in flight. SIGTERM, and a delivery's
 * deadline, end the process with status 75. Precondition: a separate process.
 *
 * Trusted are root, our own user, the users in service.trusted_users, and TCP clients: TCP does not identify them, so
 * choosing it trusts all of this host and of service.allowed_networks. TCP clients from elsewhere are refused. Untrusted
 * clients deliver to their own account only, and get one connection per user, and half of the workers (of one worker,
 * that one); others get 421.
 *
 * listen_fd  non-blocking; workers may share it
 * number     index in `load` */
bool lmtp_service_worker(const struct config *config, int listen_fd, int stop_fd, struct lmtp_service_load *load,
                         size_t number, struct error *error) OD_MUST;

#endif
