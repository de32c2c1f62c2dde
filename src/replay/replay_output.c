/* SPDX-License-Identifier: ISC
 *
 * Text, JSON and the progress bar. */
#include "replay/replay_output.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/terminal.h"

#define REDRAW_MS 200
#define BAR_WIDTH 20
#define INDENT 10 /* of continuation lines: the width of the outcome column */

struct replay_output {
    const char *command;
    bool json;
    bool dry_run;
    bool lines; /* also print a line for each success */
    bool bar;
    size_t total, done; /* messages */
    size_t counts[REPLAY_COUNTS];
    GPtrArray *problems; /* a line for each failure */
    int64_t started_ms, drawn_ms;
};

static const char *const count_names[REPLAY_COUNTS] = {
    [REPLAY_STORED] = "stored",
    [REPLAY_DUPLICATE] = "duplicate",
    [REPLAY_DEFERRED] = "deferred",
    [REPLAY_FAILED] = "failed",
};

struct replay_output *replay_output_new(const char *command, bool json, bool dry_run, size_t total)
{
    struct replay_output *output = base_alloc(sizeof(*output));
    output->command = command;
    output->json = json;
    output->dry_run = dry_run;
    output->lines = !json && !isatty(STDOUT_FILENO);
    output->bar = isatty(STDERR_FILENO);
    output->total = total;
    output->problems = g_ptr_array_new_with_free_func(g_free);
    output->started_ms = base_now_ms();
    return output;
}

size_t replay_output_count(const struct replay_output *output, enum replay_count count)
{
    return output->counts[count];
}

/* In a dry run every line is wanted. */
static bool tells_all(const struct replay_output *output)
{
    return output->lines || (output->dry_run && !output->json);
}

static void erase_bar(struct replay_output *output)
{
    if (output->bar && output->drawn_ms != 0)
        fputs("\r\033[K", stderr);
    output->drawn_ms = 0;
}

static enum replay_count count_of(enum outcome outcome)
{
    const struct outcome_row *row = outcome_row(outcome);
    if (outcome == OUTCOME_STORED || outcome == OUTCOME_QUARANTINED)
        return REPLAY_STORED;
    if (outcome == OUTCOME_DUPLICATE)
        return REPLAY_DUPLICATE;
    return row->final ? REPLAY_FAILED : REPLAY_DEFERRED;
}

/* Prints one line about a recipient ("": about the whole message); failures are also kept for the summary. */
static void tell(struct replay_output *output, enum replay_count count, const char *name, const char *recipient,
                 const char *text)
{
    char escaped_name[8192], escaped_recipient[2048], escaped_text[4096];
    char *line = g_strdup_printf("%-10s%s%s%s%s: %s", count_names[count],
                                 log_escape(name, escaped_name, sizeof(escaped_name)),
                                 recipient[0] != '\0' ? " to=<" : "",
                                 log_escape(recipient, escaped_recipient, sizeof(escaped_recipient)),
                                 recipient[0] != '\0' ? ">" : "", log_escape(text, escaped_text, sizeof(escaped_text)));
    output->counts[count]++;
    if (tells_all(output))
        terminal_print(stdout, INDENT, line);
    if (count == REPLAY_DEFERRED || count == REPLAY_FAILED)
        g_ptr_array_add(output->problems, line);
    else
        g_free(line);
}

static json_t *json_text(const char *text)
{
    char *valid = g_utf8_make_valid(text, -1);
    json_t *json = json_string(valid);
    g_free(valid);
    return json;
}

static void print_json(const char *name, const char *error, const struct replay_answer *answer)
{
    json_t *recipients = json_array();
    for (guint i = 0; answer != NULL && i < answer->verdicts->len; i++) {
        const struct replay_verdict *verdict = answer->verdicts->pdata[i];
        json_array_append_new(recipients,
                              json_pack("{s:o, s:s, s:s, s:o, s:o, s:o, s:I}", "recipient",
                                        json_text(verdict->recipient), "status",
                                        count_names[count_of(verdict->outcome)], "dsn",
                                        outcome_row(verdict->outcome)->dsn, "text", json_text(verdict->text), "account",
                                        json_text(verdict->account), "mailbox", json_text(verdict->mailbox), "uid",
                                        (json_int_t)verdict->uid));
    }
    const struct replay_answer *loaded = answer != NULL && answer->digest[0] != '\0' ? answer : NULL;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:I, s:o}", "name", json_text(name), "error",
                  error != NULL ? json_text(error) : json_null(), "message_id",
                  loaded != NULL && loaded->message_id[0] != '\0' ? json_text(loaded->message_id) : json_null(),
                  "digest", loaded != NULL ? json_text(loaded->digest) : json_null(), "size",
                  (json_int_t)(loaded != NULL ? loaded->size : 0), "recipients", recipients);
    json_dumpf(object, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(object);
}

void replay_output_trouble(struct replay_output *output, const char *name, const char *reason)
{
    erase_bar(output);
    output->done++;
    tell(output, REPLAY_DEFERRED, name, "", reason);
    if (output->json)
        print_json(name, reason, NULL);
}

void replay_output_message(struct replay_output *output, const char *name, const struct replay_answer *answer)
{
    bool failed = answer->load == REPLAY_BAD || answer->load == REPLAY_TROUBLE;
    erase_bar(output);
    output->done++;
    if (failed)
        tell(output, answer->load == REPLAY_BAD ? REPLAY_FAILED : REPLAY_DEFERRED, name, "", answer->text);
    for (guint i = 0; !failed && i < answer->verdicts->len; i++) {
        const struct replay_verdict *verdict = answer->verdicts->pdata[i];
        tell(output, count_of(verdict->outcome), name, verdict->recipient, verdict->text);
    }
    if (output->json && answer->load != REPLAY_NOTHING)
        print_json(name, failed ? answer->text : NULL, answer);
}

static void add_remaining(GString *line, const struct replay_output *output, double rate)
{
    if (rate <= 0 || output->total <= output->done)
        return;
    long left = (long)((double)(output->total - output->done) / rate) + 1;
    g_string_append_printf(line, left >= 3600 ? ", %ld:%02ld:%02ld left" : ", %.0ld%ld:%02ld left", left / 3600,
                           left / 60 % 60, left % 60);
}

void replay_output_progress(struct replay_output *output, size_t waiting)
{
    int64_t now = base_now_ms();
    if (!output->bar || (output->drawn_ms != 0 && now - output->drawn_ms < REDRAW_MS))
        return;
    double seconds = (double)(now - output->started_ms) / 1000;
    double rate = seconds > 0.5 ? (double)output->done / seconds : 0;
    GString *line = g_string_new(NULL);
    if (output->total > 0) {
        int filled = (int)(output->done * BAR_WIDTH / output->total);
        g_string_append_c(line, '[');
        for (int i = 0; i < BAR_WIDTH; i++)
            g_string_append_c(line, i < filled ? '#' : '.');
        g_string_append_printf(line, "] %zu/%zu", output->done, output->total);
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
    g_string_free(line, TRUE);
}

static void print_problems(const struct replay_output *output)
{
    if (tells_all(output) || output->problems->len == 0)
        return;
    for (guint i = 0; i < output->problems->len; i++)
        terminal_print(stderr, INDENT, output->problems->pdata[i]);
}

static void output_free(struct replay_output **output)
{
    erase_bar(*output);
    g_ptr_array_unref((*output)->problems);
    base_free(output);
}

void replay_output_end(struct replay_output **output_ptr, const char *again)
{
    struct replay_output *output = *output_ptr;
    FILE *out = output->json ? stderr : stdout;
    erase_bar(output);
    print_problems(output);
    GString *line = g_string_new(NULL);
    g_string_append_printf(line, "%s%s: %zu message%s:", output->command, output->dry_run ? " --dry-run" : "",
                           output->done, output->done == 1 ? "" : "s");
    for (int i = 0; i < REPLAY_COUNTS; i++)
        g_string_append_printf(line, "%s %zu %s", i > 0 ? "," : "", output->counts[i], count_names[i]);
    g_string_append_printf(line, " (by recipient), in %.1f s", (double)(base_now_ms() - output->started_ms) / 1000);
    terminal_print(out, 2, line->str);
    g_string_free(line, TRUE);
    if (again != NULL)
        terminal_print(stderr, 0, again);
    fflush(stdout);
    output_free(output_ptr);
}

void replay_output_cancel(struct replay_output **output)
{
    if ((*output)->done > 0)
        replay_output_end(output, NULL);
    else
        output_free(output);
}
