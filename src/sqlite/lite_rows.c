/* SPDX-License-Identifier: ISC
 *
 * Parameters, rows and errors. */
#include <stdlib.h>
#include <string.h>

#include "sqlite/lite.h"

/* sqlite3_errstr returns descriptions, not names. */
const char *lite_error_name(int rc)
{
    static const struct {
        int rc;
        const char *name;
    } names[] = {
        {SQLITE_PERM, "PERM"},       {SQLITE_BUSY, "BUSY"},     {SQLITE_READONLY, "READONLY"},
        {SQLITE_IOERR, "IOERR"},     {SQLITE_FULL, "FULL"},     {SQLITE_CANTOPEN, "CANTOPEN"},
        {SQLITE_CORRUPT, "CORRUPT"}, {SQLITE_NOTADB, "NOTADB"}, {SQLITE_AUTH, "AUTH"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
        if (names[i].rc == (rc & 0xff))
            return names[i].name;
    return "";
}

bool lite_fail(struct sql_session *lite, int rc, struct error *error)
{
    int system = lite->db != NULL ? sqlite3_system_errno(lite->db) : 0;
    const char *name = lite_error_name(rc);
    error_set(error, "database: %s: %s%s%s", lite->path,
              lite->db != NULL ? sqlite3_errmsg(lite->db) : sqlite3_errstr(rc), system != 0 ? ": " : "",
              system != 0 ? strerror(system) : "");
    g_strlcpy(error->code, name, sizeof(error->code));
    lite->lost = lite->lost || strcmp(name, "IOERR") == 0 || strcmp(name, "CORRUPT") == 0 ||
                 strcmp(name, "NOTADB") == 0;
    return false;
}

bool lite_file_fail(const char *what, const char *path, struct error *error)
{
    return error_set(error, "database: cannot %s %s: %m", what, path);
}

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
        return sqlite3_bind_text(statement, parameter, sql_value_list(value, true), -1, free);
    }
    abort();
}

bool lite_bind(sqlite3_stmt *statement, size_t count, const struct sql_value *values)
{
    int last = sqlite3_bind_parameter_count(statement);
    if ((size_t)last > count)
        abort(); /* macro value numbers them */
    for (int number = 1; number <= last; number++)
        if (sqlite3_bind_parameter_name(statement, number) != NULL &&
            bind_value(statement, number, &values[number - 1]) != SQLITE_OK)
            return false;
    return true;
}

static void add_cell(struct sql_rows *rows, sqlite3_stmt *statement, int column, char kind)
{
    int type = sqlite3_column_type(statement, column);
    if (type == SQLITE_NULL) {
        sql_rows_add(rows, NULL, 0);
    } else if (kind == 't') {
        sql_rows_add(rows, sqlite3_column_int(statement, column) ? "t" : "f", 1);
    } else {
        const void *data = type == SQLITE_BLOB ? sqlite3_column_blob(statement, column)
                                               : sqlite3_column_text(statement, column);
        sql_rows_add(rows, data != NULL ? data : "", (size_t)sqlite3_column_bytes(statement, column));
    }
}

static enum sql_type column_type(sqlite3_stmt *statement, int column, char kind)
{
    int there = sqlite3_column_type(statement, column);
    if (kind == 't')
        return SQL_TYPE_BOOL;
    if (kind == 'j')
        return SQL_TYPE_JSON;
    return kind == 'n' || there == SQLITE_INTEGER || there == SQLITE_FLOAT ? SQL_TYPE_NUMBER : SQL_TYPE_TEXT;
}

struct sql_rows *lite_run(struct sql_session *lite, sqlite3_stmt *statement, const char *column_kinds,
                          struct error *error)
{
    int columns = sqlite3_column_count(statement), kinds = (int)strlen(column_kinds), rc;
    struct sql_rows *rows = sql_rows_new((size_t)columns);
    while ((rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int column = 0; column < columns; column++) {
            char kind = column < kinds ? column_kinds[column] : '-';
            if (rows->types[column] == SQL_TYPE_TEXT) /* from the first row with a value */
                rows->types[column] = column_type(statement, column, kind);
            add_cell(rows, statement, column, kind);
        }
    }
    if (rc != SQLITE_DONE) {
        lite_fail(lite, rc, error);
        sql_rows_free(&rows);
        return NULL;
    }
    for (int column = 0; column < columns; column++)
        sql_rows_name(rows, (size_t)column, sqlite3_column_name(statement, column), rows->types[column]);
    rows->changed = columns == 0 || rows->count > 0 ? sqlite3_changes64(lite->db) : 0;
    return rows;
}
