/* SPDX-License-Identifier: ISC */
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "mailbox/mailbox_internal.h"

/* more, while opening: resolver, password, command, certificates */
#define OPENING_DESCRIPTORS 5

#define NOTICE_MS 20 /* between retries: Courier counts a process until it notices its end */
#define NOTICE_ATTEMPTS 10

static bool speaks_tls(const struct config *config)
{
    return *config->imap.command == '\0' && config->imap.tls != IMAP_TLS_NONE;
}

bool mailbox_load(const struct config *config, struct error *error)
{
    bool tls = speaks_tls(config);
    for (size_t i = 0; i < config_server_count(config); i++)
        tls |= speaks_tls(config->servers[i]);
    return !tls || imap_stream_load_tls(error) != NULL;
}

struct descriptors mailbox_descriptors(const struct config *config)
{
    return speaks_tls(config) ? (struct descriptors){IMAP_TLS_DESCRIPTORS, IMAP_TLS_BELOW}
                              : (struct descriptors){1, INT_MAX};
}

/* Most libraries report a lack of descriptors as another error. */
static bool has_descriptors(const struct config *config, struct error *error)
{
    struct descriptors wanted = mailbox_descriptors(config);
    wanted.count += OPENING_DESCRIPTORS;
    if (descriptors_available(wanted, error))
        return true;
    error_prefix(error, "no IMAP session can be opened");
    strcpy(error->code, MAILBOX_NO_FILES);
    return false;
}

static void explain_command(struct imap *imap, struct error *error)
{
    if (imap->child == 0 || imap->stream != NULL)
        return;
    int status = imap_spawn_reap(&imap->child);
    if (status >= 0)
        error_prefix(error, "imap.command %s", base_status_text(status));
}

/* Returns the time until until_ms (0: none), at most imap.timeout. */
static int64_t login_time(const struct config *config, int64_t until_ms)
{
    int64_t left = until_ms - base_now_ms();
    if (until_ms == 0 || left > config->imap.timeout)
        return config->imap.timeout;
    return left > 1 ? left : 1;
}

/* until_ms: base_now_ms(), or 0. */
struct login {
    const char *account, *name;
    int64_t until_ms;
};

/* On failure *ret has the reply. */
static bool open_once(const struct config *config, const struct login *login, const char *password, struct imap **ret,
                      struct error *error)
{
    struct imap *imap = *ret = imap_setup_new(config);
    imap->until_ms = login->until_ms;
    imap->timeout = login_time(config, login->until_ms);
    bool early = imap_login_is_early(config, login->name, password);
    bool open = imap_setup_connect(imap, config, login->account, error) &&
                (early || imap_setup_greet(imap, config, error)) &&
                (imap->logged_in || imap_login(imap, config, login->name, password, error));
    if (!open && !imap->ready)
        strcpy(error->code, MAILBOX_UNREACHABLE);
    return open;
}

/* Retries a refusal once if the password has changed. *ret: NULL without a password. */
static bool open_renewed(const struct config *config, const struct login *login, struct imap **ret, struct error *error)
{
    *ret = NULL;
    char *password OD_CLEANUP(base_free_secret) =
        imap_password(config, login->name, login_time(config, login->until_ms), error);
    if (password == NULL)
        return false;
    bool open = open_once(config, login, password, ret, error);
    if (open || !(*ret)->refused)
        return open;
    char *other OD_CLEANUP(base_free_secret) =
        imap_password_renew(config, login->name, password, login_time(config, login->until_ms), error);
    if (other == NULL)
        return false;
    imap_setup_end(ret);
    return open_once(config, login, other, ret, error);
}

/* Not for a temporary failure, or a reason that concerns all accounts. */
static bool is_refused(const struct imap *imap)
{
    const struct imap_reply *reply = &imap->reply;
    return imap->refused && reply->kind == REPLY_TAGGED && reply->status == STATUS_NO &&
           strcmp(reply->code, "SERVERBUG") != 0 && strcmp(reply->code, "PRIVACYREQUIRED") != 0;
}

/* imap: NULL without a password. */
static void set_code(const struct imap *imap, bool timed_out, struct error *error)
{
    if (imap != NULL && imap->too_many_sessions && strcmp(imap->reply.code, "UNAVAILABLE") != 0)
        strcpy(error->code, MAILBOX_LIMIT);
    else if (imap != NULL && (imap->ended || imap->too_many_sessions))
        strcpy(error->code, MAILBOX_TOO_MANY_SESSIONS);
    else if (timed_out)
        strcpy(error->code, MAILBOX_TIMED_OUT);
    else if (imap != NULL && is_refused(imap))
        strcpy(error->code, MAILBOX_REFUSED);
}

struct imap *mailbox_open_as(const struct config *config, const char *account, const char *login, int64_t limit_ms,
                             bool *ret_refused, struct error *error)
{
    bool limited = limit_ms != 0 && limit_ms < config->imap.timeout;
    const struct login it = {account, login, limited ? base_now_ms() + limit_ms : 0};
    struct imap *imap;
    *ret_refused = false;
    if (*account == '\0' || imap_has_control(account)) {
        error_set(error, "IMAP account \"%s\" is empty or has a control character", account);
        return NULL;
    }
    if (!has_descriptors(config, error))
        return NULL;
    bool open = open_renewed(config, &it, &imap, error);
    bool timed_out = limited && base_now_ms() >= it.until_ms;
    if (open) {
        imap->until_ms = 0;
        imap->timeout = config->imap.timeout;
        return imap;
    }
    if (imap != NULL) {
        *ret_refused = imap->refused;
        explain_command(imap, error);
    }
    set_code(imap, timed_out, error);
    imap_setup_end(&imap);
    return NULL;
}

struct mailbox *mailbox_open(const struct config *config, const char *account, int64_t limit_ms, struct error *error)
{
    bool refused;
    const char *login = imap_login_name(config, account);
    struct imap *imap = mailbox_open_as(config, account, login, limit_ms, &refused, error);
    if (imap == NULL)
        return NULL;
    struct mailbox *mailbox = base_alloc(sizeof(*mailbox));
    mailbox->imap = imap;
    mailbox->create = config->imap.create;
    mailbox->shared = config_is_shared(config);
    mailbox->subscribe = config->imap.subscribe && !mailbox->shared;
    return mailbox;
}

struct mailbox *mailbox_open_again(const struct config *config, const char *account, int64_t limit_ms,
                                   struct error *error)
{
    struct mailbox *mailbox = mailbox_open(config, account, limit_ms, error);
    for (int tries = 0; mailbox == NULL && mailbox_lacks_room(error) && tries < NOTICE_ATTEMPTS; tries++) {
        (void)poll(NULL, 0, NOTICE_MS);
        mailbox = mailbox_open(config, account, limit_ms, error);
    }
    return mailbox;
}

void mailbox_set_account(struct mailbox *mailbox, const char *account)
{
    if (mailbox->shared)
        imap_set_account(mailbox->imap, account);
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
    mailbox_append_clear(&it->appending);
    free(it);
    *mailbox = NULL;
}

void mailbox_close(struct mailbox **mailbox)
{
    mailbox_close_wait(mailbox, 0);
}
