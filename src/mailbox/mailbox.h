/* SPDX-License-Identifier: ISC
 *
 * A logged-in IMAP session of one account (RFC 3501), and the three things a delivery asks of it: append, search,
 * and to say honestly what it does not know. */
#ifndef ONCEDROP_MAILBOX_H
#define ONCEDROP_MAILBOX_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"

struct mailbox;

/* Connects, secures and logs in. The certificate's chain, validity and host name are verified before any credential
 * is sent; tls=none goes only to loopback addresses and unix sockets.
 *
 * account  whose mailboxes; the SASL authorisation id with a master user. Control characters are refused.
 *
 * Returns a session, or NULL with the fault set (which step failed, what to do). Time: imap.timeout per step. */
struct mailbox *mailbox_open(const struct config *config, const char *account, struct fault *fault) OD_MUST;

/* Ends the session: LOGOUT is sent without waiting for an answer, then the connection is closed. imap.command is given up
 * to a second to end, and then killed. Cannot fail. */
void mailbox_close(struct mailbox **mailbox);

/* Whether one credential opens every account, so that it is the server's doing whose mailbox is opened. */
bool mailbox_delegates(const struct config *config) OD_MUST;

/* The server and the user whose credential it is, as one name for what is found out about both; a new string. That of a
 * server on this host has the host's name in it, for all hosts share what is found out. */
char *mailbox_server(const struct config *config) OD_MUST;

enum identity_result {
    IDENTITY_UNKNOWN, /* not proved: trouble, or the account is not to be had (fault set) */
    IDENTITY_COUNTS,  /* the server opens the account that the login names, or refuses */
    IDENTITY_IGNORED, /* it opens one mailbox whatever account is named (fault set) */
};

/* Finds out, where mailbox_delegates, whether the account that a login names counts. Some servers (Courier, GNU
 * Mailutils) ignore SASL PLAIN's authorisation identity (RFC 4616): everybody's mail would go to the master user.
 *
 * account  one that the server has; it is logged in to, then one that nobody has, "oncedrop-probe". When the server takes
 *          that, it must have another INBOX, by UIDVALIDITY; when not, or it has none, the first must still be there.
 *
 * Time: three logins, imap.timeout per step. */
enum identity_result mailbox_identity(const struct config *config, const char *account, struct fault *fault) OD_MUST;

/* Whether a kept session still answers (NOOP). */
bool mailbox_alive(struct mailbox *mailbox) OD_MUST;

/* What is known after an APPEND, and of whom the server speaks when it refuses: mailbox_refusal.c has the list. */
enum append_result {
    /* it may be stored */
    APPEND_UNKNOWN, /* the literal was begun and got no tagged answer, or an OK before it was whole; now or later */
    APPEND_TROUBLE, /* after the literal a NO that is none of those below ([SERVERBUG], no code, ...), or BAD */
    APPEND_REFUSED, /* after the literal a NO that certainly speaks of this content */
    APPEND_LIMIT,   /* NO [LIMIT] (RFC 5530) */
    APPEND_PERHAPS_OVERQUOTA, /* NO after the literal that speaks of a quota, but not certainly of this mailbox's */
    APPEND_STORED,            /* tagged OK */
    /* this attempt certainly stored nothing */
    APPEND_NOT_SENT,    /* nothing of the literal was sent: connection lost before, no '+', refused name, not wanted */
    APPEND_UNAVAILABLE, /* before the literal a NO that is none of the others, or BAD */
    APPEND_NO_MAILBOX,  /* NO [TRYCREATE] and creating it is switched off, not ours to do, or did not help */
    APPEND_OVERQUOTA,   /* NO [OVERQUOTA] (RFC 9208, RFC 5530) */
    APPEND_TOOBIG,      /* NO [TOOBIG] (RFC 4469) */
    APPEND_NOPERM,      /* NO [NOPERM] (RFC 5530) */
};

struct append {
    const char *mailbox;        /* UTF-8 name, or \Sent: the mailbox with that SPECIAL-USE, else "Sent" */
    bool seen;                  /* with \Seen */
    int64_t internal_date;      /* seconds since 1970 UTC */
    const struct iovec *pieces; /* the message; CRLF line ends, no NUL */
    size_t piece_count;
    bool (*wanted)(void *context); /* asked right before the first byte of the literal; false: APPEND_NOT_SENT */
    void *context;
};

/* Appends one message. The mailbox is created and subscribed once when the server says TRYCREATE and the settings
 * allow it; an INBOX never. SO_LINGER 0 while the literal is under way: a process that dies takes its unsent bytes with it.
 *
 * *ret_uidvalidity and *ret_uid are set on APPEND_STORED (0, 0 when the server does not tell, RFC 4315), else untouched.
 * The fault is set on everything but APPEND_STORED. After APPEND_UNKNOWN the connection is given up. */
enum append_result mailbox_append(struct mailbox *mailbox, const struct append *append, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault) OD_MUST;

enum search_result {
    SEARCH_TROUBLE, /* not known: connection, NO or BAD to the search, ... */
    SEARCH_ABSENT,  /* looked, and it is not there (or the mailbox does not exist) */
    SEARCH_FOUND,
};

/* What a candidate is. The first that is the SAME ends the search; without one the newest SIMILAR one is found. */
enum candidate { CANDIDATE_OTHER, CANDIDATE_SIMILAR, CANDIDATE_SAME };

struct search {
    const char *mailbox;       /* as in struct append */
    const char *message_id;    /* without <>; NULL when unknown or not searchable (mailbox_searchable) */
    int64_t internal_date;     /* without message_id: candidates within a day of it ... */
    int64_t smallest, largest; /* ... and whose RFC822.SIZE is between these, which belong to it; largest 0: any size */
    uint32_t newest;           /* only the last so many messages; 0: all */
    bool header_only;          /* candidates are fed by their Message-ID fields only */
    void (*feed)(void *context, const void *bytes, size_t size); /* a candidate, piece by piece as it comes, ... */
    enum candidate (*end)(void *context);                        /* ... and what it was; the next one begins */
    void *context;
};

/* Looks for a message on a connection of its own (a session kept selected may not see new mail; EXAMINE, so nothing
 * changes). Memory does not grow with what the server sends: more than 100,000 candidates are trouble. Outputs are set on
 * SEARCH_FOUND only; the fault on SEARCH_TROUBLE only. */
enum search_result mailbox_search(const struct config *config, const char *account, const struct search *search,
                                  uint32_t *ret_uidvalidity, uint32_t *ret_uid, struct fault *fault) OD_MUST;

/* Whether SEARCH HEADER Message-ID can be trusted to find this id: at most 200 printable ASCII characters without
 * blanks, not folded, no "=?" (servers decode RFC 2047 there), no '"' or '\'. */
bool mailbox_searchable(const char *id, size_t length, bool folded) OD_MUST;

/* UTF-8 to modified UTF-7 (RFC 3501, 5.1.3). Returns a new string (free(3)), or NULL with the fault set: empty, longer
 * than 1000 bytes, invalid UTF-8, control characters (CR, LF, NUL would end the command). */
char *mailbox_name_encode(const char *name, struct fault *fault) OD_MUST;

/* For `check` (mailbox_describe.c). */

/* What of a server's capabilities bears on a delivery. */
struct mailbox_abilities {
    char told[512];       /* in its own words and order, blank-separated: UIDPLUS, LITERAL+, AUTH=..., ... */
    bool uidplus;         /* RFC 4315: it tells the UID of what was appended */
    bool special_use;     /* RFC 6154 */
    int64_t append_limit; /* RFC 7889; 0: none told */
};

/* What it tells now; without a login that is less. False with the fault set when it does not answer. */
bool mailbox_abilities(struct mailbox *mailbox, struct mailbox_abilities *ret, struct fault *fault) OD_MUST;

struct mailbox_probe {
    bool shown;        /* a certificate: */
    bool accepted;     /* chain, validity and host name are as they should be */
    char subject[256]; /* names as in RFC 4514; "" when none was shown */
    char issuer[256];
    int64_t ends;                       /* the first end in the chain that was shown, seconds since 1970 */
    struct mailbox_abilities abilities; /* before the login */
};

/* Looks at the server that imap.host names without logging in; nothing is said over a connection whose certificate is
 * not accepted. *ret is set in any case, as far as it came; false with the fault set: it did not come to the end. */
bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct fault *fault) OD_MUST;

struct mailbox_folder {
    bool exists;
    bool is_sent;   /* it has the attribute \Sent */
    char name[256]; /* as the server writes it (modified UTF-7) */
};

/* Looks for a mailbox; `name` as in struct append. False with the fault set: no answer. */
bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct fault *fault) OD_MUST;

#endif
