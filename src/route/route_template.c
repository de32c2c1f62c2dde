/* SPDX-License-Identifier: ISC
 *
 * What stands before the @ of an address, which anybody can write, may become part of a mailbox name. */
#include "route/route_template.h"

#include <string.h>

char *route_template_expand(const char *setting, const char *template, const struct address *address,
                            struct fault *fault)
{
    char *text = address_expand(template, address, fault);
    if (text == NULL) {
        char *why OD_CLEANUP(base_free) = base_strdup(fault->text);
        fault_set(fault, "[route] %s = %s", setting, why);
    }
    return text;
}

/* In names with '/' a dot is an ordinary character; in "user.%{user}" it is the separator (RFC 3501, 5.1.1). A '%' or
 * '*' would be a wildcard to LIST. */
static bool is_safe(const char *user, const char *template)
{
    return strpbrk(user, strchr(template, '/') != NULL ? "/%*\"\\" : "/.%*\"\\") == NULL && user[0] != '~';
}

static bool expand_mailbox(const char *setting, const char *template, const struct address *address, char **mailbox,
                           struct fault *fault)
{
    if (*mailbox != NULL)
        return true;
    if (!is_safe(address->user, template)) {
        fault_set(fault, "account %s: has a character with a meaning in [route] %s = %s, so it cannot stand there",
                  address->address, setting, template);
        return false;
    }
    *mailbox = route_template_expand(setting, template, address, fault);
    return *mailbox != NULL;
}

/* Its halves, unchanged: unlike an address from outside, its case may matter. */
static void split_account(const char *account, struct address *ret)
{
    const char *at = strrchr(account, '@');
    *ret = (struct address){
        .address = base_strdup(account),
        .user = at != NULL ? base_strndup(account, (size_t)(at - account)) : base_strdup(account),
        .detail = base_strdup(""),
        .domain = base_strdup(at != NULL ? at + 1 : ""),
    };
}

enum route_result route_template_mailboxes(const struct config *config, const char *account, char **inbox, char **sent,
                                           struct fault *fault)
{
    if (!config_is_shared(config))
        return ROUTE_OK;
    struct address parts OD_CLEANUP(address_clear) = {.address = NULL};
    split_account(account, &parts);
    if (!expand_mailbox("inbox", config->route.inbox, &parts, inbox, fault) ||
        !expand_mailbox("sent", config->route.sent, &parts, sent, fault))
        return ROUTE_TROUBLE;
    if (strcasecmp(*sent, "\\Sent") != 0)
        return ROUTE_OK;
    fault_set(fault, "account %s: \\Sent would be the mailbox of [imap] user", account);
    return ROUTE_TROUBLE;
}

/* Of a setting of [route] that must, or must not, name the owner. The detail is the sender's choice. */
static bool check_owner(const char *setting, const char *template, bool shared, struct fault *fault)
{
    bool names = strstr(template, "%{") != NULL;
    if (shared && (!names || strstr(template, "%{detail}") != NULL))
        fault_set(fault,
                  "[route] %s = %s: must say whose mailbox it is, with %%{user} or %%{address}, like [route] inbox",
                  setting, template);
    else if (!shared && names)
        fault_set(fault, "[route] %s = %s: every account has mailboxes of its own; variables are for [imap] user",
                  setting, template);
    return shared == names && (!shared || strstr(template, "%{detail}") == NULL);
}

static bool check_template(const char *setting, const char *template, struct fault *fault)
{
    char *expanded OD_CLEANUP(base_free) = route_template_expand(setting, template, NULL, fault);
    return expanded != NULL;
}

bool route_check(const struct config *config, struct fault *fault)
{
    bool shared = config_is_shared(config);
    bool copies = config->route.sent_copy != SENT_COPY_OFF;
    if (!check_template("account", config->route.account, fault) ||
        !check_owner("inbox", config->route.inbox, shared, fault) ||
        ((copies || !shared) && !check_owner("sent", config->route.sent, shared, fault)))
        return false;
    if (shared && config->route.detail == DETAIL_FOLDER) {
        fault_set(fault, "[route] detail = folder: the folder would be one of [imap] user; not with [route] inbox = %s",
                  config->route.inbox);
        return false;
    }
    return !shared ||
           (check_template("inbox", config->route.inbox, fault) && check_template("sent", config->route.sent, fault));
}
