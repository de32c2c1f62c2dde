/* SPDX-License-Identifier: ISC
 *
 * A ledger that is a file (config_is_file): backup and integrity check. */
#ifndef ONCEDROP_LEDGER_FILE_H
#define ONCEDROP_LEDGER_FILE_H

#include "ledger/ledger_query.h"

/* Writes a copy to a new file, synced, while deliveries go on. Fails if the file exists; leaves no partial file. */
bool ledger_backup(const struct config *config, const char *file, struct error *error) OD_MUST;

/* Returns a row of text for each defect. */
struct sql_rows *ledger_damage(struct ledger *ledger, struct error *error) OD_MUST;

#endif
