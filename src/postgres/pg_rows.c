/* SPDX-License-Identifier: ISC
 *
 * Values stay where libpq has them, except bytea, which is decoded. */
#include "postgres/pg_rows.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* pg_type.dat */
#define OID_BOOL 16
#define OID_BYTEA 17
#define OID_JSON 114
#define OID_JSONB 3802

struct owner {
    PGresult *result;
    GPtrArray *bytes; /* of bytea */
};

static void free_owner(void *context)
{
    struct owner *owner = context;
    PQclear(owner->result);
    g_ptr_array_unref(owner->bytes);
    base_free(&owner);
}

static enum sql_type type_of(Oid oid)
{
    static const Oid numbers[] = {20, 21, 23, 700, 701, 1700};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (oid == numbers[i])
            return SQL_TYPE_NUMBER;
    return oid == OID_BOOL ? SQL_TYPE_BOOL : oid == OID_JSON || oid == OID_JSONB ? SQL_TYPE_JSON : SQL_TYPE_TEXT;
}

/* Appends a NUL: a site may return text as bytea. */
static struct sql_cell bytes_of(struct owner *owner, const char *digits)
{
    size_t size;
    unsigned char *bytes = PQunescapeBytea((const unsigned char *)digits, &size);
    if (bytes == NULL)
        abort(); /* no memory: death by signal defers */
    char *copy = base_alloc(size + 1);
    memcpy(copy, bytes, size);
    PQfreemem(bytes);
    g_ptr_array_add(owner->bytes, copy);
    return (struct sql_cell){.data = copy, .size = size};
}

struct sql_rows *pg_rows(PGresult *result)
{
    if (result == NULL)
        return NULL;
    struct owner *owner = base_alloc(sizeof(*owner));
    *owner = (struct owner){.result = result, .bytes = g_ptr_array_new_with_free_func(free)};
    struct sql_rows *rows = sql_rows_new((size_t)PQntuples(result), (size_t)PQnfields(result));
    rows->owner = owner;
    rows->free_owner = free_owner;
    rows->changed = strtoll(PQcmdTuples(result), NULL, 10);
    for (int column = 0; column < (int)rows->columns; column++) {
        rows->names[column] = PQfname(result, column);
        rows->types[column] = type_of(PQftype(result, column));
        for (int row = 0; row < (int)rows->count; row++) {
            struct sql_cell *cell = &rows->cells[(size_t)row * rows->columns + (size_t)column];
            if (PQgetisnull(result, row, column))
                continue;
            *cell = PQftype(result, column) == OID_BYTEA
                        ? bytes_of(owner, PQgetvalue(result, row, column))
                        : (struct sql_cell){PQgetvalue(result, row, column), (size_t)PQgetlength(result, row, column)};
        }
    }
    return rows;
}
