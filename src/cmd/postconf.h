/* SPDX-License-Identifier: ISC
 *
 * Postfix's settings, from postconf(1) and postmap(1). */
#ifndef ONCEDROP_POSTCONF_H
#define ONCEDROP_POSTCONF_H

#include "base/base.h"

/* A service of master.cf. Strings are never NULL. */
struct postconf_service {
    char *name;
    char *type;      /* unix, inet, … */
    char *processes; /* maxproc: a number, or "-" */
    char *daemon;    /* pipe, spawn, lmtp, … */
    char *arguments; /* the rest of the line, on one line */
};

/* The settings of a Postfix. It owns everything that is returned below. */
struct postconf;

/* directory: of Postfix's configuration, NULL: the default; it is not copied. Returns NULL if Postfix is not installed,
 * or not configured. */
struct postconf *postconf_read(const char *directory) OD_MUST;

void postconf_free(struct postconf **postconf);

/* The value of a setting in main.cf, or its default, with references expanded; "" if Postfix does not know it. */
const char *postconf_value(const struct postconf *postconf, const char *name) OD_MUST;

/* The same for a service: its own -o override main.cf. */
const char *postconf_value_for(const struct postconf *postconf, const struct postconf_service *service,
                               const char *name) OD_MUST;

/* Calls `use` for each setting in main.cf itself, with its value as above. */
void postconf_each(const struct postconf *postconf, void (*use)(const char *name, const char *value, void *context),
                   void *context);

/* All services in master.cf. */
const struct postconf_service *postconf_services(const struct postconf *postconf, size_t *ret_count) OD_MUST;

/* Looks a key up in a table (type:name): a new string; NULL if there is no entry, or the table cannot be read. */
char *postconf_lookup(const struct postconf *postconf, const char *table, const char *key) OD_MUST;

/* Whether a word of a list is a table (type:name). */
bool postconf_is_table(const char *word) OD_MUST;

/* Whether one of the tables in a list has the key. */
bool postconf_in_tables(const struct postconf *postconf, char **list, const char *key) OD_MUST;

/* The words of a list, without empty ones; a new vector for g_strfreev. */
char **postconf_words(const char *value) OD_MUST;

#endif
