/* SPDX-License-Identifier: ISC */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mailbox/mailbox_internal.h"

/* Fixed names: a server that creates an account for any name creates only these. Skips one that the login contains. */
static const char *const unknown_users[] = {"oncedrop-probe", "oncedrop-other", "oncedrop-nobody"};

#define SECOND_MS 1100             /* a UIDVALIDITY from a clock differs after it */
#define CLOCK UINT32_C(1000000000) /* a smaller UIDVALIDITY is not from a clock: all mailboxes may have it */

bool mailbox_delegates(const struct config *config)
{
    bool token = config->imap.auth == IMAP_AUTH_XOAUTH2 || config->imap.auth == IMAP_AUTH_OAUTHBEARER;
    bool for_all = *config->imap.user == '\0' && !imap_password_is_own(config);
    return *config->imap.command == '\0' && (*config->imap.master_user != '\0' || (token && for_all));
}

static bool on_this_host(const char *host)
{
    return host[0] == '/' || strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

char *mailbox_server(const struct config *config)
{
    const char *host = config->imap.host;
    const char *master = config->imap.master_user;
    const char *user = *master != '\0' ? master : mailbox_delegates(config) ? "a token" : "each account";
    char here[256] = "";
    if (on_this_host(host) && gethostname(here, sizeof(here) - 1) != 0)
        strcpy(here, "localhost");
    const char *on = here[0] != '\0' ? " on " : "";
    if (host[0] == '/')
        return base_printf("%s%s%s as %s", host, on, here, user);
    return base_printf("%s port %u%s%s as %s", host, imap_connect_port(config), on, here, user);
}

enum seen {
    INBOX_UNKNOWN,
    INBOX_REFUSED, /* login failed */
    INBOX_NONE,    /* login succeeded, no INBOX */
    INBOX_THERE,
};

struct inbox {
    enum seen seen;
    uint32_t uidvalidity, uidnext; /* uidnext: 0: not reported */
    char id[128];                  /* RFC 8474; "": not reported */
    struct error why;              /* unless INBOX_THERE */
};

static void record_inbox(void *context, struct imap_reply *reply)
{
    struct inbox *inbox = context;
    (void)!imap_reply_code_number(reply, "UIDVALIDITY", &inbox->uidvalidity);
    (void)!imap_reply_code_number(reply, "UIDNEXT", &inbox->uidnext);
    if (strcmp(reply->code, "MAILBOXID") == 0 && reply->arguments_size < sizeof(inbox->id))
        snprintf(inbox->id, sizeof(inbox->id), "%.*s", (int)reply->arguments_size, reply->arguments);
}

/* Any other NO proves nothing. */
static bool says_none(const struct imap_reply *reply)
{
    static const char *const codes[] = {"", "NONEXISTENT", "TRYCREATE", "NOPERM", NULL};
    return reply->status == STATUS_NO && g_strv_contains(codes, reply->code);
}

static void examine_inbox(const struct config *config, const char *login, struct inbox *ret)
{
    bool refused;
    *ret = (struct inbox){.seen = INBOX_UNKNOWN};
    struct imap *imap OD_CLEANUP(imap_setup_end) = mailbox_open_as(config, login, login, 0, &refused, &ret->why);
    if (imap == NULL)
        ret->seen = refused ? INBOX_REFUSED : INBOX_UNKNOWN;
    else if (!imap_command(imap, record_inbox, ret, &ret->why, "EXAMINE \"INBOX\""))
        ret->seen = says_none(&imap->reply) ? INBOX_NONE : INBOX_UNKNOWN;
    else if (ret->uidvalidity == 0)
        error_set(&ret->why, "%s: does not report the UIDVALIDITY of INBOX", imap->peer_name);
    else
        ret->seen = INBOX_THERE;
}

/* Servers may accept or refuse all of a domain. */
static char *in_domain_of(const char *login, const char *user)
{
    const char *domain = strrchr(login, '@');
    return base_printf("%s%s", user, domain != NULL ? domain : "");
}

static void examine_no_account(const struct config *config, const char *login, size_t which, struct inbox *ret)
{
    size_t i = 0, last = sizeof(unknown_users) / sizeof(*unknown_users) - 1;
    while (i < last && (strcasestr(login, unknown_users[i]) != NULL || which-- > 0))
        i++;
    char *name OD_CLEANUP(base_free) = in_domain_of(login, unknown_users[i]);
    examine_inbox(config, name, ret);
}

static bool may_be_one(const struct inbox *own, const struct inbox *other)
{
    bool one_id = own->id[0] == '\0' || other->id[0] == '\0' || strcmp(own->id, other->id) == 0;
    return other->seen == INBOX_THERE && other->uidvalidity == own->uidvalidity && one_id;
}

/* Returns true if `other`, seen between two readings of our INBOX, may be the same: UIDNEXT only grows. */
static bool is_between(const struct inbox *own, const struct inbox *other, const struct inbox *again)
{
    bool reported = own->uidnext != 0 && other->uidnext != 0 && again->uidnext != 0;
    return !reported || (other->uidnext >= own->uidnext && other->uidnext <= again->uidnext);
}

static enum identity_result not_reported(const struct config *config, const struct inbox *own, bool stable,
                                         struct error *error)
{
    char *server OD_CLEANUP(base_free) = mailbox_server(config);
    if (stable)
        error_set(
            error,
            "IMAP server %s shows an INBOX with UIDVALIDITY %u for two accounts, which may be one mailbox. This is"
            " checked again once the account has mail; or use one password for all accounts",
            server, own->uidvalidity);
    else
        error_set(
            error,
            "IMAP server %s reports a different UIDVALIDITY of INBOX each time, as Courier does before a mailbox is"
            " first used, so it is unknown whether it opens the account that the login names (Courier does not: use"
            " imap.command, or one password for all accounts)",
            server);
    return IDENTITY_UNKNOWN;
}

static enum identity_result ignored(const struct config *config, struct error *error)
{
    char *server OD_CLEANUP(base_free) = mailbox_server(config);
    error_set(error,
              "IMAP server %s opens the same INBOX for every account: all mail would go into one mailbox. It"
              " ignores the authorisation identity of SASL PLAIN (as Courier does); use imap.command, or a server with"
              " master users",
              server);
    return IDENTITY_IGNORED;
}

/* The account's login must work before and after. Courier invents a new UIDVALIDITY each second for an INBOX never
 * selected, so a difference counts only if the account's own stays. */
static enum identity_result compare_inboxes(const struct config *config, const struct inbox *own,
                                            const struct inbox *other, const struct inbox *again, struct error *error)
{
    if (other->seen == INBOX_UNKNOWN || again->seen != INBOX_THERE) {
        *error = other->seen == INBOX_UNKNOWN ? other->why : again->why;
        return IDENTITY_UNKNOWN;
    }
    if (other->seen != INBOX_THERE)
        return IDENTITY_COUNTS;
    if (!may_be_one(own, again))
        return not_reported(config, own, false, error);
    if (!may_be_one(own, other) || !is_between(own, other, again))
        return IDENTITY_COUNTS;
    return own->uidvalidity >= CLOCK ? ignored(config, error) : not_reported(config, own, true, error);
}

/* Returns NULL if unknown. */
static char *present_password(const struct config *config, const char *login)
{
    struct error ignored;
    return imap_password(config, login, config->imap.timeout, &ignored);
}

/* A refusal proves nothing if the password or token has changed: it may have expired. */
static void doubt_refusal(const struct config *config, const char *login, const char *password, struct inbox *other)
{
    char *now OD_CLEANUP(base_free_secret) = present_password(config, login);
    if (other->seen != INBOX_REFUSED || (password != NULL && now != NULL && strcmp(now, password) == 0))
        return;
    other->seen = INBOX_UNKNOWN;
    error_set(&other->why,
              "the password or token was replaced while it was tested whether the server honours the account"
              " named in a login");
}

/* INBOXes created in the same second have one UIDVALIDITY; one created a second later has another. */
enum identity_result mailbox_identity(const struct config *config, const char *account, struct error *error)
{
    const char *login = imap_login_name(config, account);
    struct inbox own, other, again;
    examine_inbox(config, login, &own);
    if (own.seen != INBOX_THERE) {
        error_set(error, "could not test whether the server honours the account named in a login: %s", own.why.text);
        strcpy(error->code, own.why.code);
        return IDENTITY_UNKNOWN;
    }
    char *password OD_CLEANUP(base_free_secret) = present_password(config, login);
    examine_no_account(config, login, 0, &other);
    if (may_be_one(&own, &other)) {
        (void)poll(NULL, 0, SECOND_MS);
        examine_no_account(config, login, 1, &other);
        if (mailbox_lacks_room(&other.why)) /* the first login had room */
            other.seen = INBOX_UNKNOWN;
    }
    examine_inbox(config, login, &again);
    doubt_refusal(config, login, password, &other);
    return compare_inboxes(config, &own, &other, &again, error);
}

/* Nonexistent accounts. If Dovecot looks up accounts after the login, it may open the first, or not count the refusal.
 * auth_username_chars forbids the second. */
static const char *const delayed_users[] = {"oncedrop-probe", "oncedrop/probe"};

/* Returns true if refused by NO. *ret_ms: -1: no session was opened. */
static bool try_login(const struct config *config, const char *login, int64_t *ret_ms)
{
    bool refused;
    struct error why = {.text = ""};
    int64_t started = base_now_ms();
    struct imap *imap OD_CLEANUP(imap_setup_end) = mailbox_open_as(config, login, login, 0, &refused, &why);
    *ret_ms = imap != NULL ? base_now_ms() - started : -1;
    return imap == NULL && strcmp(why.code, MAILBOX_REFUSED) == 0;
}

bool mailbox_refusal_delay(const struct config *config, const char *account, int64_t usual_ms, int64_t *ret_ms)
{
    const char *login = imap_login_name(config, account);
    int64_t unknown_ms, after_ms;
    for (size_t i = 0; i < G_N_ELEMENTS(delayed_users); i++) {
        char *name OD_CLEANUP(base_free) = in_domain_of(login, delayed_users[i]);
        if (strstr(login, delayed_users[i]) != NULL || !try_login(config, name, &unknown_ms))
            continue;
        (void)!try_login(config, login, &after_ms);
        if (after_ms >= 0)
            *ret_ms = after_ms > usual_ms ? after_ms - usual_ms : 0;
        return after_ms >= 0;
    }
    return false;
}
