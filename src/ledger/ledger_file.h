/* SPDX-License-Identifier: ISC
 *
 * A ledger that is a file (config_is_file): a copy of it, and whether it is whole. */
#ifndef ONCEDROP_LEDGER_FILE_H
#define ONCEDROP_LEDGER_FILE_H

#include "ledger/ledger_query.h"

/* Writes a copy of the ledger into a new file, while deliveries go on; it is on the disk when this returns. False with
 * the fault set: there is such a file, or it could not be written; then there is none. */
bool ledger_backup(const struct config *config, const char *file, struct fault *fault) OD_MUST;

/* Reads all of the file: one row for each thing that is wrong with it, a text. NULL with the fault set on trouble. */
struct ledger_table *ledger_damage(struct ledger *ledger, struct fault *fault) OD_MUST;

#endif
