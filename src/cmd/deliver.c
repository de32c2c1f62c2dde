/* SPDX-License-Identifier: ISC
 *
 * deliver: run by Postfix. Every unexpected failure ends with status 75 and a line of output. */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "delivery/envelope.h"

/* The ledger has what was begun: a claim ends with its hold-off. */
static void end_delivery(int signal)
{
    const char *text = signal == SIGBUS    ? "4.3.0 " DEADLINE_BUS "\n"
                       : signal == SIGALRM ? "4.3.0 " DEADLINE_OVER "\n"
                                           : "4.3.0 " DEADLINE_SIGNAL "\n";
    delivery_log_end(signal);
    output_exit(text, strlen(text));
}

static void report_option(struct report *report, int c, char **argv)
{
    const char option[] = {'-', (char)(c == 's' ? c : optopt), '\0'};
    bool is_word = c == '?' && optopt == '-'; /* getopt(3) took "--word" for letters */
    report_set(report, OUTCOME_CONFIG, "deliver: option %.80s %s; see oncedrop help deliver",
               is_word ? argv[optind] : option,
               c == 's'   ? "needs a number of bytes"
               : c == ':' ? "needs a value"
                          : "is unknown");
}

static bool parse_envelope(const struct cmd *cmd, struct envelope *envelope, struct report *report)
{
    opterr = 0;
    for (int c; (c = getopt(cmd->argc, cmd->argv, "+:f:d:a:q:s:u:S:")) != -1;) {
        char **field = c == 'f'   ? &envelope->sender
                       : c == 'd' ? &envelope->recipient
                       : c == 'a' ? &envelope->original
                       : c == 'q' ? &envelope->queue_id
                       : c == 'u' ? &envelope->sasl_user
                                  : NULL;
        if (field != NULL) {
            base_free(field);
            *field = base_strdup(optarg);
        } else if (c == 'S') {
            /* -S is for the front, which found no service */
        } else if (c != 's' || !config_parse_size(optarg, &envelope->size)) {
            report_option(report, c, cmd->argv);
            return false;
        }
    }
    if (optind < cmd->argc)
        report_set(report, OUTCOME_CONFIG, "deliver: unexpected argument '%s'; see oncedrop help deliver",
                   cmd->argv[optind]);
    return optind == cmd->argc;
}

static void from_environment(char **field, const char *name, bool empty_counts)
{
    const char *value = getenv(name);
    if (*field == NULL && value != NULL && (*value != '\0' || empty_counts))
        *field = base_strdup(value);
}

/* Called first, so that the log names the recipient. */
static void begin_envelope(struct envelope *envelope)
{
    from_environment(&envelope->sender, "SENDER", true);
    from_environment(&envelope->recipient, "RECIPIENT", false);
    from_environment(&envelope->original, "ORIGINAL_RECIPIENT", false);
    from_environment(&envelope->sasl_user, "SASL_USERNAME", true);
}

static struct message *read_standard_input(struct cmd *cmd, const struct envelope *envelope, struct report *report)
{
    struct message *message = NULL;
    enum message_result result = message_read(STDIN_FILENO, (size_t)cmd->config->delivery.size_limit,
                                              (const char *const *)cmd->config->identity.ignore_headers, &message,
                                              &cmd->error);
    if (envelope_check(envelope, result, message, &cmd->error, report)) {
        if (!output_peer_closed())
            return message;
        report_set(report, OUTCOME_TEMPFAIL, OUTPUT_CUT);
    }
    message_free(&message);
    return NULL;
}

/* Ends a delivery before delivery_run; message may be NULL. */
static void refuse_message(const struct envelope *envelope, const struct message *message, int64_t started_ms,
                           const struct report *report)
{
    struct delivery_recipient recipient;
    const struct delivery_request request = envelope_request(envelope, message, &recipient);
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    delivery_add_time(&delivery, PHASE_READ);
    delivery_refuse(&delivery, report->outcome, report->text);
    report_write(report);
    delivery_log(&delivery);
}

static bool is_reader_gone(void *context)
{
    (void)context;
    return output_peer_closed();
}

/* A user without access, as under mailbox_command, needs the service. */
static void name_service(struct error *error)
{
    error_set(error, "%s; for this user the service delivers: start it (oncedrop serve)", error->text);
}

static void deliver_message(struct cmd *cmd, const struct envelope *envelope, const struct message *message,
                            int64_t started_ms, struct report *report)
{
    struct delivery_recipient recipient;
    struct sessions *sessions OD_CLEANUP(sessions_free) = sessions_new(cmd->config, 1);
    struct delivery_request request = envelope_request(envelope, message, &recipient);
    request.config = cmd->config;
    request.sessions = sessions;
    request.peer_closed = is_reader_gone;
    struct delivery delivery = {.request = &request, .started_ms = started_ms};
    delivery_add_time(&delivery, PHASE_READ);
    delivery_begin(&delivery, &cmd->error);
    cmd->ledger = delivery.ledger = ledger_open(cmd->config, envelope->queue_id, &cmd->error);
    if (delivery.ledger == NULL && config_is_file(cmd->config) && ledger_is_refused(cmd->config, &cmd->error))
        name_service(&cmd->error);
    if (delivery.ledger == NULL)
        delivery_refuse(&delivery, OUTCOME_DATABASE, cmd->error.text);
    else
        delivery_run(&delivery);
    *report = delivery.replies[0].report;
    report_write(report); /* the reply is final */
    delivery_log(&delivery);
    delivery_clear(&delivery);
    ledger_close(&cmd->ledger);
}

/* Returns false with the report set. */
static bool begin_delivery(struct cmd *cmd, int log_fd, struct report *report)
{
    cmd->config = cmd_config_load(cmd, log_fd, &cmd->error);
    if (cmd->config == NULL && access(cmd->config_file, R_OK) != 0 && errno == EACCES)
        name_service(&cmd->error);
    if (cmd->config == NULL || cmd_become(cmd->config, CMD_AS_OWNER, &cmd->error) != 0) {
        report_set(report, OUTCOME_CONFIG, "%s", cmd->error.text);
        return false;
    }
    if (cmd->config->delivery.memory > 0)
        base_limit_memory(cmd->config->delivery.memory);
    if (!deadline_arm(cmd->config->delivery.deadline, &cmd->error)) {
        report_set(report, OUTCOME_TEMPFAIL, "%s", cmd->error.text);
        return false;
    }
    return true;
}

static void read_and_deliver(struct cmd *cmd, int log_fd, struct report *report)
{
    struct envelope envelope OD_CLEANUP(envelope_clear) = {.size = 0};
    struct message *message OD_CLEANUP(message_free) = NULL;
    int64_t started_ms = base_now_ms();
    bool understood = parse_envelope(cmd, &envelope, report);
    begin_envelope(&envelope);
    if (understood && begin_delivery(cmd, log_fd, report))
        message = read_standard_input(cmd, &envelope, report);
    if (message != NULL && envelope_complete(&envelope, message, report))
        deliver_message(cmd, &envelope, message, started_ms, report);
    else
        refuse_message(&envelope, message, started_ms, report);
}

int cmd_deliver(struct cmd *cmd)
{
    struct report report = {.text = ""};
    cmd_clear_environment();
    close_range(3, ~0U, 0);
    int log_fd = output_open();
    log_open(LOG_TO_SYSLOG, LOG_FORMAT_TEXT, LOG_LEVEL_INFO, cmd->verbose,
             log_fd); /* until the configuration is read */
    deadline_install(end_delivery);
    read_and_deliver(cmd, log_fd, &report);
    report_write(&report);
    return outcome_row(report.outcome)->exit_status;
}
