/* SPDX-License-Identifier: ISC */
#include "replay/replay_internal.h"

#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "base/terminal.h"

#define REDRAW_MS 200
#define BAR_WIDTH 20
#define INDENT 10 /* of continuation lines */

struct replay_output {
    const struct replay_setup *setup;
    bool all_lines; /* not only failures at the end */
    bool bar;
    size_t done; /* messages */
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
    output->bar = isatty(STDERR_FILENO);
    output->problems = g_ptr_array_new_with_free_func(g_free);
    output->started_ms = base_now_ms();
    return output;
}

size_t replay_output_count(const struct replay_output *output, enum replay_count count)
{
    return output->counts[count];
}

static void erase_bar(struct replay_output *output)
{
    if (output->bar && output->drawn_ms != 0)
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
        terminal_print(stdout, INDENT, "%s", line);
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
    erase_bar(output);
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

static void add_remaining(GString *line, const struct replay_output *output, double rate)
{
    size_t total = output->setup->total;
    if (rate <= 0 || total <= output->done)
        return;
    long left = (long)((double)(total - output->done) / rate) + 1;
    g_string_append_printf(line, left >= 3600 ? ", %ld:%02ld:%02ld left" : ", %.0ld%ld:%02ld left", left / 3600,
                           left / 60 % 60, left % 60);
}

void replay_output_progress(struct replay_output *output, size_t waiting)
{
    int64_t now = base_now_ms();
    size_t total = output->setup->total;
    if (!output->bar || (output->drawn_ms != 0 && now - output->drawn_ms < REDRAW_MS))
        return;
    double seconds = (double)(now - output->started_ms) / 1000;
    double rate = seconds > 0.5 ? (double)output->done / seconds : 0;
    g_autoptr(GString) line = g_string_new(NULL);
    if (total > 0) {
        int filled = (int)(output->done * BAR_WIDTH / total);
        g_string_append_printf(line, "[%.*s%.*s] %zu/%zu", filled, "####################", BAR_WIDTH - filled,
                               "....................", output->done, total);
    } else {
        g_string_append_printf(line, "%zu", output->done);
    }
    g_string_append_printf(line, " %.0f/s", rate);
    add_remaining(line, output, rate);
    for (int i = 0; i < REPLAY_COUNTS; i++)
        if (output->counts[i] > 0)
            g_string_append_printf(line, " %s %zu", count_names[i], output->counts[i]);
    if (waiting > 0)
        g_string_append_printf(line, " waiting %zu", waiting);
    fprintf(stderr, "\r%.*s\033[K", terminal_width(STDERR_FILENO) - 1, line->str);
    fflush(stderr);
    output->drawn_ms = now;
}

void replay_output_waiting(struct replay_output *output, size_t count, int64_t left_ms)
{
    erase_bar(output);
    terminal_print(
        stderr, 2,
        "oncedrop: %s: %zu message%s left, which another delivery claimed: waiting until it has ended or, if it"
        " died, delivery.hold_off is over, for %" PRId64
        " s at most; to do this later, interrupt the command and"
        " run it again",
        output->setup->command, count, count == 1 ? " is" : "s are", (left_ms + 999) / 1000);
}

void replay_output_end(struct replay_output **output_ptr, bool left, bool failed)
{
    struct replay_output *output = *output_ptr;
    erase_bar(output);
    for (guint i = 0; !output->all_lines && i < output->problems->len; i++)
        terminal_print(stderr, INDENT, "%s", (char *)output->problems->pdata[i]);
    g_autoptr(GString) counts = g_string_new(NULL);
    for (int i = 0; i < REPLAY_COUNTS; i++)
        if (output->setup->restores || (i != REPLAY_DELETED && i != REPLAY_MISSING))
            g_string_append_printf(counts, "%s %zu %s", i > 0 ? "," : "", output->counts[i], count_names[i]);
    if (output->done > 0 || !failed)
        terminal_print(output->setup->json ? stderr : stdout, 2, "%s%s: %zu message%s:%s (by %s), in %.1f s",
                       output->setup->command, output->setup->dry_run ? " --dry-run" : "", output->done,
                       output->done == 1 ? "" : "s", counts->str, output->setup->restores ? "copy" : "recipient",
                       (double)(base_now_ms() - output->started_ms) / 1000);
    if (output->stopped != NULL)
        terminal_print(stderr, 2, "oncedrop: %s: stopped, as nothing can be delivered without the ledger: %s",
                       output->setup->command, output->stopped);
    else if (left && !failed)
        terminal_print(stderr, 0, "%s", output->setup->hint);
    fflush(stdout);
    g_ptr_array_unref(output->problems);
    base_free(&output->stopped);
    base_free(output_ptr);
}
