/* SPDX-License-Identifier: ISC
 *
 * export: an address's records as lines of JSON, and recorded bytes as files. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "replay/replay.h"

struct export
{
    char *address;   /* lower case */
    const char *raw; /* for the bytes; NULL: not requested */
    int directory;   /* -1: none */
    int64_t found;
};

struct theirs {
    GHashTable *recipients, *accounts;
};

static bool is_address(const struct export *export, const char *text)
{
    g_autofree char *lower = g_utf8_strdown(text, -1);
    return strcmp(lower, export->address) == 0;
}

static struct theirs theirs_of(const struct export *export, const struct sql_rows *message,
                               const struct sql_rows *deliveries, const struct sql_rows *copies)
{
    struct theirs theirs = {g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL)};
    bool sent = is_address(export, sql_text(message, 0, EXPORT_MESSAGE_SENDER)) ||
                is_address(export, sql_text(message, 0, EXPORT_MESSAGE_FROM));
    for (size_t row = 0; row < deliveries->count; row++) {
        const char *recipient = sql_text(deliveries, row, SHOW_DELIVERIES_RECIPIENT);
        const char *account = sql_text(deliveries, row, SHOW_DELIVERIES_ACCOUNT);
        if (!is_address(export, recipient) && !is_address(export, account) &&
            !is_address(export, sql_text(deliveries, row, SHOW_DELIVERIES_ORIGINAL_RECIPIENT)))
            continue;
        g_hash_table_add(theirs.recipients, g_strdup(recipient));
        g_hash_table_add(theirs.accounts, g_strdup(account));
    }
    for (size_t row = 0; row < copies->count; row++) {
        const char *account = sql_text(copies, row, SHOW_COPIES_ACCOUNT);
        if (is_address(export, account) || (sent && strcmp(sql_text(copies, row, SHOW_COPIES_ROLE), "sent") == 0))
            g_hash_table_add(theirs.accounts, g_strdup(account));
    }
    return theirs;
}

/* Returns rows with one of these names; others are private. */
static json_t *rows_with(const struct sql_rows *table, size_t column, GHashTable *names)
{
    json_t *rows = json_array();
    for (size_t row = 0; row < table->count; row++)
        if (g_hash_table_contains(names, sql_text(table, row, column)))
            json_array_append_new(rows, table_row_json(table, row));
    return rows;
}

static bool write_piece(void *context, const void *bytes, size_t size, struct error *error)
{
    return base_write(*(int *)context, bytes, size) || error_set(error, "%m");
}

/* An existing file has the same content, recorded under another lock.namespace. */
static bool write_raw(struct cmd *cmd, const struct export *export, int64_t id, const char *name)
{
    int fd = openat(export->directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return true;
    bool done = fd >= 0 ? ledger_raw(cmd->ledger, id, write_piece, &fd, &cmd->error) : error_set(&cmd->error, "%m");
    if (fd >= 0 && close(fd) != 0 && done)
        done = error_set(&cmd->error, "%m");
    if (!done)
        error_prefix(&cmd->error, "cannot write %s/%s", export->raw, name);
    return done;
}

/* Adds `raw`, the file's name; null without recorded bytes. */
static bool link_raw(struct cmd *cmd, const struct export *export, int64_t id, const char *digest, json_t *json)
{
    bool there = false;
    char *name OD_CLEANUP(base_free) = base_printf("%s.eml", digest);
    if (!ledger_address_has_raw(cmd->ledger, id, &there, &cmd->error) || (there && !write_raw(cmd, export, id, name)))
        return false;
    json_object_set_new(json, "raw", there ? json_string(name) : json_null());
    return true;
}

enum { MESSAGE, ADDRESSES, DELIVERIES, TRIES, COPIES, TEXTS, SECTIONS };

static bool read_sections(struct cmd *cmd, int64_t id, struct sql_rows *tables[SECTIONS])
{
    static const char *const names[] = {"message", "addresses", "deliveries", "attempts", "copies", "texts"};
    for (size_t i = 0; i < SECTIONS; i++)
        if ((tables[i] = ledger_address_show(cmd->ledger, names[i], id, &cmd->error)) == NULL)
            return false;
    return true;
}

static json_t *message_json(const struct export *export, struct sql_rows *const tables[SECTIONS])
{
    struct theirs theirs = theirs_of(export, tables[MESSAGE], tables[DELIVERIES], tables[COPIES]);
    json_t *json = table_row_json(tables[MESSAGE], 0);
    json_object_set_new(json, "addresses", table_json(tables[ADDRESSES]));
    json_object_set_new(json, "parts", table_json(tables[TEXTS]));
    json_object_set_new(json, "deliveries",
                        rows_with(tables[DELIVERIES], SHOW_DELIVERIES_RECIPIENT, theirs.recipients));
    json_object_set_new(json, "attempts", rows_with(tables[TRIES], SHOW_ATTEMPTS_RECIPIENT, theirs.recipients));
    json_object_set_new(json, "copies", rows_with(tables[COPIES], SHOW_COPIES_ACCOUNT, theirs.accounts));
    g_hash_table_unref(theirs.recipients);
    g_hash_table_unref(theirs.accounts);
    return json;
}

/* Prints nothing if it has been removed meanwhile. */
static bool export_message(struct cmd *cmd, struct export *export, int64_t id)
{
    struct sql_rows *tables[SECTIONS] = {NULL};
    json_t *json = NULL;
    bool done = read_sections(cmd, id, tables);
    if (done && tables[MESSAGE]->count > 0) {
        json = message_json(export, tables);
        const char *digest = sql_text(tables[MESSAGE], 0, EXPORT_MESSAGE_DIGEST);
        done = export->raw == NULL || link_raw(cmd, export, id, digest, json);
    }
    if (done && json != NULL) {
        json_dumpf(json, stdout, JSON_COMPACT | JSON_REAL_PRECISION(15));
        putchar('\n');
        export->found++;
    }
    json_decref(json);
    for (size_t i = 0; i < SECTIONS; i++)
        sql_rows_free(&tables[i]);
    return done;
}

static bool export_all(struct cmd *cmd, struct export *export)
{
    int64_t ids[LEDGER_ADDRESS_MAX], after = 0;
    size_t count;
    for (bool ended = false; !ended;) {
        if (!ledger_address_next(cmd->ledger, export->address, &after, ids, &count, &ended, &cmd->error))
            return false;
        for (size_t i = 0; i < count; i++)
            if (!export_message(cmd, export, ids[i]))
                return false;
        if (ferror(stdout) != 0)
            return true; /* main() reports it */
    }
    return true;
}

/* The directory must be new or empty. */
static bool open_directory(struct cmd *cmd, struct export *export)
{
    if (export->raw == NULL)
        return true;
    if (mkdir(export->raw, 0700) != 0 && errno != EEXIST)
        return error_set(&cmd->error, "cannot make the directory %s: %m", export->raw);
    export->directory = open(export->raw, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (export->directory < 0)
        return error_set(&cmd->error, "cannot open the directory %s: %m", export->raw);
    g_autoptr(GDir) entries = g_dir_open(export->raw, 0, NULL);
    if (entries == NULL || g_dir_read_name(entries) != NULL)
        return error_set(&cmd->error, "--raw %s: the directory must be new or empty", export->raw);
    return fchmod(export->directory, 0700) == 0 ||
           error_set(&cmd->error, "cannot change the mode of %s: %m", export->raw);
}

int cmd_export(struct cmd *cmd)
{
    struct export export = {.directory = -1, .raw = cmd->options.raw};
    int status = cmd_parse_address(cmd, &export.address);
    if (status == 0)
        status = cmd_open_ledger(cmd);
    if (status != 0)
        ; /* reported */
    else if (!open_directory(cmd, &export))
        status = cmd_error(EX_CANTCREAT, cmd);
    else if (!export_all(cmd, &export))
        status = cmd_error(EX_UNAVAILABLE, cmd);
    else if (export.found == 0)
        status = cmd_fail(1, CMD_NOTHING, export.address);
    base_close(&export.directory);
    base_free(&export.address);
    return status;
}
