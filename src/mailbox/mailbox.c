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

struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, bool *ret_refused,
                                struct fault *fault)
{
    *ret_refused = false;
    if (!mailbox_login_valid(account, fault))
        return NULL;
    bool logged_in;
    struct mailbox *mailbox = mailbox_setup_new(config);
    if (!mailbox_setup(mailbox, config, account, NULL, &logged_in, fault) ||
        (!logged_in && !mailbox_login(mailbox, config, login, fault))) {
        explain_command(mailbox, fault);
        if (mailbox->ended || mailbox->crowded)
            strcpy(fault->code, MAILBOX_CROWDED);
        *ret_refused = mailbox->refused;
        mailbox_close(&mailbox);
    }
    return mailbox;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, struct fault *fault)
{
    bool refused;
    return mailbox_open_as(config, account, mailbox_login_name(config, account), &refused, fault);
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
