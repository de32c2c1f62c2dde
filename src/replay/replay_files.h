/* SPDX-License-Identifier: ISC
 *
 * Messages in files, which are only read: single ones, mboxes, Maildirs, directories, standard input. */
#ifndef ONCEDROP_REPLAY_FILES_H
#define ONCEDROP_REPLAY_FILES_H

#include "replay/replay_envelope.h"
#include "replay/replay_mbox.h"

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
 * Follows links, but not for root. Returns false with the error set if the path is unreadable or has no message. */
bool replay_files_add(struct replay_files *files, const char *path, struct error *error) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_setup. If lines look quoted, loads the reading that the ledger knows. */
bool replay_files_next(void *context, char **ret_name, int64_t *ret_number, struct error *error);
enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct error *error) OD_MUST;

#endif
