/* SPDX-License-Identifier: ISC
 *
 * What the files of base/config*.c share. */
#ifndef ONCEDROP_CONFIG_INTERNAL_H
#define ONCEDROP_CONFIG_INTERNAL_H

#include <glib.h>

#include "base/config.h"

/* config_table.c
 * The table of settings, and functions for one row. */

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
    SETTING_REQUIRED = 1,  /* not empty */
    SETTING_WORD = 2,      /* no blanks */
    SETTING_HASH = 4,      /* may contain " #", else a misplaced comment */
    SETTING_SECRET = 8,    /* never shown in full */
    SETTING_OR_ZERO = 16,  /* or 0 */
    SETTING_POSTGRES = 32, /* PostgreSQL only */
    SETTING_MARIADB = 64,  /* MariaDB only */
};

struct setting {
    const char *group;
    const char *name;
    enum setting_type type;
    size_t offset;
    const char *text; /* default */
    int64_t min;
    int64_t max;
    const char *const *choices; /* NULL-terminated; index: the value */
    unsigned flags;             /* enum setting_flag */
    const char *help;
};

extern const struct setting config_table[]; /* ends with a NULL group; groups are contiguous */
extern const size_t config_table_size;

/* Returns NULL if unknown. name NULL: finds any setting of the group. */
const struct setting *config_table_find(const char *group, const char *name) OD_MUST;

/* config_value.c */

/* Parses text, without surrounding blanks, into config. The error says what is wrong and what is allowed. */
bool config_value_set(struct config *config, const struct setting *setting, const char *text,
                      struct error *error) OD_MUST;

/* Returns false for another engine's setting. */
bool config_in_force(const struct config *config, const struct setting *setting) OD_MUST;

void config_value_free(struct config *config, const struct setting *setting);

/* Returns a new string: the value, a default as the table spells it. */
char *config_value_text(const struct config *config, const struct setting *setting) OD_MUST;

/* config_load.c: a configuration being loaded. */
struct config_loading {
    struct config *config;
    const char *file;
    const char **set_by;         /* [row]: file, "-o", or NULL (default) */
    struct config_named **named; /* settings of [imap NAME] and [feed NAME] */
    GHashTable *credentials;     /* from credential to replaced password_file */
    struct error *error;
};

/* config_named.c: [imap NAME] and [feed NAME] */

/* Returns NAME of "imap NAME" or "feed NAME", with *group the group without it; else NULL. */
const char *config_name_of_group(const char **group) OD_MUST;

bool config_name_check(const char *group, const char *name, struct error *error) OD_MUST;

/* At the line [GROUP NAME]. A feed needs no settings. */
bool config_named_begin(const struct config_loading *it, const char *group, const char *name) OD_MUST;

/* Stores a setting of [GROUP NAME] for config_named_build. Returns false if it is not allowed, or set twice. */
bool config_named_add(const struct config_loading *it, const char *origin, const char *name,
                      const struct setting *setting, const char *value) OD_MUST;

/* Builds the configurations of servers and feeds: the checked one, with their settings. */
bool config_named_build(const struct config_loading *it) OD_MUST;

void config_named_free(struct config_named **first);

/* config_check.c */

bool config_check(const struct config_loading *loading) OD_MUST;

/* secret_file.c */

/* Reads the password, from systemd's copy if there is one. The error names the setting. */
bool config_secret_read(const struct config_loading *it) OD_MUST;

#endif
