/* SPDX-License-Identifier: ISC
 *
 * Copies a ledger into another of any engine: all rows with their ids. The target must be empty, or hold the beginning
 * of the same rows. */
#ifndef ONCEDROP_LEDGER_TRANSFER_H
#define ONCEDROP_LEDGER_TRANSFER_H

#include "ledger/ledger.h"

#define LEDGER_TRANSFER_TABLES 10

struct ledger_transferred {
    const char *table;
    int64_t rows, added; /* in the source; now added */
};

/* Begins to read the source in one snapshot. Unless `running`, fails if a delivery is under way, and blocks other
 * writers until it is closed. */
bool ledger_transfer_begin(struct ledger *source, bool running, struct error *error) OD_MUST;

/* Copies one table, by number, in the order of their references. A failure keeps the rows added. */
bool ledger_transfer_table(struct ledger *source, struct ledger *target, size_t table, struct ledger_transferred *ret,
                           struct error *error) OD_MUST;

/* Copies, after all tables, the counts and the next ids. */
bool ledger_transfer_end(struct ledger *source, struct ledger *target, struct error *error) OD_MUST;

/* Returns true if rows and next ids are equal. The error names the table that differs. */
bool ledger_transfer_compare(struct ledger *source, struct ledger *target, struct error *error) OD_MUST;

#endif
