/* SPDX-License-Identifier: ISC
 *
 * IMAP (RFC 3501): a connection, commands and responses. */
#ifndef ONCEDROP_IMAP_H
#define ONCEDROP_IMAP_H

#include "base/base.h"
#include "base/config.h"
#include "imap/imap_internal.h"
#include "imap/imap_tls.h"

/* imap_stream.c
 * A connection to an IMAP server: socket, buffers, and TLS (imap_tls.h). */

/* Receives a literal BODY[...] in pieces, first with size 0. In the response "" replaces it. */
typedef void imap_body(void *context, const void *bytes, size_t size);

struct imap {
    struct imap_stream *stream; /* NULL: unconnected, lost or closed */
    char *peer_name;            /* "IMAP server mail.example.org:993": begins every error */
    int64_t timeout;            /* per read and write, ms */
    int64_t until_ms;           /* when the next response must begin (base_now_ms); 0: `timeout` */
    int64_t heard_ms;           /* when the server last sent something */
    pid_t child;                /* imap.command; 0: none */
    unsigned tag_number;        /* of the current command */
    char tag[16];
    char command[16];        /* its name */
    const char *step;        /* the command or another step, for errors */
    struct imap_reply reply; /* the last, valid until the next read */
    char *capabilities;      /* NULL: unknown, as after TLS or login */
    char *bye_text;          /* text of the server's BYE */
    struct imap_certificate certificate;
    bool logged_in;         /* by PREAUTH of imap.command */
    bool ready;             /* to log in: greeted, and with TLS if wanted */
    bool refused;           /* the login, by a response or by closing */
    bool too_many_sessions; /* login refused, as with too many sessions */
    bool ended;             /* the server closed */
    char *bytes;            /* of the last response, NUL-terminated */
    size_t size;
    size_t capacity;
    size_t response_max; /* of one response, with literals */
    imap_body *body;     /* may be NULL */
    void *body_context;
    size_t responses; /* to the current command */
    struct imap_debug debug;
    size_t budget;      /* bytes that it may still receive, */
    size_t body_budget; /* and that `body` may */
};

#define IMAP_RESPONSE_MAX ((size_t)128 * 1024)

/* Returns the TLS module, linked to this program or loaded; NULL with the error set. */
const struct imap_tls_module *imap_stream_load_tls(struct error *error) OD_MUST;

/* Takes ownership of a connected, non-blocking socket. */
void imap_stream_open(struct imap *imap, int fd);

/* Starts TLS and verifies the certificate: imap->certificate. After a failure the stream may only be closed. */
bool imap_stream_secure(struct imap *imap, const struct config *config, struct error *error) OD_MUST;

/* Returns whether received bytes are buffered. */
bool imap_stream_unread(const struct imap *imap) OD_MUST;

/* Like imap_stream_unread(), with what has arrived by now. */
bool imap_stream_arrived(struct imap *imap) OD_MUST;

/* Returns false once the peer has closed, as far as the kernel knows. */
bool imap_stream_connected(const struct imap *imap) OD_MUST;

/* Sets whether unsent bytes are discarded on close or death (SO_LINGER of 0). */
void imap_stream_discard_unsent(struct imap *imap, bool on);

/* Sends the bytes of the pieces from *sent up to `end`, and adds to *sent. ms: per write; 0: only what the socket takes
 * at once. False: incomplete; the connection stays open, since the server may have sent the reason. Then nothing more
 * can be sent, unless ms was 0. */
bool imap_stream_send(struct imap *imap, const struct iovec *pieces, size_t count, size_t *sent, size_t end,
                      int64_t ms) OD_MUST;

/* Sends the text and CRLF. A failure closes the connection. */
bool imap_stream_line(struct imap *imap, const char *text, struct error *error) OD_MUST;

/* Waits for bytes, until imap->until_ms or the timeout. Returns their number, and *ret points to them. 0: connection
 * lost, and closed. */
size_t imap_stream_wait(struct imap *imap, const char **ret, struct error *error) OD_MUST;

/* Consumes n of these. */
void imap_stream_take(struct imap *imap, void *to, size_t n);

/* Closes without sending anything. */
void imap_stream_drop(struct imap *imap);

/* Closes, and sets the error. Always false. */
bool imap_stream_fail(struct imap *imap, struct error *error, const char *why);

/* imap_response.c: reads one response: imap->reply. */
bool imap_response_read(struct imap *imap, struct error *error) OD_MUST;

/* imap.c
 * A connection to an IMAP server (RFC 3501). A function that fails sets *error, and closes an unusable connection. */

/* imap_setup.c: returns an unconnected one; never NULL. */
struct imap *imap_setup_new(const struct config *config) OD_MUST;

/* Connects, and starts TLS unless the greeting comes first (imap.tls=starttls). Sets imap->certificate. */
bool imap_setup_connect(struct imap *imap, const struct config *config, const char *account,
                        struct error *error) OD_MUST;

/* Then reads the greeting, and starts TLS by STARTTLS. Sets imap->certificate, logged_in and ready. */
bool imap_setup_greet(struct imap *imap, const struct config *config, struct error *error) OD_MUST;

/* Sets the account for the debug log. */
void imap_set_account(struct imap *imap, const char *account);

/* Sends LOGOUT, waits up to `ms` milliseconds for the server to close, and frees *imap (may be NULL). */
void imap_setup_end_wait(struct imap **imap, int64_t ms);

/* Like imap_setup_end_wait(), without waiting. */
void imap_setup_end(struct imap **imap);

/* imap_login.c. */
const char *imap_login_name(const struct config *config, const char *account) OD_MUST;

/* Returns true if imap_login() comes before imap_setup_greet(), which it calls: imap.early_login, which saves a round
 * trip. Not with STARTTLS. */
bool imap_login_is_early(const struct config *config, const char *login, const char *password) OD_MUST;

/* Logs in, unless that would expose the password. After a failure, imap->ready, refused, too_many_sessions and ended
 * say more. With imap.early_login it does not check first what the server offers. */
bool imap_login(struct imap *imap, const struct config *config, const char *login, const char *password,
                struct error *error) OD_MUST;

/* Callback for an untagged response; may modify its bytes. */
typedef void imap_untagged(void *context, struct imap_reply *reply);

/* Begins a command without sending it. Returns a new string: "TAG command". */
char *imap_begin(struct imap *imap, const char *format, ...) OD_PRINTF(2, 3) OD_MUST;

/* Sends "TAG command CRLF". */
bool imap_send(struct imap *imap, struct error *error, const char *format, ...) OD_PRINTF(3, 4) OD_MUST;

/* Reads up to the tagged response, of any status: imap->reply. `untagged` may be NULL. False: the connection is
 * lost. */
bool imap_finish(struct imap *imap, imap_untagged *untagged, void *context, struct error *error) OD_MUST;

/* Like imap_send() and imap_finish(), but fails unless tagged OK. imap->reply then has NO, BAD, or NONE (connection
 * lost). */
bool imap_command(struct imap *imap, imap_untagged *untagged, void *context, struct error *error, const char *format,
                  ...) OD_PRINTF(5, 6) OD_MUST;

/* Sends CAPABILITY unless the capabilities are known. */
bool imap_capabilities(struct imap *imap, struct error *error) OD_MUST;

/* Returns whether the server announced the capability. */
bool imap_can(const struct imap *imap, const char *capability) OD_MUST;

/* Returns whether the text has control characters, which could end a command. */
bool imap_has_control(const char *text) OD_MUST;

/* Returns an IMAP quoted string; NULL if the text has control characters. */
char *imap_quote(const char *text) OD_MUST;

/* Formats in UTC: "14-Nov-2023", with_time "14-Nov-2023 22:13:20 +0000". */
#define IMAP_DATE_SIZE 32
void imap_date(int64_t seconds, bool with_time, char ret[IMAP_DATE_SIZE]);

/* imap_connect.c */

/* Returns a connected, non-blocking socket (TCP or unix); -1 with the error set, which begins with peer_name. ms: for
 * all addresses together. *ret_local: the peer is a loopback address or unix socket. */
int imap_connect(const struct config *config, const char *peer_name, int64_t ms, bool *ret_local,
                 struct error *error) OD_MUST;

unsigned imap_connect_port(const struct config *config) OD_MUST;

/* imap_spawn.c: starts imap.command with a socketpair as standard input and output. Returns our end (non-blocking); -1
 * with the error set. */
int imap_spawn(const struct config *config, const char *account, pid_t *ret_child, struct error *error) OD_MUST;

/* Waits up to a second for the child to exit, then kills it. Sets *child to 0. Returns the status (waitpid(2)); -1:
 * killed, or no child. */
int imap_spawn_reap(pid_t *child);

/* A login's password or bearer token. The output of imap.password_command is cached until the server refuses it. */

/* Returns the password, cached if possible: a new string for base_free_secret(), "" if none is set. NULL with the error
 * set: the command cannot be run, exceeds `ms` milliseconds, fails, or prints nothing. */
char *imap_password(const struct config *config, const char *login, int64_t ms, struct error *error) OD_MUST;

/* Reads the file, or runs the command, again. Returns a password other than the refused one, like imap_password().
 * NULL: there is none; a failure to read is appended to *error. */
char *imap_password_renew(const struct config *config, const char *login, const char *refused, int64_t ms,
                          struct error *error) OD_MUST;

/* Returns whether the command is run for each login. */
bool imap_password_is_own(const struct config *config) OD_MUST;

#endif
