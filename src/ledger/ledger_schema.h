/* SPDX-License-Identifier: ISC
 *
 * Installs and upgrades the schema by version. */
#ifndef ONCEDROP_LEDGER_SCHEMA_H
#define ONCEDROP_LEDGER_SCHEMA_H

#include "ledger/ledger.h"

int ledger_schema_needed(const struct ledger *ledger) OD_MUST;

/* Creates what a session needs to begin, if it is missing: the file of a ledger that is one. */
bool ledger_schema_create(const struct config *config, struct error *error) OD_MUST;

/* Reads the version in the database; 0: none. */
bool ledger_schema_version(struct ledger *ledger, int *ret, struct error *error) OD_MUST;

/* Returns true if the database stores text as UTF-8. With another encoding only the first text that is not ASCII would
 * fail. */
bool ledger_schema_fits(struct ledger *ledger, struct error *error) OD_MUST;

/* Applies all newer versions, one installer at a time: in one transaction (MariaDB: DDL commits; files can be repeated).
 * Installs a new schema only in a UTF-8 database. *ret_from: the version before. */
bool ledger_schema_upgrade(struct ledger *ledger, int *ret_from, struct error *error) OD_MUST;

/* Records lock.method as the one of all hosts; a new schema has the installer's. *ret: the previous one, a new
 * string. */
bool ledger_schema_agree(struct ledger *ledger, char **ret, struct error *error) OD_MUST;

/* Returns the SQL of a new schema, one transaction: a new string (free(3)). */
char *ledger_schema_script(const struct config *config, struct error *error) OD_MUST;

/* Classify an error: the database does not know the process's user, or the user lacks a right. */
bool ledger_is_no_user(const struct config *config, const struct error *error) OD_MUST;
bool ledger_is_refused(const struct config *config, const struct error *error) OD_MUST;

#endif
