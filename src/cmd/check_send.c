/* SPDX-License-Identifier: ISC
 *
 * check --send: sends a message through Postfix, and asks `oncedrop show`, the queue and the IMAP server for it. Runs
 * as the caller: root may read the log. */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cmd/check.h"
#include "delivery/presence.h"
#include "replay/replay.h"

#define MAIL_LOG "/var/log/mail.log"
#define POLL_MS 200
#define LOG_MS 3000    /* lines may come late */
#define AGAIN_MS 10000 /* until an unreachable server is retried */
#define NEWEST 50      /* messages to compare */

struct sending {
    const struct check *check;
    char id[256]; /* without <> */
    time_t begun;
    int64_t begun_ms;
    int log; /* MAIL_LOG, at its old end; -1: unreadable */
    bool no_ledger;
    struct sessions *sessions;
    int64_t search_at_ms; /* not earlier */
};

static bool write_message(const struct sending *sending, int fd)
{
    const char *address = sending->check->address;
    char *text OD_CLEANUP(base_free) = base_printf(
        "From: %s\nTo: %s\nSubject: oncedrop check --send\nMessage-ID: <%s>\nAuto-Submitted: auto-generated\n\n"
        "`oncedrop check --send' has sent this, to see where it goes. It can be deleted.\n",
        address, address, sending->id);
    return base_write(fd, text, strlen(text));
}

/* Returns false, with a report, if Postfix refuses. */
static bool send_by_postfix(const struct sending *sending)
{
    const struct check *check = sending->check;
    const char *words[] = {"sendmail",
                           "-i",
                           "-f",
                           check->address,
                           check->postfix != NULL ? "-C" : "--",
                           check->postfix != NULL ? check->postfix : check->address,
                           check->postfix != NULL ? "--" : NULL,
                           check->address,
                           NULL};
    const GSpawnFlags flags = G_SPAWN_SEARCH_PATH | G_SPAWN_DO_NOT_REAP_CHILD | G_SPAWN_STDOUT_TO_DEV_NULL;
    g_autoptr(GError) error = NULL;
    GPid child;
    int input;
    signal(SIGPIPE, SIG_IGN);
    if (!g_spawn_async_with_pipes(NULL, (char **)(uintptr_t)words, NULL, flags, NULL, NULL, &child, &input, NULL, NULL,
                                  &error))
        return check_item(false, "send", "%s", error->message);
    bool written = write_message(sending, input);
    close(input);
    int status = base_wait(child);
    return (written && status == 0) || check_item(false, "send", "sendmail -i %s ended with status %d: see its log",
                                                  check->address, WIFEXITED(status) ? WEXITSTATUS(status) : status);
}

/* Returns a new reference, or NULL. */
static json_t *ask_ledger(struct sending *sending)
{
    const struct cmd *cmd = sending->check->cmd;
    g_autoptr(GStrvBuilder) words = g_strv_builder_new();
    char *self OD_CLEANUP(base_free) = module_program();
    int status = -1;
    if (self == NULL)
        return NULL;
    g_strv_builder_add_many(words, self, "-c", cmd->config_file, NULL);
    for (const char *const *override = cmd->overrides; *override != NULL; override++)
        g_strv_builder_add_many(words, "-o", *override, NULL);
    g_strv_builder_add_many(words, "show", "--json", sending->id, NULL);
    g_auto(GStrv) command = g_strv_builder_end(words);
    char *text OD_CLEANUP(base_free) = postconf_run((const char *const *)command, &status);
    sending->no_ledger = text == NULL || !WIFEXITED(status) || WEXITSTATUS(status) > 1;
    json_t *reply = text != NULL ? json_loads(text, 0, NULL) : NULL;
    json_t *message = json_incref(json_array_get(json_object_get(reply, "messages"), 0));
    json_decref(reply);
    return message;
}

/* Returns true, with a report, if the result is final. */
static bool reported_by_ledger(struct sending *sending)
{
    json_t *message = ask_ledger(sending), *copy = json_array_get(json_object_get(message, "copies"), 0);
    const char *state = replay_result_text(copy, "state");
    bool stored = strcmp(state, "stored") == 0, over = stored || strcmp(state, "failed") == 0;
    char *uid OD_CLEANUP(base_free) = copy != NULL ? json_dumps(json_object_get(copy, "uid"), JSON_ENCODE_ANY) : NULL;
    if (stored)
        check_item(true, "send", "stored in %s of account %s, uid %s, %.1f s after Postfix took it",
                   replay_result_text(copy, "mailbox"), replay_result_text(copy, "account"), uid,
                   (double)(base_now_ms() - sending->begun_ms) / 1000);
    else if (over)
        check_item(false, "send", "refused: %s", replay_result_text(copy, "error"));
    json_decref(message);
    return over;
}

/* Returns true, with a report, if a new message of this sender is deferred. */
static bool reported_by_queue(const struct sending *sending)
{
    const char *postfix = sending->check->postfix;
    const char *words[] = {"postqueue", "-j", postfix != NULL ? "-c" : NULL, postfix, NULL};
    int status;
    bool found = false;
    char *text OD_CLEANUP(base_free) = postconf_run(words, &status);
    g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
    for (char **line = lines; *line != NULL && !found; line++) {
        json_t *entry = json_loads(*line, 0, NULL);
        json_t *recipient = json_array_get(json_object_get(entry, "recipients"), 0);
        found = json_integer_value(json_object_get(entry, "arrival_time")) >= sending->begun &&
                strcmp(replay_result_text(entry, "queue_name"), "deferred") == 0 &&
                g_ascii_strcasecmp(replay_result_text(entry, "sender"), sending->check->address) == 0;
        if (found)
            check_item(false, "send", "deferred by Postfix, which will try again (queue id %s): %s",
                       replay_result_text(entry, "queue_id"), replay_result_text(recipient, "delay_reason"));
        json_decref(entry);
    }
    return found;
}

static enum search_result find_in_mailbox(const struct sending *sending, uint32_t *ret_uid, struct error *error)
{
    const struct check *check = sending->check;
    const struct message named = {.message_id = (char *)(uintptr_t)sending->id,
                                  .message_id_length = strlen(sending->id)};
    const struct presence_query query = {
        .sessions = sending->sessions,
        .server = check_server_of(check),
        .account = check->account,
        .mailbox = check->inbox,
        .message = &named,
        .received_at = sending->begun,
        .by_id = true,
        .newest = NEWEST,
        .newest_only = true,
    };
    struct presence_place place = {.uid = 0};
    sessions_begin(sending->sessions);
    enum search_result result = presence_search(&query, &place, error);
    *ret_uid = place.uid;
    return result;
}

static bool reported_by_mailbox(struct sending *sending)
{
    uint32_t uid;
    struct error error;
    if (base_now_ms() < sending->search_at_ms)
        return false;
    enum search_result result = find_in_mailbox(sending, &uid, &error);
    sending->search_at_ms = base_now_ms() + (result == SEARCH_UNKNOWN ? AGAIN_MS : 0);
    return result == SEARCH_PRESENT &&
           check_item(true, "send", "in %s of account %s, uid %u; what the ledger has of it, this user may not read",
                      sending->check->inbox, sending->check->account, uid);
}

static void report_mailbox(const struct sending *sending)
{
    const struct check *check = sending->check;
    struct error error;
    uint32_t uid = 0;
    switch (find_in_mailbox(sending, &uid, &error)) {
    case SEARCH_PRESENT:
        check_item(true, "found", "the IMAP server shows it in %s, uid %u", check->inbox, uid);
        break;
    case SEARCH_MISSING:
    case SEARCH_DELETED:
        check_item(CHECK_WARNING, "found", "it is not in %s: a Sieve script or a mail program may have moved it",
                   check->inbox);
        break;
    case SEARCH_UNKNOWN:
        check_item(false, "found", "%s", error.text);
        break;
    }
}

/* Returns what came since, a new string or NULL. */
static char *read_log(const struct sending *sending)
{
    char *since OD_CLEANUP(base_free) = base_printf("@%lld", (long long)sending->begun);
    const char *words[] = {"journalctl", "-q", "--no-pager", "-t", "oncedrop", "--since", since, NULL};
    int status;
    if (sending->log < 0)
        return postconf_run(words, &status);
    char *text = base_alloc(65536);
    ssize_t n = read(sending->log, text, 65535);
    text[MAX(n, 0)] = '\0';
    return text;
}

static void report_log(const struct sending *sending)
{
    for (int64_t until = base_now_ms() + LOG_MS; base_now_ms() < until; g_usleep(POLL_MS * 1000)) {
        char *text OD_CLEANUP(base_free) = read_log(sending);
        g_auto(GStrv) lines = g_strsplit(text != NULL ? text : "", "\n", -1);
        for (char **line = lines; *line != NULL; line++)
            if (strstr(*line, sending->id) != NULL && strstr(*line, "status=") != NULL) {
                check_item(true, "log", "%s", *line);
                return;
            }
    }
}

void check_send(struct check *check)
{
    const char *at = strrchr(check->address, '@');
    struct sessions *sessions OD_CLEANUP(sessions_free) = sessions_new(check->cmd->config, 1);
    struct sending sending = {.check = check, .sessions = sessions, .begun = time(NULL), .begun_ms = base_now_ms()};
    snprintf(sending.id, sizeof(sending.id), "check.%llx.%x.%x@%.180s", (long long)sending.begun, getpid(),
             g_random_int(), at != NULL ? at + 1 : "localhost");
    sending.log = open(MAIL_LOG, O_RDONLY | O_CLOEXEC);
    if (sending.log >= 0)
        (void)!lseek(sending.log, 0, SEEK_END);
    if (!send_by_postfix(&sending))
        return;
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "Waiting for Postfix to deliver it, for at most %d s.\n", CHECK_SEND_MS / 1000);
    bool reported = false, queued = false;
    while (!reported && !queued) {
        g_usleep(POLL_MS * 1000);
        reported = reported_by_ledger(&sending) || (sending.no_ledger && reported_by_mailbox(&sending));
        queued = !reported && reported_by_queue(&sending);
    }
    if (reported && !sending.no_ledger)
        report_mailbox(&sending);
    report_log(&sending);
}
