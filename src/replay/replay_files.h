/* SPDX-License-Identifier: ISC
 *
 * Messages in files, for `replay`: single ones, mbox, Maildir, directories of any of these, standard input. Files are
 * only read. */
#ifndef ONCEDROP_REPLAY_FILES_H
#define ONCEDROP_REPLAY_FILES_H

#include "replay/replay_run.h"

struct replay_files;

struct replay_files *replay_files_new(void) OD_MUST;

/* Adds the messages that a path of the command line leads to, in the order of their names:
 *
 *   file        an mbox when it begins with a From_ line (and is not called *.eml or *.msg), else one message
 *   directory   every file below it whose name has no leading dot; of a Maildir (with cur and new) only what is in cur
 *               and new, of its folders too
 *   -           standard input, read to its end, as a file
 *
 * False with the fault set when it cannot be read or has no message. */
bool replay_files_add(struct replay_files *files, const char *path, struct fault *fault) OD_MUST;

size_t replay_files_count(const struct replay_files *files) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_source; context is a struct replay_files. The tasks are for replay_files_load. */
bool replay_files_next(void *context, char **ret_name, GVariant **ret_task);

/* For struct replay_setup, whose load_context is a struct replay_envelope: reads the message, and its envelope from its
 * header. Of an mbox message with lines that look quoted, that reading is taken which the ledger knows, if it knows
 * one; so that what was delivered once is recognised. */
enum replay_load replay_files_load(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                                   struct fault *fault) OD_MUST;

#endif
