/* SPDX-License-Identifier: ISC
 *
 * Inside of mailbox/: the session, and what its files do for each other.
 *
 * From libetpan comes the stream: buffered reads and writes on a descriptor of ours, each within a time limit, and TLS
 * that can be begun in the middle of it, with the name for SNI and the chain that the server showed (mailbox_tls.c). TCP,
 * a unix socket and a command's socketpair are one to what lies above, with TLS and without: that is why it stays. It
 * costs us one time limit for the whole process and select(2)'s FD_SETSIZE (mailbox_setup.c), and says only by errno what
 * went wrong (mailbox_dialogue_failed). All above the stream is our own. libetpan's IMAP does not tell "refused" from
 * "lost", waits in vain on an untagged line before a '+', reads lines without limit, takes a cut line for a whole one, and
 * sends mailbox names as they are; certificates it does not verify; MIME is message/'s. */
#ifndef ONCEDROP_MAILBOX_SESSION_H
#define ONCEDROP_MAILBOX_SESSION_H

#include <sys/types.h>

#include <libetpan/mailstream.h>

#include "mailbox/mailbox.h"
#include "mailbox/mailbox_reply.h"

/* Receives a literal BODY[...] piece by piece as it comes, first with size 0. In the response it is then "". */
typedef void mailbox_body(void *context, const void *bytes, size_t size);

struct mailbox {
    mailstream *stream; /* NULL: not connected, lost, or given up */
    char *where;        /* "IMAP server mail.example.org:993"; every fault begins with it */
    int64_t timeout;    /* per read and write, ms */
    bool create;
    bool subscribe;
    pid_t child; /* imap.command, or 0 */
    unsigned tag_number;
    char tag[16];       /* of the command under way */
    const char *step;   /* its name, for faults */
    char *capabilities; /* as told last; NULL: not told since TLS or the login changed them */
    char *sent;         /* encoded name of the \Sent mailbox; NULL: not asked yet */
    char *farewell;     /* what the server said in its BYE */
    bool refused;       /* the login, by its answer or by closing the connection then */
    char *bytes;        /* the response read last, NUL-terminated, literals in place */
    size_t size;
    size_t capacity;
    size_t response_max; /* longest response, with its literals; a longer one is an error */
    mailbox_body *body;  /* takes what is fetched; may be NULL */
    void *body_context;
    size_t budget;      /* bytes that may still come for the command under way, */
    size_t body_budget; /* and those that may go to `body` */
};

#define MAILBOX_RESPONSE_MAX ((size_t)128 * 1024)
#define MAILBOX_SEARCH_RESPONSE_MAX ((size_t)1024 * 1024)

/* mailbox_connect.c: a connected, non-blocking socket (TCP, unix), or -1 with the fault set; all addresses of the host
 * share imap.timeout. *ret_local: the peer is a loopback address or a unix socket. */
int mailbox_connect(const struct config *config, const char *where, bool *ret_local, struct fault *fault) OD_MUST;
unsigned mailbox_connect_port(const struct config *config) OD_MUST;

/* mailbox_spawn.c: starts imap.command with its standard input and output on a socketpair; returns our end (non-blocking)
 * and *ret_child, or -1 with the fault set. */
int mailbox_spawn(const struct config *config, const char *account, pid_t *ret_child, struct fault *fault) OD_MUST;

/* Waits up to a second for the child to end by itself (its input is closed), then kills it. *child becomes 0.
 * Returns its status as of waitpid(2), -1 when it had to be killed, or there was none. */
int mailbox_spawn_reap(pid_t *child);

/* mailbox_tls.c: TLS over a plain stream (at once for imaps, after the OK to STARTTLS), then the certificate is verified.
 * False with the fault set: the stream must only be closed. */
bool mailbox_tls_start(const struct config *config, const char *where, mailstream *stream, struct fault *fault) OD_MUST;

/* Is told of each TLS handshake, with the chain that the server showed, before a certificate that is not accepted ends
 * the session. */
struct mailbox_watcher {
    void (*handshake)(void *context, mailstream *stream, bool accepted);
    void *context;
};

/* mailbox_setup.c: a session that is not connected yet; never NULL, mailbox_close. */
struct mailbox *mailbox_setup_new(const struct config *config) OD_MUST;

/* Connects, greets, secures: all that comes before the login. watcher may be NULL. *ret_logged_in: imap.command's server
 * needs no login (PREAUTH). False with the fault set. */
bool mailbox_setup(struct mailbox *mailbox, const struct config *config, const char *account,
                   const struct mailbox_watcher *watcher, bool *ret_logged_in, struct fault *fault) OD_MUST;

/* mailbox.c: mailbox_open with a login of its own instead of what the settings make of the account. *ret_refused, when
 * there is no session: the server had the credentials and did not take them. */
struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, bool *ret_refused,
                                struct fault *fault) OD_MUST;

/* mailbox_login.c: whether the account can be sent at all; with which login it is opened; the login. */
bool mailbox_login_valid(const char *account, struct fault *fault) OD_MUST;
const char *mailbox_login_name(const struct config *config, const char *account) OD_MUST;
bool mailbox_login(struct mailbox *mailbox, const struct config *config, const char *login,
                   struct fault *fault) OD_MUST;

/* mailbox_dialogue.c. The functions give up the connection (stream NULL) when they cannot go on with it. */

/* Receives each untagged response of a command; may change the bytes. */
typedef void mailbox_untagged(void *context, struct mailbox_reply *reply);

/* Sends "TAG command CRLF" with a new tag. `step` names it in faults. */
bool mailbox_dialogue_send(struct mailbox *mailbox, const char *step, struct fault *fault, const char *format, ...)
    OD_PRINTF(4, 5) OD_MUST;

/* Sends a line within a command, the line end added. */
bool mailbox_dialogue_line(struct mailbox *mailbox, const char *text, struct fault *fault) OD_MUST;

/* Sends a literal and the end of its command. False: not all of it went out; the connection stays open, for the server
 * may have said why. */
bool mailbox_dialogue_literal(struct mailbox *mailbox, const struct iovec *pieces, size_t count) OD_MUST;

/* Reads up to the tagged response, whatever its status. `untagged` may be NULL. */
bool mailbox_dialogue_finish(struct mailbox *mailbox, mailbox_untagged *untagged, void *context,
                             struct mailbox_reply *ret, struct fault *fault) OD_MUST;

/* A whole command. True: tagged OK. False: the fault is set and ret->status is NO, BAD, or NONE (connection lost). */
bool mailbox_dialogue_ask(struct mailbox *mailbox, const char *step, mailbox_untagged *untagged, void *context,
                          struct mailbox_reply *ret, struct fault *fault, const char *format, ...)
    OD_PRINTF(7, 8) OD_MUST;

/* Asks for the capabilities when they have not been told. */
bool mailbox_dialogue_capabilities(struct mailbox *mailbox, struct fault *fault) OD_MUST;

/* Whether the server told that capability. */
bool mailbox_dialogue_can(const struct mailbox *mailbox, const char *capability) OD_MUST;

/* Closes the connection without a word. */
void mailbox_dialogue_drop(struct mailbox *mailbox);

/* The same, because of what the fault then says. Always false. */
bool mailbox_dialogue_give_up(struct mailbox *mailbox, struct fault *fault, const char *why);

/* The same after a read or write that failed and was begun then (base_now_ms(); errno was 0): says what it was. Always
 * false. */
bool mailbox_dialogue_failed(struct mailbox *mailbox, int64_t started, struct fault *fault);

/* Whether there is still a connection; the fault is set when not. */
bool mailbox_dialogue_connected(struct mailbox *mailbox, struct fault *fault) OD_MUST;

/* Text as an IMAP quoted string, or NULL when it has control characters. */
char *mailbox_dialogue_quote(const char *text) OD_MUST;

/* mailbox_response.c: reads one response; *ret points into the session until the next read. */
bool mailbox_response_read(struct mailbox *mailbox, struct mailbox_reply *ret, struct fault *fault) OD_MUST;

/* mailbox_date.c: "14-Nov-2023", with_time: "14-Nov-2023 22:13:20 +0000". */
#define MAILBOX_DATE_SIZE 64
void mailbox_date(int64_t seconds, bool with_time, char ret[MAILBOX_DATE_SIZE]);

/* mailbox_refusal.c: what a tagged NO or BAD to APPEND means, before or after the literal. */
enum append_result mailbox_refusal(const struct mailbox_reply *reply, bool literal_sent) OD_MUST;

/* mailbox_folder.c: the name to send for a configured one (\Sent resolved, modified UTF-7, quoted). */
char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct fault *fault) OD_MUST;

/* CREATE and SUBSCRIBE as the settings allow; `name` as of mailbox_folder_name. Never of an INBOX, nor in an account
 * without one: servers say OK to the login of an account that does not exist. */
bool mailbox_folder_create(struct mailbox *mailbox, const char *name, struct fault *fault) OD_MUST;

/* Asks LIST; false with the fault set when that gave no answer, else *ret_exists. */
bool mailbox_folder_exists(struct mailbox *mailbox, const char *name, bool *ret_exists, struct fault *fault) OD_MUST;

#endif
