/* SPDX-License-Identifier: ISC
 *
 * deliver: run by Postfix, once for each recipient. Every unexpected failure ends with status 75 and one line of
 * output. */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/log.h"
#include "base/output.h"
#include "base/privilege.h"
#include "cmd/cmd.h"
#include "delivery/answer.h"
#include "delivery/delivery.h"
#include "delivery/received.h"
#include "message/message.h"
#include "route/address.h"

/* The envelope: from the command line, else from the environment, else from the header. */
struct envelope {
    char *sender;
    char *recipient;
    char *original;
    char *queue_id;
    char *sasl_user;
    char *only_login;  /* set-group-ID: the caller, to whose account alone we may deliver; NULL: no restriction */
    int64_t size;      /* minimum number of bytes to expect; 0: unknown */
    int64_t queued_at; /* seconds since 1970; 0: unknown */
};

static void envelope_clear(struct envelope *envelope)
{
    base_free(&envelope->sender);
    base_free(&envelope->recipient);
    base_free(&envelope->original);
    base_free(&envelope->queue_id);
    base_free(&envelope->sasl_user);
    base_free(&envelope->only_login);
}

/* On the deadline, or a signal that asks us to end. The ledger keeps track of what was begun: a claim ends with its
 * hold-off. */
static void end_by_signal(int signal)
{
    static const char over[] = "4.3.0 the deadline is over (delivery.deadline)\n";
    static const char asked[] = "4.3.0 ended by a signal\n";
    delivery_log_end(signal);
    if (signal == SIGALRM)
        output_exit(over, sizeof(over) - 1);
    output_exit(asked, sizeof(asked) - 1);
}

static void refuse_option(struct report *report, int c, char **argv)
{
    const char letter[] = {'-', (char)(c == 's' ? c : optopt), '\0'};
    bool is_word = c == '?' && optopt == '-'; /* getopt(3) has taken "--word" for letters */
    report_set(report, OUTCOME_CONFIG, "deliver: option %.80s %s; see oncedrop help deliver",
               is_word ? argv[optind] : letter,
               c == 's'   ? "needs a number of bytes"
               : c == ':' ? "needs a value"
                          : "is unknown");
}

static bool parse_arguments(int argc, char **argv, struct envelope *envelope, struct report *report)
{
    opterr = 0;
    for (int c; (c = getopt(argc, argv, "+:f:d:a:q:s:u:S:")) != -1;) {
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
            /* The socket of the service is for the front; we were executed because the service was not to be had. */
        } else if (c != 's' || !config_parse_size(optarg, &envelope->size)) {
            refuse_option(report, c, argv);
            return false;
        }
    }
    if (optind < argc)
        report_set(report, OUTCOME_CONFIG, "deliver: unexpected argument '%s'; see oncedrop help deliver",
                   argv[optind]);
    return optind == argc;
}

static void from_environment(char **field, const char *name, bool empty_counts)
{
    const char *value = getenv(name);
    if (*field == NULL && value != NULL && (*value != '\0' || empty_counts))
        *field = base_strdup(value);
}

static void from_header(char **field, const struct message *message, const char *name)
{
    if (*field == NULL)
        *field = message_header(message, name, NULL);
}

/* Only if there is a Received field: without one the message did not come through Postfix, and our caller wrote the
 * field. */
static void original_from_header(char **field, const struct message *message)
{
    char *received OD_CLEANUP(base_free) = message_header(message, "Received", NULL);
    if (received == NULL)
        from_header(field, message, "X-Original-To");
    else if (*field == NULL)
        *field = received_original(message);
}

/* Removes one pair of <>, which Return-Path has. */
static void strip_brackets(char *text)
{
    size_t length = strlen(text);
    if (length >= 2 && text[0] == '<' && text[length - 1] == '>') {
        memmove(text, text + 1, length - 2);
        text[length - 2] = '\0';
    }
}

/* Called before anything can fail, so that the log names the recipient. */
static void begin_envelope(struct envelope *envelope)
{
    from_environment(&envelope->sender, "SENDER", true);
    from_environment(&envelope->recipient, "RECIPIENT", false);
    from_environment(&envelope->original, "ORIGINAL_RECIPIENT", false);
    from_environment(&envelope->sasl_user, "SASL_USERNAME", true);
}

static bool complete_envelope(struct envelope *envelope, const struct message *message, struct report *report)
{
    from_header(&envelope->sender, message, "Return-Path");
    from_header(&envelope->recipient, message, "Delivered-To");
    from_header(&envelope->recipient, message, "X-Original-To");
    original_from_header(&envelope->original, message);
    if (envelope->queue_id != NULL && envelope->queue_id[0] == '\0')
        base_free(&envelope->queue_id);
    received_queue(message, &envelope->queue_id, &envelope->queued_at);
    if (envelope->sender == NULL)
        envelope->sender = base_strdup("");
    strip_brackets(envelope->sender);
    if (envelope->recipient == NULL || envelope->recipient[0] == '\0') {
        report_set(report, OUTCOME_CONFIG, "no recipient: give -d, RECIPIENT in the environment, or Delivered-To");
        return false;
    }
    char *clean = address_clean(envelope->recipient);
    base_free(&envelope->recipient);
    envelope->recipient = clean;
    return true;
}

/* A pipe that was cut ends like a complete one. Postfix's ${size} includes its own record marks, so it is only roughly
 * the size of the input. */
static bool cut_short(const struct message *message, int64_t size)
{
    return (int64_t)message->size + size / 32 + 1024 < size;
}

static struct message *read_message(const struct config *config, const struct envelope *envelope, struct report *report)
{
    struct message *message = NULL;
    struct fault fault;
    switch (message_read(STDIN_FILENO, (size_t)config->delivery.size_limit,
                         (const char *const *)config->identity.ignore, &message, &fault)) {
    case MESSAGE_OK:
        break;
    case MESSAGE_EMPTY:
        report_set(report, OUTCOME_TROUBLE, "nothing on standard input: no message to deliver");
        return NULL;
    case MESSAGE_TOO_LARGE:
        report_set(report, OUTCOME_TOO_LARGE, "%s", fault.text);
        return NULL;
    case MESSAGE_TROUBLE:
        report_set(report, OUTCOME_TROUBLE, "%s", fault.text);
        return NULL;
    }
    if (cut_short(message, envelope->size))
        report_set(report, OUTCOME_TROUBLE, "only %zu of about %lld bytes arrived: the message is cut short",
                   message->received_size, (long long)envelope->size);
    else if (output_reader_gone())
        report_set(report, OUTCOME_TROUBLE, OUTPUT_CUT);
    else
        return message;
    message_free(&message);
    return NULL;
}

/* Answers and logs a delivery that ends before delivery_run; message may be NULL. */
static void refuse(const struct envelope *envelope, const struct message *message, int64_t started_ms,
                   const struct report *report)
{
    const char *address = envelope->recipient != NULL ? envelope->recipient : "";
    struct delivery_recipient recipient = {.address = address};
    struct delivery delivery = {
        .message = message,
        .queue_id = envelope->queue_id,
        .recipients = &recipient,
        .recipient_count = 1,
        .started_ms = started_ms,
    };
    delivery_spent(&delivery, PHASE_READ);
    delivery_refuse(&delivery, report->outcome, report->text);
    answer_give(report);
    delivery_log(&delivery);
}

/* Everything between reading the message and its report. */
static void deliver_message(const struct config *config, const struct envelope *envelope, const struct message *message,
                            int64_t started_ms, struct report *report)
{
    struct fault fault;
    struct delivery_recipient recipient = {.address = envelope->recipient, .original = envelope->original};
    struct sessions *sessions OD_CLEANUP(sessions_free) = sessions_new(config, SESSIONS_FEW);
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct delivery delivery = {
        .config = config,
        .sessions = sessions,
        .message = message,
        .sender = envelope->sender,
        .sasl_user = envelope->sasl_user,
        .only_login = envelope->only_login,
        .queue_id = envelope->queue_id,
        .queued_at = envelope->queued_at,
        .reader_gone = output_reader_gone,
        .recipients = &recipient,
        .recipient_count = 1,
        .started_ms = started_ms,
    };
    delivery_spent(&delivery, PHASE_READ);
    delivery_begin(&delivery, &fault);
    ledger = ledger_open(config, envelope->queue_id, &fault);
    delivery.ledger = ledger;
    if (ledger == NULL)
        delivery_refuse(&delivery, OUTCOME_DATABASE, fault.text);
    else
        delivery_run(&delivery);
    *report = recipient.report;
    answer_give(report); /* from here on nothing can change the answer */
    delivery_log(&delivery);
    delivery_clear(&delivery);
}

/* Set-group-ID, the caller may be an ordinary user who sets these. */
static const char *const kept_from_users[] = {"SENDER", "RECIPIENT", "ORIGINAL_RECIPIENT", NULL};

/* Loads the configuration, drops the group, sets limits and deadline. NULL with the report set on trouble. */
static struct config *begin(const struct cmd_options *options, int log_fd, struct report *report)
{
    struct fault fault;
    struct config *config = cmd_config_load(options, log_fd, &fault);
    if (config == NULL || !privilege_drop()) {
        report_set(report, OUTCOME_CONFIG, "%s", config == NULL ? fault.text : "the group cannot be dropped");
        config_free(&config);
        return NULL;
    }
    if (config->delivery.memory > 0)
        base_limit_memory(config->delivery.memory);
    if (!deadline_arm(config->delivery.deadline, &fault)) {
        report_set(report, OUTCOME_TROUBLE, "%s", fault.text);
        config_free(&config);
    }
    return config;
}

static void read_and_deliver(const struct cmd_options *options, int argc, char **argv, int log_fd,
                             struct report *report)
{
    struct envelope envelope OD_CLEANUP(envelope_clear) = {.size = 0};
    struct config *config OD_CLEANUP(config_free) = NULL;
    struct message *message OD_CLEANUP(message_free) = NULL;
    int64_t started_ms = base_now_ms();
    envelope.only_login = privilege_only_login();
    bool understood = parse_arguments(argc, argv, &envelope, report);
    begin_envelope(&envelope);
    if (understood)
        config = begin(options, log_fd, report);
    if (config != NULL)
        message = read_message(config, &envelope, report);
    if (message != NULL && complete_envelope(&envelope, message, report))
        deliver_message(config, &envelope, message, started_ms, report);
    else
        refuse(&envelope, message, started_ms, report);
}

int cmd_deliver(const struct cmd_options *options, int argc, char **argv)
{
    struct report report = {.text = ""};
    privilege_clear_environment(base_is_privileged() ? kept_from_users : cmd_environment);
    close_range(3, ~0U, 0);
    int log_fd = output_open();
    if (base_is_privileged())
        base_close(&log_fd); /* the caller is not an administrator: the log is none of its business */
    log_open(LOG_TO_SYSLOG, LOG_LEVEL_INFO, options->verbose, log_fd); /* until the configuration is read */
    deadline_install(end_by_signal);
    read_and_deliver(options, argc, argv, log_fd, &report);
    answer_give(&report);
    return outcome_row(report.outcome)->exit_status;
}
