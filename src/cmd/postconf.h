/* SPDX-License-Identifier: ISC
 *
 * Postfix's settings, as postconf(1) and postmap(1) report them. */
#ifndef ONCEDROP_POSTCONF_H
#define ONCEDROP_POSTCONF_H

#include "base/base.h"

/* A service of master.cf. Strings are never NULL. */
struct postconf_service {
    char *name;
    char *type;      /* unix, inet, … */
    char *processes; /* maxproc: a number, or "-" */
    char *daemon;    /* pipe, spawn, lmtp, … */
    char *arguments; /* what is behind that, on one line */
};

/* What was read of a Postfix; everything that is returned below belongs to it. */
struct postconf;

/* directory: of Postfix's configuration, NULL: the default; it is not copied. NULL: Postfix is not here, or is not
 * configured. */
struct postconf *postconf_read(const char *directory) OD_MUST;

void postconf_free(struct postconf **postconf);

/* The value of a setting of main.cf, or its default, with references expanded; "" when Postfix does not know it. */
const char *postconf_value(const struct postconf *postconf, const char *name) OD_MUST;

/* The same for a service: its own -o counts before main.cf. */
const char *postconf_value_for(const struct postconf *postconf, const struct postconf_service *service,
                               const char *name) OD_MUST;

/* Calls use for each setting that main.cf itself has, with its value as above. */
void postconf_each(const struct postconf *postconf, void (*use)(const char *name, const char *value, void *context),
                   void *context);

/* All of master.cf. */
const struct postconf_service *postconf_services(const struct postconf *postconf, size_t *ret_count) OD_MUST;

/* What the lookup table (type:name) has for a key, a new string; NULL: nothing, or the table cannot be read. */
char *postconf_lookup(const struct postconf *postconf, const char *table, const char *key) OD_MUST;

/* The words of a value that is a list, without empty ones; a new vector for g_strfreev. */
char **postconf_words(const char *value) OD_MUST;

#endif
