/* SPDX-License-Identifier: ISC
 *
 * What Postfix does to a delivery agent: time limits that bounce, limits that multiply, shells that hide us. */
#include <glib.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/check_report.h"
#include "lmtp/lmtp.h"

/* Postfix runs a command that consists of these characters itself, any other through /bin/sh -c (pipe_command(3)). */
#define NO_SHELL "0123456789!@%-_=+:,./abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ \t"

static const char *config_directory; /* of Postfix, NULL: its default */

/* Output of postconf with these arguments, without its last line end; a new string or NULL. */
static char *postconf(const char *option, const char *name)
{
    char **argv = g_new0(char *, 6), **to = argv, *output = NULL;
    int status;
    *to++ = g_strdup("postconf");
    if (config_directory != NULL) {
        *to++ = g_strdup("-c");
        *to++ = g_strdup(config_directory);
    }
    *to++ = g_strdup(option);
    *to = g_strdup(name);
    bool ran = g_spawn_sync("/", argv, NULL, G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &output,
                            NULL, &status, NULL);
    g_strfreev(argv);
    if (!ran)
        return NULL;
    if (status != 0) {
        g_free(output);
        return NULL;
    }
    return g_strchomp(output);
}

/* A setting with references expanded; suffix goes behind the transport's name. */
static char *setting(const char *transport, const char *suffix)
{
    char *name OD_CLEANUP(base_free) = base_printf("%s%s", transport, suffix);
    return postconf("-xh", name);
}

/* "1000s", "20m": Postfix's times, in milliseconds; 0: none. */
static int64_t time_of(const char *text)
{
    int64_t ms = 0;
    return text != NULL && config_parse_duration(text, &ms) ? ms : 0;
}

static void check_time(const struct config *config, const char *what, const char *text, int64_t needed)
{
    int64_t limit = time_of(text);
    if (limit > 0 && limit <= needed)
        check_warning("postfix",
                      "%s = %s is not above the %lld s a delivery may take (delivery.deadline = %lld s, once for"
                      " reading and once for delivering): Postfix bounces what it has to kill",
                      what, text, (long long)needed / 1000, (long long)config->delivery.deadline / 1000);
}

static void check_processes(const char *transport, const char *maximum, int64_t max_connections)
{
    char *limit OD_CLEANUP(base_free) = strcmp(maximum, "-") == 0 ? postconf("-xh", "default_process_limit")
                                                                  : base_strdup(maximum);
    int64_t processes = limit != NULL ? g_ascii_strtoll(limit, NULL, 10) : 0;
    if (max_connections > 0 && processes > max_connections - 5)
        check_warning("postfix",
                      "%s: up to %lld processes at once, but the database takes %lld connections: set maxproc in"
                      " master.cf or put a pooler in between",
                      transport, (long long)processes, (long long)max_connections);
}

static void check_pipe(const struct config *config, const char *transport)
{
    char *time OD_CLEANUP(base_free) = setting(transport, "_time_limit");
    char *recipients OD_CLEANUP(base_free) = setting(transport, "_destination_recipient_limit");
    char *what OD_CLEANUP(base_free) = base_printf("%s_time_limit", transport);
    check_time(config, what, time, 2 * config->delivery.deadline);
    if (recipients != NULL && strcmp(recipients, "1") != 0)
        check_warning("postfix",
                      "%s_destination_recipient_limit = %s: must be 1, one process delivers to one recipient",
                      transport, recipients);
}

/* A line of postconf -M: name type private unpriv chroot wakeup maxproc command arguments. */
static void check_service(const struct config *config, const char *line, int64_t max_connections)
{
    char **all = g_strsplit_set(line, " \t", -1);
    char **words = g_new0(char *, g_strv_length(all) + 1);
    int count = 0;
    for (char **word = all; *word != NULL; word++)
        if (**word != '\0')
            words[count++] = *word;
    if (count >= 8 && strstr(line, "oncedrop") != NULL) {
        char *time OD_CLEANUP(base_free) = setting(words[0], "_time_limit");
        if (strcmp(words[7], "pipe") == 0)
            check_pipe(config, words[0]);
        else if (strcmp(words[7], "spawn") == 0)
            check_time(config, "spawn's time limit", time, LMTP_SESSION_MS + 2 * config->delivery.deadline);
        if (strcmp(words[7], "pipe") == 0 || strcmp(words[7], "spawn") == 0)
            check_processes(words[0], words[6], max_connections);
    }
    g_free(words);
    g_strfreev(all);
}

static void check_mailbox_command(const struct config *config, const char *command)
{
    char *time OD_CLEANUP(base_free) = postconf("-xh", "command_time_limit");
    check_time(config, "command_time_limit", time, 2 * config->delivery.deadline);
    if (command[strspn(command, NO_SHELL)] != '\0')
        check_warning("postfix",
                      "mailbox_command has characters for which Postfix starts a shell: then a missing program is"
                      " status 127, which bounces; use only letters, digits and !@%%-_=+:,./");
}

/* Set-group-ID, the program delivers only to the account that its caller's login name leads to. */
static void check_login_account(const struct config *config)
{
    struct stat program;
    bool setgid = stat("/proc/self/exe", &program) == 0 && (program.st_mode & S_ISGID) != 0;
    const char *account = config->route.account;
    bool needs_domain = strstr(account, "%{address}") != NULL || strstr(account, "%{domain}") != NULL;
    if (setgid && config->route.account_query[0] == '\0' && needs_domain)
        check_warning("postfix",
                      "mailbox_command runs as the recipient, whose login name has no domain, but route.account ="
                      " %s needs one: every such delivery is deferred; use %%{user} or account_query",
                      account);
}

/* What is tried again for a time of ours must still be in Postfix's queue when that is over. */
static void check_lifetime(const struct config *config)
{
    char *lifetime OD_CLEANUP(base_free) = postconf("-xh", "maximal_queue_lifetime");
    int64_t limit = time_of(lifetime), longest = config->delivery.hold_off;
    const char *name = "delivery.hold_off";
    if (config->delivery.sent_retry > longest) {
        longest = config->delivery.sent_retry;
        name = "delivery.sent_retry";
    }
    if (config->delivery.reject_after > longest) {
        longest = config->delivery.reject_after;
        name = "delivery.reject_after";
    }
    if (limit > 0 && limit <= longest)
        check_warning("postfix",
                      "maximal_queue_lifetime = %s is not above %s = %lld s: Postfix bounces what is to be tried"
                      " again",
                      lifetime, name, (long long)longest / 1000);
    if (limit >= config->record.abandon_after)
        check_warning("postfix",
                      "maximal_queue_lifetime = %s is not below record.abandon_after = %lld d: a message that is still"
                      " in the queue, but was on hold for that long, would be abandoned",
                      lifetime, (long long)config->record.abandon_after / 86400000);
}

void check_postfix(const struct config *config, int64_t max_connections, const char *directory)
{
    config_directory = directory;
    char *command OD_CLEANUP(base_free) = postconf("-xh", "mailbox_command");
    if (command == NULL)
        return; /* no Postfix here; one without a configuration takes a second to say so, each time */
    char *services OD_CLEANUP(base_free) = postconf("-M", NULL);
    if (services == NULL)
        return;
    char *soft_bounce OD_CLEANUP(base_free) = postconf("-xh", "soft_bounce");
    if (soft_bounce != NULL && strcmp(soft_bounce, "yes") == 0)
        check_warning("postfix", "soft_bounce = yes: mail that is refused for good is tried again for days");
    if (strstr(command, "oncedrop") != NULL) {
        check_mailbox_command(config, command);
        check_login_account(config);
    }
    check_lifetime(config);
    char **lines = g_strsplit(services, "\n", -1);
    for (char **line = lines; *line != NULL; line++)
        check_service(config, *line, max_connections);
    g_strfreev(lines);
    check_item(true, "postfix", "settings read");
}
