/* SPDX-License-Identifier: ISC
 *
 * Internal to mailbox/: the session, and what its files share.
 *
 * libetpan provides the stream: buffered reads and writes on a descriptor of ours, each with a time limit, and TLS that
 * can be started in the middle, with the name for SNI and the chain that the server presented (mailbox_tls.c). It makes
 * TCP, a unix socket and a command's socketpair look the same to the layers above, with or without TLS; that is why we
 * use it. The price is one time limit for the whole process, select(2)'s FD_SETSIZE (mailbox_setup.c), and errors
 * reported only by errno (mailbox_dialogue_failed). Everything above the stream is our own. libetpan's IMAP does not
 * distinguish "refused" from "lost", waits for ever after an untagged line before a '+', reads lines without limit,
 * takes a truncated line for a whole one, and sends mailbox names unencoded; it does not verify certificates; MIME is
 * handled by message/. */
#ifndef ONCEDROP_MAILBOX_SESSION_H
#define ONCEDROP_MAILBOX_SESSION_H

#include <sys/types.h>

#include <libetpan/mailstream.h>

#include "mailbox/mailbox.h"
#include "mailbox/mailbox_namespace.h"
#include "mailbox/mailbox_reply.h"

/* Receives a literal BODY[...] in pieces as they arrive, first with size 0. In the response it is replaced by "". */
typedef void mailbox_body(void *context, const void *bytes, size_t size);

enum append_step {
    APPEND_NONE,
    APPEND_BEGUN, /* the command was sent */
    APPEND_FED,   /* the literal was begun */
    APPEND_OVER,  /* the result is known */
};

/* The APPEND under way. */
struct appending {
    enum append_step step;
    struct append append;
    char *name;   /* as sent */
    bool settled; /* whether the mailbox is missing was found out, and what could be done was */
    bool
        perhaps_missing; /* APPEND_OVER: a refusal that may mean, to some servers, that there is no such mailbox, ... */
    bool fed;            /* ... which came after the literal */
    bool never;          /* ... which will be the same for ever */
    bool whole;          /* all of the literal was sent */
    int64_t fed_ms;
    enum append_result result; /* APPEND_OVER: not stored, and ... */
    struct fault why;          /* ... why */
};

struct mailbox {
    mailstream *stream; /* NULL: not connected, lost, or closed by us */
    char *where;        /* "IMAP server mail.example.org:993"; every fault begins with it */
    int64_t timeout;    /* per read and write, ms; */
    int64_t until_ms;   /* the next response must begin before this, by base_now_ms(); 0: within the timeout */
    struct appending appending;
    bool create;
    bool subscribe;
    bool shared; /* config_is_shared */
    pid_t child; /* imap.command, or 0 */
    unsigned tag_number;
    char tag[16];       /* of the current command */
    const char *step;   /* its name, for faults */
    char *capabilities; /* as last announced; NULL: unknown, since TLS or the login may have changed them */
    struct mailbox_namespaces namespaces;
    char *sent;         /* the \Sent mailbox, as named by the server; NULL: not looked up yet */
    bool sent_unmarked; /* no mailbox is marked \Sent: it is one that we name */
    char *farewell;     /* the text of the server's BYE */
    bool refused;       /* the login was, by an answer or by closing the connection */
    bool crowded;       /* the login was, with a code that may mean: too many sessions */
    bool secured;       /* by TLS */
    bool ended;         /* the server ended the connection */
    char *bytes;        /* the last response, NUL-terminated, including literals */
    size_t size;
    size_t capacity;
    size_t response_max; /* longest response allowed, including literals */
    mailbox_body *body;  /* receives what is fetched; may be NULL */
    void *body_context;
    size_t responses;   /* to the current command so far */
    size_t budget;      /* bytes that may still arrive for the current command, */
    size_t body_budget; /* and bytes that may go to `body` */
};

#define MAILBOX_RESPONSE_MAX ((size_t)128 * 1024)
#define MAILBOX_SEARCH_RESPONSE_MAX ((size_t)1024 * 1024)

/* mailbox_connect.c: returns a connected, non-blocking socket (TCP, unix), or -1 with the fault set; all addresses of
 * the host share this many milliseconds. *ret_local: the peer is a loopback address or a unix socket. */
int mailbox_connect(const struct config *config, const char *where, int64_t ms, bool *ret_local,
                    struct fault *fault) OD_MUST;
unsigned mailbox_connect_port(const struct config *config) OD_MUST;

/* mailbox_spawn.c: starts imap.command with a socketpair as its standard input and output; returns our end
 * (non-blocking) and *ret_child, or -1 with the fault set. */
int mailbox_spawn(const struct config *config, const char *account, pid_t *ret_child, struct fault *fault) OD_MUST;

/* Waits up to a second for the child to end (its input is closed), then kills it. Sets *child to 0. Returns its status
 * as of waitpid(2); -1 if it had to be killed, or there was none. */
int mailbox_spawn_reap(pid_t *child);

/* mailbox_tls.c: starts TLS over a plain stream (at once for imaps, after the OK to STARTTLS), then verifies the
 * certificate. False with the fault set: the stream must not be used, only closed. */
bool mailbox_tls_start(const struct config *config, const char *where, mailstream *stream, struct fault *fault) OD_MUST;

/* Called for each TLS handshake with the chain that the server presented, before an unacceptable certificate ends the
 * session. */
struct mailbox_watcher {
    void (*handshake)(void *context, mailstream *stream, bool accepted);
    void *context;
};

/* mailbox_setup.c: the limit of each read and write from now on, for all sessions (it is libetpan's). */
void mailbox_setup_patience(int64_t ms);

/* A session that is not connected yet; never NULL; end it with mailbox_close. */
struct mailbox *mailbox_setup_new(const struct config *config) OD_MUST;

/* Connects, starts TLS, and reads the greeting: everything before the login. watcher may be NULL. *ret_logged_in:
 * imap.command's server needs no login (PREAUTH). False with the fault set. */
bool mailbox_setup(struct mailbox *mailbox, const struct config *config, const char *account,
                   const struct mailbox_watcher *watcher, bool *ret_logged_in, struct fault *fault) OD_MUST;

/* mailbox.c: mailbox_open with a given login instead of the one that the settings make of the account. *ret_refused, if
 * there is no session: the server refused the credentials. */
struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                                bool *ret_refused, struct fault *fault) OD_MUST;

/* mailbox_login.c: whether an account name can be sent at all; the login name for it; the login. */
bool mailbox_login_valid(const char *account, struct fault *fault) OD_MUST;
const char *mailbox_login_name(const struct config *config, const char *account) OD_MUST;
bool mailbox_login(struct mailbox *mailbox, const struct config *config, const char *login,
                   struct fault *fault) OD_MUST;

/* mailbox_dialogue.c. These functions close the connection (stream NULL) if they cannot continue with it. */

/* Receives each untagged response to a command; may modify the bytes. */
typedef void mailbox_untagged(void *context, struct mailbox_reply *reply);

/* Sends "TAG command CRLF" with a new tag. `step` names it in faults. */
bool mailbox_dialogue_send(struct mailbox *mailbox, const char *step, struct fault *fault, const char *format, ...)
    OD_PRINTF(4, 5) OD_MUST;

/* Sends a line within a command; adds the line end. */
bool mailbox_dialogue_line(struct mailbox *mailbox, const char *text, struct fault *fault) OD_MUST;

/* Sends a literal and the end of its command. False: not all of it was sent. The connection stays open then, since the
 * server may have sent the reason. */
bool mailbox_dialogue_literal(struct mailbox *mailbox, const struct iovec *pieces, size_t count) OD_MUST;

/* Reads up to the tagged response, whatever its status. `untagged` may be NULL. False: there is none, and *ret says so
 * (mailbox_reply_none). */
bool mailbox_dialogue_finish(struct mailbox *mailbox, mailbox_untagged *untagged, void *context,
                             struct mailbox_reply *ret, struct fault *fault) OD_MUST;

/* The same; a status other than OK is also a failure. True: tagged OK. False: the fault is set and ret->status is NO,
 * BAD, or NONE (connection lost; mailbox_reply_none). */
bool mailbox_dialogue_take(struct mailbox *mailbox, mailbox_untagged *untagged, void *context,
                           struct mailbox_reply *ret, struct fault *fault) OD_MUST;

/* Sends a command and takes its answer like that. */
bool mailbox_dialogue_ask(struct mailbox *mailbox, const char *step, mailbox_untagged *untagged, void *context,
                          struct mailbox_reply *ret, struct fault *fault, const char *format, ...)
    OD_PRINTF(7, 8) OD_MUST;

/* Asks for the capabilities unless they are known. */
bool mailbox_dialogue_capabilities(struct mailbox *mailbox, struct fault *fault) OD_MUST;

/* Whether the server announced that capability. */
bool mailbox_dialogue_can(const struct mailbox *mailbox, const char *capability) OD_MUST;

/* Closes the connection without sending anything. */
void mailbox_dialogue_drop(struct mailbox *mailbox);

/* The same, and sets the fault to this reason. Always false. */
bool mailbox_dialogue_give_up(struct mailbox *mailbox, struct fault *fault, const char *why);

/* The same after a failed read or write, which began at `started` (base_now_ms(); errno was 0): finds the reason.
 * Always false. */
bool mailbox_dialogue_failed(struct mailbox *mailbox, int64_t started, struct fault *fault);

/* Milliseconds that the next read may take, at least 1. */
int64_t mailbox_dialogue_patience(const struct mailbox *mailbox) OD_MUST;

/* Whether there is still a connection; sets the fault if not. */
bool mailbox_dialogue_connected(struct mailbox *mailbox, struct fault *fault) OD_MUST;

/* Text as an IMAP quoted string; NULL if it has control characters. */
char *mailbox_dialogue_quote(const char *text) OD_MUST;

/* mailbox_hits.c: UID SEARCH by text (the Message-ID), or else by date and size. */
struct mailbox_hits {
    uint32_t *uids; /* newest first; free(3) */
    size_t count;
    bool told; /* there was an answer, even if empty */
    bool damaged;
};

/* hits: {0} at first; to be freed also on failure. */
bool mailbox_hits_ask(struct mailbox *mailbox, const struct search *search, bool by_text, struct mailbox_hits *hits,
                      struct fault *fault) OD_MUST;

#define MAILBOX_IDS_MOST 100 /* messages in one FETCH: for its line (RFC 2683, 3.2.1.5) */

/* mailbox_ids.c: the Message-ID fields of some messages. */
struct mailbox_ids {
    uint32_t first; /* the sequence number of the first; 0: they are known by UID */
    size_t count;
    uint32_t uids[MAILBOX_IDS_MOST];
    enum candidate told[MAILBOX_IDS_MOST]; /* as search.ids; CANDIDATE_SIMILAR also if there was no answer */
};

/* Asks for those of the messages with these sequence numbers. */
bool mailbox_ids_ask_newest(struct mailbox *mailbox, const struct search *search, uint32_t first, uint32_t last,
                            struct mailbox_ids *ret, struct fault *fault) OD_MUST;

/* The same for those with the UIDs set. */
bool mailbox_ids_ask(struct mailbox *mailbox, const struct search *search, struct mailbox_ids *ids,
                     struct fault *fault) OD_MUST;

/* mailbox_candidates.c: fetches these messages of the open mailbox until one is the same (struct search). SEARCH_TROUBLE:
 * the fault is set.
 *
 * ids_first  by their ids most of them are likely to be others */
enum search_result mailbox_candidates(struct mailbox *mailbox, const struct search *search, bool ids_first,
                                      const uint32_t *uids, size_t count, uint32_t *ret_uid,
                                      struct fault *fault) OD_MUST;

/* The same for those that are not others by the ids told. */
enum search_result mailbox_candidates_of(struct mailbox *mailbox, const struct search *search,
                                         const struct mailbox_ids *ids, uint32_t *ret_uid, struct fault *fault) OD_MUST;

/* mailbox_response.c: reads one response; *ret points into the session and is valid until the next read.
 * False: the fault is set, and *ret is mailbox_reply_none. */
bool mailbox_response_read(struct mailbox *mailbox, struct mailbox_reply *ret, struct fault *fault) OD_MUST;

/* mailbox_date.c: "14-Nov-2023", with_time: "14-Nov-2023 22:13:20 +0000". */
#define MAILBOX_DATE_SIZE 64
void mailbox_date(int64_t seconds, bool with_time, char ret[MAILBOX_DATE_SIZE]);

/* mailbox_refusal.c: what a tagged NO or BAD to APPEND means, before or after the literal. */
enum append_result mailbox_refusal(const struct mailbox_reply *reply, bool literal_sent) OD_MUST;

/* Whether a refusal may mean that the mailbox does not exist. It may mean trouble as well: only LIST tells. */
bool mailbox_refusal_perhaps_missing(const struct mailbox_reply *reply) OD_MUST;

/* Whether a refused CREATE, or APPEND before the literal, will be refused for ever: because of the name, or our rights. */
bool mailbox_refusal_is_never(const struct mailbox_reply *reply) OD_MUST;

/* mailbox_folder.c: the name to send for a configured one (\Sent resolved, modified UTF-7, namespace, quoted). */
char *mailbox_folder_name(struct mailbox *mailbox, const char *name, struct fault *fault) OD_MUST;

/* Asks with LIST; false with the fault set if there was no answer, else sets *ret_exists. `name` as returned by
 * mailbox_folder_name. */
bool mailbox_folder_exists(struct mailbox *mailbox, const char *name, bool *ret_exists, struct fault *fault) OD_MUST;

/* The pattern with which to look for it: '*' stands for what means something else there or is known to be misunderstood; ascii:
 * also for what is in modified UTF-7. A new string. */
char *mailbox_folder_pattern(const char *name, bool ascii) OD_MUST;

/* Whether this answer to LIST with that pattern means the mailbox: it may match others, too. */
bool mailbox_folder_is_listed(const struct reply_list *list, const char *name, bool ascii) OD_MUST;

enum mailbox_made {
    MADE_TROUBLE, /* not, or not known; the fault says why */
    MADE_NEVER, /* not, and trying again does not help: because of the name, of our rights, or of imap.create; fault set */
    MADE_EXISTS, /* not by us: it is there now */
    MADE_CREATED,
};

/* mailbox_create.c: CREATE and SUBSCRIBE as the settings allow; `name` as returned by mailbox_folder_name. Never creates an
 * INBOX, or anything in an account without one: some servers accept the login of an account that does not exist. */
enum mailbox_made mailbox_create(struct mailbox *mailbox, const char *name, struct fault *fault) OD_MUST;

#endif
