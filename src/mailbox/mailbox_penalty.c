/* SPDX-License-Identifier: ISC */
#include <glib.h>
#include <string.h>

#include "mailbox/mailbox_internal.h"

/* Nonexistent accounts. If Dovecot looks up accounts after the login, it may open the first, or not count the refusal.
 * auth_username_chars forbids the second. */
static const char *const unknown_users[] = {"oncedrop-probe", "oncedrop/probe"};

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
    const char *login = imap_login_name(config, account), *domain = strrchr(login, '@');
    int64_t unknown_ms, after_ms;
    for (size_t i = 0; i < G_N_ELEMENTS(unknown_users); i++) {
        char *name OD_CLEANUP(base_free) = base_printf("%s%s", unknown_users[i], domain != NULL ? domain : "");
        if (strstr(login, unknown_users[i]) != NULL || !try_login(config, name, &unknown_ms))
            continue;
        (void)!try_login(config, login, &after_ms);
        if (after_ms >= 0)
            *ret_ms = after_ms > usual_ms ? after_ms - usual_ms : 0;
        return after_ms >= 0;
    }
    return false;
}
