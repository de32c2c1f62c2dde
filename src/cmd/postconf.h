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
    char *line;      /* all of it, with the arguments; NULL behind the last service */
};

struct postconf {
    /* Where Postfix's configuration is; NULL: in the default directory. */
    const char *directory;
    /* name → value of main.cf and its defaults; service/type/name → value of -o in master.cf */
    GHashTable *values;
    /* Those that main.cf itself sets. */
    GHashTable *own;
    /* Of master.cf. */
    struct postconf_service *services;
};

/* directory: not copied. Returns NULL if Postfix is not installed, or not configured. */
struct postconf *postconf_read(const char *directory) OD_MUST;

void postconf_free(struct postconf **postconf);

/* The value of a setting, or its default, with references expanded; "" if Postfix does not know it. service: whose own -o
 * overrides main.cf; NULL: none. */
const char *postconf_value(const struct postconf *postconf, const struct postconf_service *service,
                           const char *name) OD_MUST;

/* Looks a key up in a list of words and tables (type:name). Returns the word, else what the first table that knows the key
 * has for it: a new string; NULL if there is nothing. */
char *postconf_find(const struct postconf *postconf, const char *list, const char *key) OD_MUST;

/* The first word of one list that is in the other, too, a new string or NULL. Two tables cannot be compared. */
char *postconf_shared(const struct postconf *postconf, const char *list, const char *other) OD_MUST;

#endif
