/* SPDX-License-Identifier: ISC
 *
 * Parameters and rows. */
#include <stdlib.h>
#include <string.h>

#include "sqlite/lite.h"

static int bind_text(sqlite3_stmt *statement, int parameter, const struct sql_value *value)
{
    char *truncated = sql_value_truncate(value->text, value->size);
    return truncated != NULL ? sqlite3_bind_text(statement, parameter, truncated, -1, free)
                             : sqlite3_bind_text(statement, parameter, value->text, -1, SQLITE_STATIC);
}

static int bind_value(sqlite3_stmt *statement, int parameter, const struct sql_value *value)
{
    switch (value->kind) {
    case SQL_KIND_FORGOTTEN:
        abort(); /* sql_add checks */
    case SQL_KIND_NONE:
        return sqlite3_bind_null(statement, parameter);
    case SQL_KIND_TEXT:
        return bind_text(statement, parameter, value);
    case SQL_KIND_BOOL:
        return sqlite3_bind_int(statement, parameter, value->boolean);
    case SQL_KIND_NUMBER:
        return sqlite3_bind_int64(statement, parameter, value->number);
    case SQL_KIND_BYTES:
        return sqlite3_bind_blob64(statement, parameter, value->bytes, value->size, SQLITE_STATIC);
    case SQL_KIND_TEXTS:
    case SQL_KIND_NUMBERS:
        return sqlite3_bind_text(statement, parameter, sql_value_json(value), -1, free);
    }
    abort();
}

bool lite_bind(sqlite3_stmt *statement, size_t count, const struct sql_value *values)
{
    for (int parameter = 1; parameter <= sqlite3_bind_parameter_count(statement); parameter++) {
        size_t number = strtoul(sqlite3_bind_parameter_name(statement, parameter) + 1, NULL, 10);
        if (number < 1 || number > count)
            abort(); /* sql_text_render numbers them */
        if (bind_value(statement, parameter, &values[number - 1]) != SQLITE_OK)
            return false;
    }
    return true;
}

/* What rows point to. */
struct owner {
    GPtrArray *cells; /* by row: GBytes, or NULL */
    GPtrArray *names;
};

static void free_cells(void *context)
{
    struct owner *owner = context;
    g_ptr_array_unref(owner->cells);
    g_ptr_array_unref(owner->names);
    base_free(&owner);
}

static void free_cell(gpointer bytes)
{
    if (bytes != NULL)
        g_bytes_unref(bytes);
}

/* Appends a NUL. NULL: SQL NULL. */
static GBytes *cell_of(sqlite3_stmt *statement, int column, char type)
{
    if (sqlite3_column_type(statement, column) == SQLITE_NULL)
        return NULL;
    if (type == 't')
        return g_bytes_new_static(sqlite3_column_int(statement, column) ? "t" : "f", 2);
    bool blob = sqlite3_column_type(statement, column) == SQLITE_BLOB;
    const void *data = blob ? sqlite3_column_blob(statement, column) : sqlite3_column_text(statement, column);
    size_t size = (size_t)sqlite3_column_bytes(statement, column);
    char *copy = base_alloc(size + 1);
    if (size > 0)
        memcpy(copy, data, size);
    return g_bytes_new_take(copy, size + 1);
}

static enum sql_type column_type(sqlite3_stmt *statement, int column, char type)
{
    int there = sqlite3_column_type(statement, column);
    if (type == 't')
        return SQL_TYPE_BOOL;
    if (type == 'j')
        return SQL_TYPE_JSON;
    return type == 'n' || there == SQLITE_INTEGER || there == SQLITE_FLOAT ? SQL_TYPE_NUMBER : SQL_TYPE_TEXT;
}

struct sql_rows *lite_run(struct sql_session *lite, sqlite3_stmt *statement, const char *column_kinds,
                          struct error *error)
{
    int columns = sqlite3_column_count(statement), rc;
    size_t typed = strlen(column_kinds), count = 0;
    GPtrArray *cells = g_ptr_array_new_with_free_func(free_cell);
    enum sql_type *types OD_CLEANUP(base_free) = base_alloc(((size_t)columns + 1) * sizeof(*types));
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int column = 0; column < columns; column++) {
            char type = (size_t)column < typed ? column_kinds[column] : '-';
            g_ptr_array_add(cells, cell_of(statement, column, type));
            if (types[column] == SQL_TYPE_TEXT) /* from the first row with a value */
                types[column] = column_type(statement, column, type);
        }
        count++;
    }
    if (rc != SQLITE_DONE) {
        lite_fail(lite, rc, error);
        g_ptr_array_unref(cells);
        return NULL;
    }
    struct sql_rows *rows = sql_rows_new(count, (size_t)columns);
    struct owner *owner = base_alloc(sizeof(*owner));
    *owner = (struct owner){.cells = cells, .names = g_ptr_array_new_with_free_func(free)};
    rows->owner = owner;
    rows->free_owner = free_cells;
    rows->changed = sqlite3_column_count(statement) == 0 || count > 0 ? sqlite3_changes64(lite->db) : 0;
    for (int column = 0; column < columns; column++) {
        rows->names[column] = base_strdup(sqlite3_column_name(statement, column));
        g_ptr_array_add(owner->names, (gpointer)(uintptr_t)rows->names[column]);
        rows->types[column] = types[column];
    }
    for (guint i = 0; i < cells->len; i++) {
        gsize size = 0;
        const char *data = cells->pdata[i] != NULL ? g_bytes_get_data(cells->pdata[i], &size) : NULL;
        rows->cells[i] = (struct sql_cell){.data = data, .size = size > 0 ? size - 1 : 0};
    }
    return rows;
}
