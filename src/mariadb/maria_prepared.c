/* SPDX-License-Identifier: ISC
 *
 * Prepares statements executed before: parsing takes a quarter of the server's time for a delivery. Batches contain
 * them as PREPARE and EXECUTE. */
#include <string.h>

#include "mariadb/maria.h"

#define STATEMENTS_MAX 200 /* per session */
#define TEXT_MAX 8192      /* bytes */

/* The server has no room for more; this process then prepares nothing. */
static bool refused;

struct prepared {
    unsigned number; /* in its name, after p */
    bool there;
};

void maria_forget_prepared(struct sql_session *maria)
{
    GHashTableIter all;
    gpointer it;
    refused = refused || strcmp(maria->error.code, "1461") == 0; /* ER_MAX_PREPARED_STMT_COUNT_REACHED */
    g_hash_table_iter_init(&all, maria->prepared);
    while (g_hash_table_iter_next(&all, NULL, &it))
        ((struct prepared *)it)->there = false;
}

/* Returns the statement if its text was executed before; else remembers it. */
static struct prepared *find_prepared(struct sql_session *maria, const char *sql)
{
    struct prepared *it = refused ? NULL : g_hash_table_lookup(maria->prepared, sql);
    guint size = g_hash_table_size(maria->prepared);
    if (refused || it != NULL || size >= STATEMENTS_MAX || strlen(sql) > TEXT_MAX)
        return it;
    struct prepared *new = g_new0(struct prepared, 1);
    new->number = size;
    g_hash_table_insert(maria->prepared, g_strdup(sql), new);
    return NULL;
}

static void append_execute(struct sql_session *maria, GString *all, struct prepared *it, const char *sql,
                           const char *given)
{
    GString *prepare = maria->guarded ? maria->guarded_prepare : all;
    const struct sql_value text = SQL_TEXT_CUT(sql, TEXT_MAX);
    if (!it->there) {
        char *literal OD_CLEANUP(base_free) = maria_text("\00100", &text, NULL);
        g_string_append_printf(prepare, "PREPARE p%u FROM %s;\n", it->number, literal);
    }
    g_string_append_printf(all, "EXECUTE p%u USING %s", it->number, given);
    it->there = true;
}

static void append_prepared(struct sql_session *maria, GString *all, const char *text, const struct sql_value *values)
{
    g_autoptr(GString) given = g_string_new(NULL);
    char *sql OD_CLEANUP(base_free) = maria_text(text, values, given);
    if (sql[0] == '\0') /* all left out */
        return;
    g_string_append(all, all->len > 0 ? ";\n" : "");
    struct prepared *it = given->len > 0 ? find_prepared(maria, sql) : NULL;
    if (it != NULL) {
        append_execute(maria, all, it, sql, given->str);
    } else {
        char *plain OD_CLEANUP(base_free) = maria_text(text, values, NULL);
        g_string_append(all, plain);
    }
}

void maria_append_prepared(struct sql_session *maria, GString *all, const char *text, const struct sql_value *values)
{
    for (const char *end; *text != '\0'; text = end) {
        const char *next = strstr(text, ";\n");
        end = next != NULL ? next + strlen(";\n") : text + strlen(text);
        char *statement OD_CLEANUP(base_free) = base_strndup(text, (size_t)((next != NULL ? next : end) - text));
        append_prepared(maria, all, statement, values);
    }
}
