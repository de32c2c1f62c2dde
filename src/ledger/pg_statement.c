/* SPDX-License-Identifier: ISC
 *
 * Statements that are sent repeatedly on one connection are prepared, so that the server parses and plans them once.
 * Not behind a pooler: there the next transaction may be in another session, which does not know the name, or knows it
 * for another statement. Some poolers rename them and get that right (PgBouncer since 1.21), but not if there is
 * another pooler behind, and that cannot be told from here. A process that delivers a single message sends nearly every
 * statement once, and prepares nothing. */
#include <stdio.h>
#include <string.h>

#include "ledger/pg_internal.h"

#define STATEMENTS_MOST 100 /* of one connection; there are about thirty */

static char *with_schema(const char *sql, const char *schema)
{
    static const char mark[] = "@schema@";
    size_t count = 0, mark_length = sizeof(mark) - 1, schema_length = strlen(schema);
    for (const char *at = sql; (at = strstr(at, mark)) != NULL; at += mark_length)
        count++;
    char *text = base_alloc(strlen(sql) + count * schema_length + 1), *to = text;
    for (const char *at; (at = strstr(sql, mark)) != NULL; sql = at + mark_length) {
        memcpy(to, sql, (size_t)(at - sql));
        to += at - sql;
        memcpy(to, schema, schema_length);
        to += schema_length;
    }
    strcpy(to, sql);
    return text;
}

static void statement_free(gpointer statement)
{
    struct pg_statement *it = statement;
    base_free(&it->sql);
    base_free(&it);
}

GHashTable *pg_statements_new(void)
{
    return g_hash_table_new_full(g_str_hash, g_str_equal, g_free, statement_free);
}

/* Uses a name that is new on this connection: whether the PREPARE succeeded is known only when its result arrives. */
static bool prepare_statement(struct pg *pg, struct pg_statement *statement, size_t count, struct fault *fault)
{
    snprintf(statement->name, sizeof(statement->name), "oncedrop_%u", pg->prepared++);
    if (!PQsendPrepare(pg->conn, statement->name, statement->sql, (int)count, NULL))
        return pg_lose(pg, fault, "connection lost");
    statement->place = pg->kinds->len;
    g_byte_array_append(pg->kinds, &(guint8){true}, 1);
    pg->unflushed += strlen(statement->sql);
    return true;
}

static struct pg_statement *find_statement(struct pg *pg, const char *sql)
{
    struct pg_statement *statement = g_hash_table_lookup(pg->statements, sql);
    if (statement != NULL)
        return statement;
    if (g_hash_table_size(pg->statements) >= STATEMENTS_MOST)
        g_hash_table_remove_all(pg->statements);
    statement = base_alloc(sizeof(*statement));
    statement->sql = with_schema(sql, pg->schema);
    g_hash_table_insert(pg->statements, g_strdup(sql), statement);
    return statement;
}

const struct pg_statement *pg_statement(struct pg *pg, const char *sql, size_t count, struct fault *fault)
{
    struct pg_statement *statement = find_statement(pg, sql);
    bool again = statement->used && count > 0 && pg->direct && statement->name[0] == '\0';
    statement->used = true;
    if (again && !prepare_statement(pg, statement, count, fault))
        return NULL;
    g_byte_array_append(pg->kinds, &(guint8){false}, 1);
    return statement;
}

bool pg_statement_confirm(struct pg *pg, size_t result)
{
    GHashTableIter iter;
    gpointer value;
    if (result >= pg->kinds->len || !pg->kinds->data[result]) /* a server could answer more than it was asked */
        return false;
    g_hash_table_iter_init(&iter, pg->statements);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct pg_statement *statement = value;
        if (statement->name[0] != '\0' && !statement->stands && statement->place == result)
            statement->stands = true;
    }
    return true;
}

void pg_statements_settle(struct pg *pg)
{
    GHashTableIter iter;
    gpointer value;
    g_hash_table_iter_init(&iter, pg->statements);
    while (g_hash_table_iter_next(&iter, NULL, &value)) {
        struct pg_statement *statement = value;
        if (!statement->stands)
            statement->name[0] = '\0';
    }
}
