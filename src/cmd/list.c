/* SPDX-License-Identifier: ISC
 *
 * list: copies by state, time, names and ids. */
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

#include "cmd/cmd.h"
#include "cmd/format_time.h"
#include "cmd/table.h"
#include "cmd/verify_copy.h"
#include "ledger/ledger_report.h"

#define DEFAULT_LIMIT 50

struct options {
    struct ledger_filter filter;
    char since[FORMAT_TIME_SIZE], until[FORMAT_TIME_SIZE];
    char delay[24]; /* milliseconds */
    char *recipient, *message_id;
    bool json, utc, missing;
};

static bool is_state(const char *text)
{
    static const char *const states[] = {"pending", "appending", "stored", "failed", "expired", "unfinished", NULL};
    return g_strv_contains(states, text);
}

static bool take_delay(struct options *options, const char *text)
{
    int64_t ms;
    if (!config_parse_duration(text, &ms))
        return false;
    g_snprintf(options->delay, sizeof(options->delay), "%" G_GINT64_FORMAT, (gint64)ms);
    options->filter.delay = options->delay;
    return true;
}

static bool take_time(const struct cmd *cmd, const char *name, const char *text, char time[FORMAT_TIME_SIZE],
                      const char **ret)
{
    if (text != NULL && !parse_since(text, time))
        return cmd_wrong_value(cmd, name, text, PARSE_SINCE_ALLOWED);
    *ret = text != NULL ? time : NULL;
    return true;
}

static bool take_texts(const struct cmd *cmd, struct options *options)
{
    struct ledger_filter *filter = &options->filter;
    const struct {
        const char *name, *text;
    } texts[] = {{"--mailbox", filter->mailbox}, {"--subject", filter->subject}, {"--message-id", filter->message_id}};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        if (texts[i].text != NULL && (texts[i].text[0] == '\0' || !g_utf8_validate(texts[i].text, -1, NULL)))
            return cmd_wrong_value(cmd, texts[i].name, texts[i].text, "text, in UTF-8");
    if (filter->mailbox != NULL && g_ascii_strcasecmp(filter->mailbox, "INBOX") == 0)
        filter->mailbox = "INBOX";
    if (filter->message_id != NULL)
        filter->message_id = options->message_id = cmd_strip_brackets(filter->message_id);
    return true;
}

static bool take_values(const struct cmd *cmd, struct options *options, const char *delay, const char *limit)
{
    struct ledger_filter *filter = &options->filter;
    if (filter->state != NULL && !is_state(filter->state))
        return cmd_wrong_value(cmd, "--state", filter->state,
                               "pending, appending, stored, failed, expired or unfinished (pending or appending)");
    if (delay != NULL && !take_delay(options, delay))
        return cmd_wrong_value(cmd, "--min-delay", delay, "a number and ms, s, m, h or d, such as 5m");
    if (limit != NULL && !g_ascii_string_to_signed(limit, 10, 1, INT64_MAX, &filter->limit, NULL))
        return cmd_wrong_value(cmd, "--limit", limit, "a number from 1");
    if (filter->sender != NULL && strcmp(filter->sender, "<>") == 0)
        filter->sender = "";
    if (filter->recipient != NULL)
        filter->recipient = options->recipient = g_utf8_strdown(filter->recipient, -1);
    return true;
}

static bool parse_listing(struct cmd *cmd, struct options *options)
{
    const char *since = NULL, *until = NULL, *delay = NULL, *limit = NULL;
    struct ledger_filter *filter = &options->filter;
    const struct cmd_option words[] = {
        {"state", .text = &filter->state},
        {"since", .text = &since},
        {"until", .text = &until},
        {"recipient", .text = &filter->recipient},
        {"sender", .text = &filter->sender},
        {"mailbox", .text = &filter->mailbox},
        {"subject", .text = &filter->subject},
        {"message-id", .text = &filter->message_id},
        {"queue-id", .text = &filter->queue_id},
        {"min-delay", .text = &delay},
        {"limit", .text = &limit},
        {"missing", .flag = &options->missing},
        {"utc", .flag = &options->utc},
        {"json", .flag = &options->json},
        {.name = NULL},
    };
    bool parsed = cmd_parse(cmd, words, 0, 0, NULL);
    if (options->utc)
        format_time_use_utc();
    if (parsed && options->missing && filter->state != NULL && strcmp(filter->state, "stored") != 0)
        return cmd_wrong(cmd, "--missing is of stored copies");
    if (options->missing)
        filter->state = "stored";
    return parsed && take_time(cmd, "--since", since, options->since, &filter->since) &&
           take_time(cmd, "--until", until, options->until, &filter->until) && take_texts(cmd, options) &&
           take_values(cmd, options, delay, limit);
}

static void print_remarks(const struct options *options, size_t rows, size_t unknown)
{
    if (unknown > 0)
        fprintf(stderr, "%zu could not be checked; oncedrop show --verify says why.\n", unknown);
    if ((int64_t)rows == options->filter.limit)
        fprintf(stderr,
                options->missing ? "The newest %zu were looked for; --limit looks for more.\n"
                                 : "These are the newest %zu; --limit shows more.\n",
                rows);
}

static int print_list(struct cmd *cmd, const struct options *options)
{
    int status = cmd_open_ledger(cmd);
    if (status != 0)
        return status;
    size_t unknown = 0;
    struct ledger_table *table OD_CLEANUP(ledger_table_free) = ledger_list(cmd->ledger, &options->filter, &cmd->error);
    size_t rows = table != NULL ? table->rows : 0;
    if (table == NULL || (options->missing && !verify_list(cmd, table, &unknown)))
        return cmd_error(EX_UNAVAILABLE, cmd);
    if (options->json)
        table_print_json(table_json(table));
    else if (table->rows == 0)
        puts(options->missing ? "no missing copies" : "no matching copies");
    else
        table_print_list(table);
    if (!options->json || options->missing)
        print_remarks(options, rows, unknown);
    return 0;
}

int cmd_list(struct cmd *cmd)
{
    struct options options = {.filter = {.limit = DEFAULT_LIMIT}};
    int status = parse_listing(cmd, &options) ? print_list(cmd, &options) : CMD_USAGE;
    base_free(&options.recipient);
    base_free(&options.message_id);
    return status;
}
