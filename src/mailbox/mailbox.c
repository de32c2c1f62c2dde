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

/* Takes the next step, which may wait. */
static bool take_step(struct mailbox *mailbox, struct fault *fault)
{
    struct opening *it = &mailbox->opening;
    enum opening_step step = it->step;
    bool logged_in;
    it->step = OPENING_OVER;
    switch (step) {
    case OPENING_GREETING:
        if (!mailbox_setup_greet(mailbox, it->config, NULL, &logged_in, fault))
            return false;
        it->step = logged_in ? OPENING_OVER : OPENING_CREDENTIAL;
        return true;
    case OPENING_CREDENTIAL:
        it->step = OPENING_ANSWER;
        return mailbox_login_send(mailbox, fault);
    case OPENING_ANSWER:
        return mailbox_login_take(mailbox, fault);
    case OPENING_OVER:
        break;
    }
    return true;
}

static void step_on(struct mailbox *mailbox)
{
    struct opening *it = &mailbox->opening;
    it->failed = !take_step(mailbox, &it->why);
    if (it->failed)
        it->step = OPENING_OVER;
}

/* When opening must have ended; 0: each step has imap.timeout. */
static int64_t until_of(const struct config *config, int64_t limit_ms)
{
    return limit_ms == 0 || limit_ms >= config->imap.timeout ? 0 : base_now_ms() + limit_ms;
}

/* All steps together have until then. */
static void begin_limit(struct mailbox *mailbox, int64_t until_ms)
{
    int64_t left = until_ms - base_now_ms();
    if (until_ms == 0)
        return;
    mailbox->timeout = left > 1 ? left : 1;
    mailbox->opening.until_ms = mailbox->until_ms = until_ms;
}

/* Returns whether it was reached. */
static bool end_limit(struct mailbox *mailbox)
{
    int64_t until_ms = mailbox->opening.until_ms;
    if (until_ms == 0)
        return false;
    mailbox->until_ms = 0;
    mailbox->timeout = mailbox->opening.config->imap.timeout;
    mailbox_setup_patience(mailbox->timeout);
    return base_now_ms() >= until_ms;
}

/* Connected, or failed. */
static struct mailbox *begin(const struct config *config, const char *account, const char *login, bool ahead,
                             int64_t until_ms)
{
    struct mailbox *mailbox = mailbox_setup_new(config);
    struct opening *it = &mailbox->opening;
    *it = (struct opening){
        .step = OPENING_GREETING,
        .config = config,
        .login = base_strdup(login),
        .password = base_strdup(config->imap.password->text),
    };
    begin_limit(mailbox, until_ms);
    it->failed = !mailbox_setup_connect(mailbox, config, account, NULL, ahead, &it->why);
    if (it->failed)
        it->step = OPENING_OVER;
    return mailbox;
}

static void go_on(struct mailbox *mailbox)
{
    while (mailbox->opening.step != OPENING_OVER)
        step_on(mailbox);
}

/* Whether it was refused with a password that its file no longer has. */
static bool is_outdated(struct mailbox *mailbox)
{
    struct opening *it = &mailbox->opening;
    struct fault unread;
    if (!it->failed || !mailbox->refused)
        return false;
    if (!config_renew_password(it->config, &unread)) {
        fault_set(&it->why, "%s; imap.password_file was read again: %s", it->why.text, unread.text);
        return false;
    }
    return strcmp(it->config->imap.password->text, it->password) != 0;
}

/* With the present password, in what is left of the time. The account only matters where there is no password. */
static void open_again(struct mailbox **mailbox)
{
    const struct opening old = (*mailbox)->opening;
    char *login OD_CLEANUP(base_free) = base_strdup(old.login);
    mailbox_close(mailbox);
    *mailbox = begin(old.config, login, login, false, old.until_ms);
    go_on(*mailbox);
}

/* The result, once there is nothing left to wait for. */
static bool end(struct mailbox **mailbox, bool *ret_refused, struct fault *fault)
{
    go_on(*mailbox);
    if (is_outdated(*mailbox))
        open_again(mailbox);
    struct mailbox *it = *mailbox;
    bool late = end_limit(it);
    *ret_refused = it->refused;
    if (!it->opening.failed)
        return true;
    *fault = it->opening.why;
    explain_command(it, fault);
    if (it->ended || it->crowded)
        strcpy(fault->code, MAILBOX_CROWDED);
    else if (late)
        strcpy(fault->code, MAILBOX_LATE);
    mailbox_close(mailbox);
    return false;
}

struct mailbox *mailbox_open_as(const struct config *config, const char *account, const char *login, bool *ret_refused,
                                struct fault *fault)
{
    *ret_refused = false;
    if (!mailbox_login_valid(account, fault))
        return NULL;
    struct mailbox *mailbox = begin(config, account, login, false, 0);
    return end(&mailbox, ret_refused, fault) ? mailbox : NULL;
}

struct mailbox *mailbox_open_begin(const struct config *config, const char *account, struct fault *fault)
{
    if (!mailbox_login_valid(account, fault))
        return NULL;
    struct mailbox *mailbox = begin(config, account, mailbox_login_name(config, account), true, 0);
    if (mailbox->opening.failed) {
        *fault = mailbox->opening.why;
        mailbox_close(&mailbox);
    }
    return mailbox;
}

bool mailbox_open_end(struct mailbox **mailbox, struct fault *fault)
{
    bool refused;
    return end(mailbox, &refused, fault);
}

enum mailbox_ahead mailbox_open_ahead(struct mailbox *mailbox)
{
    struct opening *it = &mailbox->opening;
    while (it->step != OPENING_OVER) {
        enum mailbox_ahead arrived = AHEAD_OVER;
        if (it->step == OPENING_GREETING)
            arrived = mailbox_ahead_arrived(mailbox, AWAITED_GREETING);
        else if (it->step == OPENING_CREDENTIAL)
            arrived = mailbox->capabilities != NULL ? AHEAD_OVER : AHEAD_STUCK; /* they would have to be asked for */
        else
            arrived = it->told ? mailbox_ahead_arrived(mailbox, AWAITED_ANSWER) : AHEAD_STUCK;
        if (arrived != AHEAD_OVER)
            return arrived;
        step_on(mailbox);
    }
    return it->failed ? AHEAD_STUCK : AHEAD_OVER;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms, struct fault *fault)
{
    if (!mailbox_login_valid(account, fault))
        return NULL;
    int64_t until_ms = until_of(config, limit_ms);
    struct mailbox *mailbox = begin(config, account, mailbox_login_name(config, account), false, until_ms);
    return mailbox_open_end(&mailbox, fault) ? mailbox : NULL;
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
    bool opening = mailbox->opening.step != OPENING_OVER;
    if (mailbox->stream != NULL && !opening && step != APPEND_BEGUN && step != APPEND_FED)
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
    free(it->opening.login);
    base_free_secret(&it->opening.password);
    mailbox_search_forget(it);
    free(it->appending.name);
    free(it);
    *mailbox = NULL;
}
