/* SPDX-License-Identifier: ISC
 *
 * Reads results. Rows are copied as they arrive, and their size is limited. */
#include <string.h>

#include "mariadb/maria.h"

/* What rows point to. */
struct owner {
    GByteArray *bytes; /* of all cells, each with a NUL after it */
    GPtrArray *names;
};

struct place {
    gsize at, size;
    bool none;
};

static void free_cells_of(void *context)
{
    struct owner *owner = context;
    g_byte_array_unref(owner->bytes);
    g_ptr_array_unref(owner->names);
    base_free(&owner);
}

static enum sql_type type_of_field(const MYSQL_FIELD *field, char type)
{
    if (type == 't')
        return SQL_TYPE_BOOL;
    if (type == 'j')
        return SQL_TYPE_JSON;
    return type == 'n' || IS_NUM(field->type) ? SQL_TYPE_NUMBER : SQL_TYPE_TEXT;
}

static struct place add_cell(GByteArray *bytes, const char *data, unsigned long size, bool boolean)
{
    struct place place = {.at = bytes->len, .size = boolean ? 1 : size, .none = data == NULL};
    if (data == NULL)
        return place;
    if (boolean)
        g_byte_array_append(bytes, (const guint8 *)(data[0] != '0' ? "t" : "f"), 1);
    else
        g_byte_array_append(bytes, (const guint8 *)data, (guint)size);
    g_byte_array_append(bytes, (const guint8 *)"", 1);
    return place;
}

/* Reads the next row; *ret is NULL after the last. */
static bool fetch(struct sql_session *maria, MYSQL_RES *result, MYSQL_ROW *ret, struct error *error)
{
    int64_t until = base_now_ms() + maria->timeout_ms;
    int status = mysql_fetch_row_start(ret, result);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return maria_lose(maria, error, "no answer in time");
        status = mysql_fetch_row_cont(ret, result, ready);
    }
    return *ret != NULL || mysql_errno(maria->mysql) == 0 || maria_statement_failed(maria, error);
}

static bool count_received(struct sql_session *maria, int64_t size, struct error *error)
{
    maria->received += size;
    if (maria->received <= maria->receive_max)
        return true;
    maria_hang_up(maria);
    return error_set(error, "database: the answer is larger than %lld MiB", (long long)(maria->receive_max >> 20));
}

static bool fetch_all(struct sql_session *maria, MYSQL_RES *result, const char *column_kinds, GByteArray *bytes,
                      GArray *places, struct error *error)
{
    unsigned columns = mysql_num_fields(result);
    size_t typed = strlen(column_kinds);
    for (MYSQL_ROW row; fetch(maria, result, &row, error);) {
        if (row == NULL)
            return true;
        const unsigned long *sizes = mysql_fetch_lengths(result);
        gsize before = bytes->len;
        for (unsigned column = 0; column < columns; column++) {
            struct place place =
                add_cell(bytes, row[column], sizes[column], column < typed && column_kinds[column] == 't');
            g_array_append_val(places, place);
        }
        if (!count_received(maria, (int64_t)(bytes->len - before) + columns, error))
            return false;
    }
    return false;
}

static struct sql_rows *rows_of(MYSQL_RES *result, const char *column_kinds, GByteArray *bytes, const GArray *places)
{
    size_t columns = mysql_num_fields(result), typed = strlen(column_kinds);
    const MYSQL_FIELD *fields = mysql_fetch_fields(result);
    struct sql_rows *rows = sql_rows_new(places->len / columns, columns);
    struct owner *owner = base_alloc(sizeof(*owner));
    *owner = (struct owner){.bytes = bytes, .names = g_ptr_array_new_with_free_func(g_free)};
    rows->owner = owner;
    rows->free_owner = free_cells_of;
    rows->changed = (int64_t)rows->count;
    for (size_t column = 0; column < columns; column++) {
        char *name = g_strdup(fields[column].name);
        g_ptr_array_add(owner->names, name);
        rows->names[column] = name;
        rows->types[column] = type_of_field(&fields[column], column < typed ? column_kinds[column] : '-');
    }
    for (guint i = 0; i < places->len; i++) {
        const struct place *place = &g_array_index(places, struct place, i);
        if (!place->none)
            rows->cells[i] = (struct sql_cell){.data = (const char *)bytes->data + place->at, .size = place->size};
    }
    return rows;
}

static struct sql_rows *read_rows(struct sql_session *maria, const char *column_kinds, struct error *error)
{
    MYSQL_RES *result = mysql_use_result(maria->mysql);
    if (result == NULL) {
        maria_lose(maria, error, "connection lost");
        return NULL;
    }
    GByteArray *bytes = g_byte_array_new();
    g_autoptr(GArray) places = g_array_new(FALSE, FALSE, sizeof(struct place));
    struct sql_rows *rows = NULL;
    if (fetch_all(maria, result, column_kinds, bytes, places, error))
        rows = rows_of(result, column_kinds, bytes, places);
    else
        g_byte_array_unref(bytes);
    mysql_free_result(result);
    return rows;
}

static bool begin_result(struct sql_session *maria, bool first, struct error *error)
{
    int64_t until = base_now_ms() + maria->timeout_ms;
    my_bool refused = 0;
    int failed = 0, status;
    if (!first && !mysql_more_results(maria->mysql)) /* results match no statements */
        return maria_lose(maria, error, "results are missing");
    status = first ? mysql_read_query_result_start(&refused, maria->mysql)
                   : mysql_next_result_start(&failed, maria->mysql);
    while (status != 0) {
        int ready = maria_wait(maria, status, until);
        if (ready == 0)
            return maria_lose(maria, error, "no answer in time");
        status = first ? mysql_read_query_result_cont(&refused, maria->mysql, ready)
                       : mysql_next_result_cont(&failed, maria->mysql, ready);
    }
    return (refused == 0 && failed == 0) || maria_statement_failed(maria, error);
}

struct sql_rows *maria_read(struct sql_session *maria, bool first, const char *column_kinds, struct error *error)
{
    if (maria->lost) {
        maria_lose(maria, error, "connection lost");
        return NULL;
    }
    if (!begin_result(maria, first, error))
        return NULL;
    if (mysql_field_count(maria->mysql) > 0)
        return read_rows(maria, column_kinds, error);
    struct sql_rows *rows = sql_rows_new(0, 0);
    rows->changed = (int64_t)mysql_affected_rows(maria->mysql);
    return rows;
}
