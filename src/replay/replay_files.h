/* SPDX-License-Identifier: ISC
 *
 * Messages in files, for `replay`: single messages, mboxes, Maildirs, directories of any of these, and standard input.
 * Files are only read. */
#ifndef ONCEDROP_REPLAY_FILES_H
#define ONCEDROP_REPLAY_FILES_H

#include "replay/replay_envelope.h"
#include "replay/replay_mbox.h"

struct replay_file {
    char *path;                /* without symbolic links, for replay_open: the workers open it again */
    char *shown;               /* the name for people */
    int fd;                    /* of the contents of standard input, which the workers inherit; -1: of another file */
    enum mbox_quoting quoting; /* of an mbox */
};

/* A message in a file. */
struct replay_item {
    const struct replay_file *file;
    guint number;           /* in its mbox, from 1; 0: the file is the message */
    struct mbox_message at; /* if number is not 0 */
};

/* The context for struct replay_setup; a message's number there is its index among the items. */
struct replay_files {
    struct replay_envelope envelope; /* as given; set by the caller */
    GPtrArray *files;                /* of struct replay_file * */
    GArray *items;                   /* of struct replay_item */
    bool as_root;
    guint next;
};

struct replay_files *replay_files_new(void) OD_MUST;

/* Adds the messages that a path of the command line leads to, in the order of their names:
 *
 * file        an mbox if it begins with a From_ line (and is not called *.eml or *.msg), else one message
 * directory   every file below it whose name does not begin with a dot; of a Maildir (with cur and new) only what is in
 *             cur and new, including its folders
 * -           standard input, read to its end, treated as a file
 *
 * Links that the path leads over are followed, but not by root. False with the fault set if it cannot be read or
 * contains no message. */
bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_setup. replay_files_load reads the message, and its envelope from its header. If an mbox message has
 * lines that look quoted, the reading that the ledger knows is preferred, so that a message that was delivered before is
 * recognised. */
bool replay_files_next(void *context, char **ret_name, int64_t *ret_number, struct fault *fault);
enum replay_load replay_files_load(struct replay_worker *worker, int64_t number, struct replay_message *ret,
                                   struct fault *fault) OD_MUST;

#endif
