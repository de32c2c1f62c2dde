/* SPDX-License-Identifier: ISC
 *
 * The life of a session: setup, login, the check that it still answers, and its end. */
#include "mailbox/mailbox_session.h"

#include <stdlib.h>
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

bool mailbox_alive(struct mailbox *mailbox)
{
    struct mailbox_reply reply;
    struct fault fault;
    return mailbox_dialogue_ask(mailbox, "NOOP", NULL, NULL, &reply, &fault, "NOOP");
}

void mailbox_close(struct mailbox **mailbox)
{
    struct mailbox *it = *mailbox;
    struct fault fault;
    if (it == NULL)
        return;
    if (it->stream != NULL)
        (void)!mailbox_dialogue_send(it, "LOGOUT", &fault, "LOGOUT");
    mailbox_dialogue_drop(it);
    (void)mailbox_spawn_reap(&it->child);
    free(it->where);
    free(it->capabilities);
    free(it->sent);
    free(it->farewell);
    free(it->bytes);
    free(it);
    *mailbox = NULL;
}
