/* SPDX-License-Identifier: ISC
 *
 * Parameters: as text, except bytes. Rows: values are copied, and bytea is decoded. */
#include <stdlib.h>
#include <string.h>

#include "postgres/pg.h"

/* pg_type.dat */
#define OID_BOOL 16
#define OID_BYTEA 17
#define OID_JSON 114
#define OID_JSONB 3802

static void set_owned(struct pg_param *param, char *owned)
{
    if (owned != NULL)
        param->data = param->owned = owned;
}

struct pg_param pg_param_of(const struct sql_value *value)
{
    struct pg_param param = {.data = NULL};
    switch (value->kind) {
    case SQL_KIND_FORGOTTEN:
        abort(); /* sql_add checks */
    case SQL_KIND_NONE:
        return param;
    case SQL_KIND_BYTES:
        return (struct pg_param){.data = value->bytes, .size = value->size, .binary = true};
    case SQL_KIND_TEXT:
        param.data = value->text;
        set_owned(&param, sql_value_truncate(value->text, value->size));
        break;
    case SQL_KIND_BOOL:
        param.data = value->boolean ? "t" : "f";
        break;
    case SQL_KIND_NUMBER:
        set_owned(&param, base_printf("%" G_GINT64_FORMAT, value->number));
        break;
    case SQL_KIND_TEXTS:
    case SQL_KIND_NUMBERS:
        set_owned(&param, sql_value_list(value, false));
        break;
    }
    param.size = param.data != NULL ? strlen(param.data) : 0;
    return param;
}

static enum sql_type type_of(Oid oid)
{
    static const Oid numbers[] = {20, 21, 23, 700, 701, 1700};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (oid == numbers[i])
            return SQL_TYPE_NUMBER;
    return oid == OID_BOOL ? SQL_TYPE_BOOL : oid == OID_JSON || oid == OID_JSONB ? SQL_TYPE_JSON : SQL_TYPE_TEXT;
}

static void add_bytea(struct sql_rows *rows, const char *digits)
{
    size_t size;
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)digits, &size);
    if (bytes == NULL)
        abort(); /* no memory: death by signal defers */
    sql_rows_add(rows, bytes, size);
    PQfreemem(bytes);
}

static void add_value(struct sql_rows *rows, const PGresult *result, int row, int column)
{
    const char *value = PQgetisnull(result, row, column) ? NULL : PQgetvalue(result, row, column);
    if (value != NULL && PQftype(result, column) == OID_BYTEA)
        add_bytea(rows, value);
    else
        sql_rows_add(rows, value, (size_t)PQgetlength(result, row, column));
}

struct sql_rows *pg_rows(PGresult *result)
{
    int columns = PQnfields(result);
    struct sql_rows *rows = sql_rows_new((size_t)columns);
    rows->changed = strtoll(PQcmdTuples(result), NULL, 10);
    for (int column = 0; column < columns; column++)
        sql_rows_name(rows, (size_t)column, PQfname(result, column), type_of(PQftype(result, column)));
    for (int row = 0; row < PQntuples(result); row++)
        for (int column = 0; column < columns; column++)
            add_value(rows, result, row, column);
    return rows;
}
