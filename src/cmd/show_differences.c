/* SPDX-License-Identifier: ISC */
#include "cmd/cmd.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

/* Texts by name, and the names' order. */
struct side {
    GPtrArray *names;
    GHashTable *texts;
};

static void side_clear(struct side *side)
{
    g_clear_pointer(&side->names, g_ptr_array_unref);
    g_clear_pointer(&side->texts, g_hash_table_unref);
}

/* Appends to an existing text, such as To's. Takes over text. */
static void side_add(struct side *side, const char *name, char *text)
{
    const char *before = g_hash_table_lookup(side->texts, name);
    if (before == NULL) {
        g_ptr_array_add(side->names, g_strdup(name));
    } else {
        char *alone OD_CLEANUP(base_free) = text;
        text = base_printf("%s, %s", before, alone);
    }
    g_hash_table_insert(side->texts, g_strdup(name), text);
}

static void add_fields(struct side *side, const struct sql_rows *messages, size_t row)
{
    static const struct {
        size_t column;
        const char *name;
    } fields[] = {
        {FIND_MESSAGES_SUBJECT, "Subject"},
        {FIND_MESSAGES_DATE, "Date"},
        {FIND_MESSAGES_IN_REPLY_TO, "In-Reply-To"},
        {FIND_MESSAGES_REFERENCES, "References"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(fields); i++)
        side_add(side, fields[i].name, base_strdup(sql_text(messages, row, fields[i].column)));
}

static void add_address_fields(struct side *side, const struct sql_rows *addresses)
{
    for (size_t row = 0; row < addresses->count; row++) {
        const char *name = sql_text(addresses, row, SHOW_ADDRESSES_NAME);
        const char *address = sql_text(addresses, row, SHOW_ADDRESSES_ADDRESS);
        char *role OD_CLEANUP(base_free) = base_strdup(sql_text(addresses, row, SHOW_ADDRESSES_ROLE));
        role[0] = g_ascii_toupper(role[0]);
        side_add(side, role, name[0] != '\0' ? base_printf("%s <%s>", name, address) : base_strdup(address));
    }
}

static void add_parts(struct side *side, const struct sql_rows *parts)
{
    for (size_t row = 0; row < parts->count; row++) {
        const char *filename = sql_text(parts, row, SHOW_PARTS_FILENAME);
        char *name OD_CLEANUP(base_free) = base_printf("part %s", sql_text(parts, row, SHOW_PARTS_PATH));
        side_add(side, name,
                 base_printf("%s%s%s, %s bytes, sha256 %s", sql_text(parts, row, SHOW_PARTS_TYPE),
                             filename[0] != '\0' ? " " : "", filename, sql_text(parts, row, SHOW_PARTS_SIZE),
                             sql_text(parts, row, SHOW_PARTS_SHA256)));
    }
}

static bool read_side(struct cmd *cmd, const struct sql_rows *messages, size_t row, struct side *side)
{
    const char *id = sql_text(messages, row, FIND_MESSAGES_ID);
    struct sql_rows *parts OD_CLEANUP(sql_rows_free) = NULL;
    struct sql_rows *addresses OD_CLEANUP(sql_rows_free) = ledger_show(cmd->ledger, "addresses", id, &cmd->error);
    if (addresses != NULL)
        parts = ledger_show(cmd->ledger, "parts", id, &cmd->error);
    if (parts == NULL)
        return false;
    side->names = g_ptr_array_new_with_free_func(g_free);
    side->texts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free);
    add_fields(side, messages, row);
    add_address_fields(side, addresses);
    add_parts(side, parts);
    return true;
}

static void add_difference(struct sql_rows *table, const char *name, const struct side *first, const struct side *this)
{
    const char *texts[] = {g_hash_table_lookup(first->texts, name), g_hash_table_lookup(this->texts, name)};
    if (g_strcmp0(texts[0], texts[1]) == 0)
        return;
    sql_rows_add_text(table, name);
    sql_rows_add_text(table, texts[0]);
    sql_rows_add_text(table, texts[1]);
}

/* Returns the first message with this lock key, perhaps row itself. */
static size_t find_oldest(const struct sql_rows *messages, size_t row)
{
    size_t first = 0;
    while (strcmp(sql_text(messages, first, FIND_MESSAGES_LOCK_KEY), sql_text(messages, row, FIND_MESSAGES_LOCK_KEY)) !=
           0)
        first++;
    return first;
}

struct sql_rows *show_differences(struct cmd *cmd, const struct sql_rows *messages, size_t row)
{
    struct side first OD_CLEANUP(side_clear) = {.names = NULL}, this OD_CLEANUP(side_clear) = {.names = NULL};
    size_t oldest = find_oldest(messages, row);
    static const char *const names[] = {"what", "first", "this"};
    if (oldest == row)
        return ledger_table_new(names, G_N_ELEMENTS(names));
    if (!read_side(cmd, messages, oldest, &first) || !read_side(cmd, messages, row, &this))
        return NULL;
    struct sql_rows *table = ledger_table_new(names, G_N_ELEMENTS(names));
    for (guint i = 0; i < first.names->len; i++)
        add_difference(table, g_ptr_array_index(first.names, i), &first, &this);
    for (guint i = 0; i < this.names->len; i++)
        if (!g_hash_table_contains(first.texts, g_ptr_array_index(this.names, i)))
            add_difference(table, g_ptr_array_index(this.names, i), &first, &this);
    return table;
}
