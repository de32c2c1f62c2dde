/* SPDX-License-Identifier: ISC */
#include "delivery/breaker.h"

#include <glib.h>
#include <string.h>

#include "mailbox/mailbox.h"

/* A timeout opens the breaker for OPEN_FACTOR * imap.timeout. The next connection gets imap.timeout / FIRST_SHARE, doubled
 * after each failure; the pause is at least LIMIT_TIMES as long. */
#define OPEN_FACTOR 2
#define FIRST_SHARE 15
#define LIMIT_TIMES 10

void breaker_keep_failures(struct breaker *breaker)
{
    breaker->failures = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
}

void breaker_clear(struct breaker *breaker)
{
    g_clear_pointer(&breaker->failures, g_hash_table_unref);
}

static bool has_failed(const struct breaker *breaker, const char *account, struct error *error)
{
    const char *why = breaker->failures != NULL ? g_hash_table_lookup(breaker->failures, account) : NULL;
    if (why != NULL)
        error_set(error, "%s", why);
    return why != NULL;
}

static void keep_failure(const struct breaker *breaker, const char *account, const struct error *error)
{
    bool of_all = config_is_shared(breaker->config) || strcmp(error->code, MAILBOX_UNREACHABLE) == 0;
    if (breaker->failures != NULL)
        g_hash_table_insert(breaker->failures, base_strdup(of_all ? "" : account), base_strdup(error->text));
}

bool breaker_is_open(const struct breaker *breaker, struct error *error)
{
    const struct config *config = breaker->config;
    int64_t left = breaker->open_until - base_now_ms();
    if (left <= 0)
        return false;
    error_set(error, "IMAP server %s timed out; not retried for %lld s",
              *config->name != '\0' ? config->name : config->imap.host, (long long)(left + 999) / 1000);
    return true;
}

bool breaker_admits(struct breaker *breaker, const char *account, int64_t *limit_ms, struct error *error)
{
    if (has_failed(breaker, "", error) || has_failed(breaker, account, error))
        return false;
    if (login_backoff_active(breaker->refusals, breaker->config, account, error) || breaker_is_open(breaker, error)) {
        keep_failure(breaker, account, error);
        return false;
    }
    if (breaker->limit_ms != 0 && (*limit_ms == 0 || *limit_ms > breaker->limit_ms))
        *limit_ms = breaker->limit_ms;
    breaker->tried_at = base_now_ms();
    return true;
}

void breaker_succeeded(struct breaker *breaker, const char *account)
{
    breaker->limit_ms = 0;
    breaker->logins_until = base_now_ms() + LOGIN_BACKOFF_UNCERTAIN_MS;
    login_backoff_succeeded(breaker->refusals, breaker->config, account);
}

static void open_breaker(struct breaker *breaker)
{
    int64_t timeout = breaker->config->imap.timeout;
    breaker->open_until = base_now_ms() + MAX(OPEN_FACTOR * timeout, LIMIT_TIMES * breaker->limit_ms);
    breaker->limit_ms = breaker->limit_ms == 0 ? MAX(timeout / FIRST_SHARE, 1) : MIN(2 * breaker->limit_ms, timeout);
}

void breaker_failed(struct breaker *breaker, const char *account, bool no_refusal, const struct error *error)
{
    const struct config *config = breaker->config;
    bool unresponsive = base_now_ms() - breaker->tried_at >= config->imap.timeout / FIRST_SHARE &&
                        (strcmp(error->code, MAILBOX_TIMED_OUT) == 0 || strcmp(error->code, MAILBOX_UNREACHABLE) == 0);
    if (unresponsive && !breaker->alone)
        open_breaker(breaker);
    if (!no_refusal)
        login_backoff_failed(breaker->refusals, config, account, base_now_ms() < breaker->logins_until, error);
    keep_failure(breaker, account, error);
}
