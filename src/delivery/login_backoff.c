/* SPDX-License-Identifier: ISC */
#include "delivery/login_backoff.h"

#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "decode/decode.h"
#include "mailbox/mailbox.h"

#define REMEMBERED_MAX 10000    /* then the cache is cleared */
#define APART_MS INT64_C(10000) /* closer refusals count as one, as a delivery may try twice */

struct account {
    char *server, *name;
    int64_t refusals; /* in a row; 0: a login succeeded */
    int64_t at_ms;    /* of the last one, by base_now_ms() */
    int64_t wait_ms;
    char *reason;
    bool changed; /* not in the ledger yet */
};

struct refusals {
    GHashTable *accounts; /* by ledger_refusal_id() */
};

static void end_account(void *item)
{
    struct account *account = item;
    base_free(&account->server);
    base_free(&account->name);
    base_free(&account->reason);
    base_free(&account);
}

struct refusals *login_backoff_new(void)
{
    struct refusals *refusals = base_alloc(sizeof(*refusals));
    refusals->accounts = g_hash_table_new_full(g_str_hash, g_str_equal, free, end_account);
    return refusals;
}

void login_backoff_free(struct refusals **refusals)
{
    if (*refusals != NULL)
        g_hash_table_unref((*refusals)->accounts);
    base_free(refusals);
}

/* Returns a new string: `server` of ledger_refusal_id(). */
static char *name_server(const struct config *config)
{
    char *server = mailbox_server(config);
    if (*config->imap.password_command != '\0' || config->imap.password == NULL)
        return server;
    char *named = base_printf("%s, password of %lld", server, (long long)config->imap.password->written_ns);
    base_free(&server);
    return named;
}

char *login_backoff_id(const struct config *config, const char *account)
{
    char *server OD_CLEANUP(base_free) = name_server(config);
    return ledger_refusal_id(server, account);
}

static struct account *find(const struct refusals *refusals, const struct config *config, const char *account)
{
    if (g_hash_table_size(refusals->accounts) == 0)
        return NULL;
    char *id OD_CLEANUP(base_free) = login_backoff_id(config, account);
    return g_hash_table_lookup(refusals->accounts, id);
}

static struct account *find_or_add(struct refusals *refusals, const struct config *config, const char *account)
{
    struct account *it = find(refusals, config, account);
    if (it != NULL)
        return it;
    if (g_hash_table_size(refusals->accounts) >= REMEMBERED_MAX)
        g_hash_table_remove_all(refusals->accounts);
    it = base_alloc(sizeof(*it));
    it->server = name_server(config);
    it->name = base_strdup(account);
    g_hash_table_insert(refusals->accounts, ledger_refusal_id(it->server, account), it);
    return it;
}

static int64_t age_of(const struct account *it)
{
    return base_now_ms() - it->at_ms;
}

bool login_backoff_active(const struct refusals *refusals, const struct config *config, const char *account,
                          struct error *error)
{
    const struct account *it = find(refusals, config, account);
    int64_t left = it != NULL && it->refusals > 0 ? it->wait_ms - age_of(it) : 0;
    if (left <= 0)
        return false;
    error_set(error, "account %s could not be opened %lld s ago, and is tried again in %lld s: %s", account,
              (long long)age_of(it) / 1000, (long long)(left + 999) / 1000, it->reason);
    return true;
}

void login_backoff_succeeded(struct refusals *refusals, const struct config *config, const char *account)
{
    struct account *it = find(refusals, config, account);
    if (it == NULL || it->refusals == 0)
        return;
    it->refusals = 0;
    it->changed = true;
}

static int64_t wait_after(int64_t refusals, bool certain, bool others_open)
{
    int64_t doublings = MIN(refusals - (certain ? 1 : 2), 10);
    if (doublings < 0)
        return 0;
    return MIN(LOGIN_BACKOFF_FIRST_MS << doublings,
               certain && others_open ? LOGIN_BACKOFF_MAX_MS : LOGIN_BACKOFF_UNCERTAIN_MS);
}

void login_backoff_failed(struct refusals *refusals, const struct config *config, const char *account, bool others_open,
                          const struct error *why)
{
    bool refused = strcmp(why->code, MAILBOX_REFUSED) == 0;
    bool certain = refused && *config->imap.password_command == '\0';
    if (config_is_shared(config) || *config->imap.command != '\0' ||
        (!refused && strcmp(why->code, MAILBOX_TOO_MANY_SESSIONS) != 0))
        return;
    struct account *it = find_or_add(refusals, config, account);
    bool counts = it->refusals > 0 && age_of(it) < LEDGER_REFUSAL_DAY_MS;
    if (counts && age_of(it) < MAX(it->wait_ms, APART_MS))
        return;
    it->refusals = counts ? it->refusals + 1 : 1;
    it->at_ms = base_now_ms();
    it->wait_ms = wait_after(it->refusals, certain, others_open);
    base_free(&it->reason);
    it->reason = g_utf8_make_valid(why->text, -1);
    it->changed = true;
}

void login_backoff_learn(struct refusals *refusals, const struct config *config, const char *account,
                         const struct ledger_refusal *known)
{
    bool counts = known->refusals > 0 && known->age_ms >= 0 && known->age_ms < LEDGER_REFUSAL_DAY_MS;
    struct account *it = counts ? find_or_add(refusals, config, account) : find(refusals, config, account);
    if (it == NULL || it->changed)
        return;
    it->refusals = counts ? known->refusals : 0;
    it->at_ms = base_now_ms() - known->age_ms;
    it->wait_ms = MIN(known->wait_ms, LOGIN_BACKOFF_MAX_MS);
    base_free(&it->reason);
    it->reason = base_strdup(known->reason);
}

static bool record_one(struct ledger *ledger, const char *id, const struct account *it, struct error *error)
{
    if (it->refusals == 0)
        return ledger_refusal_forget(ledger, id, error);
    struct ledger_refusal refusal = {.refusals = it->refusals, .wait_ms = it->wait_ms};
    size_t length = MIN(strlen(it->reason), sizeof(refusal.reason) - 1);
    while (length > 0 && ((unsigned char)it->reason[length] & 0xC0) == 0x80) /* do not cut a character */
        length--;
    memcpy(refusal.reason, it->reason, length);
    return ledger_refusal_record(ledger, it->server, it->name, &refusal, error);
}

void login_backoff_record(struct refusals *refusals, struct ledger *ledger, int64_t least_left_ms)
{
    GHashTableIter at;
    gpointer id, item;
    struct error error;
    char text[1024];
    g_hash_table_iter_init(&at, refusals->accounts);
    while (g_hash_table_iter_next(&at, &id, &item)) {
        struct account *it = item;
        if (!it->changed)
            continue;
        if (deadline_left_ms() < least_left_ms)
            return; /* the next delivery records it */
        it->changed = false;
        if (!record_one(ledger, id, it, &error)) {
            log_warning("could not record whether an account's login was refused: %s",
                        log_escape_text(error.text, text, sizeof(text)));
            return;
        }
        if (it->refusals == 0)
            g_hash_table_iter_remove(&at);
    }
}
