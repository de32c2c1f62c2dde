/* SPDX-License-Identifier: ISC
 *
 * Installs and upgrades the schema by version. */
#ifndef ONCEDROP_LEDGER_SCHEMA_H
#define ONCEDROP_LEDGER_SCHEMA_H

#include "ledger/ledger.h"

/* The schema version that this program needs. */
int ledger_schema_needed(const struct ledger *ledger) OD_MUST;

/* Creates what a session needs to begin, if it is missing: the file of a ledger that is one. */
bool ledger_schema_create(const struct config *config, struct fault *fault) OD_MUST;

/* The schema version in the database; *ret is 0 if the schema is not installed. */
bool ledger_schema_version(struct ledger *ledger, int *ret, struct fault *fault) OD_MUST;

/* Whether the database can have the schema: it must store text as UTF-8. Any other encoding would work until a message
 * contains text other than ASCII. False with the fault set if it cannot, or if there is no answer. */
bool ledger_schema_fits(struct ledger *ledger, struct fault *fault) OD_MUST;

/* Applies every file newer than the version in the database, in one transaction, one installer at a time. If there is
 * nothing to do, that is success. A new schema is installed only in a UTF-8 database. *ret_from is the version
 * found. */
bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct fault *fault) OD_MUST;

/* Records lock.method as the one that all hosts use; *ret receives the name of the one before, a new string. A new
 * schema has that of the settings it is installed with. */
bool ledger_schema_agree(struct ledger *ledger, char **ret, struct fault *fault) OD_MUST;

/* All that a new schema takes, as one transaction, with the name of the schema filled in: a new string (free(3)). NULL with
 * the fault set: the engine cannot be loaded. */
char *ledger_schema_script(const struct config *config, struct fault *fault) OD_MUST;

/* Why a function here or ledger_open failed: the database does not know the user of the process; the user lacks a right. Both
 * are false if the engine cannot be loaded. */
bool ledger_is_no_user(const struct config *config, const struct fault *fault) OD_MUST;
bool ledger_is_refused(const struct config *config, const struct fault *fault) OD_MUST;

#endif
