/* SPDX-License-Identifier: ISC
 *
 * A logged-in IMAP session of one account (RFC 3501). A function that fails sets the error, if it takes one. */
#ifndef ONCEDROP_MAILBOX_H
#define ONCEDROP_MAILBOX_H

#include <string.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"
#include "imap/imap_tls.h"
#include "message/message.h"

struct mailbox;

/* Loads the TLS module if a server needs it. Else the first session does. */
bool mailbox_load(const struct config *config, struct error *error) OD_MUST;

/* Codes of mailbox_open's error:
 * REFUSED            NO to this account's login, with no sign of a temporary failure
 * TOO_MANY_SESSIONS  too many sessions, or refused: connection closed, BYE, or [UNAVAILABLE]
 * LIMIT              too many sessions: [LIMIT] or [INUSE]
 * TIMED_OUT          timeout
 * UNREACHABLE        connection failed before the login: concerns all accounts of the server
 * NO_FILES           too few descriptors in this process (mailbox_descriptors) */
#define MAILBOX_REFUSED "refused"
#define MAILBOX_TOO_MANY_SESSIONS "TOO_MANY"
#define MAILBOX_LIMIT "LIMIT"
#define MAILBOX_NO_FILES "files"
#define MAILBOX_TIMED_OUT "TIMED_OUT"
#define MAILBOX_UNREACHABLE "unreachable"

/* Returns true if the server may have too many sessions. */
static inline bool mailbox_lacks_room(const struct error *error)
{
    return strcmp(error->code, MAILBOX_TOO_MANY_SESSIONS) == 0 || strcmp(error->code, MAILBOX_LIMIT) == 0;
}

/* Returns what one session needs. */
struct descriptors mailbox_descriptors(const struct config *config) OD_MUST;

/* Connects, starts TLS and logs in. Verifies the certificate's chain, validity and host name before it sends
 * credentials. tls=none works only with loopback addresses and unix sockets.
 *
 * account   owner of the mailboxes; with a master user, SASL's authorization identity; no control characters
 * limit_ms  for everything; 0 or at least imap.timeout: imap.timeout per step
 *
 * On failure returns NULL; the error has the step and a hint. */
struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms,
                             struct error *error) OD_MUST;

/* Like mailbox_open(), after other sessions were closed: they may still count with the server, so it tries repeatedly. */
struct mailbox *mailbox_open_again(const struct config *config, const char *account, int64_t limit_ms,
                                   struct error *error) OD_MUST;

/* Sets the account in the debug log, if one login opens several. */
void mailbox_set_account(struct mailbox *mailbox, const char *account);

/* Sends LOGOUT and closes the connection, without waiting; during an APPEND only closes it. Gives imap.command a second
 * to end. */
void mailbox_close(struct mailbox **mailbox);

/* Like mailbox_close(), but waits up to `ms` for the server to close, so that the session no longer counts against its
 * limits. */
void mailbox_close_wait(struct mailbox **mailbox, int64_t ms);

/* Returns true if the server has not closed the connection, as far as the kernel knows. */
bool mailbox_connected(const struct mailbox *mailbox) OD_MUST;

/* Returns true if the login names an account, but uses another credential: the server decides whose mailbox it
 * opens. */
bool mailbox_delegates(const struct config *config) OD_MUST;

/* Returns a new string: the server, and the credential's user or "each account". The ledger's key for results of
 * mailbox_identity and refused logins. Includes this host's name if the server is local: hosts share the ledger. */
char *mailbox_server(const struct config *config) OD_MUST;

enum identity_result {
    IDENTITY_UNKNOWN, /* temporary failure, or account not available (error set, code of mailbox_open) */
    IDENTITY_COUNTS,  /* the named account is opened, or refused */
    IDENTITY_IGNORED, /* every name opens the same mailbox (error set) */
};

/* Verifies that a login opens the account that it names (mailbox_delegates). Courier and GNU Mailutils ignore SASL
 * PLAIN's authorization identity (RFC 4616): all mail would go to the master user.
 *
 * Logs in to `account`, which exists, to "oncedrop-probe", which does not, and to the account again. The identity is
 * verified if the probe is refused, has no INBOX, or another UIDVALIDITY or MAILBOXID. INBOXes created in the same
 * second look alike: then tries a second probe a second later. Each step has imap.timeout. */
enum identity_result mailbox_identity(const struct config *config, const char *account, struct error *error) OD_MUST;

/* mailbox_refusal.c classifies refusals. */
enum append_result {
    /* the message may be stored */
    APPEND_UNKNOWN,         /* no tagged response, or OK before the literal's end */
    APPEND_ERROR,           /* after the literal: BAD, or another NO */
    APPEND_REFUSED,         /* after the literal: NO, certainly to this content */
    APPEND_LIMIT,           /* NO [LIMIT] (RFC 5530) */
    APPEND_MAYBE_OVERQUOTA, /* after the literal: NO about a quota, perhaps not the mailbox's */
    APPEND_STORED,          /* tagged OK */
    /* certainly nothing was stored */
    APPEND_LOST,        /* before the literal: connection lost, or timeout */
    APPEND_NOT_SENT,    /* before the literal: name refused, not wanted, or OK; no session; a failed search */
    APPEND_UNAVAILABLE, /* before the literal: BAD, or another NO */
    APPEND_NO_MAILBOX,  /* NO [TRYCREATE], and CREATE failed or did not help */
    APPEND_IMPOSSIBLE,  /* no such mailbox, and CREATE is impossible: name, rights, or imap.create */
    APPEND_OVERQUOTA,   /* NO [OVERQUOTA] (RFC 9208, RFC 5530), unless its text speaks of a disk */
    APPEND_TOOBIG,      /* NO [TOOBIG] (RFC 4469) */
    APPEND_NOPERM,      /* NO [NOPERM] (RFC 5530) */
};

struct append {
    const char *mailbox;        /* UTF-8 name, or \Sent: the mailbox with that SPECIAL-USE, else "Sent" */
    bool seen;                  /* set \Seen */
    const char *home;           /* config_is_shared: the owner's inbox; NULL: unknown, create nothing */
    int64_t internal_date;      /* seconds since 1970 UTC */
    const struct iovec *pieces; /* CRLF line ends, no NUL */
    size_t piece_count;
    bool (*wanted)(void *context); /* called right before the literal, or its last byte; false: APPEND_NOT_SENT */
    void *context;
};

/* An APPEND in three steps, so that several sessions can append at once. A session has one at a time, and until its
 * result is known, can only be closed.
 *
 * begin   sends the command, and does not wait, except to find \Sent. With LITERAL+ or LITERAL- (RFC 7888) also the
 *         literal, up to 1 MB, except its last byte: an early literal. A server that lacks that byte stores nothing, so
 *         `begin` may precede the decision to store. To cancel, close the connection.
 * send    sends the last byte of an early literal. Else waits for '+', until until_ms (base_now_ms()), and sends the
 *         message.
 * append  does missing steps, and waits for the response: imap.timeout after `send`.
 *
 * "Before the literal" means that the last byte of an early literal was not sent: nothing was stored, unless the response
 * is OK (APPEND_UNKNOWN). A later refusal counts as after the literal.
 *
 * If the mailbox is missing (TRYCREATE, or refused and not listed), `send` and `append` create it, subscribe, and begin
 * again; once, if the settings allow it, and never for an INBOX. With config_is_shared they do not subscribe, and only
 * retry the owner's inbox, which Dovecot creates on first use.
 *
 * *append is copied; what it points to must outlive the APPEND. If the process dies after the literal's first byte,
 * unsent bytes are discarded (SO_LINGER 0). A BAD to an early literal closes the connection.
 *
 * APPEND_STORED sets *ret_uidvalidity and *ret_uid, to 0 if not reported (RFC 4315). APPEND_UNKNOWN and APPEND_LOST
 * close the connection. */
void mailbox_append_begin(struct mailbox *mailbox, const struct append *append);
void mailbox_append_send(struct mailbox *mailbox, int64_t until_ms);
enum append_result mailbox_append(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                  struct error *error) OD_MUST;

/* Is a message in its mailbox? Only certainty counts: all but UNKNOWN are certain. */
enum search_result {
    SEARCH_UNKNOWN, /* connection lost, NO, BAD, ...; the error says why */
    SEARCH_MISSING, /* or no such mailbox; of mailbox_explain_missing: the server has lost it */
    SEARCH_DELETED, /* missing, perhaps deleted: nothing shows that the server has lost it (mailbox_explain_missing) */
    SEARCH_PRESENT,
};

/* Candidates are first those that the server finds by Message-ID, then the newest, then all of the right date and size.
 * Only the last step shows absence: indexes divide ids into words, and may miss them. The first MESSAGE_SAME ends the
 * search; without one, the newest MESSAGE_SIMILAR is found. */
struct search {
    const char *mailbox;       /* as in struct append */
    const char *message_id;    /* without <>; NULL: unknown or not searchable */
    int64_t internal_date;     /* of candidates, within a day */
    int64_t smallest, largest; /* RFC822.SIZE, inclusive; 0: no limit */
    uint32_t newest;           /* number of newest candidates (with by_id); 0: none */
    bool newest_only;          /* no search by date and size */
    bool by_id;                /* compare only `ids` */
    bool doubt;                /* the message may be there: the last step reads whole headers, not cached fields */
    struct message_comparison *complete; /* of complete candidates; NULL with by_id */
    struct message_comparison *ids;      /* of Message-IDs, which are fetched first; NULL: unknown */
};

/* Searches with EXAMINE, which changes nothing and refreshes the view (RFC 3501, 6.3.1). Then deselects by UNSELECT
 * (RFC 3691), or CLOSE, which removes nothing after EXAMINE. Closes the connection if that fails, and on
 * SEARCH_UNKNOWN, as with over 100,000 candidates. Sets outputs on SEARCH_PRESENT only. */
enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct error *error) OD_MUST;

/* After SEARCH_MISSING, checks whether the server has lost the message, as after a restore from a backup. That is so if
 * the mailbox does not exist, has another UIDVALIDITY, its UIDNEXT is not above the UID, or the UID has another
 * Message-ID. A lost message counts as deleted if a restored mailbox has got new mail.
 *
 * search            as before, but by_id
 * uidvalidity, uid  as recorded; 0: unknown, so only a missing mailbox shows a loss
 *
 * Returns SEARCH_MISSING (a loss), SEARCH_DELETED or SEARCH_UNKNOWN. */
enum search_result mailbox_explain_missing(struct mailbox *mailbox, const struct search *search, uint32_t uidvalidity,
                                           uint32_t uid, struct error *error) OD_MUST;

/* Reads a message, without marking it as seen. take: gets its bytes in pieces; NULL and 0 before the first, again if the
 * server begins again.
 *
 * Returns SEARCH_PRESENT; SEARCH_MISSING if the mailbox does not exist, has another UIDVALIDITY, or has no such UID; or
 * SEARCH_UNKNOWN with the error set: what was taken is not the message. */
enum search_result mailbox_fetch(struct mailbox *mailbox, const char *name, uint32_t uidvalidity, uint32_t uid,
                                 void (*take)(void *context, const void *bytes, size_t size), void *context,
                                 struct error *error) OD_MUST;

/* Returns true if SEARCH HEADER Message-ID can find this id, and servers return it unchanged: at most 200 printable
 * ASCII characters, not folded, without blanks, '"', '\' and "=?" (RFC 2047). */
bool mailbox_searchable(const char *id, size_t length, bool folded) OD_MUST;

/* Returns a new string: the name in modified UTF-7 (RFC 3501, 5.1.3). Fails if it is empty, over 1000 bytes, invalid
 * UTF-8, or has control characters. */
char *mailbox_name_encode(const char *name, struct error *error) OD_MUST;

/* For `check`. */

/* Those that matter to a delivery. */
struct mailbox_capabilities {
    char reported[512];   /* as listed: UIDPLUS LITERAL+ AUTH=... */
    bool uidplus;         /* RFC 4315 */
    bool special_use;     /* RFC 6154 */
    int64_t append_limit; /* RFC 7889; 0: not announced */
};

/* There are fewer before the login. */
bool mailbox_capabilities(struct mailbox *mailbox, struct mailbox_capabilities *ret, struct error *error) OD_MUST;

/* Measures how much longer than usual_ms a login of `account`, which exists, takes after a refused one: Dovecot delays
 * all logins from the address. Only with mailbox_delegates. Makes two or three logins; the last succeeds, which resets
 * Dovecot's count. Returns false if no probe got a NO, or the account's login failed; then *ret_ms is not set. */
bool mailbox_refusal_delay(const struct config *config, const char *account, int64_t usual_ms, int64_t *ret_ms) OD_MUST;

struct mailbox_probe {
    struct imap_certificate certificate;
    struct mailbox_capabilities capabilities; /* before the login */
};

/* Examines the server without a login. Sends nothing over a connection with a rejected certificate. Always sets *ret,
 * as far as it got. */
bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct error *error) OD_MUST;

struct mailbox_folder {
    bool exists;
    bool is_sent;   /* marked \Sent */
    char name[256]; /* as the server writes it (modified UTF-7) */
};

/* Finds a mailbox; `name` as in struct append. */
bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct error *error) OD_MUST;

struct mailbox_rights {
    bool exists;
    bool known;       /* by ACL */
    char granted[64]; /* l lookup, r read, i insert, k create, ... (RFC 4314, 2.1) */
};

/* Reads the login's rights; stores nothing. Fails if the mailbox exists but does not open, or cannot exist. */
bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct error *error) OD_MUST;

/* Creates a mailbox, if the settings allow it, and deletes it. The name must be unused. *ret_left, set on true only:
 * DELETE failed, or it existed before. */
bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct error *error) OD_MUST;

#endif
