/* SPDX-License-Identifier: ISC
 *
 * The life of a session: login, with the password as it is now, and the end. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "imap/imap_connect.h"
#include "mailbox/mailbox_session.h"

bool mailbox_load(const struct config *config, struct fault *fault)
{
    return *config->imap.command != '\0' || config->imap.tls == IMAP_TLS_NONE || imap_tls_load(fault) != NULL;
}

/* If the command has ended, its status explains more than its silence. */
static void explain_command(struct imap *imap, struct fault *fault)
{
    if (imap->child == 0 || imap->stream != NULL)
        return;
    int status = imap_spawn_reap(&imap->child);
    if (status >= 0 && WIFEXITED(status))
        fault_prefix(fault, "imap.command exited with status %d", WEXITSTATUS(status));
    else if (status >= 0 && WIFSIGNALED(status))
        fault_prefix(fault, "imap.command was killed by signal %d", WTERMSIG(status));
}

/* Logs in with the present password, before until_ms unless that is 0. False with the fault set: *ret is not logged in,
 * and says why. */
static bool open_once(const struct config *config, const char *account, const char *login, int64_t until_ms,
                      struct imap **ret, struct fault *fault)
{
    int64_t left = until_ms - base_now_ms();
    struct imap *imap = *ret = imap_setup_new(config);
    imap->until_ms = until_ms;
    if (until_ms != 0)
        imap->timeout = left > 1 ? left : 1;
    return imap_setup(imap, config, account, fault) && (imap->logged_in || imap_login(imap, config, login, fault));
}

/* Whether it was refused with a password that its file no longer has. */
static bool is_outdated(const struct imap *imap, const struct config *config, const char *password, struct fault *fault)
{
    struct fault unread;
    if (!imap->refused)
        return false;
    if (!config_renew_password(config, &unread))
        return fault_set(fault, "%s; imap.password_file was read again: %s", fault->text, unread.text);
    return strcmp(config->imap.password->text, password) != 0;
}

struct imap *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                             bool *ret_refused, struct fault *fault)
{
    char *password OD_CLEANUP(base_free_secret) = base_strdup(config->imap.password->text);
    int64_t until_ms = limit_ms == 0 || limit_ms >= config->imap.timeout ? 0 : base_now_ms() + limit_ms;
    struct imap *imap;
    *ret_refused = false;
    if (*account == '\0' || imap_has_control(account)) {
        fault_set(fault, "IMAP account \"%s\" is empty or has a control character", account);
        return NULL;
    }
    bool open = open_once(config, account, login, until_ms, &imap, fault);
    if (!open && is_outdated(imap, config, password, fault)) {
        imap_setup_end(&imap);
        open = open_once(config, account, login, until_ms, &imap, fault);
    }
    bool late = until_ms != 0 && base_now_ms() >= until_ms;
    imap->until_ms = 0;
    imap->timeout = config->imap.timeout;
    if (open)
        return imap;
    *ret_refused = imap->refused;
    explain_command(imap, fault);
    if (imap->ended || imap->crowded)
        strcpy(fault->code, MAILBOX_CROWDED);
    else if (late)
        strcpy(fault->code, MAILBOX_LATE);
    imap_setup_end(&imap);
    return NULL;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms, struct fault *fault)
{
    bool refused;
    const char *login = imap_login_name(config, account);
    struct imap *imap = mailbox_open_as(config, account, login, limit_ms, &refused, fault);
    if (imap == NULL)
        return NULL;
    struct mailbox *mailbox = base_alloc(sizeof(*mailbox));
    mailbox->imap = imap;
    mailbox->create = config->imap.create;
    mailbox->shared = config_is_shared(config);
    mailbox->subscribe = config->imap.subscribe && !mailbox->shared;
    return mailbox;
}

bool mailbox_connected(const struct mailbox *mailbox)
{
    return imap_stream_connected(mailbox->imap);
}

void mailbox_close_wait(struct mailbox **mailbox, int64_t ms)
{
    struct mailbox *it = *mailbox;
    if (it == NULL)
        return;
    if (it->appending.step == APPEND_BEGUN || it->appending.step == APPEND_FED) /* LOGOUT would be the literal */
        imap_stream_drop(it->imap);
    imap_setup_end_wait(&it->imap, ms);
    free(it->sent);
    mailbox_namespace_clear(&it->namespaces);
    free(it->appending.name);
    free(it);
    *mailbox = NULL;
}

void mailbox_close(struct mailbox **mailbox)
{
    mailbox_close_wait(mailbox, 0);
}
