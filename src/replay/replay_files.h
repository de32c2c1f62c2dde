/* SPDX-License-Identifier: ISC
 *
 * Messages in files, for `replay`: single messages, mboxes, Maildirs, directories of these, and standard input. Files
 * are only read. */
#ifndef ONCEDROP_REPLAY_FILES_H
#define ONCEDROP_REPLAY_FILES_H

#include "replay/replay_envelope.h"
#include "replay/replay_mbox.h"

struct replay_file {
    char *path;                /* without symbolic links; workers replay_open it again */
    char *shown;               /* name for people */
    int fd;                    /* standard input's contents, inherited by workers; -1: a file */
    enum mbox_quoting quoting; /* of an mbox */
};

/* A message in a file. */
struct replay_item {
    const struct replay_file *file;
    guint number;           /* in its mbox, from 1; 0: the file is the message */
    struct mbox_message at; /* if number > 0 */
};

/* Context of struct replay_setup, in which an index of items is a message's number. */
struct replay_files {
    struct replay_envelope envelope; /* set by the caller */
    GPtrArray *files;                /* of struct replay_file * */
    GArray *items;                   /* of struct replay_item */
    bool as_root;
    guint next;
};

struct replay_files *replay_files_new(void) OD_MUST;

/* Adds the messages of a path on the command line, in the order of their names.
 *
 * file       an mbox if it begins with a From_ line and is not called *.eml or *.msg, else one message
 * directory  every file below it, except names with a leading dot; of a Maildir (with cur and new) only cur and new,
 *            also of its folders
 * -          standard input, read to its end, like a file
 *
 * Follows links in the path, but not for root. Returns false with the error set if it cannot be read or has no
 * message. */
bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_setup. replay_files_load reads a message and its envelope. If an mbox message has lines that look
 * quoted, it prefers the reading that the ledger knows, to recognise a delivered message. */
bool replay_files_next(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);
enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct fault *fault) OD_MUST;

#endif
