/* SPDX-License-Identifier: ISC
 *
 * A logged-in IMAP session of one account (RFC 3501): appends and searches, and is explicit about what is unknown. */
#ifndef ONCEDROP_MAILBOX_H
#define ONCEDROP_MAILBOX_H

#include <sys/uio.h>

#include "base/base.h"
#include "base/config.h"
#include "base/descriptor.h"
#include "imap/imap_tls.h"

struct mailbox;

/* Loads what sessions with the servers of this configuration need besides the program: TLS, unless imap.tls is none
 * (module_load). False with the fault set. Else the first session does so, and fails. */
bool mailbox_load(const struct config *config, struct fault *fault) OD_MUST;

/* Codes of the fault of mailbox_open:
 * REFUSED      the server refused the login of this account, by a NO that says nothing of trouble
 * CROWDED      it may have refused it, or there may be too many sessions: it closed the connection, said BYE, or answered
 *              [UNAVAILABLE]
 * LIMIT        there are too many sessions: it answered [LIMIT] or [INUSE]
 * LATE         the time was over
 * UNREACHABLE  the connection failed before the login, so no account of this server can be opened
 * NO_FILES     this process cannot open what a session needs (mailbox_descriptors) */
#define MAILBOX_REFUSED "refused"
#define MAILBOX_CROWDED "CROWD"
#define MAILBOX_LIMIT "LIMIT"
#define MAILBOX_NO_FILES "files"
#define MAILBOX_LATE "late"
#define MAILBOX_UNREACHABLE "unreachable"

/* The descriptors that a session with this server has open. */
struct descriptors mailbox_descriptors(const struct config *config) OD_MUST;

/* Connects, secures the connection and logs in. The certificate's chain, validity and host name are verified before any
 * credential is sent; tls=none works only with loopback addresses and unix sockets.
 *
 * account   the owner of the mailboxes; with a master user, the one that SASL is told to act for. Control characters are
 *           refused.
 * limit_ms  for everything together; 0: no limit. One that is not less than imap.timeout does not count: then each step
 *           may take imap.timeout.
 *
 * Returns a session, or NULL with the fault set: which step failed, and what to do. */
struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms,
                             struct fault *fault) OD_MUST;

/* Sets the account that the debug log names for this session, if one login opens several accounts. */
void mailbox_set_account(struct mailbox *mailbox, const char *account);

/* Ends the session: sends LOGOUT without waiting for an answer, then closes the connection. In the middle of an APPEND
 * nothing is sent, as the server would take it for the literal. imap.command gets up to a second to end and is then
 * killed. Cannot fail. */
void mailbox_close(struct mailbox **mailbox);

/* The same, but waits up to `ms` milliseconds for the server to close its end, so that the session no longer counts
 * against the server's limits. */
void mailbox_close_wait(struct mailbox **mailbox, int64_t ms);

/* Whether there is a connection, and the server has not closed it, as far as the kernel knows: nothing is sent. */
bool mailbox_connected(const struct mailbox *mailbox) OD_MUST;

/* Whether we log in with one credential and name the account beside it: then the server decides whose mailbox it opens. */
bool mailbox_delegates(const struct config *config) OD_MUST;

/* A new string: names the server, and the user of that credential or "each account". The ledger keeps under it what
 * mailbox_identity found out, and which logins were refused. All hosts share the ledger, so for a server on this host the name
 * includes the host's. */
char *mailbox_server(const struct config *config) OD_MUST;

enum identity_result {
    IDENTITY_UNKNOWN, /* not determined: trouble, or the account is not available (fault set, its code as by mailbox_open) */
    IDENTITY_COUNTS,  /* the server opens the account named in the login, or refuses */
    IDENTITY_IGNORED, /* it opens the same mailbox whatever account is named (fault set) */
};

/* Where mailbox_delegates, finds out whether the server honours the account named in a login. Some servers (Courier,
 * GNU Mailutils) ignore SASL PLAIN's authorisation identity (RFC 4616): everybody's mail would go to the master user.
 *
 * account  one that exists on the server
 *
 * Logs in to the account, then to one that nobody has, "oncedrop-probe", then to the account again. The server honours
 * names if it refuses nobody's account, shows no INBOX there, or one with another UIDVALIDITY or MAILBOXID. Two INBOXes
 * that were made in the same second look alike: then a second account that nobody has is looked at, a second later, and
 * UIDNEXT counts as well. Time: three logins, rarely four and a second, imap.timeout per step. */
enum identity_result mailbox_identity(const struct config *config, const char *account, struct fault *fault) OD_MUST;

/* What is known after an APPEND. What a refusal means is decided in mailbox_refusal.c. */
enum append_result {
    /* the message may be stored */
    APPEND_UNKNOWN,           /* no tagged answer to the literal, or OK before it was complete */
    APPEND_TROUBLE,           /* after the literal: BAD, or a NO that is not one of those below */
    APPEND_REFUSED,           /* after the literal: a NO that certainly refers to this content */
    APPEND_LIMIT,             /* NO [LIMIT] (RFC 5530) */
    APPEND_PERHAPS_OVERQUOTA, /* after the literal: a NO about a quota, but not certainly of this mailbox */
    APPEND_STORED,            /* tagged OK */
    /* this attempt certainly stored nothing */
    APPEND_LOST,        /* the connection ended, or was silent, before the '+' */
    APPEND_NOT_SENT,    /* before the literal: name refused, no longer wanted, answered too early */
    APPEND_UNAVAILABLE, /* before the literal: BAD, or a NO that is not one of the others */
    APPEND_NO_MAILBOX,  /* NO [TRYCREATE], and the mailbox was not created, or that did not help */
    APPEND_NEVER,       /* there is no such mailbox, and none can be made: its name, our rights, or imap.create */
    APPEND_OVERQUOTA,   /* NO [OVERQUOTA] (RFC 9208, RFC 5530) */
    APPEND_TOOBIG,      /* NO [TOOBIG] (RFC 4469) */
    APPEND_NOPERM,      /* NO [NOPERM] (RFC 5530) */
};

struct append {
    const char *mailbox; /* UTF-8 name, or \Sent: the mailbox with that SPECIAL-USE, else "Sent" */
    bool seen;           /* set the flag \Seen */
    const char *home;    /* config_is_shared: the inbox of the mailbox's owner; NULL: unknown, so nothing is created */
    int64_t internal_date;      /* seconds since 1970 UTC */
    const struct iovec *pieces; /* the message; CRLF line ends, no NUL */
    size_t piece_count;
    bool (*wanted)(void *context); /* called right before the first byte of the literal; false: APPEND_NOT_SENT */
    void *context;
};

/* An APPEND in three steps, so that several sessions can append at the same time. A session has one at a time; until its
 * result is known, nothing else may be done with the session, except to close it.
 *
 * begin   sends the command with the size of the message, and does not wait (but for the name of \Sent, which may have to
 *         be looked up first). The server stores nothing yet: it gets no byte of the message before it has answered '+'
 *         (a synchronising literal, RFC 3501, 4.3 and 7.5; never LITERAL+, RFC 7888). So `begin` may be called before it is
 *         decided whether the message is to be stored. To cancel, close the connection: anything sent would be taken for
 *         the message.
 * feed    waits for the '+', and sends the message. The server may be silent until until_ms (by base_now_ms()).
 * append  waits for the answer. The server may be silent for imap.timeout from the end of `feed` on. Takes first whatever
 *         step was left out.
 *
 * If the server answers TRYCREATE, or refuses a mailbox that it does not list, and the settings allow it, `feed` and
 * `append` create the mailbox, subscribe to it, and begin the APPEND again; once, and never for an INBOX. Where
 * config_is_shared: never for the owner's inbox either, but that is tried a second time, since Dovecot makes it when it is
 * first asked for; and nothing is subscribed to, since that would be for the login.
 *
 * append  is copied; what its pointers refer to must outlive the APPEND.
 *
 * If the process dies after the first byte of the message and before the answer, unsent bytes are discarded (SO_LINGER
 * of 0).
 *
 * On APPEND_STORED *ret_uidvalidity and *ret_uid are set, to 0 if the server does not report them (RFC 4315). On anything
 * else the fault is set. After APPEND_UNKNOWN and APPEND_LOST the connection is closed. */
void mailbox_append_begin(struct mailbox *mailbox, const struct append *append);
void mailbox_append_feed(struct mailbox *mailbox, int64_t until_ms);
enum append_result mailbox_append(struct mailbox *mailbox, uint32_t *ret_uidvalidity, uint32_t *ret_uid,
                                  struct fault *fault) OD_MUST;

enum search_result {
    SEARCH_TROUBLE, /* not known: connection lost, NO or BAD to the search, ... */
    SEARCH_ABSENT,  /* searched, and it is not there (or the mailbox does not exist) */
    SEARCH_FOUND,
};

/* What a reader says of a candidate: another message, perhaps the one searched for, or certainly. The first CANDIDATE_SAME
 * ends the search; if there is none, the newest CANDIDATE_SIMILAR is the result. */
enum candidate { CANDIDATE_OTHER, CANDIDATE_SIMILAR, CANDIDATE_SAME };

/* Takes a candidate in pieces as they arrive; `end` returns the result, and the next candidate begins. */
struct search_reader {
    void (*feed)(void *context, const void *bytes, size_t size);
    enum candidate (*end)(void *context);
    void *context;
};

/* What to search for, and which messages are candidates: first those that the server finds by the Message-ID, then the
 * newest, then all of the right date and size. A server need not find every message by its id, since indexes divide an id
 * into words; so only the last step shows that a message is absent. */
struct search {
    const char *mailbox;        /* as in struct append */
    const char *message_id;     /* without <>; NULL if unknown or not searchable (mailbox_searchable) */
    int64_t internal_date;      /* of candidates, give or take a day */
    int64_t smallest, largest;  /* RFC822.SIZE of candidates, inclusive; 0: no limit */
    uint32_t newest;            /* so many of the newest messages are candidates (by_id only); 0: none */
    bool newest_only;           /* no search by date and size */
    bool by_id;                 /* candidates are compared by `ids` only */
    struct search_reader whole; /* reads the whole candidate */
    struct search_reader ids;   /* reads its Message-ID fields before that, unless feed is NULL. CANDIDATE_OTHER: it has
                                 * another id; CANDIDATE_SIMILAR: it has none */
};

/* Searches for a message, with EXAMINE, so that nothing changes, and the view is new whatever the session has seen before
 * (RFC 3501, 6.3.1). Afterwards no mailbox is selected: UNSELECT (RFC 3691), else CLOSE, which removes nothing after
 * EXAMINE. If the server refuses that, or on SEARCH_TROUBLE, the connection is closed. Memory does not grow with what the
 * server sends: more than 100,000 candidates count as trouble. Outputs are set on SEARCH_FOUND only, the fault on
 * SEARCH_TROUBLE only. */
enum search_result mailbox_search(struct mailbox *mailbox, const struct search *search, uint32_t *ret_uidvalidity,
                                  uint32_t *ret_uid, struct fault *fault) OD_MUST;

/* Why a message is absent that was stored under this UID. */
enum absence {
    ABSENCE_TROUBLE, /* not known (fault set) */
    ABSENCE_LOST,    /* the server has lost it, as when it was restored from a backup */
    ABSENCE_DELETED, /* it may have been deleted: nothing shows that it was lost */
};

/* After SEARCH_ABSENT: looks at the mailbox once more. Lost: there is no such mailbox, it has another UIDVALIDITY, its UIDNEXT
 * is not beyond the UID, or the UID belongs to a message with another Message-ID. In a mailbox that was set back and has got
 * new mail, a lost message may be taken for a deleted one; a deleted one counts as lost if its mailbox was made anew.
 *
 * search            as it was, but by_id
 * uidvalidity, uid  as recorded when it was stored; 0: not known, so that only a missing mailbox shows anything */
enum absence mailbox_absence(struct mailbox *mailbox, const struct search *search, uint32_t uidvalidity, uint32_t uid,
                             struct fault *fault) OD_MUST;

/* Whether SEARCH HEADER Message-ID can find this id, and every server returns it as it is: at most 200 printable ASCII
 * characters without blanks, not folded, no "=?" (servers decode RFC 2047 there), no '"' or '\'. */
bool mailbox_searchable(const char *id, size_t length, bool folded) OD_MUST;

/* UTF-8 to modified UTF-7 (RFC 3501, 5.1.3). Returns a new string (free(3)), or NULL with the fault set: the name is
 * empty, longer than 1000 bytes, invalid UTF-8, or has control characters (CR, LF or NUL would end the command). */
char *mailbox_name_encode(const char *name, struct fault *fault) OD_MUST;

/* For `check`. */

/* The capabilities of a server that matter to a delivery. */
struct mailbox_abilities {
    char told[512];       /* these, as the server lists them, blank-separated: UIDPLUS, LITERAL+, AUTH=..., ... */
    bool uidplus;         /* RFC 4315: it reports the UIDs of appended messages */
    bool special_use;     /* RFC 6154 */
    int64_t append_limit; /* RFC 7889; 0: not announced */
};

/* The capabilities announced at present; there are fewer before the login. False with the fault set if the server does
 * not answer. */
bool mailbox_abilities(struct mailbox *mailbox, struct mailbox_abilities *ret, struct fault *fault) OD_MUST;

/* Measures how much longer a login of this account takes after one refused login of an account that does not exist: Dovecot delays
 * all logins from an address after refused ones. Only where mailbox_delegates. Makes two or three logins. The last one is good,
 * which clears Dovecot's count.
 *
 * account   one that exists on the server
 * usual_ms  how long its login takes without a refused one before
 * *ret_ms   how much longer; set on true only
 *
 * False: not measured, since no such login was refused by a NO, or the account's login failed. */
bool mailbox_penalty(const struct config *config, const char *account, int64_t usual_ms, int64_t *ret_ms) OD_MUST;

struct mailbox_probe {
    struct imap_certificate certificate;
    struct mailbox_abilities abilities; /* before the login */
};

/* Examines the server named by imap.host without logging in; sends nothing over a connection whose certificate is not
 * accepted. *ret is always set, as far as the probe got. False with the fault set if it was not completed. */
bool mailbox_probe(const struct config *config, struct mailbox_probe *ret, struct fault *fault) OD_MUST;

struct mailbox_folder {
    bool exists;
    bool is_sent;   /* it has the attribute \Sent */
    char name[256]; /* as written by the server (modified UTF-7) */
};

/* Looks up its name; `name` as in struct append. False with the fault set if there is no answer. */
bool mailbox_folder(struct mailbox *mailbox, const char *name, struct mailbox_folder *ret, struct fault *fault) OD_MUST;

struct mailbox_rights {
    bool exists;
    bool known;       /* the server says so (ACL) */
    char letters[64]; /* l lookup, r read, s seen, w flags, i insert, k create, ... (RFC 4314, 2.1) */
};

/* Looks up a mailbox, which stores nothing there. False with the fault set if there is no answer, or the answer is that it
 * cannot be opened, or that no such mailbox can be. */
bool mailbox_rights(struct mailbox *mailbox, const char *name, struct mailbox_rights *ret, struct fault *fault) OD_MUST;

/* Creates a mailbox, as far as the settings allow it, and deletes it. The name must be one that nobody uses. False with the
 * fault set if it cannot be created. *ret_left: it could not be deleted, or was there before; set on true only. */
bool mailbox_try_create(struct mailbox *mailbox, const char *name, bool *ret_left, struct fault *fault) OD_MUST;

#endif
