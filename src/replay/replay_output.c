/* SPDX-License-Identifier: ISC */
#include "replay/replay_internal.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

#define REDRAW_MS 200

struct replay_output {
    const struct replay_setup *setup;
    bool all_lines; /* not only failures at the end */
    bool counter;   /* on a terminal */
    size_t done;    /* messages */
    size_t counts[REPLAY_COUNTS];
    GPtrArray *problems;
    char *stopped; /* reason of all later messages, without lines */
    int64_t started_ms, drawn_ms;
};

static const char *const count_names[REPLAY_COUNTS] = {
    [REPLAY_STORED] = "stored",   [REPLAY_DUPLICATE] = "duplicate", [REPLAY_DELETED] = "deleted",
    [REPLAY_MISSING] = "missing", [REPLAY_DEFERRED] = "deferred",   [REPLAY_FAILED] = "failed",
};

struct replay_output *replay_output_new(const struct replay_setup *setup)
{
    struct replay_output *output = base_alloc(sizeof(*output));
    output->setup = setup;
    output->all_lines = !setup->json && (setup->dry_run || !isatty(STDOUT_FILENO));
    output->counter = isatty(STDERR_FILENO);
    output->problems = g_ptr_array_new_with_free_func(g_free);
    output->started_ms = base_now_ms();
    return output;
}

size_t replay_output_count(const struct replay_output *output, enum replay_count count)
{
    return output->counts[count];
}

/* Erases the counter's line. */
static void erase(struct replay_output *output)
{
    if (output->counter && output->drawn_ms != 0)
        fputs("\r\033[K", stderr);
    output->drawn_ms = 0;
}

static enum replay_count counted_as(enum outcome outcome)
{
    const struct outcome_row *row = outcome_row(outcome);
    if (outcome == OUTCOME_STORED || outcome == OUTCOME_QUARANTINED)
        return REPLAY_STORED;
    if (outcome == OUTCOME_DUPLICATE)
        return REPLAY_DUPLICATE;
    if (outcome == OUTCOME_DELETED)
        return REPLAY_DELETED;
    if (outcome == OUTCOME_MISSING)
        return REPLAY_MISSING;
    return row->final ? REPLAY_FAILED : REPLAY_DEFERRED;
}

/* recipient "": the message. */
static void print_result(struct replay_output *output, enum replay_count count, const char *name, const char *recipient,
                         const char *text)
{
    char escaped_name[8192], escaped_recipient[2048], escaped_text[4096];
    char *line = g_strdup_printf("%-10s%s%s%s%s: %s", count_names[count],
                                 log_escape(name, escaped_name, sizeof(escaped_name)),
                                 recipient[0] != '\0' ? " to=<" : "",
                                 log_escape(recipient, escaped_recipient, sizeof(escaped_recipient)),
                                 recipient[0] != '\0' ? ">" : "", log_escape(text, escaped_text, sizeof(escaped_text)));
    output->counts[count]++;
    if (output->all_lines && output->stopped == NULL)
        puts(line);
    if (output->stopped == NULL && (count == REPLAY_MISSING || count == REPLAY_DEFERRED || count == REPLAY_FAILED))
        g_ptr_array_add(output->problems, line);
    else
        g_free(line);
}

void replay_output_stop(struct replay_output *output, const char *reason)
{
    char escaped[4096];
    output->stopped = base_strdup(log_escape(reason, escaped, sizeof(escaped)));
}

static void print_json_result(const char *name, json_t *result)
{
    size_t i;
    json_t *recipient;
    json_object_set_new(result, "name", replay_json_text(name));
    json_object_del(result, "load");
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        enum outcome outcome = replay_result_outcome(recipient);
        json_object_set_new(recipient, "status", json_string(count_names[counted_as(outcome)]));
        json_object_set_new(recipient, "dsn", json_string(outcome_row(outcome)->dsn));
        json_object_del(recipient, "outcome");
    }
    json_dumpf(result, stdout, JSON_COMPACT);
    putchar('\n');
}

void replay_output_message(struct replay_output *output, const char *name, json_t *result)
{
    enum replay_load load = replay_result_load(result);
    size_t i;
    json_t *recipient;
    erase(output);
    output->done++;
    if (load == REPLAY_BAD || load == REPLAY_ERROR)
        print_result(output, load == REPLAY_BAD ? REPLAY_FAILED : REPLAY_DEFERRED, name, "",
                     replay_result_text(result, "error"));
    json_array_foreach(replay_result_recipients(result), i, recipient)
    {
        print_result(output, counted_as(replay_result_outcome(recipient)), name,
                     replay_result_text(recipient, "recipient"), replay_result_text(recipient, "text"));
    }
    if (output->setup->json && load != REPLAY_NOTHING)
        print_json_result(name, result);
}

void replay_output_progress(struct replay_output *output, size_t waiting)
{
    int64_t now = base_now_ms();
    if (!output->counter || (output->drawn_ms != 0 && now - output->drawn_ms < REDRAW_MS))
        return;
    fprintf(stderr, "\r%zu", output->done);
    if (output->setup->total > 0)
        fprintf(stderr, "/%zu", output->setup->total);
    fprintf(stderr, " done, %u not delivered, %zu waiting\033[K", output->problems->len, waiting);
    fflush(stderr);
    output->drawn_ms = now;
}

void replay_output_waiting(struct replay_output *output, size_t count, int64_t left_ms)
{
    erase(output);
    fprintf(stderr,
            "oncedrop: %s: %zu message%s left, which another delivery claimed: waiting until it has ended or, if it"
            " died, delivery.hold_off is over, for %" PRId64
            " s at most; to do this later, interrupt the command and"
            " run it again\n",
            output->setup->command, count, count == 1 ? " is" : "s are", (left_ms + 999) / 1000);
}

void replay_output_end(struct replay_output **output_ptr, bool left, bool failed)
{
    struct replay_output *output = *output_ptr;
    erase(output);
    for (guint i = 0; !output->all_lines && i < output->problems->len; i++)
        fprintf(stderr, "%s\n", (char *)output->problems->pdata[i]);
    g_autoptr(GString) counts = g_string_new(NULL);
    for (int i = 0; i < REPLAY_COUNTS; i++)
        if (output->setup->restores || (i != REPLAY_DELETED && i != REPLAY_MISSING))
            g_string_append_printf(counts, "%s %zu %s", i > 0 ? "," : "", output->counts[i], count_names[i]);
    if (output->done > 0 || !failed)
        fprintf(output->setup->json ? stderr : stdout, "%s%s: %zu message%s:%s (by %s), in %.1f s\n",
                output->setup->command, output->setup->dry_run ? " --dry-run" : "", output->done,
                output->done == 1 ? "" : "s", counts->str, output->setup->restores ? "copy" : "recipient",
                (double)(base_now_ms() - output->started_ms) / 1000);
    if (output->stopped != NULL)
        fprintf(stderr, "oncedrop: %s: stopped, as nothing can be delivered without the ledger: %s\n",
                output->setup->command, output->stopped);
    else if (left && !failed)
        fprintf(stderr, "%s\n", output->setup->hint);
    fflush(stdout);
    g_ptr_array_unref(output->problems);
    base_free(&output->stopped);
    base_free(output_ptr);
}
