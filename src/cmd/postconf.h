/* SPDX-License-Identifier: ISC
 *
 * Postfix's settings, from postconf(1) and postmap(1). */
#ifndef ONCEDROP_POSTCONF_H
#define ONCEDROP_POSTCONF_H

#include <glib.h>

#include "base/base.h"

struct postconf_service {
    char name[128], type[16];
    char daemon[64]; /* pipe, spawn, lmtp, … */
    char *line;      /* complete; NULL: end */
};

struct postconf {
    /* NULL: the default. */
    const char *directory;
    /* name → value; service/type/name → value of -o in master.cf */
    GHashTable *values;
    /* Set by main.cf. */
    GHashTable *own;
    /* Of master.cf. */
    struct postconf_service *services;
};

/* Returns NULL if Postfix is not installed or configured. directory is not copied. */
struct postconf *postconf_read(const char *directory) OD_MUST;

void postconf_free(struct postconf **postconf);

/* Returns a setting or its default, with references expanded; "" if unknown. service: whose -o overrides main.cf; or
 * NULL. */
const char *postconf_value(const struct postconf *postconf, const struct postconf_service *service,
                           const char *name) OD_MUST;

/* Searches a list of words and tables (type:name). Returns the word, else the first table's value, a new string; or
 * NULL. */
char *postconf_find(const struct postconf *postconf, const char *list, const char *key) OD_MUST;

/* Returns the first word of list, no table, that postconf_find() finds in other: a new string or NULL. */
char *postconf_shared(const struct postconf *postconf, const char *list, const char *other) OD_MUST;

#endif
