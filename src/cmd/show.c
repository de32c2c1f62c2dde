/* SPDX-License-Identifier: ISC
 *
 * show: all about a message. */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "replay/replay.h"

struct question {
    char *id; /* without <> */
    unsigned char identity[MESSAGE_DIGEST_SIZE];
    unsigned char digest[MESSAGE_DIGEST_SIZE];
    bool is_digest; /* id can be a digest */
};

static const struct section {
    const char *name;
    const char *in_explanation; /* column repeated by `why` */
    bool for_programs;          /* JSON only */
    struct sql_rows *(*make)(struct cmd *cmd, const struct sql_rows *messages, size_t row); /* NULL: ledger_show */
} sections[] = {
    {.name = "why"},
    {.name = "deliveries", .in_explanation = "reason"},
    {.name = "attempts", .in_explanation = "reason"},
    {.name = "spans", .for_programs = true},
    {.name = "copies", .in_explanation = "error"},
    {.name = "verify", .make = verify_message}, /* --verify only */
    {.name = "addresses"},
    {.name = "parts"},
};

static int parse_show(struct cmd *cmd, struct question *question)
{
    question->id = base_strip_brackets(cmd->operands[0]);
    question->is_digest = base_unhex(question->id, question->digest, MESSAGE_DIGEST_SIZE);
    return question->is_digest || !cmd->options.digest
               ? 0
               : cmd_wrong(cmd, "--digest %.200s: must be 64 hexadecimal digits", cmd->operands[0]);
}

static void print_section(const struct section *section, const struct sql_rows *table)
{
    char escaped[4096];
    if (table->count == 0)
        return;
    printf("\n%s\n", section->name);
    if (strcmp(section->name, "why") != 0) {
        table_print(table, section->in_explanation);
        return;
    }
    for (size_t row = 0; row < table->count; row++) {
        char *sentence OD_CLEANUP(base_free) = format_time_local(sql_text(table, row, 0));
        printf("* %s\n", log_escape(sentence, escaped, sizeof(escaped)));
    }
}

/* json: NULL to print. */
static bool show_message(struct cmd *cmd, const struct sql_rows *messages, size_t row, json_t *json)
{
    if (json == NULL) {
        fputs(row > 0 ? "\n" : "", stdout);
        table_print_row(messages, row);
    }
    for (size_t i = 0; i < G_N_ELEMENTS(sections); i++) {
        if ((json == NULL && sections[i].for_programs) || (sections[i].make == verify_message && !cmd->options.verify))
            continue;
        struct sql_rows *table OD_CLEANUP(sql_rows_free) =
            sections[i].make != NULL
                ? sections[i].make(cmd, messages, row)
                : ledger_show(cmd->ledger, sections[i].name, sql_text(messages, row, FIND_MESSAGES_ID), &cmd->error);
        if (table == NULL)
            return false;
        if (json == NULL)
            print_section(&sections[i], table);
        else
            json_object_set_new(json, sections[i].name, table_json(table));
    }
    return true;
}

/* Prints the lock key of an id without a message. */
static void print_key(const struct question *question)
{
    char escaped[2048];
    printf("id: %s\nlock_key: %" PRId64 "\n", log_escape(question->id, escaped, sizeof(escaped)),
           message_lock_key(question->identity));
    fflush(stdout);
}

static struct sql_rows *find_shown(struct cmd *cmd, const struct question *question)
{
    const unsigned char *digest = question->is_digest ? question->digest : NULL;
    if (cmd->options.digest)
        return ledger_find_messages(cmd->ledger, NULL, digest, NULL, &cmd->error);
    const char *queue_id = g_utf8_validate(question->id, -1, NULL) ? question->id : NULL; /* ids may be any bytes */
    return ledger_find_messages(cmd->ledger, question->identity, digest, queue_id, &cmd->error);
}

static int show_messages(struct cmd *cmd, const struct question *question, json_t *json)
{
    struct sql_rows *messages OD_CLEANUP(sql_rows_free) = find_shown(cmd, question);
    if (messages == NULL)
        return EX_UNAVAILABLE;
    json_t *list = json_array();
    if (json != NULL)
        json_object_set(json, "messages", list);
    bool shown = true;
    for (size_t row = 0; shown && row < messages->count; row++) {
        json_t *object = json != NULL ? table_row_json(messages, row) : NULL;
        shown = show_message(cmd, messages, row, object);
        if (object != NULL)
            json_array_append_new(list, object);
    }
    json_decref(list);
    if (!shown)
        return EX_UNAVAILABLE;
    if (messages->count > 0)
        return 0;
    if (json == NULL)
        print_key(question);
    return cmd_no_message(cmd, question->id);
}

/* The lock key needs no database. */
static int show(struct cmd *cmd, const struct question *question)
{
    json_t *json = cmd->options.json ? json_pack("{s:o, s:I}", "id", replay_json_text(question->id), "lock_key",
                                                 (json_int_t)message_lock_key(question->identity))
                                     : NULL;
    cmd->ledger = ledger_open(cmd->config, NULL, &cmd->error);
    int status = cmd->ledger != NULL ? show_messages(cmd, question, json) : EX_UNAVAILABLE;
    if (json != NULL)
        table_print_json(json);
    else if (status == EX_UNAVAILABLE)
        print_key(question);
    return status == EX_UNAVAILABLE ? cmd_error(status, cmd) : status;
}

int cmd_show(struct cmd *cmd)
{
    struct question question = {.id = NULL};
    int status = parse_show(cmd, &question);
    if (status == 0)
        status = cmd_open(cmd, CMD_AS_OWNER);
    if (status == 0) {
        message_identity(cmd->config->lock.namespace, question.id, strlen(question.id), question.identity);
        status = show(cmd, &question);
    }
    base_free(&question.id);
    return status;
}
