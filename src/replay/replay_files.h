/* SPDX-License-Identifier: ISC
 *
 * Messages in files, for `replay`: single messages, mboxes, Maildirs, directories of any of these, and standard input.
 * Files are only read. */
#ifndef ONCEDROP_REPLAY_FILES_H
#define ONCEDROP_REPLAY_FILES_H

#include "replay/replay_run.h"

struct replay_files;

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

size_t replay_files_count(const struct replay_files *files) OD_MUST;

void replay_files_free(struct replay_files **files);

/* For struct replay_source; context is a struct replay_files. Its tasks are for replay_files_load. */
bool replay_files_next(void *context, char **ret_name, GVariant **ret_task);

/* For struct replay_setup, whose load_context is a struct replay_envelope: reads the message, and its envelope from its
 * header. If an mbox message has lines that look quoted, the reading that the ledger knows is preferred, so that a
 * message that was delivered before is recognised. */
enum replay_load replay_files_load(struct replay_worker *worker, GVariant *task, struct replay_message *ret,
                                   struct fault *fault) OD_MUST;

#endif
