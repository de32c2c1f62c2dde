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
#include "delivery/envelope.h"

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

/* Called before anything can fail, so that the log names the recipient. */
static void begin_envelope(struct envelope *envelope)
{
    from_environment(&envelope->sender, "SENDER", true);
    from_environment(&envelope->recipient, "RECIPIENT", false);
    from_environment(&envelope->original, "ORIGINAL_RECIPIENT", false);
    from_environment(&envelope->sasl_user, "SASL_USERNAME", true);
}

static struct message *read_message(const struct config *config, const struct envelope *envelope, struct report *report)
{
    struct message *message = NULL;
    struct fault fault;
    enum message_result result = message_read(STDIN_FILENO, (size_t)config->delivery.size_limit,
                                              (const char *const *)config->identity.ignore, &message, &fault);
    if (envelope_check(envelope, result, message, &fault, report)) {
        if (!output_reader_gone())
            return message;
        report_set(report, OUTCOME_TROUBLE, OUTPUT_CUT);
    }
    message_free(&message);
    return NULL;
}

/* Answers and logs a delivery that ends before delivery_run; message may be NULL. */
static void refuse(const struct envelope *envelope, const struct message *message, int64_t started_ms,
                   const struct report *report)
{
    struct delivery_recipient recipient;
    const struct delivery_request request = envelope_request(envelope, message, &recipient);
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    delivery_spent(&delivery, PHASE_READ);
    delivery_refuse(&delivery, report->outcome, report->text);
    answer_give(report);
    delivery_log(&delivery);
}

static bool is_reader_gone(void *context)
{
    (void)context;
    return output_reader_gone();
}

/* Everything between reading the message and its report. */
static void deliver_message(const struct config *config, const struct envelope *envelope, const struct message *message,
                            int64_t started_ms, struct report *report)
{
    struct fault fault;
    struct delivery_recipient recipient;
    struct sessions *sessions OD_CLEANUP(sessions_free) = sessions_new(config, 1);
    struct ledger *ledger OD_CLEANUP(ledger_close) = NULL;
    struct delivery_request request = envelope_request(envelope, message, &recipient);
    request.config = config;
    request.sessions = sessions;
    request.reader_gone = is_reader_gone;
    struct delivery delivery OD_CLEANUP(delivery_clear) = {.request = &request, .started_ms = started_ms};
    delivery_spent(&delivery, PHASE_READ);
    delivery_begin(&delivery, &fault);
    ledger = ledger_open(config, envelope->queue_id, &fault);
    delivery.ledger = ledger;
    if (ledger == NULL)
        delivery_refuse(&delivery, OUTCOME_DATABASE, fault.text);
    else
        delivery_run(&delivery);
    *report = delivery.answers[0].report;
    answer_give(report); /* from here on nothing can change the answer */
    delivery_log(&delivery);
}

/* Loads the configuration, sets limits and deadline. NULL with the report set on trouble. */
static struct config *begin(const struct cmd_options *options, int log_fd, struct report *report)
{
    struct fault fault;
    struct config *config = cmd_config_load(options, log_fd, &fault);
    if (config == NULL) {
        report_set(report, OUTCOME_CONFIG, "%s", fault.text);
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
    bool understood = parse_arguments(argc, argv, &envelope, report);
    begin_envelope(&envelope);
    if (understood)
        config = begin(options, log_fd, report);
    if (config != NULL)
        message = read_message(config, &envelope, report);
    if (message != NULL && envelope_complete(&envelope, message, report))
        deliver_message(config, &envelope, message, started_ms, report);
    else
        refuse(&envelope, message, started_ms, report);
}

int cmd_deliver(const struct cmd_options *options, int argc, char **argv)
{
    struct report report = {.text = ""};
    privilege_clear_environment(cmd_environment);
    close_range(3, ~0U, 0);
    int log_fd = output_open();
    log_open(LOG_TO_SYSLOG, LOG_LEVEL_INFO, options->verbose, log_fd); /* until the configuration is read */
    deadline_install(end_by_signal);
    read_and_deliver(options, argc, argv, log_fd, &report);
    answer_give(&report);
    return outcome_row(report.outcome)->exit_status;
}
