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

static void statement_free(gpointer statement)
{
    struct pg_statement *it = statement;
    base_free(&it->sql);
    base_free(&it);
}

void pg_statements_begin(struct pg *pg)
{
    pg->statements = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, statement_free);
    pg->prepares = g_ptr_array_new();
}

/* Uses a name that is new on this connection: whether the PREPARE succeeded is known only when its result arrives. */
static bool prepare_statement(struct pg *pg, struct pg_statement *statement, size_t count, struct fault *fault)
{
    snprintf(statement->name, sizeof(statement->name), "oncedrop_%u", pg->prepared++);
    if (!PQsendPrepare(pg->conn, statement->name, statement->sql, (int)count, NULL))
        return pg_lose(pg, fault, "connection lost");
    g_ptr_array_add(pg->prepares, statement);
    pg->unflushed += strlen(statement->sql);
    return true;
}

static struct pg_statement *find_statement(struct pg *pg, const char *sql)
{
    struct pg_statement *statement = g_hash_table_lookup(pg->statements, sql);
    if (statement != NULL)
        return statement;
    GString *text = g_string_new(sql);
    g_string_replace(text, "@schema@", pg->schema, 0);
    statement = base_alloc(sizeof(*statement));
    statement->sql = g_string_free(text, FALSE);
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
    g_ptr_array_add(pg->prepares, NULL);
    return statement;
}

bool pg_statement_confirm(struct pg *pg, size_t result)
{
    /* a server could answer more than it was asked */
    struct pg_statement *prepared = result < pg->prepares->len ? g_ptr_array_index(pg->prepares, result) : NULL;
    if (prepared != NULL)
        prepared->stands = true;
    return prepared != NULL;
}

void pg_statements_settle(struct pg *pg)
{
    for (guint i = 0; i < pg->prepares->len; i++) {
        struct pg_statement *prepared = g_ptr_array_index(pg->prepares, i);
        if (prepared != NULL && !prepared->stands)
            prepared->name[0] = '\0';
    }
}
