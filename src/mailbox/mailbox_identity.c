/* SPDX-License-Identifier: ISC
 *
 * Whose mailbox is it? If a login names an account but uses another's credential, an OK proves nothing. */
#include "mailbox/mailbox_session.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Always the same name: a server that accepts any name, and creates a mailbox for it, creates only one. */
#define NOBODY "oncedrop-probe"
#define NOBODY_ELSE "oncedrop-other" /* used if mail is for that very account */

bool mailbox_delegates(const struct config *config)
{
    bool token = config->imap.auth == IMAP_AUTH_XOAUTH2 && *config->imap.user == '\0';
    return *config->imap.command == '\0' && (*config->imap.master_user != '\0' || token);
}

static bool on_this_host(const char *host)
{
    return host[0] == '/' || strcasecmp(host, "localhost") == 0 || strncmp(host, "127.", 4) == 0 ||
           strcmp(host, "::1") == 0;
}

char *mailbox_server(const struct config *config)
{
    const char *host = config->imap.host;
    const char *user = *config->imap.master_user != '\0' ? config->imap.master_user : "a token";
    char here[256] = "";
    if (on_this_host(host) && gethostname(here, sizeof here - 1) != 0)
        strcpy(here, "localhost");
    const char *on = here[0] != '\0' ? " on " : "";
    if (host[0] == '/')
        return base_printf("%s%s%s as %s", host, on, here, user);
    return base_printf("%s port %u%s%s as %s", host, mailbox_connect_port(config), on, here, user);
}

enum inbox {
    INBOX_UNKNOWN,
    INBOX_REFUSED, /* the login failed */
    INBOX_NONE,    /* the login succeeded, but there is no INBOX */
    INBOX_THERE,
};

static void note_uidvalidity(void *context, struct mailbox_reply *reply)
{
    (void)!mailbox_reply_uidvalidity(reply, context);
}

/* A NO proves something only if it says that there is no such mailbox for us. */
static bool says_none(const struct mailbox_reply *reply)
{
    static const char *const codes[] = {"", "NONEXISTENT", "TRYCREATE", "NOPERM"};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (reply->status == STATUS_NO && strcmp(reply->code, codes[i]) == 0)
            return true;
    }
    return false;
}

/* Logs in and examines INBOX. The fault is set unless the result is INBOX_THERE. */
static enum inbox look_at_inbox(const struct config *config, const char *login, uint32_t *ret_uidvalidity,
                                struct fault *fault)
{
    struct mailbox_reply reply;
    bool refused;
    uint32_t uidvalidity = 0;
    struct mailbox *mailbox OD_CLEANUP(mailbox_close) = mailbox_open_as(config, login, login, &refused, fault);
    if (mailbox == NULL)
        return refused ? INBOX_REFUSED : INBOX_UNKNOWN;
    if (!mailbox_dialogue_ask(mailbox, "EXAMINE", note_uidvalidity, &uidvalidity, &reply, fault, "EXAMINE \"INBOX\""))
        return says_none(&reply) ? INBOX_NONE : INBOX_UNKNOWN;
    if (uidvalidity == 0) {
        fault_set(fault, "%s: does not report the UIDVALIDITY of INBOX", mailbox->where);
        return INBOX_UNKNOWN;
    }
    *ret_uidvalidity = uidvalidity;
    return INBOX_THERE;
}

/* In the same domain as the account, for servers that refuse or accept whole domains. */
static char *nobody(const char *login)
{
    const char *domain = strrchr(login, '@');
    return base_printf("%s%s", strcasestr(login, NOBODY) == NULL ? NOBODY : NOBODY_ELSE, domain != NULL ? domain : "");
}

/* Courier makes up another UIDVALIDITY every second for an INBOX that nobody has selected yet: then two different ones prove
 * nothing. Looked at once more, the first INBOX must have the first one still. */
static bool is_stable(const struct config *config, const char *login, uint32_t own, struct fault *fault)
{
    uint32_t again = 0;
    struct fault trouble;
    if (look_at_inbox(config, login, &again, &trouble) != INBOX_THERE) {
        *fault = trouble;
        return false;
    }
    if (again == own)
        return true;
    char *server OD_CLEANUP(base_free) = mailbox_server(config);
    fault_set(
        fault,
        "IMAP server %s reports a different UIDVALIDITY of INBOX each time, as Courier does before a mailbox is first"
        " used, so it cannot be told whether it opens the account that is named (Courier does not: use imap.command,"
        " or one password for all accounts)",
        server);
    return false;
}

/* Draws the conclusion from nobody's INBOX. A refusal counts only if everything works before and after it. */
static enum identity_result judge(const struct config *config, const char *login, uint32_t own, enum inbox other,
                                  uint32_t others, struct fault *fault)
{
    uint32_t again = 0;
    struct fault trouble;
    switch (other) {
    case INBOX_UNKNOWN:
        return IDENTITY_UNKNOWN;
    case INBOX_REFUSED:
    case INBOX_NONE:
        if (look_at_inbox(config, login, &again, &trouble) == INBOX_THERE)
            return IDENTITY_COUNTS;
        *fault = trouble;
        return IDENTITY_UNKNOWN;
    case INBOX_THERE:
        break;
    }
    if (others != own)
        return is_stable(config, login, own, fault) ? IDENTITY_COUNTS : IDENTITY_UNKNOWN;
    char *server OD_CLEANUP(base_free) = mailbox_server(config);
    fault_set(fault,
              "IMAP server %s opens the same INBOX whatever account is named: all mail would go into one mailbox. It"
              " ignores the authorisation identity of SASL PLAIN (as Courier does); use imap.command, or a server with"
              " master users",
              server);
    return IDENTITY_IGNORED;
}

enum identity_result mailbox_identity(const struct config *config, const char *account, struct fault *fault)
{
    const char *login = mailbox_login_name(config, account);
    char *other_login OD_CLEANUP(base_free) = nobody(login);
    uint32_t own = 0, others = 0;
    struct fault found;
    if (look_at_inbox(config, login, &own, &found) != INBOX_THERE) {
        fault_set(fault, "could not test whether the server honours the account named in a login: %s", found.text);
        return IDENTITY_UNKNOWN;
    }
    enum inbox other = look_at_inbox(config, other_login, &others, &found);
    enum identity_result result = judge(config, login, own, other, others, &found);
    if (result != IDENTITY_COUNTS)
        *fault = found;
    return result;
}
