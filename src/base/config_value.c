/* SPDX-License-Identifier: ISC */
#include "base/config_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
    const char *name;
    int64_t factor;
};

/* Ascending; a value is printed in the last that divides it. */
static const struct unit number_units[] = {{"", 1}, {NULL, 0}};
static const struct unit size_units[] = {{"", 1}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}, {NULL, 0}};
static const struct unit duration_units[] = {
    {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}, {NULL, 0},
};

static const struct unit *units_of(enum setting_type type)
{
    return type == SETTING_DURATION ? duration_units : type == SETTING_SIZE ? size_units : number_units;
}

static bool parse_number(const char *text, enum setting_type type, int64_t *ret)
{
    char *end;
    errno = 0;
    int64_t value = strtoll(text, &end, 10);
    if (!g_ascii_isdigit(*text) || errno != 0)
        return false;
    const char *name = *end == '\0' && type == SETTING_DURATION ? "s" : end;
    const struct unit *unit = units_of(type);
    while (unit->name != NULL && strcmp(unit->name, name) != 0)
        unit++;
    if (unit->name == NULL || __builtin_mul_overflow(value, unit->factor, &value))
        return false;
    *ret = value;
    return true;
}

enum config_engine config_engine(const struct config *config)
{
    static const struct {
        const char *scheme;
        enum config_engine engine;
    } schemes[] = {
        {CONFIG_SQLITE, CONFIG_ENGINE_SQLITE},
        {CONFIG_MARIADB, CONFIG_ENGINE_MARIADB},
        {CONFIG_MYSQL, CONFIG_ENGINE_MARIADB},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(schemes); i++)
        if (strncmp(config->database.conninfo, schemes[i].scheme, strlen(schemes[i].scheme)) == 0)
            return schemes[i].engine;
    return CONFIG_ENGINE_POSTGRES;
}

bool config_is_file(const struct config *config)
{
    return config_engine(config) == CONFIG_ENGINE_SQLITE;
}

bool config_in_force(const struct config *config, const struct setting *setting)
{
    static const unsigned flags[] = {
        [CONFIG_ENGINE_POSTGRES] = SETTING_POSTGRES,
        [CONFIG_ENGINE_SQLITE] = 0,
        [CONFIG_ENGINE_MARIADB] = SETTING_MARIADB,
    };
    const unsigned all = SETTING_POSTGRES | SETTING_MARIADB;
    return (setting->flags & all) == 0 || (setting->flags & flags[config_engine(config)]) != 0;
}

bool config_parse_duration(const char *text, int64_t *ret)
{
    return parse_number(text, SETTING_DURATION, ret);
}

bool config_parse_size(const char *text, int64_t *ret)
{
    return parse_number(text, SETTING_SIZE, ret);
}

static char *number_text(int64_t value, enum setting_type type)
{
    const struct unit *units = units_of(type);
    const struct unit *best = units;
    if (value == 0 && type == SETTING_DURATION)
        return base_strdup("0s");
    for (const struct unit *unit = units; unit->name != NULL && value != 0; unit++)
        if (value % unit->factor == 0)
            best = unit;
    return base_printf("%lld%s", (long long)(value / best->factor), best->name);
}

static bool set_number(int64_t *field, const struct setting *setting, const char *text, struct error *error)
{
    static const char *const wrong[] = {
        [SETTING_NUMBER] = "not a number",
        [SETTING_DURATION] = "not a duration (examples: 90s, 2m, 1h)",
        [SETTING_SIZE] = "not a size (examples: 64K, 100M, 1G)",
    };
    int64_t value;
    if (!parse_number(text, setting->type, &value))
        return error_set(error, "%s", wrong[setting->type]);
    bool zero = value == 0 && (setting->flags & SETTING_OR_ZERO);
    if (!zero && (value < setting->min || value > setting->max)) {
        char *min OD_CLEANUP(base_free) = number_text(setting->min, setting->type);
        char *max OD_CLEANUP(base_free) = number_text(setting->max, setting->type);
        return error_set(error, "out of range; allowed is %s%s to %s", setting->flags & SETTING_OR_ZERO ? "0, or " : "",
                         min, max);
    }
    *field = value;
    return true;
}

static bool set_choice(int *field, const struct setting *setting, const char *text, struct error *error)
{
    const char *const *names = setting->choices;
    g_autoptr(GString) allowed = g_string_new(names[0]);
    for (int i = 0; names[i] != NULL; i++)
        if (strcmp(names[i], text) == 0) {
            *field = i;
            return true;
        }
    for (int i = 1; names[i] != NULL; i++)
        g_string_append_printf(allowed, "%s%s", names[i + 1] != NULL ? ", " : " or ", names[i]);
    return error_set(error, "must be %s", allowed->str);
}

static bool set_yes_no(bool *field, const char *text, struct error *error)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        return error_set(error, "must be yes or no");
    *field = *text == 'y';
    return true;
}

static bool set_string(char **field, const struct setting *setting, const char *text, struct error *error)
{
    if (!*text && (setting->flags & SETTING_REQUIRED))
        return error_set(error, "must not be empty");
    if ((setting->flags & SETTING_WORD) && strpbrk(text, " \t") != NULL)
        return error_set(error, "must not contain blanks");
    free(*field);
    *field = base_strdup(text);
    return true;
}

/* A field name (RFC 5322, 3.6.8), possibly with *, but not * alone: messages with one body would be equal. */
static bool is_field_pattern(const char *item, size_t length)
{
    if (length > 0 && item[length - 1] == '*')
        length--;
    for (size_t i = 0; i < length; i++)
        if (item[i] < '!' || item[i] > '~' || item[i] == ':' || item[i] == '*')
            return false;
    return length > 0;
}

static bool set_fields(char ***field, const char *text, struct error *error)
{
    static const char between[] = ";, \t";
    g_auto(GStrv) list = base_alloc(sizeof(*list) * (strlen(text) / 2 + 2));
    size_t count = 0;
    for (text += strspn(text, between); *text; text += strspn(text, between)) {
        size_t length = strcspn(text, between);
        if (!is_field_pattern(text, length))
            return error_set(error, "%.*s is not a header field name (examples: X-Scanned-By, X-Filter-*)",
                             (int)MIN(length, 80), text);
        list[count++] = base_strndup(text, length);
        text += length;
    }
    g_strfreev(*field);
    *field = g_steal_pointer(&list);
    return true;
}

static bool check_text(const struct setting *setting, const char *text, struct error *error)
{
    if (!g_utf8_validate(text, -1, NULL))
        return error_set(error, "not valid UTF-8");
    for (const char *at = text; *at; at++) {
        if ((*at > 0 && *at < ' ' && *at != '\t') || *at == 0x7f)
            return error_set(error, "contains a control character");
        if (*at == '#' && (at == text || at[-1] == ' ' || at[-1] == '\t') && !(setting->flags & SETTING_HASH))
            return error_set(error, "a comment must be on a separate line");
    }
    return true;
}

bool config_value_set(struct config *config, const struct setting *setting, const char *text, struct error *error)
{
    void *field = (char *)config + setting->offset;
    if (!check_text(setting, text, error))
        return false;
    switch (setting->type) {
    case SETTING_STRING:
        return set_string(field, setting, text, error);
    case SETTING_CHOICE:
        return set_choice(field, setting, text, error);
    case SETTING_YES_NO:
        return set_yes_no(field, text, error);
    case SETTING_FIELDS:
        return set_fields(field, text, error);
    case SETTING_NUMBER:
    case SETTING_DURATION:
    case SETTING_SIZE:
        return set_number(field, setting, text, error);
    }
    abort();
}

void config_value_free(struct config *config, const struct setting *setting)
{
    void *field = (char *)config + setting->offset;
    if (setting->type == SETTING_STRING)
        base_free(field);
    else if (setting->type == SETTING_FIELDS)
        g_clear_pointer((char ***)field, g_strfreev);
}

static char *any_number_text(int64_t value, const struct setting *setting)
{
    int64_t preset;
    if (parse_number(setting->text, setting->type, &preset) && preset == value)
        return base_strdup(setting->text);
    return number_text(value, setting->type);
}

char *config_value_text(const struct config *config, const struct setting *setting)
{
    const void *field = (const char *)config + setting->offset;
    switch (setting->type) {
    case SETTING_STRING:
        return base_strdup(*(char *const *)field);
    case SETTING_CHOICE:
        return base_strdup(setting->choices[*(const int *)field]);
    case SETTING_YES_NO:
        return base_strdup(*(const bool *)field ? "yes" : "no");
    case SETTING_FIELDS:
        return g_strjoinv(" ", *(char **const *)field);
    case SETTING_NUMBER:
    case SETTING_DURATION:
    case SETTING_SIZE:
        return any_number_text(*(const int64_t *)field, setting);
    }
    abort();
}
