/* SPDX-License-Identifier: ISC
 *
 * What the config_*.c files share: the table of settings, and what is done with one row of it. */
#ifndef ONCEDROP_CONFIG_TABLE_H
#define ONCEDROP_CONFIG_TABLE_H

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
    SETTING_REQUIRED = 1, /* must not be empty */
    SETTING_WORD = 2,     /* has no blanks */
    SETTING_HASH = 4,     /* may contain " #", which elsewhere is a misplaced comment */
    SETTING_SECRET = 8,   /* never shown as it is */
    SETTING_OR_ZERO = 16, /* 0 is allowed besides the range */
};

struct choice {
    const char *name; /* NULL ends the list */
    int value;
    bool missing; /* known, but not built yet: refused */
};

struct setting {
    const char *group;
    const char *name;
    enum setting_type type;
    size_t offset;    /* in struct config */
    const char *text; /* default */
    int64_t min;
    int64_t max;
    const struct choice *choices;
    unsigned flags;   /* of enum setting_flag */
    const char *help; /* what it sets, a phrase */
};

extern const struct setting config_table[]; /* ends with a group of NULL; the rows of a group are neighbours */
extern const size_t config_table_size;

/* NULL when there is none. */
const struct setting *config_table_find(const char *group, const char *name) OD_MUST;

bool config_table_has_group(const char *group) OD_MUST;

/* Parses text (outer blanks already off) into the setting's place in config. The fault says what is wrong with the
 * value and what is allowed, no more. */
bool config_value_set(struct config *config, const struct setting *setting, const char *text,
                      struct fault *fault) OD_MUST;

/* Frees what config_value_set allocated for it. */
void config_value_free(struct config *config, const struct setting *setting);

/* The value as it is written in a file, in the default's own words when it equals the default; to be freed. */
char *config_value_text(const struct config *config, const struct setting *setting) OD_MUST;

/* Reads all of a regular file that others cannot access, judged by the opened descriptor. *ret has a NUL behind its
 * *ret_size bytes and is to be freed. */
bool config_file_read(const char *path, size_t limit, char **ret, size_t *ret_size, struct fault *fault) OD_MUST;

/* Where the values came from: set_by[row of config_table] is file, "-o", or NULL for a default. */
struct config_origin {
    const char *file;
    const char **set_by;
};

/* Whether the values go together. The fault names the origin, the group and the key. */
bool config_check(const struct config *config, const struct config_origin *origin, struct fault *fault) OD_MUST;

#endif
