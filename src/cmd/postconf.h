/* SPDX-License-Identifier: ISC
 *
 * Postfix's settings, as postconf(1) and postmap(1) tell them. */
#ifndef ONCEDROP_POSTCONF_H
#define ONCEDROP_POSTCONF_H

#include "base/base.h"

/* A service of master.cf. Strings are never NULL and belong to it. */
struct postconf_service {
    char *name;
    char *type;      /* unix, inet, … */
    char *processes; /* maxproc: a number, or "-" */
    char *daemon;    /* pipe, spawn, lmtp, … */
    char *arguments; /* what is behind that, on one line */
};

/* All of master.cf; to be freed with postconf_services_free. */
struct postconf_services {
    size_t count;
    struct postconf_service *all;
};

/* directory: of Postfix's configuration, NULL: the default. It counts from now on and is not copied. */
void postconf_use(const char *directory);

/* The value of a setting of main.cf with what it refers to put in, a new string; NULL: Postfix is not here, is not
 * configured, or does not know the name. */
char *postconf_value(const char *name) OD_MUST;

/* The same for a service: its own -o counts before main.cf. */
char *postconf_value_for(const struct postconf_service *service, const char *name) OD_MUST;

/* Calls use for each setting that main.cf itself has, with its value as above. */
void postconf_each(void (*use)(const char *name, const char *value, void *context), void *context);

/* False: as postconf_value's NULL. */
bool postconf_services(struct postconf_services *ret) OD_MUST;

void postconf_services_free(struct postconf_services *services);

/* What a lookup table (type:name) has for a key, a new string; NULL: nothing, or the table cannot be read. */
char *postconf_lookup(const char *table, const char *key) OD_MUST;

/* The words of a value that is a list, a new vector for g_strfreev; empty words are left out. */
char **postconf_words(const char *value) OD_MUST;

#endif
