/* SPDX-License-Identifier: ISC
 *
 * The life of a session: setup, login, and its end. */
#include "mailbox/mailbox_session.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* If the command has ended, its status explains more than its silence. */
static void explain_command(struct mailbox *mailbox, struct fault *fault)
{
    int status;
    if (mailbox->child == 0 || mailbox->stream != NULL)
        return;
    status = mailbox_spawn_reap(&mailbox->child);
    if (status >= 0 && WIFEXITED(status))
        fault_prefix(fault, "imap.command exited with status %d", WEXITSTATUS(status));
    else if (status >= 0 && WIFSIGNALED(status))
        fault_prefix(fault, "imap.command was killed by signal %d", WTERMSIG(status));
}

/* When opening must have ended; 0: each step has imap.timeout. */
static int64_t until_of(const struct config *config, int64_t limit_ms)
{
    return limit_ms == 0 || limit_ms >= config->imap.timeout ? 0 : base_now_ms() + limit_ms;
}

static void begin_limit(struct mailbox *mailbox, int64_t until_ms)
{
    int64_t left = until_ms - base_now_ms();
    if (until_ms == 0)
        return;
    mailbox->timeout = left > 1 ? left : 1;
    mailbox->until_ms = until_ms;
}

/* Returns whether it was reached. */
static bool end_limit(struct mailbox *mailbox, const struct config *config, int64_t until_ms)
{
    if (until_ms == 0)
        return false;
    mailbox->until_ms = 0;
    mailbox->timeout = config->imap.timeout;
    mailbox_setup_patience(mailbox->timeout);
    return base_now_ms() >= until_ms;
}

/* A session with the present password. False with the fault set: *ret is not logged in, and says why. */
static bool try(const struct config *config, const char *account, const char *login, int64_t until_ms,
                struct mailbox **ret, struct fault *fault)
{
    bool logged_in;
    struct mailbox *mailbox = *ret = mailbox_setup_new(config);
    begin_limit(mailbox, until_ms);
    return mailbox_setup(mailbox, config, account, NULL, &logged_in, fault) &&
           (logged_in || mailbox_login(mailbox, config, login, fault));
}

/* Whether it was refused with a password that its file no longer has. */
static bool is_outdated(const struct mailbox *mailbox, const struct config *config, const char *password,
                        struct fault *fault)
{
    struct fault unread;
    if (!mailbox->refused)
        return false;
    if (!config_renew_password(config, &unread)) {
        char *why OD_CLEANUP(base_free) = base_strdup(fault->text);
        fault_set(fault, "%s; imap.password_file was read again: %s", why, unread.text);
        return false;
    }
    return strcmp(config->imap.password->text, password) != 0;
}

struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                                bool *ret_refused, struct fault *fault)
{
    char *password OD_CLEANUP(base_free_secret) = base_strdup(config->imap.password->text);
    int64_t until_ms = until_of(config, limit_ms);
    struct mailbox *mailbox;
    *ret_refused = false;
    if (!mailbox_login_valid(account, fault))
        return NULL;
    bool open = try(config, account, login, until_ms, &mailbox, fault);
    if (!open && is_outdated(mailbox, config, password, fault)) {
        mailbox_close(&mailbox);
        open = try(config, account, login, until_ms, &mailbox, fault);
    }
    bool late = end_limit(mailbox, config, until_ms);
    if (open)
        return mailbox;
    *ret_refused = mailbox->refused;
    explain_command(mailbox, fault);
    if (mailbox->ended || mailbox->crowded)
        strcpy(fault->code, MAILBOX_CROWDED);
    else if (late)
        strcpy(fault->code, MAILBOX_LATE);
    mailbox_close(&mailbox);
    return NULL;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms, struct fault *fault)
{
    bool refused;
    return mailbox_open_as(config, account, mailbox_login_name(config, account), limit_ms, &refused, fault);
}

bool mailbox_connected(const struct mailbox *mailbox)
{
    if (mailbox->stream == NULL)
        return false;
    struct pollfd waited = {.fd = mailstream_low_get_fd(mailstream_get_low(mailbox->stream)), .events = POLLRDHUP};
    return poll(&waited, 1, 0) == 0;
}

/* Says goodbye, unless that would be taken for a message. */
static void log_out(struct mailbox *mailbox)
{
    struct fault fault;
    enum append_step step = mailbox->appending.step;
    if (mailbox->stream != NULL && step != APPEND_BEGUN && step != APPEND_FED)
        (void)!mailbox_dialogue_send(mailbox, "LOGOUT", &fault, "LOGOUT");
}

void mailbox_close_wait(struct mailbox **mailbox, int64_t ms)
{
    struct mailbox *it = *mailbox;
    struct mailbox_reply reply;
    struct fault fault;
    log_out(it);
    int64_t until = base_now_ms() + ms;
    do
        it->until_ms = until;
    while (base_now_ms() < until && mailbox_response_read(it, &reply, &fault));
    mailbox_dialogue_drop(it);
    mailbox_close(mailbox);
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *it = *mailbox;
    if (it == NULL)
        return;
    log_out(it);
    mailbox_dialogue_drop(it);
    (void)mailbox_spawn_reap(&it->child);
    free(it->where);
    free(it->capabilities);
    free(it->sent);
    mailbox_namespace_clear(&it->namespaces);
    free(it->farewell);
    free(it->bytes);
    free(it->appending.name);
    free(it);
    *mailbox = NULL;
}
