/* SPDX-License-Identifier: ISC
 *
 * Shared by the config_*.c files: the table of settings, and functions that work on one row of it. */
#ifndef ONCEDROP_CONFIG_TABLE_H
#define ONCEDROP_CONFIG_TABLE_H

#include <glib.h>

#include "base/config.h"

enum setting_type {
    SETTING_STRING,   /* char * */
    SETTING_NUMBER,   /* int64_t */
    SETTING_DURATION, /* int64_t, milliseconds */
    SETTING_SIZE,     /* int64_t, bytes */
    SETTING_CHOICE,   /* an enum */
    SETTING_YES_NO,   /* bool */
    SETTING_FIELDS,   /* char **, header field names */
};

enum setting_flag {
    SETTING_REQUIRED = 1,  /* must not be empty */
    SETTING_WORD = 2,      /* contains no blanks */
    SETTING_HASH = 4,      /* may contain " #"; elsewhere that is a misplaced comment */
    SETTING_SECRET = 8,    /* never shown in full */
    SETTING_OR_ZERO = 16,  /* 0 is allowed in addition to the range */
    SETTING_POSTGRES = 32, /* belongs to PostgreSQL, ... */
    SETTING_MARIADB = 64,  /* ... to MariaDB; without both, to every ledger */
};

struct setting {
    const char *group;
    const char *name;
    enum setting_type type;
    size_t offset;    /* in struct config */
    const char *text; /* the default */
    int64_t min;
    int64_t max;
    const char *const *choices; /* NULL-terminated; the index is the value */
    unsigned flags;             /* of enum setting_flag */
    const char *help;           /* a phrase: what it sets */
};

extern const struct setting config_table[]; /* ends with a NULL group; the rows of a group are adjacent */
extern const size_t config_table_size;

/* NULL if there is no such setting, or with name NULL, no such group. */
const struct setting *config_table_find(const char *group, const char *name) OD_MUST;

/* Parses text (surrounding blanks already removed) into the setting's place in config. The fault says only what is
 * wrong with the value and what is allowed. */
bool config_value_set(struct config *config, const struct setting *setting, const char *text,
                      struct fault *fault) OD_MUST;

/* Whether the setting belongs to what the ledger is in. */
bool config_in_force(const struct config *config, const struct setting *setting) OD_MUST;

/* Frees what config_value_set allocated for this setting. */
void config_value_free(struct config *config, const struct setting *setting);

/* The value as written in a file, spelled as the default if it equals the default. To be freed by the caller. */
char *config_value_text(const struct config *config, const struct setting *setting) OD_MUST;

/* A configuration that is being loaded. */
struct config_loading {
    struct config *config;
    const char *file;
    const char **set_by;         /* [row of config_table]: the file, "-o", or NULL for a default */
    struct config_named **named; /* what was set for IMAP servers with a name (config_server.c) */
    GHashTable *credentials;     /* from systemd's credential to the password_file that it replaces (config_secret.c) */
    struct fault *fault;
};

/* config_server.c: the name in a group "imap NAME"; NULL: it is none. */
const char *config_server_of_group(const char *group) OD_MUST;

/* Whether a server may have this name; else the fault is set. */
bool config_server_check(const char *name, struct fault *fault) OD_MUST;

/* Keeps a setting of group [imap SERVER], as text, for config_named_build. False with the fault set: it cannot stand there,
 * or stands there twice. */
bool config_named_add(const struct config_loading *it, const char *origin, const char *server,
                      const struct setting *setting, const char *value) OD_MUST;

/* Makes the configurations of those servers: of what is checked and read already, with their own settings. False with the
 * fault set. */
bool config_named_build(const struct config_loading *it) OD_MUST;

void config_named_free(struct config_named **first);

/* Checks that the values are consistent. The fault names the origin, the group and the setting. */
bool config_check(const struct config_loading *loading) OD_MUST;

#endif
