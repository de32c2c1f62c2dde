/* SPDX-License-Identifier: ISC
 *
 * The schema: installed and upgraded by version, from the files in schema/. */
#ifndef ONCEDROP_LEDGER_SCHEMA_H
#define ONCEDROP_LEDGER_SCHEMA_H

#include "ledger/ledger.h"

/* The version this program works with. */
int ledger_schema_needed(void) OD_MUST;

/* The version in the database; *ret is 0 when the schema is not installed. */
bool ledger_schema_version(struct ledger *ledger, int *ret, struct fault *fault) OD_MUST;

/* Whether the database keeps text as UTF-8. What is refused here works for a while, until a message has other text than
 * ASCII. False with the fault set when it does not, or does not answer. */
bool ledger_schema_encoding(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Applies every file newer than the version in the database, all in one transaction, one installer at a
 * time. Nothing to do is success; a new schema only in a database that keeps UTF-8. *ret_from is the version found. */
bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct fault *fault) OD_MUST;

/* The SQL of all versions after `from`, with the schema's name filled in: a new string (free(3)). */
char *ledger_schema_sql(const struct config *config, int from) OD_MUST;

#endif
