/* SPDX-License-Identifier: ISC
 *
 * Copies a ledger into another one, of any engine: all rows with their numbers, table by table. The target must be empty,
 * or hold the beginning of the same rows from an earlier time. */
#ifndef ONCEDROP_LEDGER_TRANSFER_H
#define ONCEDROP_LEDGER_TRANSFER_H

#include "ledger/ledger.h"

#define LEDGER_TRANSFER_TABLES 10

struct ledger_transferred {
    const char *table;
    int64_t rows, added; /* in the source; now, to the target */
};

/* Begins to read a ledger, all of it in one state. Unless `running`, nobody else can write to it until it is closed.
 * False with the fault set on trouble, or because deliveries are under way. */
bool ledger_transfer_begin(struct ledger *source, bool running, struct fault *fault) OD_MUST;

/* Copies one table, by its number from 0; in this order each finds what its rows belong to. False with the fault set:
 * what was added before stays. */
bool ledger_transfer_table(struct ledger *source, struct ledger *target, size_t table, struct ledger_transferred *ret,
                           struct fault *fault) OD_MUST;

/* After all tables: copies what was counted, and lets new rows have new numbers. */
bool ledger_transfer_end(struct ledger *source, struct ledger *target, struct fault *fault) OD_MUST;

/* Whether both ledgers are the same: all rows, and the numbers that new ones get. False with the fault set: which table
 * is not, or on trouble. */
bool ledger_transfer_compare(struct ledger *source, struct ledger *target, struct fault *fault) OD_MUST;

#endif
