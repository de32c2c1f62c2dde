/* SPDX-License-Identifier: ISC
 *
 * Deliveries from files, mboxes and the ledger. The parent (replay_run.c) gives messages to workers (replay_task.c), which
 * load them from files (replay_files.c) or the ledger (replay_ledger.c). */
#ifndef ONCEDROP_REPLAY_H
#define ONCEDROP_REPLAY_H

#include <glib.h>
#include <jansson.h>

#include "base/base.h"
#include "delivery/delivery.h"
#include "delivery/outcome.h"
#include "message/message.h"

/* replay_result.c
 * The result of a message: the object that --json prints, with three members more for the parent.
 *
 * name         set by the parent
 * error        why the message could not be loaded, else null
 * message_id   null if there is none or it is not loaded
 * digest       hexadecimal; null if not loaded
 * size
 * recipients   array of {recipient, status, dsn, text, account, mailbox, uid}; recipient "": the Sent copy; status,
 *              dsn: set when printed; others: "" or 0 if unknown
 * load         enum replay_load, not printed; in each recipient: outcome, enum outcome, not printed */

enum replay_load {
    REPLAY_LOADED,
    REPLAY_NOTHING, /* nothing left to do */
    REPLAY_ERROR,   /* temporary failure, error set */
    REPLAY_BAD,     /* permanent failure, error set */
};

/* Returns a JSON string; U+FFFD replaces invalid UTF-8. */
json_t *replay_json_text(const char *text) OD_MUST;

/* error: or "". message: NULL if not loaded. */
json_t *replay_result_new(enum replay_load load, const char *error, const struct message *message) OD_MUST;

/* account, mailbox: or NULL. */
void replay_result_add(json_t *result, const char *recipient, const struct report *report, const char *account,
                       const char *mailbox, uint32_t uid);

void replay_result_change(json_t *recipient, enum outcome outcome, const char *text);

/* Return members of a result or recipient; "" for null. */
enum replay_load replay_result_load(const json_t *result) OD_MUST;
enum outcome replay_result_outcome(const json_t *recipient) OD_MUST;
const char *replay_result_text(const json_t *object, const char *member) OD_MUST;
json_t *replay_result_recipients(const json_t *result) OD_MUST; /* borrowed */

/* replay_task.c
 * A worker: delivers a task's message as `deliver` and `lmtp` do. Tasks and results (replay_result.c) are JSON. */

/* A message and its envelope; owns its strings. */
struct replay_message {
    struct message *message;
    char *sender;
    char *queue_id;            /* or NULL */
    char **recipients;         /* NULL-terminated */
    char **originals;          /* of recipients, "" if none; or NULL */
    bool sender_known;         /* sender_route is set */
    struct route sender_route; /* account NULL: no Sent copy is due */
    int64_t received_at;       /* 0: now */
    bool id_only;              /* bytes unknown: only search for it (delivery.h) */
};

struct replay_worker;

struct replay_setup {
    const char *command;
    const char *hint; /* how to continue */
    const struct config *config;
    size_t total; /* of messages; 0: unknown */
    /* Sets the next message's number and its name for display, a new string. Returns false at the end, or with the
     * error set. */
    bool (*next)(void *context, char **ret_name, int64_t *ret_number, struct error *error);
    /* Called in a worker, a copy of the parent at the worker's start. Sets *ret only with REPLAY_LOADED. */
    enum replay_load (*load)(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                             struct error *error);
    void *context;
    size_t jobs; /* workers, at least 1 */
    enum delivery_redeliver redeliver;
    const char *only_account; /* as in struct delivery_request */
    bool restores;            /* count copies, also deleted and missing */
    bool dry_run;
    bool json;
};

/* Connections outlive a message. */
struct replay_worker {
    const struct replay_setup *setup;
    struct ledger *ledger; /* NULL at first and after an error */
    struct sessions *sessions;
};

/* Call first in a worker. */
struct replay_worker *replay_task_begin(const struct replay_setup *setup) OD_MUST;

/* task: {number, left}; left: an array of recipients; null: all. Returns the result. */
json_t *replay_task_serve(struct replay_worker *worker, const json_t *task) OD_MUST;

/* Connects if necessary. Returns NULL with the error set. */
struct ledger *replay_task_ledger(struct replay_worker *worker, struct error *error) OD_MUST;

/* replay_mbox.c
 * The mbox format (mbox(5), RFC 4155). Its dialect is declared. A file that contradicts it is rejected: a wrong beginning
 * would make two messages of one, and a missed one would join two. */

enum mbox_dialect {
    MBOX_RD,  /* ">From " was "From ", ">>From " was ">From ", ... */
    MBOX_O,   /* ">From " was "From " */
    MBOX_CL2, /* nothing is quoted, since Content-Length says where each message ends; also for a single message */
};

struct mbox_message {
    int64_t offset, size; /* bytes, without From_ line and the empty line after */
    int64_t from_time;    /* seconds since 1970; 0: unreadable */
};

/* Scans fd from its beginning.
 *
 * *ret_messages  new array of struct mbox_message; NULL if this is no mbox
 *
 * Returns false with the error set on a read error, or if a line contradicts the dialect or may be read in two ways. */
bool mbox_scan(int fd, enum mbox_dialect dialect, GArray **ret_messages, struct error *error) OD_MUST;

/* Removes quoting from pieces of any size. Initially zero except `dialect`. */
struct mbox_unquote {
    enum mbox_dialect dialect;
    bool inside;           /* within a line, after its start */
    size_t marks, matched; /* '>' and bytes of "From " held back */
    bool met;              /* ">...From " occurred: dialects differ */
};

/* Append unquoted bytes to out. */
void mbox_unquote_feed(struct mbox_unquote *unquote, const char *bytes, size_t size, GString *out);
void mbox_unquote_end(struct mbox_unquote *unquote, GString *out);

/* replay_files.c
 * Messages in files, which are only read: single ones, mboxes, Maildirs, directories, standard input. */

struct replay_file {
    char *path;  /* without symbolic links */
    char *shown; /* name for people */
    int fd;      /* standard input, inherited by workers; else -1 */
};

struct replay_item {
    const struct replay_file *file;
    guint number;           /* in its mbox, from 1; 0: the file is the message */
    struct mbox_message at; /* if number > 0 */
};

/* Of messages in files: from the command line, else their header. */
struct replay_envelope {
    const char *sender;    /* NULL: Return-Path, else "" */
    GPtrArray *recipients; /* of const char *; empty: from the header */
};

/* Context of struct replay_setup; a message's number is its index in items. */
struct replay_files {
    struct replay_envelope envelope; /* set by the caller */
    enum mbox_dialect dialect;       /* of all mboxes; set by the caller */
    GPtrArray *files;                /* of struct replay_file * */
    GArray *items;                   /* of struct replay_item */
    bool as_root;
    guint next;
};

struct replay_files *replay_files_new(void) OD_MUST;

/* Adds a path's messages, ordered by name.
 *
 * file       an mbox if it begins with "From " and is not *.eml or *.msg, nor in a Maildir; else one message
 * directory  every file below it, except names with a leading dot; of a Maildir only cur and new, also of its folders
 * -          standard input
 *
 * Follows links, but not for root. Returns false with the error set if there is no message. */
bool replay_files_add(struct replay_files *files, const char *path, struct error *error) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_setup. If lines look quoted, loads the reading that the ledger knows. */
bool replay_files_next(void *context, char **ret_name, int64_t *ret_number, struct error *error);
enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct error *error) OD_MUST;

/* replay_ledger.c
 * Messages from the ledger, for struct replay_setup. */

/* Messages that can be finished or, if stored, have a stored copy, in order of recording. The caller sets the first
 * members. */
struct replay_ledger {
    struct ledger *ledger;
    bool stored;
    const char *account, *since; /* as for ledger_stored_ids */
    int64_t ids[500];
    size_t count, at;
};

bool replay_ledger_next(void *context, char **ret_name, int64_t *ret_number, struct error *error);

/* Reads the message again, to skip what others finished: with the recipients whose copy is unfinished or, if `stored`,
 * was stored. The bytes must match the digest; only if stored, they may be missing, which sets id_only. */
enum replay_load replay_ledger_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                    struct error *error) OD_MUST;

/* replay_run.c
 * The parent: assigns messages to workers, retries, and reports results. */

/* Delivers every message of setup->next. While another delivery is making one, retries it with backoff. SIGINT or SIGTERM
 * only finishes messages in flight.
 *
 * error  why setup->next ended early, for the caller to report; or ""
 *
 * Returns 0 if all is in place; EX_DATAERR if some failed permanently or are missing; else EX_TEMPFAIL: some were
 * deferred or not tried. */
int replay_run(const struct replay_setup *setup, struct error *error) OD_MUST;

#endif
